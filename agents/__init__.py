"""Whoever chooses actions: random, greedy, solvers, trained models, a person."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from trialea.envs.agent import Agent
from trialea.envs.errors import UnknownNameError
from trialea.envs.game import Game
from trialea.envs.registry import entry_of


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
