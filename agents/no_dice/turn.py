"""One turn of No Dice, solved exactly for any payoff of the score.

Kernels work on N turns side by side, as the last axis of their arrays, and take a lattice for N turns.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.lattice import Lattice, choose_best, copy, expect, fill, make_lattice
from trialea.envs.jit import entry, kernel
from trialea.envs.no_dice.rules import (
    ADD_UP,
    FACES,
    ILLEGAL,
    NUM_DICE,
    NUM_REROLLS,
    Options,
    outcome_faces,
    tables,
)

LANES = 4  # turns solved at once: the numbers that fit one vector register of most processors
MAX_SCORE = 60  # (5 + 5) × 6, the most that an expression can be worth
NUM_SCORES = MAX_SCORE + 1


class Turn(NamedTuple):
    """The tables by which the kernels solve a turn. A *kind* is a class of throws whose dice show the same.

    Attributes:
        lattice: the keep patterns of the five dice.
        wide: the same for `LANES` turns at once.
        kind_of: (7776,) int32, the kind of each throw.
        full: (K,) uint16, the pattern that keeps every die of each kind.
        patterns: (K, 32) uint16, the pattern of each kind when a set of its dice is thrown again, die d for bit d.
        action_scores: (K, 109) uint8, the score of each expression and of adding up; 255 where not allowed.
        actions: (K, NUM_SCORES) uint8, the first action that ends the turn with each score, where there is one.
        class_of: (K,) int32, the class of each kind; kinds of one class can make the same scores with expressions.
        first: (C + 1,) int32, where the part of `scores` for each class begins.
        scores: uint8, the different scores that expressions can make in each class, rising.
        add_up: (K,) int64, the sum of the faces where no expression exists, else -1.
    """

    lattice: Lattice
    wide: Lattice
    kind_of: Any
    full: Any
    patterns: Any
    action_scores: Any
    actions: Any
    class_of: Any
    first: Any
    scores: Any
    add_up: Any


@cache
def make_turn(intermediates: Literal["any", "natural"]) -> Turn:
    """Return the tables of a turn under one reading of the brackets."""
    lattice = make_lattice(FACES)
    full, representative, kind_of = np.unique(lattice.full, return_index=True, return_inverse=True)
    thrown = np.arange(NUM_REROLLS + 1)[:, None] >> np.arange(NUM_DICE) & 1  # (32, 5)
    faces = np.array([outcome_faces(int(outcome)) for outcome in representative])
    again = lattice.again[np.arange(NUM_DICE), faces]  # (K, 5)
    action_scores = tables(Options(intermediates=intermediates)).scores[representative]
    distinct = [tuple(np.unique(row[row != ILLEGAL])) for row in action_scores[:, :-1]]
    classes = list(dict.fromkeys(distinct))
    number = {scores: k for k, scores in enumerate(classes)}
    actions = np.zeros((len(full), NUM_SCORES), np.uint8)
    for index in reversed(range(action_scores.shape[1])):
        kinds = np.flatnonzero(action_scores[:, index] != ILLEGAL)
        actions[kinds, action_scores[kinds, index]] = NUM_REROLLS + index
    add_up = action_scores[:, -1].astype(np.int64)
    return Turn(
        lattice=lattice,
        wide=make_lattice(FACES, LANES),
        kind_of=kind_of.astype(np.int32),
        full=full.astype(np.uint16),
        patterns=(full.astype(np.int64)[:, None] + again @ thrown.T).astype(np.uint16),
        action_scores=action_scores,
        actions=actions,
        class_of=np.array([number[scores] for scores in distinct], np.int32),
        first=np.cumsum([0, *map(len, classes)]).astype(np.int32),
        scores=np.concatenate(classes).astype(np.uint8),
        add_up=np.where(add_up == ILLEGAL, -1, add_up),
    )


@kernel
def _best_stops(payoff: Any, turn: Any, stops: Any) -> None:
    """Fill the payoff of stopping with the best expression, (C, N); minus infinity if there is no expression."""
    lanes = np.uint64(payoff.shape[1])
    for c in range(len(stops)):
        stop = stops[c]
        fill(stop, -np.inf)
        for k in range(turn.first[c], turn.first[c + 1]):
            pays = payoff[turn.scores[k]]
            for lane in range(lanes):
                stop[lane] = max(stop[lane], pays[lane])


@entry  # not a kernel: copies of it in every caller would take long to compile
def fill_rows(payoff: Any, turn: Any, lattice: Any, rows: Any) -> None:
    """Fill the values of throwing dice again with the best play afterwards.

    Args:
        payoff: (NUM_SCORES, N), what each score pays.
        turn, lattice: the tables, and the lattice for N turns.
        rows: (R, num_patterns, N), out: row t is for t throws to come, the next one included. The patterns that keep
            every die have the best value with t - 1 throws to come. Row 0 stays as it is: after the last throw nothing
            can be thrown again. The last number of row t is the value of a turn of t throws.
    """
    stops = np.empty((len(turn.first) - 1, payoff.shape[1]))
    _best_stops(payoff, turn, stops)
    for t in range(1, len(rows)):
        row = rows[t]
        flat = row.reshape(-1)
        if t > 1:
            copy(rows[t - 1].reshape(-1), flat)
        for kind in range(len(turn.full)):
            forced = t == 1 and turn.add_up[kind] >= 0
            copy(payoff[turn.add_up[kind]] if forced else stops[turn.class_of[kind]], row[turn.full[kind]])
        if t > 1:
            choose_best(flat, lattice)
        expect(flat, lattice)


@kernel
def fill_action_values(payoff: Any, turn: Any, row: Any, kind: Any, left: Any, out: Any) -> None:
    """Fill the value of every action (NUM_ACTIONS,) on a kind of throw with `left` throws to come; NaN where illegal.

    `payoff` (NUM_SCORES,) and `row` (num_patterns,), the row of `fill_rows` for `left` throws, are of one turn.
    """
    out[:] = np.nan
    if left > 0:
        for chosen in range(1, NUM_REROLLS + 1):
            out[chosen - 1] = row[turn.patterns[kind, chosen]]
    for index in range(ADD_UP - NUM_REROLLS + (left == 0)):
        score = turn.action_scores[kind, index]
        if score != ILLEGAL:
            out[NUM_REROLLS + index] = payoff[score]


@entry
def turn_value(payoff: Any, throws: Any, turn: Any) -> Any:
    """Return the greatest expected payoff of a turn of `throws` throws, for `payoff` (NUM_SCORES,)."""
    rows = np.empty((throws + 1, turn.lattice.num_patterns, 1))
    fill_rows(payoff.reshape(-1, 1), turn, turn.lattice, rows)
    return rows[throws, -1, 0]


def points_lost() -> NDArray[np.float64]:
    """Return the payoff of a player who wants few points: minus the score."""
    return -np.arange(MAX_SCORE + 1.0)


def least_expected_score(throws: int, intermediates: Literal["any", "natural"] = "any") -> float:
    """Return the least expected score of a turn of `throws` throws."""
    return -float(turn_value(points_lost(), throws, make_turn(intermediates)))
