"""Regret: the cost of each decision, measured against the exact solution of the game.

The regret of a decision is the value of the best action less the value of the chosen action. A value is the mover's
expectation if everybody plays on as the solution does. It is the probability of winning, and then regret is in
*milli-wins*, thousandths of a win. If the solution is in points, it is the points still to come, and regret is in
*milli-points*. A decision is *trivial* if every legal action has the same value; trivial decisions are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trialea.agents import solve
from trialea.agents.regrets import TIE, action_regrets
from trialea.envs.agent import ActionValues
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.evaluation.intervals import interval_of_ratio
from trialea.evaluation.matches.match import Decisions
from trialea.evaluation.results import Mistake, Regret, RegretBin, RegretUnit
from trialea.evaluation.states import by_totals, take

CHUNK = 16_384  # decisions whose (B, A) values are in memory at once
MILLI = 1000.0
MILLI_UNITS: dict[str, RegretUnit] = {"wins": "milli-wins", "points": "milli-points"}
_MOST_BINS = 10
_WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_STANDINGS = {1: "ahead", 0: "level", -1: "behind"}


@runtime_checkable
class SolutionValues(ActionValues, Protocol):
    """A solution that gives the value of every action.

    Attributes:
        unit: the unit of a value: the mover's wins (a probability) or its points still to come.
    """

    unit: Literal["wins", "points"]


def solution_of(game: Game) -> SolutionValues:
    """Return the exact solution of `game`, from the cache on disk or computed.

    Raises:
        OptionError: there is no solution for these options or this number of players.
    """
    solution = solve(game)
    if not isinstance(solution, SolutionValues):
        raise OptionError(f"the solution of {game.name} has no action values, so regret cannot be computed")
    return solution


def regrets(values: NDArray[np.float64], actions: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the regret of each of the `actions` (B,), and whether the decision is non-trivial, each (B,).

    Args:
        values: (B, A), NaN where an action is illegal.
        actions: (B,), legal actions.
    """
    lost, matters = action_regrets(values)
    return lost[np.arange(len(actions)), actions], matters


class RegretMeter:
    """Sums the regret of k agents while a match is played.

    Args:
        game: the game.
        solution: its exact values; None for a meter that only combines the arrays of others.
        num_agents: k.
        num_units: U, the number of independent units of the match.
        worst: the number of each agent's worst decisions to keep.
    """

    def __init__(
        self, game: Game, solution: SolutionValues | None, num_agents: int, num_units: int, worst: int = 5
    ) -> None:
        self._game = game
        self._solution = solution
        self._agents = [_AgentTally(num_units, worst) for _ in range(num_agents)]

    def add(self, decisions: Decisions) -> None:
        """Add some decisions (D,)."""
        order = by_totals(decisions.states)  # equal totals come together, so that a solution computes each turn once
        for low in range(0, len(order), CHUNK):
            index = order[low : low + CHUNK]
            self._add_chunk(
                take(decisions.states, index),
                decisions.actions[index],
                decisions.agents[index],
                decisions.units[index],
            )

    def _add_chunk(
        self, states: States, actions: NDArray[np.int64], agents: NDArray[np.int64], units: NDArray[np.int64]
    ) -> None:
        assert self._solution is not None
        values = self._solution.action_values(states)
        lost, matters = regrets(values, actions)
        standing = _standing(self._game, states)
        own = states.scores[np.arange(len(states)), states.mover]
        for number, tally in enumerate(self._agents):
            tally.made += int((agents == number).sum())
            mine = np.flatnonzero(matters & (agents == number))
            tally.by_throw.add(states.throws[mine].astype(np.int64), lost[mine])
            tally.by_score.add(own[mine].astype(np.int64), lost[mine])
            tally.by_standing.add(standing[mine], lost[mine])
            tally.count(units[mine], lost[mine])
            tally.keep_worst(states, actions, values, lost, mine)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all sums, as arrays for `add_arrays`."""
        return {f"{a}/{key}": array for a, tally in enumerate(self._agents) for key, array in tally.to_arrays().items()}

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add the arrays that `to_arrays` of another meter of the same match returned."""
        for a, tally in enumerate(self._agents):
            tally.add_arrays({key: arrays[f"{a}/{key}"] for key in _AgentTally.KEYS}, self._game.state_dtype)

    def results(self, confidence: float = 0.95) -> list[Regret]:
        """Return each agent's regret."""
        return [tally.result(self._game, confidence) for tally in self._agents]


