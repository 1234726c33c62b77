"""Inputs that broke other multi-agent and masked environments: each case a test, over every registered game."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
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
from tests.helpers import (
    FORCED_TURNS,
    game_of,
    legal_of,
    opponents_of,
    pick,
    play_aec,
    player_counts,
    run_python,
)
from trialea import GAMES, IllegalActionError, NotResetError, OptionError
from trialea.agents import lattice
from trialea.envs.aec import MultiAgentEnv
from trialea.envs.game import Game, States
from trialea.envs.jit import entry
from trialea.envs.no_dice import rules
from trialea.envs.single import SingleAgentEnv
from trialea.envs.vector import BatchedEnv
from trialea.evaluation import evaluate

every_game = pytest.mark.parametrize("name", GAMES)


def aec(name: str, players: int = 2, **kwargs: Any) -> MultiAgentEnv:
    return import_module(GAMES[name].aec_module).env(num_players=players, **kwargs)


# --- The three interfaces as one, for what they must do alike --------------------------------------------


class Interface:
    """One game in progress behind one of the interfaces."""

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


# --- 1. Whose reward -------------------------------------------------------------------------------------


class Scripted:
    """Throws everything again twice, then stops with the most points or the fewest (No Dice)."""

    name = "scripted"

    def __init__(self, game: Game, wants: Callable[[np.ndarray], Any], dawdles: bool) -> None:
        self.game, self.wants, self.dawdles = game, wants, dawdles

    def act(self, states: States) -> np.ndarray:
        masks = self.game.masks(states)
        actions = np.empty(len(states), np.int64)
        for i, mask in enumerate(masks):
            if self.dawdles and mask[rules.NUM_REROLLS - 1]:
                actions[i] = rules.NUM_REROLLS - 1
                continue
            stops = [action for action in legal_of(mask) if action >= rules.NUM_REROLLS]
            if not stops:
                actions[i] = 0
                continue
            after = self.game.choose(np.repeat(states[i : i + 1], len(stops)).view(np.recarray), stops)
            actions[i] = stops[self.wants(after.scores.sum(axis=1))]
        return actions


@pytest.mark.parametrize("wins", [True, False], ids=["won", "lost"])
@pytest.mark.parametrize("players", player_counts("no_dice"))
def test_case_1_a_scripted_game_pays_exactly_its_win_or_loss(players: int, wins: bool) -> None:
    """Case 1: the learner wins or loses to opponents whose turns take three actions; its return is that alone."""
    game = game_of("no_dice", players, target=200)
    opponents = Scripted(game, np.argmax if wins else np.argmin, dawdles=True)
    learner = Scripted(game, np.argmin if wins else np.argmax, dawdles=False)
    for seat in range(players):
        env = gym.make("trialea/NoDice-v0", num_players=players, opponents=opponents, seat=seat, target=200)
        env.reset(seed=seat)
        rewards, over = [], False
        while not over:
            [action] = learner.act(env.unwrapped._games.states)
            _, reward, over, truncated, _ = env.step(action)
            assert not truncated
            rewards.append(reward)
        assert rewards[:-1] == [0.0] * (len(rewards) - 1)
        assert rewards[-1] == (1.0 if wins else pytest.approx(-1 / (players - 1)))
        assert env.unwrapped.state.over == (wins or players == 2)  # who is out does not wait for the others


@every_game
@pytest.mark.parametrize("reward", ["win", "score"])
def test_case_1_returns_are_the_learners_own(name: str, reward: str) -> None:
    """Case 1 for every game: over random games, what the environment paid is what the final position says."""
    paid_well, paid_badly = 0, 0
    for players in player_counts(name):
        env = SingleAgentEnv(name, players, reward=reward)
        rng = np.random.default_rng(players)
        for seed in range(15):
            _, info = env.reset(seed=seed)
            total, over = 0.0, False
            while not over:
                _, paid, over, _, info = env.step(pick(info["action_mask"], rng))
                total += paid
            share = float(env.state.share[env.seat])
            expected = (share * players - 1) / (players - 1)
            if reward == "score":
                expected = env.game.score_scale * int(env.state.scores[env.seat])
            assert total == pytest.approx(expected)
            paid_well += share > 0
            paid_badly += share == 0
    assert paid_well > 0
    assert paid_badly > 0


# --- 2. Forced turn --------------------------------------------------------------------------------------


@every_game
def test_case_2_a_forced_turn_has_one_action_and_moves_on(name: str) -> None:
    """Case 2: where there is no choice the mask holds one 1, and playing it moves the game on."""
    env = aec(name, 3, **FORCED_TURNS[name])
    forced = 0
    for seed in range(60):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observation, *_ = env.last()
            mask = observation["action_mask"]
            if env.terminations[agent]:
                assert not mask.any()
                env.step(None)
                continue
            assert mask.any()
            before = env.game_state.copy()
            env.step(legal_of(mask)[0])
            if mask.sum() == 1:
                forced += 1
                assert env.game_state.decisions == before.decisions + 1
                assert env.game_state.tobytes() != before.tobytes()
    assert forced >= 20


def test_case_2_no_dice_without_an_expression_adds_up_the_faces() -> None:
    """Case 2 in No Dice: after the last throw without an expression, adding up is the one action."""
    env = aec("no_dice", 2)
    env.reset(seed=0)
    env.game_state.dice = [5, 4, 4, 0, 0]  # 6 4 4 1 3: no operator
    env.game_state.throws = 3
    assert legal_of(env.observe("player_0")["action_mask"]) == [rules.ADD_UP]
    assert env.game.action_name(env.game_state, rules.ADD_UP) == "add up the faces: 18"
    env.step(rules.ADD_UP)
    assert env.game_state.scores[0] == 18
    assert env.agent_selection == "player_1"


@every_game
def test_case_2_only_finished_players_have_an_empty_mask(name: str) -> None:
    """Case 2: an acting player's mask is never all zero, in any interface; a finished player's is."""
    env = SingleAgentEnv(name, 3)
    rng = np.random.default_rng(0)
    for seed in range(30):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            assert info["action_mask"].any()
            *_, over, _, info = env.step(pick(info["action_mask"], rng))
        assert not info["action_mask"].any()
        assert not env.action_masks().any()


# --- 3. Masks through wrappers ---------------------------------------------------------------------------


def wrapped(gym_id: str, limit: int) -> gym.Env[Any, Any]:
    return Monitor(gym.make(f"trialea:{gym_id}", max_episode_steps=limit, num_players=3))


class Twins:
    """Unwrapped environments that are stepped beside wrapped ones, with the same seeds and time limit."""

    def __init__(self, name: str, count: int, limit: int, seed: int) -> None:
        self.envs = [SingleAgentEnv(name, 3) for _ in range(count)]
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


@every_game
@pytest.mark.parametrize("kind", [DummyVecEnv, partial(SubprocVecEnv, start_method="spawn")], ids=["dummy", "spawn"])
def test_case_3_masks_reach_sb3_through_every_wrapper(name: str, kind: Any) -> None:
    """Case 3: make + TimeLimit + Monitor + a VecEnv for 1,000 steps: sb3-contrib's masks are the environment's."""
    limit = 7
    vec_env = kind([partial(wrapped, GAMES[name].gym_id, limit)] * 2)
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


# --- 4. Clone in mid-turn --------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array", "human"])
@pytest.mark.parametrize("kind", ["aec", "single"])
def test_case_4_a_clone_in_mid_turn_is_apart_and_the_same(name: str, render_mode: str | None, kind: str) -> None:
    """Case 4: clone between two throws, after rendering: the same transcript, and the original unchanged."""
    env: Any = aec(name, render_mode=render_mode) if kind == "aec" else SingleAgentEnv(name, render_mode=render_mode)
    env._renderer._fps = 0  # nobody watches
    face = Aec(env) if kind == "aec" else Interface(env)
    env.reset(seed=2)
    face.step(_action_that_stays(face, kind))
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


def _action_that_stays(face: Interface, kind: str) -> int:
    """An action after which the same player goes on in the same turn, if there is one."""
    for action in legal_of(face.mask()):
        after = face.env.game.choose(face.state(), [action])
        if after.mover[0] == face.state().mover[0] and (after.turns == face.state().turns).all():
            return action
    return legal_of(face.mask())[0]


# --- 5 is in test_import.py, and for a built wheel in the CI ---------------------------------------------


# --- 6. Elimination during someone else's move -----------------------------------------------------------


def test_case_6_no_dice_turns_pass_over_those_who_are_out() -> None:
    """Case 6: of four players seat 2 goes out in its own move, later seat 0; play goes 3, 0, 1, 3 and 1, 3."""
    env = aec("no_dice", 4, target=500)
    env.reset(seed=1)
    order, rewards, nones = [], dict.fromkeys(env.possible_agents, 0.0), dict.fromkeys(env.possible_agents, 0)
    paid_at: dict[str, int] = {}
    lengths = {"player_2": 2, "player_0": 4}  # the turn in which each goes out
    for agent in env.agent_iter(200):
        observation, reward, terminated, _, _ = env.last()
        rewards[agent] += reward
        seat = int(agent[-1])
        if terminated:
            nones[agent] += 1
            paid_at[agent] = len(order)
            env.step(None)
            continue
        state = env.game_state
        if lengths.get(agent) == state.turns[seat] + 1 or state.turns[1] == 6:
            state.scores[seat] = 499
        stops = [a for a in legal_of(observation["action_mask"]) if a >= rules.NUM_REROLLS]
        worth = [int(env.game.choose(env._states, [a]).scores[0, seat]) for a in stops]
        if not stops or (state.scores[seat] == 499 and max(worth) < 500):
            env.step(0)  # throw on, until there is something to score
            continue
        order.append(seat)
        env.step(stops[int(np.argmax(worth))] if state.scores[seat] == 499 else stops[int(np.argmin(worth))])
    assert order[:15] == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 3, 0, 1, 3, 1]
    assert order[15:] == [3, 1, 3, 1][: len(order) - 15]
    assert nones == dict.fromkeys(env.possible_agents, 1)
    assert rewards == pytest.approx({f"player_{s}": 1.0 if env.game_state.share[s] else -1 / 3 for s in range(4)})
    assert paid_at["player_2"] == 7
    assert paid_at["player_0"] == 12
    assert not env.agents


def test_case_6_no_dice_the_learner_who_is_out_is_done_at_once() -> None:
    """Case 6, the single-agent view: no `None` step, and nothing is to be played once the learner is out."""
    env = SingleAgentEnv("no_dice", 4, seat=2, target=500)
    env.reset(seed=1)
    env.state.scores[2] = 499
    over = False
    while not over:
        _, reward, over, _, info = env.step(legal_of(env.action_masks())[-1])
    assert reward == pytest.approx(-1 / 3)
    assert not env.state.over
    assert not info["action_mask"].any()
    with pytest.raises(IllegalActionError, match="reset"):
        env.step(0)
    env.reset()
    env.step(legal_of(env.action_masks())[0])


@every_game
def test_case_6_everybody_ends_once_and_is_paid_once(name: str) -> None:
    """Case 6 for every game: with the most players, over random games."""
    players = player_counts(name)[-1]
    env = aec(name, players)
    for seed in range(10):
        env.reset(seed=seed)
        rewards: dict[str, list[float]] = {agent: [] for agent in env.possible_agents}
        nones = dict.fromkeys(env.possible_agents, 0)
        for agent, _, reward, done, _ in play_aec(env, np.random.default_rng(seed)):
            assert not nones[agent]
            rewards[agent] += [reward] if reward else []
            nones[agent] += done
            assert done or not env.game_state.over
        assert set(nones.values()) == {1}
        assert max(len(payments) for payments in rewards.values()) <= 1
        assert sum(sum(payments) for payments in rewards.values()) == pytest.approx(0)


# --- 7. Seeds --------------------------------------------------------------------------------------------

TRANSCRIPT = """
import hashlib, sys
import gymnasium as gym, numpy as np, trialea
digest = hashlib.sha256()
rng = np.random.default_rng(0)
env = gym.make(sys.argv[1], num_players=3)
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


