"""Tests of the human agent at the terminal, with scripted input, and of the text of a played game."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trialea
from tests.helpers import AGREED_ORDER, SHORT, game_of, more_players
from trialea.agents.human import GameQuit, HumanAgent
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.no_dice import names
from trialea.envs.no_dice.rules import ADD_UP, NUM_REROLLS
from trialea.envs.registry import GAMES
from trialea.evaluation import play_game


class Script:
    """Types the given lines, then ends the input; records all prompts and text."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.shown: list[str] = []
        self.asked: list[str] = []

    def ask(self, prompt: str) -> str:
        self.asked.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def show(self, text: str) -> None:
        self.shown.append(text)

    def agent(self, game: Game, hints: bool = False) -> HumanAgent:
        return HumanAgent(game, hints=hints, ask=self.ask, show=self.show)

    @property
    def text(self) -> str:
        return "\n".join(self.shown)


def names_of(game: Game) -> Any:
    """Return the game's words for the terminal."""
    return game.words


def position(game: Game, dice: tuple[int, ...] = (3, 0, 2, 1, 1), throws: int = 1) -> States:
    """Return a state with these dice, by default 5 0 3 ÷ −."""
    states = game.start([0])
    states[0].dice[:] = dice
    states[0].throws = throws
    return states


@pytest.fixture
def game() -> Game:
    return trialea.make_game("no_dice", target=6)


@pytest.mark.parametrize("line", ["r 0 3", "r03", "r 3,0", "R 0 3 ", "reroll 0 3", "r 0 3 3"])
def test_typed_dice_are_rerolled(game: Game, line: str) -> None:
    script = Script(line)
    assert script.agent(game).act(position(game)).tolist() == [0b01001 - 1]
    assert game.text(position(game)[0]) in script.text
    assert script.asked == ["player_0> "]


def test_typed_r_all_rerolls_all_dice(game: Game) -> None:
    assert Script("r all").agent(game).act(position(game)).tolist() == [NUM_REROLLS - 1]


def test_menu_has_a_line_for_each_score_lowest_first(game: Game) -> None:
    script, states = Script("1"), position(game)
    action = int(script.agent(game).act(states)[0])
    assert game.action_name(states[0], action).endswith("= 0")
    groups = names.menu(game, states[0])
    scores = [{game.tables.scores[names.outcome_index(states[0].dice), a - NUM_REROLLS] for a in g} for g in groups]
    assert all(len(group) == 1 for group in scores)
    lowest = [group.pop() for group in scores]
    assert lowest == sorted(set(lowest))
    stops = [a for a in np.flatnonzero(game.masks(states)[0]).tolist() if a >= NUM_REROLLS]
    assert sorted(a for group in groups for a in group) == stops
    numbers = [line.split()[0] for line in script.text.splitlines() if line.strip()[:1].isdigit()]
    assert numbers == [str(number) for number in range(1, len(groups) + 1)]


def test_menu_number_plays_its_line(game: Game) -> None:
    states = position(game)
    for number, group in enumerate(names.menu(game, states[0]), 1):
        assert Script(str(number)).agent(game).act(states).tolist() == [group[0]]


def test_all_lists_every_stop_and_accepts_its_number(game: Game) -> None:
    states = position(game)
    stops = [a for group in names.menu(game, states[0]) for a in group]
    script = Script("all", f"#{stops[-1]}")
    assert script.agent(game).act(states).tolist() == [stops[-1]]
    assert all(f"#{action}" in script.text for action in stops)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("nonsense", "'nonsense' means nothing here"),
        ("99", "There is no choice 99: the list goes from 1 to"),
        ("0", "There is no choice 0"),
        ("-1", "means nothing here"),
        ("r", "name the dice to throw again, from 0 to 4"),
        ("r 5", "name the dice to throw again, from 0 to 4"),
        ("r ²", "means nothing here"),
        ("r one", "means nothing here"),
        ("#140", "action 140 is outside 0..139"),
        (f"#{ADD_UP}", "the faces are added up only after the last throw"),
        ("#66", "die 4 shows −, where a number is needed"),
        ("h", "leave the game"),
        ("?", "leave the game"),
        ("", "throw dice 0 and 3 again"),
        ("9" * 50, "means nothing here"),
    ],
)
def test_invalid_input_gets_an_explanation_and_another_prompt(game: Game, line: str, answer: str) -> None:
    script, states = Script(line, "r 0"), position(game)
    before = states.tobytes()
    assert script.agent(game).act(states).tolist() == [0]
    assert states.tobytes() == before
    assert answer in "\n".join(script.shown[2:])
    assert len(script.asked) == 2


def test_no_reroll_is_offered_after_the_last_throw(game: Game) -> None:
    script, states = Script("r 0", "1"), position(game, throws=3)
    script.agent(game).act(states)
    assert "throw dice 0 and 3 again" not in script.text
    assert "all 3 throws of this turn are made" in script.text


def test_menu_without_an_expression_offers_only_to_add_up(game: Game) -> None:
    states = position(game, (0, 1, 0, 0, 0))  # five numbers
    script = Script("1", "r 1")
    assert script.agent(game).act(states).tolist() == [1]
    assert "nothing to pick" in script.text
    states[0].throws = 3
    assert Script("1").agent(game).act(states).tolist() == [ADD_UP]


