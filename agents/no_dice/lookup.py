"""Values and actions from the tables of No Dice, for batches of states.

States come with the code of their position (see `trialea.agents.no_dice.cycles`), equal codes together. The states of
the v-th of V positions are `states[order[k]]` for k from `first[v]` to `first[v + 1]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trialea.agents.no_dice.cycles import fill_worth
from trialea.agents.no_dice.play import AGAIN, follow, play, play_out
from trialea.agents.no_dice.turn import LANES, NUM_SCORES, fill_action_values, fill_rows
from trialea.envs.jit import entry, kernel
from trialea.envs.no_dice.game import outcome_of


@kernel
def _fill_lanes(table: Any, fewer: Any, codes: Any, low: Any, target: Any, worth: Any, payoff: Any) -> None:
    """Fill the values of scores in LANES positions from number `low` on, and the values by which the mover chooses."""
    players = len(worth)
    for lane in range(LANES):
        code = codes[min(low + lane, len(codes) - 1)]
        fill_worth(table, fewer, code, target, lane, worth)
        for score in range(NUM_SCORES):
            payoff[score, lane] = worth[0, score, lane] if score > 0 else table[code, players]


@entry
def fill_position_values(
    table: Any,
    fewer: Any,
    codes: Any,
    first: Any,
    order: Any,
    states: Any,
    target: Any,
    throws: Any,
    turn: Any,
    out: Any,
) -> None:
    """Fill the mover's probability of winning (B, NUM_ACTIONS) after each action; NaN where it is illegal."""
    worth, payoff = np.empty((table.shape[1] - 1, NUM_SCORES, LANES)), np.empty((NUM_SCORES, LANES))
    rows = np.empty((throws + 1, turn.lattice.num_patterns, LANES))
    for low in range(0, len(codes), LANES):
        _fill_lanes(table, fewer, codes, low, target, worth, payoff)
        fill_rows(worth[0], turn, turn.wide, rows)
        for lane in range(min(LANES, len(codes) - low)):
            for k in range(first[low + lane], first[low + lane + 1]):
                state = states[order[k]]
                left, kind = throws - state.throws, turn.kind_of[outcome_of(state)]
                fill_action_values(worth[0, :, lane], turn, rows[left, :, lane], kind, left, out[order[k]])


@entry
def fill_seat_values(
    table: Any,
    fewer: Any,
    codes: Any,
    first: Any,
    order: Any,
    states: Any,
    seats: Any,
    target: Any,
    throws: Any,
    turn: Any,
    out: Any,
) -> None:
    """Fill the probability of winning (B, P) of every seat still in, in states with dice on the table or to be thrown.

    `seats` (B, n) are the seats still in, in order from the mover on.
    """
    players = table.shape[1] - 1
    worth, payoff = np.empty((players, NUM_SCORES, LANES)), np.empty((NUM_SCORES, LANES))
    rows = np.empty((throws + 1, turn.lattice.num_patterns, LANES))
    choices = np.empty((throws, len(turn.full), LANES), np.uint8)
    for low in range(0, len(codes), LANES):
        _fill_lanes(table, fewer, codes, low, target, worth, payoff)
        play(payoff, turn, rows, choices)
        for player in range(players):
            follow(worth[player], choices, turn, rows)
            for lane in range(min(LANES, len(codes) - low)):
                for k in range(first[low + lane], first[low + lane + 1]):
                    state = states[order[k]]
                    left, kind = throws - state.throws, turn.kind_of[outcome_of(state)]
                    # Dice that wait to be thrown are as if that had been chosen.
                    choice = AGAIN + state.pending if state.pending != 0 else choices[left, kind, lane]
                    if choice < AGAIN:
                        value = worth[player, choice, lane]
                    else:
                        value = rows[left, turn.patterns[kind, choice - AGAIN], lane]
                    out[order[k], seats[order[k], player]] = value


@entry
def fill_policies(table: Any, fewer: Any, codes: Any, target: Any, turn: Any, policies: Any) -> None:
    """Fill the choices (N, throws, K) that are played in N positions."""
    throws, kinds = policies.shape[1], policies.shape[2]
    worth, payoff = np.empty((table.shape[1] - 1, NUM_SCORES, LANES)), np.empty((NUM_SCORES, LANES))
    rows = np.empty((throws + 1, turn.lattice.num_patterns, LANES))
    choices = np.empty((throws, kinds, LANES), np.uint8)
    for low in range(0, len(codes), LANES):
        _fill_lanes(table, fewer, codes, low, target, worth, payoff)
        play(payoff, turn, rows, choices)
        for lane in range(min(LANES, len(codes) - low)):
            for left in range(throws):
                for kind in range(kinds):
                    policies[low + lane, left, kind] = choices[left, kind, lane]


@entry
def fill_scores(table: Any, fewer: Any, codes: Any, target: Any, throws: Any, turn: Any, out: Any) -> None:
    """Fill the probability (N, NUM_SCORES) of each score of the turn that is played in N positions."""
    worth, payoff = np.empty((table.shape[1] - 1, NUM_SCORES, LANES)), np.empty((NUM_SCORES, LANES))
    rows = np.empty((throws + 1, turn.lattice.num_patterns, LANES))
    choices = np.empty((throws, len(turn.full), LANES), np.uint8)
    reach, chances = np.empty((2, turn.lattice.num_patterns, LANES)), np.empty((NUM_SCORES, LANES))
    for low in range(0, len(codes), LANES):
        _fill_lanes(table, fewer, codes, low, target, worth, payoff)
        play_out(payoff, turn, rows, choices, reach, chances)
        for lane in range(min(LANES, len(codes) - low)):
            for score in range(NUM_SCORES):
                out[low + lane, score] = chances[score, lane]
