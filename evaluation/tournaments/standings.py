"""What the games of a tournament show: a payoff matrix, ratings, cycles, and what is still undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from trialea.evaluation.intervals import Interval
from trialea.evaluation.matches.match import Match
from trialea.evaluation.measures.luck import Luck
from trialea.evaluation.measures.sample_size import from_pilot
from trialea.evaluation.results import Evaluation, GamesNeeded, listed
from trialea.evaluation.sampled import difference_of
from trialea.evaluation.tournaments.ratings import Lead, Ratings, find_cycles, fit_ratings


@dataclass(frozen=True, slots=True)
class Pair:
    """How two agents did in the games in which both sat.

    Attributes:
        agents: the two.
        games: how many games those were.
        distinct_games: how many of them differ in dice, in any action or in who else sat there.
        mean, interval: by how much more the first won than the second, unit by unit, and its interval.
        adjusted_mean, adjusted_interval: the same without luck, see `Difference`.
        needed: how many games it takes to tell the two apart.
    """

    agents: tuple[str, str]
    games: int
    distinct_games: int
    mean: float
    interval: Interval
    adjusted_mean: float | None
    adjusted_interval: Interval | None
    needed: GamesNeeded


@dataclass(frozen=True, slots=True)
class Tournament:
    """The results of a tournament between k agents in n seats.

    Attributes:
        evaluation: what every evaluation gives: win shares, the payoff matrix (`against`), seats, regret.
        tables: who sat together, by name.
        games_per_table: how many games each table played.
        pairs: every two agents.
        ratings: fitted to all games at once.
        anchor: the agent whose rating is 0; empty where the mean rating is.
        resamples: how many resamples the intervals of ratings come from.
        cycles: where a beat b, b beat c, and c beat a: each a ring of leads that are beyond doubt.
    """

    evaluation: Evaluation
    tables: tuple[tuple[str, ...], ...]
    games_per_table: int
    pairs: tuple[Pair, ...]
    ratings: Ratings
    anchor: str
    resamples: int
    cycles: tuple[tuple[Lead, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """The tournament as plain data for JSON: the keys of the evaluation, and its own."""
        own = {
            "tables": self.tables,
            "games_per_table": self.games_per_table,
            "pairs": [asdict(pair) for pair in self.pairs],
            "rating": self.ratings.points,
            "rating_interval": self.ratings.interval,
            "rank": self.ratings.rank,
            "rank_interval": self.ratings.rank_interval,
            "expected": self.ratings.expected,
            "anchor": self.anchor,
            "resamples": self.resamples,
            "cycles": [[asdict(lead) for lead in cycle] for cycle in self.cycles],
        }
        return {**self.evaluation.to_json(), **listed(own)}


def standings(
    evaluation: Evaluation,
    match: Match,
    names: Sequence[str],
    resamples: int = 1000,
    anchor: str = "",
    luck: Luck | None = None,
) -> Tournament:
    """What a complete match shows, seen as a tournament.

    Args:
        evaluation: its figures.
        match: its games.
        names: (k) of the agents.
        resamples: of the units, for the intervals of ratings.
        anchor: the agent whose rating shall be 0; if empty, the mean rating is.
        luck: that of each game, where it was measured.

    Raises:
        MissingExtraError: choix is not installed.
    """
    confidence = evaluation.confidence
    shares, seated, seats = match.agent_shares(), match.seated(), match.seats()
    pairs = []
    for a, b in combinations(range(len(names)), 2):
        both = seated[:, a] & seated[:, b]
        difference = match.of_units(shares[:, a] - shares[:, b], both)
        adjusted = luck.by_unit(match, 1.0 * (seats == a) - (seats == b), both) if luck else None
        couple = names[a], names[b]
        found = difference_of(couple, difference, adjusted, confidence)
        pairs.append(
            Pair(
                agents=couple,
                games=int(both.sum()),
                distinct_games=match.distinct(both),
                mean=found.mean,
                interval=found.interval,
                adjusted_mean=found.adjusted_mean,
                adjusted_interval=found.adjusted_interval,
                needed=from_pilot(couple, difference, match.games_per_unit(both), confidence, adjusted=adjusted),
            )
        )
    tables = list(dict.fromkeys(tuple(sorted(set(row))) for row in match.schedule.seatings.tolist()))
    return Tournament(
        evaluation=evaluation,
        tables=tuple(tuple(names[a] for a in table) for table in tables),
        games_per_table=match.schedule.games // len(tables),
        pairs=tuple(pairs),
        ratings=fit_ratings(match, confidence, resamples, evaluation.seed, names.index(anchor) if anchor else None),
        anchor=anchor,
        resamples=resamples,
        cycles=find_cycles(leads(pairs)),
    )


def leads(pairs: Sequence[Pair]) -> dict[tuple[str, str], Lead]:
    """The pairs in which one won more beyond doubt, keyed by (who won more, over whom)."""
    found = {}
    for pair in pairs:
        (a, b), (low, high) = pair.agents, pair.interval
        if low > 0:
            found[a, b] = Lead((a, b), pair.mean, pair.interval)
        elif high < 0:
            found[b, a] = Lead((b, a), -pair.mean, (-high, -low))
    return found
