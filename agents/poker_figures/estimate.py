"""The reference agent's estimate: the value of a position between turns to the player whose turn has just ended.

Each open row is a race: the players fill its cells until one of them has filled it. Each player's steady pace depends
on the row and on the number of cells that the players have. From these paces follow, for every pair of cell counts, the
points that a player may still expect in the row, the probability of having no cell in it when it is closed (which
doubles it for the others), and the time that it takes. The row that takes longest is the most likely to be left open at
the end, and then counts nothing. With fewer rows left, players can aim at them, which steady paces miss. Part of the
points to come is then taken from the solo table (`trialea.agents.poker_figures.solo`), in which one player has ten
turns for its open rows.

A logistic rule turns the expected totals into a share of the win, with a spread for each cell still to come. The
constants here define the agent `reference`; a change of them changes every figure that was measured with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures.solo import make_sheet, solve_solo
from trialea.envs.game import Game
from trialea.envs.jit import entry, kernel
from trialea.envs.loops import MAX_PLAYERS
from trialea.envs.poker_figures.rules import FULL, NUM_ROWS, POKER

# By row and number of filled cells: the chance of filling the next cell in a turn, and the points that it then holds.
# Measured in self-play of the agent, 250 games at a time. Each time the agent used the figures of the games before,
# until they changed only by chance. The figures of the row P follow from the dice alone.
PACE = np.array(
    [
        [0.137, 0.194, 0.205, 0.068, 0.066],
        [0.120, 0.181, 0.179, 0.061, 0.055],
        [0.100, 0.160, 0.167, 0.055, 0.054],
        [0.068, 0.126, 0.138, 0.049, 0.044],
        [0.049, 0.092, 0.110, 0.043, 0.040],
        [0.101, 0.098, 0.114, 0.123, 0.125],
        [0.171, 0.172, 0.175, 0.177, 0.173],
        [0.030, 0.030, 0.030, 0.030, 0.030],
    ]
)
POINTS = np.array([[7.5, 6.6, 6.7, 8.4, 8.4]] * 5 + [[35.1, 34.5, 33.5, 32.6, 32.0], [26.4] * 5, [100.0] * 5])

SOLO_TURNS = 10  # the horizon of the solo table
SOLO_SHARE = 0.5  # of the points to come once a single row more ends the game; in proportion before
LATENESS = 2.2  # a row is left for last with a chance as its expected time to this power
SPREAD = 110.0  # variance of a margin for each cell to come, for seven points once
LOGISTIC = 0.6  # between a logistic distribution's scale and its standard deviation: sqrt(3) / pi, about
ENDED = 0.05  # the scale when nothing is to come: one point decides

ADDED, MISSED, TIME = range(3)


class Model(NamedTuple):
    """The tables of the estimate.

    Attributes:
        race: (8, 2, columns + 1, columns + 1, 3) float64, for a row, for a player who waits or is to move, by its cells
            and the cells of the fullest other player: points still expected, the chance of having no cell when the row
            is closed, and the turns until then.
        solo: (size, SOLO_TURNS + 1) float64, the solo table, a filling's turns side by side.
        strides: (8,) int64, as in `trialea.agents.poker_figures.solo.Sheet`.
        multipliers: (8,) float64.
        variances: (8,) float64, of the margin for each cell to come.
        points: (8, 5) float64, the typical points of a cell, by row and column.
        in_play, to_close, columns, open_rows: as in `trialea.envs.poker_figures.rules.Tables`.
    """

    race: Any
    solo: Any
    strides: Any
    multipliers: Any
    variances: Any
    points: Any
    in_play: int
    to_close: int
    columns: int
    open_rows: int


@lru_cache(maxsize=8)
def make_model(game: Game) -> Model:
    """Return the estimate's tables for a game; the solo table is read from the cache on disk or computed.

    The solo table does not cover the row P and the gathering of points (`sum_throws`).
    """
    options, tables = game.options, game.tables
    points = POINTS.copy()
    points[FULL] *= options.full_value / 20
    single = Game(game.name, 2, rows=options.rows, columns=options.columns, full_value=options.full_value)
    solo = solve_solo(single, SOLO_TURNS).values
    multipliers = tables.multipliers.astype(float)
    race = [race_table(PACE[row], points[row], tables.columns, game.num_players - 1) for row in range(NUM_ROWS)]
    return Model(
        race=np.stack(race),
        solo=np.ascontiguousarray(solo.T),
        strides=make_sheet(single.options).strides,
        multipliers=multipliers,
        variances=SPREAD * (multipliers * points.mean(axis=1) / 7) ** 2,
        points=points,
        in_play=tables.in_play,
        to_close=tables.to_close,
        columns=tables.columns,
        open_rows=tables.score_open_rows,
    )


def race_table(
    pace: NDArray[np.float64], points: NDArray[np.float64], columns: int, others: int
) -> NDArray[np.float64]:
    """Return one row of `Model.race` for a number of other players, of whom the fullest leads."""
    table = np.zeros((2, columns + 1, columns + 1, 3))
    table[:, 0, columns, MISSED] = 1.0
    theirs = 1.0 - (1.0 - pace) ** others
    half = np.array([0.0, 0.0, 0.5])  # a turn of one side is half a round
    for own in range(columns - 1, -1, -1):
        for other in range(columns - 1, -1, -1):
            p, q = pace[own], theirs[other]
            gain = np.array([points[own], 0.0, 0.0])
            # Waiting = waited + (1 - q) moving, and moving = moved + (1 - p) waiting.
            moved = p * (table[0, own + 1, other] + gain) + half
            waited = q * table[1, own, other + 1] + half
            table[0, own, other] = (waited + (1 - q) * moved) / (1 - (1 - p) * (1 - q))
            table[1, own, other] = moved + (1 - p) * table[0, own, other]
    return table


@kernel
def _most_of_others(cells: Any, players: Any, player: Any, row: Any) -> Any:
    """Return the cells of the second fullest player in a row."""
    most = np.int64(0)
    for other in range(players):
        if other != player:
            most = max(most, cells[other, row])
    return most


@kernel
def _alone(cells: Any, closed: Any, model: Any) -> Any:
    """Return the entry of the solo table for a player with these cells (8,); closed rows count as full."""
    number = np.int64(0)
    for row in range(NUM_ROWS):
        number += model.strides[row] * (model.columns if closed >> row & 1 else cells[row])
    return model.solo[number, SOLO_TURNS]


@kernel
def _closed(cells: Any, players: Any, model: Any) -> Any:
    """Return the rows that a player has filled, one bit for each, and how many of them count for the end."""
    closed, count = np.int64(0), np.int64(0)
    for row in range(NUM_ROWS):
        if model.in_play >> row & 1 and _most_of_others(cells, players, -1, row) == model.columns:
            closed |= np.int64(1) << row
            count += row != POKER
    return closed, count


@kernel
def _set_times(cells: Any, players: Any, closed: Any, model: Any, times: Any) -> Any:
    """Set each open row's expected time (8,); return the sum of their powers and the variance of the points to come."""
    total, variance = 0.0, 0.0
    for row in range(NUM_ROWS):
        times[row] = 0.0
        if model.in_play >> row & 1 and not closed >> row & 1:
            rest = _most_of_others(cells, players, 0, row)
            times[row] = model.race[row, 0, cells[0, row], rest, TIME] ** LATENESS
            if row != POKER:
                total += times[row]
            variance += model.variances[row] * (model.columns - max(rest, cells[0, row]))
    return total, variance


