"""Values of positions of Poker Figures for every seat, by the reference agent's estimate, to measure luck.

Between turns the estimate (`trialea.agents.poker_figures.estimate`) gives the share of the win that each position is
worth. From there the turn is solved backwards, as the reference agent solves it. F_k is the value of throwing all five
dice with k throws to come. G_k(r) is the value with the result r written and k throws to come. G_0 is the estimate
itself, and G_1(r) is the F_1 of the sheet with r in it. An exact G_2(r) would need one more turn for every r. Instead
G_1(r) + F_2 - F_1 is used, as if a further throw added as much with r written as without.

With two players, the value of passing is what the other player's turn leaves. The value of passing in that turn is
the same number, so both are solved together.

The values are therefore not exact. But every value before a throw, also before the next player's first throw, is the
exact mean of the values after it. The measure of luck requires this property.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures import search
from trialea.agents.poker_figures.estimate import assess_all, make_model
from trialea.agents.poker_figures.search import FILLINGS, NUMBER_OF, Leaves
from trialea.agents.poker_figures.turn import make_turn
from trialea.envs.game import Game, States
from trialea.envs.jit import plain
from trialea.envs.poker_figures.game import ALL_DICE
from trialea.envs.poker_figures.rules import HANDS, NUM_ROWS, NUM_THROWS

_STILL = 1e-6  # a change of values from which nothing can be concluded: rounding would show
CHUNK = 64  # sheets at a time, so that their data stay in the processor's cache
_TWO_CELLS = np.ascontiguousarray(FILLINGS[(FILLINGS >= 0).sum(axis=1) <= 2])
_NO_CELLS = np.ascontiguousarray(FILLINGS[:1])

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Turns(NamedTuple):
    """The solved turns of N sheets, from the first throw on; k is the number of throws to come.

    Attributes:
        stay: (N,), of the turn's end with nothing more written.
        gains: (3, R, N), of having written each result, by k.
        best: (3, 252, N), of a hand that is not written, by k: of its best rethrow, with k = 0 of passing.
        rethrown: (3, keeps, N), of throwing the dice that are not kept, by k from 1 on; some dice being kept.
        fresh: (4, N), of throwing all five dice, by k from 1 on.
    """

    stay: Floats
    gains: Floats
    best: Floats
    rethrown: Floats
    fresh: Floats


class Estimate:
    """Every seat's share of the win in Poker Figures, by the reference agent's estimate.

    With `sum_throws`, a bound turn has the value of the sheet as if the turn ended there. With more than two players,
    the rest of the win is divided among the other players in proportion to the estimate between turns.
    """

    def __init__(self, game: Game) -> None:
        self._game = game
        self._turn = make_turn(game.options)
        self._model = make_model(game)

    def state_values(self, states: States) -> Floats:
        """Return every seat's share of the win, (B, P), in states in which a player is to act."""
        return self._by_sheet(states, self._decided)

    def chance_values(self, states: States) -> Floats:
        """Return every seat's share of the win, (B, P), in states in which dice are to be thrown."""
        return self._by_sheet(states, self._expected)

    def _by_sheet(self, states: States, read: Callable[[Any, _Turns, Ints], Floats]) -> Floats:
        """Return the values of states (B,); the turn of each sheet is solved once, with two players both turns."""
        n = self._game.num_players
        last_turns = np.maximum(states.turns[:, :n], self._game.tables.max_turns - 2)  # earlier ones make no difference
        movers = np.zeros(len(states), np.int64) if n == 2 else states.mover
        parts = (states.cells[:, :n], states.sums[:, :n], last_turns, movers)
        columns = np.column_stack([part.reshape(len(states), -1).astype(np.int32) for part in parts])
        rows = columns.view(np.dtype((np.void, columns.shape[1] * columns.itemsize))).ravel()
        _, first, sheet = np.unique(rows, return_index=True, return_inverse=True)
        by_sheet = np.argsort(sheet, kind="stable")
        values = np.empty(len(states))
        for low in range(0, len(first), CHUNK):
            begin, end = np.searchsorted(sheet[by_sheet], (low, low + CHUNK))
            index = by_sheet[begin:end]
            picked: Any = states[first[low : low + CHUNK]]
            if n == 2:
                picked = np.tile(picked, 2).view(np.recarray)
                picked.mover = np.repeat([0, 1], len(picked) // 2)
                lanes = sheet[index] - low + len(picked) // 2 * states.mover[index]
            else:
                lanes = sheet[index] - low
            values[index] = read(plain(states[index]), self._solve(plain(picked)), lanes)
        return self._of_seats(states, values)

    def _solve(self, records: Any) -> _Turns:
        """Solve the turns of the movers of states (N,); with two players both turns, the first player's first."""
        turn, count = self._turn, len(records)
        leaves = self._leaves(records)
        which, alone, none = np.arange(count), np.full(count, -1), np.zeros(count, np.int64)
        stay, gains = np.empty(count), np.empty((2, turn.num_results, count))
        search.set_last_gains(which, alone, none, leaves, stay, gains[0])
        gains[1] = gains[0]
        kinds = turn.class_chances, turn.class_first, turn.class_taken
        search.set_gains(which, alone, none, np.ones(gains[1].shape, np.bool_), leaves, *kinds, gains[1])
        ended = self._ended(leaves)
        if self._game.num_players == 2:
            stay = self._steady(stay, gains, ended)
        return self._throw(stay, gains, ended)

    def _steady(self, stay: Floats, gains: Floats, ended: NDArray[np.bool_]) -> Floats:
        """Return the value of passing (N,) if the other's turn follows, in which passing has the same value.

        Two players may pass in turn for long, and would repeat an error in `stay` each time. So two rounds of turns are
        computed, and the limit of further rounds is extrapolated from how far they moved (Steffensen's method).
        """
        rounds = [stay]
        for _ in range(2):
            after = rounds[-1]
            for _ in range(2):
                after = 1.0 - np.roll(self._throw(after, gains, ended).fresh[NUM_THROWS], len(stay) // 2)
            rounds.append(after)
        start, once, twice = rounds
        bend = twice - 2.0 * once + start
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = twice - np.where(np.abs(bend) > _STILL, (twice - once) ** 2 / bend, 0.0)
        return np.clip(limit, 0.0, 1.0)

    def _throw(self, stay: Floats, written: Floats, ended: NDArray[np.bool_]) -> _Turns:
        """Return the turns (N,), given the value of passing and of each result (2, R, N) with 0 and 1 throws left."""
        turn, start, count = self._turn, self._turn.lattice.num_partial, len(stay)
        gains = np.empty((NUM_THROWS, *written.shape[1:]))
        gains[:2] = written
        best = np.empty((NUM_THROWS, len(HANDS), count))
        rethrown = np.empty((NUM_THROWS, start, count))
        fresh = np.empty((NUM_THROWS + 1, count))
        values, scratch = np.empty((turn.lattice.num_keeps, count)), np.empty((len(turn.special), count))
        values[start:] = stay
        for k in range(NUM_THROWS):
            best[k] = values[start:]
            if k == 2:
                gains[k] = np.where(ended, gains[1], gains[1] + fresh[2] - fresh[1])
            after = fresh[k + 1]
            search.throw_back(values, gains[k], scratch, turn.lattice, turn.first, turn.taken, turn.special, after)
            if k + 1 < NUM_THROWS:
                rethrown[k + 1] = values[:start]
                search.rethrow_back(values, after, turn.lattice)
        return _Turns(stay, gains, best, rethrown, fresh)

    def _leaves(self, records: Any) -> Leaves:
        """Return the values of the positions after the turn, with up to two cells written."""
        own, _, _ = search.read(records, self._game.tables)
        return search.make_leaves(self._turn, own, *self._assess(records, 2, _TWO_CELLS))

    def _assess(self, records: Any, cells: int, fillings: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Do `assess_all` of states (N,) for fillings of up to `cells` cells."""
        shape = (len(records), len(fillings))
        odds, slopes, over = np.zeros(shape), np.zeros((*shape, NUM_ROWS)), np.zeros(shape, np.bool_)
        nothing_now = np.zeros(len(records), np.int64)
        max_turns = self._game.tables.max_turns
        assess_all(records, cells, nothing_now, max_turns, fillings, self._model, odds, slopes, over)
        return odds, slopes, over

    def _ended(self, leaves: Leaves) -> NDArray[np.bool_]:
        """Return whether each result (R, N) ends the game when it is written."""
        ended = np.zeros((self._turn.num_results, len(leaves.own)), np.bool_)
        ended[: self._turn.num_writes] = leaves.over[:, NUMBER_OF[leaves.rows + 1, 0, 0]].T
        return ended

    def _decided(self, records: Any, turns: _Turns, sheet: Ints) -> Floats:
        """Return the movers' values (N,) in states in which they are to act; `sheet` has the numbers of their turns."""
        turn, to_come = self._turn, NUM_THROWS - records["throws"].astype(np.int64)
        _, writable, hands = search.read(records, self._game.tables)
        now = np.zeros((turn.num_results, len(records)), np.bool_)
        rows = turn.rows[: turn.num_writes]
        search.mark_results(records, hands, writable, rows, turn.first, turn.taken, now)
        results, places = np.nonzero(now)
        values = turns.best[to_come, hands, sheet]
        np.maximum.at(values, places, turns.gains[to_come[places], results, sheet[places]])
        return self._unless_bound(records, values, turns, sheet)

    def _expected(self, records: Any, turns: _Turns, sheet: Ints) -> Floats:
        """Return the movers' values (N,) in states in which dice are to be thrown."""
        to_come, pending = NUM_THROWS - records["throws"].astype(np.int64), records["pending"].astype(np.int64)
        _, _, hands = search.read(records, self._game.tables)
        values = turns.fresh[to_come, sheet]
        some = np.flatnonzero(pending != ALL_DICE)
        values[some] = turns.rethrown[to_come[some], self._turn.kept[hands[some], pending[some] - 1], sheet[some]]
        return self._unless_bound(records, values, turns, sheet)

    @staticmethod
    def _unless_bound(records: Any, values: Floats, turns: _Turns, sheet: Ints) -> Floats:
        return np.where(records["bound"] != 0, turns.stay[sheet], values)

    def _of_seats(self, states: States, values: Floats) -> Floats:
        """Return the values of all seats (B, P), given the movers' values (B,)."""
        n, every, movers = self._game.num_players, np.arange(len(states)), states.mover.astype(np.int64)
        shares = np.zeros((len(states), n))
        for ahead in range(1, n):
            seats = (movers + ahead) % n
            turned = states.copy()
            turned.mover = seats
            odds = self._assess(plain(turned), 0, _NO_CELLS)[0][:, 0]
            shares[every, seats] = 1.0 / (1.0 + np.exp(-odds)) if n > 2 else 1.0
        shares *= ((1.0 - values) / shares.sum(axis=1))[:, None]
        shares[every, movers] = values
        return shares
