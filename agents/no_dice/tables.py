"""Tables of all positions of No Dice, computed total by total, on all cores of this machine or on many machines.

There are two tables for each number of players. `"values"` is an equilibrium. `"replies"` has the values of best
responses to it, and is computed together with the figures of the certificate. Each needs the tables of one player
fewer.

Positions with the same sum of totals do not depend on each other. They are computed in blocks, by threads or by the
processes of a joblib backend. Processes read finished work from the *parts* on disk, one file for each sum, written
whole. So interrupted work continues where it stopped, and another machine can take over the blocks of one that is lost.
The result is the same to the last bit, however the work is divided.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.cache import cached_array, keep_array, parts_folder, stored_array
from trialea.agents.no_dice.certificate import certify_cycles
from trialea.agents.no_dice.cycles import cycles_of, rotated, solve_cycles
from trialea.agents.no_dice.turn import LANES, make_turn
from trialea.agents.parallel import backend, load_joblib, load_ray
from trialea.envs.errors import OptionError
from trialea.envs.game import Game

Kind = Literal["values", "replies"]
Known = Callable[[Kind, int], NDArray[np.float64]]
"""A function from a kind of table and a number n of players to the finished table, (T^n, …)."""

QUICK = 100_000  # positions: a table of more is made only on request
_IN_PARTS = 10_000  # positions: a table of more takes seconds, and is kept in parts while it is made
THREADS = "threads"
_MOST_CYCLES = 256  # in a block
_RAY = {"scheduling_strategy": "SPREAD", "max_restarts": 100, "max_task_retries": 100}  # machines may fail


class Rows(NamedTuple):
    """Rows of a table.

    Attributes:
        rows: (C, n, …), the rows of the positions of C cycles, in the order in which they follow each other.
        largest: (4,) the largest errors, see `certify_cycles`; zeros for `"values"`.
    """

    rows: NDArray[np.float64]
    largest: NDArray[np.float64]


def description_of(kind: Kind, game: Game) -> dict[str, Any]:
    """Return the description under which a table is cached."""
    return {"table": kind, **game.description()}


def with_players(game: Game, num_players: int) -> Game:
    """Return the same game for another number of players."""
    return Game(game.name, num_players, **game.description()["options"])


def alone(game: Game) -> NDArray[np.float64]:
    """Return the table (T, 1) of one player, who has won."""
    return np.ones((game.options.target, 1))


class Filling:
    """A table while it is computed.

    Attributes:
        table: (T^n, n + 1) for `"values"`, see `trialea.agents.no_dice.cycles`; (T^n, n) for `"replies"`. Rows that
            are not known yet are undefined.
        totals: the sums of totals, in the order in which they must be computed.
    """

    def __init__(self, kind: Kind, game: Game, known: Known) -> None:
        self.kind = kind
        self.game = game
        self._n, self._target, self._throws = game.num_players, game.options.target, game.options.throws
        self._turn = make_turn(game.options.intermediates)
        self._fewer = known("values", self._n - 1)
        if kind == "replies":
            self._values, self._fewer_replies = known("values", self._n), known("replies", self._n - 1)
        self.table = np.empty((self._target**self._n, self._n + (kind == "values")))
        self.totals = range(self._n * (self._target - 1), -1, -1)

    def cycles(self, total: int) -> NDArray[np.int64]:
        """Return the codes (C,) of the cycles with this sum of totals."""
        return cycles_of(total, self._n, self._target)

    def rows_of(self, codes: NDArray[np.int64]) -> Rows:
        """Compute the rows of some cycles; those with greater sums must have been entered."""
        rows = np.empty((len(codes), self._n, self.table.shape[1]))
        largest = np.zeros(4)
        if self.kind == "values":
            solve_cycles(self.table, self._fewer, codes, self._target, self._throws, self._turn, rows)
        else:
            choices = np.empty((self._throws, len(self._turn.full), LANES), np.uint8)
            certify_cycles(
                *(self._values, self._fewer, self.table, self._fewer_replies),
                *(codes, self._target, self._turn, choices, rows, largest),
            )
        return Rows(rows, largest)

    def enter(self, codes: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        """Enter computed rows."""
        for r in range(self._n):
            self.table[codes] = rows[:, r]
            codes = rotated(codes, self._n, self._target)


def fill(
    kind: Kind, game: Game, known: Known, progress: Callable[[float], None] | None = None, parallel: str = THREADS
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Compute a table; return it with its time in `"seconds"` and its largest errors in `"largest"`.

    Args:
        kind, game: the table.
        known: the tables that it needs.
        progress: called with the share of the work that is done, from 0 to 1.
        parallel: `"threads"`, or the name of a joblib backend such as `"loky"` or `"ray"`. Its processes must see the
            cache folder with the needed tables in it.
    """
    filling = Filling(kind, game, known)
    _compile(kind, game)  # before the clock starts
    parts = parts_folder(description_of(kind, game))
    if parallel == THREADS and len(filling.table) <= _IN_PARTS:
        parts = None
    seconds, largest, done = 0.0, np.zeros(4), 0
    with _threads(filling) if parallel == THREADS else _processes(filling, parallel, parts) as divide:
        for total in filling.totals:
            codes = filling.cycles(total)
            rows, facts = _part(filling, total, codes, divide, parts)
            filling.enter(codes, rows)
            seconds += facts["seconds"]
            largest = np.maximum(largest, facts["largest"])
            done += rows.shape[0] * rows.shape[1]
            if progress is not None:
                progress(min(1.0, done / len(filling.table)))
    return filling.table, {"seconds": seconds, "largest": largest.tolist()}


