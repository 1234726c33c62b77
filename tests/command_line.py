"""Helpers that run the command line, in this process or in a new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

from tests.helpers import SHORT, words_of
from trialea import GAMES

# Command-line arguments that make a game short.
QUICK = {name: words_of(SHORT[name]) for name in GAMES}


class Done(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Cli = Callable[..., Done]


def process(*words: Any, stdin: str = "", cwd: Path | None = None) -> Done:
    """Run `python -m trialea` with the given arguments in a new process, with warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "trialea", *map(str, words)],
        capture_output=True,
        text=True,
        input=stdin,
        cwd=cwd or gettempdir(),  # outside the repository, which has a folder with the package's name
        env={**os.environ, "NO_COLOR": "1", "TERM": "dumb"},
    )
    return Done(done.returncode, done.stdout, done.stderr)


def parsed(done: Done) -> Any:
    """Return the JSON that a successful command printed to standard output."""
    assert done.code == 0, done.err
    return json.loads(done.out)
