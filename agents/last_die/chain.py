"""A round of Last Die as a Markov chain, and the expected values that follow from it.

A *position* is the table just before a throw: the dice in each hand, counted from the thrower to the left, and whether
the thrower is still opening. Only the seats matter, not who sits there. So a throw leads to a position and a *turn*:
how many seats to the left the next thrower sits. The house variant `steer` asks for decisions and is not a chain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import OptionError
from trialea.envs.game import States
from trialea.envs.last_die.rules import NUM_DICE

NUM_FACES = 6
EVEN_MEAN = 4  # points: the mean of 2, 4 and 6
ROUND_OVER = -1
BASE = NUM_DICE + 1  # of a position's code: each hand holds 0 to 6 dice

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Chain(NamedTuple):
    """The S positions of a round and the E transitions between them.

    Attributes:
        even_ends_round: the reading of the last die's even face.
        hands: (S, n) int64, dice in each hand from the thrower to the left; the thrower always has some.
        opening: (S,) bool.
        number_of: (2, 7^n) int64, the position with a code (see `codes_of`), not opening or opening; -1 if none has it.
        source, target: (E,) int64, the positions before and after a throw; `ROUND_OVER` if the throw ends the round.
        turn: (E,) int64, how many seats to the left of the thrower the next thrower sits.
        chance: (E,) float64, the probability of the transition.
    """

    even_ends_round: bool
    hands: Ints
    opening: NDArray[np.bool_]
    number_of: Ints
    source: Ints
    target: Ints
    turn: Ints
    chance: Floats

    def number(self, hands: tuple[int, ...], opening: bool) -> int:
        """Return the number of one position."""
        return int(self.number_of[int(opening), codes_of(np.array([hands]))[0]])

    @property
    def players(self) -> int:
        """The number of players n."""
        return int(self.hands.shape[1])

    @property
    def start(self) -> int:
        """The position in which a round begins: the opener holds all six dice."""
        return self.number((NUM_DICE, *[0] * (self.players - 1)), True)

    @property
    def alone(self) -> NDArray[np.bool_]:
        """The positions (S,) in which only the last die is in play."""
        alone: NDArray[np.bool_] = self.hands.sum(axis=1) == 1
        return alone


def codes_of(hands: Ints) -> Ints:
    """Return the codes (B,) of hands (B, n): their numbers of dice as digits in base seven."""
    codes: Ints = hands @ BASE ** np.arange(hands.shape[1])
    return codes


def look_up(chain: Chain, states: States) -> tuple[Ints, Ints]:
    """Find the positions of states.

    Returns:
        The position (B,) in which each mover is about to throw, -1 if there is none; and how many seats to the left of
        the mover each player sits, (B, n).

    Raises:
        OptionError: the states have another number of players.
    """
    n = chain.players
    if (states.num_players != n).any():
        raise OptionError(f"states must be of {n} players, as the solution is")
    place = states.place[:, :n].astype(np.int64)
    distance = (place - place[np.arange(len(states)), states.mover][:, None]) % n
    hands = np.empty(distance.shape, np.int64)
    np.put_along_axis(hands, distance, states.held[:, :n].astype(np.int64), axis=1)
    return chain.number_of[states.opening.astype(np.int64), codes_of(hands)], distance


@cache
def make_chain(players: int, even_ends_round: bool) -> Chain:
    """Build the chain of a round for a number of players and one reading of the last die's even face."""
    dealt = [hands for hands in product(range(BASE), repeat=players) if hands[0] and sum(hands) <= NUM_DICE]
    positions = {position: number for number, position in enumerate(product(dealt, (False, True)))}
    edges: dict[tuple[int, int, int], float] = defaultdict(float)
    for (hands, opening), number in positions.items():
        for left, right, stay, chance in _throws(hands[0]):
            after = (stay, hands[1] + left, *hands[2:-1], hands[-1] + right)
            scores = sum(hands) == 1 and stay == 1
            if not any(after) or (scores and even_ends_round):
                edges[number, ROUND_OVER, 0] += chance
            else:
                turn = _next_thrower(after, opening)
                onward = after[turn:] + after[:turn]
                edges[number, positions[onward, opening and after[0] > 0], turn] += chance
    all_hands = np.array([hands for hands, _ in positions], np.int64)
    all_opening = np.array([opening for _, opening in positions])
    number_of = np.full((2, BASE**players), -1, np.int64)
    number_of[all_opening.astype(np.int64), codes_of(all_hands)] = np.arange(len(positions))
    source, target, turns = np.array(list(edges), np.int64).T
    return Chain(
        even_ends_round=even_ends_round,
        hands=all_hands,
        opening=all_opening,
        number_of=number_of,
        source=source,
        target=target,
        turn=turns,
        chance=np.array(list(edges.values())),
    )


