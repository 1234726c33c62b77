"""A batch of games from the viewpoint of one learner. The agents in the other seats play inside it.

The single-agent environment, the vector environment and the training adapter are thin wrappers of `LearnerBatch`. A
turn of the learner may take several actions, and so may the turns of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trialea.envs.checks import check_seed, whole_number
from trialea.envs.dice import FOR_GAME_SEED, FOR_SEAT, derive_many
from trialea.envs.errors import AgentError, IllegalActionError, NotResetError, OptionError, TrialeaError
from trialea.envs.game import Game
from trialea.envs.opponents import Opponents, OpponentsLike

MAX_SKIPPED = 10_000  # games in a row that end before the learner's first decision

# The arrays that decide how the games continue.
_STATE = ("states", "seats", "agent_of", "returns", "_paid", "_bases", "_episodes")

Seat = int | Literal["random", "rotate"]
"""The learner's seat: a number, `"random"` (drawn for each episode) or `"rotate"` (the next one for each episode)."""


def first_player_of(options: Mapping[str, Any] | None, game: Game) -> int:
    """Return the reset option `first_player`, by default 0. Other keys are ignored, as PettingZoo's own tests ask.

    Raises:
        OptionError: `options` is not a mapping, or `first_player` is not a seat.
    """
    if not isinstance(options or {}, Mapping):
        raise OptionError(f"the options of reset() must be a mapping, got {options!r}")
    return whole_number("first_player", (options or {}).get("first_player", 0), 0, game.num_players - 1)


