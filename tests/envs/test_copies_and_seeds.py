"""Tests of masks through wrappers, clones, reproducible seeds and running without a writable cache."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

import trialea
from tests.helpers import legal_of, more_players, pick, run_python
from tests.interfaces import INTERFACES, Aec, Interface, aec, every_game, every_interface
from trialea import GAMES
from trialea.envs.single import SingleAgentEnv
from trialea.envs.vector import BatchedEnv

# --- Masks through wrappers ---------------------------------------------------------------------------


def wrapped(gym_id: str, players: int, limit: int) -> gym.Env[Any, Any]:
    """Make an environment with a time limit and a Monitor."""
    return Monitor(gym.make(f"trialea:{gym_id}", max_episode_steps=limit, num_players=players))


class Twins:
    """Unwrapped environments that are stepped beside wrapped ones, with the same seeds and time limit."""

    def __init__(self, name: str, count: int, limit: int, seed: int) -> None:
        self.envs = [SingleAgentEnv(name, more_players(name)) for _ in range(count)]
        self.limit = limit
        self.steps = [0] * count
        for i, env in enumerate(self.envs):
            env.reset(seed=seed + i)

    def masks(self) -> np.ndarray:
        return np.stack([env.action_masks() for env in self.envs])

    def step(self, actions: np.ndarray) -> list[bool]:
        over = []
        for i, env in enumerate(self.envs):
            *_, terminated, truncated, _ = env.step(actions[i])
            self.steps[i] += 1
            over.append(terminated or truncated or self.steps[i] == self.limit)
            if over[i]:
                env.reset()
                self.steps[i] = 0
        return over


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(pytest.param(name, DummyVecEnv, id=f"dummy-{name}") for name in GAMES),
        *(
            pytest.param(
                name,
                partial(SubprocVecEnv, start_method="spawn"),
                id=f"spawn-{name}",
                marks=pytest.mark.slow,  # starting processes is slow
            )
            for name in GAMES
        ),
    ],
)
def test_action_masks_reach_sb3_through_every_wrapper(name: str, kind: Any) -> None:
    """sb3-contrib gets the environment's masks through TimeLimit, Monitor and a VecEnv, over 1,000 steps."""
    limit = 7
    vec_env = kind([partial(wrapped, GAMES[name].gym_id, more_players(name), limit)] * 2)
    try:
        vec_env.seed(40)
        vec_env.reset()
        twins = Twins(name, 2, limit, seed=40)
        rng = np.random.default_rng(0)
        cut_short = 0
        for _ in range(1000):
            masks = get_action_masks(vec_env)
            assert (masks == twins.masks()).all()
            actions = np.array([pick(mask, rng) for mask in masks])
            _, _, over, infos = vec_env.step(actions)
            assert over.tolist() == twins.step(actions)
            cut_short += sum(info.get("TimeLimit.truncated", False) for info in infos)
        assert cut_short > 10
    finally:
        vec_env.close()


# --- Clones in mid-turn -------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array", "human"])
@pytest.mark.parametrize("kind", ["aec", "single"])
def test_clone_in_mid_turn_continues_alike_and_independently(name: str, render_mode: str | None, kind: str) -> None:
    """The environment is cloned between two throws, after rendering. Playing the clone leaves the original alone."""
    env: Any = aec(name, render_mode=render_mode) if kind == "aec" else SingleAgentEnv(name, render_mode=render_mode)
    env._renderer._fps = 0  # run without delays between frames
    face = Aec(env) if kind == "aec" else Interface(env)
    face.step(_begin_with_an_action_that_stays(face))
    env.render()
    before = face.state().tobytes()
    twin = env.clone()
    twin_face = type(face)(twin)
    assert twin_face.state().tobytes() == before
    transcripts: list[list[tuple[bytes, bytes]]] = [[], []]
    for transcript, one in zip(transcripts, (twin_face, face), strict=True):
        for _ in range(12):
            one.step(legal_of(one.mask())[-1 - (len(transcript) % 2)] if one.mask().sum() > 1 else one.mask().argmax())
            transcript.append((one.state().tobytes(), one.mask().tobytes()))
            if not one.mask().any():
                break
        assert one is not twin_face or face.state().tobytes() == before
        assert render_mode is None or one.env.render() is not None or render_mode == "human"
    assert transcripts[0] == transcripts[1]
    twin.close()
    env.close()


def _begin_with_an_action_that_stays(face: Interface) -> int:
    """Reset to a position in which an action doesn't end the player's turn, and return that action."""
    for seed in range(100):
        face.reset(seed=seed)
        for action in legal_of(face.mask()):
            after = face.state().copy()
            face.env.game.step(after, [action])
            if after.mover[0] == face.state().mover[0] and (after.turns == face.state().turns).all():
                return action
    raise AssertionError("every action ends the turn")


# --- Seeds --------------------------------------------------------------------------------------------

TRANSCRIPT = """
import hashlib, sys
import gymnasium as gym, numpy as np, trialea
for name in sys.argv[1:]:
    digest = hashlib.sha256()
    rng = np.random.default_rng(0)
    env = gym.make(trialea.GAMES[name].gym_id)
    observation, info = env.reset(seed=17)
    for _ in range(200):
        mask = info["action_mask"]
        digest.update(observation.tobytes() + mask.tobytes())
        observation, reward, terminated, truncated, info = env.step(rng.choice(np.flatnonzero(mask)))
        digest.update(np.float64(reward).tobytes())
        if terminated or truncated:
            observation, info = env.reset()
    digest.update(env.unwrapped.state.tobytes())
    print(digest.hexdigest())
"""


