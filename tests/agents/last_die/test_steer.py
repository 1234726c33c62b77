"""Last Die with `steer`: that its solution is one, and how it is played."""

from __future__ import annotations

import json
import pickle
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of, positions
from trialea.agents.last_die.chain import (
    expectations,
    make_chain,
    points_thrown,
)
from trialea.agents.last_die.deviation import best_reply
from trialea.agents.last_die.equilibrium import find_policy
from trialea.agents.last_die.solver import Solution, SolverAgent, solve
from trialea.agents.last_die.steer import make_choices
from trialea.envs.game import Game, States

PLAYERS = (4, 5, 6)
SEVERAL = (4, 5, pytest.param(6, marks=pytest.mark.slow))
READINGS = (False, True)


@cache
def solved(players: int = 4, **options: Any) -> Solution:
    return solve(game_of("last_die", players, **options))


# --- With steer -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_sending_each_die_by_a_coin_is_the_game_without_steer(players: int, even_ends_round: bool) -> None:
    choices = make_choices(players, even_ends_round)
    coin = np.array([[comb(sent, left) / 2**sent for left in range(7)] for sent in choices.sent])
    chain, plain = choices.under(coin), make_chain(players, even_ends_round)
    values = expectations(chain, points_thrown(chain))
    assert values == pytest.approx(expectations(plain, points_thrown(plain)), abs=1e-12)


@pytest.mark.parametrize("players", SEVERAL)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_nobody_gains_by_leaving_the_solution(players: int, even_ends_round: bool) -> None:
    found = solved(players, steer=True, even_ends_round=even_ends_round)
    assert found.steering is not None
    policy, choices = found.steering.policy, found.steering.choices
    assert (policy[~choices.legal] == 0).all()
    assert (policy >= 0).all()
    assert policy.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert found.residual < 1e-12
    assert found.steering.gains.max() < 1e-9
    assert improved_values(found, policy, found.values)[0] < 1e-9
    # It is not trivial: some choices are mixed, and most are not what one would do by a coin.
    mixed = (policy.max(axis=1) < 1 - 1e-9).sum()
    assert 0 < mixed < len(policy) / 10


def improved_values(found: Solution, policy: np.ndarray, values: np.ndarray) -> tuple[float, np.ndarray]:
    """One sweep of value iteration for whoever deviates: the largest gain of any seat anywhere, and the values."""
    assert found.steering is not None
    choices = found.steering.choices
    chain, n = choices.chain, choices.chain.players
    after = np.zeros_like(values)
    after[:, 0] = points_thrown(chain)[:, 0]
    worth = np.nan_to_num(choices.outcomes(values, np.arange(len(policy))), nan=-np.inf)
    played = (policy[..., None] * np.where(np.isfinite(worth), worth, 0.0)).sum(axis=1)
    played[:, 0] = worth[..., 0].max(axis=1)
    for edge in range(len(chain.source)):
        source, chance = chain.source[edge], chain.chance[edge]
        if choices.choice[edge] >= 0:
            if choices.action[edge] == 0:
                after[source] += chance * played[choices.choice[edge]]
        elif chain.target[edge] >= 0:
            after[source] += chance * np.roll(values[chain.target[edge]], chain.turn[edge])
    assert after.shape[1] == n
    return float((after - values).max()), after


def test_the_best_reply_is_the_limit_of_value_iteration() -> None:
    """Against players who send every number of dice left alike there is much to gain."""
    found = solved(4, steer=True)
    assert found.steering is not None
    choices = found.steering.choices
    policy = choices.uniform()
    chain = choices.under(policy)
    values = expectations(chain, points_thrown(chain))
    best = best_reply(choices, policy, values)
    assert improved_values(found, policy, best)[0] < 1e-12
    improved = values
    for _ in range(120):
        improved = improved_values(found, policy, improved)[1]
    assert improved == pytest.approx(best, abs=1e-8)
    assert (best[chain.start] - values[chain.start]).min() > 0.01


def play_out(game: Game, agents: list[Any], seeds: range) -> States:
    """Games to their end, player p played by agent p."""
    states = game.start(seeds)
    while not states.over.all():
        for player, agent in enumerate(agents):
            index = np.flatnonzero((states.over == 0) & (states.mover == player))
            if len(index):
                game.step(states, agent.act(states[index].view(np.recarray)), index)
    return states


