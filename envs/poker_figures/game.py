"""The state of a game of Poker Figures and its transitions: the only implementation of the game.

A state is one record of `STATE`; a batch of games is an array of them. The functions below are compiled; with the
JIT off they run as plain Python. `trialea.envs.game` says what each must do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trialea.envs.game import header
from trialea.envs.jit import kernel
from trialea.envs.loops import MAX_PLAYERS
from trialea.envs.poker_figures.rules import (
    ASIDE,
    MULTIPLIERS,
    NO_CELL,
    NUM_COLUMNS,
    NUM_DICE,
    NUM_FACES,
    NUM_FIGURES,
    NUM_REROLLS,
    NUM_ROWS,
    NUM_THROWS,
    PASS,
    POKER,
    WRITE,
)

ALL_DICE = 2**NUM_DICE - 1

# Scales of an observation: what is set aside by three throws of 20, the greatest least value, and a great total.
_PER_ASIDE, _PER_ASKED, _PER_TOTAL = np.float32(1 / 60), np.float32(1 / 8), np.float32(1 / 2000)

STATE = header(
    [
        ("dice", "u1", (NUM_DICE,)),  # sorted
        ("fresh", "u1"),  # 1 where all five dice were thrown together in the latest throw: de mão
        ("aside", "u1"),  # points set aside in this turn
        ("bound", "u1"),  # 0, or 1 + the figure row that the turn is bound to
        # What follows from the sheet, kept because every decision reads it and only writing a cell changes it.
        ("closed", "u1"),  # the rows that somebody has filled, a bit for each
        ("shared", "u1"),  # the rows in which everybody has a cell, a bit for each: they never count double
        ("asks", "u1", (MAX_PLAYERS, NUM_ROWS)),  # what the next cell asks; NO_CELL where none may be written
        ("cells", "u1", (MAX_PLAYERS, NUM_ROWS)),  # how many are filled
        ("sums", "u2", (MAX_PLAYERS, NUM_ROWS)),  # of the cells of a row
        # What each cell holds, before the multiplier; 0 is empty. A row's cells are filled from the left.
        ("sheet", "u1", (MAX_PLAYERS, NUM_ROWS, NUM_COLUMNS)),
    ]
)


@kernel
def hand_of(state: Any, tables: Any) -> Any:
    """The number of the hand on the table, 0 to 251."""
    dice = state.dice
    outcome = np.int64(dice[0]) + 6 * (
        np.int64(dice[1]) + 6 * (np.int64(dice[2]) + 6 * (np.int64(dice[3]) + 6 * np.int64(dice[4])))
    )
    return np.int64(tables.hand_of[outcome])


@kernel
def tally_row(state: Any, row: Any, columns: Any) -> None:
    """Bring what follows from a row's cells up to date, all but what its next cells ask and the scores."""
    closed, shared = np.int64(0), np.int64(1)
    for seat in range(state.num_players):
        cells, total = np.int64(0), np.int64(0)
        for column in range(NUM_COLUMNS):
            cell = np.int64(state.sheet[seat, row, column])
            cells += cell != 0
            total += cell
        state.cells[seat, row] = cells
        state.sums[seat, row] = total
        closed |= np.int64(cells == columns)
        shared &= np.int64(cells != 0)
    others = ~(np.int64(1) << row)
    state.closed = np.int64(state.closed) & others | closed << row
    state.shared = np.int64(state.shared) & others | shared << row


@kernel
def add_up(state: Any, open_rows: Any) -> None:
    """Everybody's score: closed rows, double where somebody has no cell in them, and open rows if they count."""
    closed, shared = np.int64(state.closed), np.int64(state.shared)
    for seat in range(state.num_players):
        score = np.int64(0)
        for row in range(NUM_ROWS):
            is_closed = closed >> row & 1
            factor = is_closed * (2 - (shared >> row & 1)) + (1 - is_closed) * open_rows
            score += factor * MULTIPLIERS[row] * np.int64(state.sums[seat, row])
        state.scores[seat] = score