def _throws(dice: int) -> Iterator[tuple[int, int, int, float]]:
    """Yield the outcomes of a throw: the numbers of dice that go left, go right and stay, and the probability.

    A 3 goes left, a 5 right; 2, 4 and 6 stay; a 1 leaves the game.
    """
    for left, right, stay in product(range(dice + 1), repeat=3):
        out = dice - left - right - stay
        if out >= 0:
            ways = factorial(dice) // (factorial(left) * factorial(right) * factorial(stay) * factorial(out))
            yield left, right, stay, ways * 3**stay / NUM_FACES**dice


def _next_thrower(hands: tuple[int, ...], opening: bool) -> int:
    """Return how many seats to the left of the thrower the next throw is made, from the hands after a throw.

    The opener throws until the hand is empty. Then the next player to the left who has dice throws. That is the thrower
    again if nobody else has any.
    """
    if opening and hands[0]:
        return 0
    n = len(hands)
    return next(distance % n for distance in range(1, n + 1) if hands[distance % n])


def points_thrown(chain: Chain) -> Floats:
    """Return the mean points of a throw from each position for each seat, (S, n), from the thrower to the left.

    Only the last die scores, for its thrower: half of its faces are even.
    """
    points = np.zeros(chain.hands.shape)
    points[chain.alone, 0] = EVEN_MEAN / 2
    return points


def throws_made(chain: Chain) -> Floats:
    """Return the throws that a throw from each position counts as for each seat, (S, n): one, for its thrower."""
    throws = np.zeros(chain.hands.shape)
    throws[:, 0] = 1.0
    return throws


def expectations(chain: Chain, gains: Floats) -> Floats:
    """Return the expected gain of each seat until the round's end, (S, n), from the thrower to the left.

    A turn of the table rotates the seats. The Fourier transform over the seats makes a rotation a factor, so each
    frequency has a separate system of S linear equations.

    Args:
        chain: the round.
        gains: (S, n), the mean gain of each seat by one throw from each position.
    """
    inside = chain.target != ROUND_OVER
    source, target, turn, chance = (column[inside] for column in (chain.source, chain.target, chain.turn, chain.chance))
    spectrum = np.fft.rfft(gains, axis=1)
    for frequency in range(spectrum.shape[1]):
        matrix = np.eye(len(gains), dtype=complex)
        np.subtract.at(matrix, (source, target), chance * np.exp(-2j * np.pi * frequency * turn / chain.players))
        spectrum[:, frequency] = np.linalg.solve(matrix, spectrum[:, frequency])
    values: Floats = np.fft.irfft(spectrum, chain.players, axis=1)
    return values


def turned(values: Floats, turn: Ints) -> Floats:
    """Return values (E, n) by seat from the thrower, given those from the next thrower, `turn` (E,) to the left."""
    n = values.shape[1]
    return np.take_along_axis(values, (np.arange(n) - turn[:, None]) % n, axis=1)


def residual(chain: Chain, gains: Floats, values: Floats) -> float:
    """Return the largest error of `values` (S, n) in the equations that `expectations` solves for these `gains`."""
    inside = chain.target != ROUND_OVER
    right_side = gains.copy()
    after = chain.chance[inside, None] * turned(values[chain.target[inside]], chain.turn[inside])
    np.add.at(right_side, chain.source[inside], after)
    return float(np.abs(right_side - values).max())
