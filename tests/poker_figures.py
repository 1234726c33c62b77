"""Helpers for tests of Poker Figures: play given dice with the kernels or with the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers import game_of
from tests.oracle import poker_figures as oracle
from trialea.envs.game import Game, States
from trialea.envs.jit import entry
from trialea.envs.poker_figures.game import tally_all
from trialea.envs.poker_figures.rules import ASIDE, FACES, NUM_DICE, PASS, ROWS, WRITE

JUNK = "ARVX9"  # fits no row, unless some dice have been set aside


@entry
def look_again(states: Any, tables: Any) -> None:
    """Recompute the values of `states` that are derived from the sheets."""
    for i in range(len(states)):
        tally_all(states[i], tables)


def let_fall(game: Game, states: States, faces: str) -> None:
    """Let the pending dice of the only state show `faces`, starting at the lowest position."""
    marked = [place for place in range(NUM_DICE) if states.pending[0] >> place & 1]
    assert len(marked) == len(faces), f"{len(marked)} dice are to fall, not {faces}"
    falling = np.zeros((1, 8), np.int64)
    falling[0, marked] = [FACES.index(face) for face in faces]
    game.loops.throw(states, falling, game.tables)


def shown(state: Any) -> str:
    """Return the faces of the dice on the table."""
    return "".join(FACES[face] for face in state.dice)


def falling(state: Any) -> str:
    """Return the faces that the pending dice show before they are thrown."""
    return "".join(FACES[state.dice[place]] for place in range(NUM_DICE) if state.pending >> place & 1)


class Table:
    """Methods that `Script` and `OracleTable` share, built on `throw`, `again`, `write` and `give_nothing`."""

    def score_in(self: Any, row: str, *throws: str) -> None:
        """Let the current player write these throws in `row` over its next turns, while all others pass."""
        me = self.seat
        for faces in throws:
            while self.seat != me:
                self.give_up()
            self.throw(faces)
            self.write(row)
        if self.seat == me and not self.over:
            self.give_up()

    def give_up(self: Any) -> None:
        """Let the current player throw dice that fit no row until its turn ends, then pass."""
        if not self.shown:
            self.throw(JUNK)
        while self.throws < 3:
            self.again(self.shown, JUNK)
        self.give_nothing()

    def scores(self: Any) -> list[int]:
        return [int(self.score(seat)) for seat in range(len(self.turns))]


class Script(Table):
    """A game played with the kernels.

    Attributes:
        game: The game.
        states: Its state, an array with one record.
    """

    def __init__(self, players: int = 2, **options: Any) -> None:
        self.game = game_of("poker_figures", players, **options)
        self.states = self.game.start([0])
        self.states.pending, self.states.throws = 31, 0  # go back to the moment before the first throw

    @property
    def state(self) -> Any:
        return self.states[0]

    @property
    def seat(self) -> int:
        return int(self.state.mover)

    @property
    def throws(self) -> int:
        return int(self.state.throws)

    @property
    def turns(self) -> list[int]:
        return self.state.turns[: self.game.num_players].tolist()

    @property
    def over(self) -> bool:
        return bool(self.state.over)

    @property
    def truncated(self) -> bool:
        return bool(self.state.truncated)

    @property
    def aside(self) -> int:
        return int(self.state.aside)

    @property
    def bound(self) -> str:
        return ROWS[self.state.bound - 1] if self.state.bound else ""

    @property
    def shown(self) -> str:
        """Return the dice on the table, or "" while all five are pending."""
        return "" if self.state.pending == 31 else shown(self.state)

    def play(self, action: int) -> None:
        """Take an action. The pending dice are not thrown yet."""
        self.states = self.game.choose(self.states, [action])

    def throw(self, faces: str) -> None:
        let_fall(self.game, self.states, faces)

    def again(self, faces: str, new: str) -> None:
        """Throw the dice that show `faces` again (equal dice: lowest positions first); they then show `new`."""
        places: list[int] = []
        for face in faces:
            places.append(min(p for p in range(NUM_DICE) if FACES[self.state.dice[p]] == face and p not in places))
        self.play(sum(1 << place for place in places) - 1)
        self.throw(new)

    def write(self, row: str) -> None:
        self.play(WRITE + ROWS.index(row))

    def set_aside(self, row: str) -> None:
        self.play(ASIDE + ROWS.index(row))

    def give_nothing(self) -> None:
        self.play(PASS)

    def may_write(self, row: str) -> bool:
        return self.is_legal(WRITE + ROWS.index(row))

    def may_set_aside(self, row: str) -> bool:
        return self.is_legal(ASIDE + ROWS.index(row))

    def cells(self, seat: int, row: str) -> list[int]:
        return [int(cell) for cell in self.state.sheet[seat][ROWS.index(row)] if cell]

    def score(self, seat: int) -> int:
        return int(self.state.scores[seat])

    def shares(self) -> list[float]:
        return self.state.share[: self.game.num_players].tolist()

    def is_legal(self, action: int) -> bool:
        return bool(self.game.masks(self.states)[0, action])

    def refusal(self, action: int) -> str:
        assert not self.is_legal(action)
        return self.game.why_illegal(self.state, action)


class OracleTable(Table, oracle.Game):
    """A game played with the oracle."""

    def __init__(self, players: int = 2, **options: Any) -> None:
        super().__init__(oracle.Options(**options), players)

    @property
    def shown(self) -> str:
        return self.dice

    def throw(self, faces: str) -> None:
        self.fall(faces)

    def again(self, faces: str, new: str) -> None:
        self.decide(("throw", oracle.in_order(faces)))
        self.fall(new)

    def write(self, row: str) -> None:
        self.decide(("write", row))

    def set_aside(self, row: str) -> None:
        self.decide(("aside", row))

    def give_nothing(self) -> None:
        self.decide(("pass", ""))

    def cells(self, seat: int, row: str) -> list[int]:
        return self.sheets[seat][row]
