"""The types of the functions that a game's package must have: rules, kernels, words and pictures.

`trialea.envs.game.Game` works with any package that has these modules. docs/design.md says what each part does.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from trialea.envs.registry import get_spec


class Rules(Protocol):
    """The module `rules`: options, tables and limits.

    Attributes:
        Options: a frozen dataclass that checks its values.
        MIN_PLAYERS: the fewest players.
        MAX_PLAYERS: the most players, at most 8.
        SCORE_SCALE: the factor of the reward `"score"`, negative if points are bad.
    """

    Options: type[Any]
    MIN_PLAYERS: int
    MAX_PLAYERS: int
    SCORE_SCALE: float

    def num_actions(self, options: Any) -> int:
        """Return the size A of the flat action space."""
        ...

    def tables(self, options: Any) -> Any:
        """Return the lookup tables of the kernels, as a named tuple."""
        ...


class Kernels(Protocol):
    """The module `game`: the record type of a state, and the compiled rules; see `trialea.envs.loops`."""

    __name__: str
    STATE: np.dtype[Any]


class Words(Protocol):
    """The module `names`: names of actions and observations, and the commands of a person at the terminal."""

    def action_name(self, game: Any, state: Any, action: int) -> str:
        """Return the meaning of `action` in `state`, in words."""
        ...

    def why_illegal(self, game: Any, state: Any, action: int) -> str:
        """Return why the rules refuse `action`, which is in range, in `state`."""
        ...

    def observation_names(self, game: Any) -> list[str]:
        """Return the name of every entry of an observation, in order."""
        ...

    def opening(self, game: Any, state: Any) -> dict[str, NDArray[np.int64]]:
        """Return the report of a reset: arrays of fixed shapes, see `trialea.envs.game.Game.opening`."""
        ...

    def throw_name(self, game: Any, state: Any) -> str:
        """Return the dice on the table in one line."""
        ...

    def how_to(self, game: Any, state: Any) -> list[str]:
        """Return lines of help for the commands that make sense in `state`."""
        ...

    def parse_action(self, game: Any, state: Any, line: str) -> int | None:
        """Return the action for a typed line, legal or not; None if the line is not one of the game's commands."""
        ...

    def menu(self, game: Any, state: Any) -> list[list[int]]:
        """Return groups of legal actions with the same effect, to be picked by number."""
        ...


class Drawing(Protocol):
    """The module `render`: a state as text and as a picture."""

    def text(self, game: Any, state: Any) -> str:
        """Return the state as text for a terminal."""
        ...

    def picture(self, game: Any, state: Any) -> NDArray[np.uint8]:
        """Return the state as an RGB picture, (height, width, 3) uint8."""
        ...

    def require_pictures(self) -> None:
        """Raise `MissingExtraError` if `picture` lacks a library."""
        ...


class GamePackage(Protocol):
    """The package of a game: four modules."""

    rules: Rules
    game: Kernels
    names: Words
    render: Drawing


def package_of(name: str) -> GamePackage:
    """Import and return the package of the game called `name`.

    Raises:
        UnknownNameError: there is no such game.
    """
    return cast(GamePackage, import_module(get_spec(name).package))
