"""Tests of the batched environment: it equals single environments in every autoreset mode."""

from __future__ import annotations

import pickle
from copy import deepcopy
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from tests.helpers import SHORT, SOME_TABLES, more_players, opponents_of, run_python
from trialea import GAMES, IllegalActionError, NotResetError, OptionError
from trialea.envs.single import SingleAgentEnv
from trialea.envs.vector import BatchedEnv

COUNT = 5


def batch(name: str, count: int = COUNT, **kwargs: Any) -> BatchedEnv:
    """Make a batch of short games, so that many of them end."""
    return BatchedEnv(name, count, **{**SHORT[name], **kwargs})


def singles(name: str, count: int = COUNT, mode: str = "NextStep", **kwargs: Any) -> SyncVectorEnv:
    """Make a SyncVectorEnv of single environments with the same arguments."""
    return SyncVectorEnv([partial(SingleAgentEnv, name, **{**SHORT[name], **kwargs})] * count, autoreset_mode=mode)


def choose(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return random legal actions, and 0 for games that have ended."""
    return np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])


def assert_same(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert data_equivalence(one, other, exact=True), f"{one}\n{other}"


def assert_same_play(ours: BatchedEnv, theirs: SyncVectorEnv, steps: int, seed: int) -> int:
    """Play both side by side with the same actions; return the number of episodes that ended."""
    rng = np.random.default_rng(seed)
    result = ours.reset(seed=seed)
    assert_same(result, theirs.reset(seed=seed))
    ended = 0
    for _ in range(steps):
        actions = choose(result[-1]["action_mask"], rng)
        result = ours.step(actions)
        assert_same(result, theirs.step(actions))
        ended += int((result[2] | result[3]).sum())
    return ended


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize(("name", "players"), SOME_TABLES)
def test_batch_equals_single_environments_with_mixed_opponents(name: str, players: int, mode: str) -> None:
    opponents = dict.fromkeys(opponents_of(name, players), 1)
    kwargs = {"num_players": players, "opponents": opponents}
    ended = assert_same_play(
        batch(name, autoreset_mode=mode, **kwargs), singles(name, mode=mode, **kwargs), 80, seed=players
    )
    assert ended > COUNT


@pytest.mark.parametrize(
    "kwargs", [{"seat": 0}, {"seat": "rotate"}, {"reward": "score"}, {"opponents": "random"}], ids=str
)
@pytest.mark.parametrize("name", GAMES)
def test_batch_equals_single_environments_with_other_arguments(name: str, kwargs: dict[str, Any]) -> None:
    if kwargs.get("seat") == "rotate":
        kwargs = {**kwargs, "num_players": more_players(name)}
    for mode in ("NextStep", "SameStep"):
        theirs = singles(name, mode=mode, **kwargs)
        assert assert_same_play(batch(name, autoreset_mode=mode, **kwargs), theirs, 80, seed=1)


@pytest.mark.parametrize("name", GAMES)
def test_batch_equals_single_environments_with_listed_opponents(name: str) -> None:
    players = more_players(name)
    kwargs = {"num_players": players, "opponents": (opponents_of(name, players) * players)[: players - 1]}
    assert assert_same_play(batch(name, **kwargs), singles(name, **kwargs), 80, seed=2)


@pytest.mark.parametrize("name", GAMES)
def test_same_step_autoreset_returns_final_observation_and_info(name: str) -> None:
    envs = batch(name, autoreset_mode="SameStep")
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    endings, paid = 0, set()
    for _ in range(100):
        observations, rewards, terminated, truncated, infos = envs.step(choose(infos["action_mask"], rng))
        over = terminated | truncated
        assert infos["action_mask"].any(axis=1).all()  # the masks already belong to the next episode
        assert ("final_obs" in infos) == over.any()
        for i in np.flatnonzero(over):
            endings += 1
            assert infos["_final_obs"][i]
            assert infos["final_obs"][i] in envs.single_observation_space
            assert not np.array_equal(infos["final_obs"][i], observations[i])
            assert not infos["final_info"]["action_mask"][i].any()
            assert -1 / (envs.game.num_players - 1) <= rewards[i] <= 1
            paid.add(float(rewards[i]))
        assert not rewards[~over].any()
    assert endings > COUNT
    assert min(paid) < 0 < max(paid) == 1


@pytest.mark.parametrize("name", GAMES)
def test_next_step_autoreset_ignores_the_action_and_pays_nothing(name: str) -> None:
    envs = batch(name)
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    ended = np.zeros(COUNT, bool)
    for _ in range(100):
        assert (infos["action_mask"].any(axis=1) == ~ended).all()
        actions = choose(infos["action_mask"], rng)
        actions[ended] = -7
        _, rewards, terminated, truncated, infos = envs.step(actions)
        assert not rewards[ended].any()
        assert not (terminated | truncated)[ended].any()
        ended = terminated | truncated


@pytest.mark.parametrize("name", GAMES)
def test_without_autoreset_the_reset_mask_selects_games_to_reset(name: str) -> None:
    ours, theirs = batch(name, autoreset_mode="Disabled"), singles(name, mode="Disabled")
    rng = np.random.default_rng(3)
    result = ours.reset(seed=3)
    assert_same(result, theirs.reset(seed=3))
    masks, resets = result[-1]["action_mask"], 0
    for _ in range(150):
        actions = choose(masks, rng)
        result = ours.step(actions)
        assert_same(result, theirs.step(actions))
        over = result[2] | result[3]
        masks = ours.action_masks()
        assert (masks.any(axis=1) == ~over).all()
        if over.any():
            resets += 1
            if resets % 3 == 0:
                with pytest.raises(NotResetError, match="reset_mask"):
                    ours.step(actions)
            seed = [100 * resets + i if resets % 2 else None for i in range(COUNT)]
            observations, infos = ours.reset(seed=seed, options={"reset_mask": over})
            expected, expected_infos = theirs.reset(seed=seed, options={"reset_mask": over})
            assert_same((observations,), (expected,))
            assert (infos["action_mask"][over] == expected_infos["action_mask"][over]).all()
            masks = ours.action_masks()
            assert masks.any(axis=1).all()
    assert resets > 3


@pytest.mark.parametrize("name", GAMES)
def test_wrong_reset_mask_raises(name: str) -> None:
    envs = batch(name, autoreset_mode="Disabled")
    with pytest.raises(NotResetError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.arange(COUNT) == 1})
    envs.reset(seed=0)
    for wrong in (np.zeros(COUNT, bool), np.ones(COUNT - 1, bool), np.ones(COUNT, int)):
        with pytest.raises(OptionError, match="reset_mask"):
            envs.reset(options={"reset_mask": wrong})


@pytest.mark.parametrize("mode", [None, "vector_entry_point", "sync", "async"])
@pytest.mark.parametrize("name", GAMES)
def test_make_vec_works_in_every_vectorization_mode(name: str, mode: str | None) -> None:
    envs = gym.make_vec(GAMES[name].gym_id, num_envs=3, **({"vectorization_mode": mode} if mode else {}))
    assert isinstance(envs.unwrapped, BatchedEnv) == (mode in (None, "vector_entry_point"))
    reference = SyncVectorEnv([partial(SingleAgentEnv, name)] * 3)
    rng = np.random.default_rng(0)
    result = envs.reset(seed=4)
    assert_same(result, reference.reset(seed=4))
    for _ in range(30):
        actions = choose(result[-1]["action_mask"], rng)
        result = envs.step(actions)
        assert_same(result, reference.step(actions))
    envs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", GAMES)
def test_make_vec_passes_on_the_autoreset_mode(name: str, mode: AutoresetMode) -> None:
    players = more_players(name)
    envs = gym.make_vec(GAMES[name].gym_id, num_envs=2, autoreset_mode=mode, num_players=players)
    assert envs.metadata["autoreset_mode"] is mode
    assert envs.unwrapped.autoreset_mode is mode
    assert envs.unwrapped.game.num_players == players


@pytest.mark.slow  # starts two processes
def test_spawned_workers_find_the_environment_without_a_main_file() -> None:
    """The environment's id contains the package's name, so that a worker can import it."""
    code = """
from functools import partial
import gymnasium as gym
import trialea
from gymnasium.vector import AsyncVectorEnv
envs = AsyncVectorEnv([partial(gym.make, "trialea:trialea/NoDice-v0")] * 2, context="spawn")
print(envs.reset(seed=0)[0].shape[0])
envs.close()
"""
    assert run_python(code) == "2\n"


# The first game runs by default; the others are slow tests.
ONE_GAME_OR_ALL = [pytest.param(name, marks=[pytest.mark.slow] * (place > 0)) for place, name in enumerate(GAMES)]


@pytest.mark.parametrize("name", ONE_GAME_OR_ALL)
def test_spawned_workers_play_the_same_games(name: str) -> None:
    kwargs = {"num_players": more_players(name), **SHORT[name]}
    workers = AsyncVectorEnv([partial(gym.make, f"trialea:{GAMES[name].gym_id}", **kwargs)] * 2, context="spawn")
    ours = batch(name, 2, **kwargs)
    rng = np.random.default_rng(0)
    result = ours.reset(seed=9)
    assert_same(result, workers.reset(seed=9))
    for _ in range(60):
        actions = choose(result[-1]["action_mask"], rng)
        result = ours.step(actions)
        assert_same(result, workers.step(actions))
    workers.close()


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("copy", [deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))])
def test_copies_in_mid_game_continue_alike_and_independently(name: str, copy: Any) -> None:
    envs = batch(name, num_players=more_players(name))
    rng = np.random.default_rng(1)
    _, infos = envs.reset(seed=2)
    for _ in range(7):
        *_, infos = envs.step(choose(infos["action_mask"], rng))
    twin = copy(envs)
    before = envs.games.states.tobytes()
    futures = []
    for one in (twin, envs):
        assert one.games.states.tobytes() == before
        rng, masks, played = np.random.default_rng(5), one.action_masks(), []
        for _ in range(60):
            *result, infos = one.step(choose(masks, rng))
            masks = infos["action_mask"]
            played += [array.tobytes() for array in (*result, masks)]
        futures.append(played)
    assert futures[0] == futures[1]


@pytest.mark.parametrize("name", GAMES)
def test_illegal_action_changes_no_game_and_names_the_game(name: str) -> None:
    envs = batch(name)
    _, infos = envs.reset(seed=0)
    actions = choose(infos["action_mask"], np.random.default_rng(0))
    before = envs.games.states.tobytes()
    for wrong in (-1, envs.game.num_actions, *np.flatnonzero(infos["action_mask"][3] == 0)[:1].tolist()):
        bad = actions.copy()
        bad[3] = wrong
        with pytest.raises(IllegalActionError, match=rf"game 3: action {wrong}\b"):
            envs.step(bad)
        assert envs.games.states.tobytes() == before
    for malformed in (actions.astype(float), actions[:-1], actions[None]):
        with pytest.raises(IllegalActionError):
            envs.step(malformed)
    envs.step(actions.tolist())
    envs.step(choose(envs.action_masks(), np.random.default_rng(0)).astype(np.int32))


@pytest.mark.parametrize("name", GAMES)
def test_game_does_not_depend_on_the_rest_of_the_batch(name: str) -> None:
    few, many = (batch(name, count, num_players=more_players(name)) for count in (2, 40))
    rng = np.random.default_rng(0)
    observations, infos = few.reset(seed=[30, 8])
    all_observations, all_infos = many.reset(seed=range(40))
    for _ in range(60):
        assert (observations == all_observations[[30, 8]]).all()
        actions = choose(all_infos["action_mask"], rng)
        observations, rewards, *_, infos = few.step(actions[[30, 8]])
        all_observations, all_rewards, *_, all_infos = many.step(actions)
        assert (rewards == all_rewards[[30, 8]]).all()
        assert (infos["action_mask"] == all_infos["action_mask"][[30, 8]]).all()


@pytest.mark.parametrize("name", GAMES)
def test_bad_arguments_seeds_and_order_of_calls_raise(name: str) -> None:
    with pytest.raises(OptionError, match="num_envs"):
        batch(name, 0)
    with pytest.raises(OptionError, match="render"):
        batch(name, render_mode="human")
    envs = batch(name, 2, render_mode="ansi")
    for use in (lambda: envs.step([0, 0]), envs.render):
        with pytest.raises(NotResetError, match=r"reset\(\)"):
            use()
    with pytest.raises(OptionError, match="one number or 2"):
        envs.reset(seed=[1])
    with pytest.raises(OptionError, match="seed"):
        envs.reset(seed=[1, -1])
    envs.reset(seed=[1, None])
    assert [type(text) for text in envs.render()] == [str, str]
