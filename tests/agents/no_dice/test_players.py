"""Tests of the No Dice solver with three or more players: exact rationals, its own policy, and its certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from math import lcm
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of, played_out
from tests.oracle import no_dice as oracle
from trialea.agents.no_dice.certificate import tie_spread
from trialea.agents.no_dice.play import play
from trialea.agents.no_dice.solver import NoDiceSolution, SolverAgent, compute
from trialea.agents.no_dice.tables import Filling
from trialea.agents.no_dice.turn import LANES, NUM_SCORES, make_turn, turn_value
from trialea.benchmarks import numpy_solver
from trialea.envs.no_dice import rules

Vector = tuple[int, ...]


@cache
def solved(players: int, **options: Any) -> NoDiceSolution:
    """Return a solution computed here, not read from disk."""
    return compute(game_of("no_dice", players, **options))


# --- Comparison with exact rationals ---------------------------------------------------------------------


@cache
def score_rows() -> dict[oracle.Faces, list[int]]:
    """Return, for each of the 7,776 throws, the sorted scores of its expressions."""
    return {faces: sorted(set(oracle.expressions(faces).values())) for faces in product(range(6), repeat=5)}


def expectations(table: Mapping[oracle.Faces, tuple[int, ...]]) -> dict[oracle.Faces, tuple[int, ...]]:
    """Return the mean row of every keep pattern (7^5), given the row of each full throw; all divisions are exact."""
    means = dict(table)
    for pattern in product(range(7), repeat=5):
        if oracle.AGAIN in pattern:
            die = pattern.index(oracle.AGAIN)
            six = [means[(*pattern[:die], face, *pattern[die + 1 :])] for face in range(6)]
            means[pattern] = tuple(sum(column) // 6 for column in zip(*six, strict=True))
    return means


def best_turn(worth: Mapping[int, tuple[Fraction, ...]], throws: int) -> tuple[Fraction, ...]:
    """Return every player's value of a turn that is best for the mover; ties go to the fewest points, then the first
    reroll.

    `worth` maps each score to its value for each player. Integers stand for multiples of 1 / `scale`.
    """
    scale = lcm(*(part.denominator for row in worth.values() for part in row)) * 6 ** (5 * throws)
    whole = {score: tuple(int(part * scale) for part in row) for score, row in worth.items()}
    sets = [[die for die in range(5) if number >> die & 1] for number in range(1, 32)]
    table = {
        faces: max((whole[score] for score in scores or [oracle.add_up(faces)]), key=lambda row: row[0])
        for faces, scores in score_rows().items()
    }
    for _ in range(throws - 1):
        again, table = expectations(table), {}
        for faces, scores in score_rows().items():
            kept = [tuple(oracle.AGAIN if die in dice else faces[die] for die in range(5)) for dice in sets]
            rows = [whole[score] for score in scores] + [again[pattern] for pattern in kept]
            table[faces] = max(rows, key=lambda row: row[0])  # the first of equal rows, in the tie-breaking order
    return tuple(Fraction(sum(column), 6**5 * scale) for column in zip(*table.values(), strict=True))


def exact_values(players: int, target: int, throws: int) -> dict[Vector, tuple[Fraction, ...]]:
    """Return every player's win probability at each vector of totals, the mover's first in both."""
    if players == 1:
        return {(total,): (Fraction(1),) for total in range(target)}
    fewer = exact_values(players - 1, target, throws)
    values: dict[Vector, tuple[Fraction, ...]] = {}
    for start in sorted(product(range(target), repeat=players), key=sum, reverse=True):
        if start in values:
            continue
        cycle = [start[r:] + start[:r] for r in range(players)]
        found = [(Fraction(1, players),) * players] * players
        for _ in range(50):
            # Describe each turn by constants and the probability of a zero: a value is constant + zero × the next
            # value.
            turns = []
            for r, vector in enumerate(cycle):
                after = found[(r + 1) % players]
                worth = {}
                for score in range(NUM_SCORES):
                    new = (*vector[1:], vector[0] + score)
                    if score == 0:
                        row = (after[-1], *after[:-1])
                    elif new[-1] < target:
                        row = (values[new][-1], *values[new][:-1])
                    else:
                        row = (Fraction(0), *fewer[vector[1:]])
                    worth[score] = (*row, Fraction(score == 0))
                *whole, zero = best_turn(worth, throws)
                turns.append(([w - zero * worth[0][k] for k, w in enumerate(whole)], zero))
            before, found = found, [cycle_value(turns, r) for r in range(players)]
            if found == before:
                break
        else:
            raise ArithmeticError(f"no equilibrium found at {start}")
        values.update(zip(cycle, found, strict=True))
    return values


def cycle_value(turns: list[tuple[list[Fraction], Fraction]], start: int) -> tuple[Fraction, ...]:
    """Return every player's value at one position of a cycle, by summing the series of turns around it."""
    n = len(turns)
    found, passed = [Fraction(0)] * n, Fraction(1)
    for j in range(n):
        constants, zero = turns[(start + j) % n]
        found = [found[k] + passed * constants[(k - j) % n] for k in range(n)]
        passed *= zero
    return tuple(value / (1 - passed) for value in found)


