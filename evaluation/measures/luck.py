"""Luck: how much of a result the dice decided, and the result without it.

Let V(s) be what every seat's share of the win is taken to be in position s. The *luck* of a throw is V after it less
what V was expected to be before it; of a decision V may rise or fall too, and that is its *error* (of V's own for the
most part, where V is an estimate). Both together lead from V at the start to the final share, for every seat:

    share = V(start) + luck + errors

Since luck has expectation 0, the *adjusted* share, share less luck, has the same expectation as the share itself,
whatever V is, so long as it takes the exact mean over the dice; the better V, the less it varies. That is the advantage
sum estimator of Zinkevich, Bowling, Bard, Kan and Billings, "Optimal unbiased estimators for evaluating agent
performance" (AAAI 2006). AIVAT (Burch, Schmid, Moravcik, Morrill and Bowling, "AIVAT: a new variance reduction
technique for agent evaluation in imperfect information games", AAAI 2018) adds the same correction for the choices of
an agent whose probabilities are known, which is not made here: agents need not tell them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trialea.agents import solve
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.registry import get_spec
from trialea.evaluation.intervals import Interval, has_spread, t_interval
from trialea.evaluation.matches.match import Decisions, Match
from trialea.evaluation.matches.schedule import Schedule
from trialea.evaluation.results import Adjusted, ValuesFrom, WinRateBreakdown
from trialea.evaluation.states import by_totals, take, whole_shares

_CONSISTENT = 1e-4  # no more than single precision may be out by
CHUNK = 16_384  # decisions whose states are in memory twice


@runtime_checkable
class ValueFunction(Protocol):
    """What every seat's share of the win is taken to be: exactly, or about.

    Adjusted results are unbiased whatever the values, as long as `chance_values` is the exact expectation of
    `state_values`, and of the shares where a throw ends the game.
    """

    def state_values(self, states: States) -> NDArray[np.float64]:
        """Every seat's share of the win, (B, P), in states in which a player is to act."""
        ...

    def chance_values(self, states: States) -> NDArray[np.float64]:
        """The same, (B, P), in states in which dice are to be thrown, as `Game.choose` and `Game.unthrown` give them.

        The mean over all throws that follow until a player is to act.
        """
        ...


def value_function_of(game: Game, solution: Any = None) -> tuple[ValueFunction, ValuesFrom]:
    """What luck in `game` is measured with, and where it comes from: its exact solution, or else an estimate.

    Args:
        game: the game.
        solution: its solution, where that is at hand; else it is read or computed.

    Raises:
        OptionError: there is neither for these options or this number of players.
    """
    try:
        solution = solve(game) if solution is None else solution
        if isinstance(solution, ValueFunction):
            return solution, "solution"
        reason = f"what is solved of {game.name} does not say how likely each seat is to win"
    except OptionError as error:  # the solver does not reach so far
        reason = str(error)
    estimate = get_spec(game.name).estimate
    if not estimate:
        raise OptionError(reason)
    values: ValueFunction = resolve_name(estimate)(game)
    return values, "estimate"


def values_for(
    game: Game, luck: bool | ValueFunction, solution: Any = None
) -> tuple[ValueFunction | None, ValuesFrom, str]:
    """What to measure luck with where it is asked for as `evaluate` takes it; where there is nothing, why not.

    `solution` is that of the game, where it is at hand.
    """
    if isinstance(luck, ValueFunction):
        _check_consistent(game, luck)
        return luck, "given", ""
    if not isinstance(luck, bool):
        raise OptionError(
            f"luck must be True, False or a value function, with state_values and chance_values, not {luck!r}"
        )
    if not luck:
        return None, "", "it was not asked for"
    try:
        return *value_function_of(game, solution), ""
    except OptionError as error:
        return None, "", str(error)


