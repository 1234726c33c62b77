"""A state of Poker Figures as text for a terminal, and as a picture."""

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
from trialea.envs.poker_figures.names import ROW_NAMES, cells, closer, counts_double, is_played, symbols
from trialea.envs.poker_figures.rules import MULTIPLIERS, NUM_DICE, NUM_ROWS, NUM_THROWS, ROWS

if TYPE_CHECKING:
    from trialea.envs.game import Game

__all__ = ["picture", "require_pictures", "text"]

_SIDE_BY_SIDE, _SHEET = 2, 27  # in the text: how many sheets in a row, and the width of one

_WIDTH, _DIE, _GAP = 640, 92, 24
_TOP, _HEAD, _ROW = 210, 44, 32  # where the sheets begin, the height of their head and of a row
_LABEL, _NARROW = 112, 172  # the widths of the rows' names and, at the least, of a player's sheet
_BODY: Colour = (240, 232, 212)
_INKS: tuple[Colour, ...] = (  # of the faces, as they go: ace, king, queen, jack, ten, nine
    INK,
    (186, 48, 44),
    (118, 62, 150),
    (40, 96, 168),
    (150, 92, 24),
    (36, 124, 72),
)


def _faces(state: Any) -> list[str]:
    """Return the faces of the five dice; `?` for dice that are still to be thrown."""
    return ["?" if state.pending >> place & 1 else face for place, face in enumerate(symbols(state))]


def _status(game: Game, state: Any) -> tuple[str, str]:
    """Return the line that says who is to move or has won, and the number of the throw."""
    if state.over:
        turns = game.options.max_turns
        return _winners(game, state), f"cut short after {turns} turn{'s' * (turns > 1)}" if state.truncated else ""
    made = int(state.throws)
    if state.pending:
        return f"player_{state.mover} throws", f"{NUM_THROWS - made} of {NUM_THROWS} throws left"
    turn = f"throw {made} of {NUM_THROWS}, {NUM_THROWS - made} left"
    return f"player_{state.mover} to move", turn + (", de mão" if state.fresh else "")


def _winners(game: Game, state: Any) -> str:
    """Return `"player_1 wins"`, `"players 0 and 2 share the win"` or `"all share the win"`."""
    winners = [str(seat) for seat in range(game.num_players) if state.share[seat]]
    if len(winners) == 1:
        return f"player_{winners[0]} wins"
    if len(winners) == game.num_players:
        return "all share the win"
    return f"players {', '.join(winners[:-1])} and {winners[-1]} share the win"


def _aside(state: Any) -> str:
    """Return the points that are set aside in this turn, in words; empty without any."""
    return f"set aside for {ROW_NAMES[state.bound - 1]}: {state.aside}" if state.bound else ""


def _rows(game: Game) -> list[int]:
    """Return the rows of this game."""
    return [row for row in range(NUM_ROWS) if is_played(game, row)]


def _mark(game: Game, state: Any, row: int) -> str:
    """Return whether the row is closed, and whether it counts double."""
    if closer(game, state, row) is None:
        return ""
    return "closed, double" if counts_double(game, state, row) else "closed"


def _is_marked(state: Any, seat: int) -> bool:
    """Return whether a player's sheet is highlighted: the mover's, and at the end the winners'."""
    return bool(state.share[seat]) if state.over else seat == state.mover


def text(game: Game, state: Any) -> str:
    """Return the state as text: the dice with their places, who is to move, and everybody's sheet with its total."""
    status, turn = _status(game, state)
    lines = [
        " ".join("┌───┐" for _ in range(NUM_DICE)),
        " ".join(f"│ {face} │" for face in _faces(state)),
        " ".join(f"└─{place}─┘" for place in range(NUM_DICE)),
        f"{status}: {turn}" if turn else status,
    ]
    if state.bound:
        lines.append(_aside(state))
    for first in range(0, game.num_players, _SIDE_BY_SIDE):
        seats = range(first, min(first + _SIDE_BY_SIDE, game.num_players))
        lines.append("      " + "".join(f"{_title(state, seat):<{_SHEET}}" for seat in seats))
        for row in _rows(game):
            sheets = "".join(f"{_cells(game, state, seat, row):<{_SHEET}}" for seat in seats)
            lines.append(f"{ROWS[row]} ×{MULTIPLIERS[row]}  {sheets}{_mark(game, state, row)}")
    return "\n".join(line.rstrip() for line in lines)


def _title(state: Any, seat: int) -> str:
    marker = ("★" if state.over else "▶") if _is_marked(state, seat) else " "
    return f"{marker} player_{seat}: {state.scores[seat]}"


