"""Poker Figures as its source tells it: each sum and each refusal of the text, played; and the library's words."""

from __future__ import annotations

import pytest

import trialea
from tests.helpers import game_of
from tests.poker_figures import JUNK, Script
from trialea import IllegalActionError
from trialea.envs.poker_figures import names
from trialea.envs.poker_figures.rules import ASIDE, NUM_REROLLS, PASS, ROWS, WRITE

ACES = "AAA9X", "AAA99", "AAAA9", "AAAAX", "AAAA9"
QUEENS = "DDD99", "DDDVX", "DD99A", "DDDDD", "DDDDA"


def row_of(letter: str) -> int:
    return WRITE + ROWS.index(letter)


# --- The sums of the source ------------------------------------------------------------------------------


@pytest.mark.nojit
def test_source_two_throws_of_six_queens_in_one_turn() -> None:
    script = Script()
    script.score_in("D", "DDD9V")
    script.give_up()
    for faces in ("DDVRD", "DD99V"):
        script.throw(faces)
        script.write("D")
    assert script.cells(0, "D") == [7, 6, 6]
    assert (script.state.mover, script.state.throws) == (0, 2)


@pytest.mark.nojit
def test_source_aces_are_246() -> None:
    script = Script()
    script.score_in("A", "AAA9X")
    script.score_in("A", *ACES)
    assert script.cells(1, "A") == [7, 8, 9, 8, 9]
    assert script.scores() == [42, 246]


@pytest.mark.nojit
@pytest.mark.parametrize(("opened", "scores"), [(True, [28, 192]), (False, [0, 384])])
def test_source_queens_are_192_and_doubled_384(opened: bool, scores: list[int]) -> None:
    script = Script()
    if opened:
        script.score_in("D", "DDD9X")
    else:
        script.give_up()
    script.score_in("D", *QUEENS)
    assert script.cells(1, "D") == [8, 6, 6, 20, 8]
    assert script.scores() == scores


@pytest.mark.nojit
def test_source_sequences_are_195() -> None:
    script = Script()
    script.score_in("S", "9XVDR")
    for faces, de_mao in (("XVDRA", True), ("9XVDR", False), ("9XVDR", True), ("XVDRA", True), ("XVDRA", False)):
        while script.state.mover == 0 or script.state.throws == 2:
            script.give_up()
        script.throw(faces)
        if not de_mao:
            script.again("D", "D")
        script.write("S")
    assert script.cells(1, "S") == [60, 15, 30, 60, 30]
    assert script.scores() == [30, 195]


@pytest.mark.nojit
def test_source_summing_queens_nine_twelve_fourteen() -> None:
    script = Script(sum_throws=True)
    script.throw("DDDD9")
    assert script.game.action_name(script.state, ASIDE + 2) == "set aside D D D D 9 for queens: 9, throw all five"
    script.set_aside("D")
    script.throw("DXRR9")
    assert script.game.action_name(script.state, row_of("D")) == "write R R D X 9 in queens: 9 + 3 = 12"
    script.again("RRX", "RDV")
    assert script.game.action_name(script.state, row_of("D")) == "write R D D V 9 in queens: 9 + 5 = 14"
    script.write("D")
    assert script.cells(0, "D") == [14]
    assert (script.state.mover, script.state.aside, script.state.bound) == (1, 0, 0)


@pytest.mark.nojit
@pytest.mark.parametrize(("faces", "value"), [("VVVDV", 100), ("AAAAR", 200), ("AAAAD", 100), ("XXXXX", 100)])
def test_source_pokers_count_de_mao_alone(faces: str, value: int) -> None:
    script = Script(poker_row=True)
    script.throw(faces)
    script.again(faces[0], faces[0])
    assert "de mão" in script.refusal(row_of("P"))
    script.play(NUM_REROLLS - 1)
    script.throw(faces)
    script.write("P")
    assert script.cells(0, "P") == [value]


