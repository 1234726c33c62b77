"""What share of the training speed is left when the environment is real instead of free."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from trialea.benchmarks.timing import compare
from trialea.envs.game import Game
from trialea.envs.learner import LearnerGames
from trialea.training.vec_env import GamesVecEnv

ENVIRONMENTS = 1024
ROLLOUT = 32


class FreeVecEnv(GamesVecEnv):
    """An environment that costs nothing: constant arrays of the shapes that the real one gives."""

    def __init__(self, games: LearnerGames) -> None:
        super().__init__(games)
        self._observations = games.observe()
        self._masks = games.masks()
        self._rewards = np.zeros(self.num_envs, np.float32)
        self._dones = np.zeros(self.num_envs, np.bool_)
        self._infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]

    def reset(self) -> NDArray[np.float32]:
        return self._observations

    def step_wait(self) -> VecEnvStepReturn:
        return self._observations, self._rewards, self._dones, self._infos


def _model(env: GamesVecEnv) -> MaskablePPO:
    assert isinstance(env.action_space, spaces.Discrete)
    settings: dict[str, Any] = {
        "n_steps": ROLLOUT,
        "batch_size": 4096,
        "n_epochs": 4,
        "gamma": 1.0,
        "device": "cpu",
    }
    return MaskablePPO("MlpPolicy", env, seed=0, policy_kwargs={"net_arch": [128, 128]}, **settings)


def _learn(model: MaskablePPO, rollouts: int) -> int:
    frames = rollouts * ROLLOUT * ENVIRONMENTS
    model.learn(frames, reset_num_timesteps=False)
    return frames


def train_vs_free_env(game: str) -> dict[str, float]:
    """Training frames a second on the real environment over those on the free one."""
    games = [LearnerGames(Game(game), ENVIRONMENTS, "random", "rotate", "win") for _ in range(2)]
    for one in games:
        one.start()
    real, free = _model(GamesVecEnv(games[0])), _model(FreeVecEnv(games[1]))
    ratio, ours, theirs = compare(partial(_learn, real, 2), partial(_learn, free, 2), rounds=5)
    return {"train_vs_free_env": ratio, "train_frames_per_second": ours, "free_frames_per_second": theirs}
