"""How the benchmarks time: the two sides in turn, several times over, and the median of the pairs' ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def rate(work: Callable[[], int]) -> float:
    """Units of work a second, for a piece of work that returns how many units it did."""
    began = time.perf_counter()
    units = work()
    return units / (time.perf_counter() - began)


def compare(ours: Callable[[], int], theirs: Callable[[], int], rounds: int) -> tuple[float, float, float]:
    """The median ratio of our rate to theirs over `rounds` pairs, and both median rates.

    Each pair is measured back to back, so that a machine whose speed drifts slows both sides alike. One uncounted
    round comes first.
    """
    ours(), theirs()
    pairs = [(rate(ours), rate(theirs)) for _ in range(rounds)]
    ratio = statistics.median(a / b for a, b in pairs)
    return ratio, statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)