@kernel
def _set_kept(cells: Any, players: Any, row: Any, is_closed: Any, model: Any, kept: Any) -> None:
    """Set the probability (players,) that each player has a cell in the row when it is closed."""
    for player in range(players):
        if cells[player, row]:
            kept[player] = 1.0
        elif is_closed:
            kept[player] = 0.0
        else:
            rest = _most_of_others(cells, players, player, row)
            kept[player] = 1.0 - model.race[row, min(player, 1), 0, rest, MISSED]


@kernel(allocates=True)
def make_work() -> Any:
    """Return scratch for `expect`, which leaves three results there.

    Returns:
        times, kept (8,); totals (8,), by player; chances (8,), by row, of being closed before the end; parts (8, 8), by
        player and row, what each row adds to a player's total.
    """
    return (
        np.empty(NUM_ROWS),
        np.empty(NUM_ROWS),
        np.empty(MAX_PLAYERS),
        np.empty(NUM_ROWS),
        np.empty((MAX_PLAYERS, NUM_ROWS)),
    )


@kernel
def expect(cells: Any, sums: Any, players: Any, left: Any, model: Any, work: Any, slopes: Any) -> Any:
    """Compute the expected totals of all players, between turns.

    Args:
        cells: (players, 8) int64, of every player from the one whose turn has ended, in the order of the turns.
        sums: the same, float64. A cell whose points are not in `sums` yet is counted in `cells`.
        players: the number of players.
        left: the most turns that a player still has.
        model: the tables.
        work: as from `make_work`.
        slopes: (8,), out: what each point more of player 0 in a row adds to its expected total.

    Returns:
        Whether the game is over; and the scale by which differences of totals become a share of the win.
    """
    times, kept, totals, chances, parts = work
    closed, count = _closed(cells, players, model)
    over = count >= model.to_close
    done = over or left <= 0
    late, variance = _set_times(cells, players, closed, model, times)
    share = 0.0 if done else SOLO_SHARE * count / max(1, model.to_close - 1)
    for player in range(players):
        totals[player] = share * _alone(cells[player], closed, model) if share else 0.0
    for row in range(NUM_ROWS):
        slopes[row], chances[row], parts[:players, row] = 0.0, 0.0, 0.0
        if not model.in_play >> row & 1:
            continue
        is_closed = closed >> row & 1
        chances[row] = 1.0
        if not is_closed:
            after = times[row] / (late + times[row] if row == POKER else late)
            chances[row] = 0.0 if done else 1.0 - after
        _set_kept(cells, players, row, is_closed, model, kept)
        for player in range(players):
            everybody = 1.0  # the chance that all the others have a cell, so that it does not count double
            for other in range(players):
                everybody *= kept[other] if other != player else 1.0
            slope = model.multipliers[row] * (chances[row] * (2.0 - everybody) + (1.0 - chances[row]) * model.open_rows)
            added = 0.0
            if not is_closed and not done:
                rest = _most_of_others(cells, players, player, row)
                added = (1.0 - share) * model.race[row, min(player, 1), cells[player, row], rest, ADDED]
            parts[player, row] = slope * (sums[player, row] + added)
            totals[player] += parts[player, row]
            if player == 0:
                slopes[row] = slope
    return over, ENDED if done else max(ENDED, LOGISTIC * np.sqrt(variance))


