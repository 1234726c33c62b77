"""A player of Poker Figures that plays its turn exactly, for any estimate of the positions between turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures import search
from trialea.agents.poker_figures.search import FILLINGS, Leaves
from trialea.agents.poker_figures.turn import make_turn
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.jit import plain
from trialea.envs.poker_figures.rules import ASIDE, NUM_REROLLS, NUM_ROWS, NUM_THROWS, PASS, WRITE

CHUNK = 128  # states at a time, so that their data stay in the processor's cache

TINY = 1e-9  # no chance to lose is taken for smaller, to divide by it

Leaf = Callable[[Any, int, NDArray[np.int64], NDArray[Any], NDArray[Any], NDArray[Any]], None]
"""An estimate of the positions that the rest of a turn may lead to, as log-odds that are linear in the points written.

`leaf(states, throws, writable, odds, slopes, over)` takes (B,) records, the number of throws to come, and the rows that
each may write now, (B,), a bit for each row. It fills the last three arguments, as described in
`trialea.agents.poker_figures.search.Leaves`, for every position that the rest of the turn may lead to.
"""


class TurnPlayer:
    """A player of turns, exact for an estimate of the share of the win in each position after the turn.

    The search covers all throws to come in the turn, and all cells that may be written in them. With `sum_throws` it
    never sets points aside; in a turn that is already bound it writes as soon as it may, and otherwise throws all five
    dice again. Among equal actions it prefers to write, else it takes the first rethrow.

    Args:
        game: the game that is played.
        leaf: the estimate.
    """

    def __init__(self, game: Game, leaf: Leaf) -> None:
        self.game = game
        self._turn = make_turn(game.options)
        self._leaf = leaf
        # Of equal actions the first in this order is taken.
        writes = range(WRITE, ASIDE)
        self._order = np.array([*writes, *(action for action in range(game.num_actions) if action not in writes)])

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        return self._choose(states, self._values(states, begins=False)[0])

    def action_values(self, states: States) -> NDArray[np.float64]:
        """Return the mover's expected share of the win after each action, (B, A), if it plays on; NaN where illegal.

        Raises:
            OptionError: the option `sum_throws` is on; setting points aside has no estimate.
        """
        if self.game.tables.sum_throws:
            raise OptionError("sum_throws must be off to value actions: setting points aside has no estimate")
        values = self._values(states, begins=False)[0]
        values[np.isneginf(values)] = np.nan
        return values

    def decide(self, states: States) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return a legal action for each of the (B,) states, and the values of the turns that begin in them.

        The value is the mover's expected share of the win before the first throw; it is NaN after another throw. It is
        exact except for results written at the first throw: there, the two later throws are assumed to add as much as
        if nothing had been written.
        """
        values, begun = self._values(states, begins=True)
        return self._choose(states, values), begun

    def _choose(self, states: States, values: NDArray[np.float64]) -> NDArray[np.int64]:
        actions: NDArray[np.int64] = self._order[values[:, self._order].argmax(axis=1)]
        bound = np.flatnonzero(states.bound)
        if len(bound):
            actions[bound] = self._decide_bound(states[bound].view(np.recarray))
        return actions

    def _values(self, states: States, begins: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the value of each action (B, A), minus infinity where illegal, and the second result of `decide`."""
        values, begun = np.full((len(states), self.game.num_actions), -np.inf), np.full(len(states), np.nan)
        free = states.bound == 0
        for to_come in range(NUM_THROWS):
            index = np.flatnonzero(free & (states.throws == NUM_THROWS - to_come))
            for low in range(0, len(index), CHUNK):
                part = index[low : low + CHUNK]
                values[part], begun[part] = self._values_of(states[part].view(np.recarray), to_come, begins)
        return values, begun

    def _decide_bound(self, states: States) -> NDArray[np.int64]:
        """Return the actions in bound turns: write, else throw all five dice again, else pass."""
        masks = self.game.masks(states)
        row = states.bound.astype(np.int64) - 1
        may_write = masks[np.arange(len(states)), WRITE + row] != 0
        otherwise = np.where(states.throws < NUM_THROWS, NUM_REROLLS - 1, PASS)
        return np.where(may_write, WRITE + row, otherwise)

    def _values_of(self, states: States, to_come: int, begins: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the results of `_values` in states with `to_come` throws to come."""
        turn, tables, count = self._turn, self.game.tables, len(states)
        records = plain(states)
        own, writable, hands = search.read(records, tables)
        now = np.zeros((turn.num_results, count), np.bool_)
        rows = turn.rows[: turn.num_writes]
        search.mark_results(records, hands, writable, rows, turn.first, turn.taken, now)
        leaves = self._leaves(records, to_come, own, writable)
        values = np.full((count, self.game.num_actions), -np.inf)
        if to_come == 0:
            gains, begun = self._last(leaves, values)
        else:
            gains, begun = self._before_last(leaves, hands, now, to_come, begins, values)
        results, writers = np.nonzero(now[: turn.num_writes])
        values[writers, WRITE + rows[results]] = gains[results, writers]
        return values, begun

    def _leaves(self, records: Any, to_come: int, own: NDArray[np.int64], writable: NDArray[np.int64]) -> Leaves:
        """Return the values of the positions that the rest of the turn may lead to."""
        shape = len(records), len(FILLINGS)
        odds, slopes, over = np.zeros(shape), np.zeros((*shape, NUM_ROWS)), np.zeros(shape, np.bool_)
        self._leaf(records, to_come, writable, odds, slopes, over)
        return search.make_leaves(self._turn, own, odds, slopes, over)

    def _last(self, leaves: Leaves, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Handle the last throw: fill in the value of passing; return the value of each result. No turn begins here."""
        count = len(leaves.own)
        stay, gains = np.empty(count), np.empty((self._turn.num_results, count))
        search.set_last_gains(np.arange(count), np.full(count, -1), np.zeros(count, np.int64), leaves, stay, gains)
        values[:, PASS] = stay
        return gains, np.full(count, np.nan)

    def _before_last(
        self,
        leaves: Leaves,
        hands: NDArray[np.int64],
        now: NDArray[np.bool_],
        to_come: int,
        begins: bool,
        values: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Handle an earlier throw: fill in the values of rethrows; return the values of results and of new turns."""
        turn, count = self._turn, len(hands)
        which, rows, points = np.arange(count), np.full(count, -1), np.zeros(count, np.int64)
        results = np.empty(0, np.int64)
        if to_come == 2:  # a line more for each result that may be written now: two throws follow it
            results, writers = np.nonzero(now)
            which = np.concatenate([which, writers])
            rows = np.concatenate([rows, turn.rows[results]])
            points = np.concatenate([points, turn.points[results]])
        lines = len(which)
        stay, gains, again = np.empty(lines), np.empty((turn.num_results, lines)), np.empty(lines)
        search.set_last_gains(which, rows, points, leaves, stay, gains)
        keeps, fresh = np.empty((turn.lattice.num_keeps, lines)), np.empty((len(turn.special), lines))
        keeps[turn.lattice.num_partial :] = stay
        throw = (turn.lattice, turn.first, turn.taken, turn.special, again)
        search.throw_back(keeps, gains, fresh, *throw)
        wanted = np.ones((turn.num_results, lines), np.bool_) if to_come == 2 else now
        kinds = turn.class_chances, turn.class_first, turn.class_taken
        search.set_gains(which, rows, points, wanted, leaves, *kinds, gains)
        once = again.copy()
        if to_come == 2:
            search.rethrow_back(keeps, again, turn.lattice)
            search.throw_back(keeps, gains, fresh, *throw)
            gains[results, which[count:]] = again[count:]
        search.fill_rethrows(keeps, again, hands, self.game.tables.rerolls, turn.kept, values)
        begun = np.full(count, np.nan)
        if to_come == 2 and begins:
            lost = np.maximum(1.0 - again, TINY) / np.maximum(1.0 - once, TINY)  # the chance that is left to lose
            more = 1.0 - (1.0 - gains) * lost
            more[results, which[count:]] = again[count:]
            search.rethrow_back(keeps, again, turn.lattice)
            search.throw_back(keeps, more, fresh, *throw)
            begun = again[:count]
        return gains, begun
