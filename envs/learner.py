"""Batches of games as one learner meets them: the others play inside, however many actions their turns take.

The single-agent environment, the vector environment and the training adapter are thin faces of `LearnerBatch`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trialea.envs.dice import FOR_GAME_SEED, FOR_SEAT, derive_many
from trialea.envs.errors import IllegalActionError, NotResetError, OptionError, whole_number
from trialea.envs.game import Game
from trialea.envs.opponents import Opponents, OpponentsLike

_STATE = ("states", "seats", "agent_of", "returns", "_paid", "_bases", "_episodes")  # what changes as games are played

Seat = int | Literal["random", "rotate"]


def check_seed(seed: Any) -> int:
    """`seed` as a Python integer from 0 to 2^64 - 1, or an `OptionError`."""
    return whole_number("seed", seed, 0, 2**64 - 1)


def first_player_of(options: Mapping[str, Any] | None, game: Game) -> int:
    """The reset option `first_player`, by default 0. Other keys are ignored, as PettingZoo's own tests ask."""
    if not isinstance(options or {}, Mapping):
        raise OptionError(f"the options of reset() are a mapping, not {options!r}")
    return whole_number("first_player", (options or {}).get("first_player", 0), 0, game.num_players - 1)


class LearnerBatch:
    """B games at once, each with one learner's seat and the other seats played by agents.

    Game `i` has a stream of episodes that follows from its seed alone: each episode's dice, the learner's seat and
    the choice of opponents do not depend on the other games of the batch.

    Args:
        game: what is played.
        num_games: B.
        opponents: see `trialea.envs.opponents.Opponents`.
        seat: the learner's seat: a number; `"random"`, drawn for each episode; or `"rotate"`, the next one for each
            episode.
        reward: `"win"` or `"score"`, see `trialea.envs.game.Reward`.

    Attributes:
        states: the (B,) games.
        seats: the learner's (B,) seats.
        agent_of: (B, P), which of `opponents.agents` plays each seat.
        returns: (B, P), each seat's reward so far in the episode.
    """

    def __init__(
        self,
        game: Game,
        num_games: int,
        opponents: OpponentsLike,
        seat: Seat,
        reward: str,
    ) -> None:
        self.game = game
        self.seat = seat if seat in ("random", "rotate") else whole_number("seat", seat, 0, game.num_players - 1)
        self.opponents = Opponents(opponents, game)
        self.set_reward(reward)
        self.states = game.start(np.zeros(num_games, np.uint64))
        self.seats = np.zeros(num_games, np.int64)
        self.agent_of = np.zeros((num_games, game.num_players), np.int64)
        self.returns = np.zeros((num_games, game.num_players))
        self._paid = np.zeros(num_games)  # of the learners' returns
        fresh = np.random.SeedSequence().generate_state(num_games, np.uint64)
        self._bases: NDArray[np.uint64] = fresh.astype(np.uint64)  # until `seed` gives others
        self._episodes = np.zeros(num_games, np.int64)
        self._every = np.arange(num_games)
        self._waiting = np.zeros(num_games, np.int64)
        self._waiting_agents = np.zeros(num_games, np.int64)

    def seed(self, seeds: Sequence[int], index: NDArray[np.int64] | None = None) -> None:
        """Give the picked games (all by default) new seeds; their next episode is their first."""
        picked = self._every if index is None else index
        self._bases[picked] = np.array([check_seed(seed) for seed in seeds], np.uint64)
        self._episodes[picked] = 0

    def start(self, index: NDArray[np.int64] | None = None, first_player: int = 0) -> None:
        """Begin the next episode of the picked games (all by default), up to the learner's first decision.

        A game that the others end before the learner has decided anything is no episode: the next one is begun.
        """
        picked = self._every if index is None else index
        while len(picked):
            self._begin(picked, first_player)
            self._play_others()
            picked = picked[self.states.finished[picked, self.seats[picked]] != 0]

    def _begin(self, picked: NDArray[np.int64], first_player: int) -> None:
        """Set the picked games up for their next episode, and throw the first dice."""
        bases, episodes = self._bases[picked], self._episodes[picked]
        seeds = np.empty(len(picked), np.uint64)
        derive_many(bases, episodes, FOR_GAME_SEED, 0, seeds)
        self.seats[picked] = seats = self._draw_seats(bases, episodes)
        self.agent_of[picked] = self.opponents.assign(bases, episodes, seats)
        self.game.restart(self.states, picked, seeds, np.full(len(picked), first_player, np.int64))
        self.returns[picked] = self._paid[picked] = 0.0
        self._episodes[picked] += 1

    def _draw_seats(self, bases: NDArray[np.uint64], episodes: NDArray[np.int64]) -> NDArray[np.int64]:
        players = self.game.num_players
        if self.seat == "rotate":
            return ((bases % np.uint64(players)).astype(np.int64) + episodes) % players
        if self.seat == "random":
            draws = np.empty(len(bases), np.uint64)
            derive_many(bases, episodes, FOR_SEAT, 0, draws)
            return (draws >> np.uint64(32)).astype(np.int64) * players >> 32
        return np.full(len(bases), int(self.seat))

    def step(
        self, actions: Any, index: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Take the learner's actions in the picked games (all by default), and play on to its next decisions.

        Returns:
            The learner's reward since its last decision, or from the beginning for its first, and whether its game has
            terminated or been truncated, each (B,) over all games. Games that have ended stay as they are until
            `start`.

        Raises:
            IllegalActionError: an action is not legal where it is played; no game has moved.
            NotResetError: a game has ended for its learner; no game has moved.
        """
        picked = self._every if index is None else index
        if (self.states.finished[picked, self.seats[picked]] != 0).any():
            raise NotResetError("the game has ended for the learner: call reset() before the next step()")
        if (self.states.mover[picked] != self.seats[picked])[self.states.over[picked] == 0].any():
            raise NotResetError("a game broke off in another player's turn: call reset() before the next step()")
        self.game.step(self.states, actions, picked, self.returns, self.reward)
        self._play_others()
        rewards = np.zeros(len(self.states))
        rewards[picked] = self.returns[picked, self.seats[picked]] - self._paid[picked]
        self._paid[picked] += rewards[picked]
        ended = self.states.finished[self._every, self.seats] != 0
        truncated = ended & (self.states.truncated != 0)
        return rewards, ended & ~truncated, truncated

    def set_reward(self, reward: str) -> None:
        """Pay this kind of reward from now on."""
        self.game.scale_of(reward)
        self.reward = reward

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Everything that decides how the games go on, as arrays."""
        return {name: np.array(getattr(self, name)) for name in _STATE}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put the games back where `snapshot` found them; the batch must be as large."""
        for name in _STATE:
            getattr(self, name)[...] = arrays[name]

    def _play_others(self) -> None:
        """Let the other seats act until every game has come to its learner's decision, or to the end for it."""
        game, loops = self.game, self.game.loops
        while True:
            count = loops.waiting(self.states, self.seats, self.agent_of, self._waiting, self._waiting_agents)
            if not count:
                return
            index, agents = self._waiting[:count], self._waiting_agents[:count]
            for first, end, crowd in self.opponents.crowds:
                here = (agents >= first) & (agents < end)
                mine = index[here]
                if len(mine):
                    actions = crowd.act(self.states[mine].view(np.recarray), agents[here] - first)
                    try:
                        game.step(self.states, actions, mine, self.returns, self.reward)
                    except IllegalActionError as error:
                        name = self.opponents.agents[first].name
                        raise IllegalActionError(f"opponent {name!r}: {error}") from error

    def own_turns(self) -> NDArray[np.int32]:
        """How many turns the learner has completed in each game, (B,)."""
        turns: NDArray[np.int32] = self.states.turns[self._every, self.seats]
        return turns

    def observe(self) -> NDArray[np.float32]:
        """What the learner sees, (B, D)."""
        return self.game.observe(self.states, self.seats)

    def masks(self) -> NDArray[np.int8]:
        """The learner's legal actions, (B, A); all zero where its game has ended."""
        return self.game.masks(self.states, self.seats)
