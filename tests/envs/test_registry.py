"""Tests that every registered game works with all its options, agents and its solver."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

import trialea
from tests.helpers import (
    SHORT,
    SOME_TABLES,
    VARIANTS,
    assert_masks_agree,
    game_of,
    more_players,
    opponents_of,
    pick,
    play_aec,
    player_counts,
    positions,
)
from tests.interfaces import aec, every_game
from trialea import GAMES, OptionError, make_agent
from trialea.agents import solve, solver_settings
from trialea.envs.single import SingleAgentEnv
from trialea.envs.vector import BatchedEnv
from trialea.evaluation import evaluate
from trialea.training.config import TrainConfig

every_variant = pytest.mark.parametrize(
    ("name", "options"),
    [pytest.param(name, options, id=f"{name}-{options}") for name in GAMES for options in VARIANTS[name]],
)

# Numbers of players ----------------------------------------------------------------------------------------------


@every_game
def test_default_number_of_players_is_the_smallest(name: str) -> None:
    fewest = min(player_counts(name))
    games = {
        "make_game": trialea.make_game(name),
        "aec": aec(name).game,
        "single": SingleAgentEnv(name).game,
        "gym.make": gym.make(GAMES[name].gym_id).unwrapped.game,
        "make_vec": gym.make_vec(GAMES[name].gym_id, num_envs=2).unwrapped.game,
        "batched": BatchedEnv(name).game,
        "training": TrainConfig(game=name, frames=1).make_game(),
    }
    assert {kind: game.num_players for kind, game in games.items()} == dict.fromkeys(games, fewest)
    assert evaluate(name, ["random", "random"], num_games=2, regret=False).players == fewest


# Options ---------------------------------------------------------------------------------------------------------


@every_game
def test_variants_together_change_every_option(name: str) -> None:
    """Otherwise the tests below would leave an option untested."""
    changed = {key for options in VARIANTS[name] for key in options}
    assert changed == {field.name for field in fields(game_of(name).options)}


@every_variant
def test_variant_has_correct_sizes_and_plays_to_the_end(name: str, options: dict[str, Any]) -> None:
    for players in (min(player_counts(name)), max(player_counts(name))):
        env = aec(name, players, **options)
        game = env.game
        assert env.action_space("player_0").n == game.num_actions
        assert env.observation_space("player_0")["observation"].shape == (len(game.observation_names()),)
        env.reset(seed=players)
        rewards = dict.fromkeys(env.possible_agents, 0.0)
        for agent, observation, reward, done, _ in play_aec(env, np.random.default_rng(players)):
            assert observation in env.observation_space(agent)
            assert observation["action_mask"].any() != done
            rewards[agent] += reward
        assert env.game_state.over
        assert list(rewards.values()) == pytest.approx((env.game_state.share[:players] * players - 1) / (players - 1))


@every_variant
def test_variant_agrees_on_legal_actions_and_names_them(name: str, options: dict[str, Any]) -> None:
    game = game_of(name, **options)
    states = positions(game, 100, seed=4)
    masks = assert_masks_agree(game, states)
    for state, mask in zip(states[:20], masks, strict=False):
        for action in range(game.num_actions):
            assert game.action_name(state, action)
            assert mask[action] or "illegal: " in game.why_illegal(state, action)


@every_variant
def test_variant_plays_the_same_in_a_batch(name: str, options: dict[str, Any]) -> None:
    players = more_players(name)
    envs = BatchedEnv(name, 3, num_players=players, reward="score", **options)
    singles = [SingleAgentEnv(name, players, reward="score", **options) for _ in range(3)]
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=7)
    for i, env in enumerate(singles):
        env.reset(seed=7 + i)
    for _ in range(40):
        actions = [pick(mask, rng) for mask in infos["action_mask"]]
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        for i, env in enumerate(singles):
            observation, reward, *over, info = env.step(actions[i])
            assert (observation == observations[i]).all()
            assert (info["action_mask"] == infos["action_mask"][i]).all()
            assert (reward, *over) == (rewards[i], terminated[i], truncated[i])
        if (terminated | truncated).any():
            break


# Infos of a reset ------------------------------------------------------------------------------------------------


@every_variant
def test_reset_reports_the_opening_in_every_interface(name: str, options: dict[str, Any]) -> None:
    env, single, envs = aec(name, **options), SingleAgentEnv(name, **options), BatchedEnv(name, 2, **options)
    for seed in range(3):
        env.reset(seed=seed)
        report = env.game.opening(env.game_state)
        assert data_equivalence(env.infos, dict.fromkeys(env.possible_agents, report), exact=True)
        _, info = single.reset(seed=seed)
        assert info.pop("action_mask").any()
        own = {"skipped_games": info.pop("skipped_games"), "skipped_reward": info.pop("skipped_reward")}
        assert data_equivalence(info, single.game.opening(single.state), exact=True)
        _, infos = envs.reset(seed=seed)
        for key, value in {**info, **own}.items():
            assert (infos[key][0] == value).all() and infos[f"_{key}"].all()


@every_variant
def test_reset_infos_keep_their_keys_shapes_and_types(name: str, options: dict[str, Any]) -> None:
    """TorchRL requires this: every reset has the same keys, shapes and types as the first one."""
    env, single = aec(name, more_players(name), **options), SingleAgentEnv(name, more_players(name), **options)
    seen = set()
    for seed in range(20):
        env.reset(seed=seed)
        infos = [*env.infos.values(), single.reset(seed=seed)[1]]
        kinds = [{key: (np.asarray(value).dtype, np.shape(value)) for key, value in info.items()} for info in infos]
        assert all(dtype.kind in "if" for kind in kinds for dtype, _ in kind.values())
        seen.add(str(kinds))
    assert len(seen) == 1


@every_game
def test_agents_infos_are_separate_objects(name: str) -> None:
    env = aec(name)
    env.reset(seed=0)
    untouched = env.infos["player_1"].copy()
    env.infos["player_0"].clear()
    assert env.infos["player_1"] == untouched


# Agents and solvers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "players", "agent"),
    [(name, players, agent) for name, players in SOME_TABLES for agent in opponents_of(name, players)],
)
def test_agent_chooses_the_same_actions_alone_and_in_a_batch(name: str, players: int, agent: str) -> None:
    game = game_of(name, players, **SHORT[name])
    states = positions(game, 60, seed=players)
    before = states.tobytes()
    chosen = make_agent(agent, game, 3).act(states)
    assert chosen.shape == (60,)
    assert game.masks(states)[np.arange(60), chosen].all()
    again = make_agent(agent, game, 3)
    assert again.name == agent
    assert [int(again.act(states[i : i + 1].view(np.recarray))[0]) for i in range(60)] == chosen.tolist()
    assert states.tobytes() == before
    assert again.act(game.start([])).shape == (0,)


@every_game
def test_solver_rejects_unknown_settings(name: str) -> None:
    settings = solver_settings(name)
    assert not set(settings) & {
        field.name for field in fields(game_of(name).options)
    }  # options and settings share one command line
    with pytest.raises(OptionError, match="no setting colour"):
        solve(game_of(name), colour="red")


@every_game
def test_solver_rejects_other_games(name: str) -> None:
    own = import_module(GAMES[name].solver)
    for other in set(GAMES) - {name}:
        with pytest.raises(OptionError, match=f"supports {name} only, got {other}"):
            own.solve(game_of(other))


def test_solver_of_poker_figures_requires_the_number_of_turns() -> None:
    assert dict(solver_settings("poker_figures")) == {"turns": None}
    with pytest.raises(OptionError, match="turns"):
        solve(game_of("poker_figures"))


@pytest.mark.parametrize("seeds", [[-1], [2**64], [1.7], ["a"], 7, [[1, 2]], [True], None])
def test_wrong_seeds_raise(seeds: Any) -> None:
    with pytest.raises(OptionError, match="seeds must be a row of whole numbers from 0 to 18446744073709551615, got"):
        game_of("no_dice").start(seeds)


@every_game
def test_agent_made_for_another_game_is_rejected(name: str) -> None:
    """Every built-in agent stores the game it was made for."""
    players, options = more_players(name), SHORT[name]
    made, other = game_of(name, **options), game_of(name, players, **options)
    for agent in opponents_of(name, players):
        with pytest.raises(OptionError, match=f"agent {agent!r} is for .*, not .*: make one for the game"):
            make_agent(make_agent(agent, made), other)
        assert make_agent(make_agent(agent, other), game_of(name, players, **options)).name == agent
