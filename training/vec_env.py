"""The batched engine as a stable-baselines3 `VecEnv`: no Python loop over environments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from trialea.envs.learner import LearnerGames
from trialea.envs.spaces import observation_box

Horizon = Literal["game", "turn"]


class GamesVecEnv(VecEnv):
    """B learners in one compiled batch, reset in the same step as they end.

    Args:
        games: the learners' games. They need not be seeded; `seed(s)` gives game i the seed s + i.
        horizon: `"game"`: an episode is the learner's game. `"turn"`: what follows a turn does not count for it, so
            the learner is told of an end after each of its turns, while its game goes on.
    """

    def __init__(self, games: LearnerGames, horizon: Horizon = "game") -> None:
        self.games = games
        self.horizon = horizon
        self.render_mode: str | None = None
        self._actions: NDArray[np.int64] = np.zeros(len(games.states), np.int64)
        self._infos: list[dict[str, Any]] = [{} for _ in range(len(games.states))]
        self._masks: NDArray[np.int8] | None = None
        super().__init__(len(games.states), observation_box(games.game), spaces.Discrete(games.game.num_actions))

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Give game i the seed `seed` + i (fresh ones if None); they take effect at the next `reset`."""
        base = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        seeds = [base + i for i in range(self.num_envs)]
        self.games.seed(seeds)
        return seeds

    def reset(self) -> NDArray[np.float32]:
        self.games.start()
        self._masks = None
        return self.games.observe()

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        games = self.games
        turns = games.own_turns()
        rewards, terminated, truncated = games.step(self._actions)
        ended = terminated | truncated
        dones = ended | (games.own_turns() != turns) if self.horizon == "turn" else ended
        infos = self._infos
        index = np.flatnonzero(ended)
        if len(index):
            infos = self._with_endings(index)
            games.start(index)
        self._masks = None
        return games.observe(), rewards.astype(np.float32), dones, infos

    def _with_endings(self, index: NDArray[np.int64]) -> list[dict[str, Any]]:
        """One info for each environment, with what stable-baselines3 reads of those that ended.

        A game that its own limit cuts short has paid its result, so nothing is to be expected after it: it is no time
        limit of stable-baselines3's, which would add the value of the last observation.
        """
        infos = list(self._infos)
        last = self.games.observe()
        for i in index:
            length = int(self.games.states.turns[i, self.games.seats[i]])
            infos[i] = {
                "terminal_observation": last[i],
                "TimeLimit.truncated": False,
                "episode": {"r": float(self.games.returns[i, self.games.seats[i]]), "l": length},
            }
        return infos

    def action_masks(self) -> NDArray[np.int8]:
        """The legal actions (B, A), worked out once for each step."""
        if self._masks is None:
            self._masks = self.games.masks()
        return self._masks

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"the games of a batch have no method {method_name!r} of their own")
        masks = self.action_masks()
        return [masks[i] for i in self._get_indices(indices)] if indices is not None else list(masks)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if not self.has_attr(attr_name):
            raise AttributeError(f"the games of a batch have no attribute {attr_name!r} of their own")
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def has_attr(self, attr_name: str) -> bool:
        return attr_name in ("render_mode", "action_masks")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"the games of a batch have no attribute {attr_name!r} that could be set")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        return [None] * self.num_envs

    def close(self) -> None:
        pass

    def _get_indices(self, indices: Any) -> Iterable[int]:
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else indices
