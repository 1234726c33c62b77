"""Who plays whom in which seats with which dice: everything about a match that is settled before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from trialea.envs.dice import FOR_GAME_SEED, derive_many
from trialea.envs.errors import OptionError

_DETAIL = 1  # sets these games' seeds apart from those of environments with the same seed, which use 0
_TRIES = 500  # tables drawn for each round of a balanced design


@dataclass(frozen=True, slots=True)
class Schedule:
    """The G games of a match, numbered from 0: game g has seating g % R of the R seatings.

    Attributes:
        seatings: (R, n) int64, which agent sits where.
        games: G, a multiple of R.
        seed: from which every game's dice follow.
        duplicate: whether each round of R games shares its dice and so is one unit; if not, each game is a unit.
    """

    seatings: NDArray[np.int64]
    games: int
    seed: int
    duplicate: bool

    @property
    def num_agents(self) -> int:
        """How many agents take part."""
        return int(self.seatings.max()) + 1

    @property
    def num_units(self) -> int:
        """U, how many independent units the games form."""
        return self.games // (len(self.seatings) if self.duplicate else 1)

    def seats(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which agent sits where, (B, n), in the games of those numbers (B,)."""
        seats: NDArray[np.int64] = self.seatings[numbers % len(self.seatings)]
        return seats

    def units(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The units that the games of those numbers (B,) belong to, (B,)."""
        return numbers // len(self.seatings) if self.duplicate else numbers

    def seeds(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The seeds of the games of those numbers (B,), (B,): each follows from the match's seed and the unit alone."""
        seeds = np.empty(len(numbers), np.uint64)
        derive_many(np.full(len(numbers), self.seed, np.uint64), self.units(numbers), FOR_GAME_SEED, _DETAIL, seeds)
        return seeds


def make_schedule(seatings: NDArray[np.int64], games: int, seed: int, duplicate: bool) -> Schedule:
    """The schedule of at least so many games: full rounds of the seatings (R, n)."""
    if games < 1:
        raise OptionError(f"a match needs at least one game, not {games!r}")
    return Schedule(seatings, -(-games // len(seatings)) * len(seatings), seed, duplicate)


def make_seatings(num_agents: int, num_seats: int) -> NDArray[np.int64]:
    """Every rotation of the agents round the table, each once: (R, n), which agent sits where.

    With more agents than seats, every choice of n of them sits down together, in each of its rotations.

    With fewer agents than seats they are repeated round the table. Where they then do not come out even (two
    agents in three seats) each agent takes its turn at having the extra seat, so that in all seatings every
    agent holds every seat equally often. R is the number of agents where that divides the number of
    seats, else agents × seats.

    Raises:
        OptionError: fewer than two agents.
    """
    if num_agents < 2:
        raise OptionError(f"a match is between at least 2 agents, not {num_agents}")
    if num_agents > num_seats:
        return rotations(all_tables(num_agents, num_seats))
    seats = np.arange(num_seats)
    rows = [
        ((seats + turned) % num_seats + first) % num_agents
        for first in range(num_agents)
        for turned in range(num_seats)
    ]
    return np.array(list(dict.fromkeys(tuple(row) for row in np.array(rows).tolist())), np.int64)


def all_tables(num_agents: int, num_seats: int) -> NDArray[np.int64]:
    """Every choice of n of the agents, (tables, n)."""
    return np.array(list(combinations(range(num_agents), num_seats)), np.int64)


def rotations(tables: NDArray[np.int64]) -> NDArray[np.int64]:
    """The seatings of some tables (T, n): each in all its rotations, (T n, n)."""
    seats = np.arange(tables.shape[1])
    turned: NDArray[np.int64] = tables[:, (seats[:, None] + seats) % len(seats)]
    return turned.reshape(-1, len(seats))


def balanced_tables(num_agents: int, num_seats: int, least: int) -> NDArray[np.int64]:
    """At least so many different tables at which all agents sit equally often, and each pair meets: (tables, n).

    A cyclic design (Bose, "On the construction of balanced incomplete block designs", Annals of Eugenics 9, 1939): a
    round is one table moved along the circle of the k agents, which makes k tables at which everybody sits n times.
    How often two agents meet depends only on how far apart they are on the circle; each round is chosen, among some
    that are drawn, to make these numbers as even as possible.
    """
    k, n = num_agents, num_seats
    if least >= comb(k, n):
        return all_tables(k, n)
    rng = np.random.default_rng(0)  # the same agents always get the same tables
    circle = np.arange(k)
    met = np.zeros(k, np.int64)  # by distance on the circle; both directions
    tables: list[tuple[int, ...]] = []
    while len(tables) < least or not met[1:].all():
        drawn = [np.append(0, 1 + rng.permutation(k - 1)[: n - 1]) for _ in range(_TRIES)]
        rounds = []
        for first in drawn:
            table = np.sort((first + circle[:, None]) % k, axis=1)
            chosen = set(map(tuple, table.tolist()))
            if len(chosen) == k and chosen.isdisjoint(tables):
                apart = np.bincount(((first[:, None] - first) % k).ravel(), minlength=k)
                rounds.append((int(((met + apart)[1:] ** 2).sum()), sorted(chosen), apart))
        if not rounds:  # hardly a table is left
            return all_tables(k, n)
        _, chosen_round, apart = min(rounds, key=lambda entry: entry[0])
        tables += chosen_round
        met += apart
    return np.array(tables, np.int64)
