"""Let a program say that machine code is being compiled: this takes seconds, but only at the first use.

The module is separate from `trialea.envs.jit` so that a program can ask for this without importing numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_reports: list[Callable[[], None]] = []


@contextmanager
def report_compiling(report: Callable[[], None]) -> Iterator[None]:
    """Call `report` each time a function is about to be compiled. Code that is found on disk is not reported."""
    _reports.append(report)
    try:
        yield
    finally:
        _reports.remove(report)


def say_compiling() -> None:
    """Tell everybody who asked that a function is about to be compiled."""
    for report in _reports:
        report()
