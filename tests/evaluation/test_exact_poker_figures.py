"""Tests of exact values of policies in small games of Poker Figures: consistency and simulation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of, nth
from trialea import OptionError
from trialea.agents.poker_figures import exact
from trialea.agents.poker_figures.policy import make_sheets, tabulate
from trialea.agents.poker_figures.positions import find_positions
from trialea.agents.poker_figures.small_games import SmallGameSolution, moves_of, shared_solution
from trialea.envs.agent import make_agent
from trialea.envs.game import Game, States
from trialea.envs.jit import plain
from trialea.evaluation import best_response, evaluate, evaluate_exactly, exact_value, tabulate_policy

SMALL: dict[str, Any] = {"rows": "ADS", "columns": 1, "max_turns": 2}


def small() -> Game:
    """Return the small game."""
    return game_of("poker_figures", 2, **SMALL)


def solution() -> SmallGameSolution:
    """Return the game's solution."""
    return shared_solution(small())


@cache
def policy(name: str) -> Any:
    """Return an agent's tabulated policy."""
    return tabulate_policy(small(), name)


class Mixed:
    """An agent that plays greedily, but takes a random legal action one time in four."""

    name = "mixed"

    def __init__(self, game: Game) -> None:
        self.game, self.greedy = game, make_agent("greedy", game)

    def action_probabilities(self, states: States) -> np.ndarray:
        masks = self.game.masks(states).astype(float)
        chances = masks / masks.sum(axis=1, keepdims=True) / 4
        chances[np.arange(len(states)), self.greedy.act(states)] += 3 / 4
        return chances

    def act(self, states: States) -> np.ndarray:
        draw = np.random.default_rng(int(states.decisions.sum())).random((len(states), 1))
        return (self.action_probabilities(states).cumsum(axis=1) > draw * (1 - 1e-9)).argmax(axis=1)


def test_solver_policy_has_the_solutions_value_and_best_response() -> None:
    value = solution().value()
    solver = policy("solver")
    assert exact_value(small(), [solver, solver]) == pytest.approx([value, 1 - value], abs=1e-12)
    assert exact_value(small(), [solver, solver], first_player=1) == pytest.approx([1 - value, value], abs=1e-12)
    assert best_response(small(), [solver, solver], 0) == pytest.approx(value, abs=1e-12)
    assert best_response(small(), [solver, solver], 1) == pytest.approx(1 - value, abs=1e-12)


@pytest.mark.parametrize("name", ["greedy", "reference"])
def test_total_regret_is_the_win_probability_lost_to_the_solution(name: str) -> None:
    found = evaluate_exactly(small(), name)
    assert found.value_vs_equilibrium is not None
    assert found.decisions is not None
    assert found.regret_per_decision is not None
    assert found.value_vs_equilibrium < 0.5
    lost = found.decisions * found.regret_per_decision / 1000
    assert found.value_vs_equilibrium + lost == pytest.approx(0.5, abs=1e-12)
    assert found.exploitability >= lost
    assert found.regret_by_score == {}
    assert sum(part.decisions for part in found.regret_by_throw.values()) == pytest.approx(found.decisions)


def test_mixed_policy_wins_as_often_in_simulation() -> None:
    game = small()
    agents = [Mixed(game), make_agent("solver", game)]
    told = tabulate_policy(game, agents[0])
    expected = np.mean([exact_value(game, [told, policy("solver")], first)[0] for first in range(2)])
    played = evaluate(game, agents, num_games=6000, seed=3, regret=False)
    assert nth(played, 0).win_rate == pytest.approx(expected, abs=4 * 0.5 / 6000**0.5)


def test_probability_one_for_an_action_equals_playing_it() -> None:
    class Sure(Mixed):
        def action_probabilities(self, states: States) -> np.ndarray:
            return np.eye(self.game.num_actions)[self.greedy.act(states)] * (self.game.masks(states) != 0)

    agents = Sure(small()), make_agent("greedy", small())
    sure, greedy = (tabulate(small(), agent, solution()) for agent in agents)
    for key in ("writes", "ends", "judged"):
        assert getattr(sure, key) == pytest.approx(getattr(greedy, key), abs=1e-12)


def test_probabilities_of_writing_and_ending_sum_to_one() -> None:
    for name in ("solver", "greedy"):
        table = policy(name).table
        assert table.writes.sum(axis=(3, 4)) + table.ends == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [SMALL, {"rows": "AD", "columns": 2}, {"rows": "XF", "columns": 2, "poker_row": True, "score_open_rows": True}],
    ids=str,
)
def test_each_position_has_a_sheet_that_leads_to_it(options: dict[str, Any]) -> None:
    game = game_of("poker_figures", 2, **options)
    space = moves_of(game).space
    sheets = make_sheets(game, space)
    found = np.empty(len(sheets), np.int64)
    find_positions(plain(sheets), space, found)
    assert (found == np.arange(len(sheets))).all()


def test_games_too_large_raise() -> None:
    with pytest.raises(OptionError, match="38,642 positions in each of 120 turns, each with 1260 decisions"):
        exact.check_in_reach(game_of("poker_figures", 2, columns=1))
    with pytest.raises(OptionError, match="positions between turns, but at most"):
        evaluate_exactly("poker_figures", "greedy")
