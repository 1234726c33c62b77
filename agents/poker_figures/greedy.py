"""The agent `greedy` of Poker Figures, which takes the most points that are on the table now."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.game import Game, States
from trialea.envs.jit import entry, kernel
from trialea.envs.poker_figures.game import hand_of
from trialea.envs.poker_figures.rules import (
    NINE,
    NO_CELL,
    NUM_DICE,
    NUM_FIGURES,
    NUM_REROLLS,
    NUM_ROWS,
    NUM_THROWS,
    PASS,
    WRITE,
)


@kernel
def _read_asked(state: Any, tables: Any, asked: Any) -> None:
    """Read what the mover's next cell in each row (8,) asks; NO_CELL or more if the mover may not write in the row."""
    for row in range(NUM_ROWS):
        asked[row] = np.int64(state.asks[state.mover, row]) + tables.barriers[state.bound, row]


@kernel
def _best_row(state: Any, asked: Any, tables: Any) -> Any:
    """Return the row in which the throw can be written for the most points; -1 if it can't be written."""
    points = tables.points[state.fresh, hand_of(state, tables)]
    best, most = -1, np.int64(0)
    for row in range(NUM_ROWS):
        result = np.int64(points[row]) + np.int64(state.aside)
        worth = tables.multipliers[row] * result
        if result >= asked[row] and worth > most:
            best, most = row, worth
    return best


@kernel
def _best_rethrow(state: Any, asked: Any, tables: Any) -> Any:
    """Return the rethrow that keeps the dice of the open figure row in which they now have the most points."""
    figure, most = -1, np.int64(0)
    for row in range(NUM_FIGURES):
        count = np.int64(0)
        for die in range(NUM_DICE):
            count += 2 * (state.dice[die] == row) + (state.dice[die] == NINE)
        worth = tables.multipliers[row] * count
        if asked[row] < NO_CELL and worth > most:
            figure, most = row, worth
    again = 0
    for die in range(NUM_DICE):
        kept = figure >= 0 and (state.dice[die] == figure or state.dice[die] == NINE)
        again |= (not kept) << die
    return again - 1 if again else NUM_REROLLS - 1


@entry
def choose(states: Any, tables: Any, out: Any) -> None:
    """Fill the greedy action (B,) in each of the states."""
    asked = np.empty(NUM_ROWS, np.int64)
    for i in range(len(states)):
        state = states[i]
        _read_asked(state, tables, asked)
        row = _best_row(state, asked, tables)
        if row >= 0:
            out[i] = WRITE + row
        elif state.throws == NUM_THROWS:
            out[i] = PASS
        else:
            out[i] = _best_rethrow(state, asked, tables)


class GreedyAgent:
    """An agent that takes the most multiplied points now, without looking ahead.

    If it can write, it writes where the throw counts most. Otherwise it keeps the dice of the figure in whose row they
    now count most, and throws the others again; if no die or every die would be kept, it throws all five. It passes if
    nothing else is legal, takes the first of equal rows, never sets points aside, and ignores the other players.
    """

    name = "greedy"
    deterministic = True

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game = game

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        actions = np.empty(len(states), np.int64)
        choose(states, self.game.tables, actions)
        return actions
