"""What happens during a training run, between rollouts: schedules, measurements, snapshots, checkpoints, stopping."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from trialea.agents.model import ModelAgent, snapshot
from trialea.agents.model_file import max_players_of
from trialea.envs.agent import Agent
from trialea.envs.game import Game
from trialea.evaluation import evaluate
from trialea.training.checkpoint import save_checkpoint
from trialea.training.config import RunConfig, TrainConfig
from trialea.training.league import League
from trialea.training.vec_env import GamesVecEnv


class Every:
    """Says when the next of `times` evenly spread moments of a run of `frames` has come, after frame `already`."""

    def __init__(self, times: int, frames: int, already: int) -> None:
        self._gap = frames / times
        self._passed = int(already / self._gap)

    def due(self, frames: int) -> bool:
        """Whether a moment has come since the last call."""
        passed = int(frames / self._gap)
        if passed == self._passed:
            return False
        self._passed = passed
        return True


class TrainingBar:
    """A progress bar on standard error; where that is no terminal, a line for each measurement.

    Args:
        unit: what a run is long in.
        total: how long it is.
        done: how much of it is over.
        shown: whether anything is shown.
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
        """Show a measurement from now on."""
        self._latest = in_short(found)
        if not self._bar.disable and not self._bar.console.is_terminal:
            self._bar.console.print(f"{done:,.0f} {self._unit}  {self._latest}", highlight=False, soft_wrap=True)
        self.update(done)

    def update(self, done: int) -> None:
        """So much is over now."""
        rate = (done - self._before) / max(time.perf_counter() - self._began, 1e-9)
        self._bar.update(self._task, completed=done, rate=rate, latest=self._latest)


class RunCallback(BaseCallback):
    """Directs a run: everything it does happens between rollouts, where a run can be saved and resumed exactly.

    Args:
        config: the run's configuration.
        env: the learner's games.
        league: the opponents.
        folder: the run folder.
        seconds: how long the run had taken before it was resumed.
        start: the frames it had then.
        progress: whether to show a progress bar.
        report: told each measurement, see `write_measurement`.
    """

    def __init__(
        self,
        config: TrainConfig,
        env: GamesVecEnv,
        league: League,
        folder: Path,
        seconds: float = 0.0,
        start: int = 0,
        progress: bool = True,
        report: Report | None = None,
    ) -> None:
        super().__init__()
        self.model: MaskablePPO
        self._config = config
        self._env = env
        self._league = league
        self._folder = folder
        self._report = report
        self._began = time.perf_counter() - seconds
        self._snapshots = Every(config.snapshots, config.frames, start)
        self._measurements = Every(config.measure.times, config.frames, start)
        self._checkpoints = Every(config.checkpoints, config.frames, start)
        self.stopping = False  # asked to stop
        self.stopped = False  # saved, and about to stop
        self.bar = TrainingBar("frames", config.frames, start, progress)

    @property
    def seconds(self) -> float:
        """How long the run has taken so far, resumed parts included."""
        return time.perf_counter() - self._began

    def _on_rollout_start(self) -> None:
        done = self.num_timesteps / self._config.frames
        stage = self._config.stage_at(self.num_timesteps)
        self._env.aim(stage.reward, stage.horizon)
        self._set_games(self._config.make_games(stage))
        self.model.ent_coef = self._config.ppo.entropy.at(done)
        self.logger.record("train/entropy_coefficient", self.model.ent_coef)
        if self._snapshots.due(self.num_timesteps):
            self._league.add(snapshot(self.model.policy))
        self._league.weigh()
        if self._measurements.due(self.num_timesteps) or not self.num_timesteps:
            self.measure()
        stop = self.stopping  # may be set at any moment
        if self._checkpoints.due(self.num_timesteps) or stop:
            self.checkpoint()
        self.stopped = stop
        self.bar.update(self.num_timesteps)

    def _set_games(self, games: Sequence[Game]) -> None:
        """Play these from now on; where they differ from what was played, all games begin anew."""
        if all(game == batch.game for game, batch in zip(games, self._env.games, strict=True)):
            return
        self._league.play(games)
        self.model._last_obs = self._env.reset()
        self.model._last_episode_starts = np.ones(self._env.num_envs, np.bool_)

    def _on_step(self) -> bool:
        return not self.stopped

    def checkpoint(self) -> Path:
        """Save the run as it stands."""
        return save_checkpoint(
            self._folder / "checkpoints", self.model, self._env, self._league, self._config, self.seconds
        )

    def measure(self) -> None:
        """Play the current policy against the opponents of the configuration, and write down how it fares."""
        network, games = snapshot(self.model.policy), self._config.make_games()
        max_players = max_players_of(self._config.description()["players"])
        agents = [ModelAgent(game, network, name="learner", max_players=max_players) for game in games]
        found = measure_agents(agents, self._config)
        line = {"frames": self.num_timesteps, "seconds": round(self.seconds, 3), **found}
        write_measurement(self._folder, line, self, self._report)
        scalars = {f"measure/{key}": value for key, value in found.items()}
        for output in self.logger.output_formats:  # at once and at this step; `dump` would come a rollout later
            output.write(scalars, dict.fromkeys(scalars, ()), self.num_timesteps)
        self.bar.measured(self.num_timesteps, found)


def measure_agents(agents: Sequence[Agent], config: RunConfig) -> dict[str, Any]:
    """How an agent fares against the opponents of a configuration, by the names of `metrics.jsonl`.

    It comes as one agent for each game of the configuration. Where there are several, names begin with the number of
    players, such as `3p/regret`.
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
    """What a progress bar shows of a measurement."""
    shown = {key: value for key, value in found.items() if "win_rate" in key or key.endswith("regret")}
    return "  ".join(f"{key} {value:.3g}" for key, value in shown.items())


class Stoppable(Protocol):
    """A run that stops when it next can, once `stopping` is set."""

    stopping: bool


Report = Callable[[dict[str, Any]], bool]
"""Told a measurement, a line of `metrics.jsonl`, says whether the run is to stop, as after Ctrl-C."""


def write_measurement(run: Path, line: dict[str, Any], training: Stoppable, report: Report | None) -> None:
    """Add a line to a run's measurements, and tell it to `report`, which may ask the training to stop."""
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    if report is not None and report(line):
        training.stopping = True


@contextmanager
def stop_on_interrupt(callback: Stoppable) -> Iterator[None]:
    """Let the first Ctrl-C ask the run to stop after its rollout and a checkpoint; a second interrupts at once."""

    def ask(signum: int, frame: Any) -> None:
        if callback.stopping:
            raise KeyboardInterrupt
        callback.stopping = True

    try:
        before = signal.signal(signal.SIGINT, ask)
    except ValueError:  # not the main thread: whoever runs us handles interrupts
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
