"""Tests of Last Die's text: action names, terminal input, pictures, observation names, options and docs."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

import numpy as np
import pytest

import trialea
from tests.docs.pages import DOCS, indexed
from tests.helpers import game_of, positions
from tests.last_die import after, fall, fresh, table_of
from trialea import OptionError
from trialea.agents.human import HumanAgent
from trialea.envs.game import Game
from trialea.envs.last_die import names
from trialea.envs.last_die.rules import FULL_SCORE, FULL_SCORE_EVEN_ENDS, full_score


@pytest.fixture
def game() -> Game:
    return game_of("last_die", 4, seating="fixed", rounds_each=1)


def test_action_and_throw_names(game: Game) -> None:
    start = fresh(game)[0]
    assert game.action_name(start, 0) == "throw all the dice in hand"
    assert names.throw_name(game, start) == "6 dice in hand"
    assert names.throw_name(game, after(game, "311111")) == "1 die in hand, after 3 1 1 1 1 1"
    steered = game_of("last_die", 4, steer=True)
    state = after(steered, "133525")
    assert steered.action_name(state, 3) == "send 3 left, 1 right"
    assert names.throw_name(steered, state) == "1 3 3 5 2 5"


def ask(game: Game, state: Any, *lines: str) -> tuple[int, str]:
    """Return the action that a person's typed lines select, and all text shown."""
    shown: list[str] = []
    typed = iter(lines)
    agent = HumanAgent(game, ask=lambda prompt: next(typed), show=shown.append)
    states = np.array([state], game.state_dtype).view(np.recarray)
    return int(agent.act(states)[0]), "\n".join(shown)


@pytest.mark.parametrize("line", ["t", "T", "throw", "1"])
def test_typed_throw_command_throws_the_dice(game: Game, line: str) -> None:
    played, shown = ask(game, after(game, "333111"), "nonsense", line)
    assert played == 0
    assert "t   throw 3 dice" in shown
    assert "'nonsense' means nothing here" in shown


@pytest.mark.parametrize(
    ("line", "left"),
    [("l 2", 2), ("L3", 3), ("left 0", 0), ("r 1", 3), ("right 4", 0), ("r0", 4), ("1", 0), ("5", 4)],
)
def test_typed_steering_command_sends_that_many_dice_left(line: str, left: int) -> None:
    game = game_of("last_die", 4, steer=True)
    played, shown = ask(game, after(game, "133525"), line)
    assert played == left
    assert "l 1   send one of 4 dice to the left and the others to the right" in shown
    assert "send 4 left, 0 right" in shown


@pytest.mark.parametrize("line", ["l", "l 5", "r 9", "right"])
def test_wrong_number_of_steered_dice_explains_the_range(line: str) -> None:
    game = game_of("last_die", 4, steer=True)
    assert names.parse_action(game, after(game, "133525"), "t") is None
    played, shown = ask(game, after(game, "133525"), line, "l 1")
    assert played == 1
    assert "say how many dice to send there, from 0 to 4" in shown


def test_text_matches_full_examples(game: Game) -> None:
    assert game.text(fresh(game)[0]).splitlines() == [
        "round 1 of 4, player_0 opens",
        "player_0 to move: 6 dice in hand",
        "▶ player_0 ■■■■■■ 0",
        "  player_1 ······ 0",
        "  player_2 ······ 0",
        "  player_3 ······ 0",
    ]
    states = fresh(game)
    states.place[0, :4] = [0, 2, 3, 1]
    states.scores[0, :4] = [0, 14, 6, 0]
    states = fall(game, states, [3, 3, 5, 5, 1, 3])
    assert game.text(states[0]).splitlines() == [
        "round 1 of 4, opened by player_0",
        "player_0 threw",
        "┌───┐ ┌───┐ ┌───┐ ┌───┐ ┌───┐ ┌───┐",
        "│ 3 │ │ 3 │ │ 5 │ │ 5 │ │ 1 │ │ 3 │",
        "└───┘ └───┘ └───┘ └───┘ └───┘ └───┘",
        "left  left  right right  out  left",
        "player_3 to move: 3 dice in hand",
        "  player_0 ······  0",
        "▶ player_3 ■■■···  0",
        "  player_1 ······ 14",
        "  player_2 ■■····  6",
    ]
    assert game.text(game.choose(states, [0])[0]).splitlines()[1:5] == [
        "player_3 throws",
        "┌───┐ ┌───┐ ┌───┐",
        "│ ? │ │ ? │ │ ? │",
        "└───┘ └───┘ └───┘",
    ]


