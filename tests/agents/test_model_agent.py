"""Tests of trained policies as agents: where models are found, what is rejected, and that files can't run code."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from scipy.stats import chisquare
from torch import nn

from tests.helpers import game_of, more_players, positions
from trialea import GAMES, OptionError, make_agent
from trialea.agents.model import ModelAgent, PolicyError, snapshot
from trialea.agents.model_file import ModelFileError
from trialea.envs.game import Game, States
from trialea.training.checkpoint import save_model

every_game = pytest.mark.parametrize("name", GAMES)


def stock_model(name: str, players: int | None = None, seed: int = 0, **policy: Any) -> MaskablePPO:
    """Return an untrained sb3-contrib model whose choices are so clear that rounding cannot change them."""
    env = gym.make(GAMES[name].gym_id, num_players=players)
    model = MaskablePPO("MlpPolicy", env, n_steps=8, seed=seed, policy_kwargs=policy, device="cpu")
    with torch.no_grad():
        model.policy.action_net.weight *= 300
    return model


@cache
def some_positions(game: Game) -> States:
    """Return states of random games."""
    return positions(game, 200)


def assert_chooses_like(agent: Any, model: MaskablePPO, game: Game) -> None:
    """Check that the agent chooses the same actions as the model."""
    states = some_positions(game)
    expected, _ = model.predict(game.observe(states), action_masks=game.masks(states), deterministic=True)
    assert len(np.unique(expected)) >= min(6, game.num_actions)
    assert np.array_equal(agent.act(states), expected)


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that saves a model as a training run does, and returns the path."""

    def save(name: str, model: MaskablePPO | None = None, game: Game | None = None, place: str = "model.zip") -> Path:
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        save_model(model or stock_model(name), file, (game or game_of(name)).description(), "tanh")
        return file

    return save


# Where a model is found ------------------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("model.zip", "model.zip"),
        ("my-run/model.zip", "my-run"),
        ("my-run/checkpoints/000000002048/model.zip", "my-run"),
        ("my-run/checkpoints/000000002048/model.zip", "my-run/checkpoints/000000002048"),
        ("my-run/checkpoints/000000002048/model.zip", "my-run/checkpoints/000000002048/model.zip"),
    ],
)
def test_model_is_found_by_file_run_folder_or_checkpoint(
    name: str, place: str, named: str, saved: Callable[..., Path], tmp_path: Path
) -> None:
    model = stock_model(name)
    saved(name, model, place=place)
    assert_chooses_like(ModelAgent.load(tmp_path / named, game_of(name)), model, game_of(name))
    assert_chooses_like(make_agent(str(tmp_path / named), game_of(name)), model, game_of(name))


@every_game
def test_run_folder_loads_its_model_or_else_the_newest_checkpoint(
    name: str, saved: Callable[..., Path], tmp_path: Path
) -> None:
    old, new, final = (stock_model(name, seed=seed) for seed in range(3))
    saved(name, old, place="checkpoints/000000001024/model.zip")
    saved(name, new, place="checkpoints/000000010240/model.zip")
    assert_chooses_like(ModelAgent.load(tmp_path, game_of(name)), new, game_of(name))
    saved(name, final)
    assert_chooses_like(ModelAgent.load(tmp_path, game_of(name)), final, game_of(name))


@every_game
@pytest.mark.parametrize(
    "policy",
    [{}, {"activation_fn": "ReLU"}, {"net_arch": {"pi": [24], "vf": [8, 8]}}, {"net_arch": []}],
    ids=str,
)
def test_models_saved_by_maskable_ppo_itself_load(name: str, policy: dict[str, Any], tmp_path: Path) -> None:
    if "activation_fn" in policy:
        policy = {**policy, "activation_fn": getattr(torch.nn, policy["activation_fn"])}
    model = stock_model(name, **policy)
    model.save(tmp_path / "stock")
    assert_chooses_like(ModelAgent.load(tmp_path / "stock.zip", game_of(name)), model, game_of(name))


