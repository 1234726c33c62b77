"""Tests of Poker Figures' text: reasons for illegal actions, terminal input, and the table as text."""

from __future__ import annotations

import pytest

from tests.helpers import game_of
from tests.poker_figures import JUNK, Script
from trialea import IllegalActionError
from trialea.envs.poker_figures import names
from trialea.envs.poker_figures.rules import ASIDE, NUM_REROLLS, PASS, ROWS, WRITE

ACES = "AAA9X", "AAA99", "AAAA9", "AAAAX", "AAAA9"
QUEENS = "DDD99", "DDDVX", "DD99A", "DDDDD", "DDDDA"


def row_of(letter: str) -> int:
    """Return the action that writes in a row."""
    return WRITE + ROWS.index(letter)


# --- Reasons for illegal actions -------------------------------------------------------------------------


@pytest.mark.parametrize("column", range(5))
def test_reason_names_the_least_value_of_the_column(column: int) -> None:
    script = Script()
    script.score_in("D", *("DDDD9",) * column)
    while script.seat:
        script.give_up()
    script.throw("DD9AX")
    least = [7, 6, 6, 8, 8][column]
    assert f"column {column + 1} of a figure row takes {least} at the least" in script.refusal(row_of("D"))
    before = script.states.tobytes()
    with pytest.raises(IllegalActionError, match=r"write .* in queens: .* is illegal: column"):
        script.play(row_of("D"))
    assert script.states.tobytes() == before


def test_reason_names_a_closed_or_full_row() -> None:
    script = Script()
    script.score_in("A", *ACES)
    script.throw("AAAAA")
    assert script.refusal(row_of("A")).endswith("player_0 has filled it, so nobody writes there")
    script.give_up()
    script.throw("AAAAA")
    assert script.refusal(row_of("A")).endswith("the row of aces is full: its 5 cells are all written")


@pytest.mark.parametrize(
    ("options", "faces", "action", "reason"),
    [
        ({}, "DDDDV", row_of("A"), "no die shows the ace or the pilo"),
        ({}, "DDDDV", row_of("S"), "a sequence is 9 X V D R or X V D R A"),
        ({}, "DDDDV", row_of("F"), "a full is three of one face and two of another"),
        ({}, "DDDDV", row_of("P"), r"pokers is not played at this table \(it takes poker_row=True\)"),
        ({"poker_row": True}, "9999A", row_of("P"), "a poker is four equal figures"),
        ({"rows": "AD"}, "RRRRR", row_of("R"), r"kings is not played at this table \(rows='AD'\)"),
        ({}, "DDDD9", ASIDE + 2, "sum_throws=True"),
        ({"sum_throws": True}, "DDDDV", ASIDE + 2, "each must show the queen or the pilo"),
        ({"sum_throws": True, "rows": "AD"}, "RRRR9", ASIDE + 1, "not played"),
        ({}, "DDDDV", PASS, "only after the last throw, and this was throw 1 of 3"),
        ({}, "DDDDV", 0b01000 - 1, r"of equal dice those at the lowest places are thrown: reroll dice 0 \(D\)"),
        ({}, "DDDDV", 0b11100 - 1, r"reroll dice 0, 1, 4 \(D D V\)"),
    ],
    ids=str,
)
def test_reason_for_other_illegal_actions(options: dict[str, object], faces: str, action: int, reason: str) -> None:
    script = Script(**options)
    script.throw(faces)
    with pytest.raises(IllegalActionError, match=reason):
        script.play(action)


def test_reason_after_the_last_throw_and_in_a_bound_turn() -> None:
    script = Script(sum_throws=True)
    script.throw("DDDD9")
    for _ in range(2):
        script.again("9", "9")
    for action in (0, ASIDE + 2):
        assert "all 3 throws of this turn are made" in script.refusal(action)
    script.give_nothing()
    script.throw("99999")
    script.set_aside("D")
    script.throw("99VVV")
    for action in (row_of("V"), row_of("F"), ASIDE + 3):
        assert script.refusal(action).endswith("points are set aside for queens, and this turn is bound to that row")
    script.again("99", "VV")
    assert "takes 7 at the least, and this counts 5" in script.refusal(row_of("D"))


def test_reason_for_a_poker_that_is_not_de_mao() -> None:
    script = Script(poker_row=True)
    script.throw("VVVDV")
    script.again("V", "V")
    assert "de mão" in script.refusal(row_of("P"))