@every_game
def test_case_7_the_same_seed_gives_the_same_bytes_in_two_processes(name: str) -> None:
    """Case 7: seed and actions decide everything, whatever Python hashes strings to."""
    printed = {run_python(TRANSCRIPT, GAMES[name].gym_id, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2")}
    assert len(printed) == 1


def _observations(name: str, seed: int | None, disturb: Callable[[], None] = lambda: None) -> bytes:
    env = SingleAgentEnv(name, 3)
    observation, info = env.reset(seed=seed)
    rng = np.random.default_rng(0)
    seen = [observation]
    for _ in range(60):
        disturb()
        observation, _, terminated, _, info = env.step(pick(info["action_mask"], rng))
        if terminated:
            observation, info = env.reset()
        seen.append(observation)
    return np.stack(seen).tobytes()


@every_game
def test_case_7_global_seeds_change_nothing(name: str) -> None:
    """Case 7: nothing is drawn from `random`, from NumPy's global generator or from torch, and none is seeded."""

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
def test_case_7_reset_without_a_seed_goes_on_with_the_stream(name: str, interface: str) -> None:
    """Case 7: the k-th game after a seed is always the same one, and the games differ."""
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
def test_case_7_games_of_a_batch_differ_and_equal_single_ones(name: str) -> None:
    """Case 7: game i of a batch is the single environment with seed s + i."""
    envs = BatchedEnv(name, 30, num_players=3)
    observations, _ = envs.reset(seed=100)
    assert len({row.tobytes() for row in observations}) > 25
    for i in range(30):
        observation, _ = SingleAgentEnv(name, 3).reset(seed=100 + i)
        assert (observation == observations[i]).all()
    assert len(set(envs.games.states.seed.tolist())) == 30


# --- 8. No writable cache --------------------------------------------------------------------------------

SMALL_SOLVE = """
import os, sys
import gymnasium as gym
import trialea
env = gym.make(sys.argv[1])
env.reset(seed=1)
env.step(env.action_space.sample())
from importlib import import_module
from trialea.envs.registry import GAMES
solver = import_module(GAMES[sys.argv[2]].solver)
solution = solver.solve(trialea.make_game(sys.argv[2], 2, **eval(sys.argv[3])))
print(trialea.__file__, solution.residual < 1e-12, sorted(os.listdir(".")))
"""

SMALL: dict[str, dict[str, Any]] = {"no_dice": {"target": 3}}


def installed_copy(folder: Path) -> Path:
    """A copy of the package beside which, and in which, no cache can be made."""
    package = folder / "trialea"
    root = Path(trialea.__file__).resolve().parent
    shutil.copytree(root, package, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("agents", "configs", "envs", "evaluation", "training"):
        source = Path(import_module(f"trialea.{part}").__file__).parent
        shutil.copytree(source, package / part, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for directory in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (directory / "__pycache__").touch()  # a file, where a folder would have to be made
        directory.chmod(0o555)  # which root may write all the same
    return folder


@every_game
def test_case_8_works_where_no_cache_can_be_written(name: str, tmp_path: Path) -> None:
    """Case 8: package read-only, no HOME, no cache folder for numba or for tables: import, step, a small solve."""
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
    printed = run_python(SMALL_SOLVE, GAMES[name].gym_id, name, repr(SMALL[name]), env=variables, cwd=work)
    assert printed.split(maxsplit=1) == [str(tmp_path / "installed/trialea/__init__.py"), "True []\n"]


NO_HOME = """
import pwd
def unknown(uid):
    raise KeyError(uid)
pwd.getpwuid = unknown  # as for the arbitrary user of a container
"""


@every_game
def test_case_8_works_for_a_user_without_a_home(name: str, tmp_path: Path) -> None:
    """Case 8: no HOME, and no entry in the system's list of users to say where it would be."""
    unset = dict.fromkeys(["HOME", "NUMBA_CACHE_DIR", "TRIALEA_CACHE_DIR", "XDG_CACHE_HOME"])
    code = NO_HOME + SMALL_SOLVE
    printed = run_python(code, GAMES[name].gym_id, name, repr(SMALL[name]), env=unset, cwd=tmp_path)
    assert printed.endswith("True []\n")


# --- 9. Same agent on both sides -------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "agent"), [(name, agent) for name in GAMES for agent in opponents_of(name, 2)])
def test_case_9_an_agent_against_itself_is_even(name: str, agent: str) -> None:
    """Case 9: two copies, seats rotated: equal starts, an interval round one half, and the seat effect shown."""
    for duplicate in (True, False):
        found = evaluate(game_of(name), [agent, agent], games=600, duplicate=duplicate, regret=False, confidence=0.9999)
        assert found.starts == (found.games // 2, found.games // 2)
        for low, high in found.interval:
            assert low <= 0.5 <= high
        assert found.seat_effect == pytest.approx([rate - 0.5 for rate in found.seat_win_rate])
        assert sum(found.seat_win_rate) == pytest.approx(1)
        for effect, (low, high) in zip(found.seat_effect, found.seat_effect_interval, strict=True):
            assert low < effect < high


# --- 10, exhaustive scoring: also in test_kernels.py -----------------------------------------------------


def test_case_10_no_dice_equal_faces_are_worth_the_same() -> None:
    """Case 10: die 3 has ÷ twice and × twice, die 4 has − twice and + twice: which of the two shows is nothing."""
    scores = rules.tables(rules.Options()).scores.reshape(6, 6, 6, 6, 6, -1)  # die 4 first
    assert (scores[:, 1] == scores[:, 3]).all()
    assert (scores[:, 4] == scores[:, 5]).all()
    assert (scores[1] == scores[3]).all()
    assert (scores[4] == scores[5]).all()


def test_case_10_no_dice_swapping_two_dice_that_show_the_same_swaps_the_actions() -> None:
    """Case 10: where two dice show the same, an expression is worth what it is with the two exchanged."""
    place = {expression: k for k, expression in enumerate(rules.EXPRESSIONS)}
    scores = rules.tables(rules.Options()).scores
    compared = 0
    for outcome in range(rules.NUM_OUTCOMES):
        faces = [rules.FACES[die][face] for die, face in enumerate(rules.outcome_faces(outcome))]
        for one in range(5):
            for other in range(one + 1, 5):
                if faces[one] != faces[other]:
                    continue
                swap = {one: other, other: one}
                for expression, k in place.items():
                    dice = tuple(swap.get(die, die) for die in expression.dice)
                    twin = place.get(rules.Expression(dice, expression.bracket))
                    if twin is not None:
                        compared += 1
                        assert scores[outcome, k] == scores[outcome, twin]
    assert compared > 10_000


# --- 11. Rethrow arithmetic with known answers -----------------------------------------------------------


@entry
def play_out(values, stop, patterns, shape, throws):
    """The value of so many throws with free choice of what to keep and when to stop."""
    none = np.empty(0)
    values[patterns] = stop
    lattice.expect(values, shape)
    for _ in range(throws - 1):
        lattice.decide(values, none, stop, none, patterns, shape)
        lattice.expect(values, shape)
    return values[shape.num_patterns - 1]


@pytest.mark.nojit
def test_case_11_one_die_with_two_rethrows_is_worth_fourteen_thirds() -> None:
    """Case 11: the best of an ordinary die thrown up to three times."""
    shape = lattice.make_lattice([range(1, 7)])
    stop = np.arange(1.0, 7.0)
    for throws, worth in ((1, 7 / 2), (2, 17 / 4), (3, 14 / 3)):
        value = play_out(np.zeros(shape.num_patterns), stop, shape.full, shape, throws)
        assert value == pytest.approx(worth, abs=1e-13)


def test_case_11_five_of_a_kind_in_three_throws() -> None:
    """Case 11: five ordinary dice, three throws: 0.0460286, keeping the largest group being the best play."""
    shape = lattice.make_lattice([range(1, 7)] * 5)
    faces = np.array(np.unravel_index(np.arange(6**5), (6,) * 5))
    stop = (faces == faces[0]).all(axis=0).astype(float)
    value = play_out(np.zeros(shape.num_patterns), stop, shape.full, shape, 3)
    assert value == pytest.approx(347897 / 7558272, abs=1e-13)  # 0.0460286
    assert round(value, 7) == 0.0460286


# --- 12. Illegal action ----------------------------------------------------------------------------------


@every_game
@every_interface
def test_case_12_an_illegal_action_is_refused_and_forgotten(name: str, interface: str) -> None:
    """Case 12: a domain error, the state as before; then a legal action works; then `reset(seed)` replays."""
    face = INTERFACES[interface](name)
    face.reset(seed=4)
    start = face.state().tobytes()
    legal = legal_of(face.mask())
    illegal = [action for action in range(face.env.game.num_actions) if action not in legal]
    for action in (*illegal[:3], *illegal[-3:], -1, face.env.game.num_actions, 10**12):
        with pytest.raises(IllegalActionError, match=rf"action {action}\b"):
            face.step(action)
        assert face.state().tobytes() == start
        assert legal_of(face.mask()) == legal
    face.step(legal[0])
    after = face.state().tobytes()
    assert after != start
    face.reset(seed=4)
    assert face.state().tobytes() == start
    face.step(legal[0])
    assert face.state().tobytes() == after


@every_game
def test_case_12_a_refused_action_leaves_the_rewards_to_come(name: str) -> None:
    """Case 12 in AEC: what the agent has earned but not yet seen is not lost with the illegal action."""
    env = aec(name, reward="score")
    env.reset(seed=1)
    for _ in range(20):
        agent = env.agent_selection
        observation, reward, *_ = env.last()
        with pytest.raises(IllegalActionError):
            env.step(-1)
        assert env.last()[1] == reward
        assert env.agent_selection == agent
        env.step(legal_of(observation["action_mask"])[-1])
        if any(env.terminations.values()):
            break


# --- 13. Whole-game dtype and space ----------------------------------------------------------------------


@every_game
def test_case_13_every_observation_of_1000_games_is_inside_its_space(name: str) -> None:
    """Case 13: dtype included; and no array handed out earlier changes later."""
    rng = np.random.default_rng(0)
    counts = player_counts(name)
    for players in counts:
        envs = BatchedEnv(name, 50, num_players=players)
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
def test_case_13_whole_games_in_the_other_interfaces(name: str, kind: str) -> None:
    """Case 13, single games: the spaces hold everything, and arrays handed out are the caller's."""
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
    env = aec(name, 4)
    env.reset(seed=seed)
    for agent, observation, *_ in play_aec(env, np.random.default_rng(seed)):
        yield observation, env.observation_space(agent)


def _single_game(name: str, seed: int) -> Iterator[tuple[Any, gym.Space[Any]]]:
    env = SingleAgentEnv(name, 4)
    observation, info = env.reset(seed=seed)
    rng, over = np.random.default_rng(seed), False
    while not over:
        yield observation, env.observation_space
        observation, _, over, _, info = env.step(pick(info["action_mask"], rng))
    yield observation, env.observation_space


# --- 14. Reset options -----------------------------------------------------------------------------------


@every_game
@every_interface
def test_case_14_unknown_reset_options_are_ignored_everywhere(name: str, interface: str) -> None:
    """Case 14: PettingZoo's own tests pass an unknown key, so every interface ignores them; not a wrong value."""
    face = INTERFACES[interface](name)
    face.reset(seed=3)
    plain = face.state().tobytes()
    face.reset(seed=3, options={"unknown": 1})
    assert face.state().tobytes() == plain
    face.reset(seed=3, options={})
    assert face.state().tobytes() == plain
    with pytest.raises(OptionError, match="first_player"):
        face.reset(seed=3, options={"first_player": 17})


@every_game
@every_interface
def test_case_14_stepping_before_reset_is_refused_with_the_remedy(name: str, interface: str) -> None:
    """Case 14: no interface steps a game that has not begun."""
    face = INTERFACES[interface](name)
    with pytest.raises(NotResetError, match=r"reset\(\)"):
        face.step(0)
    face.reset(seed=0)
    face.step(legal_of(face.mask())[0])


# --- 15. Kinds of number ---------------------------------------------------------------------------------


@every_game
@every_interface
def test_case_15_every_kind_of_whole_number_is_an_action(name: str, interface: str) -> None:
    """Case 15: the NumPy kinds, a 0-d array and Python's own do the same."""
    results = set()
    for kind in (int, np.int8, np.int32, np.int64, np.uint8, np.array):
        face = INTERFACES[interface](name)
        face.reset(seed=6)
        face.step(kind(legal_of(face.mask())[0]))
        results.add(face.state().tobytes())
    assert len(results) == 1


@every_game
@every_interface
def test_case_15_other_things_are_refused(name: str, interface: str) -> None:
    """Case 15: a float, even a whole one, a bool, text, None, a sequence, and a number out of range."""
    face = INTERFACES[interface](name)
    face.reset(seed=6)
    before = face.state().tobytes()
    for wrong in (
        0.0,
        np.float32(1),
        np.array(1.0),
        True,
        np.bool_(True),
        "0",
        None,
        [0],
        np.array([0]),
        -1,
        999,
    ):
        with pytest.raises(IllegalActionError):
            face.step(wrong)
        assert face.state().tobytes() == before
