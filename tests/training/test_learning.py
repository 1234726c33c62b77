"""Tests that training learns, and of `EvenlySpaced`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers import has_skill, is_solved
from tests.training.runs import metrics, run, tiny
from trialea import GAMES
from trialea.training.config import TrainConfig
from trialea.training.measuring import EvenlySpaced


@pytest.mark.parametrize("already", [0, 30, 55, 60])
def test_evenly_spaced_events_continue_after_a_restart(already: int) -> None:
    every = EvenlySpaced(4, 100, already)
    due = [frames for frames in range(already, 101, 5) if every.due(frames)]
    assert due == [frames for frames in (25, 50, 75, 100) if frames > already]


# Learning --------------------------------------------------------------------------------------------------------

# Options that make a game easy to learn. A new game of skill needs an entry.
EASY: dict[str, dict[str, Any]] = {
    "no_dice": {"target": 10},
    "poker_figures": {"max_turns": 4, "score_open_rows": True},
}
every_game_of_skill = pytest.mark.parametrize("name", [name for name in GAMES if has_skill(name)])


def learning(name: str, frames: int, reward: str, horizon: str) -> TrainConfig:
    """Return the configuration of a short training against random play."""
    return tiny(
        name,
        options=EASY[name],
        frames=frames,
        opponents={"random": 1.0},
        stages=[{"until": 1.0, "reward": reward, "horizon": horizon}],
        measure={"times": 1, "games": 400, "opponents": ["random"]},
        ppo={
            "environments": 128,
            "n_steps": 16,
            "batch_size": 512,
            "n_epochs": 4,
            "net_arch": [64, 64],
            "learning_rate": {"start": 3e-3, "end": 1e-4},
            "entropy": {"start": 0.01, "end": 0.0},
        },
    )


@every_game_of_skill
def test_training_by_turns_learns_to_beat_random_play(name: str, tmp_path: Path) -> None:
    assert run(learning(name, 30_000, "score", "turn"), tmp_path / "run")
    first, *_, last = metrics(tmp_path / "run")
    assert first["win_rate/random"] < 0.65
    assert last["win_rate/random"] > 0.8
    if is_solved(name, **EASY[name]):
        assert last["regret"] < first["regret"] / 3
        assert last["optimal_share"] > 2 * first["optimal_share"]


@every_game_of_skill
@pytest.mark.slow
def test_training_by_wins_learns_to_beat_random_play(name: str, tmp_path: Path) -> None:
    assert run(learning(name, 100_000, "win", "game"), tmp_path / "run")
    last = metrics(tmp_path / "run")[-1]
    assert last["win_rate/random"] > 0.85
    if is_solved(name, **EASY[name]):
        assert last["regret"] < metrics(tmp_path / "run")[0]["regret"] / 4
