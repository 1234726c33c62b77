"""The rest of a turn of Poker Figures, solved exactly for an estimate of the positions between turns.

For each filling that the turn may lead to, the estimate (`trialea.agents.poker_figures.estimate`) gives log-odds that
are linear in the points written. A *line* is a state of the batch with at most one more cell written. Lines are the
lanes of the turn's kernels (`trialea.agents.poker_figures.turn`).
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures.turn import Turn, choose_rethrow, go_back
from trialea.envs.jit import entry, kernel
from trialea.envs.poker_figures.game import hand_of, writable_rows
from trialea.envs.poker_figures.rules import NUM_REROLLS, NUM_ROWS, NUM_THROWS

FILLINGS = np.array(
    [
        (*rows, *(-1,) * (NUM_THROWS - depth))
        for depth in range(NUM_THROWS + 1)
        for rows in combinations_with_replacement(range(NUM_ROWS), depth)
    ]
)
"""(165, 3): the rows of up to three cells written in a turn, -1 for none."""


def _numbers() -> NDArray[np.int64]:
    """Return (9, 9, 9): the place in FILLINGS of three rows in any order, each given as 1 + row, or 0 for none."""
    place = {tuple(sorted(rows)): index for index, rows in enumerate(FILLINGS.tolist())}
    found = np.empty((NUM_ROWS + 1,) * NUM_THROWS, np.int64)
    for rows in product(range(NUM_ROWS + 1), repeat=NUM_THROWS):
        found[rows] = place[tuple(sorted(row - 1 for row in rows))]
    return found


NUMBER_OF = _numbers()


class Leaves(NamedTuple):
    """The values of the positions after the turn.

    Attributes:
        own: (B, 8) int64, the mover's cells in each row, all of them where the row is closed.
        odds, over: (B, 165), `leaf.assess` of each filling.
        slopes: (B, 165, 8).
        numbers: NUMBER_OF.
        rows, points: (R,) int64, the results that can be written.
        asks: (8, 6) uint8, as in `rules.Tables`.
    """

    own: Any
    odds: Any
    slopes: Any
    over: Any
    numbers: Any
    rows: Any
    points: Any
    asks: Any


def make_leaves(turn: Turn, own: Any, odds: Any, slopes: Any, over: Any) -> Leaves:
    """Return `Leaves`; whatever follows from the turn is filled in."""
    rows, points = turn.rows[: turn.num_writes], turn.points[: turn.num_writes]
    return Leaves(own, odds, slopes, over, NUMBER_OF, rows, points, turn.asks)


@kernel
def _chance(odds: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-odds))


@kernel
def _worths(i: Any, row: Any, points: Any, other: Any, other_points: Any, leaves: Any, out: Any) -> Any:
    """Return the value of writing nothing more in state i after up to two cells (row -1: none); set the results too."""
    number = leaves.numbers[row + 1, other + 1, 0]
    stay = leaves.odds[i, number]
    if row >= 0:
        stay += leaves.slopes[i, number, row] * points
    if other >= 0:
        stay += leaves.slopes[i, number, other] * other_points
    for result in range(len(leaves.rows)):
        third, reached = leaves.rows[result], leaves.points[result]
        cells = leaves.own[i, third] + (third == row) + (third == other)
        out[result] = -np.inf
        if not leaves.over[i, number] and reached >= leaves.asks[third, cells]:
            after = leaves.numbers[row + 1, other + 1, third + 1]
            odds = leaves.odds[i, after] + leaves.slopes[i, after, third] * reached
            if row >= 0:
                odds += leaves.slopes[i, after, row] * points
            if other >= 0:
                odds += leaves.slopes[i, after, other] * other_points
            out[result] = _chance(odds)
    return _chance(stay)


@entry
def set_last_gains(which: Any, rows: Any, points: Any, leaves: Any, stay: Any, gains: Any) -> None:
    """Set the value of a line if the turn ends, and with each result written at its last throw.

    Args:
        which: (L,) int64, the state of each line.
        rows, points: (L,) int64, the cell written more; row -1 for none.
        leaves: the positions after the turn.
        stay: (L,), out.
        gains: (R or more, L), out; minus infinity where a result is not allowed, and for results never written.
    """
    out = np.empty(len(leaves.rows))
    for line in range(len(which)):
        stay[line] = _worths(which[line], rows[line], points[line], -1, 0, leaves, out)
        for result in range(len(gains)):
            gains[result, line] = out[result] if result < len(out) else -np.inf


@entry
def set_gains(
    which: Any, rows: Any, points: Any, wanted: Any, leaves: Any, chances: Any, first: Any, taken: Any, gains: Any
) -> None:
    """Turn `gains` of `set_last_gains` into those with one more throw to come, for the results `wanted` (R, L).

    `chances`, `first` and `taken` are those of `Turn`'s classes of throws.
    """
    out = np.full(len(gains), -np.inf)  # the classes' results that are set aside among them: they are never written
    for line in range(len(which)):
        for result in range(len(leaves.rows)):
            if gains[result, line] == -np.inf or not wanted[result, line]:
                continue
            row, reached = leaves.rows[result], leaves.points[result]
            stay = _worths(which[line], row, reached, rows[line], points[line], leaves, out)
            total = 0.0
            for kind in range(len(chances)):
                best = stay
                for pair in range(first[kind], first[kind + 1]):
                    best = max(best, out[taken[pair, 0]])
                    best = max(best, out[taken[pair, 1]])
                total += chances[kind] * best
            gains[result, line] = total


@entry
def throw_back(
    values: Any, gains: Any, fresh: Any, lattice: Any, first: Any, taken: Any, special: Any, out: Any
) -> None:
    """Do `trialea.agents.poker_figures.turn.go_back`, for calls from Python."""
    go_back(values, gains, fresh, lattice, first, taken, special, out)


@entry
def rethrow_back(values: Any, again: Any, lattice: Any) -> None:
    """Do `trialea.agents.poker_figures.turn.choose_rethrow`, for calls from Python."""
    choose_rethrow(values, again, lattice)


def read(states: Any, tables: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the movers' cells (B, 8) as in `Leaves`, the rows that they may write now (B,) and their hands (B,)."""
    count = len(states)
    found = np.empty((count, NUM_ROWS), np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    fill_read(states, tables, *found)
    return found


@entry
def fill_read(states: Any, tables: Any, own: Any, writable: Any, hands: Any) -> None:
    """Fill the results of `read`."""
    for i in range(len(states)):
        state = states[i]
        hands[i], writable[i] = hand_of(state, tables), writable_rows(state, tables)
        for row in range(NUM_ROWS):
            closed = np.int64(state.closed) >> row & 1
            own[i, row] = tables.columns if closed else state.cells[state.mover, row]


@entry
def mark_results(states: Any, hands: Any, writable: Any, rows: Any, first: Any, taken: Any, allowed: Any) -> None:
    """Mark in `allowed` (R, B) the results that may be written now; `rows` (R,) are their rows."""
    for i in range(len(states)):
        fresh = np.int64(states[i].fresh)
        for pair in range(first[fresh, hands[i]], first[fresh, hands[i] + 1]):
            for side in range(2):
                result = taken[pair, side]
                if result < len(rows) and writable[i] >> rows[result] & 1:
                    allowed[result, i] = True


@entry
def fill_rethrows(values: Any, again: Any, hands: Any, rerolls: Any, kept: Any, out: Any) -> None:
    """Fill the value of every legal rethrow (B, A) of each state; the first B lines are the states."""
    for i in range(len(hands)):
        for action in range(NUM_REROLLS):
            if rerolls[hands[i], action]:
                keep = kept[hands[i], action]
                out[i, action] = values[keep, i] if keep else again[i]
