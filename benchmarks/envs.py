"""Speed of the environments, single and batched, compared with PettingZoo's connect_four in the same loop."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from pettingzoo import AECEnv

from trialea.benchmarks.timing import compare
from trialea.envs.aec import MultiAgentEnv
from trialea.envs.errors import needs_extra
from trialea.envs.game import Game
from trialea.envs.registry import GAMES

BATCH = 1024


def connect_four() -> AECEnv[Any, Any, Any]:
    """Make PettingZoo's connect_four with its usual wrappers."""
    with needs_extra("render", "the comparison with connect_four", "pygame"):
        from pettingzoo.classic.connect_four.connect_four import env
    made: AECEnv[Any, Any, Any] = env()  # type: ignore[no-untyped-call]
    return made


def play(env: Any, decisions: int) -> int:
    """Play `decisions` random legal actions in the loop from PettingZoo's documentation."""
    generator = np.random.default_rng(0)
    made = game = 0
    while made < decisions:
        env.reset(seed=game)
        game += 1
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            legal = np.flatnonzero(observation["action_mask"])
            env.step(legal[generator.integers(len(legal))])
            made += 1
            if made == decisions:
                break
    return made


def play_batch(game: Game, steps: int) -> int:
    """Play a batch at random inside the compiled loop, which writes every observation and mask."""
    states = game.start(range(BATCH))
    observations = np.empty((BATCH, game.observation_size), np.float32)
    masks = np.empty((BATCH, game.num_actions), np.int8)
    game.play_randomly(states, steps, 0, observations, masks)
    return steps * BATCH


def aec_vs_connect_four(game: str) -> dict[str, float]:
    """Compare decisions per second of the AEC environment and connect_four, in the same loop."""
    ratio, ours, theirs = compare(
        partial(play, MultiAgentEnv(game), 8000), partial(play, connect_four(), 2000), rounds=5
    )
    return {
        "aec_vs_connect_four": ratio,
        "aec_decisions_per_second": ours,
        "connect_four_decisions_per_second": theirs,
    }


def batch_vs_connect_four(game: str) -> dict[str, float]:
    """Compare decisions per second of 1,024 games in one thread with one game of connect_four, for every game."""
    figures: dict[str, float] = {}
    for name in [game, *(other for other in GAMES if other != game)]:
        ratio, ours, _ = compare(partial(play_batch, Game(name), 1500), partial(play, connect_four(), 2000), rounds=5)
        if name == game:
            figures |= {"batch_vs_connect_four": ratio, "batch_decisions_per_second": ours}
        else:
            figures[f"batch_vs_connect_four/{name}"] = ratio
    return figures
