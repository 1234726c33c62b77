"""Tests of results adjusted for luck in evaluations, tournaments, reports and on the command line."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.helpers import column, game_of, nth
from trialea.commands.app import app
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.evaluation import (
    evaluate,
    write_report,
    write_tournament_report,
)
from trialea.evaluation.reports import text
from trialea.evaluation.tournaments.config import TournamentConfig
from trialea.evaluation.tournaments.tournament import read_tournament, run_tournament

SMALL = Game("no_dice", 2, target=8)

# --- Evaluations ---------------------------------------------------------------------------------------------------


@cache
def greedy_against_solver() -> Any:
    """Return a cached evaluation with 1,000 games."""
    return evaluate(game_of("no_dice", 2), ["greedy", "solver"], num_games=1000, regret=False)


def test_adjustment_saves_25_times_the_games_of_greedy_vs_solver() -> None:
    found = greedy_against_solver()
    assert found.luck_values == "solution" and found.luck_note == ""
    greedy, solver = found.agents["greedy"], found.agents["solver"]
    # With a thousand games this is accurate to about a tenth; the docs have the exact figure.
    assert min(greedy.adjusted.games_saved, solver.adjusted.games_saved) > 25
    (low, high), (raw_low, raw_high) = greedy.adjusted.interval, greedy.interval
    assert (raw_high - raw_low) / (high - low) == pytest.approx(greedy.adjusted.games_saved**0.5, rel=1e-6)
    assert raw_low < greedy.adjusted.win_rate < raw_high
    assert high < 0.5  # significant after this few games
    assert greedy.adjusted.win_rate + solver.adjusted.win_rate == pytest.approx(1)
    for agent in (greedy, solver):
        terms = agent.adjusted.breakdown
        assert terms.start + terms.luck + terms.own_errors + terms.others_errors == pytest.approx(agent.win_rate)
        assert agent.win_rate - terms.luck == pytest.approx(agent.adjusted.win_rate)
    assert greedy.adjusted.breakdown.start == pytest.approx(0.5)
    assert greedy.adjusted.breakdown.own_errors == pytest.approx(-solver.adjusted.breakdown.others_errors)


def test_differences_and_games_needed_have_adjusted_figures() -> None:
    found = greedy_against_solver()
    pair = found.pairs["greedy", "solver"]
    difference, needed = pair.difference, pair.games_needed
    assert difference.adjusted_mean == pytest.approx(nth(found, 0).adjusted.win_rate - nth(found, 1).adjusted.win_rate)
    low, high = difference.adjusted_interval
    assert low < difference.adjusted_mean < high < 0
    assert needed.adjusted_difference == pytest.approx(difference.adjusted_mean)
    assert needed.adjusted.games < 100 < needed.raw.games
    least, most = needed.adjusted.games_interval
    assert least <= needed.adjusted.games <= most


def test_each_pair_of_three_agents_has_adjusted_figures() -> None:
    found = evaluate(SMALL, ["greedy", "random", "solver"], num_games=600, regret=False)
    assert len(found.pairs) == 6
    for (a, b), pair in found.pairs.items():
        mine, theirs, (low, high) = pair.adjusted_win_rate, found.pairs[b, a].adjusted_win_rate, pair.adjusted_interval
        assert mine + theirs == pytest.approx(1)
        assert low < mine < high
        assert mine == pytest.approx(pair.win_rate, abs=0.1)


def test_user_can_give_a_value_function() -> None:
    class Constant:
        def state_values(self, states: States) -> Any:
            return np.full((len(states), 2), 0.5)

        chance_values = state_values

    found = evaluate(SMALL, ["greedy", "random"], num_games=40, luck=Constant())
    assert found.luck_values == "given"
    for agent in found.agents.values():
        assert agent.adjusted is not None
        assert agent.adjusted.win_rate == pytest.approx(agent.win_rate)  # this function sees no luck at all
        assert agent.adjusted.games_saved in (None, pytest.approx(1))


def test_invalid_value_function_raises_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    class Flat:
        def state_values(self, states: States) -> Any:
            return np.full((len(states), 2), 0.5)

        def chance_values(self, states: States) -> Any:
            return np.full(len(states), 0.5)

    with pytest.raises(
        OptionError, match=r"chance_values must return a finite share .* shape \(1, 2\), got .* \(1,\)$"
    ):
        evaluate(SMALL, ["greedy", "random"], num_games=40, luck=Flat())
    for value, wrong in (
        (np.nan, "got values that are not finite"),
        (0.5 + 0.5j, "got an array of complex128"),
        (None, "got an array of object"),
        (0.6, r"exact mean of its state_values .* the mean is \[0\.5, 0\.5\], got \[0\.6, 0\.6\]"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Flat, "chance_values", lambda _, states, value=value: np.full((len(states), 2), value))
            with pytest.raises(OptionError, match=wrong):
                evaluate(SMALL, ["greedy", "random"], num_games=40, luck=Flat())
    with pytest.raises(OptionError, match="luck must be True, False or a value function"):
        evaluate(SMALL, ["greedy", "random"], num_games=40, luck="solution")  # type: ignore[arg-type]


def test_without_luck_there_is_a_note_and_no_adjusted_figure() -> None:
    for found, note in (
        (evaluate(SMALL, ["greedy", "random"], num_games=4, luck=False), ""),
        (evaluate(game_of("last_die", 4), ["random", "solver"], num_games=4), "has no win probabilities"),
        (evaluate(game_of("no_dice", 6, target=8), ["random", "greedy"], num_games=12), "players must be 2 to 5"),
    ):
        assert column(found, "adjusted") == (None, None) and found.luck_values == ""
        assert note in found.luck_note and bool(note) == bool(found.luck_note)
        (pair,) = found.versus_first()
        assert pair.adjusted_win_rate is pair.difference.adjusted_mean is pair.games_needed.adjusted is None
        plain = found.to_json()
        assert plain["luck"] is plain["adjusted_win_rate"] is plain["games_saved"] is None
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain


@pytest.mark.slow
@pytest.mark.parametrize(("names", "least"), [(("reference", "greedy"), 2.5), (("reference", "reference"), 5.0)])
def test_adjustment_needs_fewer_games_in_poker_figures(names: tuple[str, str], least: float) -> None:
    """The docs have the figures from more games: 3.7 and 10.7."""
    found = evaluate(game_of("poker_figures", 2), names, num_games=400, duplicate=False)
    for agent in found.agents.values():
        assert agent.adjusted is not None and agent.adjusted.interval is not None
        assert (agent.adjusted.games_saved or 0) > least


# --- Tournaments, reports and the command line -----------------------------------------------------------------------


def test_tournament_combines_adjusted_figures_of_its_blocks(tmp_path: Path) -> None:
    names = ["greedy", "random", "solver"]
    config = TournamentConfig(
        game="no_dice", options={"target": 8}, agents=names, games=20, seed=4, block=50, workers=1, resamples=100
    )
    found = run_tournament(config, tmp_path / "run")
    whole = evaluate(SMALL, names, num_games=60, seed=4)
    assert found.evaluation.games == 60  # two blocks
    assert column(found.evaluation, "adjusted") == column(whole, "adjusted")
    assert found.evaluation.pairs == whole.pairs
    assert (found.evaluation.luck_values, found.evaluation.luck_note) == ("solution", "")
    assert found == read_tournament(tmp_path / "run")
    page = write_tournament_report(found, tmp_path / "report.html").read_text("utf-8")
    for names in (("greedy", "random"), ("solver", "greedy")):
        pair = whole.pairs[names]
        assert f"{text.percent(pair.adjusted_win_rate)}<br>" in page and text.spread(pair.adjusted_interval) in page
    without = run_tournament(config.model_copy(update={"luck": False}), tmp_path / "other")
    assert column(without.evaluation, "adjusted") == (None, None, None)
    page = write_tournament_report(without, tmp_path / "report.html").read_text("utf-8")
    assert "Luck was not measured.</p>" in page


def test_report_shows_luck_and_errors(tmp_path: Path) -> None:
    found = greedy_against_solver()
    page = write_report([found], tmp_path / "report.html").read_text("utf-8")
    for name in ("without luck", "games saved", "own errors", "The values come from the exact solution"):
        assert name in page
    assert f"{nth(found, 0).adjusted.games_saved:.1f} ×" in page
    assert text.signed(nth(found, 0).adjusted.breakdown.own_errors) in page
    assert text.signed(-1e-9) == "+0.0"


def test_evaluate_command_adjusts_for_luck_unless_disabled() -> None:
    words = ["evaluate", "no_dice", "greedy", "solver", "--games", "40", "--target", "8"]
    environment = {"COLUMNS": "140", "NO_COLOR": "1"}
    shown = CliRunner().invoke(app, words, env=environment).stdout
    assert "own" in shown and "values from the exact solution" in shown
    plain = CliRunner().invoke(app, [*words, "--no-luck"], env=environment).stdout
    assert "own" not in plain and "Luck" not in plain
