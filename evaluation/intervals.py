"""Confidence intervals, computed over independent units.

A *unit* is independent of all others: a game, or all the games that share their dice. Nothing here assumes a number of
units or a spread; both are read from the samples.
"""

from __future__ import annotations

from math import isfinite, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trialea.envs.errors import OptionError

Interval = tuple[float, float]
"""The lower and the upper limit."""

_SAME = 1e-9  # samples closer together than this show no spread


def finite_number(name: str, value: Any) -> float:
    """Return `value`, an argument called `name`, as a float, or raise `OptionError` if it is not a finite number."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not isfinite(value):
        raise OptionError(f"{name} must be a finite number, got {value!r}")
    return float(value)


def check_confidence(confidence: float) -> float:
    """Return `confidence`, or raise `OptionError` if it is not between 0 and 1."""
    if not 0.5 < 0.5 + finite_number("confidence", confidence) / 2 < 1.0:  # as it is used, after rounding
        raise OptionError(f"confidence must be between 0 and 1, got {confidence!r}")
    return confidence


def wilson(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval for a proportion.

    It has a width even at 0 and at n successes. Source: E. B. Wilson, "Probable inference, the law of succession, and
    statistical inference", Journal of the American Statistical Association 22 (1927).

    Args:
        successes: from 0 to n; shared wins may make it a fraction.
        n: the number of trials, at least 1.
        confidence: the share of such intervals that contain the true proportion, between 0 and 1.

    Raises:
        OptionError: a number out of range.
    """
    successes, trials = finite_number("successes", successes), finite_number("n", n)
    if trials < 1:
        raise OptionError(f"n must be at least 1, got {n!r}")
    if not -_SAME <= successes <= trials + _SAME:
        raise OptionError(f"successes must be from 0 to n = {n}, got {successes!r}")
    z = NormalDist().inv_cdf(0.5 + check_confidence(confidence) / 2)
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(max(0.0, p * (1 - p) / n + z * z / (4 * n * n)))
    # The ends are exact, where rounding would only come close.
    return 0.0 if successes <= 0 else centre - half, 1.0 if successes >= n else centre + half


def t_quantile(n: int, confidence: float = 0.95) -> float:
    """Return the half-width of the t interval of a mean of n samples, in standard errors: 2.262 for ten at 95 %."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.5 + check_confidence(confidence) / 2))


def t_interval(samples: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Student's t interval for the mean of independent `samples` (n,), at least two.

    Raises:
        OptionError: fewer samples, more than one dimension, or samples that are not finite.
    """
    x = _checked(samples, 2)
    mean = float(x.mean())
    half = t_quantile(len(x), confidence) * float(x.std(ddof=1)) / sqrt(len(x))
    return mean - half, mean + half


def has_spread(samples: ArrayLike) -> bool:
    """Return whether the `samples` (n,) differ by more than rounding. A single sample has no spread."""
    return float(np.ptp(np.asarray(samples, np.float64))) >= _SAME


def interval_of_mean(samples: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return an interval for the mean of independent `samples` (n,), each from 0 to 1, that always has a width.

    It is the t interval, cut off at 0 and 1. If all samples are equal, the t interval has no width. Then it is Wilson's
    interval over the number of samples, which narrows only as samples are added.

    Raises:
        OptionError: no samples, more than one dimension, or samples that are not from 0 to 1.
    """
    x = _checked(samples, 1)
    if not -_SAME <= x.min() <= x.max() <= 1.0 + _SAME:
        raise OptionError(f"samples must be from 0 to 1, got {x.min()!r} to {x.max()!r}. Use t_interval")
    if not has_spread(x):
        return wilson(float(x.sum()), len(x), confidence)
    low, high = t_interval(x, confidence)
    return max(0.0, low), min(1.0, high)


def interval_of_difference(samples: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return `interval_of_mean` for samples from -1 to 1, such as the paired differences of two shares."""
    low, high = interval_of_mean((_checked(samples, 1) + 1.0) / 2.0, confidence)
    return 2.0 * low - 1.0, 2.0 * high - 1.0


def interval_of_ratio(parts: ArrayLike, wholes: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Return a t interval for sum(parts) / sum(wholes), where unit i has parts[i] and wholes[i], each (n,).

    This is the usual ratio estimator. Its error is that of the mean of parts - ratio × wholes, so the events inside a
    unit may depend on each other. None if there are fewer than two units or they show no spread.
    """
    p, w = np.asarray(parts, np.float64), np.asarray(wholes, np.float64)
    if len(w) < 2 or not w.sum() > 0:
        return None
    ratio = float(p.sum() / w.sum())
    residuals = (p - ratio * w) / w.mean()
    if float(np.ptp(residuals)) < _SAME * max(1.0, abs(ratio)):
        return None
    low, high = t_interval(residuals, confidence)
    return ratio + low, ratio + high


def _checked(samples: ArrayLike, least: int) -> NDArray[np.float64]:
    """Return `samples` as an array (n,), or raise `OptionError` unless it holds at least `least` finite numbers."""
    try:
        x = np.asarray(samples, np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"samples must be numbers: {error}") from error
    if x.ndim != 1 or len(x) < least:
        raise OptionError(f"samples must be at least {least} in one dimension, got an array of shape {x.shape}")
    if not np.isfinite(x).all():
        raise OptionError(f"samples must be finite, got {x[~np.isfinite(x)][0]!r}")
    return x
