"""The certificate of a solution of No Dice: how much a player could gain by other play, and how much ties matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from trialea.agents.lattice import copy, expect, fill
from trialea.agents.no_dice.cycles import fill_worth
from trialea.agents.no_dice.play import AGAIN, four, play_out
from trialea.agents.no_dice.turn import LANES, NUM_SCORES, fill_rows
from trialea.agents.regrets import TIE
from trialea.envs.jit import entry, kernel
from trialea.envs.no_dice.rules import NUM_REROLLS

ERROR, ONE_TURN, BEST_RESPONSE, TIE_SPREAD = range(4)  # what `certify_cycles` measures
_SETTLED = 1e-14  # rounding moves a value by some 1e-16
_MOST_STEPS = 1000


@kernel
def _is_tied(payoff: Any, left: Any, turn: Any, rows: Any, kind: Any) -> Any:
    """Return whether more than one choice is best on a kind of throw, with `left` throws to come, in any lane."""
    if left == 0 and turn.add_up[kind] >= 0:
        return False
    b0, b1, b2, b3 = four(rows[left + 1, turn.full[kind]])
    b0, b1, b2, b3 = b0 - TIE, b1 - TIE, b2 - TIE, b3 - TIE
    n0 = n1 = n2 = n3 = 0.0
    c = turn.class_of[kind]
    for k in range(turn.first[c], turn.first[c + 1]):
        p0, p1, p2, p3 = four(payoff[turn.scores[k]])
        n0 += 1.0 if p0 >= b0 else 0.0
        n1 += 1.0 if p1 >= b1 else 0.0
        n2 += 1.0 if p2 >= b2 else 0.0
        n3 += 1.0 if p3 >= b3 else 0.0
    if left > 0:
        for thrown in range(1, NUM_REROLLS + 1):
            p0, p1, p2, p3 = four(rows[left, turn.patterns[kind, thrown]])
            n0 += 1.0 if p0 >= b0 else 0.0
            n1 += 1.0 if p1 >= b1 else 0.0
            n2 += 1.0 if p2 >= b2 else 0.0
            n3 += 1.0 if p3 >= b3 else 0.0
    return max(n0, n1, n2, n3) > 1.0


@kernel
def _most_over_ties(
    payoff: Any, worth: Any, sign: Any, turn: Any, rows: Any, tied: Any, choices: Any, most: Any
) -> None:
    """Maximise `sign` × the expected worth of the turn to another player, over the mover's best choices.

    Args:
        payoff, worth: (NUM_SCORES, LANES), the value of each score to the mover, and to another player.
        sign: 1, or -1 for the least.
        turn, rows: the tables, and the mover's `fill_rows`.
        tied: (throws, K) bool, whether there is more than one best choice.
        choices: (throws, K, LANES), a best choice everywhere.
        most: (throws + 1, num_patterns, LANES), out; the result is the last pattern of the last row.
    """
    for t in range(1, len(rows)):
        for kind in range(len(turn.full)):
            for lane in range(LANES):
                choice = choices[t - 1, kind, lane]
                if choice < AGAIN:
                    value = sign * worth[choice, lane]
                else:
                    value = most[t - 1, turn.patterns[kind, choice - AGAIN], lane]
                if tied[t - 1, kind]:
                    bar = rows[t, turn.full[kind], lane] - TIE
                    c = turn.class_of[kind]
                    for k in range(turn.first[c], turn.first[c + 1]):
                        if payoff[turn.scores[k], lane] >= bar:
                            value = max(value, sign * worth[turn.scores[k], lane])
                    for thrown in range(1, NUM_REROLLS + 1 if t > 1 else 1):
                        pattern = turn.patterns[kind, thrown]
                        if rows[t - 1, pattern, lane] >= bar:
                            value = max(value, most[t - 1, pattern, lane])
                most[t, turn.full[kind], lane] = value
        expect(most[t].reshape(-1), turn.wide)


@entry
def tie_spread(payoff: Any, worth: Any, turn: Any, rows: Any, choices: Any, most: Any) -> Any:
    """Return the largest difference, in any lane, that the mover's ties make to the value of any other player.

    Args:
        payoff: (NUM_SCORES, LANES), the value of each score to the mover.
        worth: (n, NUM_SCORES, LANES), its value to each player, the mover first.
        turn, rows, choices: the tables, and the results of `play_out` for the payoff.
        most: (throws + 1, num_patterns, LANES) scratch.
    """
    tied = np.empty(choices.shape[:2], np.bool_)
    for left in range(len(tied)):
        for kind in range(tied.shape[1]):
            tied[left, kind] = _is_tied(payoff, left, turn, rows, kind)
    widest = 0.0
    width = np.empty(LANES)
    for k in range(1, 2 if len(worth) == 3 else len(worth)):  # of two others one varies as the other does
        fill(width, 0.0)
        for sign in (1.0, -1.0):
            _most_over_ties(payoff, worth[k], sign, turn, rows, tied, choices, most)
            for lane in range(LANES):
                width[lane] += most[-1, -1, lane]
        widest = max(widest, width[0], width[1], width[2], width[3])
    return widest


@entry
def best_values(payoff: Any, constant: Any, factor: Any, turn: Any, rows: Any, values: Any) -> None:
    """Find the values (LANES,) of the best turns if a score of 0 pays constant + factor × the value itself.

    Scores of 0 by all players are rare, so repeated substitution settles in a few steps.

    Args:
        payoff: (NUM_SCORES, LANES), what each score pays; the payoff of 0 is written here.
        constant, factor: (LANES,).
        turn: the tables.
        rows: (throws + 1, num_patterns, LANES), out: see `fill_rows`.
        values: (LANES,), in: a guess; out: the values.
    """
    for _ in range(_MOST_STEPS):
        for lane in range(LANES):
            payoff[0, lane] = constant[lane] + factor[lane] * values[lane]
        fill_rows(payoff, turn, turn.wide, rows)
        change = 0.0
        for lane in range(LANES):
            change = max(change, abs(rows[-1, -1, lane] - values[lane]))
            values[lane] = rows[-1, -1, lane]
        if change < _SETTLED:
            return


@kernel(allocates=True)
def _respond(better: Any, chances: Any, turn: Any, rows: Any, out: Any) -> None:
    """Find every player's best response to the others' play, round LANES cycles.

    Args:
        better: (n, n, NUM_SCORES, LANES), the value of each score to each player if that player responds from then on,
            by position and player from its mover on.
        chances: (n, NUM_SCORES, LANES), of each score as it is played, by position.
        turn: the tables.
        rows: scratch for `best_values`.
        out: (n, n, LANES), in: at [r, 0], a guess; out: the value of each player's best response, by position and
            player from its mover on.
    """
    players = len(better)
    constant, factor = np.empty((players, LANES)), np.empty((players, LANES))
    for mine in range(players):
        # In the position d turns before my own I am worth constant + factor × what I am worth at my own.
        fill(constant[0], 0.0)
        fill(factor[0], 1.0)
        for d in range(1, players):
            r = (mine - d) % players
            for lane in range(LANES):
                zero = chances[r, 0, lane]
                constant[d, lane], factor[d, lane] = zero * constant[d - 1, lane], zero * factor[d - 1, lane]
                for score in range(1, NUM_SCORES):
                    constant[d, lane] += chances[r, score, lane] * better[r, d, score, lane]
        best_values(better[mine, 0], constant[-1], factor[-1], turn, rows, out[mine, 0])
        for d in range(1, players):
            for lane in range(LANES):
                out[(mine - d) % players, d, lane] = constant[d, lane] + factor[d, lane] * out[mine, 0, lane]


@kernel
def _differ(one: Any, other: Any) -> Any:
    """Return whether two rows of LANES numbers differ anywhere."""
    different = False
    for lane in range(LANES):
        different = different or one[lane] != other[lane]
    return different


@entry
def certify_cycles(
    table: Any,
    fewer: Any,
    replies: Any,
    fewer_replies: Any,
    codes: Any,
    target: Any,
    turn: Any,
    choices: Any,
    out: Any,
    largest: Any,
) -> None:
    """Find the best responses in each cycle, and the largest errors of the table.

    Args:
        table: (T^n, n + 1), all positions, see `trialea.agents.no_dice.cycles`.
        fewer: (T^(n-1), ≥ n - 1), the positions of one player fewer.
        replies: (T^n, n), the value of each player's best response; positions with a greater sum must be known.
        fewer_replies: (T^(n-1), n - 1), the same for one player fewer.
        codes: (C,), one position of each cycle.
        target: T.
        turn: the tables of a turn.
        choices: (throws, K, LANES) scratch.
        out: (C, n, n), the rows of `replies` of the cycles' positions, in the order in which they follow each other.
        largest: (4,), raised to the largest of these. ERROR: the difference between a player's value and its value
            after one more turn, the best turn for the mover and the turn that is played for the others. ONE_TURN: the
            mover's gain by another turn. BEST_RESPONSE: a player's gain by a best response. TIE_SPREAD: the difference
            that ties make to other players' values, with three players or more.
    """
    players = out.shape[1]
    rows = np.empty((len(choices) + 1, turn.lattice.num_patterns, LANES))
    scratch = np.empty((len(choices) + 1, turn.lattice.num_patterns, LANES))
    worth, better = np.empty((players, NUM_SCORES, LANES)), np.empty((players, players, NUM_SCORES, LANES))
    payoff, chances = np.empty((NUM_SCORES, LANES)), np.empty((players, NUM_SCORES, LANES))
    values, found = np.empty((players, players, LANES)), np.empty((players, players, LANES))
    for low in range(0, len(codes), LANES):
        here = min(LANES, len(codes) - low)
        for r in range(players):
            for lane in range(LANES):
                code = codes[low + min(lane, here - 1)]
                for _ in range(r):
                    code = code % len(fewer) * target + code // len(fewer)
                fill_worth(table, fewer, code, target, lane, worth)
                fill_worth(replies, fewer_replies, code, target, lane, better[r])
                for k in range(players):
                    values[r, k, lane] = table[code, k]
                for score in range(NUM_SCORES):
                    payoff[score, lane] = worth[0, score, lane] if score > 0 else table[code, players]
            play_out(payoff, turn, rows, choices, scratch[:2], chances[r])
            if players > 2:
                largest[TIE_SPREAD] = max(largest[TIE_SPREAD], tie_spread(payoff, worth, turn, rows, choices, scratch))
            if _differ(payoff[0], worth[0, 0]):
                fill_rows(worth[0], turn, turn.wide, rows)
            for lane in range(here):
                gain = rows[-1, -1, lane] - values[r, 0, lane]
                largest[ONE_TURN] = max(largest[ONE_TURN], gain)
                largest[ERROR] = max(largest[ERROR], abs(gain))
                for k in range(players):
                    value = 0.0
                    for score in range(NUM_SCORES):
                        value += chances[r, score, lane] * worth[k, score, lane]
                    largest[ERROR] = max(largest[ERROR], abs(value - values[r, k, lane]))
        copy(values.reshape(-1), found.reshape(-1))
        _respond(better, chances, turn, rows, found)
        for lane in range(here):
            for r in range(players):
                for k in range(players):
                    out[low + lane, r, k] = found[r, k, lane]
                    largest[BEST_RESPONSE] = max(largest[BEST_RESPONSE], found[r, k, lane] - values[r, k, lane])
