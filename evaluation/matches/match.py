"""Matches: many games at once between agents, every agent in every seat, if wished with the same dice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import IllegalActionError
from trialea.envs.game import States
from trialea.evaluation.matches.schedule import Schedule
from trialea.evaluation.results import Evaluation


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions that were taken, in no particular order.

    Attributes:
        states: (D,) the positions, before the decision.
        actions: (D,) int64, what was chosen.
        agents: (D,) int64, by which agent.
        units: (D,) int64, in which unit of the statistics.
        games: (D,) int64, in which game of the match.
    """

    states: States
    actions: NDArray[np.int64]
    agents: NDArray[np.int64]
    units: NDArray[np.int64]
    games: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Match:
    """What came of G games of a schedule between k agents in n seats.

    Attributes:
        schedule: which games were to be played.
        numbers: (G,) int64, which of them these are, in rising order.
        shares: (G, n) float64, each seat's share of the win.
        lengths: (G,) int64, decisions taken in each game.
        plays: (G,) uint64, a hash of the actions of each game: with the same dice, equal games have equal ones.
        points: (k,) int64, points that each agent scored in all.
        turns: (k,) int64, turns that it completed.
    """

    schedule: Schedule
    numbers: NDArray[np.int64]
    shares: NDArray[np.float64]
    lengths: NDArray[np.int64]
    plays: NDArray[np.uint64]
    points: NDArray[np.int64]
    turns: NDArray[np.int64]

    @property
    def num_units(self) -> int:
        """How many independent units the games belong to."""
        return len(np.unique(self.units()))

    def units(self) -> NDArray[np.int64]:
        """The unit that each game belongs to, (G,)."""
        return self.schedule.units(self.numbers)

    def seats(self) -> NDArray[np.int64]:
        """Which agent sat where in each game, (G, n)."""
        return self.schedule.seats(self.numbers)

    def places(self) -> NDArray[np.int64]:
        """How many seats each agent had in each game, (G, k)."""
        seats = self.seats()
        return np.stack([(seats == a).sum(axis=1) for a in range(len(self.turns))], axis=1)

    def seated(self) -> NDArray[np.bool_]:
        """Whether each agent sat in each game, (G, k)."""
        return self.places() > 0

    def agent_shares(self) -> NDArray[np.float64]:
        """What each agent won of each game in all its seats, (G, k), 0 where it had none; every row sums to 1."""
        return self.of_agents(self.shares)

    def of_agents(self, of_seats: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over the seats that each agent had in each game: (G, k) from (G, n), 0 where it had none."""
        seats = self.seats()
        return np.stack([(of_seats * (seats == a)).sum(axis=1) for a in range(len(self.turns))], axis=1)

    def of_units(self, of_games: NDArray[np.float64], counted: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Means over the games of each unit: (U,) from (G,).

        Where only some games are `counted` (G,), the units without any are left out.
        """
        counted = np.ones(len(of_games), np.bool_) if counted is None else counted
        units = self.units()[counted]
        games = np.bincount(units)
        means: NDArray[np.float64] = np.bincount(units, of_games[counted])[games > 0] / games[games > 0]
        return means

    def games_per_unit(self, counted: NDArray[np.bool_]) -> int:
        """How many of the `counted` games (G,) a unit has that has any, as a rule."""
        return round(int(counted.sum()) / len(np.unique(self.units()[counted])))

    def distinct(self, counted: NDArray[np.bool_] | None = None) -> int:
        """How many of the games, or of those `counted` (G,), differ in dice, in an action or in who sat there."""
        games = np.column_stack([self.units(), self.plays.view(np.int64), np.sort(self.seats(), axis=1)])
        return len(np.unique(games if counted is None else games[counted], axis=0))


def join(matches: Sequence[Match]) -> Match:
    """The games of several parts of one match, at least one part, in one piece."""
    order = np.argsort(np.concatenate([match.numbers for match in matches]))
    numbers, shares, lengths, plays = (
        np.concatenate([getattr(match, name) for match in matches])[order]
        for name in ("numbers", "shares", "lengths", "plays")
    )
    points, turns = (sum(getattr(match, name) for match in matches) for name in ("points", "turns"))
    return Match(matches[0].schedule, numbers, shares, lengths, plays, points, turns)


@dataclass(frozen=True, slots=True)
class MatchFailure:
    """What first kept some games from being finished.

    Attributes:
        offence: who chose what, and why it is illegal; or who raised what error.
        position: where, as text; of an error the first of the positions that the agent was asked about.
        games: how many games could not be finished for illegal actions and errors.
        trace: the traceback of an error of the agent's own; empty for an illegal action.
    """

    offence: str
    position: str
    games: int
    trace: str = ""


class UnfinishedMatchError(IllegalActionError):
    """An agent chose an illegal action or raised an error, so that a match came to an early end.

    Names agent, action or error, and position; an error's own traceback is a note to it. No finished game is lost;
    those that were under way beside the one in question were played to their end.

    Attributes:
        match: the games that were finished.
        evaluation: their figures, from an evaluation or tournament; None where no game was finished.
    """

    def __init__(
        self, fault: MatchFailure, match: Match, evaluation: Evaluation | None = None, advice: str = ""
    ) -> None:
        kept = f"{len(match.numbers)} of {match.schedule.games} games are finished"
        super().__init__(f"{fault.offence}; {kept}; the position:\n{fault.position}{advice and chr(10)}{advice}")
        if fault.trace:
            self.add_note(f"The agent's error:\n{fault.trace}")
        self.match = match
        self.evaluation = evaluation


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names, with "(2)", "(3)" … added to those that came before."""
    distinct: list[str] = []
    for name in names:
        candidate, number = name, 1
        while candidate in distinct:
            number += 1
            candidate = f"{name} ({number})"
        distinct.append(candidate)
    return distinct
