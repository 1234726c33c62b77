"""The agents in the other seats: who sits where in each game, and which agents are queried together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trialea.envs.agent import Agent, AgentLike, make_agent
from trialea.envs.dice import FOR_OPPONENT, derive_many
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States

OpponentsLike = AgentLike | Sequence[AgentLike] | Mapping[Any, float]
"""The agent for every other seat; one for each other seat; or a mapping from agents to weights, see `Opponents`."""


class Crowd(Protocol):
    """Several agents that are queried in one call, which may be faster than one call for each.

    Agents take part by an attribute `crowd`. Neighbours in the list of opponents with the same crowd are queried
    together.
    """

    def act(self, states: States, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return an action (B,) for each of the (B,) states, chosen by that member (B,), counted from the first."""
        ...


class _Alone:
    """A crowd of one agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def act(self, states: States, members: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._agent.act(states)


def _crowds(agents: Sequence[Agent]) -> Iterator[tuple[int, int, Crowd]]:
    """Yield the number of the first agent of each crowd, the number after its last, and the crowd."""
    end = 0
    for _, group in groupby(agents, lambda agent: id(getattr(agent, "crowd", agent))):
        first, (agent, *others) = end, group
        end += 1 + len(others)
        yield first, end, getattr(agent, "crowd", None) or _Alone(agent)


class Opponents:
    """The agents in the other seats.

    Args:
        who: an agent or name for every other seat; a sequence of them, one for each other seat in order from the
            learner's left; or a mapping from agents to weights, from which each seat's agent is drawn for each game.
        game: the game to be played.

    Attributes:
        agents: every agent that may take a seat.
        weights: the weights of the draw; None if nothing is drawn.
        crowds: for each crowd, the number of its first agent, the number after its last, and the crowd.

    Raises:
        OptionError: the sequence has the wrong length, or the weights are negative, all 0 or not finite.
        UnknownNameError: a name is unknown.
    """

    def __init__(self, who: OpponentsLike, game: Game) -> None:
        self.game = game
        self.weights: NDArray[np.float64] | None = None
        if isinstance(who, Mapping):
            self.weights = _checked_weights(who)
            self.agents = [make_agent(name, game, seed) for seed, name in enumerate(who)]
        elif isinstance(who, Sequence) and not isinstance(who, (str, os.PathLike)):
            if len(who) != game.num_players - 1:
                raise OptionError(
                    f"a list of opponents must name one for each other seat: {game.num_players - 1}, got {len(who)}"
                )
            self.agents = [make_agent(name, game, seed) for seed, name in enumerate(who)]
            self._by_seat = np.arange(-1, game.num_players - 1)
        else:
            self.agents = [make_agent(who, game)]
            self._by_seat = np.zeros(game.num_players, np.int64)
        self.crowds = list(_crowds(self.agents))

    def assign(
        self, bases: NDArray[np.uint64], episodes: NDArray[np.int64], learners: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the number (G, P) of the agent in each seat of each game; the learner's own entry has no meaning.

        Args:
            bases: (G,) seeds of the games' streams of episodes.
            episodes: (G,) numbers of the episodes in their streams.
            learners: (G,) the learners' seats.
        """
        players = self.game.num_players
        if self.weights is None:
            offsets = (np.arange(players) - learners[:, None]) % players
            seated: NDArray[np.int64] = self._by_seat[offsets]
            return seated
        edges = np.cumsum(self.weights) / self.weights.sum()
        drawn = np.empty((len(bases), players), np.int64)
        draw = np.empty(len(bases), np.uint64)
        for place in range(players):
            derive_many(bases, episodes, FOR_OPPONENT, place, draw)
            drawn[:, place] = np.searchsorted(edges, draw / 2.0**64, side="right")
        return np.minimum(drawn, len(edges) - 1)


def _checked_weights(who: Mapping[Any, float]) -> NDArray[np.float64]:
    weights = np.array(list(who.values()), float)
    if not len(weights) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        named = {getattr(one, "name", one): weight for one, weight in who.items()}
        raise OptionError(f"the weights of opponents must be finite, at least 0 and not all 0, got {named}")
    weights /= weights.max()  # so that their sum is finite
    return weights
