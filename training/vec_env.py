"""The batched engine as a stable-baselines3 `VecEnv`: no Python loop over environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any, Literal, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from trialea.envs.agent import ActionValues
from trialea.envs.errors import OptionError, needs_extra
from trialea.envs.learner import LearnerBatch
from trialea.envs.padding import ObservationPadder
from trialea.envs.spaces import observation_box

with needs_extra("train", "training", "torch", "stable_baselines3"):
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn


Horizon = Literal["game", "turn", "decision"]
Paid = Literal["win", "score", "regret"]
OnEnd = Callable[[LearnerBatch, NDArray[np.int64]], None]
REGRET_SCALE = -100.0  # a decision that costs one win in a hundred is paid -1
Item = TypeVar("Item", bound=np.generic)


def joined(parts: Sequence[NDArray[Item]]) -> NDArray[Item]:
    """Return several batches as one; a single batch is returned as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Table:
    """The games for one number of players: part of the environments."""

    def __init__(self, games: LearnerBatch, seats: int | None, judge: ActionValues | None) -> None:
        self.games = games
        self._seats = seats
        self._view = ObservationPadder(games.game, seats)
        self._judge = judge
        self._none: list[dict[str, Any]] = [{} for _ in range(len(games.states))]

    @property
    def view(self) -> ObservationPadder:
        """The padder for the present game, whose options may change during a run."""
        if self._view.game is not self.games.game:
            self._view = ObservationPadder(self.games.game, self._seats)
        return self._view

    def observe(self) -> NDArray[np.float32]:
        return self.view.observe(self.games.states, self.games.seats)

    def step(self, actions: NDArray[Any], horizon: Horizon, by_regret: bool, on_end: OnEnd | None) -> VecEnvStepReturn:
        games = self.games
        turns, cost = games.own_turns(), self._regret(actions) if by_regret else None
        rewards, terminated, truncated = games.step(actions)
        if cost is not None:
            rewards = cost
        ended = terminated | truncated
        dones = ended
        if horizon == "turn":
            dones = ended | (games.own_turns() != turns)
        elif horizon == "decision":
            dones = np.ones_like(ended)
        infos = self._none
        index = np.flatnonzero(ended)
        if len(index):
            infos = self._with_endings(index)
            if on_end is not None:
                on_end(games, index)
            games.start(index)
        return self.observe(), rewards.astype(np.float32), dones, infos

    def _regret(self, actions: NDArray[Any]) -> NDArray[np.float64]:
        """Return the rewards (B,) of the actions that are about to be taken, computed from their regret."""
        assert self._judge is not None
        values = self._judge.action_values(self.games.states)
        chosen = values[np.arange(len(values)), actions]
        cost: NDArray[np.float64] = REGRET_SCALE * (np.nanmax(values, axis=1) - chosen)
        return cost

    def _with_endings(self, index: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return an info for each environment; an ended one has the entries that stable-baselines3 reads.

        A game that reaches its own limit has paid its result, so no more reward is expected. It isn't a time limit in
        the sense of stable-baselines3, which would add the value of the last observation.
        """
        infos = list(self._none)
        last = self.view.observe(self.games.states[index].view(np.recarray), self.games.seats[index])
        for place, i in enumerate(index):
            length = int(self.games.states.turns[i, self.games.seats[i]])
            infos[i] = {
                "terminal_observation": last[place],
                "TimeLimit.truncated": False,
                "episode": {"r": float(self.games.returns[i, self.games.seats[i]]), "l": length},
            }
        return infos


class GamesVecEnv(VecEnv):
    """B learners in compiled batches. A game that ends is reset in the same step.

    Args:
        games: one batch of games; or a list of batches for several numbers of players, whose observations are then
            padded, see `trialea.envs.padding.ObservationPadder`. The games need not be seeded; `seed(s)` gives game i
            the seed s + i.
        horizon: `"game"`: an episode is the learner's game. `"turn"`, `"decision"`: an episode ends after each turn or
            decision of the learner, while its game continues.
        judges: the agents whose action values give the reward `"regret"`, see `aim`: one for each batch, or empty.
        on_end: called with a batch and the indices of its games that have just ended, before their next games start.

    Attributes:
        games: the batches.

    Raises:
        OptionError: the batches do not offer the same actions.
    """

    def __init__(
        self,
        games: LearnerBatch | Sequence[LearnerBatch],
        horizon: Horizon = "game",
        judges: Sequence[ActionValues] = (),
        on_end: OnEnd | None = None,
    ) -> None:
        self.games = (games,) if isinstance(games, LearnerBatch) else tuple(games)
        self.horizon = horizon
        self._by_regret = False
        self._on_end = on_end
        seats = max(batch.game.num_players for batch in self.games) if len(self.games) > 1 else None
        self._tables = [_Table(batch, seats, judge) for batch, judge in zip_longest(self.games, judges)]
        self._ends = np.cumsum([len(batch.states) for batch in self.games])
        self.render_mode: str | None = None
        self._actions: NDArray[np.int64] = np.zeros(self._ends[-1], np.int64)
        self._masks: NDArray[np.int8] | None = None
        actions, size = {batch.game.num_actions for batch in self.games}, self._tables[0].view.size
        if len(actions) > 1:
            raise OptionError(f"one policy cannot choose among {sorted(actions)} actions: games must offer as many")
        super().__init__(int(self._ends[-1]), observation_box(size), spaces.Discrete(actions.pop()))

    def aim(self, reward: Paid, horizon: Horizon) -> None:
        """Set the reward and the horizon from now on; see `trialea.training.config.Stage`."""
        self._by_regret = reward == "regret"
        for games in self.games:
            games.set_reward("win" if reward == "regret" else reward)
        self.horizon = horizon

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Give game i the seed `seed` + i, or random seeds if None. They take effect at the next `reset`."""
        base = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        seeds = [base + i for i in range(self.num_envs)]
        for games, end in zip(self.games, self._ends, strict=True):
            games.seed(seeds[end - len(games.states) : end])
        return seeds

    def reset(self) -> NDArray[np.float32]:
        for games in self.games:
            games.start()
        return self.observe()

    def observe(self) -> NDArray[np.float32]:
        """Return the learners' present observations (B, D)."""
        self._masks = None
        return joined([table.observe() for table in self._tables])

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        chosen = np.split(self._actions, self._ends[:-1])
        steps = [
            table.step(own, self.horizon, self._by_regret, self._on_end)
            for table, own in zip(self._tables, chosen, strict=True)
        ]
        observations, rewards, dones, infos = zip(*steps, strict=True)
        self._masks = None
        return joined(observations), joined(rewards), joined(dones), list(chain(*infos))

    def action_masks(self) -> NDArray[np.int8]:
        """Return the legal actions (B, A), computed once for each step."""
        if self._masks is None:
            self._masks = joined([games.masks() for games in self.games])
        return self._masks

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"the games of a batch have no separate method {method_name!r}")
        masks = self.action_masks()
        return [masks[i] for i in self._get_indices(indices)] if indices is not None else list(masks)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if not self.has_attr(attr_name):
            raise AttributeError(f"the games of a batch have no separate attribute {attr_name!r}")
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
