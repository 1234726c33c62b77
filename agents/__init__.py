"""Whoever chooses actions: random, greedy, solvers, trained models, a person."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from trialea.agents import zoo
from trialea.envs.agent import Agent
from trialea.envs.errors import OptionError, UnknownNameError
from trialea.envs.game import Game
from trialea.envs.registry import entry_of, named


def solve(game: Game, progress: Callable[[float], None] | None = None, **settings: Any) -> Any:
    """The exact solution of `game`, from the cache on disk or computed; each game's page says what it offers.

    Args:
        game: the game with its players and options.
        progress: called with the share of the work done, from 0 to 1.
        **settings: what the game's solver can be asked for besides, see `solver_settings`.

    Raises:
        OptionError: the game has no solution for these options or so many players, or its solver no such setting.
    """
    known = solver_settings(game.name)
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise OptionError(f"the solver of {game.name} has no setting {', '.join(unknown)}; it has: {', '.join(known)}")
    return import_module(entry_of(game.name).solver).solve(game, progress, **settings)


def solver_settings(name: str) -> Mapping[str, Any]:
    """The settings of the solver of the game called `name`, with their defaults; empty where it has none."""
    solver = entry_of(name).solver
    if not solver:
        raise OptionError(f"{name} has no exact solution")
    parameters = inspect.signature(import_module(solver).solve).parameters
    return {key: parameter.default for key, parameter in list(parameters.items())[2:]}


def named_agent(name: str, game: Game, seed: int = 0) -> Agent:
    """The agent registered for `game` under `name`, the zoo's if it is `zoo:NAME`, or the model that lies at that path.

    Raises:
        UnknownNameError: none of these; the message lists the names that exist for so many players.
    """
    entry = entry_of(game.name)
    known = entry.agents_for(game.num_players)
    if name in known:
        agent: Agent = named(entry.agents[name])(game, seed)
        return agent
    if name.startswith(zoo.PREFIX):
        animal = _trained_agent(str(zoo.file_of(game.name, name)), game)
        animal.name = name
        return animal
    if Path(name).exists():
        return _trained_agent(name, game)
    raise UnknownNameError(
        f"{game.name} has no agent {name!r} for {game.num_players} players, and no model or run lies there; its agents"
        f" for {game.num_players} players are: {', '.join(known)}, or the path of a run folder or a model;"
        f" of the zoo: {', '.join(zoo.names(game.name)) or 'none'}"
    )


def _trained_agent(path: str, game: Game) -> Agent:
    """The agent in a run folder or model file, of whatever kind it is."""
    from trialea.agents.model import ModelAgent, kind_of, model_file

    kind = kind_of(model_file(Path(path)))
    if kind == "afterstate":
        from trialea.agents.afterstate import AfterstateAgent

        return AfterstateAgent.load(path, game)
    if kind == "seats":
        from trialea.agents.seats import SeatsAgent

        return SeatsAgent.load(path, game)
    return ModelAgent.load(path, game)
