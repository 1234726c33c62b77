"""Helpers that make up matches with given or random results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trialea.evaluation.matches.match import Match
from trialea.evaluation.matches.schedule import make_schedule, make_seatings


def match_of(shares: np.ndarray, seatings: np.ndarray, duplicate: bool = True) -> Match:
    """Return a match with these shares (G, n)."""
    schedule = make_schedule(seatings, len(shares), 0, duplicate)
    assert schedule.games == len(shares)
    numbers, none = np.arange(len(shares)), np.zeros(schedule.num_agents, np.int64)
    return Match(schedule, numbers, shares, np.ones_like(numbers), numbers.astype(np.uint64), none, none)


def luce(theta: Sequence[float], seats: int, rounds: int, seed: int, seatings: np.ndarray | None = None) -> Match:
    """Return a match in which each agent's win probability is proportional to exp(theta)."""
    seatings = make_seatings(len(theta), seats) if seatings is None else seatings
    games = rounds * len(seatings)
    strength = np.array(theta)[np.tile(seatings, (rounds, 1))]
    luck = np.random.default_rng(seed).gumbel(size=(games, seatings.shape[1]))
    shares = np.zeros((games, seatings.shape[1]))
    shares[np.arange(games), (strength + luck).argmax(axis=1)] = 1.0
    return match_of(shares, seatings)
