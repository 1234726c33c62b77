"""Play matches: many games at once between agents, every agent in every seat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from traceback import format_exception

import numpy as np
from numpy.typing import NDArray

from trialea.envs.agent import Agent
from trialea.envs.errors import IllegalActionError
from trialea.envs.game import Game, States
from trialea.evaluation.matches.match import Decisions, Match, MatchFailure, UnfinishedMatchError, distinct_names, join
from trialea.evaluation.matches.schedule import Schedule, make_schedule, make_seatings
from trialea.evaluation.states import take, whole_shares

BLOCK = 2048  # games played at once
_PRIME = np.uint64(0x100000001B3)  # of the 64-bit FNV-1a hash


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


def play_block(
    game: Game,
    agents: Sequence[Agent],
    names: Sequence[str],
    schedule: Schedule,
    numbers: NDArray[np.int64],
    report: Callable[[int], None] | None = None,
    keep: bool = False,
) -> tuple[Match, Decisions, MatchFailure | None]:
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

    def fault(self) -> MatchFailure | None:
        """What went wrong, if anything did."""
        if self.first_fault is None:
            return None
        offence, position, trace = self.first_fault
        return MatchFailure(offence, position, int(self.given_up.sum()), trace)

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
