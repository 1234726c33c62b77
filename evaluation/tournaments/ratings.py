"""Ratings fitted to all games at once, and cycles, which no rating can show.

The model is Luce's: at a table, agent i wins with a probability proportional to exp(theta_i). With two agents this is
the model of Bradley and Terry; with more it is the top place of Plackett and Luce's. Each game is split into
comparisons: the winner beats every other agent at the table, and a shared win counts by its shares. Under Luce's model
this gives the same ratings as whole games do (Azari Soufiani, Chen, Parkes and Xia, "Generalized method-of-moments for
rank aggregation", NIPS 2013). choix fits them (Maystre and Grossglauser, "Fast and accurate inference of Plackett-Luce
models", NIPS 2015).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import needs_extra
from trialea.evaluation.intervals import Interval
from trialea.evaluation.matches.match import Match

POINTS = 400 / log(10)  # points in a unit of theta: 400 points are odds of 10 to 1, as on Elo's scale
_PRIOR = 0.5  # units won, added to the played ones for each of two agents that met
_SAME = 1e-9  # shares closer than this are equal
_MOST_ITERATIONS = 10_000


@dataclass(frozen=True, slots=True)
class Ratings:
    """The strength of k agents, as one number for each.

    Attributes:
        points, interval: (k) the rating and its interval; 400 points are odds of 10 to 1. The anchor has 0; without an
            anchor the mean of all ratings is 0.
        rank, rank_interval: (k) the rank, 1 for the best, and its interval over the resamples.
        expected: (k) of (k): each agent's win rate against another according to the ratings; None for itself.
    """

    points: tuple[float, ...]
    interval: tuple[Interval, ...]
    rank: tuple[int, ...]
    rank_interval: tuple[tuple[int, int], ...]
    expected: tuple[tuple[float | None, ...], ...]


def fit_ratings(
    match: Match, confidence: float = 0.95, resamples: int = 1000, seed: int = 0, anchor: int | None = None
) -> Ratings:
    """Return ratings fitted to all games of a match at once, with intervals over its units.

    The intervals come from the Bayesian bootstrap (Rubin, Annals of Statistics 9, 1981): in each resample every unit,
    with all its games, has a random weight. Half a unit won by each of two agents that met is added, also with random
    weight. So an agent that never lost has a finite rating and an interval with a width. If all units in which two
    agents met went the same way, and neither won all, their weights have no effect. Then they count as that many units,
    each won or lost as a whole. For two agents alone whose units are single games, or all alike, this is Jeffreys'
    interval for a proportion, which is close to Wilson's.

    Args:
        match: the games; every two agents are linked by games, directly or through others.
        confidence: the confidence of the intervals, above 0 and below 1.
        resamples: the number of resamples.
        seed: the seed of the random weights.
        anchor: the agent whose rating is 0, without an interval; if None, the mean of all ratings is 0.

    Raises:
        MissingExtraError: choix is not installed.
    """
    with needs_extra("tournament", "a rating", "choix"):
        import choix
    k = len(match.turns)
    by_unit = _comparisons(match)
    one = _a_unit(by_unit, k)

    def fit(won: NDArray[np.float64], start: NDArray[np.float64] | None) -> NDArray[np.float64]:
        found = choix.ilsr_pairwise_dense(won, initial_params=start, max_iter=_MOST_ITERATIONS)
        return np.asarray(found - (found.mean() if anchor is None else found[anchor]), np.float64)

    def weighted(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(by_unit.T @ weights).reshape(k, k)

    played = weighted(np.ones(by_unit.shape[0]))
    alike = _all_alike(by_unit, k)
    theta = fit(played + _PRIOR * one, None)
    rng = np.random.default_rng(seed)
    drawn = np.empty((resamples, k))
    for i in range(resamples):
        weights, beside = rng.standard_exponential(by_unit.shape[0]), rng.standard_gamma(_PRIOR, (k, k))
        won = weighted(weights)
        won[alike] = rng.standard_gamma(played[alike] / one[alike]) * one[alike]
        # A weight of exactly 0, from underflow, would leave an agent without a rating.
        drawn[i] = fit(won + np.maximum(beside, 1e-9) * one, theta)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    limits = np.quantile(drawn, ends, axis=0)
    places = np.quantile(_ranks(drawn), ends, axis=0, method="nearest")
    odds = np.exp(theta[:, None] - theta)
    return Ratings(
        points=tuple((POINTS * theta).tolist()),
        interval=tuple((POINTS * low, POINTS * high) for low, high in limits.T.tolist()),
        rank=tuple(_ranks(theta[None])[0].tolist()),
        rank_interval=tuple((int(first), int(last)) for first, last in places.T.tolist()),
        expected=tuple(
            tuple(None if a == b else (odds[a, b] / (1 + odds[a, b])).item() for b in range(k)) for a in range(k)
        ),
    )


def _comparisons(match: Match) -> Any:
    """Return the comparisons that each agent won against each other in each unit: a sparse (U, k k) array.

    Each seat's share of a win counts against every seat that another agent held, so holding more seats is no advantage.
    """
    from scipy.sparse import coo_array

    k, places, shares = len(match.turns), match.places(), match.agent_shares()
    game, winner = np.nonzero(shares)
    won = shares[game, winner, None] * places[game]
    won[np.arange(len(game)), winner] = 0.0
    row, other = np.nonzero(won)
    unit, pair = match.units()[game[row]], winner[row] * k + other
    return coo_array((won[row, other], (unit, pair)), shape=(match.schedule.num_units, k * k)).tocsr()


def _a_unit(by_unit: Any, k: int) -> NDArray[np.float64]:
    """Return the mean number of comparisons between every two agents in a unit that has any, (k, k)."""
    compared = by_unit + by_unit[:, _other_way(k)]
    total, units = compared.sum(axis=0), (compared > 0).sum(axis=0)
    mean: NDArray[np.float64] = np.asarray(total / np.maximum(units, 1)).reshape(k, k)
    return mean


def _all_alike(by_unit: Any, k: int) -> NDArray[np.bool_]:
    """Return, for every two agents, whether all their units have the same share of wins, neither 0 nor 1: (k, k)."""
    won = by_unit.sum(axis=0)
    total = won + won[_other_way(k)]
    share = np.divide(won, total, out=np.zeros(k * k), where=total > 0)
    expected = (by_unit + by_unit[:, _other_way(k)]).multiply(share)
    off = np.abs(by_unit - expected).sum(axis=0)
    alike: NDArray[np.bool_] = (share > 0) & (share < 1) & (off < _SAME * np.maximum(total, 1.0))
    return alike.reshape(k, k)


def _other_way(k: int) -> NDArray[np.int64]:
    """Return the column of (j, i) among the columns (k k), for each (i, j)."""
    return np.arange(k * k).reshape(k, k).T.ravel()


def _ranks(ratings: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rank of each rating in its row, 1 for the highest."""
    ranks: NDArray[np.int64] = (ratings[:, None, :] > ratings[:, :, None]).sum(axis=2) + 1
    return ranks


