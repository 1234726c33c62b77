"""What several test modules share. Everything here runs over the registry, never over a list of names."""

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

# A new game needs a line in each of these.
# Options under which everybody takes as many turns as everybody else; None where players may be passed over.
EVEN_TURNS: dict[str, dict[str, Any] | None] = {
    "no_dice": {"target": 1000},
    "poker_figures": {},
    "last_die": None,
}
# Options under which turns without a choice are common.
FORCED_TURNS: dict[str, dict[str, Any]] = {"no_dice": {"throws": 1}, "poker_figures": {}, "last_die": {}}
# Options under which the reset option `first_player` decides who begins.
AGREED_ORDER: dict[str, dict[str, Any]] = {"no_dice": {}, "poker_figures": {}, "last_die": {"seating": "fixed"}}
# Options under which every action may come up.
ALL_ACTIONS: dict[str, dict[str, Any]] = {
    "no_dice": {},
    "poker_figures": {"poker_row": True, "sum_throws": True},
    "last_die": {},
}
# Sets of options that between them try every option.
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
    rules = package_of(name).rules
    return range(rules.MIN_PLAYERS, rules.MAX_PLAYERS + 1)


TABLES = [(name, players) for name in GAMES for players in player_counts(name)]


def some_player_counts(name: str) -> list[int]:
    """For slow tests: the fewest players, one more, and the most."""
    counts = player_counts(name)
    return sorted({*counts[:2], counts[-1]})


SOME_TABLES = [(name, players) for name in GAMES for players in some_player_counts(name)]


@cache
def game_of(name: str, players: int | None = None, **options: Any) -> Game:
    """The game for so many players, by default for the fewest."""
    return trialea.make_game(name, players, **options)


def more_players(name: str) -> int:
    """One player more than the fewest."""
    return player_counts(name)[1]


def opponents_of(name: str, players: int | None = None) -> list[str]:
    """The names of those who can sit in the other seats without a person at the keyboard."""
    return [agent for agent in GAMES[name].agents_for(players or min(player_counts(name))) if agent != "human"]


def has_skill(name: str) -> bool:
    """Whether an agent of the game can be better than another: where nobody decides anything there is no greedy one."""
    return "greedy" in GAMES[name].agents


def rival_of(name: str) -> str:
    """An agent that is better than random play, or merely another one where there is no skill."""
    return "greedy" if has_skill(name) else opponents_of(name)[-1]


def words_of(options: Mapping[str, Any]) -> list[str]:
    """A game's options as they are written on the command line."""
    return [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]


def is_solved(name: str, players: int | None = None, **options: Any) -> bool:
    """Whether the game's decisions can be judged by an exact solution."""
    try:
        solution_of(game_of(name, players, **options))
    except trialea.OptionError:
        return False
    return True


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


def played_out(game: Game, agent: Agent, count: int) -> States:
    """So many games, from the seeds 0, 1, 2, …, played to their end by one agent in all seats."""
    states = game.start(range(count))
    playing = np.arange(count)
    while len(playing):
        game.step(states, agent.act(states[playing]), playing)
        playing = playing[states.over[playing] == 0]
    return states


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


@cache
def legal_ways(module: ModuleType) -> Any:
    """A compiled loop that notes, for each state, what `is_legal` and what `num_legal` and `legal` allow."""

    @entry
    def fill(states, tables, asked, listed):
        for i in range(len(states)):
            for action in range(asked.shape[1]):
                asked[i, action] = module.is_legal(states[i], action, tables)
            for k in range(module.num_legal(states[i], tables)):
                listed[i, module.legal(states[i], k, tables)] += 1

    return fill


def assert_masks_agree(game: Game, states: States) -> np.ndarray:
    """The four ways of asking what is legal give one answer, which is returned."""
    masks = game.masks(states)
    asked, listed = np.full_like(masks, -1), np.zeros_like(masks)
    legal_ways(package_of(game.name).game)(states, game.tables, asked, listed)
    counts = np.full(len(states), -1, np.int64)
    game.loops.count_legal(states, game.tables, counts)
    assert (asked == masks).all()
    assert (listed == masks).all()  # each once
    assert (counts == masks.sum(axis=1)).all()
    assert masks.any(axis=1).all()
    return masks


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


def nth(evaluation: Evaluation, place: int) -> AgentResult:
    """Return the result of the agent at a place of the list of agents."""
    return list(evaluation.agents.values())[place]


def column(evaluation: Evaluation, figure: str) -> tuple[Any, ...]:
    """Return one figure of every agent, in order."""
    return tuple(getattr(agent, figure) for agent in evaluation.agents.values())
