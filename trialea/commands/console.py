"""What the commands print with: standard output, standard error, JSON and progress."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

out = Console(markup=False)  # names and texts are shown as they are, whatever brackets they hold
err = Console(markup=False, stderr=True)


def tell(words: str, style: str = "") -> None:
    """A line on standard error, not wrapped: it may hold a path or a command to copy."""
    err.print(words, style=style, highlight=False, soft_wrap=True)


def print_json(data: Any) -> None:
    """Plain data as JSON on standard output."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


LINE_SECONDS = 30.0  # between lines of progress, where standard error is no terminal


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error, told the share of the work that is done; where that is no terminal, lines."""
    if not err.is_terminal:
        yield _lines(label)
        return
    columns = (TextColumn(label), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda done: bar.update(task, completed=done)


def _lines(label: str) -> Callable[[float], None]:
    """Tells the share of the work that is done, and the time left, in a line now and then."""
    told = time.monotonic()
    begun: tuple[float, float] | None = None  # when the work was first heard of, and the share done by then

    def report(done: float) -> None:
        nonlocal told, begun
        now = time.monotonic()
        begun = begun or (now, done)
        if now - told >= LINE_SECONDS and done > begun[1]:
            told = now
            left = (now - begun[0]) * (1 - done) / (done - begun[1])
            tell(f"{label}: {done:.0%}, {timedelta(seconds=round(left))} left")

    return report
