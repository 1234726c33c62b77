"""Games of Poker Figures with dice that fall as told, for several test modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers import game_of
from trialea.envs.game import Game, States
from trialea.envs.jit import entry
from trialea.envs.poker_figures.game import tally_all
from trialea.envs.poker_figures.rules import ASIDE, FACES, NUM_DICE, NUM_REROLLS, PASS, ROWS, WRITE

JUNK = "ARVX9"  # no row takes it, unless something is set aside


@entry
def look_again(states: Any, tables: Any) -> None:
    """Bring up to date what follows from the sheets of `states`."""
    for i in range(len(states)):
        tally_all(states[i], tables)


def let_fall(game: Game, states: States, faces: str) -> None:
    """Let the dice marked in the only state show `faces`, the first of them at the lowest place."""
    marked = [place for place in range(NUM_DICE) if states.pending[0] >> place & 1]
    assert len(marked) == len(faces), f"{len(marked)} dice are to fall, not {faces}"
    falling = np.zeros((1, 8), np.int64)
    falling[0, marked] = [FACES.index(face) for face in faces]
    game.loops.throw(states, falling, game.tables)


def shown(state: Any) -> str:
    """The dice on the table."""
    return "".join(FACES[face] for face in state.dice)


def falling(state: Any) -> str:
    """What the dice show that are about to be thrown."""
    return "".join(FACES[state.dice[place]] for place in range(NUM_DICE) if state.pending >> place & 1)


class Script:
    """A game in which every throw is told.

    Attributes:
        game: the game.
        states: its state, an array of one record.
    """

    def __init__(self, players: int = 2, **options: Any) -> None:
        self.game = game_of("poker_figures", players, **options)
        self.states = self.game.start([0])
        self.states.pending, self.states.throws = 31, 0  # before the first throw again

    @property
    def state(self) -> Any:
        return self.states[0]

    def play(self, action: int) -> None:
        """Take an action, the dice that follow still being in the cup."""
        self.states = self.game.choose(self.states, [action])

    def throw(self, faces: str) -> None:
        let_fall(self.game, self.states, faces)

    def again(self, faces: str, new: str) -> None:
        """Throw again the dice that show `faces`, of equal ones those at the lowest places; they then show `new`."""
        places: list[int] = []
        for face in faces:
            places.append(min(p for p in range(NUM_DICE) if FACES[self.state.dice[p]] == face and p not in places))
        self.play(sum(1 << place for place in places) - 1)
        self.throw(new)

    def write(self, row: str) -> None:
        self.play(WRITE + ROWS.index(row))

    def set_aside(self, row: str) -> None:
        self.play(ASIDE + ROWS.index(row))

    def score_in(self, row: str, *throws: str) -> None:
        """The player to move writes these throws in the row, everybody else passing; then its turn ends."""
        me = self.state.mover
        for faces in throws:
            while self.state.mover != me:
                self.give_up()
            self.throw(faces)
            self.write(row)
        if self.state.mover == me and not self.state.over:
            self.give_up()

    def give_up(self) -> None:
        """The player to move throws junk for the rest of its turn, and passes."""
        if self.state.pending:
            self.throw(JUNK)
        while self.state.throws < 3:
            self.play(NUM_REROLLS - 1)
            self.throw(JUNK)
        self.play(PASS)

    def cells(self, seat: int, row: str) -> list[int]:
        return [int(cell) for cell in self.state.sheet[seat][ROWS.index(row)] if cell]

    def scores(self) -> list[int]:
        return [int(score) for score in self.state.scores[: self.game.num_players]]

    def is_legal(self, action: int) -> bool:
        return bool(self.game.masks(self.states)[0, action])

    def refusal(self, action: int) -> str:
        assert not self.is_legal(action)
        return self.game.why_illegal(self.state, action)
