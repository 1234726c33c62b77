"""How many games it takes to tell two agents apart, from the spread that a pilot showed."""

from __future__ import annotations

from math import floor, inf, isfinite, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import OptionError, whole_number
from trialea.evaluation.intervals import check_confidence, has_spread, interval_of_difference, t_interval, t_quantile
from trialea.evaluation.results import GamesNeeded, Needed

POWER = 0.8


def units_needed(difference: float, sd: float, confidence: float = 0.95, power: float = POWER) -> int | None:
    """How many units make the t interval of a mean difference leave out 0 with probability `power`.

    The usual figure of power analysis, with Student's t for the normal distribution: the least n of at least 2 with
    sqrt(n) |difference| / sd >= t(n - 1, confidence) + t(n - 1, power).

    Args:
        difference: the true difference between the two agents' results in a unit.
        sd: the standard deviation of that difference over units, at least 0.
        confidence: of the interval.
        power: from 0.5 to 1.

    Returns:
        The number; None where the difference is 0, which no number of games tells apart.
    """
    check_confidence(confidence)
    if not 0.5 < power < 1.0:
        raise OptionError(f"power must lie between 0.5 and 1, not {power!r}")
    if not isfinite(difference):
        raise OptionError(f"difference must be a number, not {difference!r}")
    if not 0.0 <= sd < inf:
        raise OptionError(f"sd must be a number of at least 0, not {sd!r}")
    if difference == 0.0:
        return None
    normal = NormalDist().inv_cdf(0.5 + confidence / 2) + NormalDist().inv_cdf(power)
    units = max(2, floor((normal * sd / difference) ** 2))
    while sqrt(units) * abs(difference) < sd * (t_quantile(units, confidence) + t_quantile(units, 2 * power - 1)):
        units += 1
    return units


def games_needed(
    difference: float, sd: float, games_per_unit: int = 1, confidence: float = 0.95, power: float = POWER
) -> int | None:
    """`units_needed` in games: how many games tell apart two agents whose results differ by so much.

    With duplicate dice a unit is a seed, played once in each of the `games_per_unit` seatings, at least 1; `sd` is then
    over seeds.
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
    """What a pilot says about the games needed: its differences (U,), one for each unit and each from -1 to 1.

    `adjusted` are the same without luck, with no limits to them, where luck was measured.
    """
    raw = _needed(differences, games_per_unit, confidence, power, bounded=True)
    if adjusted is None:
        return GamesNeeded(agents, _mean(differences), confidence, power, raw)
    needed = _needed(adjusted, games_per_unit, confidence, power, bounded=False)
    return GamesNeeded(agents, _mean(differences), confidence, power, raw, _mean(adjusted), needed)


def _mean(differences: NDArray[np.float64]) -> float:
    return round(float(differences.mean()), 12)  # so that none is exactly 0


def _needed(
    differences: NDArray[np.float64], games_per_unit: int, confidence: float, power: float, bounded: bool
) -> Needed:
    """What one way of counting needs; `bounded` says whether its differences are from -1 to 1."""
    mean = _mean(differences)
    if len(differences) < 2:
        return Needed(None, None, None, (None, None))
    sd = float(differences.std(ddof=1)) if has_spread(differences) else 0.0

    def units_for(difference: float) -> int | None:
        if sd > 0.0 or difference == 0.0 or not bounded:
            return units_needed(difference, sd, confidence, power)
        # Every unit gave the same, so that Wilson's interval stands for the t interval; it leaves out 0 from here on.
        return max(2, floor((NormalDist().inv_cdf(0.5 + confidence / 2) / difference) ** 2) + 1)

    low, high = (interval_of_difference if bounded else t_interval)(differences, confidence)
    near, far = sorted((low, high), key=abs)
    ends = [units_for(far), units_for(near) if low > 0.0 or high < 0.0 else None]
    units = units_for(mean)
    if units is None:
        ends = [None, None]
    games, least, most = (None if n is None else n * games_per_unit for n in (units, *ends))
    return Needed(sd, units, games, (least, most))
