"""Print for the person at the terminal: lines, tables, JSON and progress.

Every command prints through this module, so that its output is readable at any width and in any encoding. A command's
result goes to standard output, everything else to standard error.
"""

from __future__ import annotations

import codecs
import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from trialea.envs.compiling import report_compiling
from trialea.envs.files import numbered_folder

# Names and texts are printed unchanged, including brackets and colons.
out = Console(markup=False, emoji=False, highlight=False)
err = Console(markup=False, emoji=False, highlight=False, soft_wrap=True, stderr=True)

MAX_MESSAGE = 2000  # characters of an error or a warning
MAX_WIDTH = 10_000  # wider than any table that could be printed
LINE_SECONDS = 30.0  # seconds between two lines of progress, if standard error is not a terminal


# Encodings ---------------------------------------------------------------------------------------------------------

_SPELLED = {
    "┌┐└┘├┤┬┴┼┏┓┗┛┡┩┳┻╇╈": "+",
    "─━–—−": "-",
    "│┃": "|",
    "·∶": ".",
    "█■": "#",
    "★": "*",
    "▶": ">",
    "×": "x",
    "÷": "/",
    "√": "sqrt ",
    "…": "...",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "\u2018\u2019": "'",
    "“”": '"',
}
_IN_ASCII = str.maketrans({character: spelled for several, spelled in _SPELLED.items() for character in several})


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks by readable ASCII; an error handler for `codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_in_ascii, error.object[error.start : error.end])), error.end


def _in_ascii(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte of a path that is not valid in the encoding of the file system
        return f"\\x{ord(character) - 0xDC00:02x}"
    spelled = unicodedata.normalize("NFKD", character.translate(_IN_ASCII))
    return spelled.encode("ascii", "ignore").decode() or character.encode("ascii", "backslashreplace").decode()


codecs.register_error("trialea", _spell)


def accept_any_text() -> None:
    """Make standard input and output accept every text, whatever their encoding."""
    for stream, errors in ((sys.stdin, "backslashreplace"), (sys.stdout, "trialea"), (sys.stderr, "trialea")):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=errors)


def on_one_line(text: str) -> str:
    """Return a text as one line, shortened if it is very long, with control characters escaped."""
    line = "".join(map(_visible, " ".join(text.splitlines())))
    return line if len(line) <= MAX_MESSAGE else f"{line[: MAX_MESSAGE - 300]} … {line[-300:]}"


def _visible(character: str) -> str:
    if character.isprintable() or "\udc80" <= character <= "\udcff":
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


@contextmanager
def when_stopped(message: str) -> Iterator[None]:
    """Add to Ctrl-C what is kept and how to continue, unless the stopped function has already done so."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(str(stop) or message) from None


# Lines and tables --------------------------------------------------------------------------------------------------


def tell(words: str, style: str = "") -> None:
    """Print a line on standard error. It is not wrapped, since it may hold a path or a command to copy."""
    err.print(words, style=style)


@contextmanager
def run_folder(chosen: str, name: str) -> Iterator[Path]:
    """Yield the given folder; without one, the first free folder of runs/name-1, runs/name-2 and so on."""
    if chosen:
        yield Path(chosen)
        return
    with numbered_folder("runs", name) as folder:
        yield folder


def print_json(data: Any) -> None:
    """Print plain data as JSON on standard output, in UTF-8 whatever the encoding of the terminal."""
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # standard output is closed, or was replaced by a text stream
        print(text, end="")
        return
    sys.stdout.flush()
    binary.write(text.encode("utf-8", "backslashreplace"))  # this escape of a lone surrogate is valid JSON, too
    binary.flush()


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print a table. If it is wider than the terminal, print each row as a list instead, so that nothing is cut.

    The first column has the names of the rows. Headings may have line breaks.
    """
    table, listed = Table(*columns), list(rows)
    for row in listed:
        table.add_row(*row)
    if title:
        out.print(title, style="italic")
    if Measurement.get(out, out.options.update_width(MAX_WIDTH), table).maximum <= out.width:
        out.print(table)
        return
    for row in listed:
        first, *others = (column.replace("\n", " ") for column in columns)
        out.print(f"{first} {row[0]}".strip(), style="bold", soft_wrap=True)
        show_record(zip(others, row[1:], strict=True), indent=2)


def show_record(items: Iterable[tuple[str, str]], indent: int = 0) -> None:
    """Print names and values below each other; a value may have several lines."""
    pairs = list(items)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        for number, line in enumerate(value.split("\n")):
            out.print(f"{'':{indent}}{name if number == 0 else '':{width}}  {line}".rstrip(), soft_wrap=True)


@contextmanager
def telling_of_compiling() -> Iterator[None]:
    """Print once, on a terminal, that code is being compiled, since nothing else happens meanwhile."""
    told = not err.is_terminal

    def tell_once() -> None:
        nonlocal told
        if not told:
            told = True
            tell("compiling, at the first use only …", "dim")

    with report_compiling(tell_once):
        yield


# Progress ----------------------------------------------------------------------------------------------------------


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None]]:
    """Show progress on standard error: a bar on a terminal, elsewhere a line now and then.

    Yields:
        A function to call with the share of the work that is done, from 0 to 1.
    """
    if not err.is_terminal:
        yield _lines(label)
        return
    columns = (TextColumn(label), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda done: bar.update(task, completed=done)


def _lines(label: str) -> Callable[[float], None]:
    """Return a function that now and then prints a line with the share of the work done and the time left."""
    last = time.monotonic()
    begun: tuple[float, float] | None = None  # the time of the first call, and the share done by then

    def report(done: float) -> None:
        nonlocal last, begun
        now = time.monotonic()
        begun = begun or (now, done)
        if now - last >= LINE_SECONDS and done > begun[1]:
            last = now
            left = (now - begun[0]) * (1 - done) / (done - begun[1])
            tell(f"{label}: {done:.0%}, {timedelta(seconds=round(left))} left")

    return report
