"""Dice games as reinforcement-learning environments, with the exact solution to measure agents against.

Importing this package registers every environment with Gymnasium and PettingZoo, and does nothing else: numba, torch
and the rest are loaded when something that needs them is first used.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# In a checkout the subpackages lie beside this folder, which Python takes for the package if it is started there.
if not os.path.isdir(os.path.join(os.path.dirname(__file__), "envs")):
    __path__.append(os.path.dirname(os.path.dirname(__file__)))

from trialea.envs.errors import (
    IllegalActionError,
    MissingExtraError,
    NotResetError,
    OptionError,
    TrialeaError,
    UnknownNameError,
)
from trialea.envs.registry import GAMES, entry_of, register_all, register_variant
from trialea.envs.versions import __version__ as __version__

if TYPE_CHECKING:
    from trialea.agents import solve
    from trialea.envs.agent import Agent, make_agent
    from trialea.envs.game import Game

__all__ = [
    "GAMES",
    "Agent",
    "Game",
    "IllegalActionError",
    "MissingExtraError",
    "NotResetError",
    "OptionError",
    "TrialeaError",
    "UnknownNameError",
    "make_agent",
    "make_game",
    "register_variant",
    "solve",
]

_LAZY = {
    "Agent": "trialea.envs.agent",
    "Game": "trialea.envs.game",
    "make_agent": "trialea.envs.agent",
    "solve": "trialea.agents",
}

register_all()


def make_game(name: str, num_players: int | None = None, **options: Any) -> Game:
    """The game called `name` with its players (by default the fewest) and options fixed: the compiled kernels' face.

    Raises:
        UnknownNameError: no such game.
        OptionError: an unknown option, or a value outside its range.
    """
    from trialea.envs.game import Game

    return Game(entry_of(name).name, num_players, **options)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
