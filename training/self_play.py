"""Run a training in which the learner plays all seats: measure, save and stop between its batches."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

from trialea.agents.model_file import MODEL
from trialea.envs.agent import Agent
from trialea.training.config import AfterstateConfig, RllibConfig
from trialea.training.measuring import (
    EvenlySpaced,
    Report,
    TrainingBar,
    measure_agents,
    stop_on_interrupt,
    write_measurement,
)
from trialea.training.run_folder import open_folder


class SelfPlayer(Protocol):
    """A learner that plays all seats, a batch at a time; see `trialea.training.afterstate.Learner` for the members."""

    games: int
    frames: int
    unit: str
    total: int
    stopping: bool

    @property
    def done(self) -> int: ...
    def learn(self) -> None: ...
    def agent(self) -> Agent: ...
    def save_model(self, file: Path) -> None: ...
    def save(self, target: Path, seconds: float) -> None: ...
    def restore(self, folder: Path) -> float: ...


def self_play(
    config: AfterstateConfig | RllibConfig,
    learner: SelfPlayer,
    run: Path,
    checkpoint: Path | None,
    progress: bool,
    report: Report | None = None,
) -> bool:
    """Train in a run folder, from a checkpoint or the beginning; return False if the run was stopped before its end."""
    began = time.perf_counter() - (learner.restore(checkpoint) if checkpoint else 0.0)
    start = learner.done
    open_folder(run, learner.frames)
    measurements = EvenlySpaced(config.measure.times, learner.total, start)
    checkpoints = EvenlySpaced(config.checkpoints, learner.total, start)
    with TrainingBar(learner.unit, learner.total, start, progress) as bar, stop_on_interrupt(learner):
        while learner.done < learner.total:
            if measurements.due(learner.done) or not learner.done:
                _measure(learner, config, run, began, report, bar)
            stop = learner.stopping  # may be set at any moment
            if checkpoints.due(learner.done) or stop:
                learner.save(run / "checkpoints" / f"{learner.frames:012d}", time.perf_counter() - began)
            if stop:
                return False
            learner.learn()
            bar.update(learner.done)
        _measure(learner, config, run, began, report, bar)
    learner.save_model(run / MODEL)
    return True


def _measure(
    learner: SelfPlayer,
    config: AfterstateConfig | RllibConfig,
    run: Path,
    began: float,
    report: Report | None,
    bar: TrainingBar,
) -> None:
    """Measure the present network, write the result and show it."""
    found = measure_agents([learner.agent()], config)
    seconds = round(time.perf_counter() - began, 3)
    line = {"frames": learner.frames, "games": learner.games, "seconds": seconds, **found}
    write_measurement(run, line, learner, report)
    bar.measured(learner.done, found)
