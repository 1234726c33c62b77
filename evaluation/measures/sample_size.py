"""Sample size: the number of games needed to tell two agents apart, given a difference and its spread.

`units_needed` and `games_needed` take the two numbers; `from_pilot` takes a match's differences.
"""

from __future__ import annotations

from math import floor, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from trialea.envs.checks import whole_number
from trialea.envs.errors import OptionError
from trialea.evaluation.intervals import (
    check_confidence,
    finite_number,
    has_spread,
    interval_of_difference,
    t_interval,
    t_quantile,
)
from trialea.evaluation.results import GamesNeeded, SampleSize

POWER = 0.8
_MOST_RATIO = 1e15  # of spread to difference: beyond it the number of units has no meaning


def units_needed(difference: float, sd: float, confidence: float = 0.95, power: float = POWER) -> int | None:
    """Return the number of units after which the t interval of a mean difference excludes 0 with probability `power`.

    This is the power analysis of a paired t test: the least n >= 2 with
    sqrt(n) |difference| / sd >= t(n - 1, confidence) + t(n - 1, power).

    Args:
        difference: the true difference between the two agents' results in a unit.
        sd: the standard deviation of that difference over units, at least 0.
        confidence: of the interval, between 0 and 1.
        power: between 0.5 and 1.

    Returns:
        The number; None if the difference is 0.

    Raises:
        OptionError: a number out of range.
    """
    check_confidence(confidence)
    difference, sd, power = (
        finite_number(name, value) for name, value in (("difference", difference), ("sd", sd), ("power", power))
    )
    if not 0.5 < power < 1.0:
        raise OptionError(f"power must be between 0.5 and 1, got {power!r}")
    if sd < 0.0:
        raise OptionError(f"sd must be at least 0, got {sd!r}")
    if difference == 0.0:
        return None
    normal = NormalDist().inv_cdf(0.5 + confidence / 2) + NormalDist().inv_cdf(power)
    ratio = normal * sd / abs(difference)
    if ratio > _MOST_RATIO:
        raise OptionError(
            f"difference must be at least {normal * sd / _MOST_RATIO:.3g} for this sd, got {difference!r}"
        )
    units = max(2, floor(ratio**2))
    while sqrt(units) * abs(difference) < sd * (t_quantile(units, confidence) + t_quantile(units, 2 * power - 1)):
        units += 1
    return units


def games_needed(
    difference: float, sd: float, games_per_unit: int = 1, confidence: float = 0.95, power: float = POWER
) -> int | None:
    """Return `units_needed` in games.

    Args:
        difference, sd, confidence, power: as for `units_needed`. With duplicate dice a unit is a seed, so `sd` is the
            standard deviation over seeds.
        games_per_unit: games in a unit, at least 1: with duplicate dice the number of seatings.

    Raises:
        OptionError: a number out of range.
    """
    games_per_unit = whole_number("games_per_unit", games_per_unit, 1, 10**9)
    units = units_needed(difference, sd, confidence, power)
    return None if units is None else units * games_per_unit


def from_pilot(
    agents: tuple[str, str],
    differences: NDArray[np.float64],
    games_per_unit: int,
    confidence: float = 0.95,
    power: float = POWER,
    adjusted: NDArray[np.float64] | None = None,
) -> GamesNeeded:
    """Return the number of games needed according to a pilot.

    Args:
        agents: the two agents.
        differences: (U,) the difference between their results in each unit, from -1 to 1.
        games_per_unit: games in a unit.
        confidence, power: as for `units_needed`.
        adjusted: (U,) the differences without luck, of any size; None if luck was not measured.
    """
    raw = _needed(differences, games_per_unit, confidence, power, bounded=True)
    if adjusted is None:
        return GamesNeeded(agents, _mean(differences), confidence, power, raw)
    needed = _needed(adjusted, games_per_unit, confidence, power, bounded=False)
    return GamesNeeded(agents, _mean(differences), confidence, power, raw, _mean(adjusted), needed)


def _mean(differences: NDArray[np.float64]) -> float:
    return round(float(differences.mean()), 12)  # a difference that is only rounding counts as 0


def _needed(
    differences: NDArray[np.float64], games_per_unit: int, confidence: float, power: float, bounded: bool
) -> SampleSize:
    """Return the sample size for some differences (U,); `bounded` if each is from -1 to 1."""
    mean = _mean(differences)
    if len(differences) < 2:
        return SampleSize(None, None, None, (None, None))
    sd = float(differences.std(ddof=1)) if has_spread(differences) else 0.0

    def units_for(difference: float) -> int | None:
        if sd > 0.0 or difference == 0.0 or not bounded:
            return units_needed(difference, sd, confidence, power)
        # All units are equal, so Wilson's interval replaces the t interval. From here on it excludes 0.
        return max(2, floor((NormalDist().inv_cdf(0.5 + confidence / 2) / difference) ** 2) + 1)

    low, high = (interval_of_difference if bounded else t_interval)(differences, confidence)
    near, far = sorted((low, high), key=abs)
    ends = [units_for(far), units_for(near) if low > 0.0 or high < 0.0 else None]
    units = units_for(mean)
    if units is None:
        ends = [None, None]
    games, least, most = (None if n is None else n * games_per_unit for n in (units, *ends))
    return SampleSize(sd, units, games, (least, most))
