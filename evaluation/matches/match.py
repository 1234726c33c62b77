"""Matches: many games at once between agents, every agent in every seat, if wished with the same dice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from traceback import format_exception
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trialea.envs.agent import Agent
from trialea.envs.errors import IllegalActionError
from trialea.envs.game import Game, States
from trialea.evaluation.matches.schedule import Schedule, make_schedule, make_seatings

if TYPE_CHECKING:
    from trialea.evaluation.measures.evaluation import Evaluation

BLOCK = 2048  # games played at once
_PRIME = np.uint64(0x100000001B3)  # of the 64-bit FNV-1a hash


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
class Fault:
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

    def __init__(self, fault: Fault, match: Match, evaluation: Evaluation | None = None, advice: str = "") -> None:
        kept = f"{len(match.numbers)} of {match.schedule.games} games are finished"
        super().__init__(f"{fault.offence}; {kept}; the position:\n{fault.position}{advice and chr(10)}{advice}")
        if fault.trace:
            self.add_note(f"The agent's error:\n{fault.trace}")
        self.match = match
        self.evaluation = evaluation


def play_match(
    game: Game,
    agents: Sequence[Agent],
    games: int = 4000,
    seed: int = 0,
    duplicate: bool = True,
    progress: Callable[[float], None] | None = None,
    watch: Callable[[Decisions], None] | None = None,
    names: Sequence[str] | None = None,
) -> Match:
    """Play a match.

    Args:
        game: what is played.
        agents: k of them, at least 2; the same object may appear more than once.
        games: how many at least: it is rounded up to full rounds of all R seatings (see `make_seatings`).
        seed: from which every game's dice follow.
        duplicate: whether each round of seatings is played with one seed, so that every agent meets the same
            dice in the same seat.
        progress: called with the share of the games that are over, from 0 to 1.
        watch: called with all the decisions of each block of games.
        names: what to call the agents in errors; by default their own names.

    Raises:
        UnfinishedMatchError: an agent chose an action that is not legal, or raised an error; holds the games that were
            finished.
        OptionError: a number out of range.
    """
    names = distinct_names([agent.name for agent in agents]) if names is None else names
    schedule = make_schedule(make_seatings(len(agents), game.num_players), games, seed, duplicate)
    parts: list[Match] = []
    for low in range(0, schedule.games, BLOCK):
        numbers = np.arange(low, min(low + BLOCK, schedule.games))

        def report(over: int, low: int = low) -> None:
            if progress is not None:
                progress((low + over) / schedule.games)

        part, decisions, fault = play_block(game, agents, names, schedule, numbers, report, watch is not None)
        parts.append(part)
        if watch is not None:
            watch(decisions)
        if fault is not None:
            raise UnfinishedMatchError(fault, join(parts))
    return join(parts)


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


def play_block(
    game: Game,
    agents: Sequence[Agent],
    names: Sequence[str],
    schedule: Schedule,
    numbers: NDArray[np.int64],
    report: Callable[[int], None] | None = None,
    keep: bool = False,
) -> tuple[Match, Decisions, Fault | None]:
    """Play some games of a schedule, all at once.

    A game in which an agent chooses an illegal action is given up, and so are all about which it was asked when it
    raised an error; the others go on to their end.

    Args:
        game, agents, names: what is played, and by whom (k).
        schedule: the match that the games belong to.
        numbers: (B,) which games.
        report: called with the number of games that are over.
        keep: whether to keep the decisions.

    Returns:
        The finished games, their decisions (none unless kept), and what went wrong, if anything did.
    """
    table = _Table(game, agents, names, schedule, numbers)
    table.play(report or (lambda over: None), keep)
    done = ~table.given_up
    states, n = table.states, game.num_players
    points, turns = np.zeros(len(agents), np.int64), np.zeros(len(agents), np.int64)
    np.add.at(points, table.seats[done], states.scores[done, :n])
    np.add.at(turns, table.seats[done], states.turns[done, :n])
    shares, lengths = whole_shares(states.share[done, :n]), states.decisions[done].astype(np.int64)
    match = Match(schedule, numbers[done], shares, lengths, table.plays[done], points, turns)
    return match, table.decisions(), table.fault()


@dataclass(slots=True)
class _Kept:
    """Decisions that one agent took together, in the games `index` of a block."""

    states: States
    actions: NDArray[np.int64]
    agents: NDArray[np.int64]
    index: NDArray[np.int64]


@dataclass(slots=True)
class _Table:
    """A block of games (B,) of a schedule, and all that is known of them while they are played."""

    game: Game
    agents: Sequence[Agent]
    names: Sequence[str]
    schedule: Schedule
    numbers: NDArray[np.int64]
    seats: NDArray[np.int64] = field(init=False)  # (B, n)
    states: States = field(init=False)
    plays: NDArray[np.uint64] = field(init=False)
    given_up: NDArray[np.bool_] = field(init=False)
    first_fault: tuple[str, str, str] | None = None
    kept: list[_Kept] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seats = self.schedule.seats(self.numbers)
        self.states = self.game.start(self.schedule.seeds(self.numbers))
        self.plays = np.zeros(len(self.numbers), np.uint64)
        self.given_up = np.zeros(len(self.numbers), np.bool_)

    def play(self, report: Callable[[int], None], keep: bool) -> None:
        """Play all games to their end."""
        states = self.states
        unused = np.zeros((len(states), self.game.num_players))
        while len(playing := np.flatnonzero((states.over == 0) & ~self.given_up)):
            to_move = self.seats[playing, states.mover[playing]]
            for number in range(len(self.agents)):
                index = playing[to_move == number]
                if not len(index):
                    continue
                actions = self._actions(number, index)
                if actions is None:
                    continue
                before = take(states, index if keep else index[:0])
                try:
                    self.game.step(states, actions, index, unused)
                except IllegalActionError:  # no game has moved
                    index, actions = self._without_illegal(number, index, actions)
                    before = take(states, index if keep else index[:0])
                    self.game.step(states, actions, index, unused)
                self.plays[index] = (self.plays[index] ^ (actions + 1).view(np.uint64)) * _PRIME
                if keep:
                    self.kept.append(_Kept(before, actions, np.full(len(index), number), index))
            report(len(states) - len(playing))
        report(len(states))

    def _actions(self, number: int, index: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """What an agent chooses in the games of `index`; None, and they are given up, where nothing comes of it."""
        try:
            return self.game.as_actions(self.agents[number].act(take(self.states, index)), len(index))
        except IllegalActionError as error:
            self._give_up(index, f"agent {self.names[number]!r} gave no actions: {error}", index[0])
        except Exception as error:  # the agent's own
            what = f"agent {self.names[number]!r} raised {type(error).__name__}: {error}"
            self._give_up(index, what, index[0], "".join(format_exception(error)))
        return None

    def _without_illegal(
        self, number: int, index: NDArray[np.int64], actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The games of `index` in which an agent's actions are legal, and these actions; the others are given up."""
        game, states, every = self.game, take(self.states, index), np.arange(len(index))
        inside = (actions >= 0) & (actions < game.num_actions)
        legal = inside & (game.masks(states)[every, np.where(inside, actions, 0)] != 0)
        first = int(np.argmin(legal))
        why = game.why_illegal(states[first], int(actions[first]))
        self._give_up(index[~legal], f"agent {self.names[number]!r}: {why}", index[first])
        return index[legal], actions[legal]

    def _give_up(self, index: NDArray[np.int64], offence: str, game: int, trace: str = "") -> None:
        """Give up the games of `index` for what an agent did in one of them."""
        self.given_up[index] = True
        if self.first_fault is None:
            self.first_fault = offence, self.game.text(self.states[game]), trace

    def fault(self) -> Fault | None:
        """What went wrong, if anything did."""
        if self.first_fault is None:
            return None
        offence, position, trace = self.first_fault
        return Fault(offence, position, int(self.given_up.sum()), trace)

    def decisions(self) -> Decisions:
        """The kept decisions of all finished games in one piece."""
        none = np.empty(0, np.int64)
        kept = self.kept or [_Kept(take(self.states, none), none, none, none)]
        index = np.concatenate([part.index for part in kept])
        done = np.flatnonzero(~self.given_up[index])
        states = np.concatenate([part.states for part in kept]).view(np.recarray)
        actions = np.concatenate([part.actions for part in kept])
        agents = np.concatenate([part.agents for part in kept])
        games = self.numbers[index]
        units = self.schedule.units(games)
        if len(done) == len(index):
            return Decisions(states, actions, agents, units, games)
        return Decisions(take(states, done), actions[done], agents[done], units[done], games[done])


def whole_shares(share: NDArray[np.float32]) -> NDArray[np.float64]:
    """The seats' shares of the win (B, n) in finished games, made to sum to 1: states hold them in single precision."""
    shares = share.astype(np.float64)
    whole: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
    return whole


def take(states: States, index: NDArray[np.int64]) -> States:
    """A copy of the states picked by `index`."""
    return states[index].view(np.recarray)
