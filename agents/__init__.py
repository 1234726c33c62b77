"""Whoever chooses actions: random, greedy, solvers, trained models, a person."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from trialea.envs.agent import Agent
from trialea.envs.errors import OptionError, UnknownNameError
from trialea.envs.game import Game
from trialea.envs.registry import entry_of


def solve(game: Game, progress: Callable[[float], None] | None = None) -> Any:
    """The exact solution of `game`, from the cache on disk or computed; each game's page says what it offers.

    Args:
        game: the game with its players and options.
        progress: called with the share of the work done, from 0 to 1.

    Raises:
        OptionError: the game has no solution for these options or so many players.
    """
    solver = entry_of(game.name).solver
    if not solver:
        raise OptionError(f"{game.name} has no exact solution")
    return import_module(solver).solve(game, progress)


def named_agent(name: str, game: Game, seed: int = 0) -> Agent:
    """The agent registered for `game` under `name`, or the trained model that lies at that path.

    Raises:
        UnknownNameError: neither; the message lists the names that exist for so many players.
    """
    entry = entry_of(game.name)
    known = entry.agents_for(game.num_players)
    if name in known:
        module, _, kind = entry.agents[name].partition(":")
        agent: Agent = getattr(import_module(module), kind)(game, seed)
        return agent
    if Path(name).exists():
        from trialea.agents.model import ModelAgent

        return ModelAgent.load(name, game)
    raise UnknownNameError(
        f"{game.name} has no agent {name!r} for {game.num_players} players, and no model or run lies there; its agents"
        f" for {game.num_players} players are: {', '.join(known)}, or the path of a run folder or a model"
    )
