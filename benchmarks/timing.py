"""Timing for all benchmarks: run two sides alternately and take the median of the ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def rate(work: Callable[[], int]) -> float:
    """Return the units of work per second; `work` returns the number of units it did."""
    began = time.perf_counter()
    units = work()
    return units / (time.perf_counter() - began)


def compare(ours: Callable[[], int], theirs: Callable[[], int], rounds: int) -> tuple[float, float, float]:
    """Return the median ratio of our rate to theirs over `rounds` pairs, and both median rates.

    The two sides of a pair run back to back, so drifting machine speed affects both. A warm-up round comes first and is
    not counted.
    """
    ours(), theirs()
    pairs = [(rate(ours), rate(theirs)) for _ in range(rounds)]
    ratio = statistics.median(a / b for a, b in pairs)
    return ratio, statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)