@pytest.mark.nojit
def test_source_everybody_who_has_opened_counts_double() -> None:
    """The one who closes, and the others who have opened; with four players one of whom has not."""
    script = Script(4)
    script.score_in("V", "VVV9A", "VVVAA")
    script.score_in("V", "VVV9A")
    script.give_up()
    script.score_in("V", *["VVVV9"] * 5)
    assert script.scores() == [2 * 3 * 13, 2 * 3 * 7, 0, 2 * 3 * 45]


@pytest.mark.nojit
def test_source_the_game_ends_with_one_row_left_and_never_asks_for_pokers() -> None:
    script = Script(poker_row=True, columns=1)
    for row in "ARDVPX":
        if script.state.mover == 1:
            script.give_up()
        script.throw("AAAAR" if row == "P" else 4 * row + "9")
        script.write(row)
        assert not script.state.over
    script.give_up()
    script.throw("XXXVV")
    assert script.state.turns.tolist()[:2] == [2, 2]
    script.write("F")
    state = script.state
    assert (state.over, state.truncated, state.pending) == (1, 0, 0)
    assert state.turns.tolist()[:2] == [3, 2]
    assert script.cells(0, "S") == []
    assert script.scores() == [2 * (9 * 20 + 200 + 40), 0]
    assert state.share.tolist()[:2] == [1, 0]


# --- Refusals --------------------------------------------------------------------------------------------


@pytest.mark.nojit
def test_source_refuses_less_than_the_columns_least() -> None:
    script = Script()
    for column, (too_little, taken) in enumerate(
        [("DDDVX", "DDD9X"), ("DD9AX", "DDDVX"), ("DD9AX", "DD99A"), ("DDD9X", "DDDDX"), ("DDD9X", "DDD99")]
    ):
        script.throw(too_little)
        least = [7, 6, 6, 8, 8][column]
        assert f"column {column + 1} of a figure row takes {least} at the least" in script.refusal(row_of("D"))
        before = script.states.tobytes()
        with pytest.raises(IllegalActionError, match=r"write .* in queens: .* is illegal: column"):
            script.play(row_of("D"))
        assert script.states.tobytes() == before
        script.play(NUM_REROLLS - 1)
        script.throw(taken)
        script.write("D")
        script.give_up()
        if script.state.mover == 1:
            script.give_up()
    assert script.cells(0, "D") == [7, 6, 6, 8, 8]


@pytest.mark.nojit
def test_source_refuses_a_closed_row() -> None:
    script = Script()
    script.score_in("A", *ACES)
    script.throw("AAAAA")
    assert script.refusal(row_of("A")).endswith("player_0 has filled it, so nobody writes there")


@pytest.mark.nojit
def test_source_refuses_a_full_row() -> None:
    script = Script()
    script.score_in("A", *ACES)
    script.give_up()
    script.throw("AAAAA")
    assert script.refusal(row_of("A")).endswith("the row of aces is full: its 5 cells are all written")


@pytest.mark.nojit
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
def test_other_refusals_say_why(options: dict[str, object], faces: str, action: int, reason: str) -> None:
    script = Script(**options)
    script.throw(faces)
    with pytest.raises(IllegalActionError, match=reason):
        script.play(action)


@pytest.mark.nojit
def test_after_the_last_throw_one_writes_or_passes() -> None:
    script = Script(sum_throws=True)
    script.throw("DDDD9")
    for _ in range(2):
        script.again("9", "9")
    assert [action for action in range(45) if script.is_legal(action)] == [row_of("D"), PASS]
    assert "all 3 throws of this turn are made" in script.refusal(0)
    assert "all 3 throws of this turn are made" in script.refusal(ASIDE + 2)
    script.play(PASS)
    assert script.cells(0, "D") == []
    assert (script.state.mover, script.state.throws, script.state.pending) == (1, 0, 31)