@pytest.mark.parametrize("players", [4, 5])
def test_the_solver_scores_against_itself_what_it_should(players: int) -> None:
    """The first round alone: what each seat from the opener scores."""
    game = game_of("last_die", players, steer=True, seating="fixed", rounds_each=1)
    solution = solve(game)
    agent = SolverAgent(game, 5)
    states = game.start(range(40_000))
    scores = np.zeros((len(states), players), np.int64)
    while len(going := np.flatnonzero(states.rounds == 0)):
        game.step(states, agent.act(states[going].view(np.recarray)), going)
        scores[going] = states.scores[going, :players]
    # The step that ended the round may have begun the next, which all but never brings points without a choice.
    expected = solution.values[solution.chain.start]
    error = scores.std(axis=0) / len(scores) ** 0.5
    assert (np.abs(scores.mean(axis=0) - expected) < 4.5 * error).all()


def test_a_deviating_player_does_not_gain_in_play() -> None:
    """One random player among three of the solution scores less over a whole game, in which all sit everywhere."""
    game = game_of("last_die", 4, steer=True, seating="fixed")
    states = play_out(game, [random_player(game), *[SolverAgent(game, 1)] * 3], range(20_000))
    whole = 4 * solve(game).values[solve(game).chain.start].sum()
    mine = states.scores[:, 0]
    assert mine.mean() < whole - 2 * mine.std() / len(mine) ** 0.5


def random_player(game: Game) -> Any:
    from trialea.agents.random import RandomAgent

    return RandomAgent(game, 3)


def test_the_solver_draws_at_its_chances_and_the_same_again() -> None:
    game = game_of("last_die", 4, steer=True)
    agent = SolverAgent(game, 7)
    states = positions(game, 400, seed=4, most_decisions=100)
    actions = agent.act(states)
    assert (game.masks(states)[np.arange(len(states)), actions] == 1).all()
    assert actions.tolist() == pickle.loads(pickle.dumps(agent)).act(states).tolist()
    assert actions.tolist() == [int(agent.act(states[i : i + 1])[0]) for i in range(len(states))]
    chances = agent.action_probabilities(states)
    mixed = int(np.argmin(chances.max(axis=1)))
    assert chances[mixed].max() < 0.99
    same = np.repeat(states[mixed : mixed + 1], 20_000).view(np.recarray)
    same.seed = np.arange(len(same))
    found = np.bincount(agent.act(same), minlength=7) / len(same)
    assert found == pytest.approx(chances[mixed], abs=4.5 * 0.5 / len(same) ** 0.5)
    assert SolverAgent(game, 8).act(same).tolist() != agent.act(same).tolist()


def test_the_search_tells_its_progress() -> None:
    shares: list[float] = []
    policy, steps = find_policy(make_choices(4, True), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert steps > 0
    assert policy.shape == (378, 7)


def test_the_policy_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path))
    game = game_of("last_die", 4, steer=True, rounds_each=2)
    first = solve(game)
    assert len(list(tmp_path.iterdir())) == 1
    told: list[float] = []
    again = solve(game_of("last_die", 4, steer=True, seating="fixed"), told.append)
    assert told == []
    assert first.steering is not None and again.steering is not None
    assert (first.steering.policy == again.steering.policy).all()
    assert again.seconds == first.seconds


FIRST = ["game", "players", "options", "expected_points", "expected_throws", "win_probability"]
LAWS = ["points_law", "points_law_of_all", "throws_law"]


def test_the_summary_with_steer_says_how_near_to_an_equilibrium_it_is() -> None:
    summary = json.loads(json.dumps(solved(4, steer=True).summary()))
    assert list(summary) == [
        *FIRST,
        *("solution", "epsilon", "epsilon_of_seats", "epsilon_of_game", "epsilon_anywhere"),
        *("choices", "mixed_choices", "iterations", "table_sha256"),
        *("residual", "seconds", *LAWS),
    ]
    assert summary["choices"] == 378 > summary["mixed_choices"] > 0
    assert summary["epsilon"] == max(summary["epsilon_of_seats"])
    assert 0 <= summary["epsilon"] <= summary["epsilon_anywhere"] < 1e-9
    assert summary["epsilon_of_game"] == pytest.approx(4 * sum(summary["epsilon_of_seats"]))