def _cells(game: Game, state: Any, seat: int, row: int) -> str:
    """Return a player's row, such as `"7 8 · · · = 15"`."""
    filled = cells(state, seat, row)
    shown = " ".join([*map(str, filled), *"·" * (game.options.columns - len(filled))])
    return f"{shown} = {sum(filled)}" if filled else shown


def picture(game: Game, state: Any) -> NDArray[np.uint8]:
    """Return the state as an RGB picture, (height, width, 3) uint8; the size depends on the players and the rows."""
    rows = _rows(game)
    width = max(_WIDTH, 44 + _LABEL + _NARROW * game.num_players)
    sheets = _HEAD + _ROW * len(rows) + 12
    canvas = Canvas(width, _TOP + sheets + 16)
    left = (width - NUM_DICE * _DIE - (NUM_DICE - 1) * _GAP) / 2
    for place, face in enumerate(_faces(state)):
        x = left + place * (_DIE + _GAP)
        thrown = face == "?"
        ink = PALE if thrown else _INKS[state.dice[place]]
        canvas.die(x, 28, _DIE, blend(_BODY, CLOTH, 0.6) if thrown else _BODY, face, ink)
        canvas.text(x + _DIE / 2, 139, str(place), 15, DIM, "mm")
    _draw_status(canvas, game, state, left, width)
    canvas.box(16, _TOP, width - 32, sheets, PANEL, 12)
    for k, row in enumerate(rows):
        _draw_label(canvas, game, state, row, width, _TOP + _HEAD + _ROW * k)
    share = (width - 44 - _LABEL) / game.num_players
    for seat in range(game.num_players):
        _draw_sheet(canvas, game, state, seat, 28 + _LABEL + share * seat, share)
    return canvas.pixels()


def _draw_status(canvas: Canvas, game: Game, state: Any, left: float, width: float) -> None:
    """Draw the line under the dice: who is to move, what is set aside, and the throws that are left."""
    status, turn = _status(game, state)
    canvas.text(left, 178, status, 22, GOLD if state.over else PALE)
    if state.over:
        canvas.text(width - left, 178, turn, 16, DIM, "rm")
        return
    shown = _aside(state) or turn.replace("de mão", "from the hand")  # the font has no ã
    canvas.text(width - left - 26 * NUM_THROWS - 8, 178, shown, 16, GOLD if state.bound else DIM, "rm")
    for throw in range(NUM_THROWS):  # a disc for each throw, lit while it is still to be made
        x = width - left - 12 - 26 * (NUM_THROWS - 1 - throw)
        canvas.disc(x, 178, 9, TROUGH)
        canvas.disc(x, 178, 7, GOLD if throw >= state.throws else PANEL)


def _draw_label(canvas: Canvas, game: Game, state: Any, row: int, width: float, y: float) -> None:
    """Draw a row's letter and multiplier, and a band across all sheets if it is closed."""
    mark = _mark(game, state, row)
    if mark:
        canvas.box(22, y + 1, width - 44, _ROW - 2, blend(PANEL, GOLD if "double" in mark else PALE, 0.14), 6)
    middle = y + _ROW / 2
    canvas.text(34, middle, ROWS[row], 20, PALE, bold=0.4)
    canvas.text(56, middle, f"x{MULTIPLIERS[row]}", 15, DIM)  # the font has no ×
    canvas.text(84, middle, mark.replace("closed, ", ""), 13, GOLD if "double" in mark else PALE)


def _draw_sheet(canvas: Canvas, game: Game, state: Any, seat: int, x: float, width: float) -> None:
    """Draw a player's name, total, cells and sums, from `x` to the right."""
    lit, columns = _is_marked(state, seat), game.options.columns
    frame = GOLD if state.over else SEATS[seat]
    height = _HEAD + _ROW * len(_rows(game)) + 4
    if lit:
        canvas.box(x, _TOP + 4, width - 6, height, None, 8, outline=frame)
    canvas.disc(x + 16, _TOP + _HEAD / 2, 6, SEATS[seat])
    canvas.text(x + 28, _TOP + _HEAD / 2, f"player_{seat}", 16, PALE)
    canvas.text(x + width - 16, _TOP + _HEAD / 2, str(state.scores[seat]), 20, GOLD if lit else PALE, "rm", bold=0.3)
    cell = min(34.0, (width - 60) / columns)
    for k, row in enumerate(_rows(game)):
        y = _TOP + _HEAD + _ROW * k
        filled = cells(state, seat, row)
        for column in range(columns):
            place = x + 8 + cell * column
            canvas.box(place, y + 4, cell - 3, _ROW - 8, TROUGH, 4)
            if column < len(filled):
                canvas.text(place + (cell - 3) / 2, y + _ROW / 2, str(filled[column]), 13, PALE, "mm")
        if filled:
            canvas.text(x + width - 16, y + _ROW / 2, str(sum(filled)), 15, blend(SEATS[seat], PALE, 0.4), "rm")
