"""Tests of the rules of Poker Figures with the source's examples, on the oracle and on the kernels."""

from __future__ import annotations

from typing import Any

import pytest

import trialea
from tests.poker_figures import OracleTable, Script
from trialea.envs.poker_figures.rules import ASIDE, WRITE

ACES = "AAA9X", "AAA99", "AAAA9", "AAAAX", "AAAA9"  # 7 + 8 + 9 + 8 + 9
QUEENS = "DDD99", "DDDVX", "DD99A", "DDDDD", "DDDDA"  # 8 + 6 + 6 + 20 + 8


@pytest.fixture(params=[OracleTable, Script], ids=["oracle", "kernels"])
def table(request: pytest.FixtureRequest) -> Any:
    """Return a class that makes a table from the number of players and the options."""
    return request.param


# --- Examples from the source ----------------------------------------------------------------------------


def test_source_two_throws_of_six_queens_in_one_turn(table: Any) -> None:
    """D D V R D and D D 9 9 V are 6 each. Queens must be open first, as the first column needs 7."""
    game = table()
    game.score_in("D", "DDD9V")
    game.give_up()
    for faces in ("DDVRD", "DD99V"):
        game.throw(faces)
        game.write("D")
    assert game.cells(0, "D") == [7, 6, 6]
    assert (game.seat, game.throws) == (0, 2)


def test_source_aces_score_246(table: Any) -> None:
    game = table()
    game.score_in("A", "AAA9X")
    game.score_in("A", *ACES)
    assert game.cells(1, "A") == [7, 8, 9, 8, 9]
    assert game.scores() == [42, (7 + 8 + 9 + 8 + 9) * 6] == [42, 246]


@pytest.mark.parametrize(("opened", "scores"), [(True, [28, 192]), (False, [0, 384])])
def test_source_queens_score_192_or_384_when_doubled(table: Any, opened: bool, scores: list[int]) -> None:
    game = table()
    if opened:
        game.score_in("D", "DDD9X")
    else:
        game.give_up()
    game.score_in("D", *QUEENS)
    assert game.cells(1, "D") == [8, 6, 6, 20, 8]
    assert game.scores() == scores


def test_source_sequences_score_195(table: Any) -> None:
    game = table()
    game.score_in("S", "9XVDR")
    for faces, de_mao in (("XVDRA", True), ("9XVDR", False), ("9XVDR", True), ("XVDRA", True), ("XVDRA", False)):
        while game.seat == 0 or game.throws == 2:
            game.give_up()
        game.throw(faces)
        if not de_mao:
            game.again("D", "D")
        game.write("S")
    assert game.cells(1, "S") == [60, 15, 30, 60, 30]
    assert game.scores() == [30, 195]


def test_source_summed_queens_are_nine_twelve_fourteen(table: Any) -> None:
    """D D D D 9, then D X R R 9. The queen and the pilo stay, and D R D V 9 makes it 14."""
    game = table(sum_throws=True)
    game.throw("DDDD9")
    game.set_aside("D")
    assert (game.aside, game.bound) == (9, "D")
    game.throw("DXRR9")
    game.again("RRX", "RDV")
    game.write("D")
    assert game.cells(0, "D") == [14]
    assert (game.seat, game.aside, game.bound) == (1, 0, "")


@pytest.mark.parametrize(("faces", "value"), [("VVVDV", 100), ("AAAAR", 200), ("AAAAD", 100), ("XXXXX", 100)])
def test_source_pokers_count_only_de_mao(table: Any, faces: str, value: int) -> None:
    game = table(poker_row=True)
    game.throw(faces)
    game.again(faces[0], faces[0])
    assert not game.may_write("P")
    game.again(faces, faces)
    game.write("P")
    assert game.cells(0, "P") == [value]


def test_source_every_player_with_an_opened_row_counts_double(table: Any) -> None:
    """This includes the player who closes the row. One of the four players has not opened it."""
    game = table(4)
    game.score_in("V", "VVV9A", "VVVAA")
    game.score_in("V", "VVV9A")
    game.give_up()
    game.score_in("V", *["VVVV9"] * 5)
    assert game.scores() == [2 * 3 * 13, 2 * 3 * 7, 0, 2 * 3 * 45]


def test_source_game_ends_with_one_row_left_apart_from_pokers(table: Any) -> None:
    game = table(poker_row=True, columns=1)
    for row in "ARDVPX":
        if game.seat == 1:
            game.give_up()
        game.throw("AAAAR" if row == "P" else 4 * row + "9")
        game.write(row)
        assert not game.over
    game.give_up()
    game.throw("XXXVV")
    assert list(game.turns) == [2, 2]
    game.write("F")
    assert (game.over, game.truncated) == (True, False)
    assert game.cells(0, "S") == []
    assert game.scores() == [2 * (9 * 20 + 200 + 40), 0]
    assert game.shares() == [1, 0]


# --- Legal writes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", range(5))
def test_source_write_below_the_columns_least_value_is_illegal(table: Any, column: int) -> None:
    game = table()
    game.score_in("D", *("DDDD9",) * column)
    taken = []
    for faces, value in (("DD9AX", 5), ("DDDVX", 6), ("DDD9X", 7), ("DDDDX", 8)):
        while game.seat:
            game.give_up()
        game.throw(faces)
        taken += [value] * game.may_write("D")
        game.give_up()
    assert min(taken) == [7, 6, 6, 8, 8][column]


