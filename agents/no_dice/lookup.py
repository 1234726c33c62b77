"""Values and actions from the tables of No Dice, for batches of states.

States come with the code of their position (see `trialea.agents.no_dice.cycles`), equal codes together: the states of
the v-th of V positions are `states[order[k]]` for k from `first[v]` to `first[v + 1]`.

The functions that solve turns work on LANES positions at a time. They are Python over a few compiled functions that
all of them share: compiled as a whole, each would take a second at its first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.no_dice.cycles import fill_worth
from trialea.agents.no_dice.play import AGAIN, follow, play, play_out
from trialea.agents.no_dice.turn import LANES, NUM_SCORES, Turn, fill_action_values, fill_rows
from trialea.envs.game import States
from trialea.envs.jit import entry, plain
from trialea.envs.no_dice.game import outcome_of


class _Lanes:
    """Arrays for LANES turns side by side, and the values of scores in their positions.

    Attributes:
        worth: (n, NUM_SCORES, LANES), the values to every player, from the mover on.
        payoff: (NUM_SCORES, LANES), the values by which the mover chooses.
        rows: (throws + 1, num_patterns, LANES), see `fill_rows`.
        choices: (throws, K, LANES) uint8, see `trialea.agents.no_dice.play`.
    """

    def __init__(self, table: NDArray[Any], fewer: NDArray[Any], target: int, throws: int, turn: Turn) -> None:
        self._tables, self._target = (table, fewer), target
        self.worth = np.empty((table.shape[1] - 1, NUM_SCORES, LANES))
        self.payoff = np.empty((NUM_SCORES, LANES))
        self.rows = np.empty((throws + 1, turn.lattice.num_patterns, LANES))
        self.choices = np.empty((throws, len(turn.full), LANES), np.uint8)

    def over(self, codes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Go over positions, and yield the numbers of the first in the lanes and of the one after the last."""
        for low in range(0, len(codes), LANES):
            fill_lanes(*self._tables, codes, low, self._target, self.worth, self.payoff)
            yield low, min(low + LANES, len(codes))


@entry
def fill_lanes(table: Any, fewer: Any, codes: Any, low: Any, target: Any, worth: Any, payoff: Any) -> None:
    """Fill the values of scores in LANES positions from number `low` on, and the values by which the mover chooses."""
    players = len(worth)
    for lane in range(LANES):
        code = codes[min(low + lane, len(codes) - 1)]
        fill_worth(table, fewer, code, target, lane, worth)
        for score in range(NUM_SCORES):
            payoff[score, lane] = worth[0, score, lane] if score > 0 else table[code, players]


def fill_position_values(
    table: NDArray[Any],
    fewer: NDArray[Any],
    codes: NDArray[np.int64],
    first: NDArray[np.int64],
    order: NDArray[np.int64],
    states: States,
    target: int,
    throws: int,
    turn: Turn,
    out: NDArray[np.float64],
) -> None:
    """Fill the mover's probability of winning (B, NUM_ACTIONS) after each action; NaN where illegal."""
    lanes = _Lanes(table, fewer, target, throws, turn)
    for low, high in lanes.over(codes):
        fill_rows(lanes.worth[0], turn, turn.wide, lanes.rows)
        read_position_values(low, high, first, order, plain(states), turn, lanes.worth[0], lanes.rows, out)


@entry
def read_position_values(
    low: Any, high: Any, first: Any, order: Any, states: Any, turn: Any, worth: Any, rows: Any, out: Any
) -> None:
    """`fill_position_values` for the positions in the lanes."""
    for lane in range(high - low):
        for k in range(first[low + lane], first[low + lane + 1]):
            state = states[order[k]]
            left, kind = len(rows) - 1 - state.throws, turn.kind_of[outcome_of(state)]
            fill_action_values(worth[:, lane], turn, rows[left, :, lane], kind, left, out[order[k]])


def fill_seat_values(
    table: NDArray[Any],
    fewer: NDArray[Any],
    codes: NDArray[np.int64],
    first: NDArray[np.int64],
    order: NDArray[np.int64],
    states: States,
    seats: NDArray[np.int64],
    target: int,
    throws: int,
    turn: Turn,
    out: NDArray[np.float64],
) -> None:
    """Fill the probability of winning (B, P) of every seat still in, for dice on the table or to be thrown.

    `seats` (B, n) are those still in, in their order from the mover on.
    """
    lanes = _Lanes(table, fewer, target, throws, turn)
    for low, high in lanes.over(codes):
        play(lanes.payoff, turn, lanes.rows, lanes.choices)
        for player, worth in enumerate(lanes.worth):
            follow(worth, lanes.choices, turn, lanes.rows)
            seat = np.ascontiguousarray(seats[:, player])
            solved = turn, worth, lanes.rows, lanes.choices
            read_seat_values(low, high, first, order, plain(states), seat, *solved, out)


@entry
def read_seat_values(
    low: Any,
    high: Any,
    first: Any,
    order: Any,
    states: Any,
    seats: Any,
    turn: Any,
    worth: Any,
    rows: Any,
    choices: Any,
    out: Any,
) -> None:
    """`fill_seat_values` for the positions in the lanes and a seat of each state, (B,)."""
    for lane in range(high - low):
        for k in range(first[low + lane], first[low + lane + 1]):
            state = states[order[k]]
            left, kind = len(choices) - state.throws, turn.kind_of[outcome_of(state)]
            # Dice that wait to be thrown are as if that had been chosen.
            choice = AGAIN + state.pending if state.pending != 0 else choices[left, kind, lane]
            if choice < AGAIN:
                value = worth[choice, lane]
            else:
                value = rows[left, turn.patterns[kind, choice - AGAIN], lane]
            out[order[k], seats[order[k]]] = value


def fill_policies(
    table: NDArray[Any], fewer: NDArray[Any], codes: NDArray[np.int64], target: int, turn: Turn, policies: NDArray[Any]
) -> None:
    """Fill the choices (N, throws, K) of the solution in N positions."""
    lanes = _Lanes(table, fewer, target, policies.shape[1], turn)
    for low, high in lanes.over(codes):
        play(lanes.payoff, turn, lanes.rows, lanes.choices)
        policies[low:high] = lanes.choices.transpose(2, 0, 1)[: high - low]


def fill_scores(
    table: NDArray[Any],
    fewer: NDArray[Any],
    codes: NDArray[np.int64],
    target: int,
    throws: int,
    turn: Turn,
    out: NDArray[np.float64],
) -> None:
    """Fill the probability (N, NUM_SCORES) of each score of the turn that is played in N positions."""
    lanes = _Lanes(table, fewer, target, throws, turn)
    reach, chances = np.empty((2, turn.lattice.num_patterns, LANES)), np.empty((NUM_SCORES, LANES))
    for low, high in lanes.over(codes):
        play_out(lanes.payoff, turn, lanes.rows, lanes.choices, reach, chances)
        out[low:high] = chances.T[: high - low]