def _compile(kind: Kind, game: Game) -> None:
    """Compile the kernels by solving the smallest game of this kind, which has one position."""
    small = Game(game.name, 2, **{**game.description()["options"], "target": 1})
    filling = Filling(kind, small, lambda _, num_players: np.ones((1, num_players + (num_players > 1))))
    filling.rows_of(filling.cycles(0))


def kept_table(kind: Kind, game: Game) -> tuple[NDArray[np.float64], dict[str, Any]] | None:
    """Return a table from the cache, if it is there."""
    return stored_array(description_of(kind, game))


def made_table(
    kind: Kind, game: Game, known: Known, progress: Callable[[float], None] | None = None, parallel: str = THREADS
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return a table from the cache, or compute it with `fill` and cache it."""
    description = description_of(kind, game)
    check_parallel(parallel)
    found = cached_array(description, lambda: fill(kind, game, known, progress, parallel))
    parts = parts_folder(description)
    if parts is not None:
        shutil.rmtree(parts, ignore_errors=True)
    return found


Divide = Callable[[int, NDArray[np.int64]], Rows]
"""A function that computes all cycles of a total, given their codes."""


def _part(
    filling: Filling, total: int, codes: NDArray[np.int64], divide: Divide, parts: Path | None
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return the rows of a total from the disk; else compute them, and store them if there is a folder of parts."""
    description = _part_description(filling, total)
    found = None if parts is None else stored_array(description, parts)
    if found is not None:
        return found
    began = time.perf_counter()
    rows, largest = divide(total, codes)
    facts = {"seconds": time.perf_counter() - began, "largest": largest.tolist()}
    if parts is not None:
        keep_array(description, rows, facts, parts)
    return rows, facts


def _part_description(filling: Filling, total: int) -> dict[str, Any]:
    return {**description_of(filling.kind, filling.game), "total": total}


def _joined(blocks: Sequence[Rows]) -> Rows:
    return Rows(np.concatenate([block.rows for block in blocks]), np.max([block.largest for block in blocks], axis=0))


def _bounds(num_cycles: int, workers: int) -> list[tuple[int, int]]:
    """Return where each block of cycles begins and ends: several blocks for each worker, of whole lanes."""
    size = LANES * -(-num_cycles // (4 * workers * LANES))
    size = min(_MOST_CYCLES, size)
    return [(low, min(low + size, num_cycles)) for low in range(0, num_cycles, size)]


@contextmanager
def _threads(filling: Filling) -> Iterator[Divide]:
    """Yield a function that computes blocks with one thread for each core that this process may use."""
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pool = ThreadPoolExecutor(workers)
    try:
        yield lambda _, codes: _joined(
            list(pool.map(lambda bound: filling.rows_of(codes[slice(*bound)]), _bounds(len(codes), workers)))
        )
    finally:
        pool.shutdown(cancel_futures=True)


def check_parallel(parallel: str) -> None:
    """Raise the error of `fill` if work cannot be divided in this way on this machine."""
    if parallel != THREADS:
        with _backend(parallel):
            pass


def _backend(name: str) -> Any:
    """Return the context in which joblib divides work by the backend of this name."""
    purpose = f"parallel={name!r}"
    load_joblib("cluster", purpose)
    if name == "ray":
        load_ray(purpose)
    settings: dict[str, Any] = {"ray_remote_args": _RAY} if name == "ray" else {}
    try:
        return backend(name, **settings)
    except ValueError as error:  # its message lists the backends
        raise OptionError(f"parallel must be {THREADS!r} or the name of a joblib backend. {error}") from error


@contextmanager
def _processes(filling: Filling, name: str, parts: Path | None) -> Iterator[Divide]:
    """Yield a function that computes blocks by the processes of a joblib backend; on Ray one for each core."""
    if parts is None:
        raise OptionError(
            "processes share their work in the cache folder, but there is no folder. Name one in TRIALEA_CACHE_DIR"
        )
    processes, joblib = _backend(name), load_joblib("cluster", f"parallel={name!r}")

    with processes, joblib.Parallel(batch_size=1) as pool:

        def divide(total: int, codes: NDArray[np.int64]) -> Rows:
            work, bounds = joblib.delayed(_work_elsewhere), _bounds(len(codes), joblib.effective_n_jobs())
            return _joined(pool(work(filling.kind, filling.game, parts, total, *bound) for bound in bounds))

        yield divide


class _Replica:
    """A table that another process computes, read from the disk while it grows."""

    def __init__(self, kind: Kind, game: Game, parts: Path) -> None:
        def known(kind: Kind, num_players: int) -> NDArray[np.float64]:
            if num_players == 1:
                return alone(game)
            return self._read(description_of(kind, with_players(game, num_players)), parts.parent)

        self._parts = parts
        self._filling = Filling(kind, game, known)
        self._entered: set[int] = set()

    def _read(self, description: dict[str, Any], folder: Path) -> NDArray[np.float64]:
        found = stored_array(description, folder)
        if found is None:
            raise OptionError(f"{folder} does not hold {description}: all processes must see the same folder of tables")
        return found[0]

    def rows_of(self, total: int, low: int, high: int) -> Rows:
        """Compute the rows of some cycles of a total; the greater totals must be on the disk."""
        for greater in range(self._filling.totals[0], total, -1):
            if greater not in self._entered:
                rows = self._read(_part_description(self._filling, greater), self._parts)
                self._filling.enter(self._filling.cycles(greater), rows)
                self._entered.add(greater)
        return self._filling.rows_of(self._filling.cycles(total)[low:high])


_replica = lru_cache(maxsize=1)(_Replica)  # one table at a time is in the making


def _work_elsewhere(kind: Kind, game: Game, parts: Path, total: int, low: int, high: int) -> Rows:
    """Compute a block in a process of a joblib backend."""
    return _replica(kind, game, parts).rows_of(total, low, high)