@kernel
def tally_all(state: Any, tables: Any) -> None:
    """Bring all that follows from the sheet up to date, scores too: for states whose sheet was written from outside."""
    for row in range(NUM_ROWS):
        tally_row(state, row, tables.columns)
        is_closed = np.int64(state.closed) >> row & 1
        for seat in range(state.num_players):
            state.asks[seat, row] = NO_CELL if is_closed else tables.asks[row, state.cells[seat, row]]
    add_up(state, tables.score_open_rows)


@kernel
def writable_rows(state: Any, tables: Any) -> Any:
    """The rows in which the mover may write what lies on the table, a bit for each."""
    points, asks = tables.points[state.fresh, hand_of(state, tables)], state.asks[state.mover]
    barrier, aside = tables.barriers[state.bound], np.int16(state.aside)
    writable = np.int32(0)
    for row in range(NUM_ROWS):
        writable |= np.int32(points[row] + aside >= asks[row] + barrier[row]) << np.int32(row)
    return writable


@kernel
def settable_rows(state: Any, tables: Any) -> Any:
    """The rows for which the mover may set aside what lies on the table, a bit for each."""
    settable = np.int32(0)
    if tables.sum_throws and state.throws < NUM_THROWS:
        hand = hand_of(state, tables)
        for row in range(NUM_FIGURES):
            is_open = state.asks[state.mover, row] != NO_CELL
            fits = tables.complete[hand, row] != 0 and is_open and tables.barriers[state.bound, row] == 0
            settable |= np.int32(fits) << np.int32(row)
    return settable


@kernel
def begin(state: Any, tables: Any) -> None:
    """Work out the empty sheet, and mark all five dice for the first throw."""
    tally_all(state, tables)
    state.pending = ALL_DICE


@kernel
def throw(state: Any, faces: Any, tables: Any) -> None:
    """Let the marked dice show `faces`, count the throw and sort the dice."""
    outcome = np.int64(0)
    for die in range(NUM_DICE):  # without branches: which dice fall is as good as random to the processor
        falls = state.pending >> die & 1
        outcome = NUM_FACES * outcome + (falls * faces[die] + (1 - falls) * state.dice[die])
    hand = tables.hands[tables.hand_of[outcome]]
    for die in range(NUM_DICE):
        state.dice[die] = hand[die]
    state.fresh = state.pending == ALL_DICE
    state.pending = 0
    state.throws += 1


@kernel
def is_legal(state: Any, action: Any, tables: Any) -> Any:
    """Rethrows and setting aside while throws are left; writing what a row takes; passing after the last throw."""
    if action < NUM_REROLLS:
        return state.throws < NUM_THROWS and tables.rerolls[hand_of(state, tables), action] != 0
    if action < ASIDE:
        return writable_rows(state, tables) >> (action - WRITE) & 1 != 0
    if action < PASS:
        return settable_rows(state, tables) >> (action - ASIDE) & 1 != 0
    return state.throws == NUM_THROWS


@kernel
def _count(bits: Any) -> Any:
    count = np.int64(0)
    for row in range(NUM_ROWS):
        count += bits >> row & 1
    return count


@kernel
def _place(bits: Any, k: Any) -> Any:
    """The place of the k-th bit that is set."""
    place = np.int64(0)
    for row in range(NUM_ROWS):  # each place that has at most k set bits up to and including it is passed
        place += _count(bits & ((np.int64(2) << row) - 1)) <= k
    return place


@kernel
def num_legal(state: Any, tables: Any) -> Any:
    """How many actions are legal."""
    count = _count(writable_rows(state, tables))
    if state.throws == NUM_THROWS:
        return count + 1
    hand = hand_of(state, tables)
    return count + tables.first[hand + 1] - tables.first[hand] + _count(settable_rows(state, tables))


