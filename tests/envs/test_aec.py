"""Tests of the PettingZoo (AEC) environment: PettingZoo's own checks, rewards, truncation, copies and errors."""

from __future__ import annotations

import pickle
import warnings
from copy import deepcopy
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from pettingzoo.utils import BaseWrapper
from pettingzoo.utils.conversions import aec_to_parallel

from tests.helpers import AGREED_ORDER, EVEN_TURNS, TABLES, legal_of, more_players, pick, play_aec
from tests.interfaces import aec
from trialea import GAMES, IllegalActionError, NotResetError, OptionError
from trialea.envs.aec import MultiAgentEnv

with warnings.catch_warnings():  # PettingZoo's tests import one of its environments in a deprecated way
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, max_cycles_test, render_test, seed_test

# PettingZoo's tests warn about dict observations outside its own environments, and about the empty mask of a finished
# agent. Any other warning fails the test.
expect_dict_observations = pytest.mark.filterwarnings(
    "ignore:^Observation is not a NumPy array$:UserWarning",
    r"ignore:^Observation space for each agent probably should be gymnasium\.spaces\.box or:UserWarning",
    r"ignore:^Action mask numpy array is all zeros \(no legal actions\)\.$:UserWarning",
)


class WholeTurns(BaseWrapper[str, Any, Any]):
    """A wrapper in which one step is a whole turn, and any number is a valid action.

    `max_cycles_test` counts steps, where this library counts turns. It also draws actions without a mask, in the
    parallel form even before the player's dice are thrown. So number k means legal action k, modulo the number of
    legal actions. Terminations and truncations, which that test is about, pass through unchanged.
    """

    def __init__(self, env: MultiAgentEnv) -> None:
        super().__init__(env)
        self.metadata = {**env.metadata, "is_parallelizable": True}

    def step(self, action: int | None) -> None:
        if action is None:
            self.env.step(None)
            return
        agent = self.env.agent_selection
        seat = self.env.possible_agents.index(agent)
        turns = int(self.env.game_state.turns[seat])
        while self.env.game_state.turns[seat] == turns:
            legal = legal_of(self.env.observe(agent)["action_mask"])
            self.env.step(legal[action % len(legal)])


@expect_dict_observations
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_pettingzoo_api_check_passes(name: str, players: int) -> None:
    api_test(aec(name, players), num_cycles=100)


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_pettingzoo_seed_check_passes(name: str, players: int) -> None:
    seed_test(partial(aec, name, players), num_cycles=100)


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_pettingzoo_max_cycles_check_passes(name: str, players: int) -> None:
    options = EVEN_TURNS[name]
    if options is None:
        pytest.skip("it wants steps in equal number from everybody, and here those without dice are passed over")

    def env(max_cycles: int) -> WholeTurns:
        return WholeTurns(aec(name, players, max_cycles=max_cycles, **options))

    max_cycles_test(SimpleNamespace(env=env, parallel_env=lambda max_cycles: aec_to_parallel(env(max_cycles))))


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_pettingzoo_render_check_passes(name: str, players: int) -> None:
    def env(render_mode: str) -> MultiAgentEnv:
        made = aec(name, players, render_mode=render_mode)
        made._renderer._fps = 0  # run without delays between frames
        return made

    render_test(env)


@pytest.mark.parametrize("name", GAMES)
def test_raw_env_env_and_registry_make_the_same_environment(name: str) -> None:
    module = import_module(GAMES[name].aec_module)
    players = more_players(name)
    made = pettingzoo.make("aec", GAMES[name].pettingzoo_id, num_players=players)
    for env in (made, module.raw_env(num_players=players), module.env(num_players=players)):
        assert isinstance(env.unwrapped, MultiAgentEnv)
        assert env.possible_agents == [f"player_{seat}" for seat in range(players)]
        env.reset(seed=1)
        assert env.unwrapped.game_state.tobytes() == made.unwrapped.game_state.tobytes() or env is made


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_win_rewards_match_the_shares_and_are_paid_once(name: str, players: int) -> None:
    env = aec(name, players)
    for seed in range(5):
        env.reset(seed=seed)
        earned = dict.fromkeys(env.possible_agents, 0.0)
        endings = dict.fromkeys(env.possible_agents, 0)
        for agent, observation, reward, done, _ in play_aec(env, np.random.default_rng(seed)):
            earned[agent] += reward
            endings[agent] += done
            assert observation["action_mask"].any() != done
            assert not endings[agent] or done
        assert set(endings.values()) == {1}
        shares = env.game_state.share[:players]
        assert list(earned.values()) == pytest.approx((shares * players - 1) / (players - 1))


@pytest.mark.parametrize("name", GAMES)
def test_score_rewards_add_up_to_the_score(name: str) -> None:
    env = aec(name, more_players(name), reward="score")
    env.reset(seed=2)
    earned = dict.fromkeys(env.possible_agents, 0.0)
    for agent, _, reward, _, _ in play_aec(env, np.random.default_rng(2)):
        earned[agent] += reward
    assert list(earned.values()) == pytest.approx(env.game.score_scale * env.game_state.scores[: more_players(name)])


