"""Direct a training with MaskablePPO between its rollouts: stages, snapshots, measurements, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from trialea.agents.model import ModelAgent, snapshot
from trialea.agents.model_file import max_players_of
from trialea.envs.game import Game
from trialea.training.checkpoint import save_checkpoint
from trialea.training.config import TrainConfig
from trialea.training.league import League
from trialea.training.measuring import EvenlySpaced, Report, TrainingBar, measure_agents, write_measurement
from trialea.training.vec_env import GamesVecEnv


class RunCallback(BaseCallback):
    """Direct a run. It acts between rollouts only, where a run can be saved and resumed exactly.

    Args:
        config: the run's configuration.
        env: the learner's games.
        league: the opponents.
        folder: the run folder.
        seconds: the duration of the run in seconds before it was resumed.
        start: the run's frames at that time.
        progress: whether to show a progress bar.
        report: called with each measurement, see `write_measurement`.
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
        self._snapshots = EvenlySpaced(config.snapshots, config.frames, start)
        self._measurements = EvenlySpaced(config.measure.times, config.frames, start)
        self._checkpoints = EvenlySpaced(config.checkpoints, config.frames, start)
        self.stopping = False  # asked to stop
        self.stopped = False  # saved, and about to stop
        self.bar = TrainingBar("frames", config.frames, start, progress)

    @property
    def seconds(self) -> float:
        """The seconds that the run has taken so far, in all its parts."""
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
        """Switch to these games. If they differ from the present ones, all games are started again."""
        if all(game == batch.game for game, batch in zip(games, self._env.games, strict=True)):
            return
        self._league.play(games)
        self.model._last_obs = self._env.reset()
        self.model._last_episode_starts = np.ones(self._env.num_envs, np.bool_)

    def _on_step(self) -> bool:
        return not self.stopped

    def checkpoint(self) -> Path:
        """Save the run."""
        return save_checkpoint(
            self._folder / "checkpoints", self.model, self._env, self._league, self._config, self.seconds
        )

    def measure(self) -> None:
        """Measure the present policy against the configured opponents, and write the result."""
        network, games = snapshot(self.model.policy), self._config.make_games()
        max_players = max_players_of(self._config.description()["players"])
        agents = [ModelAgent(game, network, name="learner", max_players=max_players) for game in games]
        found = measure_agents(agents, self._config)
        line = {"frames": self.num_timesteps, "seconds": round(self.seconds, 3), **found}
        write_measurement(self._folder, line, self, self._report)
        scalars = {f"measure/{key}": value for key, value in found.items()}
        for output in self.logger.output_formats:  # at this step; `logger.dump` comes a rollout later
            output.write(scalars, dict.fromkeys(scalars, ()), self.num_timesteps)
        self.bar.measured(self.num_timesteps, found)
