"""Positions of No Dice between turns, and the equilibrium of each cycle of positions in which all players score 0.

A position of n players is the vector of their totals, the mover's first, each below the target T. Its *code* is its
number in base T, so a table of all positions is an array of T^n rows in the order of its axes. When the mover has
scored, the next player comes first, and the mover comes last or is out. Totals never fall. So a position leads to
positions with a greater sum or fewer players, with one exception: if all players score 0, the position comes back after
n turns. These n positions, the rotations of one vector, are a *cycle* and are solved together.

For each position, tables hold the probabilities of winning, the mover's first, and one more number: the value that the
mover gives to a score of 0 when it chooses. It is the mover's probability of winning in the cycle's next position,
except in cycles without an equilibrium of deterministic choices (see `solve_cycles`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.lattice import copy, fill
from trialea.agents.no_dice.play import play_out
from trialea.agents.no_dice.turn import LANES, NUM_SCORES
from trialea.envs.jit import entry, kernel

_MOST_ROUNDS = 16


def cycles_of(total: int, num_players: int, target: int) -> NDArray[np.int64]:
    """Return the least code (C,) of every cycle whose totals add up to `total`."""
    first = np.indices((target,) * (num_players - 1)).reshape(num_players - 1, -1)
    last = total - first.sum(axis=0)
    codes = np.ravel_multi_index((*first, np.clip(last, 0, target - 1)), (target,) * num_players)
    codes = codes[(last >= 0) & (last < target)]
    least, turned = codes, codes
    for _ in range(num_players - 1):
        turned = rotated(turned, num_players, target)
        least = np.minimum(least, turned)
    found: NDArray[np.int64] = codes[codes == least]
    return found


def rotated(codes: NDArray[np.int64], num_players: int, target: int) -> NDArray[np.int64]:
    """Return the codes of the positions after a score of 0."""
    high = target ** (num_players - 1)
    turned: NDArray[np.int64] = codes % high * target + codes // high
    return turned


@kernel
def fill_worth(table: Any, fewer: Any, code: Any, target: Any, lane: Any, worth: Any) -> None:
    """Fill a lane of `worth` (n, NUM_SCORES, LANES): the value of each score of a position's turn to every player.

    Args:
        table: (T^n, ≥ n), the values of positions of n players; those that scores lead to must be known.
        fewer: (T^(n-1), ≥ n - 1), the same for one player fewer.
        code: the position.
        target: T.
        lane: the lane.
        worth: out; players in order from the mover on.
    """
    players = len(worth)
    mover, rest = code // len(fewer), code % len(fewer)
    after = rest * target + mover
    for score in range(NUM_SCORES):
        if mover + score < target:
            worth[0, score, lane] = table[after + score, players - 1]
            for k in range(1, players):
                worth[k, score, lane] = table[after + score, k - 1]
        else:
            worth[0, score, lane] = 0.0
            for k in range(1, players):
                worth[k, score, lane] = fewer[rest, k - 1]


@kernel
def _guess(table: Any, code: Any, players: Any, target: Any, lane: Any, out: Any) -> None:
    """Guess the values (n, LANES) of a position from positions with one point and two points more for a player."""
    step, room, place, rest = 0, target, 1, code
    for _ in range(players):
        missing = target - 1 - rest % target
        if missing > 0:
            step += place
            room = min(room, missing)
        place *= target
        rest //= target
    for k in range(players):
        if step == 0:
            out[k, lane] = 1.0 / players
        elif room == 1:
            out[k, lane] = table[code + step, k]
        else:
            out[k, lane] = 2.0 * table[code + step, k] - table[code + 2 * step, k]


@kernel
def _close(worth: Any, chances: Any, gains: Any, found: Any) -> None:
    """Find the values of LANES cycles, given the probability of every score.

    Let p be the probability that a position's mover scores 0, and c the expected value of its other scores to some
    player. That player's value in the position is c + p × its value in the cycle's next position. These are n linear
    equations round the cycle. Their solution is c_0 + p_0 c_1 + p_0 p_1 c_2 + …, over 1 - p_0 p_1 … p_(n-1).

    Args:
        worth: (n, n, NUM_SCORES, LANES), the value of each score, by position and player from its mover on.
        chances: (n, NUM_SCORES, LANES), of each score, by position.
        gains: (n, n, LANES) scratch, the c.
        found: (n, n, LANES), out: the values, by position and player from its mover on.
    """
    players = len(found)
    for r in range(players):
        for k in range(players):
            for lane in range(LANES):
                gains[r, k, lane] = 0.0
            for score in range(1, NUM_SCORES):
                for lane in range(LANES):
                    gains[r, k, lane] += chances[r, score, lane] * worth[r, k, score, lane]
    for r in range(players):
        for lane in range(LANES):
            whole = 0.0
            for k in range(players):
                value, passed = 0.0, 1.0
                for j in range(players):
                    value += passed * gains[(r + j) % players, (k - j) % players, lane]
                    passed *= chances[(r + j) % players, 0, lane]
                found[r, k, lane] = value / (1.0 - passed)
                whole += found[r, k, lane]
            for k in range(players):  # they add up to 1 but for rounding, which would grow from position to position
                found[r, k, lane] /= whole


@kernel
def _same(found: Any, before: Any, lane: Any) -> Any:
    """Return whether no value of a lane's cycle has changed."""
    for r in range(len(found)):
        for k in range(len(found)):
            if found[r, k, lane] != before[r, k, lane]:
                return False
    return True


