"""Tests of the No Dice solution's values and best actions for states, and of its input checks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of, positions, rotated
from trialea import OptionError
from trialea.agents.no_dice import solver
from trialea.agents.no_dice.solver import NoDiceSolution, SolverAgent, compute, solve
from trialea.agents.regrets import TIE
from trialea.envs.game import Game, States
from trialea.envs.no_dice import rules


@cache
def solved(players: int, **options: Any) -> NoDiceSolution:
    """Return a solution computed here, not read from disk."""
    return compute(game_of("no_dice", players, **options))


# --- Values of states and actions ------------------------------------------------------------------------


def some_states(players: int, count: int, **options: Any) -> tuple[NoDiceSolution, States]:
    """Return a solution and states from all stages of games; with three or more players some have an eliminated
    player.
    """
    solution = solved(players, **options)
    states = positions(solution.game, count, seed=players)
    assert set(states.finished[:, :players].sum(axis=1).tolist()) >= ({0, 1} if players > 2 else {0})
    return solution, states


def following(game: Game, state: States) -> Iterator[tuple[int, States]]:
    """Yield each legal action of a state, and the state before the throw that follows."""
    for action in np.flatnonzero(game.masks(state)[0]):
        yield action, game.choose(state, [action])


@pytest.mark.parametrize(("players", "options"), [(2, {}), (3, {"target": 6})], ids=str)
def test_action_value_equals_the_value_of_its_result(players: int, options: dict[str, Any]) -> None:
    solution, states = some_states(players, 40, **options)
    values = solution.action_values(states)
    assert (np.isfinite(values) == (solution.game.masks(states) != 0)).all()
    for i in range(len(states)):
        for action, after in following(solution.game, states[i : i + 1]):
            expected = solution.chance_values(after)[0, states.mover[i]]
            assert values[i, action] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("players", "options"), [(2, {}), (3, {"target": 6})], ids=str)
def test_value_before_a_throw_is_the_mean_over_its_outcomes(players: int, options: dict[str, Any]) -> None:
    solution, states = some_states(players, 12, **options)
    rng = np.random.default_rng(0)
    for i in range(len(states)):
        actions = [*following(solution.game, states[i : i + 1])]
        _, after = actions[rng.integers(len(actions))]
        if after.over[0]:
            assert solution.chance_values(after)[0].tolist() == after.share[0, :players].tolist()
            continue
        outcomes, chances = zip(*solution.game.chance_outcomes(after[0]), strict=True)
        later = solution.state_values(np.concatenate(outcomes).view(np.recarray))
        assert np.array(chances) @ later == pytest.approx(solution.chance_values(after)[0], abs=1e-12)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_state_value_equals_the_value_of_its_best_action(players: int) -> None:
    solution, states = some_states(players, 200, **({"target": 5} if players > 2 else {}))
    values = solution.state_values(states)
    assert values.sum(axis=1) == pytest.approx(np.ones(len(states)), abs=1e-13)
    assert (values[states.finished[:, :players] != 0] == 0).all()
    after = solution.game.choose(states, solution.best_actions(states))
    assert np.abs(solution.chance_values(after) - values).max() < 1e-13
    own = values[np.arange(len(states)), states.mover]
    assert np.abs(np.nanmax(solution.action_values(states), axis=1) - own).max() < 1e-9


def test_value_of_a_finished_game_is_its_result() -> None:
    solution, states = some_states(3, 300, target=6)
    game = solution.game
    while not (states.over != 0).any():
        game.step(states, solution.best_actions(states))
    values = solution.chance_values(states[states.over != 0].view(np.recarray))
    assert set(values.ravel().tolist()) == {0.0, 1.0} and (values.sum(axis=1) == 1).all()


def test_values_and_actions_rotate_with_the_seats() -> None:
    solution, states = some_states(3, 100, target=6)
    turned = rotated(states, 1)
    assert np.array_equal(solution.best_actions(states), solution.best_actions(turned))
    assert np.array_equal(solution.action_values(states), solution.action_values(turned), equal_nan=True)
    assert np.array_equal(np.roll(solution.state_values(states), 1, axis=1), solution.state_values(turned))


def test_eliminated_player_does_not_affect_the_others_values() -> None:
    three, states = some_states(3, 300, target=6)
    states = states[(states.finished[:, :3].sum(axis=1) == 1) & (states.mover != 2) & (states.finished[:, 2] != 0)]
    assert len(states)
    two = states.copy().view(np.recarray)
    two.num_players = 2
    solution = solved(2, target=6)
    assert np.array_equal(three.action_values(states.view(np.recarray)), solution.action_values(two), equal_nan=True)
    assert np.array_equal(three.best_actions(states.view(np.recarray)), solution.best_actions(two))


@pytest.mark.parametrize(("players", "target"), [(2, 30), (3, 6), (4, 5)])
def test_ties_prefer_the_fewest_points_then_the_first_reroll(players: int, target: int) -> None:
    solution = solved(players, target=target)
    states = positions(solution.game, 400, seed=5)
    values, actions = solution.action_values(states), solution.best_actions(states)
    best = np.nanmax(values, axis=1)
    scores = solution.game.tables.scores
    for i in range(len(states)):
        tied = np.flatnonzero(values[i] >= best[i] - TIE)
        outcome = rules.outcome_index(states.dice[i])
        points = [scores[outcome, a - rules.NUM_REROLLS] if a >= rules.NUM_REROLLS else 255 for a in tied]
        assert actions[i] == tied[int(np.argmin(points))]


def test_policies_evicted_from_a_full_cache_are_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    solution, states = some_states(3, 300, target=6)
    expected = solution.best_actions(states)
    monkeypatch.setattr(solver, "_MOST_POLICIES", 5)
    monkeypatch.setattr(solver, "_CHUNK", 7)
    fresh = compute(solution.game)
    assert np.array_equal(fresh.best_actions(states), expected)
    assert np.array_equal(fresh.best_actions(states), expected)


# --- Input checks and summary ----------------------------------------------------------------------------


def test_games_too_large_to_solve_raise() -> None:
    with pytest.raises(OptionError, match="players must be 2 to 5 .* got 6"):
        solve(game_of("no_dice", 6))
    with pytest.raises(OptionError, match="30,000,000 positions .* has 10,000,000,000"):
        solve(game_of("no_dice", 5, target=100))


def test_solver_agent_does_not_start_a_solve_that_takes_minutes() -> None:
    with pytest.raises(OptionError, match=r"Run `trialea solve no_dice --players 4 --target 29 --throws 2` first"):
        SolverAgent(game_of("no_dice", 4, target=29, throws=2))


def test_states_of_another_game_raise() -> None:
    solution = solved(3, target=6)
    with pytest.raises(OptionError, match="of 3 players"):
        solution.best_actions(game_of("no_dice", 2, target=6).start([0]))
    with pytest.raises(OptionError, match="below 6"):
        far = solution.game.start([0])
        far.scores[0, 1] = 6
        solution.action_values(far)
    states = solution.game.start([0])
    with pytest.raises(OptionError, match="Use state_values"):
        solution.chance_values(states)
    with pytest.raises(OptionError, match="Use chance_values"):
        solution.state_values(solution.game.choose(states, [0]))


def test_summary_of_three_players_has_the_documented_keys() -> None:
    solution = solved(3, target=6)
    summary = solution.summary((1, 2, 3))
    assert list(summary) == [
        *("game", "players", "options", "value", "residual", "epsilon", "tie_spread"),
        *("seconds", "table_sha256", "turn_score"),
    ]
    assert summary["value"] == solution.values[1, 2, 3].tolist()
    assert solution.summary()["value"] == solution.values[0, 0, 0].tolist()
    assert list(summary["epsilon"]) == ["one_turn", "best_response", "at_start"]
    assert len(summary["epsilon"]["at_start"]) == 3
    with pytest.raises(OptionError, match="3 totals, got 2"):
        solution.summary((1, 2))
