"""Tests of the slow oracle of Poker Figures against sums by hand. `test_rules.py` tests the source's examples."""

from __future__ import annotations

from itertools import product
from math import comb
from random import Random

import pytest

from tests.oracle import poker_figures as oracle
from tests.oracle.poker_figures import Decision, Game, IllegalDecision, Options

# --- Points of a throw -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dice", "de_mao", "points"),
    [
        ("VVVDV", True, 100),
        ("VVVDV", False, None),
        ("AAAAR", True, 200),
        ("AAARA", True, 200),
        ("AAAAR", False, None),
        ("AAAAD", True, 100),
        ("VVVVV", True, 100),
        ("9999A", True, None),
        ("99999", True, None),
    ],
)
def test_pokers_count_only_de_mao(dice: str, de_mao: bool, points: int | None) -> None:
    assert oracle.count(dice, "P", de_mao) == points


@pytest.mark.parametrize(
    ("dice", "row", "de_mao", "points"),
    [
        ("DDDDD", "D", False, 10),
        ("DDDDD", "D", True, 20),
        ("DDDD9", "D", True, 9),
        ("99999", "D", True, 5),
        ("ARVXX", "D", True, None),
        ("9XVDR", "S", False, 15),
        ("RDVX9", "S", True, 30),
        ("ARDVX", "S", False, 30),
        ("XVDRA", "S", True, 60),
        ("ARDV9", "S", True, None),
        ("DDDVV", "F", False, 20),
        ("99DD9", "F", True, 40),
        ("DDDDD", "F", True, None),
        ("DDDDV", "F", True, None),
        ("DDVVA", "F", True, None),
    ],
)
def test_points_match_sums_by_hand(dice: str, row: str, de_mao: bool, points: int | None) -> None:
    assert oracle.count(dice, row, de_mao) == points


def test_frequencies_of_all_results_match_binomials() -> None:
    """Covers fulls, both sequences, pokers, and every sum of a figure row."""
    throws = ["".join(dice) for dice in product(oracle.FACES, repeat=5)]
    assert sum(oracle.count(dice, "F", False) is not None for dice in throws) == 6 * 5 * comb(5, 3)
    assert [sum(oracle.count(dice, "S", False) == v for dice in throws) for v in (15, 30)] == [120, 120]
    assert sum(oracle.count(dice, "P", True) == 200 for dice in throws) == 5
    assert sum(oracle.count(dice, "P", True) is not None for dice in throws) == 5 * (5 * 5 + 1)
    for row in oracle.FIGURES:
        for points in range(10):
            ways = sum(
                comb(5, twos) * comb(5 - twos, ones) * 4 ** (5 - twos - ones)
                for twos in range(6)
                for ones in range(6 - twos)
                if 2 * twos + ones == points
            )
            assert sum((oracle.count(dice, row, True) or 0) == points for dice in throws) == ways
        assert sum(oracle.count(dice, row, True) == 20 for dice in throws) == 1


def test_full_value_option_changes_the_points_of_a_full() -> None:
    assert oracle.count("DDDVV", "F", False, 7) == 7
    assert oracle.count("DDDVV", "F", True, 7) == 14


@pytest.mark.parametrize("dice", ["DDDD", "DDDDDD", "DDDDQ"])
def test_count_requires_five_valid_faces(dice: str) -> None:
    with pytest.raises(ValueError, match="five faces"):
        oracle.count(dice, "D", False)


def test_rerolls_are_the_different_sets_of_faces() -> None:
    assert oracle.rethrows("DDDDD") == {"D", "DD", "DDD", "DDDD", "DDDDD"}
    assert len(oracle.rethrows("ARDVX")) == 31
    for dice in ("AADDX", "AAAV9", "RRRR9"):
        ways = 1
        for face in set(dice):
            ways *= dice.count(face) + 1
        assert len(oracle.rethrows(dice)) == ways - 1


# --- Games -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", range(2, 7))
def test_random_games_keep_turn_order_and_share_one_win(num_players: int) -> None:
    random = Random(num_players)
    game = Game(Options(max_turns=6, columns=2, score_open_rows=True), num_players, num_players - 1)
    seats = []
    while not game.over:
        game.fall("".join(random.choices(oracle.FACES, k=5 - len(game.dice))))
        choices: list[Decision] = sorted(game.legal())
        writes = [decision for decision in choices if decision[0] == "write"]
        seats.append(game.seat)
        game.decide(random.choice(writes or choices))
    turns = [seat for place, seat in enumerate(seats) if place == 0 or seats[place - 1] != seat]
    assert turns == [(num_players - 1 + turn) % num_players for turn in range(len(turns))]
    assert sum(game.shares()) == 1


@pytest.mark.parametrize(
    ("dice", "decision"),
    [
        ("DDDDV", ("throw", "A")),
        ("DDDDV", ("throw", "")),
        ("DDDDV", ("write", "F")),
        ("DDDDV", ("write", "P")),
        ("DDDDV", ("pass", "")),
        ("DDDD9", ("aside", "D")),
    ],
)
def test_illegal_decision_raises(dice: str, decision: Decision) -> None:
    game = Game(Options(), 2)
    game.fall(dice)
    with pytest.raises(IllegalDecision):
        game.decide(decision)


@pytest.mark.parametrize(("num_players", "first"), [(1, 0), (7, 0), (2, 2), (2, -1)])
def test_wrong_number_of_players_or_first_seat_raises(num_players: int, first: int) -> None:
    with pytest.raises(ValueError, match="no game"):
        Game(Options(), num_players, first)
