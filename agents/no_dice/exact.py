"""Exact values of whole games of No Dice between known policies.

`trialea.agents.no_dice.policy` gives the probability of every score of every player's turn. A position's value is then
the sum, over the scores of one turn, of the values of later positions. Totals never fall, so positions are valued by
falling total, and positions of fewer players before those of more. The one loop is the round in which all players score
0. Let p_j be the probability that player j scores 0, and c_j the expected value of its other scores. The values of the
k positions of the loop satisfy

    W_j = c_j + p_j W_(j + 1)        (j + 1 modulo k)

and these equations are solved exactly. A best response maximises its own turns by the turn's dynamic programme, while
the other players' turns stay as they are. Its loop has one unknown, the value at its own turn.

Arrays of a game of n players are by *seat*. `first` is the seat that begins. `trialea.evaluation.measures.exact` calls
the public functions here, and lists what a game must offer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.no_dice.certificate import best_values
from trialea.agents.no_dice.policy import NoDicePolicyTable, PlayersIn, players_in, tabulate
from trialea.agents.no_dice.solver import SolverAgent
from trialea.agents.no_dice.turn import LANES, NUM_SCORES, make_turn
from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.envs.jit import entry

__all__ = [
    "best_response",
    "check_in_reach",
    "expected_regret",
    "mover_payoffs",
    "solution_table",
    "tabulate",
    "win_probabilities",
]

MAX_PLAYERS, MAX_TARGET = 3, 100

Seats = tuple[int, ...]
"""The seats still in, rising."""


def check_in_reach(game: Game) -> None:
    """Raise `OptionError` if the game has too many positions to value a policy exactly."""
    if game.num_players > MAX_PLAYERS or game.options.target > MAX_TARGET:
        raise OptionError(
            f"No Dice can be valued exactly for 2 or {MAX_PLAYERS} players and targets up to {MAX_TARGET}, not for"
            f" {game.num_players} players and target {game.options.target}"
        )


def solution_table(game: Game) -> NoDicePolicyTable:
    """Return the turns of the agent `solver`, from its solution; raise `OptionError` if the game is not solved."""
    solution = SolverAgent(game).solution
    by_players = {k: solution.turn_scores(k) for k in range(2, game.num_players + 1)}
    return NoDicePolicyTable(
        SolverAgent.name, {key: by_players[len(key)] for key in players_in(game.num_players)}, {}, 0
    )


def win_probabilities(game: Game, tables: Sequence[NoDicePolicyTable]) -> NDArray[np.float64]:
    """Return the probability (n, n) that each seat wins, by `first` and seat; `tables` has one table for each seat."""
    values = _values(game, tables)
    return _at_start(values, game.num_players)


def mover_payoffs(game: Game, table: NoDicePolicyTable) -> dict[PlayersIn, NDArray[np.float64]]:
    """Return the value of each score of a turn to the mover, (T, …, 61), if all players play on as in `table`."""
    target = game.options.target
    values = _values(game, [table] * game.num_players)
    payoffs = {}
    for seats in values:
        if seats[0] == 0 and len(seats) > 1:
            payoffs[seats] = np.zeros((target,) * len(seats) + (NUM_SCORES,))
            for score in range(min(NUM_SCORES, target)):
                payoffs[seats][: target - score, ..., score] = values[seats][1, score:, ..., 0]
    return payoffs


def best_response(game: Game, tables: Sequence[NoDicePolicyTable], seat: int) -> NDArray[np.float64]:
    """Return the greatest probability (n,) with which `seat` can win, by `first`; the others play by `tables`."""
    values: dict[Seats, NDArray[np.float64]] = {}
    for seats in _sets_of_seats(game.num_players):
        _best_values(_Loops(game, tables, seats), seat, values, game)
    return _at_start(values, game.num_players)


def expected_regret(game: Game, tables: Sequence[NoDicePolicyTable], seat: int) -> NDArray[np.float64]:
    """Return the expected regret of the decisions of `seat` in a game, (T, throws, 3) by total and throws made less 1.

    The last axis is that of `NoDicePolicyTable.judged`. Each seat begins with the same probability.
    """
    n, target = game.num_players, game.options.target
    found = np.zeros((target, game.options.throws, 3))
    for seats, visits in _visits(game, tables).items():
        if seat in seats and len(seats) > 1:
            place = seats.index(seat)
            key = _key(seats, place, n)
            turns = [(axis - place) % len(seats) for axis in range(len(seats))]
            often = np.moveaxis(visits[place], range(len(seats)), turns)  # the mover first, as the table has it
            of_turns = often[..., None, None] * tables[seat].judged[key]
            found += of_turns.reshape(target, -1, *found.shape[1:]).sum(axis=1)
    return found


def _sets_of_seats(num_players: int) -> list[Seats]:
    """Return every set of seats that may be in, small sets first."""
    return [seats for size in range(1, num_players + 1) for seats in combinations(range(num_players), size)]


def _at_start(values: Mapping[Seats, NDArray[np.float64]], num_players: int) -> NDArray[np.float64]:
    """Return a view of the values at the start of the game, (n, …) by the seat that begins."""
    start: tuple[Any, ...] = (slice(None), *[0] * num_players)
    found: NDArray[np.float64] = values[tuple(range(num_players))][start]
    return found


def _key(seats: Seats, place: int, num_players: int) -> PlayersIn:
    """Return the players in, as seen by the mover at this place among the `seats`."""
    k = len(seats)
    return tuple((seats[(place + j) % k] - seats[place]) % num_players for j in range(k))


class _Loops:
    """The positions in which k given seats are in, grouped by the sum of their totals.

    Arrays over M positions and k movers have the shape (k, M, …).

    Attributes:
        seats: the seats that are in.
        target: T.
    """

    def __init__(self, game: Game, tables: Sequence[NoDicePolicyTable], seats: Seats) -> None:
        self.seats = seats
        self.target: int = game.options.target
        self._game = game
        self._scores = [
            tables[seat].scores[_key(seats, place, game.num_players)] if len(seats) > 1 else None
            for place, seat in enumerate(seats)
        ]

    def by_sum(self, rising: bool) -> Iterator[NDArray[np.int64]]:
        """Yield the totals (M, k) of the positions of each sum."""
        k, target = len(self.seats), self.target
        totals = np.stack(np.unravel_index(np.arange(target**k), (target,) * k), axis=1)
        sums = totals.sum(axis=1)
        order = np.argsort(sums, kind="stable")
        groups = np.split(totals[order], np.flatnonzero(np.diff(sums[order])) + 1)
        yield from groups if rising else reversed(groups)

    def chances(self, totals: NDArray[np.int64], place: int) -> NDArray[np.float64]:
        """Return the probability (M, 61) of each score of the turn of the mover at this place."""
        k = len(self.seats)
        table = self._scores[place]
        assert table is not None
        return table[tuple(totals[:, (place + j) % k] for j in range(k))]

    def later(self, totals: NDArray[np.int64], place: int) -> tuple[NDArray[np.bool_], tuple[Any, ...]]:
        """Return whether the mover is still in after each score, (M, 61), and the index of the positions that follow.

        If the mover is out, the index is of an arbitrary position.
        """
        k = len(self.seats)
        after = totals[:, place, None] + np.arange(NUM_SCORES)
        index = [totals[:, j, None] for j in range(k)]
        index[place] = np.minimum(after, self.target - 1)
        return after < self.target, ((place + 1) % k, *index)

    def without(self, totals: NDArray[np.int64], place: int) -> tuple[Seats, tuple[Any, ...]]:
        """Return the seats that are in when the mover is out, and the index (M,) of the positions that follow."""
        seats = (*self.seats[:place], *self.seats[place + 1 :])
        rest = [totals[:, j] for j in range(len(self.seats)) if j != place]
        return seats, (place % len(seats), *rest)


def _worth(loops: _Loops, totals: NDArray[np.int64], place: int, values: Mapping[Seats, Any]) -> NDArray[np.float64]:
    """Return the value of each score of the mover's turn, (M, 61, …); the entry of score 0 is not yet meaningful."""
    still_in, later = loops.later(totals, place)
    seats, rest = loops.without(totals, place)
    worth: NDArray[np.float64] = values[loops.seats][later]
    still_in = still_in.reshape(still_in.shape + (1,) * (worth.ndim - 2))
    worth = np.where(still_in, worth, values[seats][rest][:, None])
    return worth


