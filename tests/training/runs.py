"""Helpers for tests of training runs: a tiny configuration, stopping a run, and comparing runs."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers import SHORT, rival_of
from trialea.training.callbacks import RunCallback
from trialea.training.config import TrainConfig
from trialea.training.run import train

ROLLOUT = 512


def tiny(name: str = "no_dice", **changes: Any) -> TrainConfig:
    """Return the configuration of a run of eight rollouts that uses most features."""
    settings: dict[str, Any] = {
        "game": name,
        "options": SHORT[name],
        "seed": 3,
        "threads": 1,
        "frames": 8 * ROLLOUT,
        "opponents": {"random": 0.3, rival_of(name): 0.2, "past": 0.5},
        "past_selves": 2,
        "snapshots": 4,
        "checkpoints": 4,
        "stages": [
            {"until": 0.5, "reward": "score", "horizon": "turn"},
            {"until": 1.0, "reward": "win", "horizon": "game"},
        ],
        "ppo": {"environments": 32, "n_steps": 16, "batch_size": 128, "n_epochs": 2, "net_arch": [16, 16]},
        "measure": {"times": 2, "games": 20, "opponents": ["random"]},
    }
    return TrainConfig.model_validate({**settings, **changes})


def run(config: TrainConfig, folder: Path) -> bool:
    """Train without a progress bar; return whether the run is complete."""
    return train(config, folder, progress=False)


def metrics(folder: Path) -> list[dict[str, Any]]:
    """Return a run's measurements."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def timeless(folder: Path) -> list[dict[str, Any]]:
    """Return a run's measurements without times."""
    return [{key: value for key, value in line.items() if key != "seconds"} for line in metrics(folder)]


def weights(file: Path, member: str = "policy.pth") -> dict[str, Any]:
    """Return the weights in a model file."""
    with zipfile.ZipFile(file) as archive:
        return dict(torch.load(io.BytesIO(archive.read(member)), weights_only=True))


def same_weights(one: Path, other: Path) -> bool:
    """Return whether two model files have the same weights."""
    ours, theirs = weights(one), weights(other)
    return list(ours) == list(theirs) and all(torch.equal(ours[key], theirs[key]) for key in ours)


def assert_same_outcome(one: Path, other: Path) -> None:
    """Check that two runs ended with the same weights, optimizer state and measurements."""
    assert same_weights(one / "model.zip", other / "model.zip")
    ours, theirs = (weights(run / "model.zip", "policy.optimizer.pth")["state"] for run in (one, other))
    assert all(torch.equal(ours[key]["exp_avg"], theirs[key]["exp_avg"]) for key in ours)
    assert timeless(one) == timeless(other)


def stop_at(frames: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the run stop at this number of frames, as Ctrl-C does."""
    on_step = RunCallback._on_step

    def step(self: RunCallback) -> bool:
        if self.num_timesteps == frames:
            self.stopping = True
        return on_step(self)

    monkeypatch.setattr(RunCallback, "_on_step", step)
