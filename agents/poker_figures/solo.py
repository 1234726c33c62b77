"""Poker Figures for one player: the greatest expected score of T turns, for every filling of the sheet.

Every cell counts its points times the row's multiplier when it is written. Nothing counts double, and the game is over
when all rows but one are full. Let V_T(n) be the value of T turns, where n gives the number of filled cells of each
row. One turn (`trialea.agents.poker_figures.turn`) leads from V_(T-1) to V_T; its nodes are the fillings that the turn
passes through. Cells only fill, so fillings are computed from the fullest down, all throws of a turn at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.cache import cached_array, digest_of
from trialea.agents.poker_figures.turn import MAX_GATHERED, choose_rethrow, gather, go_back, make_turn
from trialea.envs.checks import whole_number
from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.envs.jit import entry, kernel
from trialea.envs.poker_figures.rules import NUM_FIGURES, NUM_ROWS, NUM_THROWS, POKER, ROWS, Options

LANES = 32  # fillings computed at once
MAX_TURNS = 1000
MAX_ENTRIES = 10**8  # of a table: 800 MB


class Sheet(NamedTuple):
    """The fillings of one player's sheet, numbered.

    Attributes:
        strides: (8,) int64, what one cell more in a row adds to a filling's number; 0 for a row not played.
        radix: the number of fillings of a row.
        size: the number of fillings of the sheet.
        levels: the fillings in which the game goes on, the fullest first: for each number of filled cells (blocks,
            LANES) int64, the last filling repeated to complete a block.
    """

    strides: Any
    radix: int
    size: int
    levels: list[NDArray[np.int64]]


@cache
def make_sheet(options: Options) -> Sheet:
    """Return the fillings under these options."""
    turn = make_turn(options)
    strides = np.zeros(NUM_ROWS, np.int64)
    radix, size = turn.columns + 1, 1
    for row in range(NUM_ROWS):
        if turn.in_play >> row & 1:
            strides[row] = size
            size *= radix
    numbers = np.arange(size)
    filled, full = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for row in np.flatnonzero(strides).tolist():
        cells = numbers // strides[row] % radix
        filled += cells
        if row != POKER:
            full += cells == turn.columns
    levels = []
    for level in range(int(filled.max()), -1, -1):
        here = numbers[(filled == level) & (full < turn.to_close)]
        if len(here):
            padded = np.concatenate([here, np.repeat(here[-1:], -len(here) % LANES)])
            levels.append(padded.reshape(-1, LANES))
    return Sheet(strides, radix, size, levels)


@kernel
def set_gains(
    block: Any, worth: Any, rows: Any, points: Any, asks: Any, multipliers: Any, strides: Any, radix: Any, gains: Any
) -> None:
    """Set the value (R, LANES) of writing each result in each filling, from the values `worth` of later fillings."""
    for result in range(len(rows)):
        row, reached = rows[result], np.int64(points[result])
        stride, paid = strides[row], np.float64(reached * multipliers[row])
        for lane in range(LANES):
            cells = block[lane] // stride % radix
            if reached >= asks[row, cells]:
                gains[result, lane] = paid + worth[block[lane] + stride]
            else:
                gains[result, lane] = -np.inf


@entry
def solve_level(
    stages: Any,
    blocks: Any,
    asides: Any,
    lattice: Any,
    first: Any,
    taken: Any,
    special: Any,
    rows: Any,
    points: Any,
    asks: Any,
    multipliers: Any,
    strides: Any,
    radix: Any,
) -> None:
    """Solve one turn for all fillings of one level; fuller levels must be known.

    Args:
        stages: (4, size), in: row 0, the value after the turn, and in the rows k from 1 to 3 the values F_k of fuller
            fillings (0 where the game is over); out: those of this level too.
        blocks: (blocks, LANES), the level.
        asides: (blocks, 2, A, LANES), the value of setting points aside with one and with two throws to come, for the
            results of `Turn` that are set aside.
        lattice, first, taken, special, asks, multipliers: as in `Turn`.
        rows, points: (R,), those of the results that are written.
        strides, radix: as in `Sheet`.
    """
    written, start = len(rows), lattice.num_partial
    values = np.empty((lattice.num_keeps, LANES))
    fresh = np.empty((len(special), LANES))
    gains = np.full((written + asides.shape[2], LANES), -np.inf)
    out = np.empty(LANES)
    for number in range(len(blocks)):
        block = blocks[number]
        for throw in range(start, lattice.num_keeps):
            for lane in range(LANES):
                values[throw, lane] = stages[0, block[lane]]
        for to_come in range(NUM_THROWS):
            set_gains(block, stages[to_come], rows, points, asks, multipliers, strides, radix, gains)
            for index in range(asides.shape[2]):
                for lane in range(LANES):
                    gains[written + index, lane] = asides[number, to_come - 1, index, lane] if to_come else -np.inf
            go_back(values, gains, fresh, lattice, first, taken, special, out)
            for lane in range(LANES):
                stages[to_come + 1, block[lane]] = out[lane]
            choose_rethrow(values, out, lattice)


@entry
def set_asides(stages: Any, blocks: Any, turn: Any, strides: Any, radix: Any, asides: Any) -> None:
    """Fill `asides` (see `solve_level`) for one level; fuller levels must be known."""
    sums = MAX_GATHERED + 1
    stay, written = np.empty(LANES), np.empty((2, sums, LANES))
    once, twice = np.empty((sums, LANES)), np.empty((sums, LANES))
    values = np.empty((turn.gathering.lattice.num_keeps, LANES))
    for number in range(len(blocks)):
        block = blocks[number]
        for lane in range(LANES):
            stay[lane] = stages[0, block[lane]]
        for row in range(NUM_FIGURES):
            stride = strides[row]
            if not stride:
                continue
            for to_come in range(2):
                for lane in range(LANES):
                    asked = np.int64(turn.asks[row, block[lane] // stride % radix])
                    for total in range(sums):
                        written[to_come, total, lane] = -np.inf
                        if total >= asked:
                            paid = np.float64(total * turn.multipliers[row])
                            written[to_come, total, lane] = paid + stages[to_come, block[lane] + stride]
            gather(stay, written, values, turn.gathering, once, twice)
            for index in range(asides.shape[2]):
                if turn.rows[turn.num_writes + index] == row:
                    total = turn.points[turn.num_writes + index]
                    for lane in range(LANES):
                        full = block[lane] // stride % radix == radix - 1
                        asides[number, 0, index, lane] = -np.inf if full else once[total, lane]
                        asides[number, 1, index, lane] = -np.inf if full else twice[total, lane]


def solve_turn(after: NDArray[np.float64], options: Options) -> NDArray[np.float64]:
    """Solve one turn for every filling.

    Args:
        after: (size,) float64, the value of each filling once the turn is over; 0 where the game is.
        options: the game's.

    Returns:
        (4, size): row k holds the values with k throws to come, row 0 being `after`, row 3 the values of the turn.
    """
    turn, sheet = make_turn(options), make_sheet(options)
    stages = np.zeros((NUM_THROWS + 1, sheet.size))
    stages[0] = after
    written = turn.num_writes
    for blocks in sheet.levels:
        asides = np.empty((len(blocks), 2, turn.num_results - written, LANES))
        if asides.shape[2]:
            set_asides(stages, blocks, turn, sheet.strides, sheet.radix, asides)
        rows, points = turn.rows[:written], turn.points[:written]
        tables = turn.lattice, turn.first, turn.taken, turn.special, rows, points, turn.asks, turn.multipliers
        solve_level(stages, blocks, asides, *tables, sheet.strides, sheet.radix)
    return stages


class SoloSolution:
    """The exact values of Poker Figures for one player who has T turns.

    Attributes:
        game: the game whose options are played; its number of players is not used.
        turns: T.
        values: (T + 1, size) float64, the greatest expected score of t turns from every filling. A filling's number is
            the sum of the cells filled times `trialea.agents.poker_figures.solo.make_sheet(options).strides`.
        seconds: the time of the computation when it was made.
    """

    def __init__(self, game: Game, turns: int, values: NDArray[np.float64], seconds: float) -> None:
        self.game = game
        self.turns = turns
        self.values = values
        self.seconds = seconds

    def value(self, turns: int, cells: Sequence[int] = ()) -> float:
        """Return the greatest expected score of a number of turns.

        Args:
            turns: from 0 to T.
            cells: the number of filled cells of each row that is played, in the order of the rows; by default none.
        """
        whole_number("turns", turns, 0, self.turns)
        return float(self.values[turns, number_of_filling(self.game, cells)])

    def summary(self, position: Sequence[int] = ()) -> dict[str, Any]:
        """Return the solution in plain data, as `trialea solve --json` prints it.

        Args:
            position: the filling of the values, as in `value`.
        """
        values = [self.value(turns, position) for turns in range(1, self.turns + 1)]
        return {
            "game": self.game.name,
            "options": asdict(self.game.options),
            "turns": self.turns,
            "value": values[-1],
            "values_by_turns": values,
            "fillings": self.values.shape[1],
            "seconds": self.seconds,
            "table_sha256": digest_of(self.values),
        }


def number_of_filling(game: Game, cells: Sequence[int] = ()) -> int:
    """Return the number of a filling, given how many cells of each row played are filled; by default none.

    Raises:
        OptionError: it is not one number for each row, from 0 to the number of columns.
    """
    sheet = make_sheet(game.options)
    played = np.flatnonzero(sheet.strides)
    given = tuple(cells) or (0,) * len(played)
    if len(given) != len(played):
        rows = "".join(ROWS[row] for row in played)
        raise OptionError(f"a filling must be {len(rows)} numbers, the cells of each of the rows {rows}, got {given}")
    filled = [whole_number("cells", count, 0, sheet.radix - 1) for count in given]
    return int((sheet.strides[played] * filled).sum())


def solve_solo(game: Game, turns: int, progress: Callable[[float], None] | None = None) -> SoloSolution:
    """Return the exact values of `turns` turns for one player, from the cache on disk or computed.

    Args:
        game: the game whose options are played. Options about other players or the end have no effect.
        turns: from 1 to 1000; together with all fillings at most 10^8 values.
        progress: called with the share of the work that is done, from 0 to 1.
    """
    whole_number("turns", turns, 1, MAX_TURNS)
    size = make_sheet(game.options).size
    if (turns + 1) * size > MAX_ENTRIES:
        most = MAX_ENTRIES // size - 1
        raise OptionError(f"turns must be at most {most} for {size} fillings, got {turns}")
    kept = ("poker_row", "sum_throws", "full_value", "rows", "columns")
    options = {key: value for key, value in asdict(game.options).items() if key in kept}
    description = {"table": "solo", "game": game.name, "turns": turns, "options": options}
    values, facts = cached_array(description, lambda: compute(game, turns, progress))
    return SoloSolution(game, turns, values, facts["seconds"])


def compute(
    game: Game, turns: int, progress: Callable[[float], None] | None = None
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Compute the table (turns + 1, size) without the cache; return it with the time in seconds."""
    sheet = make_sheet(game.options)
    values = np.zeros((turns + 1, sheet.size))
    small = Options(rows="AD", columns=1, sum_throws=game.options.sum_throws)
    solve_turn(np.zeros(make_sheet(small).size), small)  # compile before the clock starts
    began = time.perf_counter()
    for count in range(1, turns + 1):
        values[count] = solve_turn(values[count - 1], game.options)[NUM_THROWS]
        if progress is not None:
            progress(count / turns)
    return values, {"seconds": time.perf_counter() - began}
