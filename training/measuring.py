"""Helpers of all running trainings: schedules, the progress bar, measurements, and stopping by Ctrl-C."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from trialea.envs.agent import Agent
from trialea.evaluation import evaluate
from trialea.training.config import RunConfig


class EvenlySpaced:
    """Moments spread evenly over a run. The run queries them as it proceeds.

    Args:
        times: the number of moments, the last at the end of the run.
        total: the length of the run.
        already: the finished part of the run; earlier moments have passed.
    """

    def __init__(self, times: int, total: int, already: int) -> None:
        self._gap = total / times
        self._passed = int(already / self._gap)

    def due(self, done: int) -> bool:
        """Return whether a moment has come since the last call, now that `done` of the run is over."""
        passed = int(done / self._gap)
        if passed == self._passed:
            return False
        self._passed = passed
        return True


class TrainingBar:
    """A progress bar on standard error; if that is not a terminal, a line for each measurement.

    Args:
        unit: the unit of a run's length, `"frames"` or `"games"`.
        total: the run's length.
        done: the finished part of the run.
        shown: whether to show anything.
    """

    def __init__(self, unit: str, total: int, done: int, shown: bool) -> None:
        self._unit, self._before, self._latest = unit, done, ""
        self._bar = Progress(
            TextColumn(f"{{task.completed:,.0f}} {unit}"),
            BarColumn(),
            TextColumn("{task.fields[rate]:,.0f}/s  {task.fields[latest]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not shown,
        )
        self._task = self._bar.add_task("training", total=total, completed=done, rate=0.0, latest="")
        self._began = time.perf_counter()

    def __enter__(self) -> TrainingBar:
        self._bar.start()
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def measured(self, done: int, found: dict[str, Any]) -> None:
        """Show a measurement, made when `done` of the run was over."""
        self._latest = in_short(found)
        if not self._bar.disable and not self._bar.console.is_terminal:
            self._bar.console.print(f"{done:,.0f} {self._unit}  {self._latest}", highlight=False, soft_wrap=True)
        self.update(done)

    def update(self, done: int) -> None:
        """Show that `done` of the run is over."""
        rate = (done - self._before) / max(time.perf_counter() - self._began, 1e-9)
        self._bar.update(self._task, completed=done, rate=rate, latest=self._latest)


def measure_agents(agents: Sequence[Agent], config: RunConfig) -> dict[str, Any]:
    """Return an agent's results against the opponents of a configuration, by the names of `metrics.jsonl`.

    Args:
        agents: the agent, once for each game of the configuration. With several games, names begin with the number of
            players, such as `3p/regret`.
        config: the configuration.
    """
    found: dict[str, Any] = {}
    games = config.make_games()
    for agent, game in zip(agents, games, strict=True):
        begin = f"{game.num_players}p/" if len(games) > 1 else ""
        for opponent in config.measure.opponents:
            players: list[Agent | str] = [agent, *[opponent] * (game.num_players - 1)]
            result = evaluate(game, players, num_games=config.measure.games, seed=config.seed, worst=0, luck=False)
            learner = next(iter(result.agents.values()))
            found[f"{begin}win_rate/{opponent}"] = learner.win_rate
            if learner.regret is not None and f"{begin}regret" not in found:  # against the first opponent
                found[f"{begin}regret"] = learner.regret.per_decision
                found[f"{begin}optimal_share"] = learner.regret.optimal_share
    return found


def in_short(found: dict[str, Any]) -> str:
    """Return the part of a measurement that fits into a progress bar."""
    shown = {key: value for key, value in found.items() if "win_rate" in key or key.endswith("regret")}
    return "  ".join(f"{key} {value:.3g}" for key, value in shown.items())


class Stoppable(Protocol):
    """A run that stops at the next opportunity once `stopping` is set."""

    stopping: bool


Report = Callable[[dict[str, Any]], bool]
"""A function of a measurement, a line of `metrics.jsonl`, that returns whether to stop the run as Ctrl-C does."""


def write_measurement(run: Path, line: dict[str, Any], training: Stoppable, report: Report | None) -> None:
    """Add a line to a run's measurements and call `report` with it, which may stop the training."""
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    if report is not None and report(line):
        training.stopping = True


@contextmanager
def stop_on_interrupt(callback: Stoppable) -> Iterator[None]:
    """Let the first Ctrl-C stop the run after its rollout and a checkpoint; a second one interrupts at once."""

    def ask(signum: int, frame: Any) -> None:
        if callback.stopping:
            raise KeyboardInterrupt
        callback.stopping = True

    try:
        before = signal.signal(signal.SIGINT, ask)
    except ValueError:  # not in the main thread: the caller handles interrupts
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
