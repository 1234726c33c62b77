"""The two-player game of No Dice solved exactly, and the agent that plays the solution.

Let V(a, b) be the mover's probability of winning at total a when the other player has b, both below the target. If the
turn scores s, the mover is out with probability of winning 0 if a + s reaches the target, and otherwise stands at
1 - V(b, a + s). So V(a, b) is the greatest expectation of that payoff over one turn, which is solved exactly
(`trialea.agents.no_dice.turn`). Totals never fall, so positions are solved by falling a + b. The one loop is the round
in which both players score 0: V(a, b) then depends on V(b, a) and the other way round. Given the turn policies each is
linear in the other, so the pair is solved by policy iteration: fix both policies, solve two linear equations, improve.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trialea.agents.cache import cached_array, digest_of
from trialea.agents.no_dice.turn import (
    MAX_SCORE,
    fill_action_values,
    fill_policy,
    fill_stages,
    least_expected_score,
    look_up,
    make_turn,
    solve_turn,
)
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.jit import entry, kernel
from trialea.envs.no_dice.game import outcome_of
from trialea.envs.no_dice.rules import NUM_ACTIONS

MAX_TARGET = 100
_MOST_ROUNDS = 100
_SETTLED = 1e-14  # rounding moves a value by some 1e-16


@kernel
def _set_payoff(values: Any, mover: Any, other: Any, payoff: Any) -> None:
    """What each score of the mover's turn is worth to it; `values` (T, T) must be known where they are needed."""
    target = len(values)
    for score in range(MAX_SCORE + 1):
        total = mover + score
        payoff[score] = 1.0 - values[other, total] if total < target else 0.0


