"""Tests of each rule of Last Die, on the oracle and on the kernels."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from tests.last_die import fall, fresh, game_of_oracle, oracle_options, position_of
from tests.oracle import last_die as oracle
from tests.oracle.last_die import Position
from trialea.envs.last_die.rules import Options

Reached = tuple[Position | None, oracle.Game | None]


class _Asked(Exception):
    """Raised when the oracle needs a throw or a choice that the test does not give."""

    def __init__(self, position: Position) -> None:
        self.position = position


def play_oracle(options: Options, table: tuple[int, ...], throws: list[str], left: list[int]) -> Reached:
    """Play on the oracle; return the position where input runs out, or the finished game."""

    def throw(position: Position) -> list[int]:
        if not throws:
            raise _Asked(position)
        return [int(face) for face in throws.pop(0)]

    def choose(position: Position) -> int:
        if not left:
            raise _Asked(position)
        return left.pop(0)

    try:
        return None, oracle.play(oracle_options(options), table, throw, choose)
    except _Asked as asked:
        return asked.position, None


def play_kernels(options: Options, table: tuple[int, ...], throws: list[str], left: list[int]) -> Reached:
    """Play on the kernels; return the position where input runs out, or the finished game."""
    game = game_of_oracle(len(table), oracle_options(options))
    states = fresh(game)
    states.place[0, list(table)] = range(len(table))
    for faces in throws:
        states = fall(game, states, [int(face) for face in faces])
        if states.sent[0] and left:
            states = game.choose(states, [left.pop(0)])
    state, n = states[0], len(table)
    if not state.over:
        return position_of(game, state), None
    shares = tuple(Fraction(float(share)) for share in state.share[:n])
    scores, turns = tuple(state.scores[:n].tolist()), tuple(state.turns[:n].tolist())
    return None, oracle.Game(scores, turns, shares, len(throws))


class Rules:
    """One implementation of the rules. Player 0 opens; throws are written as the numbers on the dice."""

    def __init__(self, play: Callable[[Options, tuple[int, ...], list[str], list[int]], Reached]) -> None:
        self._play = play

    def after(self, *throws: str, left: tuple[int, ...] = (), **options: object) -> Position:
        """Return the position after these throws; `left` says how many dice go left at each choice."""
        position, game = self._reach(throws, left, options)
        assert game is None
        assert position is not None
        return position

    def ended(self, *throws: str, **options: object) -> oracle.Game:
        """Return the finished game after these throws."""
        position, game = self._reach(throws, (), options)
        assert position is None
        assert game is not None
        return game

    def _reach(self, throws: tuple[str, ...], left: tuple[int, ...], options: dict[str, object]) -> Reached:
        table: tuple[int, ...] = options.pop("table", (0, 1, 2, 3))
        return self._play(Options(**{"rounds_each": 1, **options}), table, list(throws), list(left))


@pytest.fixture(params=[play_oracle, play_kernels], ids=["oracle", "kernels"])
def rules(request: pytest.FixtureRequest) -> Rules:
    """Return each implementation of the rules in turn."""
    return Rules(request.param)


ONES = "111111"


def test_ones_leave_threes_go_left_fives_right_and_others_stay(rules: Rules) -> None:
    assert rules.after("123456") == Position(0, 0, 1, (3, 1, 0, 1), 0, (0, 0, 0, 0), 0, 0, True)


def test_left_is_the_next_seat_not_the_next_number(rules: Rules) -> None:
    table = (0, 3, 1, 2)  # seating order, clockwise
    assert rules.after("335122", table=table).hands == (2, 0, 1, 2)
    assert rules.after("335111", table=table).player == 3


def test_opener_throws_in_one_turn_until_the_hand_is_empty(rules: Rules) -> None:
    opening = rules.after("222222", "446633", "6665")
    assert (opening.player, opening.turn, opening.throws, opening.opening) == (0, 0, 3, True)
    assert opening.hands == (3, 2, 0, 1)
    opened = rules.after("222222", "446633", "6665", "335")
    assert (opened.player, opened.turn, opened.throws, opened.opening) == (1, 0, 0, False)


def test_then_each_player_throws_once_in_turn_to_the_left(rules: Rules) -> None:
    assert [rules.after("335555", *throws).player for throws in ([], ["22"], ["22", "2345"])] == [1, 3, 0]
    assert rules.after("335555", "22", "2345").hands == (1, 2, 1, 2)


def test_player_without_dice_is_skipped(rules: Rules) -> None:
    assert rules.after("555511").player == 3
    again = rules.after("555511", "2222")
    assert (again.player, again.turn, again.throws) == (3, 1, 0)  # play has gone once around the table


def test_even_faces_of_the_last_die_score_and_are_thrown_again(rules: Rules) -> None:
    scored = rules.after("311111", "2", "4", "6")
    assert (scored.player, scored.turn, scored.throws) == (1, 0, 3)
    assert (scored.scores, scored.hands) == ((0, 12, 0, 0), (0, 1, 0, 0))


def test_last_die_passed_to_a_neighbour_is_thrown_by_them(rules: Rules) -> None:
    assert rules.after("311111", "3").player == 2
    passed = rules.after("311111", "2", "5", "6")
    assert (passed.player, passed.scores) == (0, (6, 2, 0, 0))


def test_last_die_of_the_opener_scores_too(rules: Rules) -> None:
    assert rules.after("211111", "4").scores == (4, 0, 0, 0)
    assert rules.after("211111", "4", "3").player == 1


def test_die_scores_nothing_while_other_dice_are_in_play(rules: Rules) -> None:
    for throws in (["331111", "12"], ["351111", "2"], ["225111", "21"]):
        assert rules.after(*throws).scores == (0, 0, 0, 0)


@pytest.mark.parametrize("throws", [["311111", "1"], ["331111", "11"], [ONES]], ids=" ".join)
def test_round_ends_without_points_when_all_dice_leave(rules: Rules, throws: list[str]) -> None:
    turn_of_next = int(len(throws) > 1)
    assert rules.after(*throws) == Position(1, turn_of_next, 0, (0, 6, 0, 0), 0, (0, 0, 0, 0), 1, 1, True)


def test_first_even_face_ends_the_round_with_that_option(rules: Rules) -> None:
    ended = rules.after("311111", "4", even_ends_round=True)
    assert (ended.round, ended.hands, ended.scores) == (1, (0, 6, 0, 0), (0, 4, 0, 0))
    assert rules.after("211111", "2", even_ends_round=True).round == 1


def test_players_open_equally_often_in_turn_to_the_left(rules: Rules) -> None:
    table = (0, 3, 1, 4, 2)
    assert [rules.after(*[ONES] * n, rounds_each=2, table=table).opener for n in range(10)] == [*table, *table]
    assert rules.ended(*[ONES] * 10, rounds_each=2, table=table).turns == (2, 2, 2, 2, 2)


def test_most_points_win_and_ties_share_the_win(rules: Rules) -> None:
    assert rules.ended("311111", "2", "1", ONES, ONES, ONES).shares == (0, 1, 0, 0)
    shared = rules.ended("311111", "2", "1", "511111", "2", "1", ONES, ONES)
    assert (shared.scores, shared.turns) == ((2, 2, 0, 0), (2, 2, 1, 1))
    assert shared.shares == (Fraction(1, 2), Fraction(1, 2), 0, 0)
    assert rules.ended(*[ONES] * 4).shares == (Fraction(1, 4),) * 4


def test_steer_sends_threes_and_fives_to_either_side(rules: Rules) -> None:
    assert rules.after("133525", steer=True) == Position(0, 0, 1, (1, 0, 0, 0), 4, (0, 0, 0, 0), 0, 0, True)
    for left in range(5):
        sent = rules.after("133525", left=(left,), steer=True)
        assert (sent.player, sent.throws, sent.sent, sent.hands) == (0, 1, 0, (1, left, 0, 4 - left))


def test_steer_asks_nothing_when_no_die_leaves_the_hand(rules: Rules) -> None:
    stayed = rules.after("112246", steer=True)
    assert (stayed.player, stayed.throws, stayed.sent, stayed.hands) == (0, 1, 0, (4, 0, 0, 0))
    last = rules.after("111112", "4", steer=True)
    assert (last.scores, last.sent, last.throws) == ((4, 0, 0, 0), 0, 2)


def test_steer_sends_the_last_die_to_either_side(rules: Rules) -> None:
    for face, left in product("35", (0, 1)):
        assert rules.after("111112", face, steer=True).sent == 1
        assert rules.after("111112", face, left=(left,), steer=True).player == (1 if left else 3)
