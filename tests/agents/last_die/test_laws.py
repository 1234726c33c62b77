"""Tests of a Last Die round as a Markov chain: expectations, distributions, and win probabilities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from trialea.agents.last_die.chain import expectations, make_chain, points_thrown, throws_made
from trialea.agents.last_die.laws import expected_visits, first_holders, points_laws, throws_law

PLAYERS = (4, 5, 6)
READINGS = (False, True)

# --- Comparison with exact rationals, computed from the rules by Gaussian elimination --------------------------

Hands = tuple[int, ...]


def following(hands: Hands) -> Iterator[tuple[Fraction, Hands]]:
    """Yield each outcome of a throw of hand 0: its probability, and the hands after it from the same seat."""
    for faces in product(("out", "left", "right", "stay"), repeat=hands[0]):
        after = [faces.count("stay"), *hands[1:]]
        after[1] += faces.count("left")
        after[-1] += faces.count("right")
        yield Fraction(3 ** faces.count("stay"), 6 ** hands[0]), tuple(after)


def next_thrower(after: Hands, opening: bool) -> int:
    """Return the seat that throws next."""
    if opening and after[0]:
        return 0
    return next(seat % len(after) for seat in range(1, len(after) + 1) if after[seat % len(after)])


def solve_exactly(players: int, even_ends_round: bool, counts_throws: bool) -> list[Fraction]:
    """Return the expected points, or the expected throws, of each seat in a round, as exact fractions."""
    solution: dict[tuple[Hands, bool], list[Fraction]] = {}
    for dice in range(1, 7):
        dealt = [hands for hands in product(range(dice + 1), repeat=players) if sum(hands) == dice and hands[0]]
        reached = [hands for hands in sorted(dealt) if sum(hands[2:-1]) == 0]
        for opening, group in ((False, [dealt]), (True, [[hands] for hands in reached])):
            for together in group:
                _eliminate(together, opening, even_ends_round, counts_throws, solution)
    return solution[(6, *[0] * (players - 1)), True]


def _eliminate(
    together: list[Hands],
    opening: bool,
    even_ends_round: bool,
    counts_throws: bool,
    solution: dict[tuple[Hands, bool], list[Fraction]],
) -> None:
    """Solve a group of positions that lead to each other; all other successors are solved already."""
    n = len(together[0])
    unknown = {(hands, seat): k for k, (hands, seat) in enumerate(product(together, range(n)))}
    rows: list[dict[int, Fraction]] = [{k: Fraction(1)} for k in range(len(unknown))]
    right = [Fraction(int(counts_throws and seat == 0)) for _, seat in unknown]
    for hands in together:
        chances: dict[Hands, Fraction] = defaultdict(Fraction)
        for chance, after in following(hands):
            chances[after] += chance
        for after, chance in chances.items():
            scores = sum(hands) == 1 and after[0] == 1
            if scores and not counts_throws:
                right[unknown[hands, 0]] += chance * 4
            if not any(after) or (scores and even_ends_round):
                continue
            turn = next_thrower(after, opening)
            onward, still = after[turn:] + after[:turn], opening and after[0] > 0
            for seat in range(n):
                row, seen = unknown[hands, seat], (seat - turn) % n
                if still == opening and (onward, seen) in unknown:
                    column = unknown[onward, seen]
                    rows[row][column] = rows[row].get(column, Fraction(0)) - chance
                else:
                    right[row] += chance * solution[onward, still][seen]
    for k, row in enumerate(rows):  # forward elimination
        pivot = row.pop(k)
        for column in row:
            row[column] /= pivot
        right[k] /= pivot
        for below in range(k + 1, len(rows)):
            multiple = rows[below].pop(k, None)
            if multiple:
                for column, value in row.items():
                    rows[below][column] = rows[below].get(column, Fraction(0)) - multiple * value
                right[below] -= multiple * right[k]
    for k in range(len(rows) - 1, -1, -1):  # back substitution
        right[k] -= sum((value * right[column] for column, value in rows[k].items()), Fraction(0))
    for hands in together:
        solution[hands, opening] = [right[unknown[hands, seat]] for seat in range(n)]


@pytest.mark.parametrize("counts_throws", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("even_ends_round", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_expectations_of_a_round_match_exact_rationals(even_ends_round: bool, counts_throws: bool) -> None:
    chain = make_chain(4, even_ends_round)
    found = expectations(chain, throws_made(chain) if counts_throws else points_thrown(chain))[chain.start]
    exact = solve_exactly(4, even_ends_round, counts_throws)
    assert found == pytest.approx([float(value) for value in exact], abs=1e-13)


# --- Distributions of a round -----------------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_distributions_sum_to_one_and_have_the_exact_means(players: int, even_ends_round: bool) -> None:
    chain = make_chain(players, even_ends_round)
    points, throws = expectations(chain, points_thrown(chain)), expectations(chain, throws_made(chain))
    of_seats, of_all = points_laws(chain)
    length = throws_law(chain)
    for law in (*of_seats, of_all, length):
        assert (law >= 0).all()
        assert law.sum() == pytest.approx(1, abs=1e-12)
    scored = 2 * np.arange(len(of_all))
    assert of_seats @ scored == pytest.approx(points[chain.start], abs=1e-11)
    assert of_all @ scored == pytest.approx(points[chain.start].sum(), abs=1e-11)
    assert length @ np.arange(len(length)) == pytest.approx(throws[chain.start].sum(), abs=1e-11)
    assert expected_visits(chain).sum() == pytest.approx(throws[chain.start].sum(), abs=1e-11)
    # A round of one throw needs six ones. A round has no points if the last dice leave at once or the last die scores
    # nothing.
    assert length[1] == pytest.approx(6.0**-6, abs=1e-15)
    none = 1 - first_holders(chain).sum()
    assert of_all[0] == pytest.approx(none + (1 - none) / 4, abs=1e-12)


@pytest.mark.parametrize("even_ends_round", READINGS)
def test_variance_of_the_round_length_matches_the_matrix_formula(even_ends_round: bool) -> None:
    """The variance is 2 e (I - P)^-1 (I - P)^-1 1 - m - m^2, with mean m."""
    chain = make_chain(4, even_ends_round)
    size = len(chain.hands)
    step = np.zeros((size, size))
    inside = chain.target >= 0
    np.add.at(step, (chain.source[inside], chain.target[inside]), chain.chance[inside])
    mean = np.linalg.solve(np.eye(size) - step, np.ones(size))
    twice = np.linalg.solve(np.eye(size) - step, mean)[chain.start]
    law = throws_law(chain)
    lengths = np.arange(len(law))
    variance = law @ lengths**2 - (law @ lengths) ** 2
    assert variance == pytest.approx(2 * twice - mean[chain.start] - mean[chain.start] ** 2, abs=1e-9)


# --- Win probabilities ------------------------------------------------------------------------------------------


def test_each_of_four_players_wins_a_quarter_of_the_games() -> None:
    """By enumeration of a game with one round per player.

    If the first even face ends the round, either nobody scores, or one player scores 2, 4 or 6 with equal
    probability. So the probability that a player scores one of these values is a twelfth of its expected points.
    """
    chain = make_chain(4, True)
    each = expectations(chain, points_thrown(chain))[chain.start] / 12
    games: dict[tuple[int, ...], float] = {(0, 0, 0, 0): 1.0}
    for opener in range(4):
        after: dict[tuple[int, ...], float] = defaultdict(float)
        for scores, chance in games.items():
            after[scores] += chance * (1 - 3 * each.sum())
            for seat, points in product(range(4), (2, 4, 6)):
                player = (opener + seat) % 4
                after[(*scores[:player], scores[player] + points, *scores[player + 1 :])] += chance * each[seat]
        games = after
    shares = np.zeros(4)
    for scores, chance in games.items():
        winners = np.array(scores) == max(scores)
        shares += chance * winners / winners.sum()
    assert shares == pytest.approx([0.25] * 4, abs=1e-12)