@pytest.mark.parametrize(
    ("players", "target", "throws"),
    [
        (3, 2, 1),
        pytest.param(2, 3, 2, marks=pytest.mark.slow),
        pytest.param(3, 2, 2, marks=pytest.mark.slow),
        pytest.param(3, 3, 1, marks=pytest.mark.slow),
        pytest.param(4, 2, 1, marks=pytest.mark.slow),
    ],
)
def test_values_match_exact_rationals(players: int, target: int, throws: int) -> None:
    values = solved(players, target=target, throws=throws).values
    exact = exact_values(players, target, throws)
    assert len(exact) == target**players
    for vector, row in exact.items():
        assert values[vector] == pytest.approx([float(value) for value in row], abs=1e-12)


@pytest.mark.parametrize(("players", "target"), [(3, 3), (4, 2), (5, 2)])
def test_values_match_the_numpy_solver(players: int, target: int) -> None:
    solution = solved(players, target=target)
    assert np.abs(numpy_solver.solve(solution.game.options, players) - solution.values).max() < 1e-12


# --- Agreement with the solver's policy ------------------------------------------------------------------


def chances_of(solution: NoDiceSolution, vector: Vector) -> np.ndarray:
    """Return the probability (61,) of each score of the mover's turn, by asking the agent about every throw."""
    game = solution.game
    agent = SolverAgent(game)
    agent.solution = solution
    states = game.start(np.zeros(rules.NUM_OUTCOMES, int))
    states.dice = [rules.outcome_faces(outcome) for outcome in range(rules.NUM_OUTCOMES)]
    states.scores[:, : len(vector)] = vector
    scores = game.tables.scores.astype(int)
    outcomes, chances = np.arange(rules.NUM_OUTCOMES), np.zeros(NUM_SCORES)
    reach = np.full(
        (6,) * 5, 1 / rules.NUM_OUTCOMES
    )  # the first axis is die 4, so that C order is the order of outcomes
    for throw in range(1, game.options.throws + 1):
        states.throws = throw
        actions, flow = agent.act(states), reach.reshape(-1)
        stops = actions >= rules.NUM_REROLLS
        np.add.at(chances, scores[outcomes[stops], actions[stops] - rules.NUM_REROLLS], flow[stops])
        reach = np.zeros((6,) * 5)
        for action in range(rules.NUM_REROLLS):
            axes = tuple(4 - die for die in range(5) if action + 1 >> die & 1)
            kept = np.where(actions == action, flow, 0.0).reshape((6,) * 5).sum(axis=axes, keepdims=True)
            reach += kept / 6 ** len(axes)
    return chances


def one_turn(solution: NoDiceSolution, vector: Vector, fewer: np.ndarray) -> np.ndarray:
    """Return every player's value (n,) after the agent's turn at a vector, followed by the table's values."""
    target, chances = len(solution.values), chances_of(solution, vector)
    found = np.zeros(len(vector))
    for score in np.flatnonzero(chances):
        new = (*vector[1:], vector[0] + score)
        if new[-1] < target:
            found += chances[score] * np.roll(solution.values[new], 1)
        else:
            found[1:] += chances[score] * fewer[vector[1:]]
    return found


UNSETTLED = (0, 4, 2, 1)  # four players, target 5: no policy here is a best response to itself


@pytest.mark.parametrize(
    ("players", "target", "vectors"),
    [
        (3, 5, [(0, 0, 0), (4, 4, 4), (1, 3, 0), (4, 0, 2)]),
        pytest.param(3, 5, list(product(range(5), repeat=3)), marks=pytest.mark.slow),
        (4, 5, [(0, 0, 0, 0), UNSETTLED, (4, 2, 1, 0), (2, 1, 0, 4), (1, 0, 4, 2)]),
    ],
)
def test_values_are_those_of_the_agents_own_play(players: int, target: int, vectors: list[Vector]) -> None:
    """The policy is stationary, so it is enough to check one turn at every position."""
    solution = solved(players, target=target)
    fewer = solved(players - 1, target=target).values
    for vector in vectors:
        assert one_turn(solution, vector, fewer) == pytest.approx(solution.values[vector], abs=1e-13)


@pytest.mark.parametrize(("players", "target"), [(2, 9), (3, 6), (4, 4), (5, 3)])
def test_win_probabilities_sum_to_one(players: int, target: int) -> None:
    values = solved(players, target=target).values
    assert values.shape == (target,) * players + (players,)
    assert np.abs(values.sum(axis=-1) - 1).max() < 1e-14
    assert (values > 0).all()


def test_more_points_are_never_better_for_the_mover() -> None:
    values = solved(3, target=6).values
    assert (np.diff(values[..., 0], axis=0) <= 1e-12).all()


