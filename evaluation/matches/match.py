"""The games of a match, the decisions in them, and the errors if a failing agent ends the match early.

Playing is in `trialea.evaluation.matches.play`.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import AgentError, IllegalActionError, TrialeaError
from trialea.envs.game import States
from trialea.evaluation.matches.schedule import Schedule
from trialea.evaluation.results import Evaluation


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions in some games of a match, in no particular order.

    Attributes:
        states: (D,) the positions before the decision.
        actions: (D,) int64, the chosen actions.
        agents: (D,) int64, the number of the agent that chose.
        units: (D,) int64, the statistical unit that the game belongs to.
        games: (D,) int64, the number of the game in the match.
    """

    states: States
    actions: NDArray[np.int64]
    agents: NDArray[np.int64]
    units: NDArray[np.int64]
    games: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Match:
    """G finished games of a schedule between k agents in n seats.

    Attributes:
        schedule: the games that were to be played.
        numbers: (G,) int64, the numbers of the finished games, ascending.
        shares: (G, n) float64, each seat's share of the win.
        lengths: (G,) int64, decisions in each game.
        plays: (G,) uint64, a hash of each game's actions. Games with the same dice and actions have equal hashes.
        points: (k,) int64, points that each agent scored in all games.
        turns: (k,) int64, turns that each agent completed.
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
        """The number of independent units that the games belong to."""
        return len(np.unique(self.units()))

    def units(self) -> NDArray[np.int64]:
        """Return the unit that each game belongs to, (G,)."""
        return self.schedule.units(self.numbers)

    def seats(self) -> NDArray[np.int64]:
        """Return the number of the agent in each seat of each game, (G, n)."""
        return self.schedule.seats(self.numbers)

    def places(self) -> NDArray[np.int64]:
        """Return the number of seats that each agent had in each game, (G, k)."""
        seats = self.seats()
        return np.stack([(seats == a).sum(axis=1) for a in range(len(self.turns))], axis=1)

    def seated(self) -> NDArray[np.bool_]:
        """Return whether each agent sat in each game, (G, k)."""
        return self.places() > 0

    def agent_shares(self) -> NDArray[np.float64]:
        """Return each agent's share of each game, from all its seats, (G, k); 0 if it did not sit. Rows sum to 1."""
        seats = self.seats()
        return np.stack([(self.shares * (seats == a)).sum(axis=1) for a in range(len(self.turns))], axis=1)

    def of_units(self, of_games: NDArray[np.float64], counted: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Return the mean over each unit's games, (U,), from a figure for each game (G,).

        If only some games are `counted` (G,), units without any are left out.
        """
        counted = np.ones(len(of_games), np.bool_) if counted is None else counted
        units = self.units()[counted]
        games = np.bincount(units)
        means: NDArray[np.float64] = np.bincount(units, of_games[counted])[games > 0] / games[games > 0]
        return means

    def games_per_unit(self, counted: NDArray[np.bool_]) -> int:
        """Return the mean number of `counted` games (G,) in the units that have any, rounded."""
        return round(int(counted.sum()) / len(np.unique(self.units()[counted])))

    def distinct(self, counted: NDArray[np.bool_] | None = None) -> int:
        """Return the number of (`counted`) games that differ in dice, in any action or in who sat at the table."""
        games = np.column_stack([self.units(), self.plays.view(np.int64), np.sort(self.seats(), axis=1)])
        return len(np.unique(games if counted is None else games[counted], axis=0))


def join(matches: Sequence[Match]) -> Match:
    """Return the games of several parts of one match, at least one part, as one match."""
    order = np.argsort(np.concatenate([match.numbers for match in matches]))
    numbers, shares, lengths, plays = (
        np.concatenate([getattr(match, name) for match in matches])[order]
        for name in ("numbers", "shares", "lengths", "plays")
    )
    points, turns = (sum(getattr(match, name) for match in matches) for name in ("points", "turns"))
    return Match(matches[0].schedule, numbers, shares, lengths, plays, points, turns)


@dataclass(frozen=True, slots=True)
class MatchFailure:
    """The first failure of an agent in some games.

    Attributes:
        reason: the agent, and its illegal action or exception.
        position: the position, as text; for an exception the first position in the agent's batch.
        games: the number of games that could not be finished because of illegal actions and exceptions.
        error: the agent's exception; None for an illegal action, or if it cannot be copied between processes.
        trace: the exception's traceback as text, which survives the copy; empty for an illegal action.
    """

    reason: str
    position: str
    games: int
    error: Exception | None = None
    trace: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return MatchFailure, (self.reason, self.position, self.games, _portable(self.error), self.trace)


def _portable(error: Exception | None) -> Exception | None:
    """Return `error` if it can be copied to another process, else None."""
    try:
        return error if pickle.loads(pickle.dumps(error)) is not None else None
    except Exception:  # its own methods may raise anything
        return None


class UnfinishedMatchError(TrialeaError):
    """An agent failed, so that a match ended early. The message names the agent, the failure and the position.

    It is an `IllegalActionError` too if the agent chose an illegal action, and an `AgentError` if the agent raised an
    exception. No finished game is lost, and games in progress beside the failed ones were played to their end.

    Attributes:
        match: the finished games.
        evaluation: their figures, from an evaluation or tournament; None if no game was finished.
    """

    def __init__(
        self, failure: MatchFailure, match: Match, evaluation: Evaluation | None = None, advice: str = ""
    ) -> None:
        finished = f"{len(match.numbers)} of {match.schedule.games} games are finished"
        advice = f"\n{advice}" if advice else ""
        super().__init__(f"{failure.reason}. {finished}. The position:\n{failure.position}{advice}")
        self.match = match
        self.evaluation = evaluation


class IllegalActionInMatchError(UnfinishedMatchError, IllegalActionError):
    """An agent chose an illegal action in a match."""


class AgentFailedInMatchError(UnfinishedMatchError, AgentError):
    """An agent raised an exception in a match. The exception is the `__cause__`, its traceback a note."""


def raise_unfinished(
    failure: MatchFailure, match: Match, evaluation: Evaluation | None = None, advice: str = ""
) -> NoReturn:
    """Raise the `UnfinishedMatchError` for a failure; see there for the arguments."""
    if not failure.trace:
        raise IllegalActionInMatchError(failure, match, evaluation, advice)
    raised = AgentFailedInMatchError(failure, match, evaluation, advice)
    raised.add_note(f"The agent's exception:\n{failure.trace}")
    raise raised from failure.error


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return the names, with "(2)", "(3)" … added to repeated ones."""
    distinct: list[str] = []
    for name in names:
        candidate, number = name, 1
        while candidate in distinct:
            number += 1
            candidate = f"{name} ({number})"
        distinct.append(candidate)
    return distinct
