"""Tests of ratings: recovering known strengths, interval widths, and cycles."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import beta

from tests.evaluation.made_up_matches import luce, match_of
from trialea.envs.errors import MissingExtraError
from trialea.evaluation.matches.match import Match
from trialea.evaluation.matches.schedule import balanced_tables, make_seatings, rotations
from trialea.evaluation.tournaments.ratings import POINTS, Lead, find_cycles, fit_ratings


def points_of(match: Match) -> np.ndarray:
    """Return the rating points of a match."""
    return np.array(fit_ratings(match, resamples=100).points)


THETA = np.array([0.4, -0.9, 1.1, -0.6])


# Ratings ---------------------------------------------------------------------------------------------------------


def test_two_agents_differ_by_the_log_of_their_odds() -> None:
    """Each agent is given half a unit, here one game, in addition to the games played."""
    shares = np.array([[1.0, 0.0]] * 30 + [[0.0, 1.0]] * 10)  # agent 0 sits first in even games
    match = match_of(shares, make_seatings(2, 2))
    won = match.agent_shares().sum(axis=0) + 1.0
    a, b = points_of(match)
    assert a - b == pytest.approx(400 * np.log10(won[0] / won[1]))
    assert a + b == pytest.approx(0.0)


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_known_strengths_are_recovered(seats: int) -> None:
    found = points_of(luce(THETA, seats, 3000, seed=seats)) / POINTS
    assert found == pytest.approx(THETA - THETA.mean(), abs=0.06)


def test_strengths_are_recovered_from_balanced_tables() -> None:
    theta = np.linspace(-1, 1, 9)
    seatings = rotations(balanced_tables(9, 3, 9))
    assert points_of(luce(theta, 3, 1500, 1, seatings)) / POINTS == pytest.approx(theta, abs=0.1)


def test_ratings_at_tables_of_three_match_maximum_likelihood() -> None:
    match = luce([0.5, 0.0, -0.5, 0.2], 3, 400, seed=8)
    seats, winner = match.seats(), match.shares.argmax(axis=1)

    def surprise(theta: np.ndarray) -> float:
        at_table = theta[seats]
        return float((np.log(np.exp(at_table).sum(axis=1)) - at_table[np.arange(len(winner)), winner]).sum())

    best = minimize(surprise, np.zeros(4)).x
    assert points_of(match) / POINTS == pytest.approx(best - best.mean(), abs=0.03)


def test_order_of_games_does_not_matter() -> None:
    match = luce(THETA, 2, 100, seed=1)
    order = np.random.default_rng(0).permutation(100)
    turned = match.shares.reshape(100, -1, 2)[order].reshape(-1, 2)
    assert points_of(replace(match, shares=turned)) == pytest.approx(points_of(match))


def test_shared_win_counts_by_its_shares() -> None:
    match = match_of(np.full((60, 3), 1 / 3), make_seatings(3, 3))
    assert points_of(match) == pytest.approx(np.zeros(3), abs=1e-6)
    halves = match_of(np.tile([[0.5, 0.5], [1.0, 0.0]], (40, 1)), make_seatings(2, 2))
    whole = match_of(np.tile([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], (20, 1)), make_seatings(2, 2))
    assert halves.agent_shares().sum(axis=0).tolist() == [20.0, 60.0]
    assert points_of(halves) == pytest.approx(points_of(whole), abs=8)  # equal apart from the weight of half a unit


def test_holding_more_seats_gives_no_higher_rating() -> None:
    for seats in (3, 4, 5):
        assert points_of(luce([0.0, 0.0], seats, 2000, seed=2)) / POINTS == pytest.approx(np.zeros(2), abs=0.05)
        found = points_of(luce([0.5, -0.5], seats, 2000, seed=3)) / POINTS
        assert found == pytest.approx([0.5, -0.5], abs=0.06)


def test_ranks_and_expected_wins_follow_from_the_ratings() -> None:
    found = fit_ratings(luce(THETA, 2, 200, seed=4), resamples=100)
    assert found.rank == (2, 4, 1, 3)
    for a, (first, last) in enumerate(found.rank_interval):
        assert first <= found.rank[a] <= last
    for a, row in enumerate(found.expected):
        assert row[a] is None
        for b, rate in enumerate(row):
            if rate is not None:
                odds = 10 ** ((found.points[a] - found.points[b]) / 400)
                assert rate == pytest.approx(odds / (1 + odds))


def test_anchor_has_rating_zero() -> None:
    match = luce(THETA, 2, 200, seed=4)
    mean, anchored = fit_ratings(match, resamples=100), fit_ratings(match, resamples=100, anchor=1)
    assert anchored.points[1] == 0.0
    assert anchored.interval[1] == (0.0, 0.0)
    assert np.diff(anchored.points) == pytest.approx(np.diff(mean.points))


# Intervals -------------------------------------------------------------------------------------------------------


def test_agent_that_lost_every_game_has_a_finite_interval() -> None:
    """For no win in 20 units the interval is near Jeffreys' (and Wilson's 0 to 0.161)."""
    shares = np.tile([[1.0, 0.0], [0.0, 1.0]], (20, 1))
    found = fit_ratings(match_of(shares, make_seatings(2, 2)), resamples=1500, anchor=0)
    low, high = (10 ** (limit / 400) / (1 + 10 ** (limit / 400)) for limit in found.interval[1])
    assert low < 1e-3
    assert high == pytest.approx(beta.ppf(0.975, 0.5, 20.5), rel=0.2)
    narrow = fit_ratings(match_of(np.tile(shares, (50, 1)), make_seatings(2, 2)), resamples=500, anchor=0)
    assert narrow.interval[1][1] < found.interval[1][1] - 100


def test_identical_units_give_the_interval_of_equal_results() -> None:
    """Seat 0 always wins, so each agent wins half of 30 units: Jeffreys' interval for 15 of 30."""
    shares = np.tile([[1.0, 0.0], [1.0, 0.0]], (30, 1))
    found = fit_ratings(match_of(shares, make_seatings(2, 2)), resamples=800, anchor=0)
    ends = [10 ** (limit / 400) / (1 + 10 ** (limit / 400)) for limit in found.interval[1]]
    assert ends == pytest.approx(beta.ppf([0.025, 0.975], 15.5, 15.5), abs=0.02)


