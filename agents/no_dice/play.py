"""The play of a turn of No Dice: a best action everywhere, with one rule for ties, and the resulting scores.

Values that differ by less than `TIE` count as equal. Among equally good actions the rule prefers to stop, with the
fewest points, by the first expression with this score; else it takes the first rethrow in the order of the actions.
A change of the rule changes the tables of three players and more.

A *choice* is a byte: a score to stop with, or `AGAIN` plus the set of dice to throw again, with die d at bit d. Kernels
work on `LANES` turns side by side, as the last axis of their arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trialea.agents.lattice import expect, fill, spread
from trialea.agents.no_dice.turn import LANES, fill_rows
from trialea.agents.regrets import TIE
from trialea.envs.jit import entry, kernel
from trialea.envs.no_dice.game import outcome_of
from trialea.envs.no_dice.rules import NUM_REROLLS

AGAIN = 64


@kernel
def four(numbers: Any) -> Any:
    """Return the numbers (LANES,) as separate variables, which the compiler keeps together in one register."""
    return numbers[0], numbers[1], numbers[2], numbers[3]


@kernel
def fill_choices(payoff: Any, left: Any, turn: Any, rows: Any, choices: Any) -> None:
    """Fill the choice (K, LANES) on every kind of throw with `left` throws to come, from the `rows` of `fill_rows`."""
    for kind in range(len(turn.full)):
        if left == 0 and turn.add_up[kind] >= 0:
            fill(choices[kind], turn.add_up[kind])
            continue
        b0, b1, b2, b3 = four(rows[left + 1, turn.full[kind]])
        b0, b1, b2, b3 = b0 - TIE, b1 - TIE, b2 - TIE, b3 - TIE
        c0 = c1 = c2 = c3 = -1.0
        c = turn.class_of[kind]
        for k in range(turn.first[c + 1] - 1, turn.first[c] - 1, -1):  # the last that fits has the fewest points
            score = np.float64(turn.scores[k])
            p0, p1, p2, p3 = four(payoff[turn.scores[k]])
            c0 = score if p0 >= b0 else c0
            c1 = score if p1 >= b1 else c1
            c2 = score if p2 >= b2 else c2
            c3 = score if p3 >= b3 else c3
        if min(c0, c1, c2, c3) < 0.0:
            d0 = d1 = d2 = d3 = 0.0
            for thrown in range(NUM_REROLLS, 0, -1):
                again = np.float64(AGAIN + thrown)
                p0, p1, p2, p3 = four(rows[left, turn.patterns[kind, thrown]])
                d0 = again if p0 >= b0 else d0
                d1 = again if p1 >= b1 else d1
                d2 = again if p2 >= b2 else d2
                d3 = again if p3 >= b3 else d3
            c0 = d0 if c0 < 0.0 else c0
            c1 = d1 if c1 < 0.0 else c1
            c2 = d2 if c2 < 0.0 else c2
            c3 = d3 if c3 < 0.0 else c3
        choices[kind, 0], choices[kind, 1], choices[kind, 2], choices[kind, 3] = c0, c1, c2, c3


@kernel
def fill_chances(choices: Any, turn: Any, reach: Any, chances: Any) -> None:
    """Fill the probability of each score (NUM_SCORES, LANES) under the choices (throws, K, LANES).

    `reach` (2, num_patterns, LANES) is scratch: the probability that each pattern's dice are kept and the rest thrown.
    """
    now, then = 0, 1
    fill(chances.reshape(-1), 0.0)
    fill(reach[now].reshape(-1), 0.0)
    fill(reach[now, -1], 1.0)
    for left in range(len(choices) - 1, -1, -1):
        spread(reach[now].reshape(-1), turn.wide)
        fill(reach[then].reshape(-1), 0.0)
        for kind in range(len(turn.full)):
            shown = reach[now, turn.full[kind]]
            for lane in range(LANES):
                choice = choices[left, kind, lane]
                if choice < AGAIN:
                    chances[choice, lane] += shown[lane]
                else:
                    reach[then, turn.patterns[kind, choice - AGAIN], lane] += shown[lane]
        now, then = then, now


@entry
def play(payoff: Any, turn: Any, rows: Any, choices: Any) -> None:
    """Solve LANES turns, and choose.

    Args:
        payoff: (NUM_SCORES, LANES), what each score pays.
        turn: the tables.
        rows: (throws + 1, num_patterns, LANES), out: see `fill_rows`.
        choices: (throws, K, LANES) uint8, out: the choice on each kind of throw, by the throws to come.
    """
    fill_rows(payoff, turn, turn.wide, rows)
    for left in range(len(choices)):
        fill_choices(payoff, left, turn, rows, choices[left])


@entry
def play_out(payoff: Any, turn: Any, rows: Any, choices: Any, reach: Any, chances: Any) -> None:
    """Do `play`, and fill the probability of each score (NUM_SCORES, LANES); `reach` is scratch for `fill_chances`."""
    play(payoff, turn, rows, choices)
    fill_chances(choices, turn, reach, chances)


@entry
def follow(worth: Any, choices: Any, turn: Any, rows: Any) -> None:
    """Find the value to some player of a turn that is played by given choices.

    Args:
        worth: (NUM_SCORES, LANES), the value of each score of the turn to that player.
        choices: (throws, K, LANES).
        turn: the tables.
        rows: (throws + 1, num_patterns, LANES), out: row t is for t throws to come, the next one included. Row 0 stays
            as it is.
    """
    for t in range(1, len(rows)):
        for kind in range(len(turn.full)):
            for lane in range(LANES):
                choice = choices[t - 1, kind, lane]
                if choice < AGAIN:
                    rows[t, turn.full[kind], lane] = worth[choice, lane]
                else:
                    rows[t, turn.full[kind], lane] = rows[t - 1, turn.patterns[kind, choice - AGAIN], lane]
        expect(rows[t].reshape(-1), turn.wide)


@entry
def look_up(states: Any, policies: Any, which: Any, turn: Any, throws: Any, out: Any) -> None:
    """Fill the action of each state's policy; `policies` (N, throws, K) are choices, and `which` (B,) picks one."""
    for i in range(len(states)):
        state = states[i]
        kind = turn.kind_of[outcome_of(state)]
        choice = policies[which[i], throws - state.throws, kind]
        out[i] = turn.actions[kind, choice] if choice < AGAIN else choice - AGAIN - 1
