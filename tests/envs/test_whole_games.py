"""Tests of whole games in every interface: observations are in their spaces, and returned arrays never change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.helpers import SHORT, more_players, pick, play_aec, player_counts
from tests.interfaces import aec, every_game
from trialea.envs.single import SingleAgentEnv
from trialea.envs.vector import BatchedEnv


@every_game
def test_observations_of_1000_batched_games_are_in_their_space(name: str) -> None:
    """Checks the dtype too, and that arrays returned earlier do not change later."""
    rng = np.random.default_rng(0)
    counts = player_counts(name)
    for players in counts:
        envs = BatchedEnv(name, 50, num_players=players, **SHORT[name])
        space, kept = envs.single_observation_space, []
        observations, infos = envs.reset(seed=players)
        ended = 0
        while ended < 1000 / len(counts):
            assert observations.dtype == np.float32
            assert all(row in space for row in observations)
            kept.append((observations, observations.tobytes(), infos["action_mask"], infos["action_mask"].tobytes()))
            actions = [pick(mask, rng) if mask.any() else 0 for mask in infos["action_mask"]]
            observations, _, terminated, truncated, infos = envs.step(actions)
            ended += int((terminated | truncated).sum())
        for array, was, mask, mask_was in kept:
            assert array.tobytes() == was
            assert mask.tobytes() == mask_was


@every_game
@pytest.mark.parametrize("kind", ["aec", "single"])
def test_observations_of_aec_and_single_games_are_in_their_space(name: str, kind: str) -> None:
    """Returned arrays belong to the caller and do not change later."""
    kept: list[tuple[np.ndarray, bytes]] = []
    for seed in range(10):
        for observation, space in (_aec_game if kind == "aec" else _single_game)(name, seed):
            assert observation in space
            for array in observation.values() if isinstance(observation, dict) else [observation]:
                kept.append((array, array.tobytes()))
                assert array.flags.writeable
                assert array.base is None or array.base.flags.owndata
    assert all(array.tobytes() == was for array, was in kept)


def _aec_game(name: str, seed: int) -> Iterator[tuple[Any, gym.Space[Any]]]:
    env = aec(name, more_players(name))
    env.reset(seed=seed)
    for agent, observation, *_ in play_aec(env, np.random.default_rng(seed)):
        yield observation, env.observation_space(agent)


def _single_game(name: str, seed: int) -> Iterator[tuple[Any, gym.Space[Any]]]:
    env = SingleAgentEnv(name, more_players(name))
    observation, info = env.reset(seed=seed)
    rng, over = np.random.default_rng(seed), False
    while not over:
        yield observation, env.observation_space
        observation, _, terminated, truncated, info = env.step(pick(info["action_mask"], rng))
        over = terminated or truncated
    yield observation, env.observation_space
