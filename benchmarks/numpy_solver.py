"""Two-player No Dice solved with plain NumPy: the equations of `trialea.agents.no_dice.solver`, for comparison.

A turn is an array with an axis for each die and seven places on it: its six faces, and "thrown again". Means and
maxima are taken axis by axis. It shares no code with the compiled solver but the scores of the expressions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.envs.no_dice.rules import ILLEGAL, NUM_DICE, Options, tables

Floats = NDArray[np.float64]
KEPT = (slice(0, 6),) * NUM_DICE


class Turn:
    """One turn: `solve(payoff)` gives its greatest expected payoff and the chance of scoring 0 by playing for it."""

    def __init__(self, options: Options) -> None:
        scores = tables(options).scores.astype(np.int64)
        # Axis d of the reshaped table is die d: outcome numbers have die 0 as their lowest digit.
        order = tuple(reversed(range(NUM_DICE)))
        can_score = np.zeros((len(scores), 61), bool)
        rows, columns = np.nonzero(scores[:, :-1] != ILLEGAL)
        can_score[rows, scores[rows, columns]] = True
        self._can_score = can_score.reshape(*(6,) * NUM_DICE, 61).transpose(*order, NUM_DICE)
        add_up = scores[:, -1].reshape((6,) * NUM_DICE).transpose(order)
        self._forced = np.nonzero(add_up != ILLEGAL)
        self._forced_score = add_up[self._forced]
        self._throws = options.throws

    def solve(self, payoff: Floats) -> tuple[float, float]:
        pays = np.where(self._can_score, payoff, -np.inf)
        score = pays.argmax(axis=-1)
        stop = np.take_along_axis(pays, score[..., None], axis=-1)[..., 0]
        zero = (score == 0).astype(float)
        values, zeros = stop.copy(), zero.copy()
        values[self._forced] = payoff[self._forced_score]
        zeros[self._forced] = self._forced_score == 0
        for _ in range(self._throws - 1):
            values, zeros = _best(_means(values), _means(zeros), stop, zero)
        return float(values.mean()), float(zeros.mean())


def _means(faces: Floats) -> Floats:
    """The array with "thrown again" added on each axis in turn, as the mean over the faces."""
    for axis in range(NUM_DICE):
        faces = np.concatenate([faces, faces.mean(axis=axis, keepdims=True)], axis=axis)
    return faces


def _best(values: Floats, zeros: Floats, stop: Floats, zero: Floats) -> tuple[Floats, Floats]:
    """The best of stopping and of every set of dice to throw again, for each throw."""
    values[KEPT], zeros[KEPT] = stop, zero
    for axis in range(NUM_DICE):
        kept, again = np.split(values, [6], axis=axis)
        kept_zeros, again_zeros = np.split(zeros, [6], axis=axis)
        values, zeros = np.maximum(kept, again), np.where(again > kept, again_zeros, kept_zeros)
    return values, zeros


def solve(options: Options) -> Floats:
    """The mover's probability of winning, (T, T), at [its total, the other's total]."""
    target = options.target
    turn = Turn(options)
    values = np.full((target, target), np.nan)
    for total in range(2 * target - 2, -1, -1):
        for low in range(max(0, total - target + 1), total // 2 + 1):
            _solve_pair(turn, values, low, total - low)
    return values


def _payoff(values: Floats, mover: int, other: int) -> Floats:
    payoff = np.zeros(61)
    after = values[other, mover : mover + 61]
    payoff[: len(after)] = 1.0 - after
    return payoff


def _solve_pair(turn: Turn, values: Floats, low: int, high: int) -> None:
    """Policy iteration on the two positions that lead to each other when both players score 0."""
    inside = high + 1 < len(values)
    u, w = (values[low + 1, high + 1], values[high + 1, low + 1]) if inside else (0.5, 0.5)
    for _ in range(100):
        values[low, high], values[high, low] = u, w
        value_u, p = turn.solve(_payoff(values, low, high))
        value_w, q = turn.solve(_payoff(values, high, low)) if low != high else (value_u, p)
        c, d = value_u - p * (1 - w), value_w - q * (1 - u)
        new_u = (c + p - p * (d + q)) / (1 - p * q)
        new_w = d + q * (1 - new_u)
        change = max(abs(new_u - u), abs(new_w - w))
        u, w = new_u, new_w
        if change < 1e-14:
            break
    values[low, high], values[high, low] = u, w
