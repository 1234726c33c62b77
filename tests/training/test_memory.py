"""Tests of the estimate of the memory that a training needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trialea import OptionError
from trialea.training import memory
from trialea.training.config import load_config, shipped_configs
from trialea.training.memory import check_memory, in_bytes, memory_needs, weights
from trialea.training.run import train

GB = 10**9


@pytest.mark.parametrize("path", shipped_configs())
def test_shipped_configuration_needs_little_memory(path: str) -> None:
    assert sum(need.size for need in memory_needs(load_config(path))) < GB / 2


@pytest.mark.parametrize(
    ("path", "changes", "message"),
    [
        (
            "demo",
            ["ppo.n_steps=1000000"],
            "786 GB of it for the rollouts, .* Make ppo.environments or ppo.n_steps",
        ),
        ("demo", ["ppo.environments=1e6", "ppo.n_steps=1e6"], "768.0 TB of memory"),
        ("demo", ["ppo.net_arch=[1e6, 1e6]"], "Make past_selves or ppo.net_arch smaller"),
        ("demo", ["ppo.net_arch=[1e5, 1e5]", "past_selves=1"], "for the networks.* Make ppo.net_arch smaller"),
        ("demo", ["past_selves=1e4", "snapshots=1e4", "ppo.net_arch=[4000, 4000]"], "for past selves"),
        ("demo", ["ppo.n_steps=4000", "ppo.batch_size=1e9"], "for a minibatch.* Make ppo.batch_size smaller"),
        ("afterstate_no_dice", ["batch=1e6", "games=1e6"], "for a batch's positions.* Make batch smaller"),
        (
            "no_dice_rllib",
            ["env_runners=10000"],
            "for a batch,.* Make ppo.environments, ppo.n_steps or env",
        ),
    ],
)
def test_training_that_needs_too_much_memory_names_the_remedy(
    path: str, changes: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "total_memory", lambda: 16 * GB)
    with pytest.raises(OptionError, match=f"the training needs about .*{message}"):
        check_memory(load_config(f"configs/{path}.yaml", changes))


def test_too_much_memory_raises_before_the_run_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "total_memory", lambda: 10**6)
    with pytest.raises(OptionError, match="the training needs about"):
        train(load_config("configs/demo.yaml"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_unknown_total_memory_allows_any_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "total_memory", lambda: None)
    check_memory(load_config("configs/demo.yaml", ["ppo.n_steps=1000000"]))


def test_total_memory_is_plausible_or_unknown() -> None:
    total = memory.total_memory()
    assert total is None or total > GB / 2


@pytest.mark.parametrize(
    ("size", "text"), [(999, "999 B"), (25.3e9, "25.3 GB"), (4.31e12, "4.3 TB"), (7e17, "700,000.0 TB")]
)
def test_sizes_are_written_with_a_suitable_unit(size: float, text: str) -> None:
    assert in_bytes(size) == text


def test_weights_of_a_network_are_counted() -> None:
    network: Any = pytest.importorskip("torch").nn.Sequential
    linear = pytest.importorskip("torch").nn.Linear
    made = network(linear(5, 7), linear(7, 3))
    assert weights([5, 7, 3]) == sum(part.numel() for part in made.parameters())
