"""Time a game's first use: with nothing compiled yet, as after an installation, and with all code found on disk.

Each figure is that of a fresh process, with folders of its own for compiled code and for tables.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from trialea.envs.errors import TrialeaError

AGENTS = {"no_dice": ("greedy", "solver"), "poker_figures": ("greedy", "reference")}
"""Who plays in the first evaluation of a game; in other games, random players."""

GAMES_PLAYED = 200


def step_single(game: str) -> None:
    """Reset the environment of one learner, and take a step."""
    from trialea.envs.single import SingleAgentEnv

    env = SingleAgentEnv(game)
    _, info = env.reset(seed=0)
    env.step(int(np.flatnonzero(info["action_mask"])[0]))


def step_aec(game: str) -> None:
    """Reset the environment of all players, and take a step."""
    from trialea.envs.aec import MultiAgentEnv

    env = MultiAgentEnv(game)
    env.reset(seed=0)
    observation, *_ = env.last()
    assert observation is not None
    env.step(int(np.flatnonzero(observation["action_mask"])[0]))
    env.last()


def step_batch(game: str) -> None:
    """Reset a batch of environments, and take a step in each."""
    from trialea.envs.vector import BatchedEnv

    env = BatchedEnv(game, num_envs=16)
    _, infos = env.reset(seed=0)
    env.step(infos["action_mask"].argmax(axis=1))


STEPS = {"single": step_single, "aec": step_aec, "batch": step_batch}


def commands_for(game: str) -> dict[str, list[str]]:
    """Return what is timed, by name: a step of each environment, and an evaluation on the command line."""
    code = "import sys; from trialea.benchmarks.first_use import STEPS; STEPS[sys.argv[1]](sys.argv[2])"
    commands = {f"step_{name}": [sys.executable, "-c", code, name, game] for name in STEPS}
    agents = AGENTS.get(game, ("random", "random"))
    evaluation = ["-m", "trialea", "evaluate", game, *agents, "--games", str(GAMES_PLAYED), "--json"]
    return {**commands, "evaluate": [sys.executable, *evaluation]}


def time_first_use(game: str) -> dict[str, float]:
    """Return the seconds of a game's first use and of its second, by the clock and of processor time."""
    figures: dict[str, float] = {}
    for name, command in commands_for(game).items():
        with TemporaryDirectory() as folder:
            for when in ("cold", "warm"):
                wall, processor = _seconds(command, Path(folder))
                figures |= {f"{name}_{when}_seconds": wall, f"{name}_{when}_cpu_seconds": processor}
    return figures


def _seconds(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Run a command whose caches lie in `folder`, and return its seconds and its processor's."""
    caches = {"NUMBA_CACHE_DIR": str(folder / "code"), "TRIALEA_CACHE_DIR": str(folder / "tables")}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **caches}, capture_output=True, text=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise TrialeaError(f"{' '.join(command)} must succeed, but it ended with {done.returncode}: {done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
