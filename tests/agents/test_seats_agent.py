"""Tests of agents with one policy per seat, and of RLlib configurations when Ray is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.helpers import game_of, more_players, nth, positions, run_python
from trialea import GAMES, OptionError, make_agent
from trialea.agents.model import ModelAgent, network_from
from trialea.agents.model_file import ModelFileError, write_policy
from trialea.agents.seats import SeatsAgent, write_seats
from trialea.envs.game import Game
from trialea.evaluation import evaluate
from trialea.training.config import load_config

every_game = pytest.mark.parametrize("name", GAMES)


def some_weights(game: Game, seed: int) -> dict[str, torch.Tensor]:
    """Return an untrained policy with clear choices, under the names of stable-baselines3."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {"mlp_extractor.policy_net.0": (8, game.observation_size), "action_net": (game.num_actions, 8)}
    weights: dict[str, torch.Tensor] = {}
    for layer, (outputs, inputs) in shapes.items():
        weights[f"{layer}.weight"] = torch.randn(outputs, inputs, generator=generator)
        weights[f"{layer}.bias"] = torch.randn(outputs, generator=generator)
    return weights


@every_game
def test_each_seat_is_played_by_its_own_policy(name: str, tmp_path: Path) -> None:
    game = game_of(name, more_players(name))
    policies = [some_weights(game, seat) for seat in range(game.num_players)]
    write_seats(tmp_path / "model.zip", game, policies, "relu")
    agent = make_agent(str(tmp_path), game)
    assert isinstance(agent, SeatsAgent) and agent.name == tmp_path.name and agent.deterministic
    states = positions(game, 200)
    actions = agent.act(states)
    for seat, weights in enumerate(policies):
        mine = game.movers(states) == seat
        own = ModelAgent(game, network_from(weights, "relu"))
        assert mine.any() and np.array_equal(actions[mine], own.act(states[mine].view(np.recarray)))


def test_written_policy_plays_as_before(tmp_path: Path) -> None:
    game = game_of("no_dice")
    write_policy(tmp_path / "model.zip", game.description(), some_weights(game, 1), "tanh")
    states = positions(game, 100)
    expected = ModelAgent(game, network_from(some_weights(game, 1), "tanh")).act(states)
    assert np.array_equal(make_agent(str(tmp_path), game).act(states), expected)
    assert [path.name for path in tmp_path.iterdir()] == ["model.zip"]


def test_seats_agent_is_evaluated_like_any_other(tmp_path: Path) -> None:
    game = game_of("no_dice")
    write_seats(tmp_path / "model.zip", game, [some_weights(game, seat) for seat in range(2)], "relu")
    found = evaluate(game, [str(tmp_path), "random"], num_games=20)
    assert nth(found, 0).regret is not None and nth(found, 0).regret.per_decision > 0


def test_seats_file_that_does_not_fit_raises(tmp_path: Path) -> None:
    game, other = game_of("no_dice"), game_of("no_dice", 3)
    file = tmp_path / "model.zip"
    with pytest.raises(OptionError, match="agents must be one for each of 2 seats, got 1"):
        SeatsAgent(game, [ModelAgent(game, nn.Identity())])
    write_seats(file, game, [some_weights(game, seat) for seat in range(2)], "relu")
    with pytest.raises(ModelFileError, match="no_dice with 2 players .*, not no_dice with 3 players"):
        SeatsAgent.load(file, other)
    write_seats(file, game, [some_weights(game, 0)], "relu")
    with pytest.raises(ModelFileError, match="the policy has no layer action_net"):
        SeatsAgent.load(file, game)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFileError, match="not a readable model"):
        make_agent(str(file), game)


# Without Ray -----------------------------------------------------------------------------------------------------


def test_training_without_ray_raises_and_names_the_extra(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["ray"] = None
from trialea.envs.errors import MissingExtraError
from trialea.training.config import load_config
from trialea.training.run import train
try:
    train(load_config("configs/no_dice_rllib.yaml"), sys.argv[1])
except MissingExtraError as error:
    print(error)
"""
    found = run_python(code, str(tmp_path / "run"))
    assert found == (
        "training with RLlib needs 'ray', which is not installed. Install it with: pip install 'trialea[cluster]'\n"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("algorithm=guess", "algorithm must be one of afterstate, rllib, or left out for MaskablePPO, got 'guess'"),
        ("algorithm=[rllib]", "algorithm must be one of afterstate, rllib"),
        ("policies=mine", "policies must be 'shared' or 'seats'"),
        ("env_runners=-1", "env_runners must be at least 0"),
        ("ppo.clip=0.1", "ppo.clip is not a known key"),
        ("opponents={past: 1}", "opponents is not a known key"),
        ("ppo.batch_size=5000", "ppo.batch_size must be at most 4096, the decisions between two updates, got 5000"),
        ("measure={opponents: [human]}", "measure.opponents must not name a person"),
        ("players=9", "num_players must be a whole number from 2 to 8"),
    ],
)
def test_invalid_rllib_configuration_raises(change: str, said: str) -> None:
    with pytest.raises(OptionError) as error:
        load_config("configs/no_dice_rllib.yaml", [change])
    assert said in str(error.value)


def test_shipped_rllib_configuration_has_the_documented_values() -> None:
    config: Any = load_config("configs/no_dice_rllib.yaml", ["ppo.n_steps=16"])
    assert (config.algorithm, config.policies, config.ppo.n_steps, config.ppo.gamma) == ("rllib", "shared", 16, 1.0)
