"""The exact solution of No Dice for two to five players, and the agent `solver` that plays it.

A position of n players is the vector of their totals, the mover's first. After a turn that scores s, the next player is
first and the mover, with s more points, is last; or the mover is out and n - 1 players are left. So the value of each
score to every player follows from positions with a greater sum of totals or fewer players. The best turn for the mover
follows from these values (`trialea.agents.no_dice.turn`). Positions are solved by falling sum. Positions that lead to
each other if all players score 0 are solved together (`trialea.agents.no_dice.cycles`).

With two players the solution is the value of the game. With more players it is one equilibrium of possibly several. In
a few positions the only equilibrium is mixed. There the solution is an approximation, and the certificate
(`trialea.agents.no_dice.certificate`) says how much a player could gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.cache import digest_of, solve_command, why_not_kept
from trialea.agents.no_dice.certificate import BEST_RESPONSE, ERROR, ONE_TURN, TIE_SPREAD
from trialea.agents.no_dice.lookup import fill_policies, fill_position_values, fill_scores, fill_seat_values
from trialea.agents.no_dice.play import look_up
from trialea.agents.no_dice.tables import QUICK, THREADS, Kind, alone, fill, kept_table, made_table, with_players
from trialea.agents.no_dice.turn import NUM_SCORES, least_expected_score, make_turn
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.no_dice.rules import NUM_ACTIONS
from trialea.envs.registry import check_own_solver

MAX_PLAYERS = 5
MAX_TARGET = 100
MOST_POSITIONS = 30_000_000
_SECONDS = 1e-3  # for each position on two cores, the certificate included
_SHARES: dict[Kind, float] = {"values": 0.4, "replies": 0.6}  # of the whole time
_MOST_POLICIES = 8192  # kept in memory for each number of players, 10 kB each with three throws
_CHUNK = 4096  # states whose policies are looked up at once

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Error bounds of a solution. Each is a difference of probabilities, the largest over all positions and players in.

    Attributes:
        residual: the Bellman error: the difference between a player's value and its value after one more turn. That is
            the best turn for the mover, and the turn that is played for the other players.
        one_turn: a mover's gain by playing one turn in another way.
        best_response: a player's gain by a best response to the others' play, for the rest of the game.
        at_start: (n) the same for each player at the start of the game, the first to move first.
        tie_spread: the difference to another player's value by the mover's choice among equally good actions in one
            turn.
    """

    residual: float
    one_turn: float
    best_response: float
    at_start: tuple[float, ...]
    tie_spread: float


class _Group(NamedTuple):
    """States with the same number of players still in.

    Attributes:
        places: (G,) their places in the batch.
        codes: (G,) the codes of their positions.
        seats: (G, n) the seats still in, in order from the mover on.
    """

    places: NDArray[np.int64]
    codes: NDArray[np.int64]
    seats: NDArray[np.int64]


