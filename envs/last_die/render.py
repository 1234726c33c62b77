"""A state of Last Die as text for a terminal, and as a picture."""

from __future__ import annotations

from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.draw import (
    CLOTH,
    DIM,
    GOLD,
    INK,
    PALE,
    PANEL,
    SEATS,
    TROUGH,
    Canvas,
    Colour,
    blend,
    require_pictures,
)
from trialea.envs.last_die.names import dice, latest_throw, opener, table_order
from trialea.envs.last_die.rules import NUM_DICE

if TYPE_CHECKING:
    from trialea.envs.game import Game

__all__ = ["picture", "require_pictures", "text"]

_WIDTH, _HEIGHT = 720, 560
_CENTRE = (360, 254)  # of the table
_REACH = (270, 196)  # from there to the players
_PLAYER = (152, 78)  # the size of a player's panel
_DIE, _GAP, _SMALL_DIE = 42, 10, 17
_BONE: Colour = (240, 232, 212)


def _fates(game: Game, state: Any) -> list[tuple[str, str]]:
    """Return the dice to be thrown, as `?`, or the latest throw, with the word for where each die goes."""
    if state.pending:
        return [("?", "")] * int(state.pending).bit_count()
    three, five = ("on", "on") if game.options.steer else ("left", "right")
    words = {1: "out", 3: three, 5: five}
    return [(str(number), words.get(number, "stays")) for number in latest_throw(state)]


def _thrower(game: Game, state: Any) -> str:
    """Return the player who throws, or threw last; empty before the first throw."""
    if state.pending:
        return f"player_{state.mover} throws"
    if not state.thrown:
        return ""
    return f"player_{(int(state.mover) + int(state.thrower)) % game.num_players} threw"


def _status(game: Game, state: Any) -> str:
    """Return the line that says who acts next, or who has won."""
    if state.over:
        winners = [f"player_{player}" for player in range(game.num_players) if state.share[player] > 0]
        if len(winners) == 1:
            return f"{winners[0]} wins"
        return f"{' and '.join(winners) if len(winners) < 4 else f'{len(winners)} players'} share the win"
    number = int(state.sent) or int(state.held[state.mover])
    last = int(state.held.sum()) + int(state.sent) == 1
    what = "the last die" if last else dice(number)
    return f"player_{state.mover} to move: {what} {'to send on' if state.sent else 'in hand'}"


def _round(game: Game, state: Any) -> str:
    """Return the line with the number of the round and its opener."""
    rounds = game.options.rounds_each * game.num_players
    whose = f"player_{opener(game, state)}"
    how = f"{whose} opens" if state.opening else f"opened by {whose}"
    return f"round {min(int(state.rounds) + 1, rounds)} of {rounds}, {how}"


def text(game: Game, state: Any) -> str:
    """Return the state as text: the round, the latest throw, the mover, and the players clockwise from the first."""
    lines = [_round(game, state)]
    fates = _fates(game, state)
    if fates:
        lines += [
            _thrower(game, state),
            " ".join("┌───┐" for _ in fates),
            " ".join(f"│ {face} │" for face, _ in fates),
            " ".join("└───┘" for _ in fates),
        ]
        lines += [] if state.pending else [" ".join(f"{word:^5}" for _, word in fates).rstrip()]
    lines += [] if state.pending else [_status(game, state)]
    digits = len(str(int(state.scores.max())))
    for player in table_order(game, state):
        marker = "★" if state.share[player] > 0 else "▶" if player == state.mover and not state.over else " "
        hand = "■" * int(state.held[player])
        lines.append(f"{marker} player_{player} {hand:·<{NUM_DICE}} {int(state.scores[player]):>{digits}}")
    return "\n".join(lines)


def picture(game: Game, state: Any) -> NDArray[np.uint8]:
    """Return the state as an RGB picture, (560, 720, 3) uint8: the players round the table, the latest throw on it."""
    canvas = Canvas(_WIDTH, _HEIGHT)
    x, y = _CENTRE
    canvas.oval(x, y, _REACH[0] - 20, _REACH[1] - 16, blend(CLOTH, PANEL, 0.7))
    _draw_throw(canvas, game, state)
    for place, player in enumerate(table_order(game, state)):
        angle = pi / 2 + 2 * pi * place / game.num_players  # from the foot of the table, clockwise
        _draw_player(canvas, game, state, player, x + _REACH[0] * cos(angle), y + _REACH[1] * sin(angle))
    canvas.box(0, _HEIGHT - 46, _WIDTH, 46, TROUGH)
    canvas.text(24, _HEIGHT - 23, _status(game, state), 19, GOLD if state.over else PALE)
    canvas.text(_WIDTH - 24, _HEIGHT - 23, _round(game, state), 16, DIM, "rm")
    return canvas.pixels()


def _draw_throw(canvas: Canvas, game: Game, state: Any) -> None:
    """Draw the dice in the middle of the table, with the thrower and where each die goes."""
    fates = _fates(game, state)
    middle, y = _CENTRE
    left = middle - (len(fates) * (_DIE + _GAP) - _GAP) / 2
    canvas.text(middle, y - 44, _thrower(game, state), 17, PALE, "mm")
    for number, (face, word) in enumerate(fates):
        x = left + number * (_DIE + _GAP)
        if face == "?":
            canvas.die(x, y - _DIE / 2, _DIE, blend(_BONE, CLOTH, 0.6), face, PALE)
        else:
            canvas.pip_die(x, y - _DIE / 2, _DIE, _BONE, int(face), INK)
        canvas.text(x + _DIE / 2, y + 37, word, 14, GOLD if word == "stays" else DIM, "mm")


def _draw_player(canvas: Canvas, game: Game, state: Any, player: int, x: float, y: float) -> None:
    """Draw a player's panel around (x, y): name, score, and a small die for each die in hand."""
    width, height = _PLAYER
    left, top = x - width / 2, y - height / 2
    wins, colour = state.share[player] > 0, SEATS[player]
    to_move = player == state.mover and not state.over
    frame = GOLD if wins else colour if to_move else None
    canvas.box(left, top, width, height, blend(PANEL, frame, 0.16) if frame else PANEL, 10, outline=frame)
    canvas.disc(left + 16, top + 20, 7, colour)
    canvas.text(left + 30, top + 20, f"player_{player}", 16, PALE)
    canvas.text(left + width - 12, top + 20, str(int(state.scores[player])), 20, GOLD if wins else PALE, "rm")
    for number in range(int(state.held[player])):
        canvas.pip_die(left + 10 + number * (_SMALL_DIE + 3), top + 38, _SMALL_DIE, _BONE, 0, INK)
    if wins:
        canvas.text(
            left + width - 12, top + 64, "wins" if state.share[player] == 1 else "shares the win", 13, GOLD, "rm"
        )
    elif player == opener(game, state):
        canvas.text(left + 10, top + 66, "opens" if state.opening else "opened", 12, DIM)
