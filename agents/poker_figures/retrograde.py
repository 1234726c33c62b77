"""Retrograde analysis of small games of Poker Figures for two players: they are solved backwards from their last turn.

Let V_t be the value of a position to the mover, as a share of the win, with t turns of both players together to come. A
turn leads through positions of the same mover, who writes more and more, to 1 - V_(t-1) of the position as the other
player sees it. `trialea.agents.poker_figures.turn` solves it with the positions of
`trialea.agents.poker_figures.positions` as nodes, from those in which the mover has written most.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures.positions import BARRED, WIN, Space, fill_moves, make_space
from trialea.agents.poker_figures.turn import Turn, choose_rethrow, go_back, make_turn
from trialea.envs.jit import entry, kernel
from trialea.envs.poker_figures.game import hand_of, writable_rows
from trialea.envs.poker_figures.rules import (
    NUM_REROLLS,
    NUM_ROWS,
    NUM_THROWS,
    PASS,
    WRITE,
    Options,
)

LANES = 32  # positions computed at once


class Moves(NamedTuple):
    """A game's positions and where they lead.

    Attributes:
        space: the positions, N of them.
        turn: the turn's tables.
        following, swapped, ends, levels: as `trialea.agents.poker_figures.positions.fill_moves` makes them.
        result_of: (8, points + 1) int64, the number of the result by row and points; -1 where there is none.
    """

    space: Space
    turn: Turn
    following: NDArray[np.int32]
    swapped: NDArray[np.int32]
    ends: NDArray[np.int8]
    levels: NDArray[np.int8]
    result_of: NDArray[np.int64]


@lru_cache(maxsize=2)
def make_moves(options: Options) -> Moves:
    """Return the positions under these options and where they lead; `max_turns` makes no difference."""
    space, turn = make_space(options), make_turn(options)
    count = int(space.offsets[-1])
    following = np.empty((count, len(turn.rows)), np.int32)
    swapped, ends, levels = np.empty(count, np.int32), np.empty(count, np.int8), np.empty(count, np.int8)
    fill_moves(space, turn.rows, turn.points, turn.asks, following, swapped, ends, levels)
    result_of = np.full((NUM_ROWS, 1 + int(turn.points.max())), -1)
    result_of[turn.rows, turn.points] = np.arange(len(turn.rows))
    return Moves(space, turn, following, swapped, ends, levels, result_of)


def blocks_of(positions: NDArray[np.int64], levels: NDArray[np.int8]) -> list[NDArray[np.int64]]:
    """Return the positions in a solvable order: (blocks, LANES) for each level, the last position repeated."""
    order = positions[np.argsort(-levels[positions], kind="stable")]
    found = []
    for here in np.split(order, np.flatnonzero(np.diff(levels[order])) + 1):
        padded = np.concatenate([here, np.repeat(here[-1:], -len(here) % LANES)])
        found.append(padded.reshape(-1, LANES))
    return found


def new_stages(moves: Moves) -> NDArray[np.float64]:
    """Return space for the values F_0 to F_3 of every position and of the possible ends, (4, N + 4)."""
    stages = np.full((NUM_THROWS + 1, len(moves.swapped) + BARRED + 1), np.nan)
    stages[:, -1 - BARRED : -1] = np.arange(WIN + 1) / WIN
    stages[:, -1] = -np.inf
    return stages


def after_turn(moves: Moves, later: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return F_0 (N,), the values of the positions at the end of the mover's turn.

    Args:
        moves: the game.
        later: (N,) float64, V of one turn less; None after the last turn of all.
    """
    return moves.ends / WIN if later is None else 1.0 - later[moves.swapped]


def solve_positions(stages: NDArray[np.float64], blocks: list[NDArray[np.int64]], moves: Moves) -> None:
    """Fill the rows 1 to 3 of `stages` for the positions in `blocks`; row 0 must be filled."""
    turn = moves.turn
    for level in blocks:
        solve_level(stages, level, moves.following, turn.lattice, turn.first, turn.taken, turn.special)


@kernel
def set_stay(block: Any, worth: Any, values: Any, start: Any) -> None:
    """Give every full throw of `values` (num_keeps, LANES) the values of the positions of a block in `worth`."""
    for throw in range(start, len(values)):
        for lane in range(LANES):
            values[throw, lane] = worth[block[lane]]


