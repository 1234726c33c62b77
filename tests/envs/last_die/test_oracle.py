"""Tests of the slow oracle of Last Die: seating and rejected input. `test_rules.py` tests the rules."""

from __future__ import annotations

import pytest

from tests.oracle import last_die as oracle
from tests.oracle.last_die import Options, Position

ONE_EACH = Options(rounds_each=1)
TABLE = (0, 1, 2, 3)


def throw(*faces: str) -> oracle.Throw:
    """Return a throw function that gives these faces in turn, then ones, which end a round at once."""
    waiting = list(faces)

    def next_throw(position: Position) -> list[int]:
        return [int(face) for face in waiting.pop(0)] if waiting else [1] * position.hands[position.player]

    return next_throw


# --- Seating ---------------------------------------------------------------------------------------------


def seat(*totals: list[int]) -> tuple[list[int], list[list[int]]]:
    """Return the seating that these totals give."""
    return oracle.take_places(len(totals), lambda player, number: totals[player][number])


def test_seating_follows_descending_totals() -> None:
    assert seat([20], [30], [10], [25])[0] == [1, 3, 0, 2]


def test_tied_players_throw_again() -> None:
    order, thrown = seat([20], [15, 8], [15, 33], [36])
    assert order == [3, 0, 2, 1]
    assert thrown == [[20], [15, 8], [15, 33], [36]]


def test_three_tied_players_of_whom_two_tie_again() -> None:
    order, thrown = seat([21, 10, 9], [21, 30], [21, 10, 12], [22], [20])
    assert order == [3, 1, 2, 0, 4]
    assert [len(totals) for totals in thrown] == [3, 2, 3, 1, 1]


def test_two_ties_are_resolved_separately() -> None:
    assert seat([21, 10], [30, 7], [21, 11], [30, 6])[0] == [1, 3, 2, 0]


# --- Rejected input --------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [(0, 1, 2), tuple(range(7)), (0, 1, 2, 2)])
def test_invalid_table_raises(table: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="no table"):
        oracle.play(ONE_EACH, table, throw())


@pytest.mark.parametrize("faces", ["11111", "1111110", "111117"])
def test_invalid_throw_raises(faces: str) -> None:
    with pytest.raises(ValueError, match="no throw of 6 dice"):
        oracle.play(ONE_EACH, TABLE, throw(faces))


def test_sending_more_dice_left_than_available_raises() -> None:
    with pytest.raises(ValueError, match="3 of 2 dice"):
        oracle.play(ONE_EACH._replace(steer=True), TABLE, throw("351111"), lambda _: 3)


def test_choices_are_requested_only_with_steer() -> None:
    oracle.play(ONE_EACH, TABLE, throw("351111"))
    with pytest.raises(ValueError, match="nobody decides"):
        oracle.play(ONE_EACH._replace(steer=True), TABLE, throw("351111"))


def test_seating_too_few_players_raises() -> None:
    with pytest.raises(ValueError, match="no game of 3"):
        seat([1], [2], [3])
