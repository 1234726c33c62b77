"""One common wrapper for the environments' interfaces, so that a test can run over all of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from trialea import GAMES
from trialea.envs.aec import MultiAgentEnv
from trialea.envs.game import States
from trialea.envs.single import SingleAgentEnv
from trialea.envs.vector import BatchedEnv

every_game = pytest.mark.parametrize("name", GAMES)


def aec(name: str, players: int | None = None, **kwargs: Any) -> MultiAgentEnv:
    """Return the PettingZoo environment of a game."""
    return import_module(GAMES[name].aec_module).env(num_players=players, **kwargs)


class Interface:
    """= | A game in progress in one of the interfaces."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def reset(self, **kwargs: Any) -> None:
        self.env.reset(**kwargs)

    def step(self, action: Any) -> None:
        self.env.step(action)

    def mask(self) -> np.ndarray:
        return self.env.action_masks()

    def state(self) -> States:
        return self.env._games.states


class Aec(Interface):
    def mask(self) -> np.ndarray:
        return self.env.observe(self.env.agent_selection)["action_mask"]

    def state(self) -> States:
        return self.env._states


class Batched(Interface):
    def step(self, action: Any) -> None:
        self.env.step(np.stack([action]) if not isinstance(action, int) else [action])

    def mask(self) -> np.ndarray:
        return self.env.action_masks()[0]

    def state(self) -> States:
        return self.env.games.states


INTERFACES: dict[str, Callable[[str], Interface]] = {
    "aec": lambda name: Aec(aec(name)),
    "single": lambda name: Interface(SingleAgentEnv(name)),
    "gym.make": lambda name: Interface(gym.make(GAMES[name].gym_id).unwrapped),
    "batched": lambda name: Batched(BatchedEnv(name)),
}
every_interface = pytest.mark.parametrize("interface", INTERFACES)
