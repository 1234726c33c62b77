"""Solve No Dice with plain NumPy, to compare speed and values with the compiled solver.

A turn is an array with one axis per die. Each axis has seven places: the six faces, and "thrown again". Means and
maxima are taken axis by axis, one turn at a time. The probabilities of all scores are carried beside the mover's value,
for the values of the other players. Ties are broken arbitrarily; the values do not depend on it. This module shares
only the scores of the expressions with the compiled solver.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from trialea.envs.no_dice.rules import ILLEGAL, NUM_DICE, Options, tables

Floats = NDArray[np.float64]
Position = tuple[int, ...]
KEPT = (slice(0, 6),) * NUM_DICE
NUM_SCORES = 61


class Turn:
    """One turn. `solve(worth)` maximises the mover's value; it returns all values and the probability of a 0."""

    def __init__(self, options: Options) -> None:
        scores = tables(options).scores.astype(np.int64)
        # Axis d of the reshaped table is die d: outcome numbers have die 0 as their lowest digit.
        order = tuple(reversed(range(NUM_DICE)))
        can_score = np.zeros((len(scores), NUM_SCORES), bool)
        rows, columns = np.nonzero(scores[:, :-1] != ILLEGAL)
        can_score[rows, scores[rows, columns]] = True
        self._can_score = can_score.reshape(*(6,) * NUM_DICE, NUM_SCORES).transpose(*order, NUM_DICE)
        add_up = scores[:, -1].reshape((6,) * NUM_DICE).transpose(order)
        self._forced = np.nonzero(add_up != ILLEGAL)
        self._forced_score = add_up[self._forced]
        self._throws = options.throws

    def solve(self, worth: Floats) -> Floats:
        """Return the expectations (n + 1,) of the rows of `worth` (n, 61) and of scoring 0."""
        columns = np.vstack([worth, np.arange(NUM_SCORES) == 0])
        pays = np.where(self._can_score, worth[0], -np.inf)
        score = pays.argmax(axis=-1)
        stops = [column[score] for column in columns]
        stops[0] = np.take_along_axis(pays, score[..., None], axis=-1)[..., 0]
        last = [stop.copy() for stop in stops]
        for values, column in zip(last, columns, strict=True):
            values[self._forced] = column[self._forced_score]
        for _ in range(self._throws - 1):
            last = _best([_means(values) for values in last], stops)
        return np.array([values.mean() for values in last])


def _means(faces: Floats) -> Floats:
    """Add the place "thrown again" to each axis in turn, as the mean over the faces."""
    for axis in range(NUM_DICE):
        faces = np.concatenate([faces, faces.mean(axis=axis, keepdims=True)], axis=axis)
    return faces


def _best(again: list[Floats], stops: list[Floats]) -> list[Floats]:
    """Maximise the first quantity over stopping and every set of dice to rethrow; the others follow that choice."""
    for values, stop in zip(again, stops, strict=True):
        values[KEPT] = stop
    for axis in range(NUM_DICE):
        parts = [np.split(values, [6], axis=axis) for values in again]
        better = parts[0][1] > parts[0][0]
        again = [np.where(better, thrown, kept) for kept, thrown in parts]
    return again


def solve(options: Options, num_players: int = 2) -> Floats:
    """Return the probabilities of winning, (T,) * n + (n,), by the totals of the mover and the next players."""
    turn = Turn(options)
    fewer = np.ones((options.target, 1))
    for players in range(2, num_players + 1):
        fewer = _solve(turn, options.target, players, fewer)
    return fewer


def _solve(turn: Turn, target: int, players: int, fewer: Floats) -> Floats:
    values = np.full((target,) * players + (players,), np.nan)
    positions = sorted(product(range(target), repeat=players), key=sum, reverse=True)
    for position in positions:
        if np.isnan(values[position]).any():
            _solve_cycle(turn, values, fewer, position)
    return values


def _worth(values: Floats, fewer: Floats, position: Position) -> Floats:
    """Return the value of each score of the mover's turn to every player, (n, 61); the entry of score 0 is unused."""
    mover, rest = position[0], position[1:]
    after = values[rest][mover : mover + NUM_SCORES]
    worth = np.empty((len(position), NUM_SCORES))
    worth[:, : len(after)] = np.roll(after, 1, axis=1).T
    worth[0, len(after) :] = 0.0
    worth[1:, len(after) :] = fewer[rest][:, None]
    return worth


def _solve_cycle(turn: Turn, values: Floats, fewer: Floats, position: Position) -> None:
    """Run policy iteration on the positions that lead to each other when every player scores 0."""
    n = len(position)
    cycle = [position[r:] + position[:r] for r in range(n)]
    nearby = tuple(min(total + 1, len(values) - 1) for total in position)
    known = values[nearby] if nearby != position and not np.isnan(values[nearby]).any() else np.full(n, 1.0 / n)
    found = np.array([np.roll(known, -r) for r in range(n)])  # by position of the cycle, and player from its mover on
    worth = [_worth(values, fewer, place) for place in cycle]
    for _ in range(16):
        gains, zeros = np.empty((n, n)), np.empty(n)
        for r in range(n):
            worth[r][:, 0] = np.roll(found[(r + 1) % n], 1)
            *gains[r], zeros[r] = turn.solve(worth[r])
            gains[r] -= zeros[r] * worth[r][:, 0]
        before = found
        found = np.array([_round(gains, zeros, r) for r in range(n)])
        if np.abs(found - before).max() < 1e-14:
            break
    for place, row in zip(cycle, found, strict=True):
        values[place] = row


def _round(gains: Floats, zeros: Floats, start: int) -> Floats:
    """Return the values at position `start` of a cycle: (c_0 + p_0 c_1 + p_0 p_1 c_2 + …) / (1 - p_0 p_1 … p_(n-1))."""
    n = len(zeros)
    found, passed = np.zeros(n), 1.0
    for j in range(n):
        found += passed * np.roll(gains[(start + j) % n], j)
        passed *= zeros[(start + j) % n]
    return found / (1.0 - passed)
