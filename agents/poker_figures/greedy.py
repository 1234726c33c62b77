"""The agent that goes by the most points that lie on the table now."""

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
    """What the mover's next cell in each row (8,) asks; NO_CELL or more where it may write none."""
    for row in range(NUM_ROWS):
        asked[row] = np.int64(state.asks[state.mover, row]) + tables.barriers[state.bound, row]


@kernel
def _best_row(state: Any, asked: Any, tables: Any) -> Any:
    """The row in which what lies on the table can be written and is worth most; -1 if it can in none."""
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
    """Keep what counts for the figure row, among those still open, in which the dice are worth most as they lie."""
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
    """The greedy action (B,) in each of the states."""
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
    """Goes by the most points now, multiplied, and looks ahead to nothing.

    It writes what is worth most wherever it can write anything. Else it keeps the dice that count for the figure in
    whose row they are worth most as they lie, though not yet enough, and throws the others again; where that is no die
    or all of them, all five. It passes when it must, takes the first of equal rows, sets no points aside, and knows
    nothing of the other players.
    """

    name = "greedy"
    deterministic = True

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game = game

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        actions = np.empty(len(states), np.int64)
        choose(states, self.game.tables, actions)
        return actions
