"""No command line and no file ends a command in a traceback, a hang or a destroyed file.

Each example runs one command in this process, in a folder of good and damaged files. Work that takes long is cut short
by an alarm; it must have shown its progress by then.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.command_line import Cli, Done
from tests.commands.fuzzing import TOURNAMENT, TRAIN, Example, World, examples, make_pristine
from tests.helpers import SHORT, VARIANTS, game_of, rival_of, words_of
from trialea import GAMES, make_agent
from trialea.commands import console
from trialea.commands.main import REFUSED, STOPPED

pytestmark = pytest.mark.filterwarnings("default::UserWarning")  # such as that a table is damaged

SECONDS = 5.0  # that a command may take before it is cut short


Capture = pytest.CaptureFixture[str]


class TooLong(BaseException):
    """The command is still running."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    from trialea.evaluation.tournaments.config import TournamentConfig
    from trialea.evaluation.tournaments.tournament import run_tournament
    from trialea.training.config import TrainConfig
    from trialea.training.run import train

    folder = tmp_path_factory.mktemp("fuzz")
    config = TrainConfig(**TRAIN)
    train(config, folder / "run", progress=False)
    train(config, folder / "stopped", progress=False)
    (folder / "stopped" / "model.zip").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIALEA_CACHE_DIR", str(folder / "cache"))
        run_tournament(TournamentConfig(**TOURNAMENT), folder / "tournament")
        for name in GAMES:
            make_agent("solver", game_of(name, **SHORT[name]))
    (folder / "pristine").mkdir()
    make_pristine(folder / "pristine", folder / "run", folder / "stopped", folder / "tournament", folder / "cache")
    return World(folder / "pristine", folder / "work")


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bool]]:
    """Cut long work short, and remember whether it has shown progress."""
    from trialea.benchmarks import BENCHMARKS

    seen: dict[str, bool] = {}

    def _learn(self: Any, *args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    def _alarm(*_: Any) -> None:
        raise TooLong

    def _lines(label: str) -> Any:
        seen["progress"] = True
        return lambda done: None

    for name in BENCHMARKS:
        monkeypatch.setitem(BENCHMARKS, name, lambda game: {"ratio": 1.0})
    monkeypatch.setattr("sb3_contrib.MaskablePPO.learn", _learn)
    monkeypatch.setattr(console, "_lines", _lines)
    before = signal.signal(signal.SIGALRM, _alarm)
    yield seen
    signal.signal(signal.SIGALRM, before)


def check(
    example: Example, cli: Cli, world: World, seen: dict[str, bool], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> str:
    """Run one example, check how it ends, and return how."""
    world.write(example.config)
    seen.clear()
    with monkeypatch.context() as patch:
        patch.chdir(world.folder)
        patch.setenv("TRIALEA_CACHE_DIR", example.cache)
        patch.setenv("COLUMNS", str(example.columns))
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            done = cli(*example.words, stdin=example.stdin)
        except TooLong:
            printed = "".join(capsys.readouterr())
            assert seen.get("progress") or printed, f"{example.words} runs on in silence"
            done = Done(0, "", "")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    complaints = [line for line in done.err.splitlines() if line.startswith("trialea: ") and "warning: " not in line]
    assert "Traceback" not in done.err + done.out
    assert done.code in (0, REFUSED, STOPPED), done
    assert len(complaints) == (done.code != 0), done
    if done.code == REFUSED:
        assert "not enough memory" not in done.err
        assert done.err.endswith("\n") and len(complaints[0]) < 3000
    if done.code == 0 and "--json" in example.words and "--help" not in example.words and done.out:
        json.loads(done.out)
    world.check(example.words)
    return {0: "done", REFUSED: "refused", STOPPED: "stopped"}[done.code]


relaxed = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


def compile_all(cli: Cli) -> None:
    """Compile what the examples call, which the alarm must not interrupt."""
    for name in GAMES:
        short = words_of(SHORT[name])
        cli("play", name, "--hints", *short, stdin="q\n")
        cli("evaluate", name, "random", rival_of(name), "--games", 2, *short)
        cli("solve", name, *words_of(VARIANTS[name][-1] if name == "poker_figures" else SHORT[name]))
        cli("exploit", name, "random", *short)


def fuzz(
    count: int, cli: Cli, world: World, bounded: dict[str, bool], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> Counter[str]:
    ends: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        patch.setenv("TRIALEA_CACHE_DIR", str(world.pristine.parent / "new-cache"))
        compile_all(cli)

    @settings(relaxed, max_examples=count)
    @given(examples())
    def run(example: Example) -> None:
        ends[check(example, cli, world, bounded, monkeypatch, capsys)] += 1

    run()
    return ends


def test_every_command_line_is_done_or_refused_in_one_line(
    cli: Cli, world: World, bounded: dict[str, bool], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    ends = fuzz(300, cli, world, bounded, monkeypatch, capsys)
    assert ends["done"] > 30 and ends["refused"] > 100


@pytest.mark.slow
def test_thousands_of_command_lines_are_done_or_refused_in_one_line(
    cli: Cli, world: World, bounded: dict[str, bool], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    fuzz(5000, cli, world, bounded, monkeypatch, capsys)
