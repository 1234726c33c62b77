"""The probability distributions of a round of Last Die: its number of throws and its points.

The functions follow the chain forward, throw by throw, until the probability of a further throw is below `CUT`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log

import numpy as np

from trialea.agents.last_die.chain import NUM_FACES, ROUND_OVER, Chain, Floats, expectations

CUT = 1e-14
UNIT = 2  # points: the last die scores 2, 4 or 6


def throws_law(chain: Chain) -> Floats:
    """Return the probability of each number of throws in a round, (T,) from 0; the sum is 1 up to `CUT`."""
    over = np.bincount(chain.source, np.where(chain.target == ROUND_OVER, chain.chance, 0.0), len(chain.hands))
    return np.array([0.0, *(float(reached @ over) for reached in _forward(chain))])


def expected_visits(chain: Chain) -> Floats:
    """Return the mean number of throws from each position in a round, (S,), up to `CUT`."""
    visits: Floats = np.sum(list(_forward(chain)), axis=0)
    return visits


def _forward(chain: Chain) -> Iterator[Floats]:
    """Yield the probability (S,) that the 1st, 2nd, … throw of a round is made from each position."""
    inside = chain.target != ROUND_OVER
    source, target, chance = chain.source[inside], chain.target[inside], chain.chance[inside]
    reached: Floats = np.zeros(len(chain.hands))
    reached[chain.start] = 1.0
    while reached.sum() > CUT:
        yield reached
        reached = np.asarray(np.bincount(target, reached[source] * chance, len(reached)), np.float64)


def first_holders(chain: Chain) -> Floats:
    """Return the probability (n,) that each seat, from the opener to the left, is the first to hold the last die.

    The sum is less than 1, since the last dice can leave all at once.
    """
    gains = np.zeros(chain.hands.shape)
    gains[chain.alone, 0] = 1.0
    stopped = chain._replace(chance=np.where(chain.alone[chain.source], 0.0, chain.chance))
    holders: Floats = expectations(stopped, gains)[chain.start]
    return holders


def points_laws(chain: Chain) -> tuple[Floats, Floats]:
    """Return the distributions of the points in a round: each seat's, (n, U), and that of all together, (U,).

    Entry u is the probability of `UNIT` u points. Seats count from the opener to the left. Sums are 1 up to `CUT`.
    """
    n = chain.players
    holders = first_holders(chain)
    throws = ceil(log(CUT) / log(1 - 1 / NUM_FACES))  # of the last die: a 1 ends the round
    # Row by row: each seat's points are counted, and in the last row everybody's. Then: the holder, the points so far.
    counted = np.vstack([np.eye(n, dtype=bool), np.ones((1, n), bool)])[..., None]
    walk = np.zeros((n + 1, n, 3 * throws + 1))
    walk[:, :, 0] = holders
    ended = np.zeros((n + 1, 3 * throws + 1))
    ended[:, 0] = 1.0 - holders.sum()
    for _ in range(throws):
        even = np.where(counted, sum(_more(walk, by) for by in (1, 2, 3)), 3 * walk) / NUM_FACES
        passed = (np.roll(walk, 1, axis=1) + np.roll(walk, -1, axis=1)) / NUM_FACES
        ended += walk.sum(axis=1) / NUM_FACES
        if chain.even_ends_round:
            ended += even.sum(axis=1)
            walk = passed
        else:
            walk = passed + even
    likely = int(np.flatnonzero(ended[-1] > 0)[-1]) + 1
    return ended[:-1, :likely], ended[-1, :likely]


def _more(walk: Floats, by: int) -> Floats:
    """Shift the last axis by a number of units."""
    after = np.zeros_like(walk)
    after[..., by:] = walk[..., :-by]
    return after