@pytest.mark.parametrize("name", GAMES)
def test_only_the_mover_has_legal_actions(name: str) -> None:
    env = aec(name, more_players(name))
    env.reset(seed=3)
    for agent, _, _, done, _ in play_aec(env, np.random.default_rng(3)):
        state = env.game_state
        assert done or agent == f"player_{state.mover}"
        for seat, other in enumerate(env.possible_agents):
            mask = env.observe(other)["action_mask"]
            assert mask.any() == (seat == state.mover and not state.over)
            assert mask.dtype == np.int8


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("max_cycles", [1, 3])
def test_max_cycles_truncates_players_after_that_many_turns(name: str, max_cycles: int) -> None:
    for seed in range(40):
        env = aec(name, more_players(name), max_cycles=max_cycles)
        env.reset(seed=seed)
        over = {}
        for agent, _, _, done, _ in play_aec(env, np.random.default_rng(seed)):
            if done:
                over[agent] = (env.terminations[agent], env.truncations[agent])
        state = env.game_state
        assert over.keys() == set(env.possible_agents)
        for seat, agent in enumerate(env.possible_agents):
            assert over[agent] == (bool(state.finished[seat]), not state.finished[seat])
        if not state.over:
            turns = {int(state.turns[seat]) for seat in range(env.game.num_players) if not state.finished[seat]}
            assert min(turns) == max_cycles
            assert EVEN_TURNS[name] is None or len(turns) == 1


def test_player_eliminated_in_the_last_cycle_is_terminated() -> None:
    """No Dice: seat 2 goes out with the same move after which the game is truncated for the others."""
    env = aec("no_dice", 3, max_cycles=1, throws=1, target=1000)
    env.reset(seed=0, options={"first_player": 0})
    for _ in range(2):
        env.step(pick(env.observe(env.agent_selection)["action_mask"], np.random.default_rng(0)))
    env.game_state.scores[2] = 999
    mask = env.observe("player_2")["action_mask"]
    worst = max(legal_of(mask), key=lambda action: _points(env, action))
    assert _points(env, worst) > 0
    env.step(worst)
    assert env.terminations == {"player_0": False, "player_1": False, "player_2": True}
    assert env.truncations == {"player_0": True, "player_1": True, "player_2": False}


def _points(env: MultiAgentEnv, action: int) -> int:
    after = env.game.choose(env._states, [action])
    return int(after.scores.sum() - env.game_state.scores.sum())


@pytest.mark.parametrize("name", GAMES)
def test_first_player_option_decides_who_starts(name: str) -> None:
    players = more_players(name)
    env = aec(name, players, **AGREED_ORDER[name])
    for first in range(players):
        env.reset(seed=1, options={"first_player": first})
        assert env.agent_selection == f"player_{first}"
    for wrong in (-1, players, 1.0, "player_1", None):
        with pytest.raises(OptionError, match="first_player"):
            env.reset(seed=1, options={"first_player": wrong})


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("copy", [deepcopy, lambda env: pickle.loads(pickle.dumps(env)), MultiAgentEnv.clone])
def test_copies_in_mid_game_continue_alike_and_independently(name: str, copy: Any) -> None:
    env = aec(name, more_players(name), max_cycles=50)
    env.reset(seed=4)
    for step, _ in enumerate(play_aec(env, np.random.default_rng(0))):
        if step == 13:
            break
    twin = copy(env)
    before = env.game_state.tobytes()
    futures = []
    for one in (twin, env):
        assert one.game_state.tobytes() == before
        played = []
        for agent, observation, reward, done, action in play_aec(one, np.random.default_rng(1)):
            played.append((agent, observation["observation"].tobytes(), reward, done, action))
        one.reset()
        futures.append((played, one.game_state.tobytes()))
    assert futures[0] == futures[1]


@pytest.mark.parametrize("name", GAMES)
def test_methods_fail_before_reset_and_after_the_game(name: str) -> None:
    env = aec(name, render_mode="ansi")
    for use in (lambda: env.step(0), lambda: env.observe("player_0"), env.last, env.render):
        with pytest.raises(NotResetError, match=r"reset\(\)"):
            use()
    env.reset(seed=0)
    for _ in play_aec(env, np.random.default_rng(0)):
        pass
    with pytest.raises(NotResetError, match=r"reset\(\)"):
        env.step(0)
    env.reset()
    env.step(legal_of(env.observe(env.agent_selection)["action_mask"])[0])


@pytest.mark.parametrize("name", GAMES)
def test_spaces_have_the_documented_shapes_and_types(name: str) -> None:
    env = aec(name, more_players(name))
    for agent in env.possible_agents:
        assert env.action_space(agent) == spaces.Discrete(env.game.num_actions)
        observation = env.observation_space(agent)
        assert observation["observation"] == spaces.Box(0, 1, (len(env.game.observation_names()),), np.float32)
        assert observation["action_mask"] == spaces.Box(0, 1, (env.game.num_actions,), np.int8)


@pytest.mark.parametrize("name", GAMES)
def test_bad_arguments_raise_an_error_that_names_them(name: str) -> None:
    for wrong in ({"reward": "money"}, {"render_mode": "hologram"}, {"max_cycles": 0}, {"colour": 1}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            aec(name, **wrong)
    env = aec(name)
    for seed in (-1, 2**64, 1.5, "one"):
        with pytest.raises(OptionError, match="seed"):
            env.reset(seed=seed)


@pytest.mark.parametrize("name", GAMES)
def test_finished_agent_accepts_only_none(name: str) -> None:
    env = aec(name, more_players(name), max_cycles=1)
    env.reset(seed=1)
    for _, _, _, done, _ in play_aec(env, np.random.default_rng(1)):
        if done:
            with pytest.raises(IllegalActionError, match="None"):
                env.step(0)
        else:
            with pytest.raises(IllegalActionError):
                env.step(None)


@pytest.mark.parametrize("name", GAMES)
def test_methods_before_the_first_reset_name_reset_as_remedy(name: str) -> None:
    env = aec(name)
    for use in (env.agent_iter, env.last, env.render, lambda: env.step(0), lambda: env.observe("player_0")):
        with pytest.raises(NotResetError, match=r"call reset\(\) before"):
            use()
