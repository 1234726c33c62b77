"""A state of No Dice as text for a terminal, and as a picture."""

from __future__ import annotations

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
from trialea.envs.no_dice.names import symbols
from trialea.envs.no_dice.rules import NUM_DICE

if TYPE_CHECKING:
    from trialea.envs.game import Game

__all__ = ["picture", "require_pictures", "text"]

_BAR = 20  # characters of a score bar in the text

_WIDTH, _DIE, _GAP = 640, 92, 24
_TOP, _ROW = 210, 38  # where the score panel begins, and the height of a row in it
_DICE_COLOURS: tuple[tuple[Colour, Colour], ...] = (  # body and ink
    ((240, 232, 212), INK),
    ((199, 66, 58), PALE),
    ((240, 184, 64), INK),
    ((62, 122, 190), PALE),
    ((118, 78, 156), PALE),
)


def _faces(state: Any) -> list[str]:
    """Return the faces of the five dice; `?` for dice that are still to be thrown."""
    return ["?" if state.pending >> die & 1 else str(face) for die, face in enumerate(symbols(state))]


def _status(game: Game, state: Any) -> tuple[str, str]:
    """Return the line with the player to move or the winner, and the number of the throw."""
    if state.over:
        return f"player_{state.mover} wins", ""
    made, limit = int(state.throws), game.options.throws
    if state.pending:
        return f"player_{state.mover} throws", f"{limit - made} of {limit} throws left"
    left = limit - made
    return f"player_{state.mover} to move", f"throw {made} of {limit}, {left} left"


def text(game: Game, state: Any) -> str:
    """Return the state as text: the dice with their numbers, who is to move, and every player's total."""
    status, turn = _status(game, state)
    lines = [
        " ".join("┌───┐" for _ in range(NUM_DICE)),
        " ".join(f"│ {face} │" for face in _faces(state)),
        " ".join(f"└─{die}─┘" for die in range(NUM_DICE)),
        f"{status}: {turn}" if turn else status,
    ]
    target = game.options.target
    digits = len(str(max(target, *(int(state.scores[seat]) for seat in range(game.num_players)))))
    for seat in range(game.num_players):
        total = int(state.scores[seat])
        marker = ("★" if state.over else "▶") if seat == state.mover else " "
        bar = "█" * min(_BAR, total * _BAR // target)
        end = "out" if state.finished[seat] and not state.share[seat] else ""
        lines.append(f"{marker} player_{seat} {total:>{digits}} / {target} {bar:·<{_BAR}} {end}".rstrip())
    return "\n".join(lines)


def picture(game: Game, state: Any) -> NDArray[np.uint8]:
    """Return the state as an RGB picture, (height, 640, 3) uint8; the height depends on the players alone."""
    canvas = Canvas(_WIDTH, _TOP + _ROW * game.num_players + 28)
    left = (_WIDTH - NUM_DICE * _DIE - (NUM_DICE - 1) * _GAP) / 2
    for die, face in enumerate(_faces(state)):
        x = left + die * (_DIE + _GAP)
        body, ink = _DICE_COLOURS[die]
        if face == "?":
            body, ink = blend(body, CLOTH, 0.6), PALE
        canvas.die(x, 28, _DIE, body, face, ink)
        canvas.text(x + _DIE / 2, 139, str(die), 15, DIM, "mm")
    status, turn = _status(game, state)
    canvas.text(left, 178, status, 22, GOLD if state.over else PALE)
    if turn:
        canvas.text(_WIDTH - left - 26 * game.options.throws - 8, 178, turn, 16, DIM, "rm")
        for throw in range(game.options.throws):  # a disc for each throw, lit while it is still to be made
            x = _WIDTH - left - 12 - 26 * (game.options.throws - 1 - throw)
            canvas.disc(x, 178, 9, TROUGH)
            canvas.disc(x, 178, 7, GOLD if throw >= state.throws else PANEL)
    canvas.box(16, _TOP, _WIDTH - 32, _ROW * game.num_players + 12, PANEL, 12)
    for seat in range(game.num_players):
        _draw_player(canvas, game, state, seat, left, _TOP + 6 + _ROW * (seat + 0.5))
    return canvas.pixels()


def _draw_player(canvas: Canvas, game: Game, state: Any, seat: int, left: float, y: float) -> None:
    """Draw a player's row, around the height `y`: name, track from 0 to the target, total."""
    target, total = game.options.target, int(state.scores[seat])
    out = bool(state.finished[seat]) and not state.share[seat]
    to_move = seat == state.mover
    if to_move:
        frame = GOLD if state.over else SEATS[seat]
        canvas.box(22, y - _ROW / 2 + 2, _WIDTH - 44, _ROW - 4, blend(PANEL, frame, 0.16), 8, outline=frame)
    ink = DIM if out else PALE
    canvas.disc(left, y, 7, blend(SEATS[seat], PANEL, 0.5 if out else 0))
    canvas.text(left + 20, y, f"player_{seat}", 18, ink)
    colour = blend(SEATS[seat], PANEL, 0.55 if out else 0)
    canvas.track(180, y - 8, 280, 16, total / target, colour, _marks(target))
    canvas.text(_WIDTH - 90, y, f"{total} / {target}", 18, ink, "rm")
    if out:
        canvas.line(left + 14, y, 470, y, DIM, 2)
        canvas.text(_WIDTH - left + 4, y, "out", 16, SEATS[0], "rm")
    elif state.share[seat] > 0:
        canvas.text(_WIDTH - left + 4, y, "wins", 16, GOLD, "rm")


def _marks(target: int) -> int:
    """Return the number of parts of a track, so that each stands for a round number of points."""
    for step in (1, 2, 5, 10, 20, 25, 50, 100, 200):
        if target % step == 0 and target // step <= 10:
            return target // step
    return 1
