"""The variant is what it says, in every interface; an agent is trained for it and measured."""

from pathlib import Path

import gymnasium as gym
import pettingzoo
import pytest

import own_variant
import trialea
from own_variant.main import CONFIG, run
from trialea.training import load_config


def test_every_interface_makes_the_variant() -> None:
    game = own_variant.make_game()
    assert game.num_players == 3 and game.options.target == 5 and game.options.throws == 2
    assert gym.make(own_variant.ID).unwrapped.game == game
    assert gym.make_vec(own_variant.ID, num_envs=4).unwrapped.game == game
    assert pettingzoo.make("aec", own_variant.ID).unwrapped.game == game
    assert load_config(CONFIG).make_game() == game


def test_a_batch_plays_by_its_rules() -> None:
    envs = gym.make_vec(own_variant.ID, num_envs=64, opponents="greedy")
    _, infos = envs.reset(seed=0)
    results = []
    while len(results) < 100:
        _, rewards, terminated, truncated, infos = envs.step(infos["action_mask"].argmax(axis=1))
        results += rewards[terminated].tolist()
        assert not truncated.any()
    assert set(results) <= {1.0, -0.5}  # of a win of three, or of a loss


def test_the_variant_is_solved() -> None:
    solution = trialea.solve(own_variant.make_game())
    assert solution.value(0, 0, 0) == pytest.approx(1 / 3, abs=0.1)
    assert solution.value(4, 0, 0) < solution.value(0, 0, 0) < solution.value(0, 4, 4)


def test_a_short_training_is_measured_exactly(tmp_path: Path) -> None:
    changes = ["frames=8192", "measure.games=60", "measure.times=1"]
    found = run(str(tmp_path / "run"), changes, games=60)
    assert 0 < found["value"] < 1 / 3
    assert found["exploitability"] > 0 and found["regret"] > 0
    assert (tmp_path / "run" / "model.zip").exists()