@kernel
def legal(state: Any, k: Any, tables: Any) -> Any:
    """The k-th legal action, in rising order, without a scan of the mask."""
    if state.throws < NUM_THROWS:
        hand = hand_of(state, tables)
        first = np.int64(tables.first[hand])
        rerolls = np.int64(tables.first[hand + 1]) - first
        if k < rerolls:
            return np.int64(tables.choices[first + k])
        k -= rerolls
    writable = writable_rows(state, tables)
    writes = _count(writable)
    if k < writes:
        return WRITE + _place(writable, k)
    if state.throws == NUM_THROWS:
        return np.int64(PASS)
    return ASIDE + _place(settable_rows(state, tables), k - writes)


@kernel
def apply(state: Any, action: Any, tables: Any) -> None:
    """Mark the dice of a rethrow; set points aside; write a cell; or pass."""
    # The tables are read before it is known what is needed: if branches with loops used them, the compiled code would
    # count its references to every array of them up and down, which takes ten times as long as a rethrow.
    row = (action - WRITE) & (NUM_ROWS - 1)  # of writing and of setting aside
    points = np.int64(tables.points[state.fresh, hand_of(state, tables), row])
    asks = tables.asks[row, min(np.int64(state.cells[state.mover, row]) + 1, NUM_COLUMNS)]
    columns, to_close, open_rows = tables.columns, tables.to_close, tables.score_open_rows
    max_turns = tables.max_turns
    if action < NUM_REROLLS:
        state.pending = action + 1
    elif ASIDE <= action < PASS:
        state.aside += points
        state.bound = row + 1
        state.pending = ALL_DICE
    else:
        state.pending = ALL_DICE
        if action != PASS:
            _write(state, row, np.int64(state.aside) + points, asks, columns, open_rows)
            _end_if_closed(state, to_close)
        state.aside = 0
        state.bound = 0
        if state.throws == NUM_THROWS or state.over:
            _end_turn(state, max_turns)


@kernel
def _write(state: Any, row: Any, result: Any, asks: Any, columns: Any, open_rows: Any) -> None:
    """Fill the mover's next cell in the row, after which the row asks `asks`, and keep what follows from the sheet."""
    state.sheet[state.mover, row, state.cells[state.mover, row]] = result
    tally_row(state, row, columns)
    state.asks[state.mover, row] = asks
    is_closed = state.cells[state.mover, row] == columns
    if is_closed:
        for seat in range(state.num_players):
            state.asks[seat, row] = NO_CELL
    if is_closed or open_rows:  # otherwise no score changes
        add_up(state, open_rows)


@kernel
def _end_if_closed(state: Any, to_close: Any) -> None:
    """The game ends as soon as so many rows are closed; that of pokers is not asked for."""
    if _count(state.closed & (2**POKER - 1)) >= to_close:
        _finish(state)


@kernel
def _end_turn(state: Any, max_turns: Any) -> None:
    """Hand the dice to the next player, or cut the game short when everybody has had all turns."""
    state.turns[state.mover] += 1
    if not state.over:
        state.mover = _following(state.mover, state)
        state.throws = 0
        if state.turns[state.mover] == max_turns:
            state.truncated = 1
            _finish(state)
    if state.over:
        state.pending = 0  # nothing follows


@kernel
def _following(seat: Any, state: Any) -> Any:
    return seat + 1 if seat + 1 < state.num_players else 0


@kernel
def _finish(state: Any) -> None:
    """The most points win; equal points share the win."""
    best = np.int64(0)
    for seat in range(state.num_players):
        best = max(best, state.scores[seat])
    winners = np.int64(0)
    for seat in range(state.num_players):
        winners += state.scores[seat] == best
    for seat in range(state.num_players):
        state.finished[seat] = 1
        state.share[seat] = np.float32(state.scores[seat] == best) / np.float32(winners)
    state.over = 1


