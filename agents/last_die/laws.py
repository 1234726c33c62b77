"""The laws of a round of Last Die: how long it lasts, and how many points it brings.

All are found by following the chain forward, throw by throw, until what is left is less likely than `CUT`: the last die
is out with one throw in six, so that takes some 180 throws more than the first five dice do.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log

import numpy as np

from trialea.agents.last_die.chain import NUM_FACES, ROUND_OVER, Chain, Floats, expectations

CUT = 1e-14
UNIT = 2  # points: the last die scores 2, 4 or 6


def throws_law(chain: Chain) -> Floats:
    """The probability of each number of throws in a round, (T,) from 0 up; they sum to 1 but for `CUT`."""
    over = np.bincount(chain.source, np.where(chain.target == ROUND_OVER, chain.chance, 0.0), chain.num_positions)
    return np.array([0.0, *(float(reached @ over) for reached in _forward(chain))])


def expected_visits(chain: Chain) -> Floats:
    """How often each position is thrown from in a round on average, (S,), but for what `CUT` leaves out."""
    visits: Floats = np.sum(list(_forward(chain)), axis=0)
    return visits


def _forward(chain: Chain) -> Iterator[Floats]:
    """The probability that a round comes to its 1st, 2nd … throw in each position, (S,)."""
    inside = chain.target != ROUND_OVER
    source, target, chance = chain.source[inside], chain.target[inside], chain.chance[inside]
    reached: Floats = np.zeros(chain.num_positions)
    reached[chain.start] = 1.0
    while reached.sum() > CUT:
        yield reached
        reached = np.asarray(np.bincount(target, reached[source] * chance, chain.num_positions), np.float64)


def first_holders(chain: Chain) -> Floats:
    """The probability that each seat is the first with the last die alone in play, (S, n), from each position.

    Seats are counted from the thrower to the left. The probabilities of a position sum to less than 1, since the last
    dice may leave at once.
    """
    gains = np.zeros(chain.hands.shape)
    gains[chain.alone, 0] = 1.0
    return expectations(chain, gains, np.where(chain.alone[chain.source], 0.0, chain.chance))


def points_laws(chain: Chain) -> tuple[Floats, Floats]:
    """The laws of the points of each seat in a round, (n, U), and of all together, (U,); they sum to 1 but for `CUT`.

    Entry u is the probability of `UNIT` u points; seats are counted from the opener to the left.
    """
    n = chain.players
    holders = first_holders(chain)[chain.start]
    last = chain.edges(0)
    left, right = (float(chain.chance[last][chain.turn[last] == turn].sum()) for turn in (1, n - 1))
    throws = ceil(log(CUT) / log(1 - 1 / NUM_FACES))  # of the last die: each is its end with one chance in six
    # For each seat whose points are counted, and for all together: who holds the die, and the points so far.
    counted = np.vstack([np.eye(n, dtype=bool), np.ones((1, n), bool)])[..., None]
    walk = np.zeros((n + 1, n, 3 * throws + 1))
    walk[:, :, 0] = holders
    ended = np.zeros((n + 1, 3 * throws + 1))
    ended[:, 0] = 1.0 - holders.sum()
    for _ in range(throws):
        even = np.where(counted, sum(_more(walk, by) for by in (1, 2, 3)), 3 * walk) / NUM_FACES
        passed = left * np.roll(walk, 1, axis=1) + right * np.roll(walk, -1, axis=1)
        ended += walk.sum(axis=1) / NUM_FACES
        if chain.even_ends_round:
            ended += even.sum(axis=1)
            walk = passed
        else:
            walk = passed + even
    likely = int(np.flatnonzero(ended[-1] > 0)[-1]) + 1
    return ended[:-1, :likely], ended[-1, :likely]


def _more(walk: Floats, by: int) -> Floats:
    """The same with so many units more."""
    after = np.zeros_like(walk)
    after[..., by:] = walk[..., :-by]
    return after