@kernel
def set_gains(block: Any, worth: Any, following: Any, gains: Any) -> None:
    """Set the value (R, LANES) of writing each result in each position of a block, from the values `worth` after it."""
    for lane in range(LANES):
        after = following[block[lane]]
        for result in range(len(gains)):
            gains[result, lane] = worth[after[result]]


@entry
def solve_level(stages: Any, blocks: Any, following: Any, lattice: Any, first: Any, taken: Any, special: Any) -> None:
    """Solve one turn for the positions of one level; the positions in which more is written must be known.

    Args:
        stages: (4, N + 4), see `new_stages`; in: row 0; out: the rows 1 to 3 of the positions.
        blocks: (blocks, LANES), the positions.
        following: as in `Moves`.
        lattice, first, taken, special: as in `Turn`.
    """
    values, fresh = np.empty((lattice.num_keeps, LANES)), np.empty((len(special), LANES))
    gains, out = np.empty((following.shape[1], LANES)), np.empty(LANES)
    for number in range(len(blocks)):
        block = blocks[number]
        set_stay(block, stages[0], values, lattice.num_partial)
        for to_come in range(NUM_THROWS):
            set_gains(block, stages[to_come], following, gains)
            go_back(values, gains, fresh, lattice, first, taken, special, out)
            for lane in range(LANES):
                stages[to_come + 1, block[lane]] = out[lane]
            choose_rethrow(values, out, lattice)


@kernel
def _fill_actions(
    state: Any,
    position: Any,
    to_come: Any,
    stages: Any,
    values: Any,
    following: Any,
    result_of: Any,
    kept: Any,
    tables: Any,
    out: Any,
) -> None:
    """Fill the values (A,) of the actions of one state, NaN where illegal; `values` (num_keeps,) fit `to_come`."""
    hand, fresh, writable = hand_of(state, tables), np.int64(state.fresh), writable_rows(state, tables)
    for action in range(len(out)):
        out[action] = np.nan
    for row in range(NUM_ROWS):
        if writable >> row & 1:
            result = result_of[row, tables.points[fresh, hand, row]]
            out[WRITE + row] = stages[to_come, following[position, result]]
    if to_come == 0:
        out[PASS] = stages[0, position]
        return
    for action in range(NUM_REROLLS):
        if tables.rerolls[hand, action]:
            keep = kept[hand, action]
            out[action] = values[keep] if keep else stages[to_come, position]


@entry
def fill_values(
    states: Any,
    order: Any,
    first: Any,
    blocks: Any,
    stages: Any,
    following: Any,
    result_of: Any,
    lattice: Any,
    first_taken: Any,
    taken: Any,
    special: Any,
    kept: Any,
    tables: Any,
    out: Any,
) -> None:
    """Fill the values of states in turns that have come to certain positions.

    Args:
        states: (B,) records, with dice to be thrown or a player to act.
        order, first: the states by their positions: those of the p-th one are `order[first[p]:first[p + 1]]`.
        blocks: (blocks, LANES), the positions, the last one repeated to complete the last block.
        stages: (4, N + 4), the values of the positions and of those that may follow them in the turn.
        following, result_of: as in `Moves`.
        lattice, first_taken, taken, special, kept: as in `Turn`.
        tables: the game's.
        out: (B, A), out: the values of the actions, NaN where illegal; where dice are to be thrown, column 0 is the
            value of that.
    """
    values, fresh = np.empty((lattice.num_keeps, LANES)), np.empty((len(special), LANES))
    gains, again = np.empty((following.shape[1], LANES)), np.empty(LANES)
    for number in range(len(blocks)):
        block = blocks[number]
        set_stay(block, stages[0], values, lattice.num_partial)
        for to_come in range(NUM_THROWS + 1):
            if to_come:
                set_gains(block, stages[to_come - 1], following, gains)
                go_back(values, gains, fresh, lattice, first_taken, taken, special, again)
            for lane in range(min(LANES, len(first) - 1 - number * LANES)):
                position = block[lane]
                for place in range(first[number * LANES + lane], first[number * LANES + lane + 1]):
                    i = order[place]
                    state = states[i]
                    if state.throws + to_come != NUM_THROWS:
                        continue
                    if state.pending:
                        keep = kept[hand_of(state, tables), np.int64(state.pending) - 1]
                        out[i, 0] = values[keep, lane] if keep else stages[to_come, position]
                    else:
                        few = values[:, lane], following, result_of, kept, tables, out[i]
                        _fill_actions(state, position, to_come, stages, *few)
            if to_come:
                choose_rethrow(values, again, lattice)
