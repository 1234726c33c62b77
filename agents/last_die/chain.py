"""A round of Last Die without `steer` as a Markov chain, and the expectations that follow from it.

A *position* is what lies before somebody who is about to throw: the dice in each hand, counted from the thrower to the
left, and whether the thrower is still opening. Who the players are does not matter, only where they sit, so a throw
leads to a position and a *turn*: how many seats to the left the next thrower sits. The number of dice in play never
rises, so positions are solved level by level, each level a set of linear equations in itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
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
    """The positions and throws of a round; S positions, by rising number of dice, those of the opening after others.

    Attributes:
        players: n.
        even_ends_round: the reading of the last die's even face.
        hands: (S, n) int64, dice in each hand from the thrower to the left; the first is never 0.
        opening: (S,) bool.
        levels: where in the positions each level ends: 12 of them, for 1 to 6 dice, opening or not.
        number_of: (2, 7^n) int64, the position of each code (see `codes_of`), with opening or without; -1 for none.
        source, target: (E,) int64, from which position to which a throw leads; `ROUND_OVER` where it ends the round.
            The sources rise.
        turn: (E,) int64, how many seats to the left of the thrower the next thrower sits.
        weight: (E,) int64, in how many of the 6^k equally likely throws of k dice.
        chance: (E,) float64, the same as a probability.
    """

    players: int
    even_ends_round: bool
    hands: Ints
    opening: NDArray[np.bool_]
    levels: tuple[int, ...]
    number_of: Ints
    source: Ints
    target: Ints
    turn: Ints
    weight: Ints
    chance: Floats

    def number(self, hands: tuple[int, ...], opening: bool) -> int:
        """The number of one position."""
        return int(self.number_of[int(opening), codes_of(np.array([hands]))[0]])

    @property
    def start(self) -> int:
        """The position in which a round begins: the opener holds all six dice."""
        return self.number((NUM_DICE, *[0] * (self.players - 1)), True)

    @property
    def num_positions(self) -> int:
        """S."""
        return len(self.hands)

    def bounds(self, level: int) -> tuple[int, int]:
        """The first position of a level, and the first after it."""
        return (self.levels[level - 1] if level else 0), self.levels[level]

    def edges(self, level: int) -> slice:
        """The throws from a level's positions."""
        low, high = np.searchsorted(self.source, self.bounds(level)).tolist()
        return slice(low, high)

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Where the last die is thrown, alone in play, (S,)."""
        alone: NDArray[np.bool_] = self.hands.sum(axis=1) == 1
        return alone


def codes_of(hands: Ints) -> Ints:
    """The codes (B,) of hands (B, n): their numbers of dice as digits in base seven."""
    codes: Ints = hands @ BASE ** np.arange(hands.shape[1])
    return codes


def look_up(chain: Chain, states: States) -> tuple[Ints, Ints]:
    """The position before which the mover of each state (B,) stands, -1 for none, and where the players sit.

    Returns:
        The positions' numbers (B,); and how many seats to the left of the mover each player sits, (B, P).
    """
    n = chain.players
    if (states.num_players != n).any():
        raise OptionError(f"the solution is of {n} players")
    place = states.place[:, :n].astype(np.int64)
    distance = (place - place[np.arange(len(states)), states.mover][:, None]) % n
    return chain.number_of[states.opening.astype(np.int64), codes_of(hands_of(states, distance))], distance


def hands_of(states: States, distance: Ints) -> Ints:
    """The dice in each hand (B, n) from the mover to the left, the players sitting at the given distances (B, P)."""
    hands = np.empty(distance.shape, np.int64)
    np.put_along_axis(hands, distance, states.held[:, : distance.shape[1]].astype(np.int64), axis=1)
    return hands


def throws_of(dice: int) -> Iterator[tuple[int, int, int, int]]:
    """What a throw of so many dice may do: (go left, go right, stay, weight), a weight in 6^dice for each.

    The others leave the game, as a 1 does; a 3 goes left, a 5 right, and 2, 4 and 6 stay.
    """
    for left in range(dice + 1):
        for right in range(dice + 1 - left):
            for stay in range(dice + 1 - left - right):
                out = dice - left - right - stay
                ways = factorial(dice) // (factorial(left) * factorial(right) * factorial(stay) * factorial(out))
                yield left, right, stay, ways * 3**stay


def splits(dice: int, hands: int) -> Iterator[tuple[int, ...]]:
    """Every way to deal so many dice to so many hands."""
    if hands == 1:
        yield (dice,)
        return
    for first in range(dice + 1):
        for others in splits(dice - first, hands - 1):
            yield first, *others


def after_throw(hands: list[int], opening: bool) -> tuple[tuple[int, ...], bool, int]:
    """Who throws next when the dice lie so after a throw: the hands seen from there, opening or not, and the turn.

    The opener throws until the hand is empty; then play goes to the next player to the left who has dice, which is
    the thrower again where nobody else has.
    """
    if opening and hands[0]:
        return tuple(hands), True, 0
    n = len(hands)
    turn = next(distance % n for distance in range(1, n + 1) if hands[distance % n])
    return (*hands[turn:], *hands[:turn]), False, turn


@cache
def make_chain(players: int, even_ends_round: bool) -> Chain:
    """The chain of a round at a table of so many players, under one reading of the last die's even face."""
    places: dict[tuple[tuple[int, ...], bool], int] = {}
    levels = []
    for dice in range(1, NUM_DICE + 1):
        for opening in (False, True):
            for dealt in splits(dice, players):
                if dealt[0]:
                    places[dealt, opening] = len(places)
            levels.append(len(places))
    edges: dict[tuple[int, int, int], int] = defaultdict(int)
    for (dealt, opening), place in places.items():
        for left, right, stay, ways in throws_of(dealt[0]):
            after = [stay, dealt[1] + left, *dealt[2:-1], dealt[-1] + right]
            scores = sum(dealt) == 1 and stay == 1
            if not any(after) or (scores and even_ends_round):
                edges[place, ROUND_OVER, 0] += ways
            else:
                onward, still_opening, turned_by = after_throw(after, opening)
                edges[place, places[onward, still_opening], turned_by] += ways
    hands = np.array([dealt for dealt, _ in places], np.int64)
    openings = np.array([opening for _, opening in places])
    number_of = np.full((2, BASE**players), -1, np.int64)
    number_of[openings.astype(np.int64), codes_of(hands)] = np.arange(len(places))
    source, target, turn = np.array(list(edges), np.int64).T
    weight = np.array(list(edges.values()), np.int64)
    return Chain(
        players=players,
        even_ends_round=even_ends_round,
        hands=hands,
        opening=openings,
        levels=tuple(levels),
        number_of=number_of,
        source=source,
        target=target,
        turn=turn,
        weight=weight,
        chance=weight / NUM_FACES ** hands[source, 0],
    )


