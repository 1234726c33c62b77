"""Tests of the Last Die solution: published values, agreement with the environment, and its summary."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of, positions, rotated
from trialea import OptionError
from trialea.agents.last_die.chain import (
    look_up,
    make_chain,
)
from trialea.agents.last_die.solver import Solution, SolverAgent, solve
from trialea.envs.game import States

PLAYERS = (4, 5, 6)
READINGS = (False, True)

# Published values: expected points of each seat in a whole round, from the opener to the left, and expected throws.
PUBLISHED = {
    (4, False): ([2.87591269, 2.89796398, 2.86596366, 3.01828366], 21.93034752),
    (4, True): ([0.70387449, 0.72579834, 0.69889998, 0.78595819], 17.55855103),
    (5, False): ([2.45418213, 2.35418632, 2.10913505, 2.23210873, 2.56258942], 22.48082096),
    (5, True): ([0.62315035, 0.60023472, 0.47901621, 0.53275244, 0.69289669], 18.08874535),
    (6, False): ([2.25984688, 2.07835615, 1.64080748, 1.53464142, 1.88187726, 2.34347706], 22.71015034),
    (6, True): ([0.59378241, 0.54843856, 0.36243490, 0.31674595, 0.45680128, 0.65654846], 18.30802299),
}


@cache
def solved(players: int = 4, **options: Any) -> Solution:
    return solve(game_of("last_die", players, **options))


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_values_match_the_published_ones(players: int, even_ends_round: bool) -> None:
    solution = solved(players, even_ends_round=even_ends_round)
    points, throws = PUBLISHED[players, even_ends_round]
    start = solution.chain.start
    assert solution.values[start] == pytest.approx(points, abs=6e-9)
    assert solution.throws[start].sum() == pytest.approx(throws, abs=6e-9)
    assert solution.residual < 1e-12


# --- Agreement with the environment -----------------------------------------------------------------------------


def expected_after(solution: Solution, state: Any, action: int) -> np.ndarray:
    """Return each player's expected points from now on after an action: the mean over all throws."""
    game = solution.game
    after = game.choose(np.array([state]).view(np.recarray), [action])
    dice = int(after.pending[0]).bit_count()
    faces = np.zeros((6**dice, 8), np.int64)
    faces[:, :dice] = list(product(range(6), repeat=dice))
    states = np.repeat(after, len(faces)).view(np.recarray)
    if dice:  # an action can end the game
        game.loops.throw(states, faces, game.tables)
    gained = states.scores[:, : game.num_players] - state.scores[: game.num_players]
    return (solution.expected_points(states) + gained).mean(axis=0)


def with_few_dice(states: States, most: int) -> States:
    """Return the states whose mover throws at most `most` dice next."""
    few = states[states.held[np.arange(len(states)), states.mover] <= most]
    return few.view(np.recarray)


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_values_are_means_over_the_environments_throws(players: int, even_ends_round: bool) -> None:
    solution = solved(players, even_ends_round=even_ends_round)
    states = positions(solution.game, 150, seed=players, most_decisions=300)
    full = solution.game.start(range(1))  # all six dice
    tested = np.concatenate([with_few_dice(states, 4), full]).view(np.recarray)
    assert len(tested) > 100
    expected = solution.expected_points(tested)
    values = solution.action_values(tested)
    for i in range(len(tested)):
        assert expected[i] == pytest.approx(expected_after(solution, tested[i], 0), rel=1e-12, abs=1e-12)
        assert values[i].tolist() == [expected[i, tested.mover[i]]]


def test_game_value_is_the_sum_of_its_rounds_and_zero_at_the_end() -> None:
    solution = solved(4, rounds_each=3)
    states = solution.game.start(range(5))
    whole = 3 * solution.values[solution.chain.start].sum()
    assert solution.expected_points(states) == pytest.approx(whole, abs=1e-12)
    while not states.over.all():
        going = np.flatnonzero(states.over == 0)
        solution.game.step(states, np.zeros(len(going), np.int64), going)
    assert (solution.expected_points(states) == 0).all()


def test_values_rotate_with_the_seats() -> None:
    solution = solved(4)
    states = positions(solution.game, 50, seed=2, most_decisions=100)
    turned = rotated(states, 1)
    assert (solution.expected_points(turned) == np.roll(solution.expected_points(states), 1, axis=1)).all()
    assert (solution.action_values(turned) == solution.action_values(states)).all()


def test_states_with_another_number_of_players_raise() -> None:
    with pytest.raises(OptionError, match="states must be of 4 players"):
        solved(4).action_values(game_of("last_die", 5).start([0]))


def test_solver_agent_always_throws() -> None:
    game = game_of("last_die", 5)
    agent = SolverAgent(game)
    states = positions(game, 20)
    assert agent.act(states).tolist() == [0] * 20
    assert agent.action_probabilities(states).tolist() == [[1.0]] * 20


def test_solving_with_steer_raises() -> None:
    game = game_of("last_die", steer=True)
    for made in (solve, SolverAgent):
        with pytest.raises(OptionError, match="steer must be False to solve Last Die, got True"):
            made(game)


# --- Summary and positions --------------------------------------------------------------------------------------

FIRST = ["game", "players", "options", "expected_points", "expected_throws", "win_probability"]
LAWS = ["points_law", "points_law_of_all", "throws_law"]


def test_summary_has_the_documented_keys() -> None:
    summary = json.loads(json.dumps(solved(4, even_ends_round=True).summary()))
    assert list(summary) == [*FIRST, "residual", "seconds", *LAWS]
    assert summary["win_probability"] == [0.25] * 4
    for law in (*summary["points_law"], summary["points_law_of_all"], summary["throws_law"]):
        assert 1 - 1e-6 <= sum(law) <= 1 + 1e-12


def test_summary_reports_a_given_position() -> None:
    solution = solved(4, even_ends_round=True)
    position = solution.summary((2, 1, 0, 3))["position"]
    states = solution.game.start([0])
    for opening, key in ((0, "expected_points"), (1, "expected_points_if_opening")):
        states.opening, states.rounds = opening, 15  # the last round
        players = (int(states.mover[0]) + np.arange(4)) % 4
        states.place[0, players] = (3 + np.arange(4)) % 4
        states.held[0, players] = (2, 1, 0, 3)
        assert position[key] == pytest.approx(solution.expected_points(states)[0, players], abs=1e-12)
    for wrong in ((2, 1, 0), (0, 1, 0, 3), (3, 3, 0, 1), (2, -1, 0, 1)):
        with pytest.raises(OptionError, match="dice in 4 hands"):
            solution.summary(wrong)


def test_look_up_finds_the_positions_of_states() -> None:
    chain = make_chain(4, False)
    states = game_of("last_die", 4).start(range(3))
    numbers, distance = look_up(chain, states)
    assert (numbers == chain.start).all()
    assert (np.sort(distance, axis=1) == np.arange(4)).all()
    assert (distance[np.arange(3), states.mover] == 0).all()
