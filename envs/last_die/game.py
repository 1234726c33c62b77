"""The state of a game of Last Die and its transitions: the only implementation of the game.

A state is one record of `STATE`; a batch of games is an array of them. The functions below are compiled; with the
JIT off they run as plain Python. `trialea.envs.game` says what each must do.

The fields of the game's own:

| field | meaning |
| --- | --- |
| held | dice in each player's hand, without those in `sent` |
| place | where each player sits: 0 for the first opener, then clockwise, that is to the left |
| faces | the faces (0 to 5) of the latest throw; 0 beyond `thrown` |
| thrown, thrower | how many dice it had, and who made it: so many players on from the mover, by number |
| sent | with `steer`, the dice that leave the thrower's hand and wait for their direction |
| rounds | rounds completed; the player at place `rounds` modulo the number of players opens the next |
| opening | 1 while the opener throws until no die is left in hand |
| seating | 1 while the places are thrown for; nobody is asked for a decision in that time |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trialea.envs.game import header
from trialea.envs.jit import kernel
from trialea.envs.last_die.rules import NUM_DICE
from trialea.envs.loops import MAX_PLAYERS

ALL_DICE = 2**NUM_DICE - 1
SEATING_THROW = 128
"""The number of a player's first throw for seats, in its turn 0: far from those of play, so that no draw is shared."""

_LEAST_TOTAL, _MOST_TOTAL = NUM_DICE, 6 * NUM_DICE
_STEP = 32  # more than there are totals
_THREE, _FIVE = 2, 4  # as face indexes

STATE = header(
    [
        ("held", "u1", (MAX_PLAYERS,)),
        ("place", "u1", (MAX_PLAYERS,)),
        ("faces", "u1", (NUM_DICE,)),
        ("thrown", "u1"),
        ("thrower", "u1"),
        ("sent", "u1"),
        ("rounds", "u2"),
        ("opening", "u1"),
        ("seating", "u1"),
    ]
)


@kernel
def begin(state: Any, tables: Any) -> None:
    """Let everybody throw for a place; or seat them in order from the mover, who opens the first round."""
    if tables.throw_for_seats:
        state.seating = 1
        state.throws = SEATING_THROW
        state.pending = ALL_DICE
        return
    player = np.int64(state.mover)
    for place in range(state.num_players):
        state.place[player] = place
        player = _after(player, state)
    _open_round(state, tables)


@kernel
def _after(player: Any, state: Any) -> Any:
    return player + 1 if player + 1 < state.num_players else np.int64(0)


@kernel
def _open_round(state: Any, tables: Any) -> None:
    """All six dice to the player whose round it is to open."""
    place = state.rounds % state.num_players
    for player in range(state.num_players):
        if state.place[player] == place:
            _to_move(player, state)
    state.held[state.mover] = NUM_DICE
    state.opening = 1
    _ask_or_throw(state, tables)


@kernel
def _to_move(player: Any, state: Any) -> None:
    """Make `player` the mover, and keep who threw last."""
    back = np.int64(state.mover) - np.int64(player)
    state.thrower = back + state.num_players if back < 0 else back
    state.mover = player


@kernel
def _ask_or_throw(state: Any, tables: Any) -> None:
    """The source asks the player to throw; with `steer` the throw is no decision, and follows by itself."""
    if tables.steer:
        state.pending = (1 << np.int64(state.held[state.mover])) - 1


@kernel
def throw(state: Any, faces: Any, tables: Any) -> None:
    """Let the marked dice show `faces`: for a place at the table, or from the mover's hand."""
    if state.seating:
        _throw_for_place(state, faces, tables)
    else:
        _throw_hand(state, faces, tables)


@kernel
def _throw_hand(state: Any, faces: Any, tables: Any) -> None:
    """Ones are out, threes go left and fives right; with `steer` both wait for the thrower to choose."""
    tally = np.int64(0)  # a byte for each face: how many dice show it
    for die in range(NUM_DICE):  # without branches: the faces are as good as random to the processor
        falls = np.int64(state.pending) >> die & 1
        face = np.int64(faces[die])
        state.faces[die] = falls * face
        tally += falls << 8 * face
    ones, threes, fives = tally & 255, tally >> 8 * _THREE & 255, tally >> 8 * _FIVE & 255
    state.thrown = state.held[state.mover]
    state.thrower = 0
    state.throws += 1
    state.pending = 0
    state.held[state.mover] -= ones + threes + fives
    if tables.steer and threes + fives > 0:
        state.sent = threes + fives
    else:
        _hand_on(state, threes, fives, tables)


@kernel
def _hand_on(state: Any, left: Any, right: Any, tables: Any) -> None:
    """Give so many dice to the neighbours; then play goes on with who throws next, or with the next round."""
    mover = np.int64(state.mover)
    n = np.int64(state.num_players)
    place = np.int64(state.place[mover])
    in_play = np.int64(0)
    nearest = np.int64(255)  # among those with dice: the distance to the left, and the player in the low three bits
    for player in range(n):
        distance = np.int64(state.place[player]) - place
        distance += n * (distance <= 0)  # the mover itself comes last
        held = np.int64(state.held[player]) + left * (distance == 1) + right * (distance == n - 1)
        state.held[player] = held
        in_play += held
        nearest = min(nearest, (distance << 3) + player + 256 * (held == 0))
    # A die thrown alone that stays with nothing else in play: the last one, on an even face.
    scores = state.held[mover] == 1 and state.thrown == 1 and in_play == 1
    if scores:
        state.scores[mover] += state.faces[0] + 1
    if in_play == 0 or (scores and tables.even_ends_round):
        _end_round(state, tables)
    elif state.held[mover] > 0 and (state.opening or scores):
        _ask_or_throw(state, tables)
    else:
        _end_turn(state)
        _to_move(nearest & 7, state)
        _ask_or_throw(state, tables)


