"""Inputs that broke other environments, over every game: figures that are known beforehand, and whole games."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.helpers import SHORT, column, game_of, more_players, opponents_of, pick, play_aec, player_counts
from tests.interfaces import aec, every_game
from trialea import GAMES
from trialea.agents import lattice
from trialea.envs.jit import entry
from trialea.envs.no_dice import rules
from trialea.envs.single import SingleAgentEnv
from trialea.envs.vector import BatchedEnv
from trialea.evaluation import evaluate

# --- 9. Same agent on both sides -------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "agent"), [(name, agent) for name in GAMES for agent in opponents_of(name)])
def test_case_9_an_agent_against_itself_is_even(name: str, agent: str) -> None:
    """Case 9: two copies, seats rotated: equal starts, an interval round one half, and the seat effect shown.

    Of more than two seats each copy has as many as the other, or one more, in turn.
    """
    game = game_of(name, **SHORT[name])
    even = 1 / game.num_players
    for duplicate in (True, False):
        found = evaluate(game, [agent, agent], num_games=600, duplicate=duplicate, regret=False, confidence=0.9999)
        assert column(found, "starts") == (found.games // 2, found.games // 2)
        for low, high in column(found, "interval"):
            assert low <= 0.5 <= high
        assert [seat.effect for seat in found.seats] == pytest.approx([seat.win_rate - even for seat in found.seats])
        assert sum(seat.win_rate for seat in found.seats) == pytest.approx(1)
        for seat in found.seats:
            low, high = seat.effect_interval
            assert low < seat.effect < high


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
    values[patterns] = stop
    lattice.expect(values, shape)
    for _ in range(throws - 1):
        values[patterns] = stop
        lattice.choose_best(values, shape)
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


# --- 13. Whole-game dtype and space ----------------------------------------------------------------------


@every_game
def test_case_13_every_observation_of_1000_games_is_inside_its_space(name: str) -> None:
    """Case 13: dtype included; and no array handed out earlier changes later."""
    rng = np.random.default_rng(0)
    counts = player_counts(name)
    for players in counts:
        envs = BatchedEnv(name, 50, num_players=players, **SHORT[name])
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
    env = aec(name, more_players(name))
    env.reset(seed=seed)
    for agent, observation, *_ in play_aec(env, np.random.default_rng(seed)):
        yield observation, env.observation_space(agent)


def _single_game(name: str, seed: int) -> Iterator[tuple[Any, gym.Space[Any]]]:
    env = SingleAgentEnv(name, more_players(name))
    observation, info = env.reset(seed=seed)
    rng, over = np.random.default_rng(seed), False
    while not over:
        yield observation, env.observation_space
        observation, _, terminated, truncated, info = env.step(pick(info["action_mask"], rng))
        over = terminated or truncated
    yield observation, env.observation_space
