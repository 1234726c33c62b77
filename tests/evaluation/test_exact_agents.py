"""Tests of exact values of trained models, and of the command `trialea exploit`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
import typer
from typer.testing import CliRunner

from tests.helpers import game_of
from trialea import OptionError
from trialea.agents.model import ModelAgent
from trialea.agents.no_dice.policy import tabulate
from trialea.commands.exploit import exploit
from trialea.commands.options import WITH_GAME_OPTIONS
from trialea.envs.agent import is_deterministic
from trialea.envs.game import Game, States
from trialea.evaluation import evaluate_exactly, exact_value, play_match, tabulate_policy

GAME = game_of("no_dice", 2, target=3, throws=2)


def network(game: Game, seed: int = 0) -> torch.nn.Module:
    """Return a small network with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = torch.nn.Linear(game.observation_size, 16), torch.nn.Tanh(), torch.nn.Linear(16, game.num_actions)
        return torch.nn.Sequential(*layers).requires_grad_(False)


class Told:
    """Returns another agent's choices or probabilities in another form: its own float64 computation."""

    name = "told"

    def __init__(self, agent: ModelAgent) -> None:
        self.agent = agent

    def action_probabilities(self, states: States) -> np.ndarray:
        scores = self.agent.scores(states).double()
        if is_deterministic(self.agent):
            return np.eye(scores.shape[1])[scores.argmax(dim=1)]
        return torch.softmax(scores, dim=1).numpy()

    act = action_probabilities


@pytest.mark.parametrize("sample", [True, False])
def test_network_value_follows_its_choices_or_probabilities(sample: bool) -> None:
    agent = ModelAgent(GAME, network(GAME), sample=sample)
    assert is_deterministic(agent) is not sample
    table, told = tabulate(GAME, agent), tabulate(GAME, Told(agent))
    assert table.states == told.states
    for key, scores in table.scores.items():
        assert np.abs(scores - told.scores[key]).max() < 1e-6
        assert np.abs(scores.sum(axis=-1) - 1).max() < 1e-12


def test_sampling_network_wins_as_often_as_its_exact_value() -> None:
    agents = [ModelAgent(GAME, network(GAME, seed), sample=True, seed=seed) for seed in (1, 2)]
    match = play_match(GAME, agents, num_games=8000, seed=3, duplicate=False)
    known = [tabulate_policy(GAME, agent) for agent in agents]
    expected = (exact_value(GAME, known)[0] + exact_value(GAME, known[::-1])[1]) / 2
    assert match.agent_shares()[:, 0].mean() == pytest.approx(expected, abs=4.5 * 0.5 / 8000**0.5)


def run(*words: str) -> Any:
    """Run `trialea exploit`."""
    app = typer.Typer()
    app.command(context_settings=WITH_GAME_OPTIONS)(exploit)
    return CliRunner().invoke(app, words)


def test_exploit_prints_json() -> None:
    done = run("no_dice", "greedy", "--players", "2", "--target", "2", "--throws", "1", "--json")
    assert done.exit_code == 0
    found, expected = json.loads(done.stdout), evaluate_exactly(game_of("no_dice", 2, target=2, throws=1), "greedy")
    assert found.pop("seconds") > 0
    assert found == {key: value for key, value in expected.to_json().items() if key != "seconds"}


@pytest.mark.parametrize("agent", ["random", "solver"])
def test_exploit_prints_readable_tables(agent: str) -> None:
    done = run("no_dice", agent, "--target", "2", "--throws", "1")
    assert done.exit_code == 0
    found = evaluate_exactly(game_of("no_dice", 2, target=2, throws=1), agent)
    for shown in ("who begins", "1 after", f"{found.value[0]:.5f}", f"{found.best_response[1]:.5f}", "milli-wins"):
        assert shown in done.stdout
    assert f"Exploitability: {max(0.0, found.exploitability):.6g} (" in done.stdout


@pytest.mark.parametrize("words", [("no_dice", "greedy", "random"), ("no_dice", "greedy", "--depth", "3")])
def test_exploit_rejects_extra_agents_and_unknown_options(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert isinstance(done.exception, OptionError)
    assert "exactly one agent" in str(done.exception) or "no such option: --depth" in str(done.exception)