@pytest.mark.nojit
def test_a_turn_that_is_bound_takes_nothing_else_and_asks_the_least_of_the_sum() -> None:
    script = Script(sum_throws=True)
    script.throw("99999")
    assert [script.is_legal(ASIDE + figure) for figure in range(5)] == [True] * 5
    script.set_aside("D")
    script.throw("99VVV")
    for action in (row_of("V"), row_of("F"), ASIDE + 3):
        assert script.refusal(action).endswith("points are set aside for queens, and this turn is bound to that row")
    assert script.is_legal(row_of("D"))  # 5 + 2
    script.again("99", "VV")
    assert "takes 7 at the least, and this counts 5" in script.refusal(row_of("D"))
    script.play(PASS)
    assert (script.state.aside, script.state.bound) == (0, 0)
    script.throw("VVVV9")
    script.set_aside("V")
    script.throw("VVVVV")  # de mão: 20
    script.set_aside("V")
    script.throw("AAAAA")  # nothing, but the sum counts
    assert script.game.action_name(script.state, row_of("V")) == "write A A A A A in jacks: 29 + 0 = 29"
    script.write("V")
    assert script.cells(1, "V") == [29]


@pytest.mark.nojit
def test_a_bound_turn_is_free_again_once_it_has_written() -> None:
    script = Script(sum_throws=True)
    script.throw("DDDD9")
    script.set_aside("D")
    script.throw("DAAXX")
    script.write("D")
    assert (script.state.mover, script.state.throws, script.state.aside, script.state.bound) == (0, 2, 0, 0)
    script.throw("VVVAA")
    script.write("F")
    assert (script.cells(0, "D"), script.cells(0, "F")) == ([11], [40])


# --- The end ---------------------------------------------------------------------------------------------


@pytest.mark.nojit
def test_open_rows_count_where_that_is_agreed_and_once_more_when_they_double() -> None:
    script = Script(score_open_rows=True)
    script.score_in("A", "AAA9X")
    assert script.scores() == [42, 0]
    script.score_in("V", "VVVV9", "VVVVV")
    assert script.scores() == [42, 87]
    script.score_in("A", *ACES[1:])
    assert script.scores() == [2 * (7 + 8 + 9 + 8 + 9) * 6, 87]


@pytest.mark.nojit
@pytest.mark.parametrize(("open_rows", "shares"), [(False, [1 / 3] * 3), (True, [0.5, 0.5, 0])])
def test_a_game_that_nobody_closes_is_cut_short_and_shared(open_rows: bool, shares: list[float]) -> None:
    script = Script(3, max_turns=2, score_open_rows=open_rows)
    script.score_in("F", "AAAXX")
    script.score_in("F", "VVVXX")
    for _ in range(4):
        assert not script.state.over
        script.give_up()
    assert (script.state.over, script.state.truncated) == (1, 1)
    assert script.state.turns.tolist()[:3] == [2, 2, 2]
    assert script.scores() == ([40, 40, 0] if open_rows else [0, 0, 0])
    assert script.state.share.tolist()[:3] == pytest.approx(shares)


def test_environments_report_the_cut_as_truncation_with_its_rewards() -> None:
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


# --- Words -----------------------------------------------------------------------------------------------


@pytest.mark.nojit
def test_what_a_person_types() -> None:
    script = Script(sum_throws=True)
    script.throw("DDDD9")
    game, state = script.game, script.state
    commands = {
        "r 4": 0b10000 - 1,
        "r 3": 0b00001 - 1,  # any queen is thrown like the first of them
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


@pytest.mark.nojit
def test_the_text_in_full() -> None:
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


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("winners", "words"),
    [(1, "player_0 wins: "), (2, "players 0 and 1 share the win: "), (3, "all share the win: ")],
)
def test_the_text_of_a_game_cut_short(winners: int, words: str) -> None:
    script = Script(3, max_turns=1, score_open_rows=True)
    for seat in range(3):
        script.score_in("F", *["VVVXX"] * (seat < winners))
    assert script.game.text(script.state).splitlines()[3] == words + "cut short after 1 turn"
