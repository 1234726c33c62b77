"""The slow oracle of `poker_figures`, implemented only from docs/poker_figures.md, independently of the kernels.

It uses plain loops over letters. Dice are a string of faces from "ARDVX9", rows are named by their letters, and a
player's row is the list of its cells. Nothing is stored that could disagree with the sheet.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

FACES = "ARDVX9"
FIGURES = "ARDVX"
MULTIPLIER = {"A": 6, "R": 5, "D": 4, "V": 3, "X": 2, "S": 1, "F": 1, "P": 1}
THROWS = 3

# The least value of a cell in a figure row: column 1: 7, columns 2 and 3: 6, columns 4 and 5: 8.
LEAST = [7, 6, 6, 8, 8]

Decision = tuple[str, str]
"""A decision of a player.

`("throw", faces)`: throw again dice that show these faces, in order. `("write", row)`, `("aside", row)` and
`("pass", "")`.
"""


class Options(NamedTuple):
    """Agreements before a game; `rows` and `columns` allow games smaller than the source's."""

    poker_row: bool = False
    sum_throws: bool = False
    full_value: int = 20
    score_open_rows: bool = False
    max_turns: int = 60
    rows: str = "ARDVXSF"
    columns: int = 5


class IllegalDecision(ValueError):
    """A decision that the rules do not allow."""


# --- Points of a throw -----------------------------------------------------------------------------------


def in_order(dice: str) -> str:
    """Return the dice from ace to nine."""
    return "".join(sorted(dice, key=FACES.index))


def count(dice: str, row: str, de_mao: bool, full_value: int = 20) -> int | None:
    """Return the points of five dice in a row.

    Return None if they are not a result of the row's kind; in a figure row, if they show neither the figure nor a
    pilo.
    """
    if len(dice) != 5 or any(face not in FACES for face in dice):
        raise ValueError(f"not five faces: {dice!r}")
    times = 2 if de_mao else 1
    if row in FIGURES:
        if dice == 5 * row:
            return 10 * times
        points = 0
        for face in dice:
            if face == row:
                points += 2
            elif face == "9":
                points += 1
        return points or None
    if row == "S":
        if set(dice) == set("9XVDR"):
            return 15 * times
        return 30 * times if set(dice) == set("XVDRA") else None
    if row == "F":
        return full_value * times if sorted(dice.count(face) for face in set(dice)) == [2, 3] else None
    if row == "P":
        if not de_mao or not any(dice.count(figure) >= 4 for figure in FIGURES):
            return None
        return 200 if in_order(dice) == "AAAAR" else 100
    raise ValueError(f"no such row: {row!r}")


def all_count(dice: str, row: str) -> bool:
    """Return whether each die shows the row's figure or the pilo, so that the dice can be set aside."""
    return all(face in (row, "9") for face in dice)


def rethrows(dice: str) -> set[str]:
    """Return every non-empty set of dice that can be thrown again, by the faces they show."""
    return {in_order("".join(chosen)) for size in range(1, 6) for chosen in combinations(dice, size)}


# --- A game ----------------------------------------------------------------------------------------------


