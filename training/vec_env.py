"""The batched engine as a stable-baselines3 `VecEnv`: no Python loop over environments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from trialea.envs.agent import ValuesActions
from trialea.envs.learner import LearnerGames
from trialea.envs.spaces import observation_box

Horizon = Literal["game", "turn", "decision"]
Paid = Literal["win", "score", "regret"]
REGRET_SCALE = -100.0  # a decision that costs one win in a hundred is paid -1


class GamesVecEnv(VecEnv):
    """B learners in one compiled batch, reset in the same step as they end.

    Args:
        games: the learners' games. They need not be seeded; `seed(s)` gives game i the seed s + i.
        horizon: `"game"`: an episode is the learner's game. `"turn"`, `"decision"`: what follows a turn or a decision
            does not count for it, so the learner is told of an end after each, while its game goes on.
        judge: who says what actions are worth, for the reward `"regret"`, see `aim`.
    """

    def __init__(self, games: LearnerGames, horizon: Horizon = "game", judge: ValuesActions | None = None) -> None:
        self.games = games
        self.horizon = horizon
        self._judge = judge
        self._by_regret = False
        self.render_mode: str | None = None
        self._actions: NDArray[np.int64] = np.zeros(len(games.states), np.int64)
        self._infos: list[dict[str, Any]] = [{} for _ in range(len(games.states))]
        self._masks: NDArray[np.int8] | None = None
        super().__init__(len(games.states), observation_box(games.game), spaces.Discrete(games.game.num_actions))

    def aim(self, reward: Paid, horizon: Horizon) -> None:
        """Pay this from now on: what games pay, or for each decision what it costs by the judge's values."""
        self._by_regret = reward == "regret"
        self.games.set_reward("win" if self._by_regret else reward)
        self.horizon = horizon

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
        turns, cost = games.own_turns(), self._regret() if self._by_regret else None
        rewards, terminated, truncated = games.step(self._actions)
        if cost is not None:
            rewards = cost
        ended = terminated | truncated
        dones = ended
        if self.horizon == "turn":
            dones = ended | (games.own_turns() != turns)
        elif self.horizon == "decision":
            dones = np.ones_like(ended)
        infos = self._infos
        index = np.flatnonzero(ended)
        if len(index):
            infos = self._with_endings(index)
            games.start(index)
        self._masks = None
        return games.observe(), rewards.astype(np.float32), dones, infos

    def _regret(self) -> NDArray[np.float64]:
        """What the actions about to be taken are paid (B,) for what they cost."""
        assert self._judge is not None
        values = self._judge.action_values(self.games.states)
        chosen = values[np.arange(self.num_envs), self._actions]
        cost: NDArray[np.float64] = REGRET_SCALE * (np.nanmax(values, axis=1) - chosen)
        return cost

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
