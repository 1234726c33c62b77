"""The slow oracle of `last_die` against the sentences of its rules, with throws made up for each."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.oracle import last_die as oracle
from tests.oracle.last_die import Options, Position

ONE_EACH = Options(rounds_each=1)


class Script:
    """Throws the given faces in turn, and sixes of ones from then on, which end a round at once."""

    def __init__(self, *faces: str, left: tuple[int, ...] = ()) -> None:
        self.faces, self.left = list(faces), list(left)
        self.thrown: list[Position] = []
        self.asked: list[Position] = []

    def throw(self, position: Position) -> list[int]:
        self.thrown.append(position)
        if not self.faces:
            return [1] * position.hands[position.player]
        return [int(face) for face in self.faces.pop(0)]

    def choose(self, position: Position) -> int:
        self.asked.append(position)
        return self.left.pop(0)

    def play(self, options: Options = ONE_EACH, table: tuple[int, ...] = (0, 1, 2, 3)) -> oracle.Game:
        return oracle.play(options, table, self.throw, self.choose)

    def movers(self) -> list[int]:
        return [position.player for position in self.thrown]


def test_every_face_goes_its_way() -> None:
    script = Script("123456", "246")
    script.play()
    assert script.thrown[1].hands == (3, 1, 0, 1)
    assert script.thrown[1].player == 0


def test_left_is_the_next_round_the_table_whatever_the_numbers() -> None:
    script = Script("113355", "11")
    script.play(table=(2, 0, 3, 1))
    assert script.thrown[1].hands == (2, 2, 0, 0)
    assert script.movers()[:2] == [2, 0]


def test_the_opener_throws_until_the_hand_is_empty_in_one_turn() -> None:
    script = Script("222222", "446613", "2223", "665", "45", "3")
    script.play()
    assert [(p.player, p.turn, p.throws, p.opening) for p in script.thrown[:6]] == [(0, 0, k, True) for k in range(6)]
    assert script.thrown[6].player == 1
    assert not script.thrown[6].opening


def test_then_each_throws_once_in_turn_to_the_left() -> None:
    script = Script("335555", "22", "2345")
    script.play()
    assert script.thrown[1].hands == (0, 2, 0, 4)
    assert script.movers()[:5] == [0, 1, 3, 0, 1]
    assert script.thrown[3].hands == (1, 2, 1, 2)


def test_a_player_without_dice_is_passed_over() -> None:
    script = Script("555511", "2222", "2222")
    script.play()
    assert script.movers()[:3] == [0, 3, 3]
    assert [(p.turn, p.throws) for p in script.thrown[1:3]] == [(0, 0), (1, 0)]  # play has gone round the table


def test_the_last_die_scores_its_even_faces_and_is_thrown_on() -> None:
    script = Script("311111", "2", "4", "6", "5", "6", "1")
    game = script.play()
    assert game.scores == (6, 12, 0, 0)
    assert script.movers()[:7] == [0, 1, 1, 1, 1, 0, 0]
    assert [p.throws for p in script.thrown[1:5]] == [0, 1, 2, 3]


def test_the_opener_s_own_last_die_scores_too() -> None:
    script = Script("211111", "4", "3", "1")
    game = script.play()
    assert game.scores == (4, 0, 0, 0)
    assert script.movers()[:4] == [0, 0, 0, 1]


def test_a_die_thrown_with_others_scores_nothing_though_it_alone_is_left() -> None:
    script = Script("331111", "12", "1")
    game = script.play()
    assert game.scores == (0, 0, 0, 0)
    assert [(p.player, p.turn) for p in script.thrown[1:3]] == [(1, 0), (1, 1)]


def test_a_die_in_hand_alone_scores_nothing_while_others_are_in_play() -> None:
    script = Script("351111", "2")
    assert script.play().scores == (0, 0, 0, 0)
    assert script.movers()[1:3] == [1, 3]


def test_the_first_even_face_may_end_the_round() -> None:
    script = Script("311111", "4")
    game = script.play(ONE_EACH._replace(even_ends_round=True))
    assert game.scores == (0, 4, 0, 0)
    assert script.thrown[2].round == 1
    assert script.thrown[2].hands == (0, 6, 0, 0)


def test_a_one_ends_the_round_with_nobody_holding_a_die() -> None:
    script = Script("311111", "1")
    script.play()
    assert (script.thrown[2].round, script.thrown[2].hands) == (1, (0, 6, 0, 0))


def test_last_dice_that_leave_together_end_the_round_without_points() -> None:
    script = Script("331111", "11")
    assert script.play().scores == (0, 0, 0, 0)
    assert script.thrown[2].round == 1


def test_the_player_at_the_left_of_the_last_opener_opens_next_and_everybody_equally_often() -> None:
    script = Script()
    game = script.play(Options(rounds_each=2), (3, 1, 4, 0, 2))
    assert [p.opener for p in script.thrown] == script.movers() == [3, 1, 4, 0, 2] * 2
    assert game.turns == (2, 2, 2, 2, 2)


def test_most_points_win_and_equal_points_share() -> None:
    game = Script("311111", "2", "1", "511111", "2", "1").play()
    assert game.scores == (2, 2, 0, 0)
    assert game.shares == (Fraction(1, 2), Fraction(1, 2), 0, 0)
    assert Script("311111", "2", "1").play().shares == (0, 1, 0, 0)
    assert Script().play().shares == (Fraction(1, 4),) * 4


def test_steering_sends_threes_and_fives_where_the_thrower_wants() -> None:
    script = Script("133525", left=(1,))
    script.play(ONE_EACH._replace(steer=True))
    assert [(p.player, p.throws, p.sent, p.hands) for p in script.asked] == [(0, 1, 4, (1, 0, 0, 0))]
    assert script.thrown[1].hands == (1, 1, 0, 3)
    assert script.thrown[1].player == 0


def test_the_last_die_is_steered_in_the_same_way() -> None:
    script = Script("311111", "5", "1", left=(0, 1))
    script.play(ONE_EACH._replace(steer=True))
    assert script.movers()[:3] == [0, 3, 0]
    assert [p.sent for p in script.asked] == [1, 1]


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
        Script().play(table=table)


@pytest.mark.parametrize("faces", ["11111", "1111110", "111117"])
def test_a_bad_throw_is_refused(faces: str) -> None:
    with pytest.raises(ValueError, match="no throw of 6 dice"):
        Script(faces).play()


def test_more_dice_than_were_sent_cannot_go_left() -> None:
    with pytest.raises(ValueError, match="3 of 2 dice"):
        Script("351111", left=(3,)).play(ONE_EACH._replace(steer=True))


def test_nobody_is_asked_without_steer() -> None:
    script = Script("351111")
    oracle.play(ONE_EACH, (0, 1, 2, 3), script.throw)
    with pytest.raises(ValueError, match="nobody decides"):
        oracle.play(ONE_EACH._replace(steer=True), (0, 1, 2, 3), Script("351111").throw)


def test_too_few_players_to_seat() -> None:
    with pytest.raises(ValueError, match="no game of 3"):
        seat([1], [2], [3])
