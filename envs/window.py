"""Render modes, generic over the games: text, a picture, a window."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import OptionError, needs_extra
from trialea.envs.game import Game

RENDER_MODES = ("ansi", "rgb_array", "human")


class Renderer:
    """Shows the states of one environment in its render mode; copies and pickles without its window."""

    def __init__(self, game: Game, mode: str | None, fps: int) -> None:
        if mode is not None and mode not in RENDER_MODES:
            raise OptionError(f"render_mode must be one of {', '.join(RENDER_MODES)} or None, not {mode!r}")
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

    def after_change(self, state: Any) -> None:
        """In `"human"` mode show the new state at once, as Gymnasium asks."""
        if self._mode == "human":
            self.render(state)

    def render(self, state: Any) -> str | NDArray[np.uint8] | None:
        """The state as text or picture, or None after showing it in the window (or with no render mode)."""
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
            pygame.display.init()
            self._window = pygame.display.set_mode((width, height))
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