def _standing(game: Game, states: States) -> NDArray[np.int64]:
    """Return whether each mover is ahead of the best of the others (1), level with it (0) or behind (-1), (B,)."""
    every = np.arange(len(states))
    good = states.scores[:, : game.num_players].astype(np.int64) * (1 if game.score_scale > 0 else -1)
    own = good[every, states.mover].copy()
    out_of_it = states.finished[:, : game.num_players] != 0
    out_of_it[every, states.mover] = True
    rivals = np.where(out_of_it, np.iinfo(np.int64).min, good).max(axis=1)
    return np.sign(np.where(own > rivals, 1, np.where(own == rivals, 0, -1)))


class _Sums:
    """Sums and counts of regret, keyed by a whole number."""

    def __init__(self) -> None:
        self.regret: dict[int, float] = defaultdict(float)
        self.count: dict[int, int] = defaultdict(int)

    def add(self, keys: NDArray[np.int64], lost: NDArray[np.float64]) -> None:
        """Add decisions with their keys and regrets, each (B,)."""
        found, which = np.unique(keys, return_inverse=True)
        sums, counts = np.bincount(which, lost, len(found)), np.bincount(which, minlength=len(found))
        for key, regret, count in zip(found.tolist(), sums.tolist(), counts.tolist(), strict=True):
            self.regret[key] += regret
            self.count[key] += count

    def to_array(self) -> NDArray[np.float64]:
        """Return rows of key, sum and count, (keys, 3)."""
        rows = [(key, self.regret[key], self.count[key]) for key in self.count]
        return np.array(rows, np.float64).reshape(-1, 3)

    def add_array(self, rows: NDArray[np.float64]) -> None:
        """Add the rows that `to_array` returned."""
        for key, regret, count in rows.tolist():
            self.regret[int(key)] += regret
            self.count[int(key)] += int(count)

    def bins(self, labels: Iterable[tuple[str, range]]) -> dict[str, RegretBin]:
        """Return a bin for each label and its range of keys. Bins without decisions are left out."""
        whole = sum(self.regret.values())
        bins = {}
        for label, keys in labels:
            count = sum(self.count[key] for key in keys if key in self.count)
            regret = sum(self.regret[key] for key in keys if key in self.regret)
            if count:
                bins[label] = RegretBin(count, MILLI * regret / count, regret / whole if whole else 0.0)
        return bins

    def singly(self) -> dict[str, RegretBin]:
        """Return a bin for each key."""
        return self.bins((str(key), range(key, key + 1)) for key in sorted(self.count))

    def binned(self) -> dict[str, RegretBin]:
        """Return at most ten bins of keys, of the least round width."""
        if not self.count:
            return {}
        low, high = min(self.count), max(self.count)
        width = next((w for w in _WIDTHS if high // w - low // w < _MOST_BINS), _WIDTHS[-1])
        if width == 1:
            return self.singly()
        starts = range(low // width * width, high + 1, width)
        return self.bins((f"{start}–{start + width - 1}", range(start, start + width)) for start in starts)


class _AgentTally:
    """One agent's sums; `lost`, `judged` and `optimal` are (U,), by unit of the match."""

    KEYS = ("made", "units", "by_throw", "by_score", "by_standing", "worst", "worst_states")

    def __init__(self, num_units: int, worst: int) -> None:
        self.made = 0  # decisions, including trivial ones
        self.lost = np.zeros(num_units)
        self.judged = np.zeros(num_units, np.int64)
        self.optimal = np.zeros(num_units, np.int64)
        self.by_throw, self.by_score, self.by_standing = _Sums(), _Sums(), _Sums()
        self._num_worst = worst
        self._worst: dict[tuple[Any, ...], tuple[float, Any, int, int, float]] = {}

    def count(self, units: NDArray[np.int64], lost: NDArray[np.float64]) -> None:
        """Add decisions with their units and regrets, each (B,)."""
        num_units = len(self.lost)
        self.lost += np.bincount(units, lost, num_units)
        self.judged += np.bincount(units, minlength=num_units)
        self.optimal += np.bincount(units[lost == 0.0], minlength=num_units)

    def keep_worst(
        self,
        states: States,
        actions: NDArray[np.int64],
        values: NDArray[np.float64],
        lost: NDArray[np.float64],
        mine: NDArray[np.int64],
    ) -> None:
        """Keep the worst decisions so far. Decisions that would look alike are kept once."""
        if not self._num_worst:
            return
        for i in mine[np.argsort(-lost[mine], kind="stable")]:
            best = float(np.nanmax(values[i]))
            best_action = int(np.flatnonzero(values[i] >= best - TIE)[0])
            if not self._keep(float(lost[i]), states[i], int(actions[i]), best_action, best):
                return

    def _keep(self, lost: float, state: Any, action: int, best_action: int, best: float) -> bool:
        """Keep a decision if it belongs to the worst. Return False if it and all cheaper ones cost too little."""
        full = len(self._worst) >= self._num_worst
        if lost <= (min(entry[0] for entry in self._worst.values()) if full else 0.0):
            return False
        key = (*_totals(state), int(state.throws), action, round(best, 12), round(lost, 12))
        if key in self._worst:
            return True
        if full:
            del self._worst[min(self._worst, key=lambda k: self._worst[k][0])]
        self._worst[key] = (lost, state.copy(), action, best_action, best)
        return True

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tally as arrays, under the `KEYS`."""
        units = np.flatnonzero(self.judged)
        worst = list(self._worst.values())
        states = b"".join(entry[1].tobytes() for entry in worst)
        return {
            "made": np.array([self.made]),
            "units": np.stack([units, self.lost[units], self.judged[units], self.optimal[units]], axis=1),
            "by_throw": self.by_throw.to_array(),
            "by_score": self.by_score.to_array(),
            "by_standing": self.by_standing.to_array(),
            "worst": np.array([(lost, *rest) for lost, _, *rest in worst], np.float64).reshape(-1, 4),
            "worst_states": np.frombuffer(states, np.uint8),
        }

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]], state_dtype: np.dtype[Any]) -> None:
        """Add the arrays of another tally, whose states have the type `state_dtype`."""
        self.made += int(arrays["made"][0])
        units, lost, judged, optimal = arrays["units"].T
        index = units.astype(np.int64)
        self.lost[index] += lost
        self.judged[index] += judged.astype(np.int64)
        self.optimal[index] += optimal.astype(np.int64)
        for name in ("by_throw", "by_score", "by_standing"):
            getattr(self, name).add_array(arrays[name])
        states = np.frombuffer(arrays["worst_states"].tobytes(), state_dtype).view(np.recarray)
        for state, (cost, action, best_action, best) in zip(states, arrays["worst"].tolist(), strict=True):
            self._keep(cost, state, int(action), int(best_action), best)

    def result(self, game: Game, confidence: float) -> Regret:
        judged = int(self.judged.sum())
        found = interval_of_ratio(self.lost, self.judged, confidence)
        mistakes = sorted(self._worst.values(), key=lambda entry: -entry[0])
        labels = [(label, range(key, key + 1)) for key, label in _STANDINGS.items()]
        return Regret(
            decisions=judged,
            per_decision=MILLI * float(self.lost.sum()) / max(judged, 1) if self.made else None,
            interval=(MILLI * max(0.0, found[0]), MILLI * found[1]) if found else None,
            optimal_share=int(self.optimal.sum()) / judged if judged else None,
            by_throw=self.by_throw.singly(),
            by_score=self.by_score.binned(),
            by_standing=self.by_standing.bins(labels),
            worst=tuple(_mistake(game, *mistake) for mistake in mistakes),
        )


def _totals(state: Any) -> tuple[int, ...]:
    """Return the points of the mover, then of the others in turn order."""
    n, mover = int(state.num_players), int(state.mover)
    return tuple(int(state.scores[(mover + k) % n]) for k in range(n))


def _mistake(game: Game, lost: float, state: Any, action: int, best_action: int, best_value: float) -> Mistake:
    limit = getattr(game.options, "throws", None)
    return Mistake(
        position=game.text(state),
        throws_made=int(state.throws),
        throws_left=None if limit is None else int(limit) - int(state.throws),
        totals=_totals(state),
        action=game.action_name(state, action),
        value=best_value - lost,
        best_action=game.action_name(state, best_action),
        best_value=best_value,
        regret=MILLI * lost,
    )
