"""The games: their rules, and the environments over them.

Importing this package is light; a game's kernels are compiled when an environment of it is first made.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trialea.envs.registry import GAMES

_LAZY = {
    "Agent": "agent",
    "BatchedEnv": "vector",
    "Game": "game",
    "LearnerGames": "learner",
    "MultiAgentEnv": "aec",
    "SingleAgentEnv": "single",
    "make_agent": "agent",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"trialea.envs.{_LAZY[name]}"), name)
    if name in {entry.aec_module.rpartition(".")[2] for entry in GAMES.values()}:
        return import_module(f"trialea.envs.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