@kernel
def _end_turn(state: Any) -> None:
    state.turns[state.mover] += 1
    state.throws = 0
    state.opening = 0


@kernel
def _end_round(state: Any, tables: Any) -> None:
    """Clear the table for the next round; or, when everybody has opened equally often, end the game."""
    state.held[state.mover] = 0
    _end_turn(state)
    state.rounds += 1
    if state.rounds == tables.rounds_each * state.num_players:
        _end_game(state)
    else:
        _open_round(state, tables)


@kernel
def _end_game(state: Any) -> None:
    """The most points win; those who have them share the win."""
    most = np.int64(0)
    for player in range(state.num_players):
        most = max(most, np.int64(state.scores[player]))
    winners = 0
    for player in range(state.num_players):
        winners += state.scores[player] == most
    for player in range(state.num_players):
        state.share[player] = (state.scores[player] == most) / winners
        state.finished[player] = 1
    state.over = 1


# The seating ------------------------------------------------------------------------------------------------------
#
# Meanwhile `place` holds each player's standing: `_STEP` times how many are surely before it, plus 0 for one who is to
# throw, or a number that is smaller for a greater total.


@kernel
def _throw_for_place(state: Any, faces: Any, tables: Any) -> None:
    """Note the mover's total; when all have thrown, let those with equal totals throw again, or begin to play."""
    total = np.int64(NUM_DICE)
    for die in range(NUM_DICE):
        total += faces[die]
    state.place[state.mover] += _MOST_TOTAL + 1 - total
    player = _yet_to_throw(state)
    if player == state.num_players:
        _rank(state)
        state.throws += 1
        player = _yet_to_throw(state)
    if player < state.num_players:
        state.mover = player
        return
    for player in range(state.num_players):
        state.place[player] //= _STEP
    state.seating = 0
    state.throws = 0
    state.pending = 0
    _open_round(state, tables)
    state.thrower = 0  # of the throws that a picture shows there has been none


@kernel
def _yet_to_throw(state: Any) -> Any:
    """The next player after the mover who is to throw for its place; the number of players if there is none."""
    player = np.int64(state.mover)
    for _ in range(state.num_players):
        player = _after(player, state)
        if state.place[player] % _STEP == 0:
            return player
    return np.int64(state.num_players)


@kernel
def _rank(state: Any) -> None:
    """Put the standings in order; those that are equal are to throw again."""
    standings = np.int64(0)  # a byte for each player, until all are compared
    for player in range(state.num_players):
        before = np.int64(0)
        equal = np.int64(0)
        for other in range(state.num_players):
            before += state.place[other] < state.place[player]
            equal += state.place[other] == state.place[player]
        standings |= (_STEP * before + (equal == 1)) << 8 * player
    for player in range(state.num_players):
        state.place[player] = standings >> 8 * player & 255


# Decisions --------------------------------------------------------------------------------------------------------


@kernel
def apply(state: Any, action: Any, tables: Any) -> None:
    """Mark all dice in hand to be thrown; with `steer`, send so many of the waiting dice left and the rest right."""
    if tables.steer:
        left, right = np.int64(action), np.int64(state.sent) - np.int64(action)
        state.sent = 0
        _hand_on(state, left, right, tables)
    else:
        state.pending = (1 << np.int64(state.held[state.mover])) - 1


@kernel
def is_legal(state: Any, action: Any, tables: Any) -> Any:
    """As many dice may go left as leave the hand; without `steer` action 0 is all there is."""
    return action <= state.sent


@kernel
def num_legal(state: Any, tables: Any) -> Any:
    """How many actions are legal."""
    return np.int64(state.sent) + 1


@kernel
def legal(state: Any, k: Any, tables: Any) -> Any:
    """The k-th legal action, which is k."""
    return np.int64(k)


@kernel
def write_mask(state: Any, tables: Any, mask: Any) -> None:
    """The legal actions as zeros and ones."""
    for action in range(len(mask)):
        mask[action] = action <= state.sent


@kernel
def observe(state: Any, seat: Any, tables: Any, out: Any) -> None:
    """What `seat` sees, in the order of `trialea.envs.last_die.names.observation_names`."""
    n = np.int64(state.num_players)
    opener = (np.int64(state.rounds) - np.int64(state.over)) % n
    own_place = np.int64(state.place[seat])
    for player in range(n):
        place = np.int64(state.place[player])
        distance = place - own_place
        distance += n * (distance < 0)
        seen = out[4 * distance :]
        seen[0] = np.float32(state.held[player]) * np.float32(1 / NUM_DICE)
        seen[1] = min(np.float32(1.0), np.float32(state.scores[player]) * tables.per_point)
        seen[2] = np.float32(player == state.mover)
        seen[3] = np.float32(place == opener)
    table = out[4 * n :]
    table[0] = np.float32(state.opening)
    table[1] = np.float32(state.rounds) / np.float32(tables.rounds_each * n)
    if tables.steer:
        for number in range(1, NUM_DICE + 1):
            table[1 + number] = np.float32(state.sent == number)
