"""Tests of how No Dice's tables are computed: resuming after interruption, damage, and parallel work."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trialea
from tests.helpers import game_of
from trialea import OptionError
from trialea.agents.cache import DamagedTableWarning, cached_array
from trialea.agents.no_dice import tables
from trialea.agents.no_dice.cycles import cycles_of, rotated
from trialea.agents.no_dice.solver import NoDiceSolution, compute, solve
from trialea.agents.no_dice.tables import Filling
from trialea.envs.errors import MissingExtraError

SMALL = {"target": 5, "throws": 2}
PLAYERS = 3


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use a cache folder of the test's own."""
    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path / "tables"))
    yield tmp_path / "tables"


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small tables in saved parts too, as large ones are."""
    monkeypatch.setattr(tables, "_IN_PARTS", 0)


def small(**settings: Any) -> NoDiceSolution:
    """Solve a small game."""
    solution: NoDiceSolution = trialea.solve(game_of("no_dice", PLAYERS, **SMALL), lambda _: None, **settings)
    return solution


def same(one: NoDiceSolution, other: NoDiceSolution) -> bool:
    """Return whether two solutions have the same values and certificate."""
    return one.values.tobytes() == other.values.tobytes() and one.certificate == other.certificate


class Watched:
    """Records which totals are computed, and can interrupt the work at one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stop_at: int = 0) -> None:
        self.worked_out: list[tuple[str, int, int]] = []
        rows_of, part = Filling.rows_of, tables._part

        def watched(filling: Filling, total: int, *rest: Any) -> Any:
            self._total = total
            return part(filling, total, *rest)

        def counted(filling: Filling, codes: np.ndarray) -> Any:
            if filling.table.shape[0] > 1:  # smaller tables are only made for compilation
                if len(self.worked_out) + 1 == stop_at:
                    raise KeyboardInterrupt
                self.worked_out.append((filling.kind, filling.game.num_players, self._total))
            return rows_of(filling, codes)

        monkeypatch.setattr(tables, "_part", watched)
        monkeypatch.setattr(Filling, "rows_of", counted)


# --- Positions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("players", "target"), [(2, 1), (2, 7), (3, 4), (4, 3), (5, 2)])
def test_every_position_is_in_exactly_one_cycle(players: int, target: int) -> None:
    met: list[int] = []
    for total in range(players * (target - 1) + 1):
        codes = cycles_of(total, players, target)
        cycle = set(codes.tolist())
        for _ in range(players):
            codes = rotated(codes, players, target)
            cycle |= set(codes.tolist())
        vectors = np.array(np.unravel_index(sorted(cycle), (target,) * players))
        assert (vectors.sum(axis=0) == total).all()
        met += cycle
    assert sorted(met) == list(range(target**players))


def test_rotated_position_has_the_previous_mover_last() -> None:
    for vector in product(range(4), repeat=3):
        code = np.ravel_multi_index(vector, (4,) * 3)
        assert np.unravel_index(rotated(np.array([code]), 3, 4)[0], (4,) * 3) == (*vector[1:], vector[0])


# --- Interruption and damage -----------------------------------------------------------------------------


@pytest.mark.parametrize("stop_at", [5, 40])
def test_interrupted_work_resumes_where_it_stopped(
    folder: Path, in_parts: None, monkeypatch: pytest.MonkeyPatch, stop_at: int
) -> None:
    """It is interrupted in the first table, and in a later one."""
    with monkeypatch.context() as patch:
        first = Watched(patch, stop_at)
        with pytest.raises(KeyboardInterrupt):
            small()
    assert [path.suffix for path in folder.iterdir()].count(".parts") == 1
    with monkeypatch.context() as patch:
        second = Watched(patch)
        resumed = small()
    assert not set(first.worked_out) & set(second.worked_out)
    assert not [path for path in folder.iterdir() if path.suffix == ".parts"]
    with monkeypatch.context() as patch:
        patch.setenv("TRIALEA_CACHE_DIR", str(folder / "other"))
        whole = Watched(patch)
        assert same(resumed, small())
    assert set(whole.worked_out) == set(first.worked_out) | set(second.worked_out)


