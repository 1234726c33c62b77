"""Results without luck in evaluations, tournaments and reports, and on the command line."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.helpers import game_of
from trialea.commands.app import app
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.evaluation import (
    evaluate,
    write_report,
    write_tournament_report,
)
from trialea.evaluation.reports import report
from trialea.evaluation.tournaments.config import TournamentConfig
from trialea.evaluation.tournaments.tournament import read_tournament, run_tournament

SMALL = Game("no_dice", 2, target=8)

# --- In an evaluation ----------------------------------------------------------------------------------------------


@cache
def greedy_against_solver() -> Any:
    return evaluate(game_of("no_dice", 2), ["greedy", "solver"], games=1000, regret=False)


def test_greedy_against_solver_needs_thirty_times_fewer_games() -> None:
    found = greedy_against_solver()
    assert found.luck_values == "solution" and found.luck_note == ""
    adjusted = found.adjusted
    assert min(adjusted.games_saved) > 25  # a thousand games know this to about a tenth; the page has the figure
    (low, high), (raw_low, raw_high) = adjusted.interval[0], found.interval[0]
    assert (raw_high - raw_low) / (high - low) == pytest.approx(adjusted.games_saved[0] ** 0.5, rel=1e-6)
    assert raw_low < adjusted.win_rate[0] < raw_high
    assert high < 0.5  # beyond doubt after as few games
    assert sum(adjusted.win_rate) == pytest.approx(1)
    for parts, rate, without in zip(adjusted.parts, found.win_rate, adjusted.win_rate, strict=True):
        assert parts.start + parts.luck + parts.own_errors + parts.others_errors == pytest.approx(rate)
        assert rate - parts.luck == pytest.approx(without)
    assert adjusted.parts[0].start == pytest.approx(0.5)
    assert adjusted.parts[0].own_errors == pytest.approx(-adjusted.parts[1].others_errors)


def test_differences_and_the_games_needed_come_without_luck_too() -> None:
    found = greedy_against_solver()
    (difference,), (needed,) = found.difference, found.games_needed
    assert difference.adjusted_mean == pytest.approx(found.adjusted.win_rate[0] - found.adjusted.win_rate[1])
    low, high = difference.adjusted_interval
    assert low < difference.adjusted_mean < high < 0
    assert needed.adjusted_difference == pytest.approx(difference.adjusted_mean)
    assert needed.adjusted.games < 100 < needed.raw.games
    least, most = needed.adjusted.games_interval
    assert least <= needed.adjusted.games <= most


def test_of_three_agents_at_two_seats_each_pair_has_its_own_figures() -> None:
    found = evaluate(SMALL, ["greedy", "random", "solver"], games=600, regret=False)
    adjusted = found.adjusted
    assert adjusted is not None
    for a in range(3):
        assert adjusted.against[a][a] is adjusted.against_interval[a][a] is None
        for b in range(3):
            if a != b:
                mine, theirs, (low, high) = (
                    adjusted.against[a][b],
                    adjusted.against[b][a],
                    adjusted.against_interval[a][b] or (0, 0),
                )
                assert mine is not None and theirs is not None
                assert mine + theirs == pytest.approx(1)
                assert low < mine < high
                assert mine == pytest.approx(found.against[a][b], abs=0.1)


def test_a_value_function_of_the_callers_own() -> None:
    class Constant:
        def state_values(self, states: States) -> Any:
            return np.full((len(states), 2), 0.5)

        chance_values = state_values

    found = evaluate(SMALL, ["greedy", "random"], games=40, luck=Constant())
    assert found.luck_values == "given"
    assert found.adjusted is not None
    assert found.adjusted.win_rate == pytest.approx(found.win_rate)  # it sees no luck anywhere
    assert found.adjusted.games_saved in ((None, None), pytest.approx((1, 1)))


def test_what_is_wrong_with_a_value_function_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Flat:
        def state_values(self, states: States) -> Any:
            return np.full((len(states), 2), 0.5)

        def chance_values(self, states: States) -> Any:
            return np.full(len(states), 0.5)

    with pytest.raises(
        OptionError, match=r"chance_values must give a finite share .* shape \(1, 2\); it gave .* \(1,\)$"
    ):
        evaluate(SMALL, ["greedy", "random"], games=40, luck=Flat())
    for value, wrong in (
        (np.nan, "it gave numbers that are not finite"),
        (0.5 + 0.5j, "it gave an array of complex128"),
        (None, "it gave an array of object"),
        (0.6, r"exact mean of its state_values .* it gave \[0\.6, 0\.6\], and the mean is \[0\.5, 0\.5\]"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Flat, "chance_values", lambda _, states, value=value: np.full((len(states), 2), value))
            with pytest.raises(OptionError, match=wrong):
                evaluate(SMALL, ["greedy", "random"], games=40, luck=Flat())
    with pytest.raises(OptionError, match="luck must be True, False or a value function"):
        evaluate(SMALL, ["greedy", "random"], games=40, luck="solution")  # type: ignore[arg-type]


def test_without_luck_measured_there_are_no_figures_but_a_note() -> None:
    for found, note in (
        (evaluate(SMALL, ["greedy", "random"], games=4, luck=False), "it was not asked for"),
        (evaluate(game_of("last_die", 4), ["random", "solver"], games=4), "how likely each seat is to win"),
        (evaluate(game_of("no_dice", 6, target=8), ["random", "greedy"], games=12), "2 to 5 players, not 6"),
    ):
        assert found.adjusted is None and found.luck_values == ""
        assert note in found.luck_note
        assert found.difference[0].adjusted_mean is None and found.games_needed[0].adjusted is None
        plain = found.to_json()
        assert plain["luck"] is plain["adjusted_win_rate"] is plain["games_saved"] is None
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain


@pytest.mark.slow
@pytest.mark.parametrize(("names", "least"), [(("reference", "greedy"), 2.5), (("reference", "reference"), 5.0)])
def test_poker_figures_needs_several_times_fewer_games(names: tuple[str, str], least: float) -> None:
    """The page has the figures of more games: 3.7 and 10.7."""
    found = evaluate(game_of("poker_figures", 2), names, games=400, duplicate=False).adjusted
    assert found is not None
    assert min(saved or 0 for saved in found.games_saved) > least
    assert found.interval[0] is not None


# --- In tournaments, reports and on the command line -----------------------------------------------------------------


def test_a_tournament_brings_together_what_its_blocks_found(tmp_path: Path) -> None:
    names = ["greedy", "random", "solver"]
    config = TournamentConfig(
        game="no_dice", options={"target": 8}, agents=names, games=20, seed=4, block=50, workers=1, resamples=100
    )
    found = run_tournament(config, tmp_path / "run")
    whole = evaluate(SMALL, names, games=60, seed=4)
    assert found.evaluation.games == 60  # two blocks
    assert found.evaluation.adjusted == whole.adjusted
    assert (found.evaluation.luck_values, found.evaluation.luck_note) == ("solution", "")
    assert found == read_tournament(tmp_path / "run")
    for pair, difference in zip(found.pairs, whole.difference, strict=False):
        assert (pair.adjusted_mean, pair.adjusted_interval) == (difference.adjusted_mean, difference.adjusted_interval)
        assert pair.needed.adjusted is not None
    page = write_tournament_report(found, tmp_path / "report.html").read_text("utf-8")
    adjusted = whole.adjusted
    assert adjusted is not None
    for a, b in ((0, 1), (2, 0)):
        rate, interval = adjusted.against[a][b], adjusted.against_interval[a][b]
        assert rate is not None and interval is not None
        assert f"{report.percent(rate)}<br>" in page and report.spread(interval) in page
    without = run_tournament(config.model_copy(update={"luck": False}), tmp_path / "other")
    assert without.evaluation.adjusted is None and without.pairs[0].adjusted_mean is None
    assert "Luck was not taken out: it was not asked for" in write_tournament_report(
        without, tmp_path / "report.html"
    ).read_text("utf-8")


def test_a_report_shows_what_luck_and_errors_added(tmp_path: Path) -> None:
    found = greedy_against_solver()
    page = write_report([found], tmp_path / "report.html").read_text("utf-8")
    for name in ("without luck", "games saved", "own errors", "Values are those of the exact solution"):
        assert name in page
    assert f"{found.adjusted.games_saved[0]:.1f} ×" in page
    assert report.signed(found.adjusted.parts[0].own_errors) in page
    assert report.signed(-1e-9) == "+0.0"


def test_the_command_takes_luck_out_unless_told_not_to() -> None:
    words = ["evaluate", "no_dice", "greedy", "solver", "--games", "40", "--target", "8"]
    environment = {"COLUMNS": "140", "NO_COLOR": "1"}
    shown = CliRunner().invoke(app, words, env=environment).stdout
    assert "own" in shown and "by the solution's values" in shown
    plain = CliRunner().invoke(app, [*words, "--no-luck"], env=environment).stdout
    assert "own" not in plain and "Luck not removed: it was not asked for" in plain
