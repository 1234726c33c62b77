"""The protocols of agents, and `make_agent`, which turns a name into an agent."""

from __future__ import annotations

import os
from pkgutil import resolve_name
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trialea.envs.checks import check_seed
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.registry import agent_loader, get_spec


@runtime_checkable
class Agent(Protocol):
    """An agent chooses actions in many games at a time, all of the same description.

    An agent keeps no memory of a game. Its choice depends on the state alone, and on its own seed if it draws random
    numbers. So one agent serves any number of games and seats at once. An agent with an attribute `game`, a `Game`,
    plays that game only; `make_agent` refuses it for another game.

    Attributes:
        name: the name in results, a text that is not empty.
    """

    name: str

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action, (B,) int64, for the player to move in each of the (B,) `states`; none is over."""
        ...


@runtime_checkable
class HasProbabilities(Protocol):
    """An agent that knows the probability of each of its actions, so that its policy has an exact value."""

    def action_probabilities(self, states: States) -> NDArray[np.floating[Any]]:
        """Return the probability (B, A) of each action in each of the (B,) `states`; 0 where it is illegal."""
        ...


@runtime_checkable
class ActionValues(Protocol):
    """An agent or a solution that knows the value of each action, so that it can judge decisions."""

    def action_values(self, states: States) -> NDArray[np.float64]:
        """Return the mover's value after each action (B, A) in each of the (B,) `states`; NaN where it is illegal."""
        ...


def is_deterministic(agent: Agent) -> bool:
    """Return whether `agent` always chooses the same action in the same position: its attribute `deterministic`.

    An agent without the attribute counts as random. A deterministic agent needs no `action_probabilities`.
    """
    return bool(getattr(agent, "deterministic", False))


AgentLike = str | os.PathLike[str] | Agent
"""An agent, or what names one: a registered name, `zoo:NAME`, or the path of a trained model or run folder."""


def make_agent(agent: AgentLike, game: Game, seed: int = 0) -> Agent:
    """Return the agent that `agent` names, or `agent` itself if it is an agent already.

    Args:
        agent: an `Agent`, a name that is registered for the game, `zoo:NAME`, or the path of a run folder or model.
        game: the game that it is to play.
        seed: the seed of its random choices; they depend on the game's own seed too.

    Raises:
        UnknownNameError: there is no such name or path; lists the names for this game and number of players.
        OptionError: the object is not an agent, has no proper name, or plays another game; or the seed is wrong.
    """
    if isinstance(agent, (str, os.PathLike)):
        return _agent_of_name(os.fsdecode(agent), game, check_seed(seed))
    if isinstance(agent, type) or not isinstance(agent, Agent):
        raise OptionError(f"an agent must be a name, a path or an object with `name` and `act(states)`, got {agent!r}")
    name: Any = agent.name
    if not isinstance(name, str) or not name:
        raise OptionError(f"the name of an agent must be a text that is not empty, got {name!r} from {agent!r}")
    own = getattr(agent, "game", game)
    if isinstance(own, Game) and own != game:
        raise OptionError(f"agent {agent.name!r} is for {own!r}, not {game!r}: make one for the game that is played")
    return agent


def _agent_of_name(name: str, game: Game, seed: int) -> Agent:
    """Return a new agent of the registered name, or what the registered loader finds."""
    spec = get_spec(game.name)
    if name in spec.agents_for(game.num_players):
        agent: Agent = resolve_name(spec.agents[name])(game, seed)
        return agent
    loaded: Agent = resolve_name(agent_loader())(name, game)
    return loaded
