"""The words of No Dice: names of actions and observations, and the commands of a person at the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import IllegalActionError
from trialea.envs.no_dice.rules import (
    ADD_UP,
    EXPRESSIONS,
    FACES,
    ILLEGAL,
    NUM_DICE,
    NUM_REROLLS,
    face_value,
    outcome_index,
)

if TYPE_CHECKING:
    from trialea.envs.game import Game


def rerolled_dice(action: int) -> list[int]:
    """Return the dice that a rethrow action throws again."""
    return [die for die in range(NUM_DICE) if (action + 1) >> die & 1]


def symbols(state: Any) -> list[int | str]:
    """Return the faces of the five dice on the table."""
    return [FACES[die][state.dice[die]] for die in range(NUM_DICE)]


def _formula(shown: list[int | str], action: int) -> str:
    """Return an expression action as it is written, without its result."""
    expression = EXPRESSIONS[action - NUM_REROLLS]
    words = [str(shown[die]) for die in expression.dice]
    if expression.bracket == "left":
        words[0], words[2] = f"({words[0]}", f"{words[2]})"
    elif expression.bracket == "right":
        words[2], words[4] = f"({words[2]}", f"{words[4]})"
    return " ".join(words)


def action_name(game: Game, state: Any, action: int) -> str:
    """Return the action in words.

    `"reroll dice 0, 3"`, `"(5 − 3) ÷ 0 = 0"`, `"5 − 4 = 1, and 2 + 3 left over: 6"`, `"add up the faces: 9"`.
    """
    if action < NUM_REROLLS:
        return "reroll dice " + ", ".join(map(str, rerolled_dice(action)))
    shown = symbols(state)
    if action == ADD_UP:
        return f"add up the faces: {sum(face_value(face) for face in shown)}"
    formula = _formula(shown, action)
    score = int(game.tables.scores[outcome_index(state.dice), action - NUM_REROLLS])
    if score == ILLEGAL:
        return formula
    left_over = [face_value(shown[die]) for die in range(NUM_DICE) if die not in EXPRESSIONS[action - NUM_REROLLS].dice]
    if not left_over:
        return f"{formula} = {score}"
    return f"{formula} = {score - sum(left_over)}, and {' + '.join(map(str, left_over))} left over: {score}"


def why_illegal(game: Game, state: Any, action: int) -> str:
    """Return why the rules refuse `action`, which is in range, in `state`."""
    if action < NUM_REROLLS:
        return f"all {game.options.throws} throws of this turn are made"
    if action == ADD_UP:
        if state.throws < game.options.throws:
            return "the faces are added up only after the last throw"
        return "an expression can be made, so one must be"
    expression = EXPRESSIONS[action - NUM_REROLLS]
    shown = symbols(state)
    for position, die in enumerate(expression.dice):
        wanted = "an operator" if position % 2 else "a number"
        if isinstance(shown[die], str) != bool(position % 2):
            return f"die {die} shows {shown[die]}, where {wanted} is needed"
    if game.options.intermediates == "natural":
        return "its result and its bracket must be whole numbers of at least 0"
    return "its result must be a whole number of at least 0"


def opening(game: Game, state: Any) -> dict[str, NDArray[np.int64]]:
    """Return the report of a reset, which is empty, since the players agree who begins."""
    return {}


def throw_name(game: Game, state: Any) -> str:
    """Return the dice on the table in one line, such as `"5 3 0 ÷ −"`."""
    return " ".join(map(str, symbols(state)))


def how_to(game: Game, state: Any) -> list[str]:
    """Return the commands besides a number from the menu that make sense in `state`, a line each."""
    if state.throws >= game.options.throws:
        return []
    return ["r 0 3   throw dice 0 and 3 again (r and the dice; `r all` throws all five)"]


def parse_action(game: Game, state: Any, line: str) -> int | None:
    """Return the action for a typed line such as `"r 0 3"`, `"r 03"` or `"r all"`, legal or not.

    Return None if the line is not one of the game's commands.

    Raises:
        IllegalActionError: it is a rethrow, but names no dice or dice that do not exist.
    """
    command = line.strip().lower()
    if not command.startswith("r"):
        return None
    rest = command.removeprefix("reroll").removeprefix("r").replace(",", " ").split()
    digits = "01234" if rest == ["all"] else "".join(rest)
    if digits and not (digits.isascii() and digits.isdigit()):
        return None
    if not digits or any(int(digit) >= NUM_DICE for digit in digits):
        raise IllegalActionError(f"name the dice to throw again, from 0 to {NUM_DICE - 1}: for example r 0 3")
    return sum(1 << int(digit) for digit in set(digits)) - 1


def menu(game: Game, state: Any) -> list[list[int]]:
    """Return the legal actions for a numbered list, in groups with the same effect, the simplest first.

    These are the ways to stop, with a group for each score, from the lowest.
    """
    scores = game.tables.scores[outcome_index(state.dice)]
    groups: dict[int, list[int]] = {}
    single = np.array([state], game.state_dtype).view(np.recarray)
    for action in np.flatnonzero(game.masks(single)[0]).tolist():
        if action >= NUM_REROLLS:
            groups.setdefault(int(scores[action - NUM_REROLLS]), []).append(action)
    return [
        sorted(actions, key=lambda action: (len(action_name(game, state, action)), action))
        for _, actions in sorted(groups.items())
    ]


def observation_names(game: Game) -> list[str]:
    """Return the name of every entry of the observation, in order."""
    names = [f"die {die} shows {FACES[die][face]} (face {face})" for die in range(NUM_DICE) for face in range(6)]
    names += [f"throws left: {left}" for left in range(game.options.throws)]
    for offset in range(game.num_players):
        whose = "observer" if offset == 0 else f"player {offset} after the observer"
        names += [f"{whose}: total / target", f"{whose}: still in", f"{whose}: to move"]
    for expression in EXPRESSIONS:
        dice = "".join(map(str, expression.dice))
        bracket = f", {expression.bracket} bracket" if expression.bracket else ""
        names.append(f"worth of the expression of dice {dice}{bracket}")
    return [*names, "worth of adding up the faces", "worth of the best of these"]