def test_repeated_games_do_not_narrow_the_intervals() -> None:
    """A unit of ten equal rotations has the same information as one of two."""
    seatings, wide = make_seatings(2, 2), np.tile(make_seatings(2, 2), (5, 1))
    one = luce([0.3, -0.3], 2, 100, seed=5)
    many = match_of(np.tile(one.shares.reshape(100, 2, 2), (1, 5, 1)).reshape(-1, 2), wide)
    assert len(seatings) * 5 == len(wide)
    a, b = (fit_ratings(match, resamples=400).interval[0] for match in (one, many))
    assert a == pytest.approx(b, abs=1e-4)


def test_same_seed_gives_the_same_intervals() -> None:
    match = luce(THETA, 2, 50, seed=6)
    first, again, other = (fit_ratings(match, resamples=100, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert first.points == other.points


@pytest.mark.slow
@pytest.mark.parametrize("seats", [2, 3])
def test_intervals_cover_the_strengths_as_often_as_stated(seats: int) -> None:
    covered = np.zeros(4)
    for seed in range(150):
        found = fit_ratings(luce(THETA, seats, 40, seed), resamples=100, seed=seed)
        low, high = np.array(found.interval).T / POINTS
        covered += (low <= THETA - THETA.mean()) & (THETA - THETA.mean() <= high)
    assert (covered / 150 > 0.88).all() and (covered / 150 < 0.995).all()


def test_missing_choix_raises_and_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "choix", None)
    with pytest.raises(MissingExtraError, match=r"choix.*trialea\[tournament\]"):
        fit_ratings(luce([0.0, 0.0], 2, 10, 0))


# Cycles ----------------------------------------------------------------------------------------------------------


def cycles(*wins: str) -> list[str]:
    """Return the cycles among wins such as "ab" (a beats b), each as its agents in order."""
    found = find_cycles({(a, b): Lead((a, b), 0.1, (0.05, 0.15)) for a, b in wins})
    for cycle in found:
        for lead, following in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert lead.agents[1] == following.agents[0]
    return ["".join(lead.agents[0] for lead in cycle) for cycle in found]


def test_ordered_agents_have_no_cycle() -> None:
    assert cycles() == cycles("ab") == cycles("ab", "ac", "bc", "bd", "cd") == []


def test_cycle_of_three_is_found() -> None:
    assert cycles("ab", "bc", "ca") == ["abc"]
    assert cycles("ca", "bc", "ab", "xa", "xb", "by") == ["abc"]


def test_longer_cycle_is_found_when_no_shorter_one_explains_it() -> None:
    assert cycles("ab", "bc", "cd", "da") == ["abcd"]
    assert cycles("ab", "bc", "cd", "da", "ca") == ["abc", "abcd"]  # cd and da are in no cycle of three


def test_several_cycles_are_found() -> None:
    assert cycles("ab", "bc", "ca", "xy", "yz", "zx", "ax") == ["abc", "xyz"]
