"""The single-agent Gymnasium environment of every game: one learner's seat, with agents in the other seats."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from trialea.envs.checks import check_seed
from trialea.envs.errors import IllegalActionError, NotResetError
from trialea.envs.game import Game
from trialea.envs.jit import plain
from trialea.envs.learner import LearnerBatch, Seat, first_player_of
from trialea.envs.opponents import OpponentsLike
from trialea.envs.spaces import LegalDiscrete, observation_box
from trialea.envs.window import RENDER_MODES, Renderer


class SingleAgentEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One learner in one game; agents play the other seats.

    **Observation.** `Box(0, 1, (D,), float32)`, the game as the learner sees it. Each game's page has the index table;
    `env.unwrapped.game.observation_names()` returns the names in code.

    **Action.** `Discrete(A)`. `action_masks()` and `info["action_mask"]`, (A,) int8, mark the legal actions. `sample()`
    of the action space draws legal actions only. An illegal action raises `IllegalActionError` and changes nothing.

    **Reward.** The learner's reward since its last decision, see `trialea.envs.game.Reward`.

    **End.** The episode terminates when the learner's game ends: it has won, or it is out, even if the others play on.

    **Reset.** `reset(seed=s)` begins a stream of episodes; `reset()` begins the next one of the stream. The option
    `first_player` is the seat that begins; other keys are ignored. The info has `skipped_games`, the number of games
    that ended before the learner's first decision just before this one; `skipped_reward`, the sum of its rewards in
    them; and what the game reports about its opening.

    Args:
        game: the registered name of the game.
        num_players: how many seats; by default the fewest that can play.
        opponents: agents or names for the other seats, see `trialea.envs.opponents.Opponents`.
        seat: the learner's seat, `"random"` or `"rotate"`.
        reward: `"win"` or `"score"`.
        render_mode: `"ansi"`, `"rgb_array"` or `"human"`.
        **options: the game's options.

    Raises:
        TrialeaError: an argument is wrong; docs/environments.md lists the errors.

    Version history: v0, first release.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}

    def __init__(
        self,
        game: str,
        num_players: int | None = None,
        opponents: OpponentsLike = "random",
        seat: Seat = "random",
        reward: str = "win",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.game = Game(game, num_players, **options)
        self.render_mode = render_mode
        self._renderer = Renderer(self.game, render_mode, fps=self.metadata["render_fps"])
        self._games = LearnerBatch(self.game, 1, opponents, seat, reward)
        self._started = False
        self.observation_space: spaces.Space[Any] = observation_box(self.game.observation_size)
        self.action_space: spaces.Discrete = LegalDiscrete(self.game.num_actions, self.action_masks)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        generator = self.action_space._np_random
        self.action_space = LegalDiscrete(self.game.num_actions, self.action_masks)
        self.action_space._np_random = generator

    @property
    def seat(self) -> int:
        """The learner's seat in this episode."""
        return int(self._games.seats[0])

    @property
    def state(self) -> np.record:
        """The game's state, one record. It belongs to the environment: read it, don't change it."""
        state: np.record = self._games.states[0]
        return state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        first_player = first_player_of(options, self.game)
        if seed is not None:
            seed = check_seed(seed)
        super().reset(seed=seed)
        if seed is not None:
            self._games.seed([seed])
        elif not self._started:
            self._games.seed([int(self.np_random.integers(2**63))])
        self._games.start(first_player=first_player)
        self._started = True
        observation, info = self._outcome()
        info["skipped_games"] = int(self._games.skipped_games[0])
        info["skipped_reward"] = float(self._games.skipped_rewards[0])
        return observation, {**info, **self.game.opening(self.state)}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        if not self._started:
            raise NotResetError("call reset() before step()")
        if np.ndim(action) != 0:
            raise IllegalActionError(f"an action must be one whole number, got {action!r}")
        rewards, terminated, truncated = self._games.step(np.reshape(action, 1))
        observation, info = self._outcome()
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def _outcome(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        if self.render_mode == "human":
            self._renderer.render(self.state)
        observation, mask = self._view()
        return observation, {"action_mask": mask}

    def _view(self) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Return the learner's observation (D,) and legal actions (A,)."""
        game = self.game
        observation = np.empty(game.observation_size, np.float32)
        mask = np.empty(game.num_actions, np.int8)
        game.loops.observe_one(plain(self._games.states), self.seat, game.tables, observation, mask)
        return observation, mask

    def action_masks(self) -> NDArray[np.int8]:
        """Return the learner's legal actions, (A,) int8; all zero once its game has ended."""
        return self._view()[1]

    def clone(self, seed: int | None = None) -> SingleAgentEnv:
        """Return a copy of the environment in mid-game, with the same future throws, or with others if `seed` is given.

        Raises:
            OptionError: the seed is not a whole number from 0 to 2^64 - 1.
        """
        copy = deepcopy(self)
        if seed is not None:
            copy._games.states = self.game.clone(copy._games.states, seed)
        return copy

    def render(self) -> Any:
        if not self._started:
            raise NotResetError("call reset() before render()")
        return self._renderer.render(self.state)

    def close(self) -> None:
        self._renderer.close()
