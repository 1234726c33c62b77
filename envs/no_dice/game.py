"""The state of a game of No Dice and its transitions: the only implementation of the game.

A state is one record of `STATE`; a batch of games is an array of them. The functions below are compiled; with the
JIT off they run as plain Python. `trialea.envs.game` says what each must do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trialea.envs.game import header
from trialea.envs.jit import kernel
from trialea.envs.no_dice.rules import ADD_UP, ILLEGAL, NUM_DICE, NUM_REROLLS

ALL_DICE = 2**NUM_DICE - 1
NUM_SCORES = ADD_UP - NUM_REROLLS + 1

STATE = header([("dice", "u1", (NUM_DICE,))])


@kernel
def outcome_of(state: Any) -> Any:
    """The base-six number of the five dice on the table, 0 to 7775."""
    dice = state.dice
    return np.int64(dice[0]) + 6 * (
        np.int64(dice[1]) + 6 * (np.int64(dice[2]) + 6 * (np.int64(dice[3]) + 6 * np.int64(dice[4])))
    )


@kernel
def begin(state: Any, tables: Any) -> None:
    """Mark all five dice for the first throw."""
    state.pending = ALL_DICE


@kernel
def throw(state: Any, faces: Any, tables: Any) -> None:
    """Let the marked dice show `faces`, and count the throw."""
    for die in range(NUM_DICE):  # without branches: which dice fall is as good as random to the processor
        falls = state.pending >> die & 1
        state.dice[die] = falls * faces[die] + (1 - falls) * state.dice[die]
    state.pending = 0
    state.throws += 1


@kernel
def is_legal(state: Any, action: Any, tables: Any) -> Any:
    """Rethrows are legal while throws are left; expressions where they count; adding up where nothing else is."""
    if action < NUM_REROLLS:
        return state.throws < tables.throw_limit
    if action == ADD_UP and state.throws < tables.throw_limit:
        return False
    return tables.scores[outcome_of(state), action - NUM_REROLLS] != ILLEGAL


@kernel
def num_legal(state: Any, tables: Any) -> Any:
    """How many actions are legal."""
    outcome = outcome_of(state)
    count = np.int64(tables.first[outcome + 1] - tables.first[outcome])
    if state.throws < tables.throw_limit:
        return count + NUM_REROLLS
    return max(count, 1)


@kernel
def legal(state: Any, k: Any, tables: Any) -> Any:
    """The k-th legal action, in rising order, without a scan of the mask."""
    if state.throws < tables.throw_limit:
        if k < NUM_REROLLS:
            return np.int64(k)
        k -= NUM_REROLLS
    outcome = outcome_of(state)
    first = np.int64(tables.first[outcome])
    if first == tables.first[outcome + 1]:
        return np.int64(ADD_UP)
    return np.int64(NUM_REROLLS) + np.int64(tables.choices[first + k])


@kernel
def apply(state: Any, action: Any, tables: Any) -> None:
    """Mark the dice of a rethrow, or end the turn with an expression's score or the sum of the faces."""
    if action < NUM_REROLLS:
        state.pending = action + 1
    else:
        _end_turn(state, tables.scores[outcome_of(state), action - NUM_REROLLS], tables)


@kernel
def _following(seat: Any, state: Any) -> Any:
    return seat + 1 if seat + 1 < state.num_players else 0


@kernel
def _end_turn(state: Any, score: Any, tables: Any) -> None:
    """Add the turn's score; put the player out at the target; hand the dice to the next player who is in."""
    seat = state.mover
    state.scores[seat] += score
    state.turns[seat] += 1
    state.throws = 0
    if state.scores[seat] >= tables.target:
        state.finished[seat] = 1
    num_in = 0
    for other in range(state.num_players):
        num_in += 1 - state.finished[other]
    following = _following(seat, state)
    while state.finished[following]:
        following = _following(following, state)
    state.mover = following
    if num_in == 1:
        state.finished[following] = 1
        state.share[following] = 1.0
        state.over = 1
    else:
        state.pending = ALL_DICE


@kernel
def write_mask(state: Any, tables: Any, mask: Any) -> None:
    """The legal actions as zeros and ones."""
    again = state.throws < tables.throw_limit
    for action in range(NUM_REROLLS):
        mask[action] = again
    scores = tables.scores[outcome_of(state)]
    for index in range(NUM_SCORES):
        mask[NUM_REROLLS + index] = scores[index] != ILLEGAL
    if again:
        mask[ADD_UP] = 0


@kernel
def _worth(score: Any) -> Any:
    """What an observation shows of a score: 1 / (1 + score), and 0 where it is not allowed."""
    wide = np.int32(score)
    return np.float32(wide != ILLEGAL) / np.float32(wide + 1)


@kernel
def observe(state: Any, seat: Any, tables: Any, out: Any) -> None:
    """What `seat` sees, in the order of `trialea.envs.no_dice.names.observation_names`."""
    for index in range(6 * NUM_DICE):
        out[index] = np.float32(0.0)
    for die in range(NUM_DICE):
        out[6 * die + state.dice[die]] = np.float32(1.0)
    # Slices, since the compiler copies faster where it sees that no index can be negative.
    left = out[6 * NUM_DICE :]
    for index in range(tables.throw_limit):
        left[index] = np.float32(index + state.throws == tables.throw_limit)
    seats = left[tables.throw_limit :]
    other = np.int64(seat)
    for offset in range(state.num_players):
        seats[3 * offset] = min(np.float32(1.0), np.float32(state.scores[other]) * tables.per_point)
        seats[3 * offset + 1] = np.float32(1 - state.finished[other])
        seats[3 * offset + 2] = np.float32(other == state.mover)
        other = _following(other, state)
    shown = seats[3 * np.int64(state.num_players) :]
    scores = tables.scores[outcome_of(state)]
    for index in range(NUM_SCORES):
        shown[index] = _worth(scores[index])
    best = np.uint8(ILLEGAL)
    for index in range(NUM_SCORES):
        best = min(best, scores[index])
    shown[NUM_SCORES] = _worth(best)
