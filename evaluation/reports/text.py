"""Figures as text, for reports and for the terminal."""

from __future__ import annotations

from trialea.evaluation.intervals import Interval
from trialea.evaluation.results import RegretUnit, SampleSize

LUCK_SOURCES = {
    "solution": "the exact solution",
    "estimate": "an estimate",
    "given": "your own value function",
}
"""The sources of luck's values in words, by `Evaluation.luck_values`."""


def percent(rate: float) -> str:
    """Return a rate as a percentage with one decimal."""
    return f"{100 * rate:.1f}\N{NO-BREAK SPACE}%".replace("-", "−")


def spread(interval: Interval | None, decimals: int = 1, factor: float = 100.0) -> str:
    """Return an interval, by default of rates and in per cent. None is the interval of results that do not vary."""
    if interval is None:
        return "does not vary"
    low, high = (f"{factor * limit:.{decimals}f}".replace("-", "−") for limit in interval)
    return f"{low} to {high}"


def signed(rate: float) -> str:
    """Return a difference of rates in percentage points."""
    return f"{round(100 * rate, 1) + 0.0:+.1f}".replace("-", "−")  # no minus before a zero


def plain(regret: float) -> str:
    """Return a regret with as many decimals as are useful."""
    return f"{regret:.3f}" if regret < 10 else f"{regret:.1f}"


def worth(value: float, regret_unit: RegretUnit) -> str:
    """Return a value with its unit: wins in per cent, or points."""
    return f"wins {percent(value)}" if regret_unit == "milli-wins" else f"{value:.2f} points to come"


def times(saved: float | None) -> str:
    """Return a factor of games saved; None stands for results that do not vary."""
    if saved is None:
        return "–"
    return f"{saved:.1f} ×" if saved >= 0.05 else "< 0.1 ×"


def games_text(needed: SampleSize) -> str:
    """Return the number of games needed to tell two agents apart."""
    return "no estimate (no difference was seen)" if needed.games is None else f"about {needed.games:,} games"
