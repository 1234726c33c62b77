"""Tests of the policy evaluation benchmark, which learns values in Last Die and compares them with exact ones."""

from __future__ import annotations

import json
import sys
from collections import defaultdict

import numpy as np
import pytest

from tests.helpers import game_of
from trialea.agents.last_die.chain import make_chain
from trialea.benchmarks import policy_evaluation
from trialea.benchmarks.policy_evaluation import BLOCK, Learner, measure, play


def test_errors_of_both_methods_fall_with_more_games() -> None:
    found = measure(4, most_games=4 * BLOCK)
    assert found["games"] == [BLOCK, 2 * BLOCK, 4 * BLOCK]
    for method in ("td", "monte_carlo"):
        errors = found[method]
        assert found["zero"] / 5 > errors[0] > errors[1] > errors[2] > 0
    assert (
        found["td"][-1] < found["monte_carlo"][-1]
    )  # TD learns from estimated values, which vary less than single outcomes
    assert found["monte_carlo"][-1] < 0.7 * found["monte_carlo"][0]  # the error of a mean would fall to a half


def test_monte_carlo_value_is_the_mean_return_of_every_visit() -> None:
    """Computed a second time from one game at a time, state by state."""
    game = game_of("last_die", 4, rounds_each=2)
    chain = make_chain(4, False)
    learner = Learner(chain, "monte_carlo")
    seeds = range(12)
    learner.learn(play(game, chain, seeds))
    returns: dict[tuple[tuple[int, ...], bool], list[np.ndarray]] = defaultdict(list)
    for seed in seeds:
        states = game.start([seed])
        met = []
        while not states.over[0]:
            state = states[0].copy()
            order = np.argsort(
                (state.place[:4].astype(int) - int(state.place[state.mover])) % 4
            )  # starting from the mover
            met.append((tuple(state.held[order].tolist()), bool(state.opening), int(state.rounds), state.scores, order))
            game.step(states, [0])
            at_end = states.scores[0].copy()
            if states.rounds[0] != state.rounds:
                for hands, opening, _, before, seats in met:
                    returns[hands, opening].append((at_end - before)[seats])
                met = []
    assert sum(map(len, returns.values())) == learner.visits.sum()
    for (hands, opening), found in returns.items():
        number = chain.number(hands, opening)
        assert learner.visits[number] == len(found)
        assert learner.values[number] == pytest.approx(np.mean(found, axis=0), abs=1e-12)
    assert (learner.values[learner.visits == 0] == 0).all()


def test_benchmark_command_prints_the_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["policy_evaluation", "--players", "5", "--games", str(BLOCK), "--seed", "3"])
    policy_evaluation.main()
    found = json.loads(capsys.readouterr().out)
    assert found["players"] == 5
    assert found["games"] == [BLOCK]
    assert len(found["td"]) == len(found["monte_carlo"]) == 1