def test_agent_wins_from_each_seat_as_often_as_the_table_says() -> None:
    game = game_of("no_dice", 3, target=6)
    agent = SolverAgent(game)
    states = played_out(game, agent, 20_000)
    expected = agent.solution.values[0, 0, 0]
    error = np.sqrt(expected * (1 - expected) / len(states))
    assert (np.abs(states.share[:, :3].mean(axis=0) - expected) < 4.5 * error).all()


# --- The certificate -------------------------------------------------------------------------------------


def test_three_player_certificate_shows_no_possible_gain() -> None:
    certificate = solved(3, target=6).certificate
    assert certificate.residual < 1e-12
    assert max(certificate.one_turn, certificate.best_response, *certificate.at_start) < 1e-12
    assert len(certificate.at_start) == 3


def test_certificate_bounds_the_gain_without_exact_equilibrium() -> None:
    solution = solved(4, target=5)
    certificate = solution.certificate
    assert 1e-12 < certificate.one_turn <= certificate.best_response < 1e-9
    assert certificate.residual == pytest.approx(certificate.one_turn)
    assert max(certificate.at_start) < 1e-12


def wrong_tables(players: int, target: int) -> Callable[[str, int], np.ndarray]:
    """Return tables of arbitrary values that are used to test policies that make no sense."""
    rng = np.random.default_rng(0)
    tables = {("values", number): rng.dirichlet(np.ones(number), target**number) for number in range(2, players + 1)}
    for number in range(2, players + 1):
        zeros = rng.random((target**number, 1))
        tables["values", number] = np.hstack([tables["values", number], zeros])
        tables["replies", number] = rng.random((target**number, number))
    tables["values", 1] = tables["replies", 1] = np.ones((target, 1))
    return lambda kind, number: tables[kind, number]


@pytest.mark.slow
def test_best_responses_match_value_iteration() -> None:
    """The opponents play arbitrary policies; each best response is computed by plain dynamic programming."""
    players, target = 3, 3
    game, known = game_of("no_dice", players, target=target, throws=2), wrong_tables(players, target)
    filling = Filling("replies", game, known)
    for total in filling.totals:
        codes = filling.cycles(total)
        filling.enter(codes, filling.rows_of(codes).rows)
    wrong = NoDiceSolution(game, {number: known("values", number) for number in range(1, 4)}, 0.0, None)
    vectors = list(product(range(target), repeat=players))
    chances = {vector: chances_of(wrong, vector) for vector in vectors}
    fewer = known("replies", 2).reshape(target, target, 2)
    dice = numpy_solver.Turn(game.options)
    values = np.zeros((target,) * players + (players,))
    for _ in range(60):
        before = values.copy()
        for vector in vectors:
            worth = numpy_solver._worth(values, fewer, vector)
            values[vector] = worth @ chances[vector]
            values[vector][0] = dice.solve(worth)[0]
        if np.abs(values - before).max() < 1e-15:
            break
    assert np.abs(filling.table.reshape(values.shape) - values).max() < 1e-12


def test_wrong_table_gives_large_errors_and_gains() -> None:
    filling = Filling("replies", game_of("no_dice", 3, target=3), wrong_tables(3, 3))
    largest = []
    for total in filling.totals:
        codes = filling.cycles(total)
        rows = filling.rows_of(codes)
        filling.enter(codes, rows.rows)
        largest.append(rows.largest)
    error, gain, best, _ = np.max(largest, axis=0)
    assert error > 0.1 and gain > 0.1 and best >= gain


@pytest.mark.parametrize("throws", [1, 2, 3])
def test_tie_spread_covers_all_results_when_everything_is_tied(throws: int) -> None:
    """The mover is indifferent, so the spread is the range from the best to the worst for another player."""
    dice = make_turn("any")
    rng = np.random.default_rng(0)
    worth = np.stack([np.full((NUM_SCORES, LANES), 0.5), *rng.random((3, NUM_SCORES, LANES))])
    rows = np.empty((throws + 1, dice.lattice.num_patterns, LANES))
    choices = np.empty((throws, len(dice.full), LANES), np.uint8)
    play(worth[0], dice, rows, choices)
    spread = tie_spread(worth[0], worth, dice, rows, choices, np.empty_like(rows))
    widths = [
        turn_value(worth[k, :, lane].copy(), throws, dice) + turn_value(-worth[k, :, lane], throws, dice)
        for k in range(1, 4)
        for lane in range(LANES)
    ]
    assert spread == pytest.approx(max(widths), abs=1e-12)


def test_tie_spread_is_zero_without_ties() -> None:
    dice = make_turn("any")
    worth = np.random.default_rng(0).random((2, NUM_SCORES, LANES))
    rows = np.empty((2, dice.lattice.num_patterns, LANES))
    choices = np.empty((1, len(dice.full), LANES), np.uint8)
    play(worth[0], dice, rows, choices)
    assert tie_spread(worth[0], worth, dice, rows, choices, np.empty_like(rows)) == pytest.approx(0, abs=1e-14)
