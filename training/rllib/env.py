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
    """A game for agents `player_0`, `player_1`, …, one of whom acts at each step.

    Observations are dicts of `"observations"`, (D,) float32 from 0 to 1, and `"action_mask"`, (A,) int8: the names that
    RLlib's action masking goes by. What is told to whom and when: see `trialea.training.rllib.turns.Turns`.

    Args:
        config: arguments of `trialea.envs.aec.MultiAgentEnv`: `game`, and any of `num_players`, `reward`, `max_cycles`
            and the game's options.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        env = MultiAgentEnv(**config)
        self._turns = Turns(env)
        # Each runner has games of its own, though RLlib numbers their seeds on from the one seed of all.
        self._runner = getattr(config, "worker_index", 0) or 0
        self.possible_agents = self.agents = list(env.possible_agents)
        space = spaces.Dict(
            observations=observation_box(env.game.observation_size),
            action_mask=spaces.Box(0, 1, (env.game.num_actions,), np.int8),
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = {agent: env.action_space(agent) for agent in self.possible_agents}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin the next game: of a new stream if `seed` is given, else of the stream that goes on."""
        if seed is not None and self._runner:
            seed = int(np.random.SeedSequence([seed, self._runner]).generate_state(1, np.uint64)[0])
        begun = self._turns.reset(seed, options)
        self.agents = list(self.possible_agents)
        return begun.observations, begun.infos

    def step(self, action_dict: Mapping[str, Any]) -> Moved:
        """Take the action of the player to move; see `Turns.step` for what it returns and raises."""
        moved = self._turns.step(action_dict)
        self.agents = list(self._turns.env.agents)
        return moved


class CountingEnv(GamesEnv):
    """Breaks a game off at an illegal action, unpaid, and counts it, instead of raising.

    RLlib takes an error in an env runner for a machine that has failed, starts another and goes on: the error would be
    lost. A count comes through; a run with any ends with an error.

    Attributes:
        illegal_actions: how many there were.
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
