"""Tests of commands killed at any moment: no process stays, and the next call continues to the same result."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pytest
import yaml

from trialea.evaluation.reports.report import read_metrics

pytestmark = [
    pytest.mark.slow,  # every call is a process that is killed several times
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds the processes left behind in /proc"),
]
KILLS = 5
MARK = "TRIALEA_TEST_MARK"  # set in the environment of a command's processes

TRAINING: dict[str, Any] = {
    "game": "no_dice",
    "options": {"target": 8},
    "threads": 1,
    "frames": 8192,
    "opponents": {"random": 0.5, "past": 0.5},
    "checkpoints": 8,
    "ppo": {"environments": 32, "n_steps": 16, "batch_size": 128, "n_epochs": 1, "net_arch": [16]},
    "measure": {"times": 4, "games": 20, "opponents": ["random"]},
}
TOURNAMENT: dict[str, Any] = {
    "game": "no_dice",
    "options": {"target": 8},
    "agents": ["random", "greedy", "solver"],
    "games": 600,
    "block": 100,
    "workers": 2,
    "resamples": 100,
}
TUNING: dict[str, Any] = {
    "study": "some",
    "base": "train.yaml",
    "space": {"ppo.n_epochs": {"low": 1, "high": 3}, "ppo.net_arch": [[16], [16, 16]]},
    "trials": 3,
    "startup": 1,
    "pruner": "none",
}


class Command(NamedTuple):
    """A command, the command that continues it, and a function that returns its result as plain data."""

    begin: Sequence[str]
    resume: Sequence[str]
    result: Callable[[Path], Any]


def weights_of(model: Path) -> str:
    """Return a digest of a model's weights."""
    with zipfile.ZipFile(model) as archive:
        return hashlib.sha256(archive.read("policy.pth")).hexdigest()


def trained(folder: Path) -> Any:
    """Return the result of a training."""
    kept = [{key: value for key, value in line.items() if key != "seconds"} for line in read_metrics(folder / "run")]
    return weights_of(folder / "run" / "model.zip"), kept


def solved(folder: Path) -> Any:
    """Return the digests of the solver's tables."""
    tables = {}
    for path in sorted((folder / "cache").glob("*.npz")):
        with np.load(path) as stored:
            tables[path.name] = hashlib.sha256(stored["array"].tobytes()).hexdigest()
    assert not list((folder / "cache").glob("*.parts")), "the parts of finished tables are deleted"
    return tables


def tuned(folder: Path) -> Any:
    """Return the result of a search."""
    best = yaml.safe_load((folder / "study" / "best.yaml").read_text())
    return best, sorted(map(weights_of, (folder / "study").glob("*/model.zip")))


COMMANDS = {
    "train": Command(["train", "train.yaml", "--out", "run"], ["train", "--resume", "run"], trained),
    "tournament": Command(
        ["tournament", "tournament.yaml", "--out", "run"],
        ["tournament", "--resume", "run"],
        lambda folder: json.loads((folder / "run" / "results.json").read_text()),
    ),
    "solve": Command(*[["solve", "no_dice", "--players", "3", "--target", "24"]] * 2, solved),
    "tune": Command(*[["tune", "tune.yaml", "--out", "study"]] * 2, tuned),
    "report": Command(
        *[["evaluate", "no_dice", "greedy", "random", "--target", "8", "--games", "400", "--report", "r.html"]] * 2,
        lambda folder: (folder / "r.html").read_text(),
    ),
}


def begin(words: Sequence[str], folder: Path, mark: str = "") -> subprocess.Popen[str]:
    """Start a command in a folder, with a cache folder inside it."""
    environment = {**os.environ, MARK: mark, "TRIALEA_CACHE_DIR": str(folder / "cache"), "COLUMNS": "200"}
    with (folder / "log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "trialea", *words],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=log,
            text=True,
        )


def finish(words: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a command to its end; return its exit status and standard error."""
    (folder / "log").write_text("")
    status = begin(words, folder).wait(300)
    return status, (folder / "log").read_text()


def left_behind(mark: str) -> list[str]:
    """Return the command lines of the processes that have this mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_text().replace("\0", " "))
        except OSError:  # the process has ended, or belongs to another user
            continue
    return [words for words in found if words]


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_command_leaves_no_process_and_continues_exactly(name: str, tmp_path: Path) -> None:
    command = COMMANDS[name]
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    for folder in (undisturbed, killed):
        folder.mkdir()
        for file, content in (("train", TRAINING), ("tournament", TOURNAMENT), ("tune", TUNING)):
            (folder / f"{file}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    began = time.monotonic()
    status, said = finish(command.begin, undisturbed)
    seconds = time.monotonic() - began
    assert status == 0, said

    words = command.begin
    for kill in range(KILLS):
        mark = uuid4().hex
        process = begin(words, killed, mark)
        # Each kill comes later than the one before, to cover all stages of the work.
        time.sleep(seconds * (kill + 1) / KILLS * 0.9)
        process.kill()
        process.wait()
        ends = time.monotonic() + 5
        while left := left_behind(mark):
            assert time.monotonic() < ends, left
            time.sleep(0.1)
        if (killed / "run" / "config.yaml").exists():
            words = command.resume

    status, said = finish(words, killed)
    if "is complete: there is nothing to resume" not in said:
        assert status == 0, said
    assert command.result(killed) == command.result(undisturbed)
    assert not [path for path in killed.rglob(".*") if path.name.startswith(".writing-")]