class LearnerBatch:
    """B games at once, each with one learner's seat; agents play the other seats.

    Game `i` has a stream of episodes that depends on its seed alone. Each episode's dice, the learner's seat and the
    choice of opponents do not depend on the other games of the batch.

    An episode begins at the learner's first decision. A game that ends before it is not an episode: the next game of
    the stream is begun. `skipped_games` and `skipped_rewards` account for such games.

    Args:
        game: the game to be played.
        num_games: B.
        opponents: see `trialea.envs.opponents.Opponents`.
        seat: the learner's seat.
        reward: `"win"` or `"score"`, see `trialea.envs.game.Reward`.

    Attributes:
        states: (B,) the games.
        seats: (B,) the learner's seat in each.
        agent_of: (B, P) the number in `opponents.agents` of the agent in each seat.
        returns: (B, P) each seat's reward so far in the episode.
        skipped_games: (B,) how many games of the stream ended before the learner's first decision, just before this
            episode.
        skipped_rewards: (B,) the sum of the learner's rewards in these games.

    Raises:
        OptionError: a seat, reward or opponent is not possible in this game.
    """

    def __init__(self, game: Game, num_games: int, opponents: OpponentsLike, seat: Seat, reward: str) -> None:
        self.game = game
        self.seat = seat if seat in ("random", "rotate") else whole_number("seat", seat, 0, game.num_players - 1)
        self.opponents = Opponents(opponents, game)
        self.set_reward(reward)
        self.states = game.start(np.zeros(num_games, np.uint64))
        self.seats = np.zeros(num_games, np.int64)
        self.agent_of = np.zeros((num_games, game.num_players), np.int64)
        self.returns = np.zeros((num_games, game.num_players))
        self.skipped_games = np.zeros(num_games, np.int64)
        self.skipped_rewards = np.zeros(num_games)
        self._paid = np.zeros(num_games)  # of the learners' returns
        fresh = np.random.SeedSequence().generate_state(num_games, np.uint64)
        self._bases: NDArray[np.uint64] = fresh.astype(np.uint64)  # until `seed` gives others
        self._episodes = np.zeros(num_games, np.int64)
        self._every = np.arange(num_games)
        self._waiting = np.zeros(num_games, np.int64)
        self._waiting_agents = np.zeros(num_games, np.int64)

    def seed(self, seeds: Sequence[int], index: NDArray[np.int64] | None = None) -> None:
        """Give the picked games (all by default) new seeds; their next episode is their first.

        Raises:
            OptionError: a seed is not a whole number from 0 to 2^64 - 1.
        """
        picked = self._every if index is None else index
        self._bases[picked] = np.array([check_seed(seed) for seed in seeds], np.uint64)
        self._episodes[picked] = 0

    def start(self, index: NDArray[np.int64] | None = None, first_player: int = 0) -> None:
        """Begin the next episode of the picked games (all by default), up to the learner's first decision.

        Raises:
            AgentError: an opponent failed; the game needs another `start`.
            OptionError: the learner never gets to decide against these opponents.
        """
        picked = self._every if index is None else index
        self.skipped_games[picked], self.skipped_rewards[picked] = 0, 0.0
        while len(picked):
            self._begin(picked, first_player)
            self._play_others()
            seats = self.seats[picked]
            ended = self.states["finished"][picked, seats] != 0
            if not ended.any():
                return
            picked, seats = picked[ended], seats[ended]
            self.skipped_games[picked] += 1
            self.skipped_rewards[picked] += self.returns[picked, seats]
            if self.skipped_games.max() >= MAX_SKIPPED:
                raise OptionError(
                    f"the learner must get to decide, but {MAX_SKIPPED} games in a row ended before its first decision:"
                    " choose other opponents, another seat or another first_player"
                )

    def _begin(self, picked: NDArray[np.int64], first_player: int) -> None:
        """Set the picked games up for their next game, and throw the first dice."""
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
            The learner's reward since its last decision (or since the beginning, for its first), and whether its game
            has terminated or been truncated, each (B,) over all games. Games that have ended stay as they are until
            `start`.

        Raises:
            IllegalActionError: an action is not legal; no game has moved.
            NotResetError: a game has ended for its learner, or an opponent failed in it; no game has moved.
            AgentError: an opponent failed; games in which it was to move need `start`.
        """
        picked = self._every if index is None else index
        seats = self.seats[picked]
        if (self.states["finished"][picked, seats] != 0).any():
            raise NotResetError("the game has ended for the learner: call reset() before the next step()")
        if (self.states["mover"][picked] != seats)[self.states["over"][picked] == 0].any():
            raise NotResetError("an opponent failed in its turn: call reset() before the next step()")
        chosen = self.game.as_actions(actions, len(picked))
        self.game.check_legal(self.states, chosen, picked)
        self._advance(picked, chosen)
        self._play_others()
        rewards = np.zeros(len(self.states))
        rewards[picked] = self.returns[picked, seats] - self._paid[picked]
        self._paid[picked] += rewards[picked]
        ended = self.states["finished"][self._every, self.seats] != 0
        truncated = ended & (self.states["truncated"] != 0)
        return rewards, ended & ~truncated, truncated

    def _advance(self, index: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Take legal actions in the picked games."""
        game = self.game
        game.loops.advance(self.states, index, actions, game.tables, True, self._scale, self.returns)

    def set_reward(self, reward: str) -> None:
        """Pay this kind of reward from now on.

        Raises:
            OptionError: there is no such kind.
        """
        self._scale = self.game.scale_of(reward)
        self.reward = reward

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return everything that decides how the games continue, as arrays."""
        return {name: np.array(getattr(self, name)) for name in _STATE}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Put the games back into the state of a `snapshot` of a batch of the same size."""
        for name in _STATE:
            getattr(self, name)[...] = arrays[name]

    def _play_others(self) -> None:
        """Let the other seats act until it is the learner's turn in every game, or its game has ended."""
        loops = self.game.loops
        while True:
            count = loops.waiting(self.states, self.seats, self.agent_of, self._waiting, self._waiting_agents)
            if not count:
                return
            index, agents = self._waiting[:count], self._waiting_agents[:count]
            for first, end, crowd in self.opponents.crowds:
                here = (agents >= first) & (agents < end)
                asked = index[here]
                if len(asked):
                    states = self.states[asked].view(np.recarray)
                    try:
                        given = crowd.act(states, agents[here] - first)
                    except TrialeaError:
                        raise
                    except Exception as error:
                        raise self._failed(agents[here], f"raised {type(error).__name__}: {error}") from error
                    self._advance(asked, self._checked(given, asked, agents[here]))

    def _checked(self, given: Any, asked: NDArray[np.int64], agents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the actions that opponents chose in the games `asked`, or raise `AgentError` if one is illegal."""
        game = self.game
        try:
            actions = game.as_actions(given, len(asked))
        except IllegalActionError as error:
            raise self._failed(agents, f"returned an invalid action array: {error}") from error
        place = game.first_illegal(self.states, actions, asked)
        if place >= 0:
            illegal = IllegalActionError(game.why_illegal(self.states[asked[place]], int(actions[place])))
            raise self._failed(agents[place : place + 1], f"chose an illegal action: {illegal}") from illegal
        return actions

    def _failed(self, agents: NDArray[np.int64], what: str) -> AgentError:
        """Return the error for opponents, by their numbers, that failed together."""
        names = " or ".join(dict.fromkeys(repr(self.opponents.agents[agent].name) for agent in np.unique(agents)))
        return AgentError(f"opponent {names} {what}. Call reset() before the next step()")

    def own_turns(self) -> NDArray[np.int32]:
        """Return how many turns the learner has completed in each game, (B,)."""
        turns: NDArray[np.int32] = self.states["turns"][self._every, self.seats]
        return turns

    def observe(self) -> NDArray[np.float32]:
        """Return the learner's observations, (B, D)."""
        return self.game._observe(self.states, self.seats)

    def masks(self) -> NDArray[np.int8]:
        """Return the learner's legal actions, (B, A); all zero where its game has ended."""
        return self.game._masks(self.states, self.seats)