def test_damaged_part_is_computed_again(folder: Path, in_parts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        Watched(patch, 6)
        with pytest.raises(KeyboardInterrupt):
            small()
    [parts] = [path for path in folder.iterdir() if path.suffix == ".parts"]
    broken = sorted(parts.iterdir())[0]
    broken.write_bytes(broken.read_bytes()[:-100])
    with pytest.warns(DamagedTableWarning, match="is damaged"):
        found = small()
    assert same(found, compute(found.game))


def test_small_tables_are_not_saved_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Watched(monkeypatch, 5)
    with pytest.raises(KeyboardInterrupt):
        small()
    assert not list(folder.glob("*.parts"))


def test_progress_increases_to_one_over_all_tables() -> None:
    shares: list[float] = []
    solve(game_of("no_dice", PLAYERS, **SMALL), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1) and len(shares) > 40


# --- Parallel work ---------------------------------------------------------------------------------------


def test_one_core_and_several_give_identical_values(monkeypatch: pytest.MonkeyPatch) -> None:
    game = game_of("no_dice", PLAYERS, **SMALL)
    found = []
    for cores in (1, 5):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=cores: set(range(n)), raising=False)
        found.append(compute(game))
    assert same(*found)


@pytest.mark.parametrize("cycles", [1, 3, 4, 5, 100, 5000])
@pytest.mark.parametrize("workers", [1, 2, 64])
def test_blocks_cover_all_cycles_exactly_once(cycles: int, workers: int) -> None:
    bounds = tables._bounds(cycles, workers)
    assert [low for low, _ in bounds] == [0, *(high for _, high in bounds[:-1])]
    assert bounds[-1][1] == cycles
    assert all(0 < high - low <= 256 and low % 4 == 0 for low, high in bounds)


def test_processes_give_identical_values(folder: Path) -> None:
    pytest.importorskip("joblib")
    found = small(parallel="loky")
    assert same(found, compute(found.game))
    assert {path.suffix for path in folder.iterdir()} == {".npz"}


def test_processes_require_joblib_and_a_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "joblib", None)
        with pytest.raises(MissingExtraError, match=r"parallel='loky' needs 'joblib'.*trialea\[cluster\]"):
            small(parallel="loky")
    monkeypatch.setattr("trialea.agents.cache.cache_folder", lambda: None)
    with pytest.raises(OptionError, match="TRIALEA_CACHE_DIR"):
        small(parallel="loky")


def test_unknown_parallel_backend_raises_and_names_the_known_ones(folder: Path) -> None:
    pytest.importorskip("joblib")
    with pytest.raises(
        OptionError, match="parallel must be 'threads' or .* joblib backend.* foo, expected one of .*'loky'"
    ):
        small(parallel="foo")


def test_process_that_cannot_see_the_cache_folder_raises(tmp_path: Path) -> None:
    game = game_of("no_dice", PLAYERS, **SMALL)
    with pytest.raises(OptionError, match="must see the same folder"):
        tables._work_elsewhere("values", game, tmp_path / "x.parts", 12, 0, 1)
    known = tables.description_of("values", game_of("no_dice", 2, **SMALL))
    cached_array(known, lambda: (np.ones((25, 3)), {}), tmp_path)
    with pytest.raises(OptionError, match="must see the same folder"):
        tables._work_elsewhere("values", game, tmp_path / "x.parts", 11, 0, 1)


@pytest.mark.slow
def test_cluster_that_loses_a_node_gives_identical_values(folder: Path) -> None:
    """Solves five players to 4 points on a local Ray cluster of three nodes; one is killed halfway."""
    pytest.importorskip("joblib")
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    game = game_of("no_dice", 5, target=4)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    killing: list[threading.Thread] = []

    def kill_one(done: float) -> None:
        if done > 0.5 and not killing:  # during a total, because work continues meanwhile
            killing.append(threading.Timer(0.2, cluster.remove_node, (nodes[0], False)))
            killing[0].start()

    ray.init(address=cluster.address, log_to_driver=False)
    try:
        found = solve(game, kill_one, parallel="ray")
        killing[0].join()
        assert sum(node["Alive"] for node in ray.nodes()) == 2
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert same(found, compute(game))
    assert {path.suffix for path in folder.iterdir()} == {".npz"}
