"""The games as RLlib environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from trialea.envs.aec import MultiAgentEnv
from trialea.envs.errors import IllegalActionError, needs_extra
from trialea.envs.spaces import observation_box
from trialea.training.rllib.turns import Moved, Turns

with needs_extra("cluster", "training with RLlib", "ray"):
    from ray.rllib.env.multi_agent_env import MultiAgentEnv as RllibEnv


class GamesEnv(RllibEnv):  # type: ignore[misc]  # Ray is not among the packages that types are checked with
    """A game for the agents `player_0`, `player_1`, …, one of which acts at each step.

    Observations are dicts of `"observations"`, (D,) float32 from 0 to 1, and `"action_mask"`, (A,) int8: the names in
    RLlib's own example of action masking. See `trialea.training.rllib.turns.Turns` for the order of events.

    Args:
        config: arguments of `trialea.envs.aec.MultiAgentEnv`: `game`, and any of `num_players`, `reward`, `max_cycles`
            and the game's options.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        env = MultiAgentEnv(**config)
        self._turns = Turns(env)
        # RLlib gives its runners consecutive seeds. The runner's index is mixed in, so that no two play the same games.
        self._runner = getattr(config, "worker_index", 0) or 0
        self.possible_agents = self.agents = list(env.possible_agents)
        space = spaces.Dict(
            observations=observation_box(env.game.observation_size),
            action_mask=spaces.Box(0, 1, (env.game.num_actions,), np.int8),
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = {agent: env.action_space(agent) for agent in self.possible_agents}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Start the next game: of a new stream of seeds if `seed` is given, else of the present one."""
        if seed is not None and self._runner:
            seed = int(np.random.SeedSequence([seed, self._runner]).generate_state(1, np.uint64)[0])
        begun = self._turns.reset(seed, options)
        self.agents = list(self.possible_agents)
        return begun.observations, begun.infos

    def step(self, action_dict: Mapping[str, Any]) -> Moved:
        """Take the action of the player to move; see `Turns.step` for results and errors."""
        moved = self._turns.step(action_dict)
        self.agents = list(self._turns.env.agents)
        return moved


class CountingEnv(GamesEnv):
    """A `GamesEnv` that ends a game at an illegal action and counts it, instead of raising an error.

    RLlib treats an error in an env runner as a failed machine and starts another, so the error would be lost. The count
    is reported, and the run ends with an error if it isn't 0.

    Attributes:
        illegal_actions: the number of illegal actions so far.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        self.illegal_actions = 0

    def step(self, action_dict: Mapping[str, Any]) -> Moved:
        try:
            return super().step(action_dict)
        except IllegalActionError:
            self.illegal_actions += 1
            return self._turns.break_off()
