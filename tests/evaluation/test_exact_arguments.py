"""Tests of the functions for exact values: rejected agents, rejected arguments, progress and plain data."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.evaluation.exact_values import evaluated
from tests.helpers import game_of
from trialea import OptionError
from trialea.envs.game import States
from trialea.envs.no_dice.rules import ADD_UP
from trialea.evaluation import (
    best_response,
    evaluate_exactly,
    exact_value,
    exploitability,
    nash_conv,
    tabulate_policy,
)

# --- Agents that cannot be valued ------------------------------------------------------------------------


class Scripted:
    """An agent made from functions and attributes."""

    name = "scripted"

    def __init__(self, act: Callable[[States], Any], **more: Any) -> None:
        self.act = act
        self.__dict__.update(more)


def first_legal(states: States) -> np.ndarray:
    """Return the first legal actions."""
    return game_of("no_dice", 2, target=2).masks(states).argmax(axis=1)


def even(states: States) -> np.ndarray:
    """Return equal probabilities for all legal actions."""
    masks = game_of("no_dice", 2, target=2).masks(states).astype(float)
    return masks / masks.sum(axis=1, keepdims=True)


WRONG: dict[str, tuple[Scripted, str]] = {
    "random without probabilities": (Scripted(first_legal), "'scripted' cannot be known.*deterministic = *True.*"),
    "an illegal action": (
        Scripted(lambda states: np.full(len(states), ADD_UP), deterministic=True),
        "'scripted': action 139 .* is illegal.*the position:\n┌",
    ),
    "no actions": (
        Scripted(even, deterministic=True),
        "'scripted' returned an invalid array of actions: .*whole numbers",
    ),
    "too few actions": (Scripted(lambda states: first_legal(states)[1:], deterministic=True), "'scripted' returned an"),
    "another shape": (
        Scripted(first_legal, action_probabilities=lambda states: even(states)[:, 1:]),
        "shape .*, 140\\), got shape .*, 139\\)",
    ),
    "whole numbers": (
        Scripted(first_legal, action_probabilities=lambda states: even(states).astype(int)),
        "at least 0 and sum to 1",
    ),
    "negative probability": (
        Scripted(first_legal, action_probabilities=lambda states: 1.5 * even(states) - 0.5 * even(states).max()),
        "at least 0 and sum to 1.*from -",
    ),
    "not a number": (
        Scripted(first_legal, action_probabilities=lambda states: np.nan * even(states)),
        "at least 0 and sum to 1",
    ),
    "sum is not 1": (
        Scripted(first_legal, action_probabilities=lambda states: 0.9 * even(states)),
        "from 0 to .* with sum 0.9 here:.*player_0",
    ),
    "illegal action with a probability": (
        Scripted(first_legal, action_probabilities=lambda states: np.full((len(states), 140), 1 / 140)),
        ": action .*is illegal.*the position:\n┌",
    ),
    "depends on the seat": (
        Scripted(
            lambda states: first_legal(states) + (states.mover == 0) * (states.throws < 3),
            deterministic=True,
        ),
        "changes with the seat, the seed or the number of turns",
    ),
    "depends on the seed": (
        Scripted(
            first_legal,
            action_probabilities=lambda states: np.where(
                states.seed[:, None] % 2, even(states), np.eye(140)[first_legal(states)]
            ),
        ),
        "changes with the seat, the seed or the number of turns",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_agent_without_a_valid_known_policy_raises(wrong: str) -> None:
    agent, reason = WRONG[wrong]
    with pytest.raises(ValueError, match=f"(?s){reason}"):
        tabulate_policy(game_of("no_dice", 2, target=2), agent)


@pytest.mark.parametrize("wrong", [{"deterministic": True}, {"action_probabilities": lambda states: 1 / 0}])
def test_agents_own_error_gets_a_note_with_name_and_position(wrong: dict[str, Any]) -> None:
    agent = Scripted(lambda states: 1 / 0, **wrong)
    with pytest.raises(ZeroDivisionError) as caught:
        tabulate_policy(game_of("no_dice", 2, target=2), agent)
    [note] = caught.value.__notes__
    assert "agent 'scripted' was asked for actions, in the first of" in note and "player_0" in note


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_probabilities_can_have_any_float_type(kind: type[np.floating[Any]]) -> None:
    game = game_of("no_dice", 2, target=2)
    whole = Scripted(first_legal, action_probabilities=lambda states: even(states))
    agent = Scripted(first_legal, action_probabilities=lambda states: even(states).astype(kind))
    values = [exact_value(game, [one, "solver"]) for one in (agent, whole)]
    assert values[0] == pytest.approx(values[1], abs=1e-3)


def test_human_agent_raises() -> None:
    with pytest.raises(OptionError, match="'human' cannot be known"):
        evaluate_exactly(game_of("no_dice", 2, target=2), "human")


def test_games_too_large_raise() -> None:
    with pytest.raises(OptionError, match="2 or 3 players.*not for 4 players"):
        exact_value(game_of("no_dice", 4), ["greedy"] * 4)
    with pytest.raises(OptionError, match="up to 100.*target 101"):
        evaluate_exactly(game_of("no_dice", 2, target=101), "greedy")
    with pytest.raises(OptionError, match="exact values need one of these games: no_dice, .*; got last_die"):
        evaluate_exactly("last_die", "random")


def test_wrong_agents_seats_and_first_players_raise() -> None:
    game, other = game_of("no_dice", 2, target=1), game_of("no_dice", 2, target=2)
    known = tabulate_policy(game, "greedy")
    for agents, given in (([known], "1"), ([known] * 3, "3"), ("greedy", "one"), (known, "one"), (None, "one")):
        for function in (exact_value, nash_conv):
            with pytest.raises(OptionError, match=f"a list of 2, one for each seat, got {given}\\.") as caught:
                function(game, agents)  # type: ignore[operator]
            assert len(str(caught.value)) < 200
    assert len(repr(known)) < 200
    with pytest.raises(OptionError, match="must be for .*target=2.*, got one for .*target=1"):
        exact_value(other, [known, known])
    with pytest.raises(OptionError, match="seat must be"):
        best_response(game, [known, known], 2)
    with pytest.raises(OptionError, match="first_player must be"):
        exact_value(game, [known, known], -1)


def test_tabulated_policy_is_not_computed_again() -> None:
    game, asked = game_of("no_dice", 2, target=1), []
    agent = Scripted(lambda states: asked.append(len(states)) or first_legal(states), deterministic=True)
    nash_conv(game, [agent, agent])
    once = len(asked)
    known = tabulate_policy(game, agent)
    assert len(asked) == 2 * once
    nash_conv(game, [known, known])
    assert exploitability(game, known) > 0
    assert len(asked) == 2 * once


def test_progress_increases_to_one() -> None:
    shares: list[float] = []
    evaluate_exactly(game_of("no_dice", 2, target=2), "greedy", shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_figures_are_plain_json_data() -> None:
    found = evaluated("greedy", target=8)
    plain = found.to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert {"exploitability", "value_vs_equilibrium", "regret_per_decision", "states", "seconds"} <= set(plain)
    assert plain["states"] == 64 * (2 * 7776 + 6193)


def test_regret_by_score_with_target_one_has_only_total_zero() -> None:
    found = evaluate_exactly(game_of("no_dice", 2, target=1), "greedy")
    assert list(found.regret_by_score) == ["0"]
    assert found.regret_by_score["0"].decisions == pytest.approx(found.decisions)
    assert len(repr(found)) < 200