class Game:
    """A game in progress. The caller gives the dice: call `fall` at the start and after every decision that throws.

    Attributes:
        sheets: For each seat, the cells of each row.
        seat: The seat whose turn it is.
        dice: The faces on the table, in order; fewer than five while dice are to be thrown.
        over, truncated: Whether the game has ended, and whether `max_turns` ended it.
    """

    def __init__(self, options: Options, num_players: int, first_player: int = 0) -> None:
        if not 2 <= num_players <= 6 or not 0 <= first_player < num_players:
            raise ValueError(f"no game of {num_players} players begun by seat {first_player}")
        self.options = options
        self.rows = options.rows + ("P" if options.poker_row else "")
        self.sheets: list[dict[str, list[int]]] = [{row: [] for row in self.rows} for _ in range(num_players)]
        self.turns = [0] * num_players
        self.seat = first_player
        self.doubled: set[str] = set()
        self.over = self.truncated = False
        self._begin_turn()

    def _begin_turn(self) -> None:
        self.throws = 0
        self._all_five()
        self._unbind()

    def _all_five(self) -> None:
        self.dice, self.de_mao = "", True

    def _unbind(self) -> None:
        self.aside, self.bound = 0, ""

    def seats(self) -> range:
        return range(len(self.sheets))

    def fall(self, faces: str) -> None:
        """Let the dice that are to be thrown show `faces`."""
        assert not self.over
        assert len(self.dice) + len(faces) == 5
        assert faces
        self.dice = in_order(self.dice + faces)
        self.throws += 1

    # Rows -------------------------------------------------------------------------------------------------

    def is_closed(self, row: str) -> bool:
        """Return whether a player has filled the row's last cell, which closes it."""
        return any(len(sheet[row]) == self.options.columns for sheet in self.sheets)

    def result(self, row: str) -> int | None:
        """Return what would be written in the row: the points of the dice plus the points set aside for it."""
        counted = count(self.dice, row, self.de_mao, self.options.full_value)
        if self.bound:
            return self.aside + (counted or 0) if row == self.bound else None
        return counted

    def may_write(self, row: str) -> bool:
        """Return whether the result can be written in the row's next cell."""
        result = self.result(row)
        if self.is_closed(row) or result is None:
            return False
        return row not in FIGURES or result >= LEAST[len(self.sheets[self.seat][row])]

    def may_set_aside(self, row: str) -> bool:
        """Return whether the dice can be set aside for the row, so that all five are thrown again."""
        if not self.options.sum_throws or row not in FIGURES or self.is_closed(row) or self.throws == THROWS:
            return False
        return all_count(self.dice, row) and self.bound in ("", row)

    def legal(self) -> set[Decision]:
        """Return all decisions that the player to move can take."""
        return set(self._legal())

    def _legal(self) -> Iterator[Decision]:
        if self.throws < THROWS:
            for faces in rethrows(self.dice):
                yield "throw", faces
        else:
            yield "pass", ""
        for row in self.rows:
            if self.may_write(row):
                yield "write", row
            if self.may_set_aside(row):
                yield "aside", row

    # Decisions --------------------------------------------------------------------------------------------

    def decide(self, decision: Decision) -> None:
        """Take a decision; if the game continues, `fall` must follow."""
        if self.over or decision not in self.legal():
            raise IllegalDecision(f"{decision} with {self.dice}")
        kind, what = decision
        if kind == "throw":
            for face in what:
                self.dice = self.dice.replace(face, "", 1)
            self.de_mao = not self.dice
        elif kind == "aside":
            self.aside += count(self.dice, what, self.de_mao) or 0
            self.bound = what
            self._all_five()
        elif kind == "write":
            self._write(what)
        else:
            self._end_turn()

    def _write(self, row: str) -> None:
        result = self.result(row)
        assert result is not None
        self.sheets[self.seat][row].append(result)
        if self.is_closed(row):
            if any(not sheet[row] for sheet in self.sheets):
                self.doubled.add(row)
            if sum(self.is_closed(other) for other in self.options.rows) == len(self.options.rows) - 1:
                self.over = True
                return
        if self.throws == THROWS:
            self._end_turn()
        else:
            self._all_five()
            self._unbind()

    def _end_turn(self) -> None:
        self.turns[self.seat] += 1
        self.seat = (self.seat + 1) % len(self.sheets)
        if all(turns == self.options.max_turns for turns in self.turns):
            self.over = self.truncated = True
        else:
            self._begin_turn()

    # Totals -----------------------------------------------------------------------------------------------

    def score(self, seat: int) -> int:
        """Return a player's points."""
        points = 0
        for row, cells in self.sheets[seat].items():
            if self.is_closed(row):
                points += sum(cells) * MULTIPLIER[row] * (2 if row in self.doubled else 1)
            elif self.options.score_open_rows:
                points += sum(cells) * MULTIPLIER[row]
        return points

    def shares(self) -> list[Fraction]:
        """Return each player's share of the win: most points win, and players with equal points share."""
        scores = [self.score(seat) for seat in self.seats()]
        if not self.over:
            return [Fraction(0)] * len(scores)
        return [Fraction(score == max(scores), scores.count(max(scores))) for score in scores]
