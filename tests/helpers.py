"""Shared helpers for tests. They work for every registered game; only the option tables below name the games."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

import trialea
from trialea.envs.aec import MultiAgentEnv
from trialea.envs.agent import Agent
from trialea.envs.game import Game, States
from trialea.envs.jit import entry
from trialea.envs.loops import MAX_PLAYERS
from trialea.envs.package import package_of
from trialea.envs.registry import GAMES
from trialea.evaluation.measures.regret import solution_of
from trialea.evaluation.results import AgentResult, Evaluation

JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"

# A new game needs an entry in each of these tables.
# Options with which every player takes the same number of turns; None for a game that skips players.
EVEN_TURNS: dict[str, dict[str, Any] | None] = {
    "no_dice": {"target": 1000},
    "poker_figures": {},
    "last_die": None,
}
# Options with which a player often has only one legal action.
FORCED_TURNS: dict[str, dict[str, Any]] = {"no_dice": {"throws": 1}, "poker_figures": {}, "last_die": {}}
# Options with which the reset option `first_player` decides who starts.
AGREED_ORDER: dict[str, dict[str, Any]] = {"no_dice": {}, "poker_figures": {}, "last_die": {"seating": "fixed"}}
# Options with which every action can be legal at some point.
ALL_ACTIONS: dict[str, dict[str, Any]] = {
    "no_dice": {},
    "poker_figures": {"poker_row": True, "sum_throws": True},
    "last_die": {},
}
# Sets of options that together change every option of the game.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "no_dice": [{"target": 12}, {"throws": 2, "intermediates": "natural"}],
    "poker_figures": [
        {"poker_row": True, "max_turns": 20},
        {"sum_throws": True, "full_value": 35, "max_turns": 20},
        {"poker_row": True, "sum_throws": True, "score_open_rows": True, "max_turns": 5},
        {"rows": "ADS", "columns": 2},
    ],
    "last_die": [{"seating": "fixed", "rounds_each": 2}, {"even_ends_round": True}, {"steer": True, "rounds_each": 2}],
}
# Options that make a game short.
SHORT: dict[str, dict[str, Any]] = {
    "no_dice": {"target": 8},
    "poker_figures": {"max_turns": 3, "score_open_rows": True},
    "last_die": {"rounds_each": 1},
}


def player_counts(name: str) -> range:
    """Return the numbers of players that the game allows."""
    rules = package_of(name).rules
    return range(rules.MIN_PLAYERS, rules.MAX_PLAYERS + 1)


TABLES = [(name, players) for name in GAMES for players in player_counts(name)]


def some_player_counts(name: str) -> list[int]:
    """Return three player counts for slow tests: the smallest, the next one and the largest."""
    counts = player_counts(name)
    return sorted({*counts[:2], counts[-1]})


SOME_TABLES = [(name, players) for name in GAMES for players in some_player_counts(name)]


@cache
def game_of(name: str, players: int | None = None, **options: Any) -> Game:
    """Return a cached game for `players`, by default for the smallest number."""
    return trialea.make_game(name, players, **options)


def more_players(name: str) -> int:
    """Return one player more than the smallest number."""
    return player_counts(name)[1]


def opponents_of(name: str, players: int | None = None) -> list[str]:
    """Return the names of the agents that can be opponents, which excludes the human one."""
    return [agent for agent in GAMES[name].agents_for(players or min(player_counts(name))) if agent != "human"]


def has_skill(name: str) -> bool:
    """Return whether one agent can be better than another; a game without choices has no greedy agent."""
    return "greedy" in GAMES[name].agents


def rival_of(name: str) -> str:
    """Return an agent that beats random play, or any other agent where the game has no skill."""
    return "greedy" if has_skill(name) else opponents_of(name)[-1]


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Return a game's options as arguments of the command line."""
    return [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]


def is_solved(name: str, players: int | None = None, **options: Any) -> bool:
    """Return whether an exact solution exists to judge the game's decisions."""
    try:
        solution_of(game_of(name, players, **options))
    except trialea.OptionError:
        return False
    return True


