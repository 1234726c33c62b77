"""Schedules: which agent sits where, and with which dice, in every game of a match.

Everything here is fixed before the first throw. Changing a seed derivation or a seating changes all results.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from trialea.envs.dice import FOR_AGENT, FOR_GAME_SEED, derive_many
from trialea.envs.errors import OptionError

_DETAIL = 1  # separates these games' seeds from those of environments with the same seed, which use 0
_MOST_TABLES = 10**6
_TRIES = 500  # random tables for each round of a balanced design


@dataclass(frozen=True, slots=True)
class Schedule:
    """The G games of a match, numbered from 0: game g has seating g % R of the R seatings.

    Attributes:
        seatings: (R, n) int64, the number of the agent in each seat.
        games: G, a multiple of R.
        seed: the seed of all dice.
        duplicate: whether each round of R games shares its dice, and so is one unit; if not, each game is a unit.
    """

    seatings: NDArray[np.int64]
    games: int
    seed: int
    duplicate: bool

    @property
    def num_agents(self) -> int:
        """The number of agents."""
        return int(self.seatings.max()) + 1

    @property
    def num_units(self) -> int:
        """U, the number of independent units."""
        return self.games // (len(self.seatings) if self.duplicate else 1)

    def seats(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the agent in each seat, (B, n), of the games with these numbers (B,)."""
        seats: NDArray[np.int64] = self.seatings[numbers % len(self.seatings)]
        return seats

    def units(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the units, (B,), that the games with these numbers (B,) belong to."""
        return numbers // len(self.seatings) if self.duplicate else numbers

    def seeds(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the seeds, (B,), of the games with these numbers (B,): functions of the match's seed and the unit."""
        seeds = np.empty(len(numbers), np.uint64)
        derive_many(np.full(len(numbers), self.seed, np.uint64), self.units(numbers), FOR_GAME_SEED, _DETAIL, seeds)
        return seeds


def make_schedule(seatings: NDArray[np.int64], games: int, seed: int, duplicate: bool) -> Schedule:
    """Return the schedule of full rounds of the seatings (R, n) with at least `games` games."""
    return Schedule(seatings, -(-games // len(seatings)) * len(seatings), seed, duplicate)


def agent_seeds(seed: int, num_agents: int) -> list[int]:
    """Return a seed for each agent's own random choices, derived from the match's `seed`."""
    seeds = np.empty(num_agents, np.uint64)
    derive_many(np.full(num_agents, seed, np.uint64), np.arange(num_agents), FOR_AGENT, 0, seeds)
    return list(map(int, seeds))


def make_seatings(num_agents: int, num_seats: int) -> NDArray[np.int64]:
    """Return every rotation of the agents round the table, each once: (R, n), the number of the agent in each seat.

    If there are more agents than seats, every choice of n agents sits down together, in each of its rotations.

    If there are fewer agents than seats, they are repeated round the table. Where the seats do not divide evenly (two
    agents in three seats), the agents take turns at having the extra seat. So every agent holds every seat equally
    often over all seatings. R is the number of agents if it divides the number of seats, else agents × seats.

    Raises:
        OptionError: fewer than two agents.
    """
    if num_agents < 2:
        raise OptionError(f"agents must be at least 2, got {num_agents}")
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
    """Return every choice of n agents, (tables, n).

    Raises:
        OptionError: more than a million choices.
    """
    if comb(num_agents, num_seats) > _MOST_TABLES:
        raise OptionError(
            f"agents must make at most {_MOST_TABLES:,} tables, got {comb(num_agents, num_seats):,} from {num_agents}"
            f" agents in {num_seats} seats. In a tournament, set a number of tables"
        )
    return np.array(list(combinations(range(num_agents), num_seats)), np.int64)


def rotations(tables: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the seatings of some tables (T, n): each table in all its rotations, (T n, n)."""
    seats = np.arange(tables.shape[1])
    turned: NDArray[np.int64] = tables[:, (seats[:, None] + seats) % len(seats)]
    return turned.reshape(-1, len(seats))


def balanced_tables(num_agents: int, num_seats: int, least: int) -> NDArray[np.int64]:
    """Return at least `least` tables at which all agents sit equally often and every two meet, (tables, n).

    This is a cyclic design (Bose, "On the construction of balanced incomplete block designs", Annals of Eugenics 9,
    1939). A round moves one table along the circle of the k agents. That makes k tables, at which every agent sits n
    times. How often two agents meet depends only on their distance on the circle. Each round is the one, of some random
    rounds, that makes these numbers most even.
    """
    k, n = num_agents, num_seats
    if least >= comb(k, n):
        return all_tables(k, n)
    rng = np.random.default_rng(0)  # the tables depend on the numbers of agents and seats only
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
        if not rounds:  # almost all tables are used
            return all_tables(k, n)
        _, chosen_round, apart = min(rounds, key=lambda entry: entry[0])
        tables += chosen_round
        met += apart
    return np.array(tables, np.int64)
