"""The protocol of whoever chooses actions, and how a name becomes such an agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trialea.envs.dice import FOR_OPPONENT, derive_many
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States


@runtime_checkable
class Agent(Protocol):
    """Whoever chooses actions in games of one description, many at a time.

    An agent keeps no memory of a game: what it plays follows from the state alone, and from its own seed if it draws
    random numbers, so the same agent serves any number of games and seats at once. One that has an attribute `game`, a
    `Game`, is for that game alone, and is refused in another.
    """

    name: str

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action, (B,) int64, for the player to move in each of the (B,) `states`; none of them is over."""
        ...


@runtime_checkable
class HasProbabilities(Protocol):
    """An agent that can say how likely it is to choose each action, which lets its policy be valued exactly."""

    def action_probabilities(self, states: States) -> NDArray[np.floating[Any]]:
        """The probability (B, A) of each action in each of the (B,) `states`; 0 where it is illegal."""
        ...


@runtime_checkable
class ValuesActions(Protocol):
    """An agent that can say what each action is worth, which lets it judge the decisions of others."""

    def action_values(self, states: States) -> NDArray[np.float64]:
        """The mover's share of the win after each action (B, A) in each of the (B,) `states`; NaN where illegal."""
        ...


class Crowd(Protocol):
    """Several agents who are asked at once, which may be quicker than one after the other.

    Opponents that stand side by side and have the same crowd as their attribute `crowd` are asked through it.
    """

    def act(self, states: States, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """An action (B,) for each of the (B,) states, by that member (B,) of the crowd, counted from its first."""
        ...


class _Alone:
    """An agent as a crowd of one."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def act(self, states: States, members: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._agent.act(states)


def is_deterministic(agent: Agent) -> bool:
    """Whether `agent` always does the same in the same position, which it says by an attribute `deterministic`.

    Without one it counts as random. One that is deterministic needs no `action_probabilities`: `act` says it all.
    """
    return bool(getattr(agent, "deterministic", False))


AgentLike = str | Agent
"""An agent, or what names one: a registered name, or the path of a trained model or run."""


def make_agent(agent: AgentLike, game: Game, seed: int = 0) -> Agent:
    """The agent that `agent` names, or `agent` itself if it is one already.

    Args:
        agent: an `Agent`, a name registered for the game, or the path of a run folder or model.
        game: the game that it is to play.
        seed: what its random choices depend on, apart from the game's own seed.

    Raises:
        UnknownNameError: no such name, with a list of those that exist for this game and number of players.
        OptionError: an object that is no agent, or an agent for another game.
    """
    if not isinstance(agent, str):
        if isinstance(agent, type) or not isinstance(agent, Agent):
            raise OptionError(f"an agent is a name or an object with `name` and `act(states)`, not {agent!r}")
        own = getattr(agent, "game", game)
        if isinstance(own, Game) and own != game:
            raise OptionError(
                f"agent {agent.name!r} is for {own!r}, not {game!r}: make one for the game that is played"
            )
        return agent
    made: Agent = import_module("trialea.agents").named_agent(agent, game, seed)
    return made


def _crowds(agents: Sequence[Agent]) -> Iterator[tuple[int, int, Crowd]]:
    """Who is asked together, see `Opponents`."""
    end = 0
    for _, group in groupby(agents, lambda agent: id(getattr(agent, "crowd", agent))):
        first, (agent, *others) = end, group
        end += 1 + len(others)
        yield first, end, getattr(agent, "crowd", None) or _Alone(agent)


class Opponents:
    """Who sits in the other seats.

    Args:
        who: an agent or name for every other seat; or a sequence of them, one for each other seat in order from the
            learner's left; or a mapping from agent to weight, from which each seat's player is drawn for each game.
        game: the game to be played.

    Attributes:
        agents: everybody who may sit there.
        weights: how often each is drawn, where they are drawn.
        crowds: who is asked together: the number of the first agent and one beyond the last, and their crowd.
    """

    def __init__(self, who: AgentLike | Sequence[AgentLike] | Mapping[Any, float], game: Game) -> None:
        self.game = game
        self.weights: NDArray[np.float64] | None = None
        if isinstance(who, Mapping):
            weights = np.array(list(who.values()), float)
            if not len(weights) or not 0 < weights.sum() < np.inf or (weights < 0).any():
                named = {getattr(one, "name", one): weight for one, weight in who.items()}
                raise OptionError(f"opponents need weights of at least 0 that are not all 0, not {named}")
            self.agents = [make_agent(name, game, seed) for seed, name in enumerate(who)]
            self.weights = weights
        elif isinstance(who, Sequence) and not isinstance(who, str):
            if len(who) != game.num_players - 1:
                raise OptionError(
                    f"a list of opponents must name one for each other seat: {game.num_players - 1}, not {len(who)}"
                )
            self.agents = [make_agent(name, game, seed) for seed, name in enumerate(who)]
            self._by_seat = np.arange(-1, game.num_players - 1)
        else:
            self.agents = [make_agent(who, game)]
            self._by_seat = np.zeros(game.num_players, np.int64)
        self.crowds = list(_crowds(self.agents))

    def seat(
        self, bases: NDArray[np.uint64], episodes: NDArray[np.int64], learners: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Which agent plays each seat of each game, (G, P); the learner's own entry means nothing."""
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
