"""Confidence intervals, each computed from the units that were actually played.

A *unit* is what is independent of the rest: a game, or all the games that share their dice. Nothing here
assumes a number of units or a spread: both are read from the samples.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from trialea.envs.errors import OptionError

Interval = tuple[float, float]
"""The lower and the upper limit."""

_SAME = 1e-9  # samples closer together than this show no spread


def check_confidence(confidence: float) -> float:
    """`confidence` if it lies between 0 and 1, else an `OptionError`."""
    if not 0.0 < confidence < 1.0:
        raise OptionError(f"confidence must lie between 0 and 1, not {confidence!r}")
    return confidence


def wilson(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion.

    It keeps a width at 0 and at n successes. Source: E. B. Wilson, "Probable inference, the law of
    succession, and statistical inference", Journal of the American Statistical Association 22 (1927).

    Args:
        successes: from 0 to n; shared wins may make it a fraction.
        n: how many trials, at least 1.
        confidence: the share of such intervals that cover the true proportion.
    """
    if n < 1 or not -_SAME <= successes <= n + _SAME:
        raise OptionError(f"needs at least one trial and from 0 to n successes, not {successes!r} of {n!r}")
    z = NormalDist().inv_cdf(0.5 + check_confidence(confidence) / 2)
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(max(0.0, p * (1 - p) / n + z * z / (4 * n * n))))
    # Exactly, where rounding would only come near.
    return 0.0 if successes <= 0 else centre - half, 1.0 if successes >= n else centre + half


def t_quantile(n: int, confidence: float = 0.95) -> float:
    """How many standard errors the t interval of a mean of n samples reaches to each side: 2.262 for ten."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.5 + check_confidence(confidence) / 2))


def t_interval(samples: ArrayLike, confidence: float = 0.95) -> Interval:
    """Student's t interval for the mean of independent `samples` (n,), at least two of them."""
    x = np.asarray(samples, np.float64)
    if x.ndim != 1 or len(x) < 2:
        raise OptionError(f"a t interval needs at least two samples in one row, not an array of shape {x.shape}")
    if not np.isfinite(x).all():
        raise OptionError("a t interval needs samples that are finite numbers")
    mean = float(x.mean())
    half = t_quantile(len(x), confidence) * float(x.std(ddof=1)) / float(np.sqrt(len(x)))
    return mean - half, mean + half


def has_spread(samples: ArrayLike) -> bool:
    """Whether the `samples` (n,) differ by more than rounding does; a single one does not."""
    return float(np.ptp(np.asarray(samples, np.float64))) >= _SAME


def interval_of_mean(samples: ArrayLike, confidence: float = 0.95) -> Interval:
    """An interval for the mean of independent `samples` (n,), each from 0 to 1, that never loses its width.

    The t interval, cut off at 0 and 1. Where every unit gave the same it would have no width and say nothing;
    then Wilson's interval over the number of units, which grows narrow only as units are added.
    """
    x = np.asarray(samples, np.float64)
    if not has_spread(x):
        return wilson(float(x.sum()), len(x), confidence)
    low, high = t_interval(x, confidence)
    return max(0.0, low), min(1.0, high)


def interval_of_difference(samples: ArrayLike, confidence: float = 0.95) -> Interval:
    """`interval_of_mean` for samples from -1 to 1, such as the paired differences of two shares."""
    low, high = interval_of_mean((np.asarray(samples, np.float64) + 1.0) / 2.0, confidence)
    return 2.0 * low - 1.0, 2.0 * high - 1.0


def interval_of_ratio(parts: ArrayLike, wholes: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """A t interval for sum(parts) / sum(wholes), where unit i brings parts[i] and wholes[i] (each (n,)).

    The usual ratio estimator: its error is that of the mean of parts - ratio × wholes, so what happens inside
    one unit may hang together as it likes. None where there are fewer than two units or they show no spread.
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
