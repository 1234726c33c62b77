"""Tests of runs that start from the network of another run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers import SHORT
from tests.training.runs import ROLLOUT, assert_same_outcome, metrics, run, stop_at, tiny, weights
from trialea import OptionError
from trialea.agents.model_file import ModelFileError
from trialea.training.config import AfterstateConfig, RllibConfig, TrainConfig
from trialea.training.publish import publish
from trialea.training.run import resume, train
from trialea.training.starting import starting_policies

PPO = tiny().ppo.model_dump()


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run of two rollouts. Tests must not change it."""
    folder = tmp_path_factory.mktemp("starting") / "first"
    assert run(tiny(frames=2 * ROLLOUT), folder)
    return folder


def further(first: Path, **changes: Any) -> TrainConfig:
    """Return the configuration of a run that starts from the first."""
    return tiny(start_from=str(first), frames=2 * ROLLOUT, **changes)


def test_run_starts_from_another_runs_policy_and_critic(first: Path, tmp_path: Path) -> None:
    """A learning rate of 0 keeps them unchanged, so that they can be compared at the end."""
    still = {**PPO, "learning_rate": {"start": 0, "end": 0}}
    assert run(further(first, ppo=still), tmp_path / "run")
    before, after = weights(first / "model.zip"), weights(tmp_path / "run" / "model.zip")
    assert before.keys() == after.keys() and all(torch.equal(before[key], after[key]) for key in before)
    assert metrics(tmp_path / "run")[0]["regret"] == metrics(first)[-1]["regret"]


def test_run_started_from_another_resumes_exactly(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This also works before its first checkpoint and from another folder, as it stores the full path."""
    monkeypatch.chdir(first.parent)
    assert run(further(Path("first")), tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_at(ROLLOUT, patch)
        assert run(further(Path("first")), tmp_path / "stopped") is False
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tmp_path / "stopped", tmp_path / "died")
    shutil.rmtree(tmp_path / "died" / "checkpoints")
    for folder in (tmp_path / "stopped", tmp_path / "died"):
        assert resume(folder, progress=False)
        assert_same_outcome(folder, tmp_path / "whole")


def test_afterstate_run_starts_from_another_runs_network(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "algorithm": "afterstate",
        "game": "no_dice",
        "options": SHORT["no_dice"],
        "threads": 1,
        "games": 20,
        "batch": 20,
        "hidden": [4],
        "measure": {"times": 1, "games": 20, "opponents": ["random"]},
    }
    assert train(AfterstateConfig.model_validate(settings), tmp_path / "first", progress=False)
    still = {**settings, "start_from": str(tmp_path / "first"), "learning_rate": {"start": 0, "end": 0}}
    assert train(AfterstateConfig.model_validate(still), tmp_path / "run", progress=False)
    before, after = (weights(tmp_path / name / "model.zip", "weights.pth") for name in ("first", "run"))
    assert all(torch.equal(before[key], after[key]) for key in before)
    with pytest.raises(OptionError, match=r"hidden must be \[4\], as in start_from .*, got \[5\]"):
        train(AfterstateConfig.model_validate({**still, "hidden": [5]}), tmp_path / "other", progress=False)
    with pytest.raises(OptionError, match="start_from must be a model of the kind 'policy'"):
        run(further(tmp_path / "first"), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_rllib_starts_from_a_maskable_ppo_policy(first: Path) -> None:
    settings = {"algorithm": "rllib", "game": "no_dice", "options": SHORT["no_dice"], "frames": 100}
    config = RllibConfig.model_validate({**settings, "ppo": {"net_arch": [16, 16]}, "start_from": str(first)})
    (policy,) = starting_policies(config)
    expected = weights(first / "model.zip")
    assert all(torch.equal(policy[key], expected[key]) for key in expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start_from": "nothing"}, "nothing"),
        ({"options": {"target": 9}}, r"is a policy for no_dice with 2 players \(target=8.*, not no_dice"),
        ({"players": 3}, "is a policy for no_dice with 2 players .*, not no_dice with 3 players"),
        (
            {"ppo": {**PPO, "net_arch": [16]}},
            r"ppo\.net_arch must be as in start_from .*, got \[16\]",
        ),
        ({"ppo": {**PPO, "activation": "tanh"}}, r"ppo\.activation must be relu, as in start_from"),
    ],
    ids=["no model", "options", "players", "layers", "activation"],
)
def test_model_that_does_not_fit_raises_before_the_run_folder(
    changes: dict[str, Any], message: str, first: Path, tmp_path: Path
) -> None:
    with pytest.raises((OptionError, ModelFileError), match=message):
        run(tiny(**{"start_from": str(first), **changes}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_published_model_cannot_start_a_run_without_its_critic(first: Path, tmp_path: Path) -> None:
    model = publish(first, "mine", tmp_path / "zoo")
    with pytest.raises(OptionError, match="lacks the critic. Name a run folder"):
        run(further(model), tmp_path / "run")


def test_resuming_a_complete_run_names_start_from_as_remedy(first: Path) -> None:
    with pytest.raises(OptionError, match="is complete, so it cannot be resumed.* --set start_from="):
        resume(first, progress=False)