def test_text_names_the_last_die_and_the_winners(game: Game) -> None:
    assert "player_1 to move: the last die in hand" in game.text(after(game, "311111"))
    assert "stays" in game.text(after(game, "311111", "4"))
    steered = game_of("last_die", 4, steer=True)
    text = steered.text(after(steered, "111112", "3"))
    assert "player_0 to move: the last die to send on" in text
    assert " on\n" in text
    assert "player_0 to move: 4 dice to send on" in steered.text(after(steered, "133525"))
    ones = "111111"
    one = game.text(after(game, "311111", "2", "1", ones, ones, ones))
    assert "player_1 wins" in one and "★ player_1" in one
    two = game.text(after(game, "311111", "2", "1", "511111", "2", "1", ones, ones))
    assert "player_0 and player_1 share the win" in two
    assert "4 players share the win" in game.text(after(game, *[ones] * 4))


def test_pictures_of_different_throws_hands_and_ends_differ(game: Game) -> None:
    steered = game_of("last_die", 4, steer=True)
    ones = "111111"
    shown = [fresh(game)[0], *(after(game, f"{face}11111") for face in range(1, 7))]
    shown += [after(game, "311111", "2", "1", ones, ones, ones), after(game, *[ones] * 4), after(steered, "311111")]
    pictures = [game.picture(state) for state in shown[:-1]] + [steered.picture(shown[-1])]
    assert len({picture.tobytes() for picture in pictures}) == len(pictures)


# --- Observations ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"steer": True}, {"even_ends_round": True, "rounds_each": 2}], ids=str)
def test_observation_matches_its_entry_names(options: dict[str, Any]) -> None:
    """Reads each entry by its name, without the kernel."""
    players = 5
    game = game_of("last_die", players, **options)
    labels = game.observation_names()
    whose = ["observer", *(f"player {offset} to the observer's left" for offset in range(1, players))]
    for state in positions(game, 100, seed=4):
        single = np.array([state], game.state_dtype).view(np.recarray)
        table = table_of(game, state)
        opener = table[int(state.rounds) % players]
        for seat in range(players):
            seen = dict(zip(labels, game.observe(single, np.array([seat]))[0], strict=True))
            order = table[table.index(seat) :] + table[: table.index(seat)]
            for name, player in zip(whose, order, strict=True):
                score = min(1, int(state.scores[player]) / full_score(game.options))
                assert seen.pop(f"{name}: dice in hand / 6") == pytest.approx(int(state.held[player]) / 6)
                assert seen.pop(f"{name}: score") == pytest.approx(score)
                assert seen.pop(f"{name}: to move") == (player == state.mover)
                assert seen.pop(f"{name}: opens this round") == (player == opener)
            assert seen.pop("the opener has yet to empty the hand") == state.opening
            rounds = game.options.rounds_each * players
            assert seen.pop("share of the rounds played") == pytest.approx(int(state.rounds) / rounds)
            for number in range(1, 7) if game.options.steer else ():
                assert seen.pop(f"dice to send on: {number}") == (state.sent == number)
            assert not seen


def test_observation_at_the_end_shows_all_rounds_played() -> None:
    game = game_of("last_die", 4, rounds_each=1)
    states = game.start([5])
    opener = table_of(game, states[0])[-1]
    while not states[0].over:
        game.step(states, [0])
    seen = dict(zip(game.observation_names(), game.observe(states, np.array([opener]))[0], strict=True))
    assert seen["share of the rounds played"] == 1
    assert seen["observer: opens this round"] == 1  # the player who opened the last round


# --- Options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [{"seating": "any"}, {"rounds_each": 0}, {"rounds_each": 101}, {"even_ends_round": 1}, {"steer": "yes"}],
    ids=str,
)
def test_options_out_of_range_raise(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        trialea.make_game("last_die", **wrong)


def test_number_of_actions_depends_only_on_steer() -> None:
    assert [game_of("last_die", n).num_actions for n in (4, 5, 6)] == [1, 1, 1]
    assert [game_of("last_die", n, steer=True).num_actions for n in (4, 5, 6)] == [7, 7, 7]
    assert game_of("last_die", 4, steer=np.bool_(True)).options.steer is True


# --- Documentation ---------------------------------------------------------------------------------------


def test_docs_name_the_actions_with_steer() -> None:
    page = (DOCS / "last_die.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| (0–6) \| (.*?) \|", page, re.MULTILINE)
    documented = indexed([list(row)])
    game = game_of("last_die", 4, steer=True)
    assert len(documented) == game.num_actions
    state = after(game, "333555")
    assert all(fnmatchcase(game.action_name(state, action), name) for action, name in documented.items())


def test_docs_give_the_observation_sizes_and_full_score() -> None:
    page = (DOCS / "last_die.md").read_text(encoding="utf-8")
    for players, steer in product((4, 5, 6), (False, True)):
        assert game_of("last_die", players, steer=steer).observation_size == 4 * players + 2 + 6 * steer
    assert "D = 4 × players + 2 (18 for four), and 6 more with `steer`" in page
    assert f"score / ({FULL_SCORE} × `rounds_each`)" in page
    assert f"score / ({FULL_SCORE_EVEN_ENDS} × `rounds_each`)" in page