@kernel
def write_mask(state: Any, tables: Any, mask: Any) -> None:
    """The legal actions as zeros and ones."""
    again = np.int8(state.throws < NUM_THROWS)
    rerolls = tables.rerolls[hand_of(state, tables)]
    for action in range(NUM_REROLLS):
        mask[action] = again & rerolls[action]
    writable, settable = writable_rows(state, tables), settable_rows(state, tables)
    rows = mask[WRITE:]
    for row in range(NUM_ROWS):
        rows[row] = writable >> row & 1
    figures = mask[ASIDE:]
    for row in range(NUM_FIGURES):
        figures[row] = settable >> row & 1
    mask[PASS] = 1 - again


@kernel
def observe(state: Any, seat: Any, tables: Any, out: Any) -> None:
    """What `seat` sees, in the order of `trialea.envs.poker_figures.names.observation_names`."""
    for index in range(NUM_FACES * NUM_DICE + NUM_THROWS):
        out[index] = np.float32(0.0)
    for die in range(NUM_DICE):
        out[NUM_FACES * die + state.dice[die]] = np.float32(1.0)
    out[NUM_FACES * NUM_DICE + NUM_THROWS - state.throws] = np.float32(1.0)
    # Slices, since the compiler copies faster where it sees that no index can be negative.
    turn = out[NUM_FACES * NUM_DICE + NUM_THROWS :]
    turn[0] = np.float32(state.fresh)
    turn[1] = np.float32(state.aside) * _PER_ASIDE
    turn[2] = np.float32(state.turns[seat]) * tables.per_turn
    for row in range(NUM_FIGURES):
        turn[3 + row] = np.float32(state.bound == row + 1)
    _observe_rows(state, seat, tables, turn[3 + NUM_FIGURES :])
    seats = turn[3 + NUM_FIGURES + 7 * NUM_ROWS :]
    other = np.int64(seat)
    for _ in range(state.num_players):
        _observe_sheet(state, other, tables, seats)
        seats = seats[3 * NUM_ROWS + 2 :]
        other = _following(other, state)


@kernel
def _observe_rows(state: Any, seat: Any, tables: Any, out: Any) -> None:
    """What each row takes and asks, in blocks of eight entries."""
    points = tables.points[state.fresh, hand_of(state, tables)]
    barrier, aside = tables.barriers[state.bound], np.int16(state.aside)
    asks = state.asks[state.mover]
    for row in range(NUM_ROWS):
        counts = np.float32(points[row] + aside * np.int16(barrier[row] == 0))
        may = np.float32(points[row] + aside >= asks[row] + barrier[row])
        out[row] = counts * tables.per_count[row]
        out[NUM_ROWS + row] = may
        out[2 * NUM_ROWS + row] = may * min(np.float32(1.0), counts * tables.worth[row])
    own = state.asks[seat]
    for row in range(NUM_ROWS):
        out[3 * NUM_ROWS + row] = np.float32(own[row] * (own[row] != NO_CELL)) * _PER_ASKED
        out[4 * NUM_ROWS + row] = tables.played[row]
        out[5 * NUM_ROWS + row] = np.float32(np.int32(state.closed) >> np.int32(row) & np.int32(1))
        out[6 * NUM_ROWS + row] = np.float32(np.int32(state.shared) >> np.int32(row) & np.int32(1))


@kernel
def _observe_sheet(state: Any, seat: Any, tables: Any, out: Any) -> None:
    """A player's cells and sums, in blocks of eight entries, then the total and whether it is to move."""
    cells, sums = state.cells[seat], state.sums[seat]
    for row in range(NUM_ROWS):
        out[row] = np.float32(cells[row]) * tables.per_column
        out[NUM_ROWS + row] = min(np.float32(1.0), np.float32(sums[row]) * tables.sum_worth[row])
        out[2 * NUM_ROWS + row] = np.float32(cells[row] != 0)
    out[3 * NUM_ROWS] = min(np.float32(1.0), np.float32(state.scores[seat]) * _PER_TOTAL)
    out[3 * NUM_ROWS + 1] = np.float32(seat == state.mover)
