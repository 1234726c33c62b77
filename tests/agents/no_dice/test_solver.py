"""Tests of the exact two-player solution of No Dice: exact rationals, consistency, play and summary."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of, played_out, positions
from tests.oracle import no_dice as oracle
from trialea import OptionError
from trialea.agents.cache import digest_of
from trialea.agents.no_dice import turn
from trialea.agents.no_dice.greedy import GreedyAgent
from trialea.agents.no_dice.solver import NoDiceSolution, SolverAgent, compute, solve
from trialea.envs.game import Game, States
from trialea.envs.no_dice import rules

READINGS: tuple[oracle.Intermediates, ...] = ("any", "natural")


@cache
def solved(**options: Any) -> NoDiceSolution:
    """Return a solution computed here, not read from disk."""
    return compute(game_of("no_dice", 2, **options))


# --- Comparison with exact rationals ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "throws", "reading"),
    [
        (2, 1, "any"),
        (2, 2, "any"),
        (2, 2, "natural"),
        (3, 1, "any"),
        pytest.param(3, 2, "any", marks=pytest.mark.slow),
        pytest.param(2, 3, "any", marks=pytest.mark.slow),
        pytest.param(3, 3, "any", marks=pytest.mark.slow),
        pytest.param(5, 3, "natural", marks=pytest.mark.slow),
    ],
)
def test_values_match_exact_rationals(target: int, throws: int, reading: oracle.Intermediates) -> None:
    solution = solved(target=target, throws=throws, intermediates=reading)
    exact = oracle.solve_two_players(target, throws, reading)
    assert len(exact) == target * target
    for (mover, other), value in exact.items():
        assert solution.value(mover, other) == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("throws", [1, 2, 3, 5])
def test_least_expected_scores_match_exact_rationals(throws: int, reading: oracle.Intermediates) -> None:
    exact = -oracle.turn_value(lambda score: Fraction(-score), throws, reading)
    assert turn.least_expected_score(throws, reading) == pytest.approx(float(exact), abs=1e-12)


def test_least_expected_score_of_three_throws_is_as_published() -> None:
    assert round(turn.least_expected_score(3), 4) == 1.2536


@pytest.mark.parametrize("payoff", [lambda s: float(s == 0), lambda s: 1 / (1 + s), lambda s: float(s % 3)])
def test_turn_value_matches_exact_rationals_for_any_payoff(payoff: Callable[[int], float]) -> None:
    payoffs = np.array([payoff(score) for score in range(turn.MAX_SCORE + 1)])
    exact = oracle.turn_value(lambda score: Fraction(payoffs[score]), 2)
    assert turn.turn_value(payoffs, 2, turn.make_turn("any")) == pytest.approx(float(exact), abs=1e-12)


def test_max_score_covers_every_expression() -> None:
    for reading in READINGS:
        scores = rules.tables(rules.Options(intermediates=reading)).scores
        assert scores[scores != rules.ILLEGAL].max() <= turn.MAX_SCORE


# --- Consistency -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"throws": 1},
        {"throws": 2},
        {"throws": 4},
        {"throws": 5, "intermediates": "natural"},
        {"target": 1},
        pytest.param({"target": 100}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_bellman_error_is_below_1e_12(options: dict[str, Any]) -> None:
    solution = solved(**options)
    assert solution.residual < 1e-12
    assert np.isfinite(solution.values).all()
    assert ((solution.values > 0) & (solution.values < 1)).all()


def test_more_own_points_never_help_and_more_of_the_others_do() -> None:
    values = solved().values[..., 0]
    assert (np.diff(values, axis=0) <= 1e-12).all()
    assert (np.diff(values, axis=1) >= -1e-12).all()


def on_the_table(game: Game, throws: int, mover: int, totals: tuple[int, int]) -> States:
    """Return all 7,776 throws; the mover has `totals[0]` and the other player `totals[1]`."""
    states = game.start(np.zeros(rules.NUM_OUTCOMES, int), first_player=mover)
    states.dice = [rules.outcome_faces(outcome) for outcome in range(rules.NUM_OUTCOMES)]
    states.throws = throws
    states.scores[:, mover], states.scores[:, 1 - mover] = totals
    return states


@pytest.mark.parametrize("totals", [(0, 0), (12, 25), (29, 3)])
@pytest.mark.parametrize("mover", [0, 1])
def test_mean_of_best_action_values_equals_the_position_value(mover: int, totals: tuple[int, int]) -> None:
    solution = solved()
    states = on_the_table(solution.game, 1, mover, totals)
    best = np.nanmax(solution.action_values(states), axis=1)
    assert best.mean() == pytest.approx(solution.value(*totals), abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"throws": 2, "intermediates": "natural", "target": 12}], ids=str)
def test_solver_always_plays_a_best_action(options: dict[str, Any]) -> None:
    agent = SolverAgent(game_of("no_dice", 2, **options))
    states = positions(agent.solution.game, 3000, seed=2)
    values = agent.solution.action_values(states)
    chosen = values[np.arange(len(states)), agent.act(states)]
    assert (chosen >= np.nanmax(values, axis=1) - 1e-11).all()


def test_solver_gives_the_same_answers_in_a_batch_and_alone() -> None:
    game = game_of("no_dice")
    states = positions(game, 50, seed=3)
    together = SolverAgent(game).act(states)
    agent = SolverAgent(game)
    assert together.tolist() == [int(agent.act(states[i : i + 1])[0]) for i in range(len(states))]


# --- Simulation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("throws", [1, 2, 3])
def test_greedy_agents_mean_score_is_the_least_expected_score(throws: int, reading: oracle.Intermediates) -> None:
    game = game_of("no_dice", 2, throws=throws, intermediates=reading, target=1000)
    agent = GreedyAgent(game)
    states = game.start(range(100_000))
    while True:
        playing = np.flatnonzero(states.turns[:, 0] == 0)
        if not len(playing):
            break
        game.step(states, agent.act(states[playing]), playing)
    scores = states.scores[:, 0]
    error = scores.std() / len(scores) ** 0.5
    assert abs(scores.mean() - turn.least_expected_score(throws, reading)) < 4.5 * error


def test_solver_self_play_win_rate_matches_its_value() -> None:
    game = game_of("no_dice")
    agent = SolverAgent(game)
    states = played_out(game, agent, 20_000)
    expected = agent.solution.value(0, 0)
    error = (expected * (1 - expected) / len(states)) ** 0.5
    assert abs(states.share[:, 0].mean() - expected) < 4.5 * error


# --- Input checks and summary ----------------------------------------------------------------------------


def test_games_and_positions_out_of_range_raise() -> None:
    with pytest.raises(OptionError, match="at most 100"):
        solve(game_of("no_dice", 2, target=101))
    for totals in ((-1, 0), (0, 30), (30, 0)):
        with pytest.raises(OptionError, match="from 0 to 29"):
            solved().value(*totals)
    with pytest.raises(OptionError, match="2 totals, got 3"):
        solved().value(1, 2, 3)


def test_progress_increases_to_one() -> None:
    shares: list[float] = []
    compute(game_of("no_dice", 2, target=4), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_summary_has_the_documented_keys() -> None:
    summary = solved().summary()
    assert list(summary) == [
        *("game", "players", "options", "value", "residual", "seconds", "table_sha256", "turn_score")
    ]
    assert sum(summary["value"]) == pytest.approx(1, abs=1e-15)
    assert summary["table_sha256"] == digest_of(solved().values)
    assert list(summary["turn_score"]) == ["1", "2", "3"]