@every_game
def test_saved_model_loads_in_maskable_ppo(name: str, saved: Callable[..., Path]) -> None:
    model = stock_model(name)
    loaded = MaskablePPO.load(saved(name, model), device="cpu")
    assert_chooses_like(ModelAgent(game_of(name), snapshot(loaded.policy)), model, game_of(name))


@every_game
def test_agent_is_named_after_its_file_or_folder(name: str, saved: Callable[..., Path], tmp_path: Path) -> None:
    saved(name, place="lr-0.5/model.zip")
    assert ModelAgent.load(tmp_path / "lr-0.5", game_of(name)).name == "lr-0.5"
    assert ModelAgent.load(tmp_path / "lr-0.5" / "model.zip", game_of(name)).name == "model"


def test_missing_model_raises(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no model at .*nothing.zip"):
        ModelAgent.load(tmp_path / "nothing.zip", game_of("no_dice"))
    with pytest.raises(ModelFileError, match="no model.zip and no checkpoint"):
        ModelAgent.load(tmp_path, game_of("no_dice"))


# Models that do not fit ------------------------------------------------------------------------------------------


@every_game
def test_model_for_another_player_count_raises_and_names_both(name: str, saved: Callable[..., Path]) -> None:
    fewest, more = game_of(name).num_players, more_players(name)
    file = saved(name, stock_model(name, more), game_of(name, more))
    with pytest.raises(ModelFileError, match=f"{name} with {more} players .*, not {name} with {fewest} players"):
        ModelAgent.load(file, game_of(name))


def test_model_for_other_options_raises_and_names_both(saved: Callable[..., Path]) -> None:
    file = saved("no_dice", game=game_of("no_dice", target=20))
    with pytest.raises(ModelFileError, match=r"2 players \(target=20.*, not no_dice with 2 players \(target=30"):
        ModelAgent.load(file, game_of("no_dice"))


def test_model_for_another_game_raises_and_names_both(saved: Callable[..., Path]) -> None:
    file = saved("no_dice")
    facts = json.loads(zipfile.ZipFile(file).read("trialea.json"))
    facts["description"]["game"] = "chess"
    rewrite(file, {"trialea.json": json.dumps(facts)})
    with pytest.raises(ModelFileError, match="chess with 2 players .*, not no_dice with 2 players"):
        ModelAgent.load(file, game_of("no_dice"))


@every_game
def test_maskable_ppo_model_of_another_size_raises_and_names_both(name: str, tmp_path: Path) -> None:
    stock_model(name, more_players(name)).save(tmp_path / "stock")
    large, small = game_of(name, more_players(name)).observation_size, game_of(name).observation_size
    with pytest.raises(ModelFileError, match=f"observations of {large} numbers .* has {small} numbers"):
        ModelAgent.load(tmp_path / "stock.zip", game_of(name))


def test_unknown_activation_raises_and_names_it(tmp_path: Path) -> None:
    stock_model("no_dice", activation_fn=torch.nn.ELU).save(tmp_path / "stock")
    with pytest.raises(OptionError, match="tanh, relu, got 'elu'"):
        ModelAgent.load(tmp_path / "stock.zip", game_of("no_dice"))


# Damaged and hostile files ---------------------------------------------------------------------------------------


def rewrite(file: Path, members: dict[str, str | bytes | None]) -> None:
    """Replace members of a zip archive; None removes one."""
    with zipfile.ZipFile(file) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {**contents, **members}.items():
            if content is not None:
                archive.writestr(name, content)


def edited_weights(file: Path, edit: Callable[[dict[str, Any]], Any]) -> bytes:
    """Return the file's weights after an edit, as bytes."""
    weights = torch.load(io.BytesIO(zipfile.ZipFile(file).read("policy.pth")), weights_only=True)
    content = io.BytesIO()
    torch.save(edit(weights), content)
    return content.getvalue()


def edit_facts(file: Path, **changes: Any) -> None:
    """Replace facts in the model's JSON."""
    facts = json.loads(zipfile.ZipFile(file).read("trialea.json"))
    rewrite(file, {"trialea.json": json.dumps({**facts, **changes})})


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "empty": lambda file: file.write_bytes(b""),
    "not an archive": lambda file: file.write_text("this is no model"),
    "truncated": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "another archive": lambda file: rewrite(file, {"policy.pth": None}),
    "weights are text": lambda file: rewrite(file, {"policy.pth": "weights"}),
    "weights are a list": lambda file: rewrite(file, {"policy.pth": edited_weights(file, list)}),
    "weights have unknown names": lambda file: rewrite(
        file, {"policy.pth": edited_weights(file, lambda weights: {"conv.weight": weights["action_net.weight"]})}
    ),
    "a bias is missing": lambda file: rewrite(
        file,
        {"policy.pth": edited_weights(file, lambda weights: {k: v for k, v in weights.items() if k[-4:] != "bias"})},
    ),
    "layer sizes do not match": lambda file: rewrite(
        file,
        {
            "policy.pth": edited_weights(
                file, lambda weights: {**weights, "mlp_extractor.policy_net.2.weight": torch.zeros(64, 63)}
            )
        },
    ),
    "a features extractor": lambda file: rewrite(
        file,
        {"policy.pth": edited_weights(file, lambda weights: {**weights, "features_extractor.0.weight": torch.eye(2)})},
    ),
    "weights are NaN": lambda file: rewrite(
        file, {"policy.pth": edited_weights(file, lambda weights: {k: v * np.nan for k, v in weights.items()})}
    ),
    "weights are not tensors": lambda file: rewrite(
        file, {"policy.pth": edited_weights(file, lambda weights: dict.fromkeys(weights, 1.0))}
    ),
    "facts are not JSON": lambda file: rewrite(file, {"trialea.json": "{"}),
    "facts are a list": lambda file: rewrite(file, {"trialea.json": "[]"}),
    "facts are empty": lambda file: rewrite(file, {"trialea.json": "{}"}),
    "facts have an empty description": lambda file: edit_facts(file, description={}),
    "facts have text as player count": lambda file: edit_facts(file, description={"players": "2", "options": {}}),
    "facts have another format": lambda file: edit_facts(file, format=99),
    "facts lack an activation": lambda file: edit_facts(file, activation=None),
    "facts name an unknown activation": lambda file: edit_facts(file, activation="sigmoid"),
    "facts have another kind": lambda file: edit_facts(file, kind="other"),
    "no facts and no data": lambda file: rewrite(file, {"trialea.json": None, "data": None}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_model_file_raises(damage: str, saved: Callable[..., Path]) -> None:
    file = saved("no_dice")
    DAMAGES[damage](file)
    with pytest.raises(ModelFileError):
        ModelAgent.load(file, game_of("no_dice"))


def test_any_flipped_byte_in_the_weights_is_detected(saved: Callable[..., Path]) -> None:
    file = saved("no_dice", stock_model("no_dice", net_arch=[]))
    whole = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        weights = archive.getinfo("policy.pth")
    begin = whole.index(b"policy.pth", weights.header_offset) + len("policy.pth")
    for place in np.random.default_rng(0).integers(begin, begin + weights.compress_size, 40):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(ModelFileError, match="model.zip"):
            ModelAgent.load(file, game_of("no_dice"))


class Payload:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def torch_file(value: Any, zipped: bool) -> bytes:
    """Return an object saved by torch, as bytes."""
    content = io.BytesIO()
    torch.save(value, content, _use_new_zipfile_serialization=zipped)
    return content.getvalue()


HOSTILE_WEIGHTS: dict[str, Callable[[Payload], bytes]] = {
    "a pickle": pickle.dumps,
    "torch's file": lambda payload: torch_file({"action_net.weight": payload}, zipped=True),
    "torch's old file": lambda payload: torch_file({"action_net.weight": payload}, zipped=False),
}


@pytest.mark.parametrize("kind", HOSTILE_WEIGHTS)
def test_code_in_the_weights_is_not_run(kind: str, saved: Callable[..., Path], tmp_path: Path) -> None:
    mark, file = tmp_path / "mark", saved("no_dice")
    hostile = HOSTILE_WEIGHTS[kind](Payload(mark))
    torch.load(io.BytesIO(hostile), weights_only=False) if kind != "a pickle" else pickle.loads(hostile)
    assert mark.is_dir()  # without protection the code runs
    mark.rmdir()
    rewrite(file, {"policy.pth": hostile})
    with pytest.raises(ModelFileError, match="model.zip"):
        ModelAgent.load(file, game_of("no_dice"))
    assert not mark.exists()


@pytest.mark.parametrize("with_facts", [True, False])
def test_code_in_the_data_is_not_run(with_facts: bool, saved: Callable[..., Path], tmp_path: Path) -> None:
    mark, model = tmp_path / "mark", stock_model("no_dice")
    file = saved("no_dice", model)
    hostile = {":type:": "dict", ":serialized:": base64.b64encode(pickle.dumps(Payload(mark))).decode()}
    data = json.loads(zipfile.ZipFile(file).read("data"))
    members: dict[str, Any] = {"data": json.dumps({**data, "policy_kwargs": hostile, "learning_rate": hostile})}
    rewrite(file, members if with_facts else {**members, "trialea.json": None})
    assert_chooses_like(ModelAgent.load(file, game_of("no_dice")), model, game_of("no_dice"))
    assert not mark.exists()
    pickle.loads(base64.b64decode(hostile[":serialized:"]))
    assert mark.is_dir()  # without protection the code runs


def test_network_that_returns_nan_raises() -> None:
    game = game_of("no_dice")
    network = nn.Linear(game.observation_size, game.num_actions)
    nn.init.constant_(network.bias, np.nan)
    with pytest.raises(PolicyError, match="NaN or infinite"):
        ModelAgent(game, network).act(game.start([0, 1]))


# Sampling actions ------------------------------------------------------------------------------------------------


@every_game
def test_sampling_agent_follows_its_policy_with_its_own_seed(name: str) -> None:
    game = game_of(name)
    network = snapshot(stock_model(name).policy)
    with torch.no_grad():
        network[-1].weight /= 300
    states = np.repeat(positions(game, 1, seed=3), 5_000).view(np.recarray)
    states.seed = np.arange(len(states))
    agent = ModelAgent(game, network, sample=True, seed=1)
    seen = np.bincount(agent.act(states), minlength=game.num_actions)
    expected = agent.action_probabilities(states[:1].view(np.recarray))[0].astype(float) * len(states)
    possible = expected > 0
    assert not seen[~possible].any() and possible.sum() >= min(6, game.num_actions)
    assert np.array_equal(agent.act(states), agent.act(states))
    if game.num_actions > 1:
        assert chisquare(seen[possible], expected[possible] / expected.sum() * seen.sum()).pvalue > 0.001
        assert not np.array_equal(agent.act(states), ModelAgent(game, network, sample=True, seed=2).act(states))


@every_game
def test_probabilities_match_maskable_ppo(name: str) -> None:
    game, model = game_of(name), stock_model(name)
    states = some_positions(game)
    observations, masks = game.observe(states), game.masks(states)
    expected = model.policy.get_distribution(torch.from_numpy(observations), action_masks=masks).distribution.probs
    ours = ModelAgent(game, snapshot(model.policy)).action_probabilities(states)
    assert np.allclose(ours, expected.detach().numpy(), atol=1e-6)
    assert not ours[masks == 0].any()


# Snapshots -----------------------------------------------------------------------------------------------------


@every_game
def test_snapshot_does_not_change_when_the_learner_trains(name: str) -> None:
    model, states = stock_model(name), some_positions(game_of(name))
    agent = ModelAgent(game_of(name), snapshot(model.policy))
    before = agent.action_probabilities(states)
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.add_(1.0)
    assert np.array_equal(agent.action_probabilities(states), before)
