"""`Game`: a game with its players and options fixed, as generic methods over batches of states.

This file holds nothing of any particular game. A game's own package, see `trialea.envs.package`, has the rules, and
its kernels compute on one record, see `trialea.envs.loops`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from trialea.envs.checks import check_seed, whole_number
from trialea.envs.dice import MAX_DICE
from trialea.envs.errors import IllegalActionError, OptionError, UnknownOptionError, did_you_mean
from trialea.envs.loops import MAX_PLAYERS, Loops, loops_for
from trialea.envs.package import package_of

Reward = Literal["win", "score"]
"""The kind of reward that an environment pays.

`"win"`: when a player's game ends, (n s - 1) / (n - 1), where n is the number of players and s the player's share of
the win (1 for a sole winner, 0 for a loser): +1 to the winner, -1/(n-1) to every other; it sums to zero.
`"score"`: the change of the player's own score, times the game's scale (see each game's page).
"""

States = np.recarray[Any, Any]
"""A batch of game states: an array of records of the game's `STATE` type."""


def header(own_fields: Sequence[tuple[Any, ...]]) -> np.dtype[Any]:
    """Return the record type of a game's state: the fields that the generic code reads, and the game's own fields.

    | field | meaning |
    | --- | --- |
    | seed | the game's seed, from which every throw follows |
    | decisions | actions taken so far, by all players |
    | turns | turns that each seat has completed |
    | scores | each seat's points |
    | share | each seat's share of the win, once the game is over |
    | finished | 1 for each seat whose game has ended |
    | num_players, mover | seats in play, and the seat to act |
    | throws | throws made so far in this turn |
    | pending | the dice that are to be thrown next, a bit for each |
    | over, truncated | 1 when the game has ended, and when it was cut short |
    """
    generic: list[tuple[Any, ...]] = [
        ("seed", "u8"),
        ("decisions", "i4"),
        ("turns", "i4", (MAX_PLAYERS,)),
        ("scores", "i4", (MAX_PLAYERS,)),
        ("share", "f4", (MAX_PLAYERS,)),
        ("finished", "u1", (MAX_PLAYERS,)),
        ("num_players", "u1"),
        ("mover", "u1"),
        ("throws", "u1"),
        ("pending", "u1"),
        ("over", "u1"),
        ("truncated", "u1"),
    ]
    # Copies leave out the bytes between fields, so there must be none: every byte of a state belongs to a field.
    fields = sorted([*generic, *own_fields], key=lambda field: -np.dtype(field[1]).alignment)
    spare = np.dtype(fields, align=True).itemsize - np.dtype(fields).itemsize
    return np.dtype([*fields, *([("spare", "u1", (spare,))] if spare else [])], align=True)


class Game:
    """A game with its options and number of players fixed.

    A `Game` holds no game in progress: its methods take states, arrays of records. Two `Game` objects with the same
    description behave the same.

    Args:
        name: the registered name, such as `"no_dice"`.
        num_players: how many seats; by default the fewest that can play.
        **options: the game's options; its page lists them.

    Attributes:
        name: as given.
        num_players: how many seats, P.
        options: the game's options: the frozen dataclass `Options` of the game's own `rules` module.
        tables: the lookup tables of its kernels: a named tuple of arrays, whose type the game defines.
        words: the names of its actions and observations, see `trialea.envs.package.Words`.
        loops: the compiled loops over its kernels.
        state_dtype: the record type of a state.
        num_actions: the size A of the flat action space.
        observation_size: the length D of an observation.
        score_scale: the factor of the reward `"score"`.

    Raises:
        UnknownNameError: there is no such game.
        UnknownOptionError: the game has no such option.
        OptionError: the number of players or an option is out of range.
    """

    def __init__(self, name: str, num_players: int | None = None, **options: Any) -> None:
        self._package = package_of(name)
        rules = self._package.rules
        self.name = name
        self.words = self._package.names
        fewest, most = rules.MIN_PLAYERS, rules.MAX_PLAYERS
        self.num_players = fewest if num_players is None else whole_number("num_players", num_players, fewest, most)
        self.options = self._make_options(rules.Options, options)
        self.num_actions = rules.num_actions(self.options)
        self.score_scale = rules.SCORE_SCALE
        self.tables = rules.tables(self.options)
        self.state_dtype = self._package.game.STATE
        self._observation_names = self.words.observation_names(self)
        self.observation_size = len(self._observation_names)
        self.loops: Loops = loops_for(self._package.game.__name__)
        self._blank = self._new_states(1)
        self._blank.num_players = self.num_players
        self._hash = hash(repr(self))

    def _make_options(self, kind: Any, given: Mapping[str, Any]) -> Any:
        known = [field.name for field in fields(kind)]
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise UnknownOptionError(
                f"{self.name} got an unexpected keyword argument {unknown[0]!r}."
                f"{did_you_mean(unknown[0], ['num_players', *known])} Its options: {', '.join(known)}"
            )
        return kind(**given)

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value!r}" for key, value in asdict(self.options).items())
        return f"Game({self.name!r}, {self.num_players}{settings})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and self._key() == other._key()

    def __hash__(self) -> int:
        return self._hash

    def _key(self) -> tuple[str, int, Any]:
        return self.name, self.num_players, self.options

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self.name, self.num_players, asdict(self.options))

    def description(self) -> dict[str, Any]:
        """Return the game as plain data: name, players and options."""
        return {"game": self.name, "players": self.num_players, "options": asdict(self.options)}

    # States ---------------------------------------------------------------------------------------------------

    def _new_states(self, count: int) -> States:
        return np.zeros(count, self.state_dtype).view(np.recarray)

    def start(self, seeds: Sequence[int] | NDArray[np.uint64], first_player: int = 0) -> States:
        """Return new games, one for each seed, with their first dice thrown.

        Args:
            seeds: (B,) game seeds, each from 0 to 2^64 - 1.
            first_player: the seat that begins.

        Raises:
            OptionError: a seed or seat is out of range.
        """
        first_player = whole_number("first_player", first_player, 0, self.num_players - 1)
        given = np.asarray(seeds)
        if given.ndim != 1 or (len(given) and (given.dtype.kind not in "iu" or given.min() < 0)):
            raise OptionError(f"seeds must be a row of whole numbers from 0 to {2**64 - 1}, got {seeds!r}")
        states = self._new_states(len(given))
        firsts = np.full(len(given), first_player, np.int64)
        self.restart(states, np.arange(len(given)), given.astype(np.uint64), firsts)
        return states

    def restart(
        self, states: States, index: NDArray[np.int64], seeds: NDArray[np.uint64], firsts: NDArray[np.int64]
    ) -> None:
        """Begin new games in place, in the states picked by `index`; all arrays are (G,)."""
        self.loops.start(states, index, self._blank, seeds, firsts, self.tables, True)

    def clone(self, states: States, seed: int | None = None) -> States:
        """Return a copy of `states` with the same future throws, or with other throws if a `seed` is given.

        Raises:
            OptionError: the seed is not a whole number from 0 to 2^64 - 1.
        """
        copy = states.copy()
        if seed is not None:
            copy.seed = np.arange(len(copy), dtype=np.uint64) + np.uint64(check_seed(seed))
        return copy

    def step(
        self,
        states: States,
        actions: Any,
        index: NDArray[np.int64] | None = None,
        rewards: NDArray[np.float64] | None = None,
        reward: str = "win",
    ) -> NDArray[np.float64]:
        """Take one action in each game, in place, and throw the dice that follow.

        Args:
            states: (B,) games.
            actions: (G,) whole numbers, the actions of the players to move.
            index: (G,) the games that move; all of them if None.
            rewards: (B, P) array to add rewards to; a new one of zeros if None.
            reward: the kind of reward, a `Reward`.

        Returns:
            The (B, P) rewards of every seat.

        Raises:
            IllegalActionError: an action is not legal where it is played; no game has moved.
            OptionError: an array has the wrong shape, or the states are not of this game.
        """
        self._check_states(states)
        if index is None:
            index = np.arange(len(states))
        elif len(index) and not (index.min() >= 0 and index.max() < len(states)):
            raise OptionError(f"index must pick from {len(states)} games, got {index.min()} to {index.max()}")
        chosen = self.as_actions(actions, len(index))
        self.check_legal(states, chosen, index)
        if rewards is None:
            rewards = np.zeros((len(states), self.num_players))
        self._check_shape("rewards", rewards, (len(states), self.num_players))
        self.loops.advance(states, index, chosen, self.tables, True, self.scale_of(reward), rewards)
        return rewards

    def scale_of(self, reward: str) -> float:
        """Return the factor that the loops take for a kind of reward: 0 stands for `"win"`.

        Raises:
            OptionError: there is no such kind of reward.
        """
        if reward not in get_args(Reward):
            raise OptionError(f"reward must be one of {', '.join(get_args(Reward))}, got {reward!r}")
        return self.score_scale if reward == "score" else 0.0

    def play_randomly(
        self,
        states: States,
        steps: int,
        agent_seed: int,
        observations: NDArray[np.float32],
        masks: NDArray[np.int8],
    ) -> int:
        """Play at random in every seat inside the compiled loop: the fastest way to many positions.

        Args:
            states: (B,) games, played on in place; a game that ends begins again under the next seed.
            steps: decisions in each game.
            agent_seed: the seed of the choices, which depend on the games' seeds too.
            observations, masks: (B, D) and (B, A), written after every decision for the next player to move.

        Returns:
            How many games ended.

        Raises:
            OptionError: an array has the wrong shape, the states are not of this game, or a number is out of range.
        """
        self._check_states(states)
        self._check_shape("observations", observations, (len(states), self.observation_size))
        self._check_shape("masks", masks, (len(states), self.num_actions))
        steps = whole_number("steps", steps, 0, 2**62)
        agent_seed = whole_number("agent_seed", agent_seed, 0, 2**64 - 1)
        return int(
            self.loops.play_randomly(
                states, self._blank, steps, np.uint64(agent_seed), self.tables, observations, masks
            )
        )

    @staticmethod
    def as_actions(actions: Any, count: int) -> NDArray[np.int64]:
        """Return `actions` as (count,) int64.

        Raises:
            IllegalActionError: they are not this many whole numbers.
        """
        if isinstance(actions, tuple) and any(action is None or np.ndim(action) for action in actions):
            raise IllegalActionError(
                f"actions must be {count} whole numbers, got a tuple of {len(actions)} things: give the actions alone"
            )
        try:
            array = np.asarray(actions)
        except ValueError as error:  # rows of different lengths
            raise IllegalActionError(f"actions must be {count} whole numbers in one row: {error}") from None
        if array.dtype.kind not in "iu":
            raise IllegalActionError(f"actions must be whole numbers, got {array.dtype}")
        if array.shape != (count,):
            raise IllegalActionError(f"actions must be {count}, one for each game, got shape {array.shape}")
        whole: NDArray[np.int64] = array.astype(np.int64, copy=False)
        if array.dtype.kind == "u" and (whole < 0).any():  # beyond what int64 holds
            raise IllegalActionError(f"action {array.max()} is out of range in every game")
        return whole

    def first_illegal(self, states: States, actions: NDArray[np.int64], index: NDArray[np.int64]) -> int:
        """Return the place of the first action (G,) that is not legal in its game, picked by `index` (G,), or -1."""
        return int(self.loops.first_illegal(states, index, actions, self.num_actions, self.tables))

    def check_legal(self, states: States, actions: NDArray[np.int64], index: NDArray[np.int64]) -> None:
        """Raise `IllegalActionError` for the first action (G,) that is not legal in its game, picked by `index`."""
        place = self.first_illegal(states, actions, index)
        if place >= 0:
            where = f"game {index[place]}: " if len(states) > 1 else ""
            raise IllegalActionError(where + self.why_illegal(states[index[place]], int(actions[place])))

    def why_illegal(self, state: Any, action: int) -> str:
        """Return in words why `action` cannot be played in `state`."""
        if not 0 <= action < self.num_actions:
            return f"action {action} is outside 0..{self.num_actions - 1}"
        if state.over:
            return f"action {action}: the game is over"
        reason = self.words.why_illegal(self, state, action)
        return f"action {action} ({self.action_name(state, action)}) is illegal: {reason}"

    # What players see -----------------------------------------------------------------------------------------

    def observe(self, states: States, seats: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the observations (B, D) of `seats` (B,), by default of the players to move."""
        return self._observe(states, self._checked_seats(states, seats))

    def _observe(self, states: States, seats: NDArray[np.int64]) -> NDArray[np.float32]:
        out = np.empty((len(states), self.observation_size), np.float32)
        self.loops.observe(states, seats, self.tables, out)
        return out

    def masks(self, states: States, seats: NDArray[np.int64] | None = None) -> NDArray[np.int8]:
        """Return the legal actions (B, A) of `seats` (B,), by default of the players to move; zeros for the others."""
        return self._masks(states, self._checked_seats(states, seats))

    def _masks(self, states: States, seats: NDArray[np.int64]) -> NDArray[np.int8]:
        out = np.empty((len(states), self.num_actions), np.int8)
        self.loops.masks(states, seats, self.tables, out)
        return out

    def _check_states(self, states: States) -> None:
        """Raise `OptionError` for invalid states, because the compiled loops check nothing."""
        if states.dtype != self.state_dtype or states.ndim != 1:
            raise OptionError(f"states must be a row of {self.name} states, as `start` makes them")
        if (states["num_players"] != self.num_players).any():
            raise OptionError(f"states must be for {self!r}, got states of {int(states.num_players.max())} players")

    @staticmethod
    def _check_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
        if array.shape != shape:
            raise OptionError(f"{name} must have shape {shape}, got {array.shape}")

    def _checked_seats(self, states: States, seats: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return the seats to look from, by default those to move, one for each state and each at the table."""
        self._check_states(states)
        if seats is None:
            return self.movers(states)
        self._check_shape("seats", seats, (len(states),))
        if len(seats) and not (seats.min() >= 0 and seats.max() < self.num_players):
            raise OptionError(f"seats must be from 0 to {self.num_players - 1}, got {seats.min()} to {seats.max()}")
        return seats

    @staticmethod
    def movers(states: States) -> NDArray[np.int64]:
        """Return the (B,) seats to move."""
        movers: NDArray[np.int64] = states["mover"].astype(np.int64)
        return movers

    def observation_names(self) -> list[str]:
        """Return the name of every entry of an observation, in order."""
        return list(self._observation_names)

    def opening(self, state: Any) -> dict[str, NDArray[np.int64]]:
        """Return the report of a reset about a game that has just begun; the game's page describes it.

        The keys, shapes and dtypes are the same for every state of this game.
        """
        return self.words.opening(self, state)

    def action_name(self, state: Any, action: int) -> str:
        """Return the meaning of `action` in `state` (one record), such as `"(5 − 3) ÷ 0 = 0"`."""
        return self.words.action_name(self, state, int(action))

    def text(self, state: Any) -> str:
        """Return the state as text for a terminal."""
        return self._package.render.text(self, state)

    def picture(self, state: Any) -> NDArray[np.uint8]:
        """Return the state as an RGB picture, (height, width, 3) uint8. Needs the extra `render`."""
        return self._package.render.picture(self, state)

    def require_pictures(self) -> None:
        """Raise `MissingExtraError` if `picture` lacks a library."""
        self._package.render.require_pictures()

    # Chance ---------------------------------------------------------------------------------------------------

    def unthrown(self) -> States:
        """Return a new game (one state) in which `player_0` begins, before any dice are thrown."""
        states = self._new_states(1)
        zeros = np.zeros(1, np.int64)
        self.loops.start(states, zeros, self._blank, zeros.astype(np.uint64), zeros, self.tables, False)
        return states

    def choose(self, states: States, actions: Any) -> States:
        """Return the states after one action each, before the dice that follow are thrown.

        Raises:
            IllegalActionError: as for `step`.
        """
        after = states.copy()
        every = np.arange(len(states))
        chosen = self.as_actions(actions, len(every))
        self.check_legal(states, chosen, every)
        unpaid = np.zeros((len(states), self.num_players))
        self.loops.advance(after, every, chosen, self.tables, False, 0.0, unpaid)
        return after

    def chance_outcomes(self, state: Any) -> list[tuple[States, float]]:
        """Return every throw that may follow in a state with dice to be thrown.

        Args:
            state: one record, as from `choose(...)[0]`.

        Returns:
            Pairs of the state after the throw (an array of one record) and its probability. The probabilities sum to
            1. A state with no dice to be thrown is its own only outcome.
        """
        single = np.array([state], self.state_dtype).view(np.recarray)
        dice = [die for die in range(MAX_DICE) if int(single.pending[0]) >> die & 1]
        if not dice:
            return [(single, 1.0)]
        faces = np.zeros((6 ** len(dice), MAX_DICE), np.int64)
        faces[:, dice] = list(product(range(6), repeat=len(dice)))
        after = np.repeat(single, len(faces)).view(np.recarray)
        self.loops.throw(after, faces, self.tables)
        return [(after[i : i + 1].view(np.recarray), 1.0 / len(faces)) for i in range(len(faces))]


def make_game(name: str, num_players: int | None = None, **options: Any) -> Game:
    """Return the game called `name` with its players (by default the fewest) and options fixed; see `Game`.

    Raises:
        UnknownNameError: there is no such game.
        OptionError: an option is unknown or out of range.
    """
    return Game(name, num_players, **options)


def _remake(name: str, num_players: int, options: dict[str, Any]) -> Game:
    return Game(name, num_players, **options)
