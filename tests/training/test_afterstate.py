"""Tests of training afterstate agents: returns, resuming, learning and rejected configurations."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.afterstates import SMALL, every_game
from trialea import OptionError, make_agent
from trialea.agents.afterstate import (
    AfterstateAgent,
    read_network,
)
from trialea.evaluation.measures.exact import evaluate_exactly
from trialea.training.afterstate import Learner, Played, lambda_returns
from trialea.training.config import AfterstateConfig, load_config
from trialea.training.run import resume, train
from trialea.training.self_play import self_play

# Training --------------------------------------------------------------------------------------------------------


def test_lambda_returns_match_a_calculation_by_hand() -> None:
    """Two games of two players: three positions and one. Shares are seen from the player to move next."""
    played = Played(
        features=np.zeros((4, 1), np.float32),
        games=np.array([0, 1, 0, 0]),
        movers=np.array([0, 1, 1, 0]),
        worths=np.array([0.6, 0.9, 0.3, 1.0]),
        decisions=12,
    )
    values = np.array([[0.5, 0.5], [0.8, 0.2], [0.4, 0.6], [0.8, 0.2]])
    mine = lambda_returns(played, values, 0.0)[:, 0]
    assert np.allclose(mine, played.worths)  # the same targets as value iteration
    taught = lambda_returns(played, values, 0.5)
    assert np.allclose(taught.sum(axis=1), 1)
    # Errors of player 0: +0.1, then +0.1 (the other's share falls from 0.4 to 0.3), then +0.2.
    assert np.allclose(taught[:, 0], [0.5 + 0.1 + 0.05 + 0.05, 0.9, 0.4 - 0.1 - 0.1, 1.0])


def test_lambda_returns_split_a_loss_among_the_other_players() -> None:
    played = Played(np.zeros((1, 1), np.float32), np.array([0]), np.array([2]), np.array([0.7]), 1)
    taught = lambda_returns(played, np.array([[0.4, 0.4, 0.2]]), 1.0)
    assert np.allclose(taught, [[0.7, 0.2, 0.1]])


def tiny(name: str, **changes: Any) -> AfterstateConfig:
    """Return the configuration of a very short training."""
    settings: dict[str, Any] = {
        "algorithm": "afterstate",
        "game": name,
        "options": SMALL[name] if name == "no_dice" else {"rows": "AD", "columns": 1, "max_turns": 4},
        "seed": 3,
        "threads": 1,
        "games": 8,
        "batch": 2,
        "batch_size": 32,
        "hidden": [8, 4],
        "checkpoints": 4,
        "measure": {"times": 2, "games": 4, "opponents": ["random"]},
    }
    return AfterstateConfig.model_validate({**settings, **changes})


def weights(folder: Path, config: AfterstateConfig) -> list[np.ndarray]:
    """Return the weights of a run's model."""
    network = read_network(folder / "model.zip", config.make_game())
    return [value.numpy() for value in network.state_dict().values()]


@every_game
def test_run_writes_its_files_and_resumes_bit_for_bit(name: str, tmp_path: Path) -> None:
    config = tiny(name)
    assert train(config, tmp_path / "whole", progress=False)
    assert {path.name for path in (tmp_path / "whole").iterdir()} == {
        "checkpoints", "config.yaml", "metrics.jsonl", "model.zip", "versions.json"
    }  # fmt: skip
    assert load_config(tmp_path / "whole" / "config.yaml") == config
    lines = [json.loads(line) for line in (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()]
    assert [line["games"] for line in lines] == [0, 4, 8]
    assert {"frames", "seconds", "win_rate/random"} <= set(lines[0])
    checkpoints = sorted((tmp_path / "whole" / "checkpoints").iterdir())
    assert len(checkpoints) == 3
    shutil.copytree(tmp_path / "whole", tmp_path / "half")
    (tmp_path / "half" / "model.zip").unlink()
    for later in checkpoints[1:]:
        shutil.rmtree(tmp_path / "half" / "checkpoints" / later.name)
    assert resume(tmp_path / "half", progress=False)
    whole, half = (weights(tmp_path / run, config) for run in ("whole", "half"))
    assert all((one == other).all() for one, other in zip(whole, half, strict=True))
    measured = [(tmp_path / run / "metrics.jsonl").read_text().splitlines()[-1] for run in ("whole", "half")]
    first, second = ({**json.loads(line), "seconds": 0} for line in measured)
    assert first == second
    agent = make_agent(str(tmp_path / "half"), config.make_game())
    assert isinstance(agent, AfterstateAgent) and agent.name == "half"


def test_stopped_run_saves_a_checkpoint(tmp_path: Path) -> None:
    config = tiny("no_dice")
    learner = Learner(config)
    learner.stopping = True
    tmp_path.joinpath("run").mkdir()
    assert not self_play(config, learner, tmp_path / "run", None, False)
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1


@pytest.mark.slow
def test_training_gets_close_to_the_solution_of_a_small_game(tmp_path: Path) -> None:
    """No Dice to 8 points; its exploitability is computed exactly, without sampling."""
    config = tiny("no_dice", games=600, batch=100, hidden=[32], learning_rate={"start": 0.01, "end": 0.0005})
    game = config.make_game()
    before = evaluate_exactly(game, AfterstateAgent(game, Learner(config).network)).exploitability
    learner = Learner(config)
    while learner.games < config.games:
        learner.learn()
    after = evaluate_exactly(game, learner.agent()).exploitability
    assert before > 0.05
    assert after < 0.01


def test_invalid_afterstate_configuration_raises(tmp_path: Path) -> None:
    for change in ("td_lambda=2", "hidden=[]", "algorithm=guess", "frames=3"):
        with pytest.raises(OptionError, match=change.partition("=")[0]):
            load_config("configs/afterstate_poker_figures.yaml", [change])
    for change, told in (
        ("hidden=[0]", "hidden.0 must be at least 1"),
        ("hidden=64", "hidden must be a list"),
    ):
        with pytest.raises(OptionError, match=f": {told}, got"):
            load_config("configs/afterstate_poker_figures.yaml", [change])
    with pytest.raises(OptionError, match="no afterstate agent"):
        Learner(AfterstateConfig(algorithm="afterstate", game="last_die", games=1))
