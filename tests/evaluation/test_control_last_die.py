"""Tests that use Last Die as a control: nobody decides anything, so no measure may find skill in it.

The simulation must also follow the exact distributions of a round, and the statistical tests must be sensitive
enough to detect dice with one face 2 % too likely.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2

from tests.helpers import column, game_of, nth
from trialea.agents.last_die.chain import make_chain
from trialea.agents.last_die.laws import UNIT, points_laws, throws_law
from trialea.envs.game import Game, States
from trialea.evaluation import Evaluation, evaluate

# --- No skill is found ------------------------------------------------------------------------------------------


@cache
def compared(duplicate: bool, agents: tuple[str, ...] = ("random", "solver")) -> Evaluation:
    """Return a cached evaluation of agents at Last Die."""
    return evaluate(game_of("last_die", 4), list(agents), num_games=2000, seed=1, duplicate=duplicate, confidence=0.999)


@pytest.mark.parametrize("duplicate", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_no_agent_is_better_than_another(duplicate: bool) -> None:
    found = compared(duplicate)
    low, high = found.versus_first()[0].difference.interval
    assert low <= 0 <= high
    for low, high in column(found, "interval"):
        assert low <= 0.5 <= high  # each agent holds two of the four seats


def test_duplicate_dice_leave_no_difference_at_all() -> None:
    """The dice do not depend on the agents, so every unit is even."""
    found = compared(True)
    assert found.versus_first()[0].difference.mean == pytest.approx(0, abs=1e-15)
    assert column(found, "win_rate") == pytest.approx([0.5, 0.5], abs=1e-15)


@pytest.mark.parametrize("duplicate", [pytest.param(True, marks=pytest.mark.slow), False])
def test_each_of_four_players_wins_a_quarter_with_zero_regret(duplicate: bool) -> None:
    found = compared(duplicate, ("random", "solver", "random", "solver"))
    for low, high in (
        *column(found, "interval"),
        *((1 / 4 + a, 1 / 4 + b) for a, b in [seat.effect_interval for seat in found.seats]),
    ):
        assert low <= 1 / 4 <= high
    assert nth(found, 0).regret is not None
    assert [regret.per_decision for regret in column(found, "regret")] == [0.0] * 4  # exactly zero
    assert [regret.decisions for regret in column(found, "regret")] == [0] * 4  # no decision mattered
    assert not any(regret.worst for regret in column(found, "regret"))
    assert found.to_json()["regret_per_decision"] == [0.0] * 4


# --- The simulation follows the exact distributions -------------------------------------------------------------


def engine_throws(game: Game, states: States) -> States:
    """Play one throw with the engine's own dice."""
    game.step(states, np.zeros(len(states), np.int64))
    return states


def generated_throws(weights: list[float], seed: int) -> Callable[[Game, States], States]:
    """Return a function that plays throws with dice of another generator, whose faces have these weights."""
    rng = np.random.default_rng(seed)
    edges = np.cumsum(weights) / np.sum(weights)

    def throws(game: Game, states: States) -> States:
        after = game.choose(states, np.zeros(len(states), np.int64))
        faces = np.searchsorted(edges, rng.random((len(states), 8)), side="right")
        game.loops.throw(after, faces, game.tables)
        return after

    return throws


def simulate(game: Game, games: int, throws: Callable[[Game, States], States]) -> tuple[np.ndarray, np.ndarray]:
    """Return the points per seat from the opener to the left (R, n), and the lengths (R,), of all rounds of `games`
    games.
    """
    n = game.num_players
    states = game.start(np.arange(games))
    length = np.zeros(games, np.int64)
    before = np.zeros((games, n), np.int64)
    points, lengths = [], []
    while len(states):
        opener = states.rounds % n
        rounds = states.rounds.copy()
        states = throws(game, states)
        length += 1
        ended = np.flatnonzero(states.rounds != rounds)
        scored = states.scores[ended, :n] - before[ended]
        seats = (states.place[ended, :n].astype(np.int64) - opener[ended, None]) % n
        by_seat = np.empty_like(scored)
        np.put_along_axis(by_seat, seats, scored, axis=1)
        points.append(by_seat)
        lengths.append(length[ended])
        before[ended], length[ended] = states.scores[ended, :n], 0
        going = states.over == 0
        states, length, before = states[going].view(np.recarray), length[going], before[going]
    return np.concatenate(points), np.concatenate(lengths)


def p_value(values: np.ndarray, law: np.ndarray) -> float:
    """Return the p-value of a χ² test that integers follow a distribution; cells below 20 expected are merged."""
    expected = law * len(values)
    rare = expected < 20
    found = np.bincount(values, minlength=len(law))
    found = np.append(found[: len(law)][~rare], found[: len(law)][rare].sum() + found[len(law) :].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    found, expected = (kept[expected > 0] for kept in (found, expected))
    statistic = ((found - expected) ** 2 / expected).sum()
    return float(chi2.sf(statistic, len(found) - 1))


def p_values(game: Game, games: int, throws: Callable[[Game, States], States]) -> list[float]:
    """Return the p-values for each seat's points in a round, for all points, and for the length of a round."""
    chain = make_chain(game.num_players, game.options.even_ends_round)
    of_seats, of_all = points_laws(chain)
    points, lengths = simulate(game, games, throws)
    assert len(lengths) == games * game.num_players * game.options.rounds_each
    assert (points % UNIT == 0).all()
    found = [p_value(points[:, seat] // UNIT, law) for seat, law in enumerate(of_seats)]
    return [*found, p_value(points.sum(axis=1) // UNIT, of_all), p_value(lengths, throws_law(chain))]


GAMES = 5000  # ten rounds per player: 200,000 rounds with four players
TABLES = [
    (4, False),
    (4, True),
    pytest.param(5, False, marks=pytest.mark.slow),
    pytest.param(5, True, marks=pytest.mark.slow),
    pytest.param(6, False, marks=pytest.mark.slow),
    pytest.param(6, True, marks=pytest.mark.slow),
]


def table(players: int, even_ends_round: bool) -> Game:
    """Return a game of ten rounds per player."""
    return game_of("last_die", players, even_ends_round=even_ends_round, rounds_each=10)


@pytest.mark.parametrize(("players", "even_ends_round"), TABLES)
def test_rounds_of_the_engine_follow_the_exact_distributions(players: int, even_ends_round: bool) -> None:
    found = p_values(table(players, even_ends_round), GAMES, engine_throws)
    assert min(found) > 0.01, found


def test_rounds_with_another_generators_fair_dice_follow_them_too() -> None:
    found = p_values(table(4, False), GAMES, generated_throws([1.0] * 6, 1))
    assert min(found) > 0.01, found


@pytest.mark.parametrize(
    ("face", "games"),
    [
        (1, GAMES),
        pytest.param(3, 6 * GAMES, marks=pytest.mark.slow),
        pytest.param(6, 6 * GAMES, marks=pytest.mark.slow),
    ],
)
def test_dice_with_one_face_two_percent_too_likely_are_detected(face: int, games: int) -> None:
    """Face 1 takes dice out of the game, so it is detected with fewer games: 0.1694 instead of 0.1667."""
    weights = [1.0] * 6
    weights[face - 1] *= 1.02
    found = p_values(table(4, False), games, generated_throws(weights, 1))
    assert min(found) < 1e-7, found


@pytest.mark.slow
def test_fair_dice_pass_with_the_larger_number_of_games() -> None:
    found = p_values(table(4, False), 6 * GAMES, generated_throws([1.0] * 6, 1))
    assert min(found) > 0.01, found