def test_hints_list_the_solvers_values_best_first(game: Game) -> None:
    script, states = Script("hints", "1"), position(game, (0, 1, 0, 0, 0))
    with pytest.raises(GameQuit):
        script.agent(game).act(states)
    lines = script.text[script.text.index("exact value of each") :].splitlines()[1:]
    values = [float(line.split()[0]) for line in lines if line.strip()[:2] == "0."]
    assert len(values) == 5
    assert values == sorted(values, reverse=True)
    solver = trialea.make_agent("solver", game)
    assert game.action_name(states[0], int(solver.act(states)[0])) in lines[0]
    best = np.nanmax(solver.solution.action_values(states)[0])  # type: ignore[attr-defined]
    assert values[0] == pytest.approx(best, abs=1e-5)


def test_hints_can_start_on_and_be_turned_off(game: Game) -> None:
    script = Script("hints", "h", "q")
    agent = script.agent(game, hints=True)
    with pytest.raises(GameQuit):
        agent.act(position(game))
    assert not agent.hints
    assert script.text.count("exact value of each") == 1
    assert "Hints are off." in script.text


def test_hints_explain_why_an_unsolved_game_has_none() -> None:
    game = trialea.make_game("no_dice", 6)
    script = Script("hints", "r 0")
    assert script.agent(game).act(position(game)).tolist() == [0]
    assert "There are no hints: players must be 2 to 5 to solve No Dice, got 6." in script.text


@pytest.mark.parametrize("line", ["q", "quit", "Q"])
def test_typed_quit_leaves_the_game(game: Game, line: str) -> None:
    with pytest.raises(GameQuit):
        Script(line).agent(game).act(position(game))
    assert issubclass(GameQuit, trialea.TrialeaError)


@pytest.mark.parametrize("error", [EOFError, KeyboardInterrupt])
def test_end_of_input_and_ctrl_c_leave_the_game(game: Game, error: type[BaseException]) -> None:
    def ask(prompt: str) -> str:
        raise error

    with pytest.raises(GameQuit):
        HumanAgent(game, ask=ask, show=lambda text: None).act(position(game))


def test_batch_is_asked_one_game_at_a_time(game: Game) -> None:
    script = Script("r 0", "r 1", "r 2")
    assert script.agent(game).act(game.start([1, 2, 3])).tolist() == [0, 1, 3]
    assert Script().agent(game).act(game.start([])).tolist() == []


@pytest.mark.parametrize("name", GAMES)
def test_every_game_can_be_played_from_its_menu(name: str) -> None:
    """Plays the first line of the menu if there is one, else the first legal action."""
    game = game_of(name, more_players(name), **SHORT[name])
    agent: HumanAgent
    typed: list[str] = []

    def ask(prompt: str) -> str:
        return typed.pop(0) if typed else "all"

    class Typist:
        name = "typist"

        def act(self, states: States) -> np.ndarray:
            typed[:] = ["h", "1", f"#{np.flatnonzero(game.masks(states)[0])[0]}"]
            return agent.act(states)

    agent = HumanAgent(game, ask=ask, show=lambda text: None)
    state = play_game(game, [Typist()] * game.num_players, seed=5, show=lambda line: None)
    assert state.over


@pytest.mark.parametrize("name", GAMES)
def test_narrated_game_names_every_decision_and_the_result(name: str) -> None:
    game = game_of(name, more_players(name), **SHORT[name], **AGREED_ORDER[name])
    seats = [trialea.make_agent("random", game, seat) for seat in range(game.num_players)]
    lines: list[str] = []
    state = play_game(game, seats, seed=4, show=lines.append, first_player=1)
    text = "\n".join(lines)
    assert state.over
    assert sum("  ->  " in line for line in lines) == state.decisions
    assert lines[0].endswith("player_1 begins.")
    begun = game.start([4], first_player=1)[0]
    throw = ", throw 1" if begun.throws else ""
    assert lines[1].startswith(f"player_1 (random){throw}: {names_of(game).throw_name(game, begun)}  ->  ")
    assert lines[-1].startswith("Scores: ")
    for seat in range(game.num_players):
        assert f"player_{seat} (random)" in text
        assert f"player_{seat} (random) {state.scores[seat]}" in lines[-1]
        assert (f"player_{seat} (random)" in lines[-2]) == (state.share[seat] > 0)


def test_narrated_no_dice_game_says_who_is_out() -> None:
    game = trialea.make_game("no_dice", 3)
    lines: list[str] = []
    seats = [trialea.make_agent("random", game, seat) for seat in range(3)]
    state = play_game(game, seats, seed=4, show=lines.append)
    out = [line.strip() for line in lines if line.endswith("is out")]
    assert len(out) == 1  # two players go out, and the second ends the game
    totals = [int(line.split()[-1]) for line in lines if " scores " in line]
    assert sum(total >= 30 for total in totals) == 2
    assert lines[-2] == f"player_{state.mover} (random) wins."


def test_play_game_requires_an_agent_for_each_seat(game: Game) -> None:
    with pytest.raises(OptionError, match="seats must be 2 agents, one for each seat, got 1"):
        play_game(game, [trialea.make_agent("random", game)])


def test_human_can_play_against_the_solver(game: Game) -> None:
    script = Script(*["1", "r all"] * 30)  # one of the two lines is valid at each prompt
    lines: list[str] = []
    state = play_game(game, [script.agent(game), trialea.make_agent("solver", game)], 2, lines.append)
    assert state.over
    assert "player_0 (human)" in lines[0] and "player_1 (solver)" in lines[0]