def points_thrown(chain: Chain) -> Floats:
    """What a throw from each position pays on average, (S, n), to each seat from the thrower to the left.

    Only the last die pays, and only whoever throws it: half of its faces are even.
    """
    points = np.zeros(chain.hands.shape)
    points[chain.alone, 0] = EVEN_MEAN / 2
    return points


def expectations(chain: Chain, gains: Floats, chance: Floats | None = None) -> Floats:
    """What each seat may expect from each position to the round's end, (S, n), seats from the thrower to the left.

    Args:
        chain: the round.
        gains: (S, n), what a throw from each position brings each of those seats on average.
        chance: (E,) to use instead of the chain's own, such as one that stops earlier.
    """
    used = chain if chance is None else chain._replace(chance=chance)
    values = np.zeros(gains.shape)
    for level in range(len(chain.levels)):
        low, high = chain.bounds(level)
        values[low:high] = solve_level(used, level, known_gains(used, level, gains, values))
    return values


def known_gains(chain: Chain, level: int, gains: Floats, values: Floats) -> Floats:
    """What the positions of a level (N, n) bring apart from what they bring by leading to one another.

    Args:
        chain, gains: as for `expectations`.
        level: its number.
        values: (S, n), right for the levels below.
    """
    low, high = chain.bounds(level)
    edges = chain.edges(level)
    leaves = (chain.target[edges] < low) & (chain.target[edges] != ROUND_OVER)
    known = gains[low:high].copy()
    source, target, turn = (column[edges][leaves] for column in (chain.source, chain.target, chain.turn))
    np.add.at(known, source - low, chain.chance[edges][leaves, None] * turned(values[target], turn))
    return known


def solve_level(chain: Chain, level: int, known: Floats) -> Floats:
    """The values (…, N, n) of a level's positions, which lead to one another and besides bring what is `known`.

    Turning the table is a rotation of the last axis, which the Fourier transform makes a factor: so there is one set of
    N equations for each frequency.
    """
    low, high = chain.bounds(level)
    edges = chain.edges(level)
    stays = chain.target[edges] >= low
    source, target, turn = (column[edges][stays] for column in (chain.source, chain.target, chain.turn))
    chance = chain.chance[edges][stays]
    given = np.fft.rfft(known, axis=-1)
    found = np.empty_like(given)
    for frequency in range(given.shape[-1]):
        rotation = np.exp(-2j * np.pi * frequency * np.arange(chain.players) / chain.players)
        matrix = np.eye(high - low, dtype=complex)
        np.subtract.at(matrix, (source - low, target - low), chance * rotation[turn])
        right = given[..., frequency].reshape(-1, high - low).T
        found[..., frequency] = np.linalg.solve(matrix, right).T.reshape(given.shape[:-1])
    values: Floats = np.fft.irfft(found, chain.players, axis=-1)
    return values


def turned(values: Floats, turn: Ints) -> Floats:
    """Values (E, n) of seats from the next thrower to the left, for the seats from the thrower, `turn` (E,) before."""
    n = values.shape[1]
    return np.take_along_axis(values, (np.arange(n) - turn[:, None]) % n, axis=1)


def residual(chain: Chain, gains: Floats, values: Floats) -> float:
    """How far `values` (S, n) are at most from satisfying their equations, for the `gains` of `expectations`."""
    inside = chain.target != ROUND_OVER
    follows = gains.copy()
    after = chain.chance[inside, None] * turned(values[chain.target[inside]], chain.turn[inside])
    np.add.at(follows, chain.source[inside], after)
    return float(np.abs(follows - values).max())
