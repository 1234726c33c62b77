"""Training speed: our policy against the stock one, real against free environments, snapshots against random play."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from trialea.agents.model import snapshot
from trialea.benchmarks.timing import compare
from trialea.envs.game import Game
from trialea.envs.learner import LearnerBatch
from trialea.training.league import League
from trialea.training.policy import masked_ppo
from trialea.training.vec_env import GamesVecEnv

ENVIRONMENTS = 1024
ROLLOUT = 32
THREADS = 2
SNAPSHOTS = 8
MANY_ACTIONS = 330


class FreeVecEnv(GamesVecEnv):
    """An environment that costs nothing: it returns constant arrays of the real shapes.

    Args:
        games: the games of the real environment.
        actions: the number of actions, if not the game's; about a third of them are legal.
    """

    def __init__(self, games: LearnerBatch, actions: int | None = None) -> None:
        super().__init__(games)
        self._observations = games.observe()
        self._masks = games.masks()
        if actions is not None:
            self.action_space = spaces.Discrete(actions)
            self._masks = (np.random.default_rng(0).random((self.num_envs, actions)) < 1 / 3).astype(np.int8)
            self._masks[:, 0] = 1
        self._rewards = np.zeros(self.num_envs, np.float32)
        self._dones = np.zeros(self.num_envs, np.bool_)
        self._infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]

    def reset(self) -> NDArray[np.float32]:
        return self._observations

    def step_wait(self) -> VecEnvStepReturn:
        return self._observations, self._rewards, self._dones, self._infos


def stock_ppo(env: GamesVecEnv, **settings: Any) -> MaskablePPO:
    return MaskablePPO("MlpPolicy", env, **settings)


def _games(game: Game) -> LearnerBatch:
    games = LearnerBatch(game, ENVIRONMENTS, "random", "rotate", "win")
    games.start()
    return games


def _model(env: GamesVecEnv, make: Callable[..., MaskablePPO] = masked_ppo) -> MaskablePPO:
    settings: dict[str, Any] = {"n_steps": ROLLOUT, "batch_size": 4096, "n_epochs": 4, "gamma": 1.0, "device": "cpu"}
    return make(env, seed=0, policy_kwargs={"net_arch": [64, 64]}, **settings)


def _learn(model: MaskablePPO, rollouts: int) -> int:
    frames = rollouts * ROLLOUT * ENVIRONMENTS
    model.learn(frames, reset_num_timesteps=False)
    return frames


def _compare(ours: MaskablePPO, theirs: MaskablePPO) -> tuple[float, float, float]:
    return compare(partial(_learn, ours, 1), partial(_learn, theirs, 1), rounds=5)


def train_vs_free_env(game: str) -> dict[str, float]:
    """Compare training frames per second on the real environment and on the free one."""
    ratio, ours, theirs = _compare(
        _model(GamesVecEnv(_games(Game(game)))),
        _model(FreeVecEnv(_games(Game(game)))),
    )
    return {"train_vs_free_env": ratio, "train_frames_per_second": ours, "free_frames_per_second": theirs}


def masked_ppo_vs_stock(game: str) -> dict[str, float]:
    """Compare frames per second of our policy and buffer with sb3-contrib's, on the same free environment.

    Once with the game's number of actions, and once with `MANY_ACTIONS`.
    """
    figures: dict[str, float] = {}
    for actions, words in ((None, ""), (MANY_ACTIONS, f"_{MANY_ACTIONS}_actions")):
        env = FreeVecEnv(_games(Game(game)), actions)
        ratio, _, theirs = _compare(_model(env), _model(env, stock_ppo))
        figures |= {f"masked_ppo_vs_stock{words}": ratio, f"stock_frames_per_second{words}": theirs}
    return figures


def past_vs_random_opponents(game: str) -> dict[str, float]:
    """Compare frames per second against snapshots of the learner and against random play."""
    random = _model(GamesVecEnv(_games(Game(game))))
    league = League({"past": 1.0}, SNAPSHOTS, "uniform", seed=0)
    games = league.new_batch(Game(game), None, ENVIRONMENTS, "rotate")
    for _ in range(SNAPSHOTS):
        league.add(snapshot(random.policy))
    games.start()
    ratio, rate, _ = _compare(_model(GamesVecEnv(games, on_end=league.note)), random)
    return {"past_vs_random_opponents": ratio, "past_frames_per_second": rate}


def measure(game: str) -> dict[str, float]:
    """Run every benchmark of training, with the default number of torch threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        return {**train_vs_free_env(game), **masked_ppo_vs_stock(game), **past_vs_random_opponents(game)}
    finally:
        torch.set_num_threads(before)
