"""Tests of how many games are needed to tell two agents apart."""

from __future__ import annotations

import json

import numpy as np
import pytest

from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.evaluation import evaluate, games_needed, interval_of_mean
from trialea.evaluation.intervals import interval_of_difference, t_quantile
from trialea.evaluation.measures.sample_size import from_pilot, units_needed

SMALL = Game("no_dice", 2, target=8)


@pytest.mark.parametrize(("effect", "pairs"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_units_needed_match_textbook_values_of_a_paired_t_test(effect: float, pairs: int) -> None:
    """Small, medium and large effects at 5 % and a power of 80 %, from Cohen's tables."""
    assert units_needed(effect, 1.0) == pytest.approx(pairs, abs=1)
    assert units_needed(-3 * effect, 3.0) == units_needed(effect, 1.0)


def test_games_needed_are_units_times_games_per_unit() -> None:
    assert games_needed(0.5, 1.0, games_per_unit=6) == 6 * (units_needed(0.5, 1.0) or 0)


def test_harder_requirements_need_more_units() -> None:
    base = units_needed(0.1, 0.5) or 0
    for more in (units_needed(0.09, 0.5), units_needed(0.1, 0.55), units_needed(0.1, 0.5, 0.99)):
        assert (more or 0) > base
    assert (units_needed(0.1, 0.5, 0.95, 0.95) or 0) > base


def test_zero_spread_needs_two_units_and_zero_difference_none() -> None:
    assert units_needed(0.001, 0.0) == 2
    assert units_needed(0.0, 1.0) is None
    assert games_needed(0.0, 1.0) is None


NAN = float("nan")


@pytest.mark.parametrize(
    "wrong",
    [
        {"power": 0.5},
        {"power": 1.0},
        {"confidence": 95.0},
        {"sd": -1.0},
        {"sd": NAN},
        {"sd": float("inf")},
        {"difference": NAN},
        {"games_per_unit": 0},
        {"games_per_unit": 1.5},
    ],
)
def test_figures_out_of_range_raise(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        games_needed(**{"difference": 0.1, "sd": 1.0, **wrong})  # type: ignore[arg-type]


def test_units_needed_give_the_promised_power() -> None:
    rng = np.random.default_rng(1)
    units = units_needed(0.25, 0.7, power=0.8) or 0
    samples = np.clip(rng.normal(0.25, 0.7, (4000, units)), -10, 10)
    half = t_quantile(units) * samples.std(axis=1, ddof=1) / np.sqrt(units)
    assert (samples.mean(axis=1) - half > 0).mean() == pytest.approx(0.8, abs=0.02)


def test_pilot_gives_its_difference_and_the_range_of_games_needed() -> None:
    samples = np.random.default_rng(2).choice([-1.0, 0.0, 1.0], 400, p=[0.2, 0.5, 0.3])
    found = from_pilot(("a", "b"), samples, 2)
    low, high = interval_of_difference(samples)
    assert found.difference == pytest.approx(samples.mean())
    assert found.raw.sd == pytest.approx(samples.std(ddof=1))
    assert found.raw.units == units_needed(found.difference, samples.std(ddof=1))
    assert found.raw.games == 2 * (found.raw.units or 0)
    assert low < 0 < found.difference < high or low > 0
    least, most = found.raw.games_interval
    assert least == games_needed(high, samples.std(ddof=1), 2)
    assert most == (games_needed(low, samples.std(ddof=1), 2) if low > 0 else None)


def test_pilot_without_a_difference_gives_no_number() -> None:
    for samples in (np.zeros(50), np.array([0.5, -0.5] * 20), np.array([0.1, 0.2, -0.1, -0.2])):
        raw = from_pilot(("a", "b"), samples, 2).raw
        assert (raw.units, raw.games, raw.games_interval) == (None, None, (None, None))
    assert from_pilot(("a", "b"), np.array([1.0]), 2).raw.sd is None


@pytest.mark.parametrize("difference", [1.0, 0.5, -0.25, 0.1])
def test_identical_units_need_as_many_as_wilsons_interval(difference: float) -> None:
    units = from_pilot(("a", "b"), np.full(30, difference), 1).raw.units or 0
    for count, apart in ((units - 1, False), (units, True)):
        low, high = interval_of_mean(np.full(count, (1 + difference) / 2))
        assert (low > 0.5 or high < 0.5) == apart


def test_evaluation_reports_the_games_needed() -> None:
    found = evaluate(SMALL, ["greedy", "random", "solver"], num_games=600, regret=False)
    first = found.versus_first()
    assert [pair.agents for pair in first] == [("greedy", "random"), ("greedy", "solver")]
    for pair in first:
        needed = pair.games_needed
        assert needed.difference == pytest.approx(pair.difference.mean)
        assert needed.raw.games == 2 * (needed.raw.units or 0)  # in a unit of six games, these two meet in two
    easy, hard = (pair.games_needed for pair in first)
    assert easy.raw.games is not None and hard.raw.games is not None
    assert easy.raw.games < 50 < hard.raw.games
    plain = json.loads(json.dumps(found.to_json()))["games_needed"][0]
    assert set(plain) == {"agents", "difference", "confidence", "power", "raw", "adjusted_difference", "adjusted"}
    assert set(plain["raw"]) == {"sd", "units", "games", "games_interval"}
