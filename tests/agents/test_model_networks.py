"""Tests of networks as agents: modes, dtypes, output shapes, normalized observations and ONNX export."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import onnxruntime
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from tests.helpers import game_of, positions
from trialea import GAMES, MissingExtraError, OptionError, make_agent
from trialea.agents import ModelAgent, ModelFileError
from trialea.envs.game import Game


def network_for(game: Game, *more: nn.Module) -> nn.Sequential:
    """Return a small network for a game."""
    torch.manual_seed(0)
    layers = nn.Linear(game.observation_size, 32), nn.Tanh(), *more, nn.Linear(32, game.num_actions)
    return nn.Sequential(*layers)


# Modes, dtypes and outputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(32)])
def test_network_acts_in_eval_mode_and_keeps_its_own_mode(layer: nn.Module) -> None:
    game = game_of("no_dice")
    network, states = network_for(game, layer), positions(game, 50)
    agent = ModelAgent(game, network)
    network.eval()
    expected = agent.scores(states)
    network.train()
    network[0].eval()
    assert torch.equal(agent.scores(states), expected)
    assert [module.training for module in network] == [False, True, True, True] and network.training


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_network_of_another_dtype_acts(dtype: torch.dtype) -> None:
    game = game_of("no_dice")
    states = positions(game, 50)
    agent = ModelAgent(game, network_for(game).to(dtype))
    assert game.masks(states)[np.arange(len(states)), agent.act(states)].all()
    assert np.allclose(agent.action_probabilities(states).sum(axis=1), 1.0)


def test_network_that_requires_gradients_acts() -> None:
    game = game_of("no_dice")
    scale = nn.Parameter(torch.ones(()))

    class Scaled(nn.Module):
        def forward(self, observations: torch.Tensor) -> torch.Tensor:
            return scale * observations[:, :1].expand(-1, game.num_actions)

    states = positions(game, 20)
    assert game.masks(states)[np.arange(len(states)), ModelAgent(game, Scaled()).act(states)].all()


OUTPUTS: dict[str, Callable[[torch.Tensor, int], Any]] = {
    "shape (5, 1) of torch.float32": lambda x, a: x[:, :1],
    "shape () of torch.float32": lambda x, a: x.sum(),
    "shape (140,) of torch.float32": lambda x, a: torch.zeros(a),
    "shape (1, 140) of torch.float32": lambda x, a: torch.zeros(1, a),
    "shape (5, 140) of torch.int64": lambda x, a: torch.zeros(len(x), a, dtype=torch.int64),
    "a tuple": lambda x, a: (torch.zeros(len(x), a), x),
}


@pytest.mark.parametrize("given", OUTPUTS)
def test_wrong_output_shape_raises_and_names_both_shapes(given: str) -> None:
    game = game_of("no_dice")

    class Wrong(nn.Module):
        def forward(self, observations: torch.Tensor) -> Any:
            return OUTPUTS[given](observations, game.num_actions)

    with pytest.raises(OptionError) as error:
        ModelAgent(game, Wrong()).act(positions(game, 5))
    assert f"logits of shape (5, 140), got {given}." in str(error.value)


# Models trained on normalized observations -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def normalized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MaskablePPO, VecNormalize]:
    """Return a model trained behind VecNormalize, and its statistics."""
    game = game_of("no_dice")
    env = VecNormalize(DummyVecEnv([lambda: gym.make(GAMES["no_dice"].gym_id)] * 2))
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, device="cpu", seed=0)
    model.learn(64)
    with torch.no_grad():
        model.policy.action_net.weight *= 30  # clear choices that rounding does not change
    file = tmp_path_factory.mktemp("normalized") / "stock.zip"
    model.save(file)
    env.training = False
    assert env.obs_rms.mean.shape == (game.observation_size,)
    return file, model, env


@pytest.mark.parametrize("load", [ModelAgent.load, make_agent])
def test_normalized_model_without_statistics_names_the_remedy(load: Any, normalized: Any) -> None:
    with pytest.raises(ModelFileError, match=r"normalized observations.*normalize=VecNormalize\.load"):
        load(normalized[0], game_of("no_dice"))


def test_normalized_model_with_statistics_plays_as_in_training(normalized: Any) -> None:
    file, model, env = normalized
    game = game_of("no_dice")
    states = positions(game, 200)
    agent = ModelAgent.load(file, game, normalize=env)
    observations = env.normalize_obs(game.observe(states))
    expected, _ = model.predict(observations, action_masks=game.masks(states), deterministic=True)
    assert np.array_equal(agent.act(states), expected)


def test_statistics_that_do_not_fit_raise(normalized: Any) -> None:
    other = VecNormalize(DummyVecEnv([lambda: gym.make(GAMES["no_dice"].gym_id, num_players=3)]))
    rewards = VecNormalize(DummyVecEnv([lambda: gym.make(GAMES["no_dice"].gym_id)]), norm_obs=False)
    for statistics in (other, rewards, "vecnormalize.pkl"):
        with pytest.raises(OptionError, match="statistics of [0-9]+ numbers"):
            ModelAgent.load(normalized[0], game_of("no_dice"), normalize=statistics)


def test_model_with_only_normalized_rewards_loads(tmp_path: Path) -> None:
    env = VecNormalize(DummyVecEnv([lambda: gym.make(GAMES["no_dice"].gym_id)]), norm_obs=False)
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, device="cpu", seed=0)
    model.learn(32)
    model.save(tmp_path / "stock.zip")
    env.save(str(tmp_path / "vecnormalize.pkl"))
    assert ModelAgent.load(tmp_path / "stock.zip", game_of("no_dice")).name == "stock"


def test_statistics_file_beside_a_model_means_it_was_normalized(normalized: Any, tmp_path: Path) -> None:
    model, env = normalized[1:]
    model.save(tmp_path / "stock.zip", exclude=["_last_obs"])
    assert ModelAgent.load(tmp_path / "stock.zip", game_of("no_dice")).name == "stock"
    env.save(str(tmp_path / "stock_vecnormalize.pkl"))
    with pytest.raises(ModelFileError, match="normalized observations"):
        ModelAgent.load(tmp_path / "stock.zip", game_of("no_dice"))


# ONNX ------------------------------------------------------------------------------------------------------------


def test_exported_onnx_policy_plays_like_the_agent(tmp_path: Path, normalized: Any) -> None:
    """Compares 1,000 positions. The network normalizes its input and is in train mode."""
    game, file = game_of("no_dice"), tmp_path / "policy.onnx"
    agent = ModelAgent.load(normalized[0], game, normalize=normalized[2])
    agent.network.train()
    agent.export_onnx(file)
    assert agent.network.training and [path.name for path in tmp_path.iterdir()] == ["policy.onnx"]
    states = positions(game, 1000)
    observations, masks = game.observe(states), game.masks(states)
    session = onnxruntime.InferenceSession(str(file))
    logits, actions = session.run(["logits", "action"], {"observation": observations, "action_mask": masks})
    expected = agent.scores(states).numpy()
    legal = masks != 0
    assert np.array_equal(np.isneginf(logits), ~legal)
    assert np.allclose(logits[legal], expected[legal], rtol=1e-5, atol=1e-5)
    assert np.array_equal(actions, agent.act(states)) and len(np.unique(actions)) > 5
    one = session.run(None, {"observation": observations[:1], "action_mask": masks[:1]})
    assert one[1].shape == (1,) and one[1] == actions[0]


def test_export_without_onnx_raises_and_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    game = game_of("no_dice")
    with pytest.raises(MissingExtraError, match=r"pip install 'trialea\[onnx\]'"):
        ModelAgent(game, network_for(game)).export_onnx(tmp_path / "policy.onnx")
    assert not list(tmp_path.iterdir())
