"""The command line as tests call it: in this process, or in one of its own."""

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

# Options, as words, that make a game short.
QUICK = {name: words_of(SHORT[name]) for name in GAMES}


class Done(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Done]


def process(*words: Any, stdin: str = "", cwd: Path | None = None) -> Done:
    """Runs `python -m trialea` with some words, warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "trialea", *map(str, words)],
        capture_output=True,
        text=True,
        input=stdin,
        cwd=cwd or gettempdir(),  # not the repository, where a folder has the package's name
        env={**os.environ, "NO_COLOR": "1", "TERM": "dumb"},
    )
    return Done(done.returncode, done.stdout, done.stderr)


def parsed(done: Done) -> Any:
    """The JSON that a command printed on standard output, and nothing else."""
    assert done.code == 0, done.err
    return json.loads(done.out)
