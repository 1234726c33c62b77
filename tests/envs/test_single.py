"""Tests of the single-agent environment: Gymnasium's and SB3's checks, seats, opponents, copies and rewards."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy.stats import chi2
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from tests.helpers import (
    AGREED_ORDER,
    EVEN_TURNS,
    SHORT,
    SOME_TABLES,
    TABLES,
    game_of,
    legal_of,
    more_players,
    opponents_of,
    pick,
)
from trialea import GAMES, NotResetError, OptionError, UnknownNameError
from trialea.envs.game import Game, States
from trialea.envs.single import SingleAgentEnv


def make(name: str, **kwargs: Any) -> SingleAgentEnv:
    env = gym.make(GAMES[name].gym_id, **kwargs).unwrapped
    assert isinstance(env, SingleAgentEnv)
    return env


def episode(env: SingleAgentEnv, rng: np.random.Generator, mask: np.ndarray) -> list[Any]:
    """Play one game at random; return a list of (action, observation, reward, terminated, truncated)."""
    steps, over = [], False
    while not over:
        action = pick(mask, rng)
        observation, reward, terminated, truncated, info = env.step(action)
        steps.append((action, observation.tobytes(), reward, terminated, truncated))
        mask, over = info["action_mask"], terminated or truncated
    return steps


TABLES_WITH_OPPONENTS = [
    pytest.param(name, players, opponent, id=f"{name}-{players}-{opponent}")
    for name, players in SOME_TABLES
    for opponent in opponents_of(name, players)
]


@pytest.mark.parametrize(("name", "players", "opponent"), TABLES_WITH_OPPONENTS)
def test_gymnasium_check_env_passes(name: str, players: int, opponent: str) -> None:
    """One check draws an action, resets and plays it. With the check's seed it is legal in each game."""
    for seat in (0, players - 1, "random", "rotate"):
        env = make(name, num_players=players, opponents=opponent, seat=seat, **SHORT[name])
        check_env(env, skip_render_check=(opponent, seat) != ("random", "random"))


def test_check_env_passes_for_a_nondeterministic_spec() -> None:
    """The docs recommend this for games with few common legal actions: the check that replays an action is skipped."""
    for players in (2, 3, 4):
        env = gym.make(GAMES["no_dice"].gym_id, num_players=players, throws=1)
        env.unwrapped.spec.nondeterministic = True
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize(("name", "players", "opponent"), TABLES_WITH_OPPONENTS)
def test_sb3_check_env_passes(name: str, players: int, opponent: str) -> None:
    for seat in (0, players - 1, "random", "rotate"):
        sb3_check_env(make(name, num_players=players, opponents=opponent, seat=seat, **SHORT[name]))


@pytest.mark.parametrize("name", GAMES)
def test_opponents_can_be_agents_lists_and_mixtures(name: str) -> None:
    players = more_players(name)
    names = opponents_of(name, players)
    for opponents in (
        (names * players)[: players - 1],
        {agent: 1 + k for k, agent in enumerate(names)},
        Recorder(name, players, **SHORT[name]),
    ):
        check_env(make(name, num_players=players, opponents=opponents, **SHORT[name]), skip_render_check=True)
    for wrong in ([names[0]], {}, {names[0]: 0.0}, {names[0]: -1.0, names[-1]: 2.0}):
        with pytest.raises(OptionError, match="opponents"):
            make(name, num_players=players, opponents=wrong)


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_unknown_opponent_raises_and_names_the_known_ones(name: str, players: int) -> None:
    exist = GAMES[name].agents_for(players)
    for wrong in {"nobody", *GAMES[name].agents} - {*exist}:
        with pytest.raises(UnknownNameError, match=f"'{wrong}' for.* {players} players: {', '.join(exist)};"):
            make(name, num_players=players, opponents=wrong)


