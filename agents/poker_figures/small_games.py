"""The exact solution of small games of Poker Figures for two players, with few rows and columns.

`trialea.agents.poker_figures.retrograde` has the method. A value is the share of the win that a player may expect under
best play of both: the probability of winning, plus half that of a draw.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trialea.agents.cache import cached_array, digest_of, solve_command, stored_array
from trialea.agents.poker_figures.positions import check_size, count_positions, find_positions, position_in
from trialea.agents.poker_figures.retrograde import (
    LANES,
    Moves,
    after_turn,
    blocks_of,
    fill_values,
    make_moves,
    new_stages,
    solve_positions,
)
from trialea.agents.regrets import TIE
from trialea.envs.checks import whole_number
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.jit import plain
from trialea.envs.poker_figures.rules import NUM_ROWS, NUM_THROWS, ROWS, Options

MAX_ENTRIES = 60_000_000  # of a table: 480 MB
QUICK = 2_000_000  # entries of a table that is computed without a request: some ten seconds
_SECONDS = 5e-6  # that an entry takes
_MOST_KEPT = 2**27  # bytes of stages kept in memory

Progress = Callable[[float], None]


class SmallGameSolution:
    """The exact values of a small game for two players.

    Attributes:
        game: the game solved.
        values: (2 max_turns + 1, N) float64, the mover's share of the win, by the number of turns that both players
            together have left, and by position as `trialea.agents.poker_figures.positions` numbers them.
        seconds: the time of the computation when it was made.
        unit: the unit of the values, wins.
    """

    unit: Literal["wins"] = "wins"

    def __init__(self, game: Game, values: NDArray[np.float64], seconds: float) -> None:
        self.game = game
        self.values = values
        self.seconds = seconds
        self._moves = moves_of(game)
        self._stages: dict[int, NDArray[np.float64]] = {}

    def value(self, position: Sequence[int] = ()) -> float:
        """Return the mover's share of the win.

        Args:
            position: the number of turns that both players together have left, the next one the mover's; then, for
                each row played, the mover's cells and their sum and the other's cells and their sum. By default the
                start.
        """
        return float(self.values[place_of(self.game, position)])

    def action_values(self, states: States) -> NDArray[np.float64]:
        """Return the mover's share of the win after each action, (B, A), under best play of both; NaN where illegal."""
        self._check_pending(states, False)
        return self._look_up(states, np.arange(len(states)))

    def best_actions(self, states: States) -> NDArray[np.int64]:
        """Return an optimal action (B,) in each of the states, the first of equally good ones."""
        values = self.action_values(states)
        best: NDArray[np.int64] = (values >= np.fmax.reduce(values, axis=1)[:, None] - TIE).argmax(axis=1)
        return best

    def state_values(self, states: States) -> NDArray[np.float64]:
        """Return each seat's share of the win, (B, 2), in states in which a player is to act."""
        return self._by_seat(states, np.fmax.reduce(self.action_values(states), axis=1))

    def chance_values(self, states: States) -> NDArray[np.float64]:
        """Return each seat's share of the win, (B, 2), before a throw, or the result if the game is over.

        `Game.choose` returns such states.
        """
        self._check_pending(states, True)
        going = np.flatnonzero(states.over == 0)
        found = self._by_seat(states, self._look_up(states, going)[:, 0])
        over = states.over != 0
        found[over] = states.share[over, :2]
        return found

    @staticmethod
    def _by_seat(states: States, movers: NDArray[np.float64]) -> NDArray[np.float64]:
        first = states.mover == 0
        return np.stack([np.where(first, movers, 1.0 - movers), np.where(first, 1.0 - movers, movers)], axis=1)

    @staticmethod
    def _check_pending(states: States, wanted: bool) -> None:
        if ((states.pending != 0) != wanted)[states.over == 0].any() or (not wanted and states.over.any()):
            raise OptionError(
                "action_values and state_values need states in which a player is to act; chance_values needs states"
                " before a throw of the dice, or at the end of the game"
            )

    def _look_up(self, states: States, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the results of `fill_values`, (B, A), for the unfinished states picked by `index`."""
        out = np.empty((len(states), self.game.num_actions))
        if (states.num_players != 2).any():
            raise OptionError("states must be of two players, as the solution is")
        turns = 2 * self.game.options.max_turns - states.turns[:, :2].sum(axis=1, dtype=np.int64)
        positions, moves = np.empty(len(states), np.int64), self._moves
        find_positions(plain(states), moves.space, positions)
        if len(index) and (
            positions[index].min() < 0 or turns[index].min() < 1 or turns[index].max() >= len(self.values)
        ):
            raise OptionError(f"states must be of {self.game!r}, as the solution is")
        turn = moves.turn
        tables = turn.lattice, turn.first, turn.taken, turn.special, turn.kept, self.game.tables
        for count in np.unique(turns[index]).tolist():
            here = index[turns[index] == count]
            order = here[np.argsort(positions[here], kind="stable")]
            found, first = np.unique(positions[order], return_index=True)
            stages = self._solved_stages(count, found)
            padded = np.concatenate([found, np.repeat(found[-1:], -len(found) % LANES)]).reshape(-1, LANES)
            which = order, np.append(first, len(order)), padded
            fill_values(plain(states), *which, stages, moves.following, moves.result_of, *tables, out)
        return out

    def _solved_stages(self, turns: int, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values F_0 to F_3 (4, N + 4) with `count` turns to come, for positions and whatever may follow."""
        moves, size = self._moves, self.values.shape[1]
        stages = self._stages.pop(turns, None)
        if stages is None:
            stages = new_stages(moves)
            stages[0, :size] = after_turn(moves, self.values[turns - 1])
        self._stages[turns] = stages  # the latest used comes last
        while len(self._stages) > 1 and len(self._stages) * stages.nbytes > _MOST_KEPT:
            del self._stages[next(iter(self._stages))]
        missing = np.zeros(size, np.bool_)
        wanted = positions
        while len(wanted):
            wanted = wanted[np.isnan(stages[NUM_THROWS, wanted]) & ~missing[wanted]]
            missing[wanted] = True
            after = np.unique(moves.following[wanted])
            wanted = after[after < size]
        if missing.any():
            solve_positions(stages, blocks_of(np.flatnonzero(missing), moves.levels), moves)
        return stages

    def summary(self, position: Sequence[int] = ()) -> dict[str, Any]:
        """Return the solution in plain data, as `trialea solve --json` prints it.

        Args:
            position: the position of `"value"`, as in the method `value`.
        """
        value = self.value(position)
        return {
            **self.game.description(),
            "value": [value, 1.0 - value],
            "positions": self.values.shape[1],
            "seconds": self.seconds,
            "table_sha256": digest_of(self.values),
        }


def place_of(game: Game, position: Sequence[int] = ()) -> tuple[int, int]:
    """Return where the value of a position is in a table: the turns to come, and the number of the position.

    Args:
        game: a small game.
        position: see `SmallGameSolution.value`; by default the start.

    Raises:
        OptionError: the game cannot reach such a position.
    """
    rows = np.flatnonzero(game.tables.played).tolist()
    given = tuple(position) or (2 * game.options.max_turns, *(0,) * (4 * len(rows)))
    if len(given) != 1 + 4 * len(rows):
        names = "".join(ROWS[row] for row in rows)
        raise OptionError(
            f"a position must be the turns to come and four numbers for each of the rows {names} (the mover's cells and"
            f" their sum, the other's cells and their sum): {1 + 4 * len(rows)} numbers, got {len(given)}"
        )
    turns = whole_number("turns to come", given[0], 0, 2 * game.options.max_turns)
    numbers = np.array([whole_number("cells and sums", number, 0, 10**6) for number in given[1:]]).reshape(-1, 2, 2)
    cells, sums = np.zeros((2, NUM_ROWS), np.int64), np.zeros((2, NUM_ROWS), np.int64)
    cells[:, rows], sums[:, rows] = numbers[:, :, 0].T, numbers[:, :, 1].T
    found = position_in(moves_of(game).space, cells, sums)
    if found < 0:
        raise OptionError(f"a position must be one of an unfinished game, got {','.join(map(str, given))}")
    return turns, int(found)


def without_turns(options: Options) -> Options:
    """Return the options that positions depend on."""
    return Options(**{**asdict(options), "max_turns": 1})


def moves_of(game: Game) -> Moves:
    """Return where the positions of a game lead."""
    return make_moves(without_turns(game.options))


def check_solvable(game: Game) -> None:
    """Raise `OptionError` if the game is too large, or of a kind that can't be solved here."""
    options = game.options
    if game.num_players != 2:
        raise OptionError(f"players must be 2 to solve Poker Figures, got {game.num_players}")
    if options.sum_throws:
        raise OptionError("sum_throws must be off to solve Poker Figures for two players")
    check_size(options)
    positions = count_positions(options)
    if positions * (2 * options.max_turns + 1) > MAX_ENTRIES:
        most = (MAX_ENTRIES // positions - 1) // 2
        raise OptionError(
            f"{positions:,} positions in each of {2 * options.max_turns} turns are too many: at most {MAX_ENTRIES:,} in"
            f" all can be solved. Give max_turns of at most {most}"
        )


def solve_small_game(game: Game, progress: Progress | None = None) -> SmallGameSolution:
    """Return the exact solution of a small game, from the cache on disk or computed.

    Args:
        game: Poker Figures for two players without `sum_throws`.
        progress: called with the share of the work that is done, from 0 to 1. Tables that
            take more than about ten seconds are computed only if it is given.

    Raises:
        OptionError: the game is too large or of another kind; or its table takes long and is not in the cache.
    """
    check_solvable(game)
    description = {"table": "win_share", **game.description()}
    found = stored_array(description)
    entries = count_positions(game.options) * 2 * game.options.max_turns
    if found is None and progress is None and entries > QUICK:
        raise OptionError(
            "the solution of this game is not in the cache. Run"
            f" `{solve_command(game)}` first (about {entries * _SECONDS / 60:.1f} minutes)"
        )
    values, facts = found or cached_array(description, lambda: compute(game, progress))
    return SmallGameSolution(game, values, facts["seconds"])


def compute(game: Game, progress: Progress | None = None) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Compute the table (2 max_turns + 1, N) without the cache; return it with the time in seconds."""
    small = make_moves(Options(rows="AD", columns=1))
    solve_positions(new_stages(small), blocks_of(np.arange(1), small.levels), small)  # compile before the clock starts
    began = time.perf_counter()
    moves = moves_of(game)
    turns = 2 * game.options.max_turns
    values = np.empty((turns + 1, len(moves.swapped)))
    values[0] = moves.ends / 2
    fill_table(values, moves, progress)
    return values, {"seconds": time.perf_counter() - began}


def fill_table(values: NDArray[np.float64], moves: Moves, progress: Progress | None = None) -> None:
    """Compute the rows of `values` (T + 1, N) from the first one on."""
    stages, size = new_stages(moves), values.shape[1]
    blocks = blocks_of(np.arange(size), moves.levels)
    for turns in range(1, len(values)):
        stages[0, :size] = after_turn(moves, values[turns - 1])
        solve_positions(stages, blocks, moves)
        values[turns] = stages[NUM_THROWS, :size]
        if progress is not None:
            progress(turns / (len(values) - 1))


@lru_cache(maxsize=4)
def shared_solution(game: Game) -> SmallGameSolution:
    """Return the solution, which all agents of a process share."""
    return solve_small_game(game)
