"""One turn of No Dice solved exactly, for any payoff of the points that it scores."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.lattice import Lattice, decide, expect, make_lattice
from trialea.envs.jit import entry, kernel
from trialea.envs.no_dice.game import outcome_of
from trialea.envs.no_dice.rules import (
    ADD_UP,
    FACES,
    ILLEGAL,
    NUM_ACTIONS,
    NUM_DICE,
    NUM_REROLLS,
    Options,
    outcome_faces,
    tables,
)

MAX_SCORE = 60  # (5 + 5) × 6, the most that an expression can be worth
TIE = 1e-12  # values closer than this count as equal


class Turn(NamedTuple):
    """What the kernels need to solve a turn. A *kind* is a class of throws whose dice show the same.

    Attributes:
        lattice: the keep patterns of the five dice.
        kind_of: (7776,) int32, the kind of each throw.
        patterns: (K,) uint64, the pattern that keeps every die of each kind.
        again: (K, 5) uint64, what to add to it to throw again each die.
        action_scores: (K, 109) uint8, the score of each expression and of adding up; 255 where not allowed.
        first: (K + 1,) int32, where each kind's stretch of `scores` begins.
        scores: uint8, the different scores that expressions can make of each kind, rising.
        add_up: (K,) int64, the sum of the faces where no expression exists, else -1.
    """

    lattice: Lattice
    kind_of: Any
    patterns: Any
    again: Any
    action_scores: Any
    first: Any
    scores: Any
    add_up: Any


@cache
def make_turn(intermediates: Literal["any", "natural"]) -> Turn:
    """The turn under one reading of the brackets, with its tables worked out."""
    lattice = make_lattice(FACES)
    patterns, representative, kind_of = np.unique(lattice.full, return_index=True, return_inverse=True)
    action_scores = tables(Options(intermediates=intermediates)).scores[representative]
    again = np.zeros((len(patterns), NUM_DICE), np.uint64)
    for kind, outcome in enumerate(representative):
        again[kind] = lattice.again[np.arange(NUM_DICE), outcome_faces(int(outcome))]
    distinct = [np.unique(row[row != ILLEGAL]) for row in action_scores[:, :-1]]
    add_up = action_scores[:, -1].astype(np.int64)
    return Turn(
        lattice=lattice,
        kind_of=kind_of.astype(np.int32),
        patterns=patterns,
        again=again,
        action_scores=action_scores,
        first=np.cumsum([0, *map(len, distinct)]).astype(np.int32),
        scores=np.concatenate(distinct),
        add_up=np.where(add_up == ILLEGAL, -1, add_up),
    )


@kernel
def _stops(payoff: Any, turn: Any, stop: Any, zero: Any) -> None:
    """What stopping with the best expression pays on each kind of throw, and whether that scores nothing."""
    for kind in range(len(turn.patterns)):
        best, best_score = -np.inf, np.int64(-1)
        for k in range(turn.first[kind], turn.first[kind + 1]):
            score = turn.scores[k]
            if payoff[score] > best:
                best, best_score = payoff[score], np.int64(score)
        stop[kind] = best
        zero[kind] = 1.0 if best_score == 0 else 0.0


@kernel
def _last_throw(payoff: Any, turn: Any, stop: Any, zero: Any, values: Any, zeros: Any) -> None:
    """The values of every throw when no more may follow: the best expression, or the sum of the faces."""
    for kind in range(len(turn.patterns)):
        forced = turn.add_up[kind]
        values[turn.patterns[kind]] = payoff[forced] if forced >= 0 else stop[kind]
        if len(zeros):
            zeros[turn.patterns[kind]] = (1.0 if forced == 0 else 0.0) if forced >= 0 else zero[kind]


@kernel
def solve_turn(payoff: Any, throws: Any, turn: Any, values: Any, zeros: Any) -> Any:
    """The greatest expected payoff of a turn, and the chance of scoring nothing under a policy that reaches it.

    Args:
        payoff: (MAX_SCORE + 1,) float64, what each score pays.
        throws: how many throws the turn has.
        turn: the tables.
        values, zeros: (num_patterns,) float64 scratch.
    """
    kinds = len(turn.patterns)
    stop, zero = np.empty(kinds), np.empty(kinds)
    _stops(payoff, turn, stop, zero)
    _last_throw(payoff, turn, stop, zero, values, zeros)
    expect(values, turn.lattice)
    expect(zeros, turn.lattice)
    for _ in range(throws - 1):
        decide(values, zeros, stop, zero, turn.patterns, turn.lattice)
        expect(values, turn.lattice)
        expect(zeros, turn.lattice)
    return values[turn.lattice.num_patterns - 1], zeros[turn.lattice.num_patterns - 1]


@kernel
def fill_stages(payoff: Any, throws: Any, turn: Any, rows: Any) -> None:
    """The values of throwing again: row t (num_patterns,) for t throws to come, the one now decided on among them.

    Row 0 stays as it is: after the last throw nothing can be thrown again.
    """
    kinds = len(turn.patterns)
    stop, zero, none = np.empty(kinds), np.empty(kinds), np.empty(0)
    _stops(payoff, turn, stop, zero)
    work = np.empty(turn.lattice.num_patterns)
    _last_throw(payoff, turn, stop, zero, work, none)
    for t in range(1, throws):
        expect(work, turn.lattice)
        rows[t] = work
        decide(work, none, stop, none, turn.patterns, turn.lattice)


@kernel
def fill_action_values(payoff: Any, turn: Any, row: Any, kind: Any, left: Any, out: Any) -> None:
    """The value of every action (NUM_ACTIONS,) on a kind of throw with `left` throws to come; NaN where illegal.

    `row` is the row of `fill_stages` for that many throws to come.
    """
    out[:] = np.nan
    if left > 0:
        pattern = np.zeros(NUM_REROLLS + 1, np.uint64)
        pattern[0] = turn.patterns[kind]
        for chosen in range(1, NUM_REROLLS + 1):
            die = 0
            while not chosen >> die & 1:
                die += 1
            pattern[chosen] = pattern[chosen & (chosen - 1)] + turn.again[kind, die]
            out[chosen - 1] = row[pattern[chosen]]
    for index in range(ADD_UP - NUM_REROLLS + (left == 0)):
        score = turn.action_scores[kind, index]
        if score != ILLEGAL:
            out[NUM_REROLLS + index] = payoff[score]


@kernel
def pick(action_values: Any, action_scores: Any) -> Any:
    """The best action; of equals one that scores fewest points, then the first (rethrows after stopping)."""
    best = -np.inf
    for action in range(NUM_ACTIONS):
        if action_values[action] > best:
            best = action_values[action]
    chosen, fewest = -1, np.int64(ILLEGAL) + 1
    for action in range(NUM_ACTIONS):
        if action_values[action] >= best - TIE:
            points = np.int64(ILLEGAL) if action < NUM_REROLLS else np.int64(action_scores[action - NUM_REROLLS])
            if points < fewest:
                chosen, fewest = action, points
    return chosen


@entry
def fill_policy(payoff: Any, throws: Any, turn: Any, policy: Any) -> None:
    """The best action for every kind of throw: `policy` (throws, K) uint8, row t for t throws to come."""
    rows = np.empty((throws, turn.lattice.num_patterns))
    fill_stages(payoff, throws, turn, rows)
    action_values = np.empty(NUM_ACTIONS)
    for left in range(throws):
        for kind in range(len(turn.patterns)):
            fill_action_values(payoff, turn, rows[left], kind, left, action_values)
            policy[left, kind] = pick(action_values, turn.action_scores[kind])


@entry
def look_up(states: Any, policies: Any, which: Any, turn: Any, throws: Any, out: Any) -> None:
    """The action of each state's policy: `policies` (N, throws, K), of which `which` (B,) says whose."""
    for i in range(len(states)):
        state = states[i]
        out[i] = policies[which[i], throws - state.throws, turn.kind_of[outcome_of(state)]]


@entry
def turn_value(payoff: Any, throws: Any, turn: Any) -> Any:
    """The greatest expected payoff of a turn of `throws` throws, for `payoff` (MAX_SCORE + 1,)."""
    values, zeros = np.empty(turn.lattice.num_patterns), np.empty(turn.lattice.num_patterns)
    return solve_turn(payoff, throws, turn, values, zeros)[0]


def points_lost() -> NDArray[np.float64]:
    """The payoff of whoever wants few points: minus the score."""
    return -np.arange(MAX_SCORE + 1.0)


def least_expected_score(throws: int, intermediates: Literal["any", "natural"] = "any") -> float:
    """The least expected score of a turn with so many throws."""
    return -float(turn_value(points_lost(), throws, make_turn(intermediates)))