@dataclass(frozen=True, slots=True)
class Lead:
    """A significant lead of one agent over another, in the games in which both sat.

    Attributes:
        agents: the winner and the loser.
        mean: the difference between their win rates.
        interval: its interval, which is above 0.
    """

    agents: tuple[str, str]
    mean: float
    interval: Interval


def find_cycles(leads: Mapping[tuple[str, str], Lead]) -> tuple[tuple[Lead, ...], ...]:
    """Return the cycles among leads, keyed by (winner, loser): for every lead on a cycle, a shortest cycle."""
    above: dict[str, list[str]] = {}
    for winner, loser in leads:
        above.setdefault(winner, []).append(loser)
    cycles: dict[tuple[str, ...], tuple[Lead, ...]] = {}
    for winner, loser in leads:
        path = _shortest_path(above, loser, winner)
        if path:
            first = path.index(min(path))
            cycle = (*path[first:], *path[:first])
            cycles[cycle] = tuple(leads[pair] for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    return tuple(sorted(cycles.values(), key=len))


def _shortest_path(above: Mapping[str, list[str]], start: str, end: str) -> list[str]:
    """Return the agents on a shortest path down from `start` to `end`; empty if there is none."""
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        agent = waiting.popleft()
        if agent == end:
            path = [agent]
            while path[-1] != start:
                path.append(came_from[path[-1]])
            return path[::-1]
        for other in above.get(agent, []):
            if other not in came_from and other != start:
                came_from[other] = agent
                waiting.append(other)
    return []