class _Policies:
    """The choices in the positions of a table, computed at their first use."""

    def __init__(self, table: NDArray[np.float64], fewer: NDArray[np.float64], game: Game) -> None:
        self._table, self._fewer, self._target = table, fewer, game.options.target
        self._turn = make_turn(game.options.intermediates)
        self._place = np.full(len(table), -1, np.int32)
        self._count = 0
        self._policies = np.empty((0, game.options.throws, len(self._turn.full)), np.uint8)

    def of(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return policies (N, throws, K), and for each of the codes (G,) the index of its policy."""
        missing = np.unique(codes[self._place[codes] < 0])
        if len(missing):
            if self._count + len(missing) > _MOST_POLICIES:
                self._place[:] = -1
                self._count, missing = 0, np.unique(codes)
            end = self._count + len(missing)
            if end > len(self._policies):
                more = np.empty((max(end, 2 * len(self._policies)), *self._policies.shape[1:]), np.uint8)
                more[: self._count] = self._policies[: self._count]
                self._policies = more
            fill_policies(
                self._table, self._fewer, missing, self._target, self._turn, self._policies[self._count : end]
            )
            self._place[missing] = np.arange(self._count, end)
            self._count = end
        return self._policies, self._place[codes].astype(np.int64)


class NoDiceSolution:
    """An equilibrium of No Dice: every player's probability of winning, and the play that leads to it.

    Attributes:
        game: the game that is solved, for n players.
        values: (T,) * n + (n,) float64, the probabilities of winning at given totals, the mover's first in both.
        seconds: the time of the computation when it was made, without the certificate.
        unit: the unit of the values, wins.
    """

    unit: Literal["wins"] = "wins"

    def __init__(
        self, game: Game, tables: Mapping[int, NDArray[np.float64]], seconds: float, make: Callable[..., Any]
    ) -> None:
        """Take the tables `"values"` of one player to n, and `make`, which makes others: `fill` or `made_table`."""
        n, target = game.num_players, game.options.target
        self.game = game
        self.values = tables[n].reshape(*(target,) * n, n + 1)[..., :n]
        self.seconds = seconds
        self._tables = tables
        self._throws = game.options.throws
        self._turn = make_turn(game.options.intermediates)
        self._make = make
        self._certificate: Certificate | None = None
        self._policies: dict[int, _Policies] = {}

    def value(self, *totals: int) -> float:
        """Return the mover's probability of winning at these totals (n), the mover's first, then in order of turns."""
        return float(self._row(totals)[0])

    def _row(self, totals: Sequence[int]) -> NDArray[np.float64]:
        check_position(self.game, totals)
        row: NDArray[np.float64] = self.values[tuple(totals)]
        return row

    def action_values(self, states: States) -> NDArray[np.float64]:
        """Return the mover's probability of winning after each action, (B, A), if all play the solution afterwards.

        It is NaN where an action is illegal.
        """
        out = np.empty((len(states), NUM_ACTIONS))
        for group in self._groups(states):
            fill_position_values(*self._lookup(group), states, self.game.options.target, self._throws, self._turn, out)
        return out

    def state_values(self, states: States) -> NDArray[np.float64]:
        """Return every seat's probability of winning, (B, P), where a player is to act; 0 for seats out."""
        if (states.pending != 0).any() or (states.over != 0).any():
            raise OptionError("state_values needs states in which a player is to act. Use chance_values for the others")
        return self._seat_values(states)

    def chance_values(self, states: States) -> NDArray[np.float64]:
        """Return every seat's probability of winning, (B, P), before a throw, or its share if the game is over.

        `Game.choose` returns such states.
        """
        if ((states.pending == 0) & (states.over == 0)).any():
            raise OptionError("chance_values needs states before a throw of the dice. Use state_values for the others")
        return self._seat_values(states)

    def _seat_values(self, states: States) -> NDArray[np.float64]:
        n = self.game.num_players
        out = np.zeros((len(states), n))
        over = states.over != 0
        out[over] = states.share[over, :n]
        going = np.flatnonzero(~over)
        for group in self._groups(states, going):
            seats = np.zeros((len(states), group.seats.shape[1]), np.int64)
            seats[group.places] = group.seats
            settings = self.game.options.target, self._throws, self._turn
            fill_seat_values(*self._lookup(group), states, seats, *settings, out)
        return out

    def best_actions(self, states: States) -> NDArray[np.int64]:
        """Return the action (B,) that is played in each state; `trialea.agents.no_dice.play` has the rule for ties."""
        actions = np.empty(len(states), np.int64)
        for low in range(0, len(states), _CHUNK):
            chunk: Any = states[low : low + _CHUNK]
            for group in self._groups(chunk):
                n = group.seats.shape[1]
                if n not in self._policies:
                    self._policies[n] = _Policies(self._tables[n], self._tables[n - 1], self.game)
                policies, which = self._policies[n].of(group.codes)
                found = np.empty(len(group.places), np.int64)
                look_up(chunk[group.places], policies, which, self._turn, self._throws, found)
                actions[low + group.places] = found
        return actions

    def turn_scores(self, players: int) -> NDArray[np.float64]:
        """Return the probability (T, …, NUM_SCORES) of each score of the turn that is played, with `players` in."""
        table, fewer, target = self._tables[players], self._tables[players - 1], self.game.options.target
        out = np.empty((len(table), NUM_SCORES))
        fill_scores(table, fewer, np.arange(len(table)), target, self._throws, self._turn, out)
        return out.reshape(*(target,) * players, NUM_SCORES)

    def _lookup(self, group: _Group) -> tuple[Any, Any, Any, Any, Any]:
        """Return a group's tables and places, as the kernels of `trialea.agents.no_dice.lookup` take them."""
        n = group.seats.shape[1]
        by_code = np.argsort(group.codes, kind="stable")
        codes, first = np.unique(group.codes[by_code], return_index=True)
        return self._tables[n], self._tables[n - 1], codes, np.append(first, len(by_code)), group.places[by_code]

    def _groups(self, states: States, index: NDArray[np.int64] | None = None) -> Iterator[_Group]:
        """Yield the states at `index`, or all, by the number of players in; the solution must cover their totals."""
        n, target = self.game.num_players, self.game.options.target
        if index is None:
            index = np.arange(len(states))
        if (states.num_players != n).any():
            raise OptionError(f"states must be of {n} players, as the solution is")
        seats = (states.mover[index].astype(np.int64)[:, None] + np.arange(n)) % n
        out = states.finished[index[:, None], seats] != 0
        seats = np.take_along_axis(seats, np.argsort(out, axis=1, kind="stable"), axis=1)
        still_in = n - out.sum(axis=1)
        for players in np.unique(still_in).tolist():
            here = np.flatnonzero(still_in == players)
            order = seats[here, :players]
            totals = states.scores[index[here][:, None], order]
            if players < 2 or totals.max() >= target or totals.min() < 0:
                raise OptionError(f"states must have totals below {target} and two players in, as the solution has")
            codes = np.ravel_multi_index(tuple(totals.T), (target,) * players)
            yield _Group(index[here], codes, order)

    @property
    def certificate(self) -> Certificate:
        """The error bounds of the solution. Their first use computes them, which takes as long as solving."""
        if self._certificate is None:
            self.certify(None, THREADS)
        assert self._certificate is not None
        return self._certificate

    def certify(self, progress: Progress | None, parallel: str) -> None:
        """Compute the certificate, or read it from the disk; see `solve` for the arguments."""
        n = self.game.num_players
        replies, largest = {1: alone(self.game)}, np.zeros(4)
        known = {"values": self._tables, "replies": replies}
        for players in range(2, n + 1):
            replies[players], facts = self._make(
                "replies",
                with_players(self.game, players),
                lambda kind, number: known[kind][number],
                _stage(progress, self.game, "replies", players),
                parallel,
            )
            largest = np.maximum(largest, facts["largest"])
        gains = replies[n][0] - self._tables[n][0, :n]
        self._certificate = Certificate(
            residual=float(largest[ERROR]),
            one_turn=float(largest[ONE_TURN]),
            best_response=float(largest[BEST_RESPONSE]),
            at_start=tuple(np.maximum(0.0, gains).tolist()),
            tie_spread=float(largest[TIE_SPREAD]),
        )

    @property
    def residual(self) -> float:
        """The largest Bellman error over all positions, see `Certificate`."""
        return self.certificate.residual

    def summary(self, totals: Sequence[int] = ()) -> dict[str, Any]:
        """Return the solution in plain data, as `trialea solve --json` prints it.

        Args:
            totals: (n), the position of `"value"`, the mover's total first; by default the start.
        """
        n = self.game.num_players
        certificate = self.certificate
        found: dict[str, Any] = {
            **self.game.description(),
            "value": self._row(totals or (0,) * n).tolist(),
            "residual": certificate.residual,
        }
        if n > 2:  # with two players the value is unique, and the residual bounds every gain
            found["epsilon"] = {
                "one_turn": certificate.one_turn,
                "best_response": certificate.best_response,
                "at_start": list(certificate.at_start),
            }
            found["tie_spread"] = certificate.tie_spread
        readings = self.game.options.intermediates
        return {
            **found,
            "seconds": self.seconds,
            "table_sha256": digest_of(self.values),
            "turn_score": {str(throws): least_expected_score(throws, readings) for throws in (1, 2, 3)},
        }


def _stage(progress: Progress | None, game: Game, kind: Kind, players: int) -> Progress | None:
    """Return a callback that converts the progress of one table into the progress of all tables of the game."""
    if progress is None:
        return None
    target = game.options.target
    work = {
        (k, number): share * target**number for k, share in _SHARES.items() for number in range(2, game.num_players + 1)
    }
    before = sum(list(work.values())[: list(work).index((kind, players))])
    whole = sum(work.values())
    return lambda done: progress((before + done * work[kind, players]) / whole)


def _solve(game: Game, make: Callable[..., Any], progress: Progress | None, parallel: str) -> NoDiceSolution:
    tables, facts = {1: alone(game)}, {}
    for players in range(2, game.num_players + 1):
        tables[players], facts = make(
            "values",
            with_players(game, players),
            lambda _, number: tables[number],
            _stage(progress, game, "values", players),
            parallel,
        )
    solution = NoDiceSolution(game, tables, facts["seconds"], make)
    if progress is not None:
        solution.certify(progress, parallel)
        progress(1.0)
    return solution


def check_position(game: Game, totals: Sequence[int], **_: Any) -> None:
    """Raise `OptionError` unless a position is one total for each player, below the target."""
    n, target = game.num_players, game.options.target
    if len(totals) != n:
        raise OptionError(f"a position of {n} players must have {n} totals, got {len(totals)}")
    if not all(0 <= total < target for total in totals):
        raise OptionError(f"totals must be from 0 to {target - 1}, got {' and '.join(map(str, totals))}")


def solve(game: Game, progress: Progress | None = None, parallel: str = THREADS) -> NoDiceSolution:
    """Return the exact solution of No Dice, from the cache on disk or computed.

    Args:
        game: No Dice for up to five players, with a target up to 100 and at most 30 million positions.
        progress: called with the share of the work that is done, from 0 to 1. Tables that take minutes are computed
            only if it is given. The certificate is then computed too.
        parallel: how the work is divided: `"threads"`, one for each core, or the name of a joblib backend such as
            `"loky"` or `"ray"`, whose processes share the cache folder.

    Raises:
        OptionError: the game is too large, or its table takes minutes and is not in the cache.
    """
    check_own_solver("no_dice", game.name)
    n, target = game.num_players, game.options.target
    if n > MAX_PLAYERS:
        raise OptionError(f"players must be 2 to {MAX_PLAYERS} to solve No Dice, got {n}")
    if target > MAX_TARGET:
        raise OptionError(f"target must be at most {MAX_TARGET} to solve No Dice, got {target}")
    positions = target**n
    if positions > MOST_POSITIONS:
        raise OptionError(
            f"No Dice must have at most {MOST_POSITIONS:,} positions to be solved, but with {n} players and target"
            f" {target} it has {positions:,}"
        )
    if progress is None and positions > QUICK and kept_table("values", game) is None:
        minutes = positions * _SECONDS / 60
        lost = why_not_kept()
        raise OptionError(
            f"the solution of No Dice for {n} players is not in the cache. Run"
            f" `{solve_command(game)}` first (about {minutes:.0f} minutes on two cores){lost and f'; {lost}'}"
        )
    return _solve(game, made_table, progress, parallel)


def compute(game: Game, progress: Progress | None = None) -> NoDiceSolution:
    """Compute and return the exact solution without the cache; see `solve`."""
    return _solve(game, fill, progress, THREADS)


@lru_cache(maxsize=8)
def _shared(game: Game) -> NoDiceSolution:
    """Return the solution, which all agents of a process share, since it takes time and memory."""
    return solve(game)


class SolverAgent:
    """An agent that plays the exact solution of No Dice: its play is best against other players who play it too.

    Among equally good actions it prefers to stop with the fewest points, else it takes the first rethrow.
    """

    name = "solver"
    deterministic = True

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game = game
        self.solution = _shared(game)

    def __reduce__(self) -> tuple[Any, ...]:
        return SolverAgent, (self.game,)

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        return self.solution.best_actions(states)

    def action_values(self, states: States) -> NDArray[np.float64]:
        """Return the mover's probability of winning after each action, (B, A); see `NoDiceSolution.action_values`."""
        return self.solution.action_values(states)