def position_values(game: Game, values: ValueFunction, states: States) -> NDArray[np.float64]:
    """Every seat's share of the win, (B, P), in any states: known where the game is over, else by the function."""
    found = np.empty((len(states), game.num_players))
    over, waiting = states.over != 0, (states.over == 0) & (states.pending != 0)
    found[over] = whole_shares(states.share[over, : game.num_players])
    for method, index in (
        (values.chance_values, np.flatnonzero(waiting)),
        (values.state_values, np.flatnonzero(~over & ~waiting)),
    ):
        if len(index):
            found[index] = _checked(method.__name__, method(take(states, index)), (len(index), game.num_players))
    return found


def _checked(method: str, values: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """What a value function gave, as an array, or an `OptionError` that says what is wrong with it."""
    wrong = ""
    try:
        given = np.asarray(values)
    except Exception as error:  # as other libraries' arrays may raise
        given, wrong = np.empty(0), f"what NumPy cannot read ({error})"
    else:
        if given.shape != shape:
            wrong = f"an array of shape {given.shape}"
        elif given.dtype.kind not in "fiub":
            wrong = f"an array of {given.dtype}"
        elif not np.isfinite(given).all():
            wrong = "numbers that are not finite"
    if wrong:
        raise OptionError(
            f"a value function's {method} must give a finite share of the win for every state and seat, here an array"
            f" of shape {shape}; it gave {wrong}"
        )
    return given


def _check_consistent(game: Game, values: ValueFunction) -> None:
    """Refuse a value function that is found not to expect of the first throw what it then makes of it."""
    unthrown = game.unthrown()
    outcomes = game.chance_outcomes(unthrown[0])
    throws, first = np.unique(np.concatenate([state for state, _ in outcomes]), return_inverse=True)
    chances = np.bincount(first.ravel(), [chance for _, chance in outcomes])
    mean = chances @ position_values(game, values, throws.view(np.recarray))
    expected = position_values(game, values, unthrown)[0]
    if not np.allclose(mean, expected, rtol=0.0, atol=_CONSISTENT):
        raise OptionError(
            "a value function's chance_values must be the exact mean of its state_values over the dice, else results"
            f" are biased; before the first throw it gave"
            f" {expected.round(9).tolist()}, and the mean is {mean.round(9).tolist()}"
        )


def errors_of(game: Game, values: ValueFunction, states: States, actions: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how much each of the decisions (D,) changed every seat's value, (D, P), before any dice were thrown."""
    change = np.empty((len(states), game.num_players))
    after = game.choose(states, actions)
    # Equal totals together: a solution then works out each turn once.
    for some, sign in ((states, -1), (after, 1)):
        order = by_totals(some)
        for low in range(0, len(order), CHUNK):
            index = order[low : low + CHUNK]
            found = sign * position_values(game, values, take(some, index))
            change[index] = found if sign < 0 else change[index] + found
    return change


@dataclass(frozen=True, slots=True)
class Luck:
    """Where the results of G games between n seats came from; for every seat `start` and the rest sum to its share.

    Attributes:
        start: (n,), each seat's value before the first throw.
        luck: (G, n), what the dice added to it.
        own_errors: (G, n), what the decisions of the agent in that seat added, in whichever of its seats it took them.
        others_errors: (G, n), what the decisions of the other agents added.
    """

    start: NDArray[np.float64]
    luck: NDArray[np.float64]
    own_errors: NDArray[np.float64]
    others_errors: NDArray[np.float64]

    @property
    def adjusted(self) -> NDArray[np.float64]:
        """Every seat's share of each game less its luck, (G, n)."""
        adjusted: NDArray[np.float64] = self.start + self.own_errors + self.others_errors
        return adjusted

    def by_unit(
        self, match: Match, weights: NDArray[Any], counted: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Means over the (counted) games of each unit, (U,), of adjusted shares weighed and summed by `weights` (G, n).

        Of what the seats are worth at the start the mean over all units is taken: who sits where is settled before
        anything is played, and no unit differs from another by it.
        """
        errors = (weights * (self.own_errors + self.others_errors)).sum(axis=1)
        start = match.of_units((weights * self.start).sum(axis=1), counted)
        units: NDArray[np.float64] = start.mean() + match.of_units(errors, counted)
        return units


class LuckMeter:
    """Adds up, while a match is played, what its decisions did to every seat's value; the dice did the rest.

    Args:
        game: what is played.
        values: the value function; None for a meter that only brings together what others found.
        schedule: the match.
    """

    def __init__(self, game: Game, values: ValueFunction | None, schedule: Schedule) -> None:
        self._game = game
        self._values = values
        self._schedule = schedule
        self._start = np.zeros(game.num_players)
        if values is not None:
            self._start = position_values(game, values, game.unthrown())[0]
        # By game and seat: what the agent in the seat did, and what the others did.
        self._own, self._others = np.zeros((2, schedule.games, game.num_players))

    def add(self, decisions: Decisions) -> None:
        """Judge some decisions (D,)."""
        assert self._values is not None
        change = errors_of(self._game, self._values, decisions.states, decisions.actions)
        own = self._schedule.seats(decisions.games) == decisions.agents[:, None]
        np.add.at(self._own, decisions.games, np.where(own, change, 0.0))
        np.add.at(self._others, decisions.games, np.where(own, 0.0, change))

    def to_arrays(self, numbers: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """What was found of the games of these numbers (G,), as arrays for `add_arrays`."""
        return {"start": self._start, "own": self._own[numbers], "others": self._others[numbers]}

    def add_arrays(self, numbers: NDArray[np.int64], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what another meter of the same match found, from its `to_arrays`."""
        self._start = arrays["start"]
        self._own[numbers], self._others[numbers] = arrays["own"], arrays["others"]

    def result(self, match: Match) -> Luck:
        """Where the results of the match came from, game by game."""
        own, others = self._own[match.numbers], self._others[match.numbers]
        return Luck(self._start, match.shares - self._start - own - others, own, others)


def interval_without_bounds(samples: NDArray[np.float64], confidence: float) -> Interval | None:
    """Student's t interval for the mean of independent samples (n,); None where they do not vary, or there is one."""
    return t_interval(samples, confidence) if has_spread(samples) else None


def adjust(match: Match, luck: Luck, confidence: float) -> Adjusted:
    """The figures of a match's k agents without luck; agents that finished no game are left out."""
    seats, seated, raw = match.seats(), match.seated(), match.agent_shares()
    agents = np.flatnonzero(seated.any(axis=0)).tolist()
    met = {(a, b): seated[:, a] & seated[:, b] for a in agents for b in agents}
    units = {pair: luck.by_unit(match, seats == pair[0], games) for pair, games in met.items() if games.any()}
    summands = [
        match.of_agents(np.broadcast_to(part, match.shares.shape))
        for part in (luck.start, luck.luck, luck.own_errors, luck.others_errors)
    ]
    parts = tuple(
        WinRateBreakdown(*(of_agents[seated[:, a], a].mean().item() for of_agents in summands)) for a in agents
    )
    return Adjusted(
        win_rate=tuple(part.start + part.own_errors + part.others_errors for part in parts),
        interval=tuple(interval_without_bounds(units[a, a], confidence) for a in agents),
        games_saved=tuple(_saved(match.of_units(raw[:, a], met[a, a]), units[a, a]) for a in agents),
        against=tuple(
            tuple(units[a, b].mean().item() if a != b and (a, b) in units else None for b in agents) for a in agents
        ),
        against_interval=tuple(
            tuple(
                interval_without_bounds(units[a, b], confidence) if a != b and (a, b) in units else None for b in agents
            )
            for a in agents
        ),
        parts=parts,
    )


def _saved(raw: NDArray[np.float64], adjusted: NDArray[np.float64]) -> float | None:
    """The variance of raw results over that of adjusted ones, by units (U,)."""
    if not has_spread(adjusted) or not has_spread(raw):
        return None
    return float(raw.var() / adjusted.var())


def in_times(saved: float | None) -> str:
    """A factor of games saved as it is shown."""
    if saved is None:
        return "–"
    return f"{saved:.1f} ×" if saved >= 0.05 else "< 0.1 ×"
