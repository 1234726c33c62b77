"""What several test modules share. Everything here runs over the registry, never over a list of names."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import trialea
from trialea.envs.aec import MultiAgentEnv
from trialea.envs.game import Game, States
from trialea.envs.loops import MAX_PLAYERS
from trialea.envs.registry import GAMES

JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"

# Options under which a turn is one decision and nobody goes out, and under which turns without a choice are common.
# A new game needs a line in each.
ONE_DECISION_TURNS: dict[str, dict[str, Any]] = {"no_dice": {"throws": 1, "target": 1000}}
FORCED_TURNS: dict[str, dict[str, Any]] = {"no_dice": {"throws": 1}}


def player_counts(name: str) -> range:
    rules = import_module(f"trialea.envs.{name}.rules")
    return range(rules.MIN_PLAYERS, rules.MAX_PLAYERS + 1)


TABLES = [(name, players) for name in GAMES for players in player_counts(name)]


@cache
def game_of(name: str, players: int = 2, **options: Any) -> Game:
    return trialea.make_game(name, players, **options)


def opponents_of(name: str, players: int) -> list[str]:
    """The names of those who can sit in the other seats without a person at the keyboard."""
    return [agent for agent in GAMES[name].agents_for(players) if agent != "human"]


def legal_of(mask: np.ndarray) -> list[int]:
    return np.flatnonzero(mask).tolist()


def pick(mask: np.ndarray, rng: np.random.Generator) -> int:
    """A random legal action."""
    return int(rng.choice(np.flatnonzero(mask)))


def random_play(game: Game, states: States, rng: np.random.Generator) -> Iterator[States]:
    """Play random legal actions until every game of the batch is over; yields the states before each decision."""
    every = np.arange(len(states))
    while len(every):
        yield states
        actions = [pick(mask, rng) for mask in game.masks(states[every])]
        game.step(states, actions, every)
        every = every[states.over[every] == 0]


def positions(game: Game, count: int, seed: int = 0, most_decisions: int = 60) -> States:
    """States from all over random games, none of them over."""
    rng = np.random.default_rng(seed)
    states = game.start(np.arange(count) + 1000 * seed)
    targets = rng.integers(0, most_decisions, count)
    for decision in range(most_decisions):
        going = np.flatnonzero((decision < targets) & (states.over == 0))
        actions = np.array([pick(mask, rng) for mask in game.masks(states[going])], np.int64)
        before = states.copy()
        game.step(states, actions, going)
        states[states.over != 0] = before[states.over != 0]
        targets[before.decisions == states.decisions] = 0
    return states


def rotated(states: States, by: int) -> States:
    """The same games with everybody moved on by so many seats."""
    turned = states.copy()
    for i in range(len(states)):
        n = int(states.num_players[i])
        turned.mover[i] = (int(states.mover[i]) + by) % n
        for field, (dtype, _) in states.dtype.fields.items():
            if dtype.shape[:1] == (MAX_PLAYERS,):
                turned[field][i, :n] = np.roll(states[field][i, :n], by, axis=0)
    return turned


def play_aec(env: MultiAgentEnv, rng: np.random.Generator) -> Iterator[tuple[str, Any, float, bool, int | None]]:
    """Random play to the end: yields (agent, observation, reward, done, action) of each step, before it is taken."""
    for agent in env.agent_iter(1_000_000):
        observation, reward, terminated, truncated, _ = env.last()
        done = terminated or truncated
        action = None if done else pick(observation["action_mask"], rng)
        yield agent, observation, reward, done, action
        env.step(action)


def run_python(
    code: str, *arguments: str, env: Mapping[str, str | None] | None = None, cwd: Path | str | None = None
) -> str:
    """What a fresh interpreter prints that runs `code` with warnings as errors; it must succeed.

    `env` changes environment variables; None removes one. It runs outside the repository.
    """
    variables = {**os.environ, **{key: value for key, value in (env or {}).items() if value is not None}}
    for key, value in (env or {}).items():
        if value is None:
            variables.pop(key, None)
    with TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, *arguments],
            capture_output=True,
            text=True,
            env=variables,
            cwd=cwd or elsewhere,
        )
    assert done.returncode == 0, f"it ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout
