"""Luck: how much of a result the dice decided, and the result without it.

Let V(s) be every seat's expected share of the win in position s. The *luck* of a throw is V after it less the mean of V
over all throws. The *error* of a decision is the change of V at the decision; if V is an estimate, this is mostly V's
own error. For every seat, luck and errors lead from V at the start to the final share:

    share = V(start) + luck + errors

Luck has expectation 0. So the *adjusted* share, share less luck, has the same expectation as the share, for any V that
takes the exact mean over the dice. The better V is, the less the adjusted share varies. This is the advantage sum
estimator of Zinkevich, Bowling, Bard, Kan and Billings, "Optimal unbiased estimators for evaluating agent performance"
(AAAI 2006). AIVAT (Burch, Schmid, Moravcik, Morrill and Bowling, "AIVAT: a new variance reduction technique for agent
evaluation in imperfect information games", AAAI 2018) corrects for the random choices of an agent as well. That is not
done here, because agents need not give their probabilities.
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
from trialea.evaluation.results import AdjustedResult, LuckValues, WinRateBreakdown
from trialea.evaluation.states import by_totals, take, whole_shares

_CONSISTENT = 1e-4  # tolerance of the consistency check, which allows single precision
CHUNK = 16_384  # decisions whose states are in memory twice


@runtime_checkable
class ValueFunction(Protocol):
    """Values of positions: every seat's expected share of the win, exact or estimated.

    Adjusted results are unbiased for any values, as long as `chance_values` is the exact mean of `state_values` over
    the throws, and of the final shares where a throw ends the game.
    """

    def state_values(self, states: States) -> NDArray[np.float64]:
        """Return every seat's share of the win, (B, P), in states in which a player is to act."""
        ...

    def chance_values(self, states: States) -> NDArray[np.float64]:
        """Return the same, (B, P), for states in which dice are to be thrown, from `Game.choose` or `Game.unthrown`.

        It is the mean over all throws that follow until a player is to act.
        """
        ...


def value_function_of(game: Game, solution: Any = None) -> tuple[ValueFunction, LuckValues]:
    """Return the value function for the luck in `game`, and its source: the exact solution or an estimate.

    Args:
        game: the game.
        solution: the game's solution, if already loaded; else it is read from the cache or computed.

    Raises:
        OptionError: there is no solution and no estimate for these options or this number of players.
    """
    try:
        solution = solve(game) if solution is None else solution
        if isinstance(solution, ValueFunction):
            return solution, "solution"
        reason = f"the solution of {game.name} has no win probabilities (its values are points)"
    except OptionError as error:  # the game is beyond the solver's reach
        reason = str(error)
    estimate = get_spec(game.name).estimate
    if not estimate:
        raise OptionError(reason)
    values: ValueFunction = resolve_name(estimate)(game)
    return values, "estimate"


def position_values(game: Game, values: ValueFunction, states: States) -> NDArray[np.float64]:
    """Return every seat's share of the win, (B, P): the final share where the game is over, else by the function."""
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
    """Return the values from a value function's `method` as an array; raise `OptionError` if they are invalid."""
    wrong = ""
    try:
        given = np.asarray(values)
    except Exception as error:  # arrays of other libraries may raise anything
        given, wrong = np.empty(0), f"something that NumPy cannot read ({error})"
    else:
        if given.shape != shape:
            wrong = f"an array of shape {given.shape}"
        elif given.dtype.kind not in "fiub":
            wrong = f"an array of {given.dtype}"
        elif not np.isfinite(given).all():
            wrong = "values that are not finite"
    if wrong:
        raise OptionError(
            f"a value function's {method} must return a finite share of the win for every state and seat, here an array"
            f" of shape {shape}, got {wrong}"
        )
    return given


def check_consistent(game: Game, values: ValueFunction) -> None:
    """Raise `OptionError` if `chance_values` is not the mean of `state_values` over the first throw."""
    unthrown = game.unthrown()
    outcomes = game.chance_outcomes(unthrown[0])
    throws, first = np.unique(np.concatenate([state for state, _ in outcomes]), return_inverse=True)
    chances = np.bincount(first.ravel(), [chance for _, chance in outcomes])
    mean = chances @ position_values(game, values, throws.view(np.recarray))
    expected = position_values(game, values, unthrown)[0]
    if not np.allclose(mean, expected, rtol=0.0, atol=_CONSISTENT):
        raise OptionError(
            "a value function's chance_values must be the exact mean of its state_values over the dice, else results"
            f" are biased. Before the first throw the mean is {mean.round(9).tolist()}, got"
            f" {expected.round(9).tolist()}"
        )


def errors_of(game: Game, values: ValueFunction, states: States, actions: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the change of every seat's value, (D, P), at each of the decisions (D,), before any dice are thrown."""
    change = np.empty((len(states), game.num_players))
    after = game.choose(states, actions)
    # Sorting puts equal totals together, so that a solution computes each turn once.
    for some, sign in ((states, -1), (after, 1)):
        order = by_totals(some)
        for low in range(0, len(order), CHUNK):
            index = order[low : low + CHUNK]
            found = sign * position_values(game, values, take(some, index))
            change[index] = found if sign < 0 else change[index] + found
    return change


@dataclass(frozen=True, slots=True)
class Luck:
    """Luck and errors in G games between n seats. For every seat, `start` and the rest sum to its share.

    Attributes:
        start: (n,), each seat's value before the first throw.
        luck: (G, n), the change of the seat's value at throws.
        own_errors: (G, n), its change at decisions of the agent in that seat, in any of the agent's seats.
        others_errors: (G, n), its change at decisions of the other agents.
    """

    start: NDArray[np.float64]
    luck: NDArray[np.float64]
    own_errors: NDArray[np.float64]
    others_errors: NDArray[np.float64]

    @property
    def adjusted(self) -> NDArray[np.float64]:
        """Each seat's share of each game less its luck, (G, n)."""
        adjusted: NDArray[np.float64] = self.start + self.own_errors + self.others_errors
        return adjusted

    def by_unit(
        self, match: Match, weights: NDArray[Any], counted: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Return the mean over each unit's (counted) games, (U,), of the adjusted shares times `weights` (G, n).

        The value of the seats at the start is averaged over all units. Who sits where is fixed before the match, so
        it must not add to the spread between units.
        """
        errors = (weights * (self.own_errors + self.others_errors)).sum(axis=1)
        start = match.of_units((weights * self.start).sum(axis=1), counted)
        units: NDArray[np.float64] = start.mean() + match.of_units(errors, counted)
        return units


class LuckMeter:
    """Measures the change of every seat's value at the decisions of a match, while it is played. The rest is luck.

    Args:
        game: the game.
        values: the value function; None for a meter that only combines the arrays of others.
        schedule: the schedule of the match.
    """

    def __init__(self, game: Game, values: ValueFunction | None, schedule: Schedule) -> None:
        self._game = game
        self._values = values
        self._schedule = schedule
        self._start = np.zeros(game.num_players)
        if values is not None:
            self._start = position_values(game, values, game.unthrown())[0]
        # Errors of the agent in the seat, and of the others, by game and seat.
        self._own, self._others = np.zeros((2, schedule.games, game.num_players))

    def add(self, decisions: Decisions) -> None:
        """Add some decisions (D,)."""
        assert self._values is not None
        change = errors_of(self._game, self._values, decisions.states, decisions.actions)
        own = self._schedule.seats(decisions.games) == decisions.agents[:, None]
        np.add.at(self._own, decisions.games, np.where(own, change, 0.0))
        np.add.at(self._others, decisions.games, np.where(own, 0.0, change))

    def to_arrays(self, numbers: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the errors in the games with these numbers (G,), as arrays for `add_arrays`."""
        return {"start": self._start, "own": self._own[numbers], "others": self._others[numbers]}

    def add_arrays(self, numbers: NDArray[np.int64], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add the arrays that `to_arrays` of another meter of the same match returned."""
        self._start = arrays["start"]
        self._own[numbers], self._others[numbers] = arrays["own"], arrays["others"]

    def result(self, match: Match) -> Luck:
        """Return the luck and errors of the match, game by game."""
        own, others = self._own[match.numbers], self._others[match.numbers]
        return Luck(self._start, match.shares - self._start - own - others, own, others)


def interval_without_bounds(samples: NDArray[np.float64], confidence: float) -> Interval | None:
    """Return Student's t interval for the mean of samples (n,); None if they do not vary or there is only one."""
    return t_interval(samples, confidence) if has_spread(samples) else None


def adjust(match: Match, luck: Luck, agent: int, confidence: float) -> AdjustedResult:
    """Return the result of one `agent` (its number in the match) without luck."""
    held = match.seats() == agent
    games = held.any(axis=1)
    raw = match.of_units((match.shares * held).sum(axis=1), games)
    adjusted = luck.by_unit(match, held, games)
    terms = (luck.start, luck.luck, luck.own_errors, luck.others_errors)
    breakdown = WinRateBreakdown(*((term * held).sum(axis=1)[games].mean().item() for term in terms))
    return AdjustedResult(
        win_rate=breakdown.start + breakdown.own_errors + breakdown.others_errors,
        interval=interval_without_bounds(adjusted, confidence),
        games_saved=raw.var().item() / adjusted.var().item() if has_spread(adjusted) and has_spread(raw) else None,
        breakdown=breakdown,
    )