@entry
def solve_sum(total: Any, throws: Any, turn: Any, values: Any) -> int:
    """Solve every position whose two totals add up to `total`, given those of greater sums.

    Returns the most rounds of policy iteration that a pair took, or -1 if one did not settle.
    """
    target = len(values)
    most = 0
    work, zeros = np.empty(turn.lattice.num_patterns), np.empty(turn.lattice.num_patterns)
    mine, theirs = np.empty(MAX_SCORE + 1), np.empty(MAX_SCORE + 1)
    for low in range(max(0, total - target + 1), total // 2 + 1):
        high = total - low
        # Start from the pair one point up on both sides, which is close.
        u = values[low + 1, high + 1] if high + 1 < target else 0.5
        w = values[high + 1, low + 1] if high + 1 < target else 0.5
        settled = False
        for rounds in range(1, _MOST_ROUNDS + 1):
            values[low, high], values[high, low] = u, w
            _set_payoff(values, low, high, mine)
            _set_payoff(values, high, low, theirs)
            value_u, p = solve_turn(mine, throws, turn, work, zeros)
            value_w, q = value_u, p
            if low != high:
                value_w, q = solve_turn(theirs, throws, turn, work, zeros)
            # Under these policies u = c + p (1 - w) and w = d + q (1 - u).
            c, d = value_u - p * (1.0 - w), value_w - q * (1.0 - u)
            if low == high:  # one equation: as two, the smallest difference between u and w would grow
                new_u = new_w = (c + p) / (1.0 + p)
            else:
                new_u = (c + p - p * (d + q)) / (1.0 - p * q)
                new_w = d + q * (1.0 - new_u)
            change = max(abs(new_u - u), abs(new_w - w))
            u, w = new_u, new_w
            if change < _SETTLED:
                settled = True
                most = max(most, rounds)
                break
        if not settled:
            return -1
        values[low, high], values[high, low] = u, w
    return most


@entry
def largest_error(throws: Any, turn: Any, values: Any) -> float:
    """The largest Bellman error: how far any position's value is from the best turn's expectation."""
    target = len(values)
    work, zeros = np.empty(turn.lattice.num_patterns), np.empty(turn.lattice.num_patterns)
    payoff = np.empty(MAX_SCORE + 1)
    worst = 0.0
    for mover in range(target):
        for other in range(target):
            _set_payoff(values, mover, other, payoff)
            value, _ = solve_turn(payoff, throws, turn, work, zeros)
            worst = max(worst, abs(value - values[mover, other]))
    return worst


@entry
def fill_policies(values: Any, movers: Any, others: Any, throws: Any, turn: Any, policies: Any) -> None:
    """The optimal policies (N, throws, K) for N pairs of totals."""
    payoff = np.empty(MAX_SCORE + 1)
    for n in range(len(movers)):
        _set_payoff(values, movers[n], others[n], payoff)
        fill_policy(payoff, throws, turn, policies[n])


@entry
def fill_position_values(values: Any, states: Any, order: Any, throws: Any, turn: Any, out: Any) -> None:
    """The values (B, A) of every action in the states, read in an `order` that brings equal totals together."""
    rows = np.empty((throws, turn.lattice.num_patterns))
    payoff = np.empty(MAX_SCORE + 1)
    last_mover, last_other = -1, -1
    for k in range(len(order)):
        state = states[order[k]]
        mover, other = state.scores[state.mover], state.scores[1 - state.mover]
        if mover != last_mover or other != last_other:
            last_mover, last_other = mover, other
            _set_payoff(values, mover, other, payoff)
            fill_stages(payoff, throws, turn, rows)
        left = throws - state.throws
        fill_action_values(payoff, turn, rows[left], turn.kind_of[outcome_of(state)], left, out[order[k]])


class Solution:
    """The exact values of two-player No Dice: probabilities of winning.

    Attributes:
        game: the game solved.
        values: (T, T) float64, the mover's probability of winning at [its total, the other's total].
        residual: the largest Bellman error over all positions.
        seconds: how long the computation took when it was made.
        unit: of the values: wins.
    """

    unit: Literal["wins"] = "wins"

    def __init__(self, game: Game, values: NDArray[np.float64], residual: float, seconds: float) -> None:
        self.game = game
        self.values = values
        self.residual = residual
        self.seconds = seconds
        self._throws = game.options.throws
        self._turn = make_turn(game.options.intermediates)
        self._place = np.full(values.shape, -1)  # where the policy of a pair of totals stands, once worked out
        self._policies = np.empty((0, self._throws, len(self._turn.patterns)), np.uint8)

    def value(self, mover: int, other: int) -> float:
        """The mover's probability of winning at total `mover` when the other player has `other`."""
        target = len(self.values)
        if not (0 <= mover < target and 0 <= other < target):
            raise OptionError(f"totals must be from 0 to {target - 1}, not {mover} and {other}")
        return float(self.values[mover, other])

    def action_values(self, states: States) -> NDArray[np.float64]:
        """The mover's probability of winning after each action, (B, A), both playing on best; NaN where illegal."""
        movers, others = self._totals(states)
        out = np.empty((len(states), NUM_ACTIONS))
        order = np.lexsort((others, movers))
        fill_position_values(self.values, states, order, self._throws, self._turn, out)
        return out

    def best_actions(self, states: States) -> NDArray[np.int64]:
        """The optimal action (B,) in each of the states; see `trialea.agents.no_dice.turn.pick` for ties."""
        movers, others = self._totals(states)
        self._prepare(movers, others)
        actions = np.empty(len(states), np.int64)
        look_up(states, self._policies, self._place[movers, others], self._turn, self._throws, actions)
        return actions

    def _totals(self, states: States) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The totals (B,) of the players to move and of the others, which must be among those solved."""
        if (states.num_players != 2).any() or states.scores[:, :2].max(initial=0) >= len(self.values):
            raise OptionError(f"the solution is of two players' totals below {len(self.values)}")
        every = np.arange(len(states))
        return states.scores[every, states.mover], states.scores[every, 1 - states.mover]

    def _prepare(self, movers: NDArray[np.int32], others: NDArray[np.int32]) -> None:
        """Work out the policies for pairs of totals that are needed and not there yet."""
        missing = self._place[movers, others] < 0
        if not missing.any():
            return
        pairs = np.unique(np.stack([movers[missing], others[missing]]), axis=1)
        more = np.empty((pairs.shape[1], *self._policies.shape[1:]), np.uint8)
        fill_policies(self.values, pairs[0], pairs[1], self._throws, self._turn, more)
        self._place[pairs[0], pairs[1]] = len(self._policies) + np.arange(pairs.shape[1])
        self._policies = np.concatenate([self._policies, more])

    def summary(self, totals: Sequence[int] = (0, 0)) -> dict[str, Any]:
        """The solution in plain data, as `trialea solve --json` prints it.

        Args:
            totals: the position that `"value"` speaks of: the mover's total, then the other's.
        """
        if len(totals) != 2:
            raise OptionError(f"a position of two-player No Dice is two totals, not {len(totals)}")
        first = self.value(*totals)
        options = asdict(self.game.options)
        return {
            "game": self.game.name,
            "players": 2,
            "options": options,
            "value": [first, 1.0 - first],
            "residual": self.residual,
            "seconds": self.seconds,
            "table_sha256": digest_of(self.values),
            "turn_score": {str(throws): least_expected_score(throws, options["intermediates"]) for throws in (1, 2, 3)},
        }


def solve(game: Game, progress: Callable[[float], None] | None = None) -> Solution:
    """The exact solution of two-player No Dice, from the cache on disk or computed.

    Args:
        game: No Dice for two players with a target up to 100.
        progress: called with the share of the work done, from 0 to 1.
    """
    if game.num_players != 2:
        raise OptionError(f"No Dice is solved for 2 players, not {game.num_players}")
    if game.options.target > MAX_TARGET:
        raise OptionError(f"No Dice is solved for targets up to {MAX_TARGET}, not {game.options.target}")
    description = {"table": "win_probability", **game.description()}
    values, facts = cached_array(description, lambda: compute(game, progress))
    return Solution(game, values, facts["residual"], facts["seconds"])


def compute(game: Game, progress: Callable[[float], None] | None = None) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """The table of winning probabilities (T, T), computed anew, with its residual and the seconds it took."""
    target, throws = game.options.target, game.options.throws
    turn = make_turn(game.options.intermediates)
    solve_sum(0, throws, turn, np.full((1, 1), np.nan))  # compile before the clock starts
    values = np.full((target, target), np.nan)
    began = time.perf_counter()
    for total in range(2 * target - 2, -1, -1):
        if solve_sum(total, throws, turn, values) < 0:
            raise ArithmeticError(f"policy iteration did not settle where the totals add up to {total}")
        if progress is not None:
            progress(1.0 - total / (2 * target - 1))
    seconds = time.perf_counter() - began
    return values, {"residual": float(largest_error(throws, turn, values)), "seconds": seconds}


@lru_cache(maxsize=8)
def _shared(game: Game) -> Solution:
    """One solution for all agents of a process that play the same game, since its policies take time and memory."""
    return solve(game)


class SolverAgent:
    """Plays the exact solution of two-player No Dice: it maximises its probability of winning.

    Of equally good actions it stops with the fewest points, else takes the first rethrow.
    """

    name = "solver"
    deterministic = True

    def __init__(self, game: Game, seed: int = 0) -> None:
        self._game = game
        self.solution = _shared(game)

    def __reduce__(self) -> tuple[Any, ...]:
        return SolverAgent, (self._game,)

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        return self.solution.best_actions(states)