def test_same_seed_gives_the_same_bytes_in_two_processes() -> None:
    """The result depends only on seed and actions, not on Python's hash seed."""
    one, other = (run_python(TRANSCRIPT, *GAMES, env={"PYTHONHASHSEED": seed}).split() for seed in ("1", "2"))
    assert one == other
    assert len(set(one)) == len(GAMES)


def _observations(name: str, seed: int | None, disturb: Callable[[], None] = lambda: None) -> bytes:
    """Return all observations of 60 random steps; call `disturb` before each step."""
    env = SingleAgentEnv(name, more_players(name))
    observation, info = env.reset(seed=seed)
    rng = np.random.default_rng(0)
    seen = [observation]
    for _ in range(60):
        disturb()
        observation, _, terminated, truncated, info = env.step(pick(info["action_mask"], rng))
        if terminated or truncated:
            observation, info = env.reset()
        seen.append(observation)
    return np.stack(seen).tobytes()


@every_game
def test_global_random_generators_are_neither_used_nor_seeded(name: str) -> None:
    """This covers `random`, NumPy's global generator and torch's."""

    def disturb() -> None:
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        torch.manual_seed(1)

    assert _observations(name, 3, disturb) == _observations(name, 3)
    disturb()
    unseeded = _observations(name, None)
    disturb()
    assert _observations(name, None) != unseeded
    disturb()
    drawn = (random.random(), np.random.random(), float(torch.rand(1)))  # noqa: NPY002
    disturb()
    _observations(name, 3)
    assert drawn == (random.random(), np.random.random(), float(torch.rand(1)))  # noqa: NPY002


@every_game
@every_interface
def test_reset_without_a_seed_continues_the_stream_of_games(name: str, interface: str) -> None:
    """Game k after a seed is always the same, and the games differ from each other."""
    streams = []
    for _ in range(2):
        face = INTERFACES[interface](name)
        face.reset(seed=5)
        games = []
        for _ in range(4):
            games.append(face.state().tobytes())
            face.step(legal_of(face.mask())[0])
            face.reset()
        face.reset(seed=5)
        assert face.state().tobytes() == games[0]
        streams.append(games)
    assert streams[0] == streams[1]
    assert len(set(streams[0])) == 4


@every_game
def test_game_of_a_batch_equals_the_single_game_with_its_seed(name: str) -> None:
    """Game i of a batch with seed s is the single environment with seed s + i."""
    players = more_players(name)
    envs = BatchedEnv(name, 30, num_players=players)
    observations, infos = envs.reset(seed=100)
    for i in range(30):
        observation, _ = SingleAgentEnv(name, players).reset(seed=100 + i)
        assert (observation == observations[i]).all()
    assert len(set(envs.games.states.seed.tolist())) == 30
    seen = [observations]
    for _ in range(4):
        observations, *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
        seen.append(observations)
    assert len({played.tobytes() for played in np.stack(seen, axis=1)}) > 25


# --- Without a writable cache -------------------------------------------------------------------------

SMALL_SOLVE = """
import json, os, sys
import gymnasium as gym
import trialea
from trialea.agents import solve
for name, (options, settings) in json.loads(sys.argv[1]).items():
    env = gym.make(trialea.GAMES[name].gym_id)
    env.reset(seed=1)
    env.step(env.action_space.sample())
    found = solve(trialea.make_game(name, **options), **settings).summary()
    assert json.loads(json.dumps(found)) == found
print(trialea.__file__, sorted(os.listdir(".")))
"""

# Options and solver settings for a small solve. A new game needs an entry.
SMALL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "no_dice": ({"target": 3}, {}),
    "poker_figures": ({}, {"turns": 1}),
    "last_die": ({}, {}),
}


def installed_copy(folder: Path) -> Path:
    """Copy the package to a folder in which Python and numba can't create a cache."""
    package = folder / "trialea"
    root = Path(trialea.__file__).resolve().parent
    shutil.copytree(root, package, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("agents", "configs", "envs", "evaluation", "training"):
        source = Path(import_module(f"trialea.{part}").__file__).parent
        shutil.copytree(source, package / part, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for directory in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (directory / "__pycache__").touch()  # root can still write here, hence the files above
        directory.chmod(0o555)  # root can still write here, hence the files above
    return folder


@pytest.mark.slow  # compiles everything again
def test_package_works_when_no_cache_can_be_written(tmp_path: Path) -> None:
    """The package is read-only, and neither HOME nor a cache folder for numba or tables is available."""
    home, work = tmp_path / "a_file", tmp_path / "work"
    home.touch()
    work.mkdir()
    nowhere = str(home / "cache")
    variables: dict[str, str | None] = {
        "PYTHONPATH": str(installed_copy(tmp_path / "installed")),
        "XDG_CACHE_HOME": nowhere,
        "LOCALAPPDATA": nowhere,
        **dict.fromkeys(["HOME", "NUMBA_CACHE_DIR", "TRIALEA_CACHE_DIR", "USERPROFILE"]),
    }
    printed = run_python(SMALL_SOLVE, json.dumps(SMALL), env=variables, cwd=work)
    assert printed.split(maxsplit=1) == [str(tmp_path / "installed/trialea/__init__.py"), "[]\n"]


NO_HOME = """
import pwd
def unknown(uid):
    raise KeyError(uid)
pwd.getpwuid = unknown  # as for the arbitrary user of a container
"""


def test_package_works_for_a_user_without_a_home_folder(tmp_path: Path) -> None:
    """HOME is unset, and the system's user database has no entry for the user."""
    unset = dict.fromkeys(["HOME", "NUMBA_CACHE_DIR", "TRIALEA_CACHE_DIR", "XDG_CACHE_HOME"])
    code = NO_HOME + SMALL_SOLVE
    assert run_python(code, json.dumps(SMALL), env=unset, cwd=tmp_path).endswith(" []\n")