def test_action_name_shows_the_points_set_aside_and_added() -> None:
    script = Script(sum_throws=True)
    script.throw("DDDD9")
    assert script.game.action_name(script.state, ASIDE + 2) == "set aside D D D D 9 for queens: 9, throw all five"
    script.set_aside("D")
    script.throw("DXRR9")
    assert script.game.action_name(script.state, row_of("D")) == "write R R D X 9 in queens: 9 + 3 = 12"
    script.again("RRX", "AAA")
    assert script.game.action_name(script.state, row_of("D")) == "write A A A D 9 in queens: 9 + 3 = 12"


# --- Terminal input and text -----------------------------------------------------------------------------


def test_typed_commands_and_the_menu_of_actions() -> None:
    script = Script(sum_throws=True)
    script.throw("DDDD9")
    game, state = script.game, script.state
    commands = {
        "r 4": 0b10000 - 1,
        "r 3": 0b00001 - 1,  # any queen means the first one
        "r 2 3, 4": 0b10011 - 1,
        "reroll 3 4": 0b10001 - 1,
        "r all": 0b11111 - 1,
        "R 14": 0b10001 - 1,
        "w D": row_of("D"),
        "write f": row_of("F"),
        "s d": ASIDE + 2,
        "p": PASS,
        "pass": PASS,
        "r14": 0b10001 - 1,
        "r x": None,
        "hello": None,
        "p 3": None,
    }
    assert {line: names.parse_action(game, state, line) for line in commands} == commands
    for line in ("r", "r 5", "w", "w Q", "w DD", "s F"):
        with pytest.raises(IllegalActionError, match="for example"):
            names.parse_action(game, state, line)
    assert [game.action_name(state, action) for group in names.menu(game, state) for action in group] == [
        "write D D D D 9 in queens: 9",
        "set aside D D D D 9 for queens: 9, throw all five",
    ]
    assert len(names.how_to(game, state)) == 3
    assert len(names.how_to(game_of("poker_figures"), state)) == 2
    assert names.throw_name(game, state) == "D D D D 9 (de mão)"
    assert game.action_name(state, 0b11000 - 1) == "reroll dice 3, 4 (D 9)"
    for _ in range(2):
        script.play(NUM_REROLLS - 1)
        script.throw(JUNK)
    assert names.throw_name(game, script.state) == "A R V X 9 (de mão)"
    assert [game.action_name(script.state, a) for group in names.menu(game, script.state) for a in group] == ["pass"]
    assert not any(line.startswith("r") for line in names.how_to(game, script.state))
    assert game.opening(script.state) == {}


def test_text_matches_a_full_example() -> None:
    script = Script(3, sum_throws=True)
    script.score_in("D", *QUEENS)
    script.score_in("S", "XVDRA")
    script.give_up()
    while script.state.mover != 1:
        script.give_up()
    script.throw("RRRR9")
    script.set_aside("R")
    script.throw("RRVX9")
    assert script.game.text(script.state).splitlines() == [
        "┌───┐ ┌───┐ ┌───┐ ┌───┐ ┌───┐",
        "│ R │ │ R │ │ V │ │ X │ │ 9 │",
        "└─0─┘ └─1─┘ └─2─┘ └─3─┘ └─4─┘",
        "player_1 to move: throw 2 of 3, 1 left, de mão",
        "set aside for kings: 9",
        "        player_0: 384            ▶ player_1: 0",
        "A ×6  · · · · ·                  · · · · ·",
        "R ×5  · · · · ·                  · · · · ·",
        "D ×4  8 6 6 20 8 = 48            · · · · ·                  closed, double",
        "V ×3  · · · · ·                  · · · · ·",
        "X ×2  · · · · ·                  · · · · ·",
        "S ×1  · · · · ·                  60 · · · · = 60",
        "F ×1  · · · · ·                  · · · · ·",
        "        player_2: 0",
        "A ×6  · · · · ·",
        "R ×5  · · · · ·",
        "D ×4  · · · · ·                  closed, double",
        "V ×3  · · · · ·",
        "X ×2  · · · · ·",
        "S ×1  · · · · ·",
        "F ×1  · · · · ·",
    ]
    waiting = script.game.choose(script.states, [0b11100 - 1])[0]
    assert script.game.text(waiting).splitlines()[1] == "│ R │ │ R │ │ ? │ │ ? │ │ ? │"


@pytest.mark.parametrize(
    ("winners", "words"),
    [(1, "player_0 wins: "), (2, "players 0 and 1 share the win: "), (3, "all share the win: ")],
)
def test_text_of_a_truncated_game_names_the_winners(winners: int, words: str) -> None:
    script = Script(3, max_turns=1, score_open_rows=True)
    for seat in range(3):
        script.score_in("F", *["VVVXX"] * (seat < winners))
    assert script.game.text(script.state).splitlines()[3] == words + "cut short after 1 turn"
