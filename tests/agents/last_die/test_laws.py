"""A round of Last Die as a chain: its expectations in exact rationals, its laws, and who wins a game."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import lcm

import numpy as np
import pytest

from trialea import OptionError
from trialea.agents.last_die.chain import (
    Chain,
    expectations,
    make_chain,
    points_thrown,
    residual,
)
from trialea.agents.last_die.laws import expected_visits, first_holders, points_laws, throws_law
from trialea.agents.last_die.rationals import exact_expectations
from trialea.agents.last_die.winning import winning

PLAYERS = (4, 5, 6)
SEVERAL = (4, 5, pytest.param(6, marks=pytest.mark.slow))
READINGS = (False, True)


def throws_counted(chain: Chain) -> np.ndarray:
    gains = np.zeros(chain.hands.shape)
    gains[:, 0] = 1.0
    return gains


# --- Against exact rationals, worked out from the rules by plain elimination -----------------------------------

Hands = tuple[int, ...]


def following(hands: Hands, opening: bool) -> Iterator[tuple[Fraction, Hands]]:
    """Every way that a throw of hand 0 can fall: its probability, and the hands after it, seen from the same seat."""
    for faces in product(("out", "left", "right", "stay"), repeat=hands[0]):
        after = [faces.count("stay"), *hands[1:]]
        after[1] += faces.count("left")
        after[-1] += faces.count("right")
        yield Fraction(3 ** faces.count("stay"), 6 ** hands[0]), tuple(after)


def next_thrower(after: Hands, opening: bool) -> int:
    if opening and after[0]:
        return 0
    return next(seat % len(after) for seat in range(1, len(after) + 1) if after[seat % len(after)])


def solve_exactly(players: int, even_ends_round: bool, counts_throws: bool) -> list[Fraction]:
    """What each seat may expect of a round, or how many throws it makes, by elimination in fractions."""
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
    """Solve the positions that lead to one another; those that they lead to besides are solved."""
    n = len(together[0])
    unknown = {(hands, seat): k for k, (hands, seat) in enumerate(product(together, range(n)))}
    rows: list[dict[int, Fraction]] = [{k: Fraction(1)} for k in range(len(unknown))]
    right = [Fraction(int(counts_throws and seat == 0)) for _, seat in unknown]
    for hands in together:
        chances: dict[Hands, Fraction] = defaultdict(Fraction)
        for chance, after in following(hands, opening):
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
    for k, row in enumerate(rows):  # forward
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
    for k in range(len(rows) - 1, -1, -1):  # and back
        right[k] -= sum((value * right[column] for column, value in rows[k].items()), Fraction(0))
    for hands in together:
        solution[hands, opening] = [right[unknown[hands, seat]] for seat in range(n)]


@pytest.mark.parametrize(
    ("players", "even_ends_round", "counts_throws"),
    [
        (4, False, False),
        pytest.param(4, True, False, marks=pytest.mark.slow),
        pytest.param(4, False, True, marks=pytest.mark.slow),
        pytest.param(4, True, True, marks=pytest.mark.slow),
    ],
)
def test_the_rationals_are_those_of_plain_elimination(players: int, even_ends_round: bool, counts_throws: bool) -> None:
    chain = make_chain(players, even_ends_round)
    gains = throws_counted(chain) if counts_throws else points_thrown(chain)
    found = exact_expectations(chain, [gains], chain.start)[0]
    assert found == solve_exactly(players, even_ends_round, counts_throws)


@pytest.mark.parametrize("players", SEVERAL)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_the_floats_are_the_rationals(players: int, even_ends_round: bool) -> None:
    chain = make_chain(players, even_ends_round)
    kinds = [points_thrown(chain), throws_counted(chain)]
    for gains, exact in zip(kinds, exact_expectations(chain, kinds, chain.start), strict=True):
        values = expectations(chain, gains)
        assert values[chain.start] == pytest.approx([float(value) for value in exact], abs=1e-12)
        assert residual(chain, gains, values) < 1e-12


# --- The laws of a round ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_the_laws_sum_to_one_and_have_the_exact_means(players: int, even_ends_round: bool) -> None:
    chain = make_chain(players, even_ends_round)
    points, throws = expectations(chain, points_thrown(chain)), expectations(chain, throws_counted(chain))
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
    # A round of one throw: six ones. No points at all: the last dice leave at once, or the last one scores nothing.
    assert length[1] == pytest.approx(6.0**-6, abs=1e-15)
    none = 1 - first_holders(chain)[chain.start].sum()
    assert of_all[0] == pytest.approx(none + (1 - none) / 4, abs=1e-12)


@pytest.mark.parametrize("even_ends_round", READINGS)
def test_the_law_of_the_length_is_that_of_the_matrix(even_ends_round: bool) -> None:
    """Its variance is 2 e (I - P)^-1 (I - P)^-1 1 - m - m^2, with m its mean."""
    chain = make_chain(4, even_ends_round)
    size = chain.num_positions
    step = np.zeros((size, size))
    inside = chain.target >= 0
    np.add.at(step, (chain.source[inside], chain.target[inside]), chain.chance[inside])
    mean = np.linalg.solve(np.eye(size) - step, np.ones(size))
    twice = np.linalg.solve(np.eye(size) - step, mean)[chain.start]
    law = throws_law(chain)
    lengths = np.arange(len(law))
    variance = law @ lengths**2 - (law @ lengths) ** 2
    assert variance == pytest.approx(2 * twice - mean[chain.start] - mean[chain.start] ** 2, abs=1e-9)


# --- Who wins ---------------------------------------------------------------------------------------------------


def last_die_scores(first: np.ndarray, even_ends_round: bool, rng: np.random.Generator) -> np.ndarray:
    """What the last die brings to each of four seats (G, 4), thrown out from those who hold it first (G,)."""
    holder, scores = first.copy(), np.zeros((len(first), 4), np.int64)
    going = np.arange(len(first))
    while len(going):
        faces = rng.integers(1, 7, len(going))
        even = faces % 2 == 0
        scores[going[even], holder[going[even]]] += faces[even]
        holder[going] = (holder[going] + (faces == 3) - (faces == 5)) % 4
        going = going[(faces != 1) & ~(even & even_ends_round)]
    return scores


def test_every_player_wins_a_quarter_by_exact_enumeration() -> None:
    """Where the first even face ends the round a player scores with probability a quarter of its expected points."""
    chain = make_chain(4, True)
    each = [points / 12 for points in exact_expectations(chain, [points_thrown(chain)], chain.start)[0]]
    ways = lcm(*(chance.denominator for chance in each))  # chances as whole numbers of these, for speed
    numbers = [int(chance * ways) for chance in each]
    games: dict[tuple[int, ...], int] = {(0, 0, 0, 0): 1}
    for opener in range(4):
        after: dict[tuple[int, ...], int] = defaultdict(int)
        for scores, number in games.items():
            after[scores] += number * (ways - 3 * sum(numbers))
            for seat, points in product(range(4), (2, 4, 6)):
                player = (opener + seat) % 4
                after[(*scores[:player], scores[player] + points, *scores[player + 1 :])] += number * numbers[seat]
        games = after
    shares, outright = [Fraction(0)] * 4, Fraction(0)
    for scores, number in games.items():
        winners = [player for player in range(4) if scores[player] == max(scores)]
        for player in winners:
            shares[player] += Fraction(number, len(winners))
        outright += number * (winners == [0])
    assert sum(games.values()) == ways**4
    assert [share / ways**4 for share in shares] == [Fraction(1, 4)] * 4
    found = winning(chain, np.ones(4, np.int64))
    assert found.outright == pytest.approx(float(outright / ways**4), abs=1e-12)
    assert found.share == pytest.approx(0.25, abs=1e-12)
    assert found.error == 0


@pytest.mark.parametrize("even_ends_round", READINGS)
@pytest.mark.parametrize("rounds", [(1, 0, 0, 0), (0, 1, 0, 2)])
def test_the_joint_law_of_some_rounds_is_that_of_walks(even_ends_round: bool, rounds: tuple[int, ...]) -> None:
    """Not everybody opens equally often, so that place 0 does not win a quarter."""
    chain = make_chain(4, even_ends_round)
    holders = first_holders(chain)[chain.start]
    rng, games = np.random.default_rng(1), 400_000
    scores = np.zeros((games, 4), np.int64)
    for opener, count in enumerate(rounds):
        for _ in range(count):
            first = rng.choice(5, games, p=[*holders, 1 - holders.sum()])
            seat = (opener + first) % 4
            scores += (first < 4)[:, None] * last_die_scores(seat, even_ends_round, rng)
    most = scores[:, 0] == scores.max(axis=1)
    ties = np.bincount((scores == scores.max(axis=1, keepdims=True)).sum(axis=1)[most], minlength=5)[1:] / games
    found = winning(chain, np.array(rounds))
    assert [found.outright, *found.shared] == pytest.approx(ties, abs=4.5 * 0.5 / games**0.5)
    assert abs(found.share - 0.25) > 1e-3


@pytest.mark.parametrize(("even_ends_round", "each"), [(True, 1), (True, 4), (False, 1)])
def test_shares_of_a_whole_game_are_a_quarter_to_1e_12(even_ends_round: bool, each: int) -> None:
    found = winning(make_chain(4, even_ends_round), np.full(4, each))
    assert found.share == pytest.approx(0.25, abs=2e-12)
    assert found.error < 1e-12
    assert found.outright + sum(found.shared) == pytest.approx(
        found.share + sum(found.shared[k] * (1 - 1 / (k + 2)) for k in range(3)), abs=1e-12
    )


def test_the_joint_law_is_of_four_players() -> None:
    with pytest.raises(OptionError, match="4 players, not 5"):
        winning(make_chain(5, False), np.ones(5, np.int64))
