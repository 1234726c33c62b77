"""The slow oracle of `poker_figures` against the sums of the source text and against sums made by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from random import Random

import pytest

from tests.oracle import poker_figures as oracle
from tests.oracle.poker_figures import Decision, Game, IllegalDecision, Options

JUNK = "ARVX9"  # after a last throw that nothing is made of, unless a row asks 3 or less


def write(game: Game, dice: str, row: str, de_mao: bool = True) -> None:
    """All five dice fall, the first of them twice if it is not to be de mão, and are written."""
    game.fall(dice)
    if not de_mao:
        game.decide(("throw", dice[0]))
        game.fall(dice[0])
    game.decide(("write", row))


def give_up(game: Game) -> None:
    """Throw on to the end of the turn, and pass."""
    while game.throws < oracle.THROWS:
        game.fall(JUNK[len(game.dice) :])
        if game.throws < oracle.THROWS:
            game.decide(("throw", oracle.in_order(JUNK)))
    game.decide(("pass", ""))


def fill(game: Game, row: str, *throws: str) -> None:
    """The player to move writes these throws in the row, its opponents passing in between; then its turn ends."""
    me = game.seat
    for dice in throws:
        while game.seat != me:
            give_up(game)
        write(game, dice, row)
    while game.seat == me and not game.over:
        give_up(game)


# --- The sums of the source ------------------------------------------------------------------------------


def test_source_two_throws_of_six_queens_in_one_turn() -> None:
    """D D V R D = 6 and D D 9 9 V = 6; queens must be open, since the first column asks 7."""
    game = Game(Options(), 2)
    fill(game, "D", "DDD9V")
    give_up(game)
    write(game, "DDVRD", "D")
    write(game, "DD99V", "D")
    assert game.sheets[0]["D"] == [7, 6, 6]
    assert game.seat == 0 and game.throws == 2


ACES = "AAA9X", "AAA99", "AAAA9", "AAAAX", "AAAA9"  # 7 + 8 + 9 + 8 + 9
QUEENS = "DDD99", "DDDVX", "DD99A", "DDDDD", "DDDDA"  # 8 + 6 + 6 + 20 + 8


def test_source_aces_are_246() -> None:
    game = Game(Options(), 2)
    fill(game, "A", "AAA9X")
    fill(game, "A", *ACES)
    assert game.sheets[1]["A"] == [7, 8, 9, 8, 9]
    assert game.score(1) == (7 + 8 + 9 + 8 + 9) * 6 == 246
    assert game.score(0) == 42


@pytest.mark.parametrize(("opened", "points"), [(True, 192), (False, 384)])
def test_source_queens_are_192_and_doubled_384(opened: bool, points: int) -> None:
    game = Game(Options(), 2)
    if opened:
        fill(game, "D", "DDD9X")
    else:
        give_up(game)
    fill(game, "D", *QUEENS)
    assert game.sheets[1]["D"] == [8, 6, 6, 20, 8]
    assert game.score(1) == points
    assert game.score(0) == (28 if opened else 0)
    assert game.is_closed("D")
    assert ("D" in game.doubled) != opened


def test_source_sequences_are_195() -> None:
    game = Game(Options(), 2)
    fill(game, "S", "9XVDR")
    for dice, de_mao in (("ARDVX", True), ("RDVX9", False), ("RDVX9", True), ("ARDVX", True), ("ARDVX", False)):
        while game.seat == 0 or game.throws == 2:
            give_up(game)
        write(game, dice, "S", de_mao)
    assert game.sheets[1]["S"] == [60, 15, 30, 60, 30]
    assert game.score(1) == 195


def test_source_summing_queens_nine_twelve_fourteen() -> None:
    """D D D D 9, then D X R R 9; of these the queen and the pilo stay, and with D R D V 9 it is 14."""
    game = Game(Options(sum_throws=True), 2)
    game.fall("DDDD9")
    game.decide(("aside", "D"))
    assert (game.aside, game.bound) == (9, "D")
    game.fall("DXRR9")
    assert game.result("D") == 12
    game.decide(("throw", "RRX"))
    game.fall("RDV")
    assert game.result("D") == 14
    game.decide(("write", "D"))
    assert game.sheets[0]["D"] == [14]
    assert game.seat == 1


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
def test_source_pokers_count_de_mao_alone(dice: str, de_mao: bool, points: int | None) -> None:
    assert oracle.count(dice, "P", de_mao) == points


def test_source_refuses_less_than_the_columns_least() -> None:
    game = Game(Options(), 2)
    game.fall("DDDVX")
    assert ("write", "D") not in game.legal()  # 6, and the first column asks 7
    with pytest.raises(IllegalDecision):
        game.decide(("write", "D"))
    least = []
    for column in range(5):
        game.sheets[0]["D"] = [8] * column
        taken = []
        for game.dice in ("DD9AX", "DDDVX", "DDD9X", "DDDDX"):  # 5, 6, 7, 8
            if game.may_write("D"):
                taken.append(game.result("D"))
        least.append(taken[0])
    assert least == [7, 6, 6, 8, 8]


def test_source_refuses_a_closed_row_and_a_full_one() -> None:
    game = Game(Options(), 2)
    game.sheets[1]["A"] = [7, 8, 9, 8, 9]
    game.fall("AAAAA")
    assert ("write", "A") not in game.legal()  # closed by the other
    game.sheets[0], game.sheets[1] = game.sheets[1], game.sheets[0]
    assert ("write", "A") not in game.legal()  # full


# --- What a throw counts ---------------------------------------------------------------------------------


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
def test_counts_by_hand(dice: str, row: str, de_mao: bool, points: int | None) -> None:
    assert oracle.count(dice, row, de_mao) == points


def test_how_often_each_kind_falls() -> None:
    """Counted against binomials: fulls, both sequences, pokers, and every sum of a figure row."""
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


def test_another_full_value() -> None:
    assert oracle.count("DDDVV", "F", False, 7) == 7
    assert oracle.count("DDDVV", "F", True, 7) == 14


@pytest.mark.parametrize("dice", ["DDDD", "DDDDDD", "DDDDQ"])
def test_five_faces_are_asked_for(dice: str) -> None:
    with pytest.raises(ValueError, match="five faces"):
        oracle.count(dice, "D", False)


def test_rethrows_are_the_different_sets_of_faces() -> None:
    assert oracle.rethrows("DDDDD") == {"D", "DD", "DDD", "DDDD", "DDDDD"}
    assert len(oracle.rethrows("ARDVX")) == 31
    for dice in ("AADDX", "AAAV9", "RRRR9"):
        ways = 1
        for face in set(dice):
            ways *= dice.count(face) + 1
        assert len(oracle.rethrows(dice)) == ways - 1


# --- Games -----------------------------------------------------------------------------------------------


def test_de_mao_is_all_five_in_the_latest_throw() -> None:
    game = Game(Options(), 2)
    game.fall("DDDDV")
    game.decide(("throw", "V"))
    game.fall("D")
    assert game.result("D") == 10
    game.decide(("throw", "DDDDD"))
    game.fall("DDDDD")
    assert game.result("D") == 20


def test_writing_before_the_last_throw_goes_on_with_all_five() -> None:
    game = Game(Options(), 2)
    write(game, "DDDDV", "D")
    assert (game.seat, game.throws, game.dice) == (0, 1, "")
    write(game, "DDDVV", "F")
    write(game, "ARDVX", "S")
    assert game.sheets[0]["D"] + game.sheets[0]["F"] + game.sheets[0]["S"] == [8, 40, 60]
    assert (game.seat, game.throws, game.turns) == (1, 0, [1, 0])


def test_a_bound_turn_takes_its_row_alone_and_asks_the_least_of_the_sum() -> None:
    game = Game(Options(sum_throws=True), 2)
    game.fall("99999")
    assert {row for kind, row in game.legal() if kind == "aside"} == set("ARDVX")
    game.decide(("aside", "D"))
    game.fall("DDDVV")
    assert game.legal() >= {("write", "D")}
    assert not game.legal() & {("write", "F"), ("aside", "D"), ("aside", "V")}
    game.decide(("throw", "DDVV"))
    game.fall("AAAX")
    assert ("write", "D") in game.legal()  # 5 + 2
    game.decide(("pass", ""))
    assert game.sheets[0]["D"] == []


def test_nothing_is_set_aside_after_the_last_throw_or_without_the_variant() -> None:
    for variant, throws in ((False, 1), (True, 3)):
        game = Game(Options(sum_throws=variant), 2)
        game.fall("DDDD9")
        for _ in range(throws - 1):
            game.decide(("throw", "9"))
            game.fall("9")
        assert not [row for kind, row in game.legal() if kind == "aside"]


def test_what_is_written_after_setting_aside_leaves_the_turn_free() -> None:
    game = Game(Options(sum_throws=True), 2)
    game.fall("DDDD9")
    game.decide(("aside", "D"))
    write(game, "AAAXX", "D")
    assert (game.aside, game.bound, game.sheets[0]["D"]) == (0, "", [9])
    write(game, "AAAXX", "F")
    assert game.seat == 1


def test_everybody_who_has_opened_counts_double_and_nobody_else() -> None:
    game = Game(Options(), 3)
    game.sheets[0]["V"] = [7, 6]
    game.sheets[1]["V"] = [7, 6, 6, 8]
    game.seat = 1
    write(game, "VVVVV", "V")
    assert [game.score(seat) for seat in range(3)] == [13 * 3 * 2, 47 * 3 * 2, 0]


def test_the_end_leaves_one_row_and_never_asks_for_pokers() -> None:
    game = Game(Options(poker_row=True, columns=1), 2)
    for row in "ARDVPX":
        write(game, "XXXXX" if row == "P" else 4 * row + "9", row)
        assert not game.over
        while game.seat == 1:
            give_up(game)
    write(game, "XXXVV", "F")
    assert game.over and not game.truncated
    assert not game.is_closed("S")
    assert game.score(0) == 2 * (9 * (6 + 5 + 4 + 3 + 2) + 100 + 40)
    assert game.shares() == [1, 0]


@pytest.mark.parametrize(("open_rows", "scores"), [(False, [0, 0, 0]), (True, [40, 40, 0])])
def test_a_game_cut_short_and_shared(open_rows: bool, scores: list[int]) -> None:
    game = Game(Options(max_turns=1, score_open_rows=open_rows), 3, first_player=2)
    give_up(game)
    for _ in range(2):
        write(game, "DDDVV", "F")
        give_up(game)
    assert game.over and game.truncated
    assert [game.score(seat) for seat in range(3)] == scores
    winners = 2 if open_rows else 3
    assert game.shares() == [Fraction(1, winners)] * winners + [Fraction(0)] * (3 - winners)


@pytest.mark.parametrize("num_players", range(2, 7))
def test_random_games_end_in_order(num_players: int) -> None:
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
def test_illegal_decisions_are_refused(dice: str, decision: Decision) -> None:
    game = Game(Options(), 2)
    game.fall(dice)
    with pytest.raises(IllegalDecision):
        game.decide(decision)


@pytest.mark.parametrize(("num_players", "first"), [(1, 0), (7, 0), (2, 2), (2, -1)])
def test_seats_are_checked(num_players: int, first: int) -> None:
    with pytest.raises(ValueError, match="no game"):
        Game(Options(), num_players, first)
