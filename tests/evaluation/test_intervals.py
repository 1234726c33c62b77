"""Tests of confidence intervals against known values and by simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trialea.envs.errors import OptionError
from trialea.evaluation import interval_of_mean, t_interval, wilson
from trialea.evaluation.intervals import interval_of_difference, interval_of_ratio, t_quantile


def test_no_win_in_twenty_games_still_has_an_upper_limit() -> None:
    low, high = wilson(0, 20)
    assert low == 0.0
    assert high == pytest.approx(0.161, abs=5e-4)
    assert interval_of_mean(np.zeros(20)) == (low, high)
    assert interval_of_mean(np.ones(20)) == pytest.approx((1 - high, 1.0))


def test_wilson_interval_matches_a_published_one() -> None:
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)  # Newcombe, Statist. Med. 17 (1998), table I


def test_t_interval_of_ten_samples_matches_the_formula() -> None:
    assert t_quantile(10) == pytest.approx(2.262, abs=5e-4)
    samples = np.arange(10.0)
    half = 2.262157 * np.sqrt(55 / 6 / 10)
    assert t_interval(samples) == pytest.approx((4.5 - half, 4.5 + half), abs=1e-5)


def test_interval_of_mean_shrinks_with_units_and_stays_in_range() -> None:
    few, many = interval_of_mean([0.0, 1.0] * 10), interval_of_mean([0.0, 1.0] * 1000)
    assert many[1] - many[0] < (few[1] - few[0]) / 8
    assert interval_of_mean([0.0, 0.0, 1.0])[0] == 0.0
    assert interval_of_mean([0.5]) == wilson(0.5, 1)
    low, high = interval_of_difference([0.0] * 50)
    assert low < 0 < high


def test_interval_of_ratio_equals_the_t_interval_for_equal_wholes() -> None:
    parts = np.array([1.0, 4.0, 2.0, 2.0])
    assert interval_of_ratio(parts, np.full(4, 2)) == pytest.approx(t_interval(parts / 2))
    assert interval_of_ratio(np.zeros(4), np.array([1, 2, 3, 4])) is None
    assert interval_of_ratio([1.0], [1.0]) is None


def test_intervals_cover_the_mean_as_often_as_stated() -> None:
    rng = np.random.default_rng(5)
    covered = sum(low <= 0.3 <= high for low, high in (interval_of_mean(rng.random(40) < 0.3) for _ in range(1000)))
    assert 0.92 < covered / 1000 < 0.98


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_confidence_out_of_range_raises(confidence: float) -> None:
    with pytest.raises(OptionError, match="confidence"):
        wilson(1, 2, confidence)


@pytest.mark.parametrize("function", [interval_of_mean, interval_of_difference, t_interval])
@pytest.mark.parametrize("samples", [[], 0.5, [[0.5, 0.5]], ["a", "b"], [np.nan, 0.5]])
def test_invalid_samples_raise(function: Any, samples: Any) -> None:
    with pytest.raises(OptionError, match="^samples must be"):
        function(samples)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, np.nan, "high", None, True, 1 - 1e-17])
def test_confidence_that_is_not_between_0_and_1_raises(confidence: Any) -> None:
    with pytest.raises(OptionError, match="^confidence must be"):
        t_interval([0.0, 1.0], confidence)
