"""How often a game of Last Die for four, without `steer`, is won outright and how often shared.

In a whole game everybody opens equally often and rounds are independent, so turning the table changes nothing in the
joint law of the scores: each player's share of the win is 1/n on average, exactly. That is an argument, not a
computation. Here the joint law itself is evaluated. Let X_j be the points of place j, and its generating function

    Φ(z) = E[z_1^(X_1 - X_0) z_2^(X_2 - X_0) z_3^(X_3 - X_0)],

a product over the rounds. Each of them has a closed form: who is first with the last die is known from
`trialea.agents.last_die.laws.first_holders`, and what the die then brings to whom solves four linear equations. The
probability of an event that asks of each difference by itself whether it is below 0 or equal to 0 is a sum of Φ over a
grid of N^3 roots of unity: exact, but for differences of N/2 or more, which the laws of single scores bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.last_die.chain import NUM_FACES, Chain, Floats
from trialea.agents.last_die.laws import first_holders, points_laws
from trialea.envs.errors import OptionError
from trialea.envs.jit import entry, kernel

PLAYERS = 4
ERROR = 1e-12


class Winning(NamedTuple):
    """What comes of a whole game for the player at place 0, the first opener.

    Attributes:
        outright: the probability of winning alone.
        shared: (3,), of sharing the win with one, two, three others.
        share: the expected share of the win.
        error: what each of them is off by at most, rounding aside.
    """

    outright: float
    shared: tuple[float, float, float]
    share: float
    error: float


@kernel
def _of_round(opener: Any, holders: Any, found: Any) -> Any:
    """The generating function of a round that this place opens, from those `found` (4,) of the last die's holders."""
    total = np.complex128(1.0 - holders.sum())  # the last dice left at once
    for seat in range(4):
        total += holders[seat] * found[(opener + seat) & 3]
    return total


@entry
def sum_over_grid(holders: Any, rounds: Any, kept: Any, passed: Any, below: Any) -> Any:
    """The probabilities that place 0 has the most points, with 0, 1, 2, 3 others as many, (4,).

    The last die is at place j with points counted by a root of unity z: its generating function is x_j = kept(z) +
    passed(z) (x_{j-1} + x_{j+1}). Opposite places have the same neighbours, so that two equations give all four.

    Args:
        holders: (4,) from the opener to the left, the probability of being first with the last die alone in play.
        rounds: (4,) how many rounds each place opens.
        kept, passed: (N,) for each N-th root of unity in order.
        below: (N,) what asks for a difference below 0.
    """
    size = len(below)
    found = np.empty(4, np.complex128)
    ties, of_plane, of_line = np.zeros(4), np.zeros(4), np.zeros(4)
    for k1 in range(size // 2 + 1):  # the other half is the complex conjugate
        of_plane[:] = 0.0
        for k2 in range(size):
            of_line[:] = 0.0
            for k3 in range(size):
                k0 = (2 * size - k1 - k2 + size - k3) % size
                slope, other_slope = passed[k0] + passed[k2], passed[k1] + passed[k3]
                own, other = kept[k0] + kept[k2], kept[k1] + kept[k3]
                odd = (other + other_slope * own) / (1.0 - slope * other_slope)
                even = own + slope * odd
                found[0], found[2] = kept[k0] + passed[k0] * odd, kept[k2] + passed[k2] * odd
                found[1], found[3] = kept[k1] + passed[k1] * even, kept[k3] + passed[k3] * even
                term = np.complex128(1.0)
                for opener in range(4):
                    once = _of_round(opener, holders, found)
                    for _ in range(rounds[opener]):
                        term *= once
                p, q, r = below[k1], below[k2], below[k3]
                of_line[0] += (term * p * q * r).real
                of_line[1] += (term * (p * q + p * r + q * r)).real
                of_line[2] += (term * (p + q + r)).real
                of_line[3] += term.real
            of_plane += of_line
        ties += of_plane * (1.0 if k1 == 0 or 2 * k1 == size else 2.0)
    return ties / np.float64(size) ** 3


def winning(chain: Chain, rounds: NDArray[np.int64]) -> Winning:
    """The probabilities of winning of the player at place 0 of a table of four.

    Args:
        chain: of four players.
        rounds: (4,) how many rounds each place opens; in a whole game all are `rounds_each`.
    """
    if chain.players != PLAYERS:
        raise OptionError(f"the joint law of the scores is computed for {PLAYERS} players, not {chain.players}")
    laws = _score_laws(points_laws(chain)[0], rounds)
    tails = laws[:, ::-1].cumsum(axis=1)[:, ::-1].sum(axis=0)
    half = int(np.flatnonzero(tails > ERROR)[-1]) + 1
    error = float(tails[half]) if half < len(tails) else 0.0
    roots = np.exp(2j * np.pi * np.arange(2 * half) / (2 * half))
    below = np.array([(roots[k] ** np.arange(1, half + 1)).sum() for k in range(2 * half)])
    even = roots * (1 + roots + roots**2) / NUM_FACES
    stays = np.zeros(2 * half) if chain.even_ends_round else even
    ends = 1 / NUM_FACES + (even if chain.even_ends_round else 0.0)
    holders = first_holders(chain)[chain.start]
    ties = sum_over_grid(holders, rounds, ends / (1 - stays), 1 / (NUM_FACES * (1 - stays)), below)
    share = float(ties @ (1 / np.arange(1, PLAYERS + 1)))
    return Winning(float(ties[0]), (float(ties[1]), float(ties[2]), float(ties[3])), share, error)


def _score_laws(of_round: Floats, rounds: NDArray[np.int64]) -> Floats:
    """The laws (n, U) of each place's points after so many rounds opened by each place, from those of one round."""
    laws = []
    for place in range(len(rounds)):
        law = np.ones(1)
        for opener, count in enumerate(rounds):
            for _ in range(count):
                law = np.convolve(law, of_round[(place - opener) % len(rounds)])
        laws.append(law)
    return np.array(laws)