@kernel
def _keep(values: Any, chosen_by: Any, lane: Any, out: Any) -> None:
    """Write the values of a lane's cycle, and the values given to scores of 0, to `out` (n, n + 1)."""
    players = len(values)
    for r in range(players):
        for k in range(players):
            out[r, k] = values[r, k, lane]
        out[r, players] = chosen_by[r, lane]


@entry
def solve_cycles(table: Any, fewer: Any, codes: Any, target: Any, throws: Any, turn: Any, out: Any) -> None:
    """Find an equilibrium of each cycle by policy iteration.

    All players choose; the values of the cycle follow exactly; all players choose again by these values; and so on
    until nothing changes. With two players this must end. With more it may return to earlier choices, in cycles whose
    only equilibrium is mixed. The result is then, of the choices met, those against which another turn gains least.

    Args:
        table: (T^n, n + 1), the positions; those with a greater sum must be known.
        fewer: (T^(n-1), ≥ n - 1), the positions of one player fewer.
        codes: (C,), one position of each cycle.
        target: T.
        throws: the number of throws of a turn.
        turn: the tables of a turn.
        out: (C, n, n + 1), the rows of the cycles' positions, in the order in which they follow each other.
    """
    players = out.shape[1]
    rows = np.empty((throws + 1, turn.lattice.num_patterns, LANES))
    choices = np.empty((throws, len(turn.full), LANES), np.uint8)
    reach = np.empty((2, turn.lattice.num_patterns, LANES))
    worth = np.empty((players, players, NUM_SCORES, LANES))
    chances = np.empty((players, NUM_SCORES, LANES))
    found, before = np.empty((players, players, LANES)), np.empty((players, players, LANES))
    chosen_by, before_by = np.empty((players, LANES)), np.empty((players, LANES))
    scratch = np.empty((players, players, LANES))
    gain, least = np.empty(LANES), np.empty(LANES)
    for low in range(0, len(codes), LANES):
        here = min(LANES, len(codes) - low)
        for lane in range(LANES):
            code = codes[low + min(lane, here - 1)]
            for r in range(players):
                fill_worth(table, fewer, code, target, lane, worth[r])
                _guess(table, code, players, target, lane, found[r])
                code = code % len(fewer) * target + code // len(fewer)
        fill(least, np.inf)
        for rounds in range(_MOST_ROUNDS):
            copy(found.reshape(-1), before.reshape(-1))
            copy(chosen_by.reshape(-1), before_by.reshape(-1))
            fill(gain, 0.0)
            for r in range(players):
                copy(found[(r + 1) % players, players - 1], chosen_by[r])
                copy(chosen_by[r], worth[r, 0, 0])
                play_out(worth[r, 0], turn, rows, choices, reach, chances[r])
                for lane in range(LANES):
                    gain[lane] = max(gain[lane], rows[throws, -1, lane] - found[r, 0, lane])
            _close(worth, chances, scratch, found)
            for lane in range(LANES):
                place = low + min(lane, here - 1)  # lanes to spare do the last cycle again
                if _same(found, before, lane):
                    least[lane] = -1.0
                    _keep(found, chosen_by, lane, out[place])
                elif rounds > 0 and gain[lane] < least[lane]:
                    least[lane] = gain[lane]
                    _keep(before, before_by, lane, out[place])
            if max(least[0], least[1], least[2], least[3]) < 0.0:
                break
