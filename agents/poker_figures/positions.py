"""The positions between turns of a small game of Poker Figures for two players, numbered.

The rest of a game depends on three things: the number of cells and their sum that both players have in each *open row*;
which rows are closed; and the *gap*, the mover's points in closed rows less the other player's. Positions stand in one
array. Positions with the same closed rows are together, and the gap varies slowest. Rows fill independently, so all
combinations can be reached, and their number follows from those of the rows alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures.turn import Turn, make_turn
from trialea.envs.errors import OptionError
from trialea.envs.jit import entry, kernel
from trialea.envs.poker_figures.rules import MULTIPLIERS, NUM_ROWS, POKER, Options

MAX_POSITIONS = 3_000_000

LOSS, DRAW, WIN, BARRED = range(4)  # what may follow besides positions, numbered after them


class Row(NamedTuple):
    """The possible contents of one row for two players.

    Attributes:
        cells, sums: (n,) of a player while the row is open; first the empty row.
        full: the possible sums of a full row, rising.
        gaps: the possible leads of the player to move in the row once it is closed, rising.
    """

    cells: tuple[int, ...]
    sums: tuple[int, ...]
    full: tuple[int, ...]
    gaps: tuple[int, ...]


class Space(NamedTuple):
    """The positions of a game, as the kernels read them.

    A *player's state* of an open row is the index of its cells and sum in `cells` and `sums`. A *pair* is the mover's
    state × count + the other's. The number of a position is `offsets[c] + place of the gap × sizes[c] + sum of
    strides[c, row] × pair`, where c is the number of the set of closed rows.

    Attributes:
        counts: (8,) int64, the number of states of each row; 1 for a row that is not played.
        cells, sums: (8, n) int64, by row and state.
        state_of: (8, columns, sums) int64, the state by row, cells and sum; -1 if there is no such state.
        sets: (C,) int64, the sets of closed rows with which the game continues, a bit for each row.
        set_numbers: (256,) int64, the place of each set in `sets`, -1 where the game is over.
        offsets: (C + 1,) int64, the last one N, the number of positions.
        sizes: (C,) int64, the number of positions with the same gap.
        strides: (C, 8) int64, 0 for rows not open.
        gaps: int64, the gaps of each set in turn, rising within a set.
        first_gap: (C + 1,) int64, where the gaps of each set begin.
        multipliers: (8,) int64.
        columns, open_rows: as in `rules.Tables`.
    """

    counts: Any
    cells: Any
    sums: Any
    state_of: Any
    sets: Any
    set_numbers: Any
    offsets: Any
    sizes: Any
    strides: Any
    gaps: Any
    first_gap: Any
    multipliers: Any
    columns: int
    open_rows: int


def _make_row(turn: Turn, row: int) -> Row:
    """Return the possible contents of a row that is played."""
    points = sorted({int(p) for r, p in zip(turn.rows, turn.points, strict=True) if r == row})
    reached: list[tuple[int, ...]] = [(0,)]
    for cells in range(turn.columns):
        fits = [p for p in points if p >= turn.asks[row, cells]]
        reached.append(tuple(sorted({total + p for total in reached[-1] for p in fits})))
    states = [(cells, total) for cells in range(turn.columns) for total in reached[cells]]
    factors = [(1 if cells else 2, total) for cells, total in states]
    gaps = {MULTIPLIERS[row] * factor * (full - total) for full in reached[-1] for factor, total in factors}
    return Row(
        cells=tuple(cells for cells, _ in states),
        sums=tuple(total for _, total in states),
        full=reached[-1],
        gaps=tuple(sorted({*gaps, *(-gap for gap in gaps)})),
    )


@cache
def rows_of(options: Options) -> dict[int, Row]:
    """Return each row that is played."""
    turn = make_turn(options)
    return {row: _make_row(turn, row) for row in range(NUM_ROWS) if turn.in_play >> row & 1}


def _all_gaps(rows: dict[int, Row], closed: int) -> list[int]:
    """Return all sums of one gap of each closed row, rising."""
    found = {0}
    for row in rows:
        if closed >> row & 1:
            found = {gap + more for gap in found for more in rows[row].gaps}
    return sorted(found)


def check_size(options: Options) -> None:
    """Raise `OptionError` if the game has too many positions to number them."""
    rows = rows_of(options)
    count = prod(len(row.cells) ** 2 for row in rows.values())  # those without a closed row: quickly told
    if count <= MAX_POSITIONS:
        count = count_positions(options)
    if count > MAX_POSITIONS:
        least = f"{count:,}" if count < 10**9 else f"10^{len(str(count)) - 1}"
        raise OptionError(
            f"Poker Figures with rows {options.rows} and columns {options.columns} has at least {least}"
            f" positions between turns, but at most {MAX_POSITIONS:,} can be solved. Give fewer rows or columns"
        )


def _sets_of(options: Options, rows: dict[int, Row]) -> list[int]:
    """Return the sets of closed rows with which the game continues."""
    to_close = make_turn(options).to_close
    played = sum(1 << row for row in rows)
    return [s for s in range(1 << NUM_ROWS) if not s & ~played and (s & (1 << POKER) - 1).bit_count() < to_close]


def count_positions(options: Options) -> int:
    """Return the number of positions; beyond the largest number allowed it is a lower bound."""
    return _count(replace(options, max_turns=1))


@lru_cache(maxsize=64)
def _count(options: Options) -> int:
    rows, count = rows_of(options), 0
    for closed in _sets_of(options, rows):
        count += len(_all_gaps(rows, closed)) * prod(len(rows[row].cells) ** 2 for row in rows if not closed >> row & 1)
        if count > MAX_POSITIONS:
            break
    return count


@lru_cache(maxsize=8)
def _make_space(options: Options) -> Space:
    rows = rows_of(options)
    most = max(len(row.cells) for row in rows.values())
    counts = np.ones(NUM_ROWS, np.int64)
    cells, sums = np.zeros((NUM_ROWS, most), np.int64), np.zeros((NUM_ROWS, most), np.int64)
    state_of = np.full((NUM_ROWS, options.columns, 1 + max(max(row.sums) for row in rows.values())), -1)
    for row, found in rows.items():
        counts[row] = len(found.cells)
        cells[row, : counts[row]], sums[row, : counts[row]] = found.cells, found.sums
        state_of[row, found.cells, found.sums] = np.arange(counts[row])
    sets = _sets_of(options, rows)
    strides = np.zeros((len(sets), NUM_ROWS), np.int64)
    offsets, sizes, gaps, first_gap, total = [], [], [], [0], 0
    for number, closed in enumerate(sets):
        size = 1
        for row in rows:
            if not closed >> row & 1:
                strides[number, row] = size
                size *= len(rows[row].cells) ** 2
        here = _all_gaps(rows, closed)
        offsets.append(total)
        sizes.append(size)
        gaps += here
        first_gap.append(len(gaps))
        total += size * len(here)
    set_numbers = np.full(1 << NUM_ROWS, -1)
    set_numbers[sets] = np.arange(len(sets))
    turn = make_turn(options)
    return Space(
        counts=counts,
        cells=cells,
        sums=sums,
        state_of=state_of,
        sets=np.array(sets),
        set_numbers=set_numbers,
        offsets=np.array([*offsets, total]),
        sizes=np.array(sizes),
        strides=strides,
        gaps=np.array(gaps),
        first_gap=np.array(first_gap),
        multipliers=turn.multipliers,
        columns=turn.columns,
        open_rows=int(options.score_open_rows),
    )


def make_space(options: Options) -> Space:
    """Return the positions under these options.

    Raises:
        OptionError: there are too many.
    """
    check_size(options)
    return _make_space(replace(options, max_turns=1))


@kernel
def _place_of_gap(gap: Any, number: Any, space: Any) -> Any:
    """Return the place of a gap among those of a set of closed rows; -1 if it is not one of them."""
    first, end = space.first_gap[number], space.first_gap[number + 1]
    place = first + np.searchsorted(space.gaps[first:end], gap)
    return place - first if place < end and space.gaps[place] == gap else np.int64(-1)


@kernel
def _pair_of(position: Any, number: Any, row: Any, space: Any) -> Any:
    """Return both players' states of an open row, the mover's and then the other's."""
    count = space.counts[row]
    pair = (position - space.offsets[number]) % space.sizes[number] // space.strides[number, row] % (count * count)
    return pair // count, pair % count


@kernel
def _open_points(position: Any, number: Any, space: Any) -> Any:
    """Return the mover's points in open rows less the other player's, for rows that count."""
    points = np.int64(0)
    if space.open_rows:
        for row in range(NUM_ROWS):
            if space.strides[number, row]:
                own, other = _pair_of(position, number, row, space)
                points += space.multipliers[row] * (space.sums[row, own] - space.sums[row, other])
    return points


@kernel
def _result(points: Any) -> Any:
    """Return the result of a game for the player who has `ahead` points more."""
    return np.int64(points > 0) + np.int64(points >= 0)


@kernel
def _closing(position: Any, number: Any, row: Any, points: Any, gap: Any, space: Any) -> Any:
    """Return what follows when the mover has closed the row with these points."""
    own, other = _pair_of(position, number, row, space)
    factor = 1 if space.cells[row, other] else 2
    before = space.multipliers[row] * (space.sums[row, own] - space.sums[row, other])
    closed = space.multipliers[row] * (space.sums[row, own] + points - space.sums[row, other]) * factor
    after = space.set_numbers[space.sets[number] | np.int64(1) << row]
    if after < 0:
        rest = _open_points(position, number, space) - before * space.open_rows
        return space.offsets[-1] + _result(gap + closed + rest)
    found = space.offsets[after] + _place_of_gap(gap + closed, after, space) * space.sizes[after]
    for open_row in range(NUM_ROWS):
        if space.strides[after, open_row]:
            own, other = _pair_of(position, number, open_row, space)
            found += space.strides[after, open_row] * (own * space.counts[open_row] + other)
    return found


@entry
def fill_moves(
    space: Any, rows: Any, points: Any, asks: Any, following: Any, swapped: Any, ends: Any, levels: Any
) -> None:
    """Fill in where each position of the game leads.

    Args:
        space: the positions, N of them.
        rows, points: (R,) int64, the results that can be written, as in `Turn`.
        asks: as in `Turn`.
        following: (N, R) int32, out: the position after the mover has written each result, still to move; or N + LOSS,
            N + DRAW or N + WIN where the game is over, N + BARRED where the result may not be written.
        swapped: (N,) int32, out: the same position as the other player sees it.
        ends: (N,) int8, out: LOSS, DRAW or WIN for the mover if the game is cut short here.
        levels: (N,) int8, out: a number that rises with everything that the mover writes.
    """
    barred = space.offsets[-1] + BARRED
    for number in range(len(space.sets)):
        first, end = space.first_gap[number], space.first_gap[number + 1]
        closed = np.int64(0)
        for row in range(NUM_ROWS):
            closed += space.sets[number] >> row & 1
        for place in range(end - first):
            gap, base = space.gaps[first + place], space.offsets[number] + place * space.sizes[number]
            for position in range(base, base + space.sizes[number]):
                mirror = space.offsets[number] + (end - first - 1 - place) * space.sizes[number]
                written = np.int64(0)
                for row in range(NUM_ROWS):
                    stride, count = space.strides[number, row], space.counts[row]
                    if stride:
                        own, other = _pair_of(position, number, row, space)
                        mirror += stride * (other * count + own)
                        written += space.cells[row, own]
                swapped[position], ends[position] = mirror, _result(gap + _open_points(position, number, space))
                levels[position] = closed * space.columns * NUM_ROWS + written
                for result in range(len(rows)):
                    row, stride = rows[result], space.strides[number, rows[result]]
                    after = barred
                    if stride:
                        own, other = _pair_of(position, number, row, space)
                        cells = space.cells[row, own]
                        if points[result] >= asks[row, cells]:
                            if cells + 1 < space.columns:
                                reached = space.state_of[row, cells + 1, space.sums[row, own] + points[result]]
                                after = position + stride * (reached - own) * space.counts[row]
                            else:
                                after = _closing(position, number, row, points[result], gap, space)
                    following[position, result] = after


@kernel
def position_of(cells: Any, sums: Any, mover: Any, space: Any) -> Any:
    """Return the number of a position; -1 if it is not a position of the game.

    Args:
        cells, sums: (2 or more, 8), of the players, by seat.
        mover: the seat to move.
        space: the positions.
    """
    closed, gap = np.int64(0), np.int64(0)
    for row in range(NUM_ROWS):
        own, other = np.int64(cells[mover, row]), np.int64(cells[1 - mover, row])
        if max(own, other) >= space.columns:
            closed |= np.int64(1) << row
            factor = 1 if min(own, other) else 2
            more = np.int64(sums[mover, row]) - np.int64(sums[1 - mover, row])
            gap += factor * space.multipliers[row] * more
    number = space.set_numbers[closed]
    place = _place_of_gap(gap, number, space) if number >= 0 else np.int64(-1)
    if place < 0:
        return np.int64(-1)
    position = space.offsets[number] + place * space.sizes[number]
    for row in range(NUM_ROWS):
        if space.strides[number, row]:
            pair = np.int64(0)
            for seat in (mover, 1 - mover):
                count, total = np.int64(cells[seat, row]), np.int64(sums[seat, row])
                state = space.state_of[row, count, total] if total < space.state_of.shape[2] else np.int64(-1)
                if state < 0:
                    return np.int64(-1)
                pair = pair * space.counts[row] + state
            position += space.strides[number, row] * pair
        elif not closed >> row & 1 and max(cells[mover, row], cells[1 - mover, row]):  # it is not played
            return np.int64(-1)
    return position


@entry
def find_positions(states: Any, space: Any, out: Any) -> None:
    """Fill the positions (B,) of the states, as their movers see them; -1 as in `position_of`."""
    for i in range(len(states)):
        state = states[i]
        out[i] = position_of(state.cells, state.sums, np.int64(state.mover), space)


def position_in(space: Space, cells: NDArray[np.int64], sums: NDArray[np.int64]) -> int:
    """Do `position_of` for calls from Python; the mover's row (8,) comes first."""
    found = np.empty(1, np.int64)
    find_one(cells, sums, space, found)
    return int(found[0])


@entry
def find_one(cells: Any, sums: Any, space: Any, out: Any) -> None:
    """Do `position_of` with seat 0 to move."""
    out[0] = position_of(cells, sums, np.int64(0), space)