class Recorder:
    """An agent that plays the first legal action and records the seats it plays."""

    name = "recorder"

    def __init__(self, name: str, players: int, **options: Any) -> None:
        self.game: Game = game_of(name, players, **options)
        self.seats: list[int] = []

    def act(self, states: States) -> np.ndarray:
        assert not states.over.any()
        self.seats += states.mover.tolist()
        return self.game.masks(states).argmax(axis=1)


@pytest.mark.parametrize("name", GAMES)
def test_opponents_in_a_list_sit_in_order_after_the_learner(name: str) -> None:
    players = more_players(name)
    for seat in range(players):
        sitting = [Recorder(name, players) for _ in range(players - 1)]
        env = make(name, num_players=players, opponents=sitting, seat=seat)
        _, info = env.reset(seed=seat)
        episode(env, np.random.default_rng(0), info["action_mask"])
        for offset, agent in enumerate(sitting, start=1):
            assert set(agent.seats) <= {(seat + offset) % players}
        assert any(agent.seats for agent in sitting)


@pytest.mark.parametrize("name", GAMES)
def test_mixture_draws_opponents_with_the_given_weights(name: str) -> None:
    options = AGREED_ORDER[name]
    players = more_players(name)
    often, seldom = Recorder(name, players, **options), Recorder(name, players, **options)
    env = make(name, num_players=players, opponents={often: 3.0, seldom: 1.0}, seat=1, **options)
    env.reset(seed=5)
    met = 0
    for _ in range(800):
        before = len(often.seats)
        env.reset()
        met += 0 in often.seats[before:]  # seat 0 starts
    assert met / 800 == pytest.approx(0.75, abs=5 * (0.75 * 0.25 / 800) ** 0.5)
    assert seldom.seats


@pytest.mark.parametrize("name", GAMES)
def test_seat_can_be_fixed_rotating_or_random(name: str) -> None:
    players = more_players(name)
    fixed = make(name, num_players=players, seat=2)
    assert {fixed.reset(seed=s) and fixed.seat for s in range(10)} == {2}
    turning = make(name, num_players=players, seat="rotate")
    seats = [turning.reset(seed=7 if k == 0 else None) and turning.seat for k in range(3 * players)]
    assert [(seat - seats[0]) % players for seat in seats] == [*range(players)] * 3
    drawn = make(name, num_players=players, seat="random")
    drawn.reset(seed=1)
    counts = np.bincount([drawn.reset() and drawn.seat for _ in range(300 * players)], minlength=players)
    assert ((counts - 300) ** 2 / 300).sum() < chi2.isf(1e-6, players - 1)
    for wrong in (-1, players, "left", 0.5):
        with pytest.raises(OptionError, match="seat"):
            make(name, num_players=players, seat=wrong)


@pytest.mark.parametrize("name", GAMES)
def test_first_player_option_decides_who_starts(name: str) -> None:
    players = more_players(name)
    for first in range(players):
        recorder = Recorder(name, players, **AGREED_ORDER[name])
        env = make(name, num_players=players, opponents=recorder, seat=0, **AGREED_ORDER[name])
        env.reset(seed=3, options={"first_player": first})
        assert recorder.seats[:1] == [first] * (first > 0)
        if EVEN_TURNS[name] is not None:
            assert list(dict.fromkeys(recorder.seats)) == list(range(first, players)) * (first > 0)
    for wrong in (-1, players, "player_0"):
        with pytest.raises(OptionError, match="first_player"):
            env.reset(options={"first_player": wrong})


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("mixture", [False, True], ids=["random", "mixture"])
@pytest.mark.parametrize("copy", [deepcopy, lambda env: pickle.loads(pickle.dumps(env)), SingleAgentEnv.clone])
def test_copies_in_mid_game_continue_alike_and_independently(name: str, mixture: bool, copy: Any) -> None:
    players = more_players(name)
    opponents = dict.fromkeys(opponents_of(name, players), 1) if mixture else "random"
    env = make(name, num_players=players, opponents=opponents, **SHORT[name])
    _, info = env.reset(seed=10)  # this game lasts for more than three decisions in every game type
    mask = info["action_mask"]
    for _ in range(3):
        *_, info = env.step(legal_of(mask)[0])
        mask = info["action_mask"]
    env.action_space.seed(3)
    twin = copy(env)
    before = env.state.tobytes()
    futures = []
    for one in (twin, env):
        assert one.state.tobytes() == before
        assert (one.action_masks() == mask).all()
        sampled = [int(one.action_space.sample()) for _ in range(5)]
        played = episode(one, np.random.default_rng(8), mask)
        again, _ = one.reset()
        futures.append((sampled, played, again.tobytes(), one.seat))
    assert futures[0] == futures[1]
    assert set(futures[0][0]) <= set(legal_of(mask))