def test_source_write_in_a_closed_or_full_row_is_illegal(table: Any) -> None:
    game = table()
    game.score_in("A", *ACES)
    for seat in (1, 0):
        while game.seat != seat:
            game.give_up()
        game.throw("AAAAA")
        assert not game.may_write("A")
        game.give_up()


def test_de_mao_means_all_five_dice_in_the_latest_throw(table: Any) -> None:
    game = table()
    game.throw("DDDDV")
    game.again("V", "D")
    game.write("D")
    game.throw("DDDDD")
    game.write("D")
    assert game.cells(0, "D") == [10, 20]


def test_write_before_the_last_throw_continues_with_five_dice(table: Any) -> None:
    game = table()
    for row, faces in (("D", "DDDDV"), ("F", "DDDVV"), ("S", "ARDVX")):
        assert (game.seat, game.shown) == (0, "")
        game.throw(faces)
        game.write(row)
    assert [game.cells(0, row) for row in "DFS"] == [[8], [40], [60]]
    assert (game.seat, game.throws, list(game.turns)) == (1, 0, [1, 0])


def test_after_the_last_throw_a_player_writes_or_passes(table: Any) -> None:
    game = table(sum_throws=True)
    game.throw("DDDD9")
    assert game.may_set_aside("D")
    for _ in range(2):
        game.again("9", "9")
    assert game.may_write("D")
    assert not game.may_set_aside("D")
    game.give_nothing()
    assert game.cells(0, "D") == []
    assert (game.seat, game.throws, game.shown) == (1, 0, "")


def test_setting_aside_is_illegal_without_sum_throws(table: Any) -> None:
    game = table()
    game.throw("DDDD9")
    assert not any(game.may_set_aside(row) for row in "ARDVX")


def test_bound_turn_allows_only_its_row_and_checks_the_sum(table: Any) -> None:
    game = table(sum_throws=True)
    game.throw("99999")
    assert all(game.may_set_aside(row) for row in "ARDVX")
    game.set_aside("D")
    game.throw("99VVV")
    assert not any((game.may_write("V"), game.may_write("F"), game.may_set_aside("V"), game.may_set_aside("D")))
    assert game.may_write("D")  # 5 + 2
    game.again("99", "VV")
    assert not game.may_write("D")  # 5 + 0
    game.give_nothing()
    assert (game.aside, game.bound) == (0, "")
    game.throw("VVVV9")
    game.set_aside("V")
    game.throw("VVVVV")  # de mão: 20
    game.set_aside("V")
    game.throw("AAAAA")  # counts nothing by itself, but the sum is high enough
    game.write("V")
    assert game.cells(1, "V") == [29]


def test_bound_turn_is_free_again_after_writing(table: Any) -> None:
    game = table(sum_throws=True)
    game.throw("DDDD9")
    game.set_aside("D")
    game.throw("DAAXX")
    game.write("D")
    assert (game.seat, game.throws, game.aside, game.bound) == (0, 2, 0, "")
    game.throw("VVVAA")
    game.write("F")
    assert (game.cells(0, "D"), game.cells(0, "F")) == ([11], [40])


# --- The end of a game -----------------------------------------------------------------------------------


def test_open_rows_count_with_score_open_rows_and_can_double(table: Any) -> None:
    game = table(score_open_rows=True)
    game.score_in("A", "AAA9X")
    assert game.scores() == [42, 0]
    game.score_in("V", "VVVV9", "VVVVV")
    assert game.scores() == [42, 87]
    game.score_in("A", *ACES[1:])
    assert game.scores() == [2 * (7 + 8 + 9 + 8 + 9) * 6, 87]


@pytest.mark.parametrize(("open_rows", "shares"), [(False, [1 / 3] * 3), (True, [0.5, 0.5, 0])])
def test_game_at_max_turns_is_truncated_and_the_win_shared(table: Any, open_rows: bool, shares: list[float]) -> None:
    game = table(3, max_turns=2, score_open_rows=open_rows)
    game.score_in("F", "AAAXX")
    game.score_in("F", "VVVXX")
    for _ in range(4):
        assert not game.over
        game.give_up()
    assert (game.over, game.truncated, list(game.turns)) == (True, True, [2, 2, 2])
    assert game.scores() == ([40, 40, 0] if open_rows else [0, 0, 0])
    assert list(map(float, game.shares())) == pytest.approx(shares)


def test_environment_truncates_at_max_turns_with_final_rewards() -> None:
    env = trialea.envs.poker_figures_v0.env(num_players=2, max_turns=1, score_open_rows=True)
    env.reset(seed=4)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        if terminated or truncated:
            assert (terminated, truncated) == (False, True)
            state = env.unwrapped.game_state
            assert reward == pytest.approx(2 * state.share[int(agent[-1])] - 1)
            env.step(None)
        else:
            writes = observation["action_mask"][WRITE:ASIDE]
            env.step(WRITE + int(writes.argmax()) if writes.any() else int(observation["action_mask"].argmax()))
