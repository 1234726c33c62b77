"""The words of Last Die: names of actions and observations, and the commands of a person at the terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.dice import throw_dice
from trialea.envs.errors import IllegalActionError
from trialea.envs.last_die.game import SEATING_THROW
from trialea.envs.last_die.rules import NUM_DICE

if TYPE_CHECKING:
    from trialea.envs.game import Game


def action_name(game: Game, state: Any, action: int) -> str:
    """Return the action in words: `"throw all the dice in hand"`, or with `steer` such as `"send 2 left, 1 right"`."""
    if not game.options.steer:
        return "throw all the dice in hand"
    right = int(state.sent) - action
    return f"send {action} left, {right} right" if right >= 0 else f"send {action} left"


def why_illegal(game: Game, state: Any, action: int) -> str:
    """Return why the rules refuse `action`, which is in range, in `state` (only with `steer`)."""
    return f"only {dice(int(state.sent))} showing 3 or 5 can be sent on"


def dice(count: int) -> str:
    """Return a number of dice in words: `"1 die"`, `"2 dice"`."""
    return f"{count} die" if count == 1 else f"{count} dice"


def throw_name(game: Game, state: Any) -> str:
    """Return the dice on the table in one line: the mover's own throw, such as `"1 3 6"`, if it is to be steered.

    Otherwise the mover is to throw: `"2 dice in hand"`, and the throw before, `"2 dice in hand, after 1 3 6"`.
    """
    shown = " ".join(map(str, latest_throw(state)))
    if state.sent:
        return shown
    return f"{dice(int(state.held[state.mover]))} in hand" + (f", after {shown}" if shown else "")


def latest_throw(state: Any) -> list[int]:
    """Return the numbers on the dice of the latest throw."""
    return [int(face) + 1 for face in state.faces[: state.thrown]]


def table_order(game: Game, state: Any) -> list[int]:
    """Return the players clockwise round the table, from the first opener."""
    return sorted(range(game.num_players), key=lambda player: int(state.place[player]))


def opener(game: Game, state: Any) -> int:
    """Return the player who opened the current round, or the last one of a game that is over."""
    return table_order(game, state)[(int(state.rounds) - int(state.over)) % game.num_players]


def seating_throws(game: Game, state: Any) -> list[list[int]]:
    """Return the totals that each player threw for the seats, computed again from the game's seed.

    Players with equal totals throw again, so the lists differ in length.
    """
    totals: list[list[int]] = [[] for _ in range(game.num_players)]
    throwing = list(range(game.num_players))
    while throwing:
        for player in throwing:
            totals[player].append(_seating_total(state, player, len(totals[player])))
        throwing = [player for player in throwing if totals.count(totals[player]) > 1]
    return totals


def opening(game: Game, state: Any) -> dict[str, NDArray[np.int64]]:
    """Return the report of a reset: the throws for the seats. Empty with `seating="fixed"`.

    Three arrays (P,) int64: `seating_order`, the players clockwise from the first opener; `seating_total`, the total of
    each player's first throw; `seating_throws`, how often each player threw, more than once after equal totals.
    """
    if game.options.seating == "fixed":
        return {}
    totals = seating_throws(game, state)
    return {
        "seating_order": np.array(table_order(game, state)),
        "seating_total": np.array([thrown[0] for thrown in totals]),
        "seating_throws": np.array([len(thrown) for thrown in totals]),
    }


def _seating_total(state: Any, player: int, number: int) -> int:
    faces = np.empty(NUM_DICE, np.int64)
    throw_dice(np.uint64(state.seed), player, 0, SEATING_THROW + number, faces)
    return int(faces.sum()) + NUM_DICE


def how_to(game: Game, state: Any) -> list[str]:
    """Return the commands besides a number from the menu that make sense in `state`, a line each."""
    if not game.options.steer:
        return [f"t   throw {dice(int(state.held[state.mover]))}"]
    sent = dice(int(state.sent))
    return [
        f"l 1   send one of {sent} to the left and the others to the right (l and how many; l 0 sends all right)",
        "r 1   the same from the other side",
    ]


def parse_action(game: Game, state: Any, line: str) -> int | None:
    """Return the action for a typed line, legal or not; None if the line is not one of the game's commands.

    `"t"` or an empty line throws; with `steer`, `"l 2"` sends two dice left and `"r 2"` two dice right.

    Raises:
        IllegalActionError: it sends dice, but does not say how many, or more than there are.
    """
    command = line.strip().lower()
    if not game.options.steer:
        return 0 if command in ("", "t", "throw") else None
    found = re.fullmatch(r"(l|left|r|right)\s*([0-9]{0,3})", command)
    if not found:
        return None
    sent = int(state.sent)
    if not found[2] or int(found[2]) > sent:
        raise IllegalActionError(f"say how many dice to send there, from 0 to {sent}: for example {found[1]} {sent}")
    return int(found[2]) if found[1].startswith("l") else sent - int(found[2])


def menu(game: Game, state: Any) -> list[list[int]]:
    """Return the legal actions for a numbered list, each as a separate group."""
    return [[action] for action in range(int(state.sent) + 1)]


def observation_names(game: Game) -> list[str]:
    """Return the name of every entry of the observation, in order."""
    names: list[str] = []
    for offset in range(game.num_players):
        whose = "observer" if offset == 0 else f"player {offset} to the observer's left"
        names += [f"{whose}: dice in hand / 6", f"{whose}: score", f"{whose}: to move", f"{whose}: opens this round"]
    names += ["the opener has yet to empty the hand", "share of the rounds played"]
    if game.options.steer:
        names += [f"dice to send on: {number}" for number in range(1, NUM_DICE + 1)]
    return names