@pytest.mark.parametrize("name", GAMES)
def test_clones_with_different_seeds_diverge(name: str) -> None:
    env = make(name)
    _, info = env.reset(seed=6)
    played = [
        episode(one, np.random.default_rng(8), info["action_mask"])
        for one in (env.clone(1), env.clone(2), env.clone(1))
    ]
    assert played[0] == played[2] != played[1]


@pytest.mark.parametrize("name", GAMES)
def test_sampled_actions_are_always_legal(name: str) -> None:
    """Uses `env.step(env.action_space.sample())` through all wrappers that `gym.make` adds."""
    env = gym.make(GAMES[name].gym_id)
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(500):
        *_, terminated, truncated, info = env.step(env.action_space.sample())
        assert info["action_mask"].any() != (terminated or truncated)
        if terminated or truncated:
            env.reset()


@pytest.mark.parametrize("name", GAMES)
def test_score_rewards_add_up_to_the_score(name: str) -> None:
    with pytest.raises(OptionError, match="reward"):
        make(name, reward="money")
    env = make(name, num_players=more_players(name), reward="score")
    for seed in range(5):
        _, info = env.reset(seed=seed)
        steps = episode(env, np.random.default_rng(seed), info["action_mask"])
        score = int(env.state.scores[env.seat])
        assert sum(step[2] for step in steps) == pytest.approx(env.game.score_scale * score)


def test_points_before_the_first_decision_are_paid_with_it() -> None:
    """In Last Die others can make a player score; with this seed it has points before its first throw."""
    env = make("last_die", num_players=5, steer=True, rounds_each=1, seat="random", reward="score")
    _, info = env.reset(seed=42)
    before, steps = int(env.state.scores[env.seat]), episode(env, np.random.default_rng(0), info["action_mask"])
    assert before > 0
    score = int(env.state.scores[env.seat])
    assert sum(step[2] for step in steps) == pytest.approx(env.game.score_scale * score)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seed", range(4))  # the learner ends before the others in some games and with them in others
def test_step_after_the_end_says_that_the_game_has_ended(name: str, seed: int) -> None:
    env = make(name, num_players=max(players for game, players in TABLES if game == name), seat="rotate", **SHORT[name])
    _, info = env.reset(seed=seed)
    episode(env, np.random.default_rng(seed), info["action_mask"])
    with pytest.raises(NotResetError, match="the game has ended for the learner: call reset"):
        env.step(0)


@pytest.mark.parametrize("name", GAMES)
def test_reset_options_that_are_not_a_mapping_raise(name: str) -> None:
    with pytest.raises(OptionError, match="a mapping, got 5"):
        make(name).reset(options=5)


@pytest.mark.parametrize("name", GAMES)
def test_rendered_text_and_picture_follow_the_position(name: str) -> None:
    for mode, kind in (("ansi", str), ("rgb_array", np.ndarray)):
        env = make(name, render_mode=mode)
        env.reset(seed=0)
        first = env.render()
        assert isinstance(first, kind)
        env.step(legal_of(env.action_masks())[0])
        assert not np.array_equal(first, env.render())
        env.close()
    env = make(name)
    env.reset(seed=0)
    assert env.render() is None
