"""The words of Poker Figures: names of actions and observations, and the commands of a person at the terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import IllegalActionError
from trialea.envs.poker_figures.rules import (
    ASIDE,
    FACES,
    FULL,
    NUM_DICE,
    NUM_FIGURES,
    NUM_REROLLS,
    NUM_ROWS,
    NUM_THROWS,
    PASS,
    POKER,
    ROWS,
    SEQUENCE,
    WRITE,
)

if TYPE_CHECKING:
    from trialea.envs.game import Game

ROW_NAMES = ("aces", "kings", "queens", "jacks", "tens", "sequences", "fulls", "pokers")
FIGURE_NAMES = ("ace", "king", "queen", "jack", "ten")


def symbols(state: Any) -> list[str]:
    """Return the faces of the five dice on the table, in their order."""
    return [FACES[face] for face in state.dice]


def rerolled_places(action: int) -> list[int]:
    """Return the places of the dice that a rethrow action throws again."""
    return [place for place in range(NUM_DICE) if (action + 1) >> place & 1]


def cells(state: Any, seat: int, row: int) -> list[int]:
    """Return the filled cells of a player's row, from the left."""
    return [int(cell) for cell in state.sheet[seat][row] if cell]


def is_played(game: Game, row: int) -> bool:
    """Return whether the row is part of this game."""
    return bool(game.tables.in_play >> row & 1)


def closer(game: Game, state: Any, row: int) -> int | None:
    """Return the seat that has closed the row; None if it is open."""
    for seat in range(game.num_players):
        if len(cells(state, seat, row)) == game.options.columns:
            return seat
    return None


def counts_double(game: Game, state: Any, row: int) -> bool:
    """Return whether the row is closed and some player has no cell in it."""
    unopened = any(not cells(state, seat, row) for seat in range(game.num_players))
    return unopened and closer(game, state, row) is not None


def count_now(game: Game, state: Any, row: int) -> int:
    """Return the points of the dice on the table in the row, without the points set aside."""
    hand = game.tables.hand_of[sum(int(face) * 6**place for place, face in enumerate(state.dice))]
    return int(game.tables.points[int(state.fresh), hand, row])


def action_name(game: Game, state: Any, action: int) -> str:
    """Return the action in words.

    `"reroll dice 3, 4 (9 9)"`, `"write R D D D V in queens: 6"`, `"set aside D D D D 9 for queens: 9, throw all
    five"`, `"write D X R R 9 in queens: 9 + 3 = 12"`, `"pass"`.
    """
    shown = symbols(state)
    if action < NUM_REROLLS:
        places = rerolled_places(action)
        return f"reroll dice {', '.join(map(str, places))} ({' '.join(shown[place] for place in places)})"
    if action == PASS:
        return "pass"
    row = action - (WRITE if action < ASIDE else ASIDE)
    count, aside = count_now(game, state, row), int(state.aside)
    total = f"{aside} + {count} = {aside + count}" if state.bound == row + 1 else str(count)
    dice = " ".join(shown)
    if action < ASIDE:
        return f"write {dice} in {ROW_NAMES[row]}: {total}"
    return f"set aside {dice} for {ROW_NAMES[row]}: {total}, throw all five"


def why_illegal(game: Game, state: Any, action: int) -> str:
    """Return why the rules refuse `action`, which is in range, in `state`."""
    if action == PASS:
        return f"a player passes only after the last throw, and this was throw {state.throws} of {NUM_THROWS}"
    if action < NUM_REROLLS:
        if state.throws >= NUM_THROWS:
            return f"all {NUM_THROWS} throws of this turn are made"
        same = offered_rethrow(state.dice, rerolled_places(action))
        return f"of equal dice those at the lowest places are thrown: {action_name(game, state, same)}"
    if action < ASIDE:
        row = action - WRITE
        return _why_no_cell(game, state, row) or _why_not_taken(game, state, row)
    row = action - ASIDE
    if not game.options.sum_throws:
        return "points are set aside only in the variant sum_throws=True"
    if state.throws >= NUM_THROWS:
        return f"all {NUM_THROWS} throws of this turn are made"
    figure = FIGURE_NAMES[row]
    return _why_no_cell(game, state, row) or f"all five dice must count: each must show the {figure} or the pilo, 9"


def _why_no_cell(game: Game, state: Any, row: int) -> str:
    """Return why the mover can fill no cell of the row, whatever the dice; empty if it can."""
    name, columns = ROW_NAMES[row], game.options.columns
    if not is_played(game, row):
        remedy = "it takes poker_row=True" if row == POKER else f"rows={game.options.rows!r}"
        return f"the row of {name} is not played at this table ({remedy})"
    if state.bound and state.bound != row + 1:
        return f"points are set aside for {ROW_NAMES[state.bound - 1]}, and this turn is bound to that row"
    if len(cells(state, state.mover, row)) == columns:
        return f"the row of {name} is full: its {columns} cells are all written"
    who = closer(game, state, row)
    return "" if who is None else f"the row of {name} is closed: player_{who} has filled it, so nobody writes there"