def _close(constants: NDArray[np.float64], zeros: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve W_j = c_j + p_j W_(j + 1) round the loop, for c (k, M, …) and p (k, M); the result is (k, M, …)."""
    k = len(zeros)
    p = zeros.reshape(zeros.shape + (1,) * (constants.ndim - 2))
    once = np.zeros_like(constants[0])
    for j in range(k - 1, -1, -1):
        once = constants[j] + p[j] * once
    solved = np.empty_like(constants)
    solved[0] = once / (1.0 - p.prod(axis=0))
    for j in range(k - 1, 0, -1):
        solved[j] = constants[j] + p[j] * solved[(j + 1) % k]
    return solved


def _values(game: Game, tables: Sequence[NoDicePolicyTable]) -> dict[Seats, NDArray[np.float64]]:
    """Return, for each set of seats in, the probability (k, T, …, n) of winning, by mover, totals and seat."""
    n, target = game.num_players, game.options.target
    values: dict[Seats, NDArray[np.float64]] = {}
    for seats in _sets_of_seats(n):
        k = len(seats)
        values[seats] = np.zeros((k,) + (target,) * k + (n,))
        if k == 1:
            values[seats][..., seats[0]] = 1.0
            continue
        loops = _Loops(game, tables, seats)
        for totals in loops.by_sum(rising=False):
            chances = np.stack([loops.chances(totals, place) for place in range(k)])
            constants = np.stack(
                [
                    np.einsum("ms,msn->mn", chances[place, :, 1:], _worth(loops, totals, place, values)[:, 1:])
                    for place in range(k)
                ]
            )
            values[seats][:, *totals.T] = _close(constants, chances[:, :, 0])
    return values


def _best_values(loops: _Loops, seat: int, values: dict[Seats, NDArray[np.float64]], game: Game) -> NDArray[np.float64]:
    """Return the greatest probability (k, T, …) that `seat` wins, by mover and totals; `values` is for fewer seats."""
    k, target = len(loops.seats), loops.target
    found = values[loops.seats] = np.zeros((k,) + (target,) * k)
    if seat not in loops.seats or k == 1:
        found[:] = seat in loops.seats
        return found
    mine, turn = loops.seats.index(seat), make_turn(game.options.intermediates)
    for totals in loops.by_sum(rising=False):
        worth = [_worth(loops, totals, place, values) for place in range(k)]
        # The value before my own turn is x; after my zero, when the next player throws, it is constant + factor x.
        constants, factors = np.zeros((k, len(totals))), np.ones((k, len(totals)))
        for j in range(k - 1, 0, -1):
            place, following = (mine + j) % k, (mine + j + 1) % k
            chances = loops.chances(totals, place)
            other = (chances[:, 1:] * worth[place][:, 1:]).sum(axis=1)
            constants[place] = other + chances[:, 0] * constants[following]
            factors[place] = chances[:, 0] * factors[following]
        x, after = np.empty(len(totals)), (mine + 1) % k
        best_turns(worth[mine], constants[after], factors[after], game.options.throws, turn, x)
        found[:, *totals.T] = constants + factors * x
    return found


@entry
def best_turns(payoffs: Any, constants: Any, factors: Any, throws: Any, turn: Any, out: Any) -> None:
    """Find the values (M,) of the best turns if a score of 0 pays constant + factor × the value itself.

    Args:
        payoffs: (M, 61), what each score pays; the entry of score 0 is ignored.
        constants, factors: (M,).
        throws: the number of throws of a turn.
        turn: the tables.
        out: (M,), for the values.
    """
    rows = np.empty((throws + 1, turn.lattice.num_patterns, LANES))
    payoff, constant, factor, values = np.empty((NUM_SCORES, LANES)), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for low in range(0, len(payoffs), LANES):
        for lane in range(LANES):
            m = min(low + lane, len(payoffs) - 1)  # lanes to spare do the last one again
            constant[lane], factor[lane], values[lane] = constants[m], factors[m], 0.5
            for score in range(NUM_SCORES):
                payoff[score, lane] = payoffs[m, score]
        best_values(payoff, constant, factor, turn, rows, values)
        for lane in range(min(LANES, len(payoffs) - low)):
            out[low + lane] = values[lane]


def _visits(game: Game, tables: Sequence[NoDicePolicyTable]) -> dict[Seats, NDArray[np.float64]]:
    """Return, for each set of seats in, the expected number of turns (k, T, …) in a game, by mover and totals.

    Each seat begins with the same probability. For one seat alone it is the probability that this seat wins.
    """
    n, target = game.num_players, game.options.target
    visits = {seats: np.zeros((len(seats),) + (target,) * len(seats)) for seats in _sets_of_seats(n)}
    _at_start(visits, n)[:] = 1.0 / n
    for seats in reversed(_sets_of_seats(n)):
        k = len(seats)
        if k == 1:
            continue
        loops, arrived = _Loops(game, tables, seats), visits[seats]
        backwards = -np.arange(k) % k
        for totals in loops.by_sum(rising=True):
            chances = np.stack([loops.chances(totals, place) for place in range(k)])
            # Turns are begun on arrival and after the mover before has scored 0: the loop the other way round.
            begun = _close(arrived[:, *totals.T][backwards], chances[:, :, 0][backwards - 1])[backwards]
            arrived[:, *totals.T] = begun
            for place in range(k):
                reached = begun[place][:, None] * chances[place]
                still_in, later = loops.later(totals, place)
                goes_on = still_in & (np.arange(NUM_SCORES) > 0)
                index = tuple(np.broadcast_to(part, goes_on.shape)[goes_on] for part in later)
                np.add.at(arrived, index, reached[goes_on])
                rest, index = loops.without(totals, place)
                np.add.at(visits[rest], index, np.where(still_in, 0.0, reached).sum(axis=1))
    return visits
