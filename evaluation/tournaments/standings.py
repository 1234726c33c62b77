"""The results of a tournament: an evaluation of all its games, ratings, and cycles among the agents."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from trialea.evaluation.matches.match import Match
from trialea.evaluation.results import Evaluation, PairResult, as_lists
from trialea.evaluation.tournaments.ratings import Lead, Ratings, find_cycles, fit_ratings


@dataclass(frozen=True, slots=True, repr=False)
class Tournament:
    """The results of a tournament between k agents in n seats.

    Attributes:
        evaluation: the results that every evaluation has: agents, pairs, seats, regret, luck.
        tables: the names of the agents at each table.
        games_per_table: the number of games at each table.
        ratings: fitted to all games at once.
        anchor: the agent whose rating is 0; empty if the mean rating is 0.
        resamples: the number of resamples behind the intervals of ratings.
        cycles: rings of significant leads, such as a beats b, b beats c and c beats a.
    """

    evaluation: Evaluation
    tables: tuple[tuple[str, ...], ...]
    games_per_table: int
    ratings: Ratings
    anchor: str
    resamples: int
    cycles: tuple[tuple[Lead, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the tournament as plain data for JSON: the keys of the evaluation, and its own."""
        own = {
            "tables": self.tables,
            "games_per_table": self.games_per_table,
            "pairs": [_pair_json(pair) for pair in unordered_pairs(self.evaluation)],
            "rating": self.ratings.points,
            "rating_interval": self.ratings.interval,
            "rank": self.ratings.rank,
            "rank_interval": self.ratings.rank_interval,
            "expected": self.ratings.expected,
            "anchor": self.anchor,
            "resamples": self.resamples,
            "cycles": [[asdict(lead) for lead in cycle] for cycle in self.cycles],
        }
        return {**self.evaluation.to_json(), **as_lists(own)}

    def __repr__(self) -> str:
        rated = sorted(zip(self.ratings.rank, self.evaluation.agents, self.ratings.points, strict=True))
        best = ", ".join(f"{name} {points:+.0f}" for _, name, points in rated)
        return f"<Tournament of {self.evaluation.games:,} games of {self.evaluation.game}: {best}>"


def standings(evaluation: Evaluation, match: Match, resamples: int = 1000, anchor: str = "") -> Tournament:
    """Return the results of a complete match as a tournament.

    Args:
        evaluation: the summary of the match.
        match: its games.
        resamples: the number of resamples of the units, for the intervals of ratings.
        anchor: the agent whose rating is 0; if empty, the mean rating is 0.

    Raises:
        MissingExtraError: choix is not installed.
    """
    names = list(evaluation.agents)
    tables = list(dict.fromkeys(tuple(sorted(set(row))) for row in match.schedule.seatings.tolist()))
    zero = names.index(anchor) if anchor else None
    return Tournament(
        evaluation=evaluation,
        tables=tuple(tuple(names[a] for a in table) for table in tables),
        games_per_table=match.schedule.games // len(tables),
        ratings=fit_ratings(match, evaluation.confidence, resamples, evaluation.seed, zero),
        anchor=anchor,
        resamples=resamples,
        cycles=find_cycles(leads(evaluation)),
    )


def unordered_pairs(evaluation: Evaluation) -> list[PairResult]:
    """Return the result of every two agents that met once, the one that was listed first in front."""
    return [evaluation.pairs[both] for both in combinations(evaluation.agents, 2) if both in evaluation.pairs]


def leads(evaluation: Evaluation) -> dict[tuple[str, str], Lead]:
    """Return the pairs in which one agent won significantly more, keyed by (winner, loser)."""
    return {
        both: Lead(both, pair.difference.mean, pair.difference.interval)
        for both, pair in evaluation.pairs.items()
        if pair.difference.interval[0] > 0
    }


def _pair_json(pair: PairResult) -> dict[str, Any]:
    """Return the keys of a pair, as docs/tournaments.md lists them."""
    counts = {"games": pair.games, "distinct_games": pair.distinct_games}
    return {**asdict(pair.difference), **counts, "needed": asdict(pair.games_needed)}