@kernel
def assess(cells: Any, sums: Any, players: Any, left: Any, model: Any, work: Any, slopes: Any) -> Any:
    """Compute the log-odds of player 0's share of the win, between turns.

    Arguments are those of `expect`; `slopes` is what each point more adds to the log-odds.

    Returns:
        Whether the game is over, and the log-odds.
    """
    over, scale = expect(cells, sums, players, left, model, work, slopes)
    totals = work[2]
    best = -np.inf
    for player in range(1, players):
        best = max(best, totals[player])
    level = 0.0
    for player in range(1, players):
        level += np.exp((totals[player] - best) / scale)
    for row in range(NUM_ROWS):
        slopes[row] /= scale
    return over, (totals[0] - best) / scale - np.log(level)


@kernel
def read_sheets(state: Any, seat: Any, max_turns: Any, cells: Any, sums: Any) -> Any:
    """Read the sheets from `seat` on in order of turns, for `expect`; return the most turns that a player still has."""
    players, left = np.int64(state.num_players), np.int64(0)
    for player in range(players):
        for row in range(NUM_ROWS):
            cells[player, row], sums[player, row] = state.cells[seat, row], state.sums[seat, row]
        left = max(left, np.int64(max_turns) - np.int64(state.turns[seat]) - (seat == state.mover))
        seat = seat + 1 if seat + 1 < players else np.int64(0)
    return left


@kernel
def fill(state: Any, filling: Any, throws: Any, writable: Any, points: Any, model: Any, cells: Any, sums: Any) -> Any:
    """Add a filling's cells to the mover's; return whether the rest of its turn may lead to it.

    Args:
        state: one record.
        filling: (3,) int64, the rows of up to three cells that are written more, -1 for none.
        throws: throws still to come.
        writable: the rows that may be written now, a bit for each.
        points: (8, 5) float64, what the cells are taken to hold.
        model: the rows in play and the columns.
        cells, sums: as from `read_sheets` for the mover; whatever was filled before is undone.
    """
    for row in range(NUM_ROWS):
        cells[0, row], sums[0, row] = state.cells[state.mover, row], state.sums[state.mover, row]
    depth, now, sound = 0, False, True
    for k in range(len(filling)):
        row = filling[k]
        if row >= 0 and sound:
            sound = cells[0, row] < model.columns and not np.int64(state.closed) >> row & 1
            sound &= model.in_play >> row & 1 != 0
            if sound:
                depth += 1
                now |= writable >> row & 1 != 0
                sums[0, row] += points[row, cells[0, row]]
                cells[0, row] += 1
    # One cell more than throws are to come only if one is written now.
    return sound and (depth <= throws or (depth == throws + 1 and now))


@entry
def assess_all(
    states: Any,
    throws: Any,
    writable: Any,
    max_turns: Any,
    fillings: Any,
    model: Any,
    odds: Any,
    slopes: Any,
    over: Any,
) -> None:
    """Do `assess` for the fillings that the rest of the mover's turn may lead to.

    Args:
        states: (B,) records.
        throws: throws still to come.
        writable: (B,) int64, the rows that may be written now, a bit for each.
        max_turns: the option.
        fillings: (F, 3) int64, see `fill`.
        model: the tables.
        odds, over: (B, F), out: the results of `assess`, for cells that hold nothing yet.
        slopes: (B, F, 8), out.
    """
    cells, sums = np.empty((MAX_PLAYERS, NUM_ROWS), np.int64), np.empty((MAX_PLAYERS, NUM_ROWS))
    work, nothing = make_work(), np.zeros(model.points.shape)
    for i in range(len(states)):
        state = states[i]
        players = np.int64(state.num_players)
        left = read_sheets(state, np.int64(state.mover), max_turns, cells, sums)
        for number in range(len(fillings)):
            if fill(state, fillings[number], throws, writable[i], nothing, model, cells, sums):
                result = assess(cells, sums, players, left, model, work, slopes[i, number])
                over[i, number], odds[i, number] = result
