"""The render modes of every game: text, picture and window."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import DisplayError, OptionError, needs_extra
from trialea.envs.game import Game

RENDER_MODES = ("ansi", "rgb_array", "human")


class Renderer:
    """Renders the states of one environment in its render mode. Copies and pickles leave the window out.

    Raises:
        OptionError: there is no such render mode.
        MissingExtraError: a library that the mode needs is not installed.
    """

    def __init__(self, game: Game, mode: str | None, fps: int) -> None:
        if mode is not None and mode not in RENDER_MODES:
            raise OptionError(f"render_mode must be one of {', '.join(RENDER_MODES)} or None, got {mode!r}")
        self._game = game
        self._mode = mode
        self._fps = fps
        self._window: Any = None
        self._clock: Any = None
        if mode in ("rgb_array", "human"):
            game.require_pictures()
        if mode == "human":
            _pygame()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None, "_clock": None}

    def render(self, state: Any) -> str | NDArray[np.uint8] | None:
        """Return the state as text or picture; or show it in the window and return None.

        Raises:
            DisplayError: there is no display for the window.
        """
        if self._mode == "ansi":
            return self._game.text(state)
        if self._mode is None:
            return None
        picture = self._game.picture(state)
        if self._mode == "rgb_array":
            return picture
        self._show(picture)
        return None

    def _show(self, picture: NDArray[np.uint8]) -> None:
        pygame = _pygame()
        height, width = picture.shape[:2]
        if self._window is None:
            try:
                pygame.display.init()
                self._window = pygame.display.set_mode((width, height))
            except pygame.error as error:
                raise DisplayError(
                    f"render_mode='human' needs a display: {error}. Use render_mode='rgb_array' or 'ansi', or set the"
                    " environment variable SDL_VIDEODRIVER=dummy to run without a window"
                ) from error
            pygame.display.set_caption(f"trialea: {self._game.name}")
            self._clock = pygame.time.Clock()
        surface = pygame.image.frombuffer(picture.tobytes(), (width, height), "RGB")
        self._window.blit(surface, (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window = None
            _pygame().display.quit()


def _pygame() -> Any:
    with needs_extra("render", "render_mode='human'", "pygame"):
        import pygame
    return pygame
