"""Matches: many games at once between agents, every agent in every seat, if wished with the same dice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.agent import Agent
from trialea.envs.dice import FOR_GAME_SEED, derive_many
from trialea.envs.errors import IllegalActionError, OptionError
from trialea.envs.game import Game, States

BLOCK = 2048  # games played at once
_DETAIL = 1  # sets these games' seeds apart from those of environments with the same seed, which use 0


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions that were taken, in no particular order.

    Attributes:
        states: (D,) the positions, before the decision.
        actions: (D,) int64, what was chosen.
        agents: (D,) int64, by which agent.
        units: (D,) int64, in which unit of the statistics.
    """

    states: States
    actions: NDArray[np.int64]
    agents: NDArray[np.int64]
    units: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Match:
    """What came of a match of G games between k agents in n seats. Game g had seating g % R of R seatings.

    Attributes:
        seatings: (R, n) int64, which agent sits where.
        duplicate: whether the R games of one unit shared their dice; if not, each game is a unit.
        shares: (G, n) float64, each seat's share of the win.
        lengths: (G,) int64, decisions taken in each game.
        points: (k,) int64, points that each agent scored in all.
        turns: (k,) int64, turns that it completed.
    """

    seatings: NDArray[np.int64]
    duplicate: bool
    shares: NDArray[np.float64]
    lengths: NDArray[np.int64]
    points: NDArray[np.int64]
    turns: NDArray[np.int64]

    @property
    def num_units(self) -> int:
        """How many independent units there are."""
        return len(self.shares) // (len(self.seatings) if self.duplicate else 1)

    def seats(self) -> NDArray[np.int64]:
        """Which agent sat where in each game, (G, n)."""
        return np.tile(self.seatings, (len(self.shares) // len(self.seatings), 1))

    def agent_shares(self) -> NDArray[np.float64]:
        """What each agent won of each game in all its seats, (G, k), 0 where it had none; every row sums to 1."""
        seats = self.seats()
        return np.stack([(self.shares * (seats == a)).sum(axis=1) for a in range(len(self.turns))], axis=1)

    def seated(self) -> NDArray[np.bool_]:
        """Whether each agent sat in each game, (G, k)."""
        seats = self.seats()
        return np.stack([(seats == a).any(axis=1) for a in range(len(self.turns))], axis=1)

    def of_units(self, of_games: NDArray[np.float64], counted: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """Means over the games of each unit: (U,) from (G,).

        Where only some games are `counted` (G,), the units without any are left out. With duplicate dice every unit
        has the same seatings, so then none is.
        """
        of_units = of_games.reshape(self.num_units, -1)
        among = np.ones_like(of_units) if counted is None else counted.reshape(of_units.shape)
        games = among.sum(axis=1)
        means: NDArray[np.float64] = (of_units * among).sum(axis=1)[games > 0] / games[games > 0]
        return means


def take(states: States, index: NDArray[np.int64]) -> States:
    """A copy of the states picked by `index`."""
    return states[index].view(np.recarray)


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
    seats = np.arange(num_seats)
    if num_agents > num_seats:
        tables = [np.array(table) for table in combinations(range(num_agents), num_seats)]
        return np.array([table[(seats + turned) % num_seats] for table in tables for turned in seats], np.int64)
    rows = [
        ((seats + turned) % num_seats + first) % num_agents
        for first in range(num_agents)
        for turned in range(num_seats)
    ]
    return np.array(list(dict.fromkeys(tuple(row) for row in np.array(rows).tolist())), np.int64)


def num_rounds(games: int, seatings: NDArray[np.int64]) -> int:
    """How many full rounds of the seatings hold at least so many games."""
    if games < 1:
        raise OptionError(f"a match needs at least one game, not {games!r}")
    return -(-games // len(seatings))


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
        IllegalActionError: an agent chose an action that is not legal; names agent, action and position.
        OptionError: a number out of range.
    """
    names = distinct_names([agent.name for agent in agents]) if names is None else names
    seatings = make_seatings(len(agents), game.num_players)
    total = num_rounds(games, seatings) * len(seatings)
    number = np.arange(total)
    units = number // len(seatings) if duplicate else number
    seeds = np.empty(total, np.uint64)
    derive_many(np.full(total, seed, np.uint64), units, FOR_GAME_SEED, _DETAIL, seeds)

    n = game.num_players
    shares, lengths = np.empty((total, n)), np.empty(total, np.int64)
    points, turns = np.zeros(len(agents), np.int64), np.zeros(len(agents), np.int64)
    for low in range(0, total, BLOCK):
        block = slice(low, min(low + BLOCK, total))
        table = _Table(game, agents, names, seatings[number[block] % len(seatings)])

        def report(over: int, low: int = low) -> None:
            if progress is not None:
                progress((low + over) / total)

        states, decisions = table.play(seeds[block], units[block], report, watch is not None)
        shares[block], lengths[block] = states.share[:, :n], states.decisions
        np.add.at(points, table.seats, states.scores[:, :n])
        np.add.at(turns, table.seats, states.turns[:, :n])
        if watch is not None:
            watch(decisions)
    return Match(seatings, duplicate, shares, lengths, points, turns)


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


class _Table:
    """A block of games with its agents in their `seats` (B, n)."""

    def __init__(self, game: Game, agents: Sequence[Agent], names: Sequence[str], seats: NDArray[np.int64]) -> None:
        self.game = game
        self.agents = agents
        self.names = names
        self.seats = seats

    def play(
        self, seeds: NDArray[np.uint64], units: NDArray[np.int64], report: Callable[[int], None], keep: bool
    ) -> tuple[States, Decisions]:
        """Play the games (B,) to their end; the last states, and the decisions if they are to be kept."""
        states = self.game.start(seeds)
        unused = np.zeros((len(states), self.game.num_players))
        kept: list[tuple[States, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
        while len(playing := np.flatnonzero(states.over == 0)):
            to_move = self.seats[playing, states.mover[playing]]
            for number in range(len(self.agents)):
                index = playing[to_move == number]
                if not len(index):
                    continue
                actions = self.agents[number].act(take(states, index))
                before = take(states, index if keep else index[:0])
                self._step(states, actions, index, number, unused)
                if keep:
                    kept.append((before, np.asarray(actions, np.int64), np.full(len(index), number), units[index]))
            report(len(states) - len(playing))
        report(len(states))
        return states, _joined(kept, states)

    def _step(
        self, states: States, actions: Any, index: NDArray[np.int64], number: int, unused: NDArray[np.float64]
    ) -> None:
        try:
            self.game.step(states, actions, index, unused)
        except IllegalActionError as error:
            raise IllegalActionError(self._blame(take(states, index), actions, number, str(error))) from None

    def _blame(self, states: States, actions: Any, number: int, reason: str) -> str:
        """Who did what where, for the first of the `actions` (G,) that its state (G,) does not allow."""
        game, name = self.game, self.names[number]
        try:
            chosen = game.as_actions(actions, len(states))
        except IllegalActionError:
            return f"agent {name!r} gave no actions: {reason}"
        place = game.loops.first_illegal(states, np.arange(len(states)), chosen, game.num_actions, game.tables)
        state = states[place]
        what = game.why_illegal(state, int(chosen[place]))
        return f"agent {name!r} chose {what}; the position:\n{game.text(state)}"


def _joined(
    kept: list[tuple[States, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]], states: States
) -> Decisions:
    """The kept decisions of a block in one piece; `states` gives their type where there are none."""
    none = np.empty(0, np.int64)
    columns = list(zip(*kept, strict=True)) or [(states[:0],), (none,), (none,), (none,)]
    positions, actions, agents, units = (np.concatenate(column) for column in columns)
    return Decisions(positions.view(np.recarray), actions, agents, units)
