"""The slow oracle of Last Die: the seating, and what it refuses. `test_rules.py` has the sentences of the rules."""

from __future__ import annotations

import pytest

from tests.oracle import last_die as oracle
from tests.oracle.last_die import Options, Position

ONE_EACH = Options(rounds_each=1)
TABLE = (0, 1, 2, 3)


def throw(*faces: str) -> oracle.Throw:
    """Throws these faces in turn, and ones from then on, which end a round at once."""
    waiting = list(faces)

    def next_throw(position: Position) -> list[int]:
        return [int(face) for face in waiting.pop(0)] if waiting else [1] * position.hands[position.player]

    return next_throw


# --- Seating ---------------------------------------------------------------------------------------------


def seat(*totals: list[int]) -> tuple[list[int], list[list[int]]]:
    return oracle.take_places(len(totals), lambda player, number: totals[player][number])


def test_places_go_by_falling_total() -> None:
    assert seat([20], [30], [10], [25])[0] == [1, 3, 0, 2]


def test_equal_totals_are_thrown_again_between_those_players() -> None:
    order, thrown = seat([20], [15, 8], [15, 33], [36])
    assert order == [3, 0, 2, 1]
    assert thrown == [[20], [15, 8], [15, 33], [36]]


def test_three_equal_and_two_of_them_equal_again() -> None:
    order, thrown = seat([21, 10, 9], [21, 30], [21, 10, 12], [22], [20])
    assert order == [3, 1, 2, 0, 4]
    assert [len(totals) for totals in thrown] == [3, 2, 3, 1, 1]


def test_two_ties_at_once_are_settled_apart() -> None:
    assert seat([21, 10], [30, 7], [21, 11], [30, 6])[0] == [1, 3, 2, 0]


# --- Refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [(0, 1, 2), tuple(range(7)), (0, 1, 2, 2)])
def test_a_bad_table_is_refused(table: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="no table"):
        oracle.play(ONE_EACH, table, throw())


@pytest.mark.parametrize("faces", ["11111", "1111110", "111117"])
def test_a_bad_throw_is_refused(faces: str) -> None:
    with pytest.raises(ValueError, match="no throw of 6 dice"):
        oracle.play(ONE_EACH, TABLE, throw(faces))


def test_more_dice_than_were_sent_cannot_go_left() -> None:
    with pytest.raises(ValueError, match="3 of 2 dice"):
        oracle.play(ONE_EACH._replace(steer=True), TABLE, throw("351111"), lambda _: 3)


def test_nobody_is_asked_without_steer() -> None:
    oracle.play(ONE_EACH, TABLE, throw("351111"))
    with pytest.raises(ValueError, match="nobody decides"):
        oracle.play(ONE_EACH._replace(steer=True), TABLE, throw("351111"))


def test_too_few_players_to_seat() -> None:
    with pytest.raises(ValueError, match="no game of 3"):
        seat([1], [2], [3])
