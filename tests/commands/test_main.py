"""Tests of how a command ends: one line on standard error, and an exit status that gives the kind of error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir
from types import ModuleType
from typing import Any

import pytest

from tests.command_line import Cli
from trialea.commands.main import BUG, REFUSED, STOPPED


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `trialea games` raise an error."""

    def names(game: str) -> list[str]:
        raise error

    monkeypatch.setattr("trialea.agents.zoo.names", names)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyError("x"), BUG, "KeyError: 'x'. This is a bug in trialea; please report it. TRIALEA_TRACEBACK=1 shows"),
        (RecursionError("too deep"), BUG, "RecursionError: too deep."),
        (MemoryError("Unable to allocate 8 PiB"), REFUSED, "there is not enough memory: Unable to allocate 8 PiB."),
        (FileNotFoundError(2, "No such file or directory", "a/b"), REFUSED, "a/b: no such file or directory"),
        (OSError("no device"), REFUSED, "no device"),
        (KeyboardInterrupt(), STOPPED, "stopped"),
        (KeyboardInterrupt("stopped; all is kept"), STOPPED, "stopped; all is kept"),
        (ValueError("two\nlines\x1b[31m"), BUG, r"ValueError: two lines\x1b[31m. "),
    ],
)
def test_any_exception_is_printed_on_one_line(
    error: BaseException, code: int, line: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(error, monkeypatch)
    done = cli("games")
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"trialea: {line}") and done.err.count("\n") == 1


def test_long_message_keeps_its_start_and_end(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(ValueError(f"start{'x' * 40_000}"), monkeypatch)
    err = cli("games").err
    assert len(err) < 2100
    assert "ValueError: startx" in err and err.endswith("shows where it is\n")


def test_traceback_is_shown_on_request(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(KeyError("x"), monkeypatch)
    monkeypatch.setenv("TRIALEA_TRACEBACK", "1")
    done = cli("games")
    assert done.code == BUG
    assert "Traceback (most recent call last)" in done.err and "in names" in done.err


def test_ctrl_c_during_imports_is_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "trialea.commands.app", Interrupted("trialea.commands.app"))
    assert cli("games") == (STOPPED, "", "trialea: stopped\n")


@pytest.mark.parametrize(
    ("target", "line", "said"),
    [
        ("trialea.evaluation.evaluate", "evaluate no_dice random greedy", "the games played so far are not kept"),
        ("trialea.evaluation.measures.exact.evaluate_exactly", "exploit no_dice random", "nothing is kept"),
        ("trialea.agents.solve", "solve no_dice", "finished work is kept in"),
        ("trialea.training.run.train", "train demo.yaml", "stopped before the run began"),
        ("trialea.benchmarks.run", "bench aec", "the figures measured so far are lost"),
    ],
)
def test_ctrl_c_message_says_what_is_kept(
    target: str, line: str, said: str, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(target, stop)
    done = cli(*line.split())
    assert (done.code, done.out) == (STOPPED, "")
    assert said in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("evalute", "no such command 'evalute'. Did you mean 'evaluate'? See trialea --help"),
        ("games --jsn", "no such option: --jsn"),
        ("solve no_dcie", "no game is called 'no_dcie'. Did you mean 'no_dice'?"),
        ("solve no_dice --taget 3", "no such option: --taget. Did you mean '--target'?"),
        ("evaluate no_dice random greedy --gmes 3", "no such option: --gmes. Did you mean '--games'?"),
        ("evaluate no_dice random gredy", "Did you mean 'greedy'?"),
        ("evaluate no_dice random zoo:ppo-3p", "Did you mean 'zoo:ppo-2p'?"),
        ("bench solvr", "Did you mean 'solver'?"),
        ("evaluate no_dice random greedy --games many", "invalid value for '--games': Input should be a valid integer"),
        ("solve no_dice --players", "option '--players' requires an argument"),
        ("evaluate no_dice", "missing argument 'AGENT'. See trialea evaluate --help"),
    ],
)
def test_mistyped_command_suggests_the_nearest_name(line: str, said: str, cli: Cli) -> None:
    done = cli(*line.split())
    assert (done.code, done.out) == (REFUSED, "")
    assert done.err.startswith("trialea: ") and done.err.count("\n") == 1
    assert said in done.err


def test_command_without_arguments_prints_help(cli: Cli) -> None:
    done = cli()
    assert (done.code, done.err) == (0, "")
    assert "evaluate" in done.out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_full_output_device_is_a_one_line_error() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "trialea", "games"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=gettempdir()
        )
    assert done.returncode == REFUSED
    assert done.stderr == "trialea: no space left on device\n"