def legal_of(mask: np.ndarray) -> list[int]:
    """Return the legal actions of a mask."""
    return np.flatnonzero(mask).tolist()


def pick(mask: np.ndarray, rng: np.random.Generator) -> int:
    """Return a random legal action."""
    return int(rng.choice(np.flatnonzero(mask)))


def random_play(game: Game, states: States, rng: np.random.Generator) -> Iterator[States]:
    """Play random legal actions until every game is over; yield the states before each decision."""
    every = np.arange(len(states))
    while len(every):
        yield states
        actions = [pick(mask, rng) for mask in game.masks(states[every])]
        game.step(states, actions, every)
        every = every[states.over[every] == 0]


def played_out(game: Game, agent: Agent, count: int) -> States:
    """Return the end states of `count` games with seeds 0, 1, 2, …, all seats played by one agent."""
    states = game.start(range(count))
    playing = np.arange(count)
    while len(playing):
        game.step(states, agent.act(states[playing]), playing)
        playing = playing[states.over[playing] == 0]
    return states


def positions(game: Game, count: int, seed: int = 0, most_decisions: int = 60) -> States:
    """Return states from all stages of random games; none of the games is over."""
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


@cache
def legal_ways(module: ModuleType) -> Any:
    """Return a compiled loop that records what `is_legal`, `num_legal` and `legal` say about each state."""

    @entry
    def fill(states, tables, asked, listed):
        for i in range(len(states)):
            for action in range(asked.shape[1]):
                asked[i, action] = module.is_legal(states[i], action, tables)
            for k in range(module.num_legal(states[i], tables)):
                listed[i, module.legal(states[i], k, tables)] += 1

    return fill


def assert_masks_agree(game: Game, states: States) -> np.ndarray:
    """Check that the four ways to ask for legal actions agree, and return the masks."""
    masks = game.masks(states)
    asked, listed = np.full_like(masks, -1), np.zeros_like(masks)
    legal_ways(package_of(game.name).game)(states, game.tables, asked, listed)
    counts = np.full(len(states), -1, np.int64)
    game.loops.count_legal(states, game.tables, counts)
    assert (asked == masks).all()
    assert (listed == masks).all()  # each action exactly once
    assert (counts == masks.sum(axis=1)).all()
    assert masks.any(axis=1).all()
    return masks


def rotated(states: States, by: int) -> States:
    """Return the same games with each player moved on by `by` seats."""
    turned = states.copy()
    for i in range(len(states)):
        n = int(states.num_players[i])
        turned.mover[i] = (int(states.mover[i]) + by) % n
        for field, (dtype, _) in states.dtype.fields.items():
            if dtype.shape[:1] == (MAX_PLAYERS,):
                turned[field][i, :n] = np.roll(states[field][i, :n], by, axis=0)
    return turned


def play_aec(env: MultiAgentEnv, rng: np.random.Generator) -> Iterator[tuple[str, Any, float, bool, int | None]]:
    """Play one game at random; yield (agent, observation, reward, done, action) before each step."""
    for agent in env.agent_iter(1_000_000):
        observation, reward, terminated, truncated, _ = env.last()
        done = terminated or truncated
        action = None if done else pick(observation["action_mask"], rng)
        yield agent, observation, reward, done, action
        env.step(action)


def run_python(
    code: str, *arguments: str, env: Mapping[str, str | None] | None = None, cwd: Path | str | None = None
) -> str:
    """Run `code` in a new interpreter with warnings as errors, and return its output. It must succeed.

    `env` changes environment variables; None removes one. The working directory is outside the repository by
    default.
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


def nth(evaluation: Evaluation, place: int) -> AgentResult:
    """Return the result of the agent at position `place` in the list of agents."""
    return list(evaluation.agents.values())[place]


def column(evaluation: Evaluation, figure: str) -> tuple[Any, ...]:
    """Return one figure for each agent, in order."""
    return tuple(getattr(agent, figure) for agent in evaluation.agents.values())