def _why_not_taken(game: Game, state: Any, row: int) -> str:
    """Return why the mover's next cell of the row does not take the dice on the table."""
    result = count_now(game, state, row) + int(state.aside)
    column = len(cells(state, state.mover, row))
    if result:
        least = int(game.tables.least[row, column])
        return f"column {column + 1} of a figure row takes {least} at the least, and this counts {result}"
    if row == SEQUENCE:
        return "a sequence is 9 X V D R or X V D R A"
    if row == FULL:
        return "a full is three of one face and two of another"
    if row == POKER:
        return "a poker is four equal figures, de mão: all five dice thrown together in the latest throw"
    return f"no die shows the {FIGURE_NAMES[row]} or the pilo, 9"


def opening(game: Game, state: Any) -> dict[str, NDArray[np.int64]]:
    """Return the report of a reset, which is empty, since the players agree who begins."""
    return {}


def throw_name(game: Game, state: Any) -> str:
    """Return the dice on the table in one line, such as `"R D D D V"`, and whether they are de mão."""
    return " ".join(symbols(state)) + (" (de mão)" if state.fresh else "")


def offered_rethrow(dice: Any, places: list[int]) -> int:
    """Return the rethrow on offer for the dice at `places`: of equal dice, the ones at the lowest places."""
    faces = [int(face) for face in dice]
    chosen: set[int] = set()
    for place in sorted(places):
        equal = [other for other in range(NUM_DICE) if faces[other] == faces[place] and other not in chosen]
        chosen.add(min(equal))
    return sum(1 << place for place in chosen) - 1


def how_to(game: Game, state: Any) -> list[str]:
    """Return the commands besides a number from the menu that make sense in `state`, a line each."""
    if state.throws >= NUM_THROWS:
        return ["w D     write in the row of queens (w and the row's letter)", "p       pass"]
    lines = [
        "r 0 3   throw the dice at places 0 and 3 again, counted from the left (`r all` throws all five)",
        "w D     write in the row of queens (w and the row's letter), and throw all five again",
    ]
    if game.options.sum_throws:
        lines.append("s D     set aside for queens (s and the figure's letter), and throw all five again")
    return lines


def parse_action(game: Game, state: Any, line: str) -> int | None:
    """Return the action for a typed line such as `"r 0 3"`, `"r all"`, `"w D"`, `"s D"` or `"p"`, legal or not.

    Return None if the line is not one of the game's commands.

    Raises:
        IllegalActionError: it is a rethrow without dice or with dice that do not exist, or names no row.
    """
    typed = line.strip().lower()
    if typed in ("p", "pass"):
        return PASS
    if found := re.fullmatch(r"r(?:eroll)?\s*(all|[0-9\s,]*)", typed):
        places = [int(place) for place in re.findall("[0-9]", found[1].replace("all", "01234"))]
        if not places or max(places) >= NUM_DICE:
            raise IllegalActionError(f"name the dice to throw again by place, 0 to {NUM_DICE - 1}: for example r 0 3")
        return offered_rethrow(state.dice, sorted(set(places)))
    if found := re.fullmatch(r"(w|write|s|set)(?:\s+(\w+))?", typed):
        writes = found[1].startswith("w")
        rows = ROWS if writes else ROWS[:NUM_FIGURES]
        letter = (found[2] or "").upper()
        if len(letter) != 1 or letter not in rows:
            raise IllegalActionError(f"name one row by its letter, one of {rows}: for example {found[1]} D")
        return (WRITE if writes else ASIDE) + rows.index(letter)
    return None


def menu(game: Game, state: Any) -> list[list[int]]:
    """Return the legal actions for a numbered list, each as a separate group: all but the rethrows."""
    single = np.array([state], game.state_dtype).view(np.recarray)
    return [[action] for action in np.flatnonzero(game.masks(single)[0]).tolist() if action >= NUM_REROLLS]


def observation_names(game: Game) -> list[str]:
    """Return the name of every entry of the observation, in order."""
    names = [f"die {place} shows {face}" for place in range(NUM_DICE) for face in FACES]
    names += [f"throws left: {left}" for left in range(NUM_THROWS)]
    names += ["de mão", "points set aside", "observer's turns / max_turns"]
    names += [f"bound to {ROW_NAMES[row]}" for row in range(NUM_FIGURES)]
    for what in (
        "the dice count",
        "may be written",
        "worth of writing",
        "observer's next cell asks",
        "played",
        "closed",
        "everybody has a cell",
    ):
        names += [f"{ROW_NAMES[row]}: {what}" for row in range(NUM_ROWS)]
    for offset in range(game.num_players):
        whose = "observer" if offset == 0 else f"player {offset} after the observer"
        for what in ("cells / columns", "sum × multiplier", "opened"):
            names += [f"{whose}, {ROW_NAMES[row]}: {what}" for row in range(NUM_ROWS)]
        names += [f"{whose}: total", f"{whose}: to move"]
    return names
