"""Tests of the disk cache for No Dice's tables: reuse, damage, atomic writes and concurrent access."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trialea
from tests.helpers import run_python
from trialea.agents import cache as table_cache
from trialea.agents.cache import DamagedTableWarning, UnkeptTableWarning, cached_array
from trialea.agents.no_dice.solver import NoDiceSolution, solve

SMALL = {"target": 4, "throws": 2}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a cache folder for the test."""
    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path / "tables"))
    yield tmp_path / "tables"


def small() -> NoDiceSolution:
    """Solve a small game."""
    return solve(trialea.make_game("no_dice", 2, **SMALL))


def test_table_and_certificate_are_cached_and_reused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is computed and cached when it is first used."""
    first = small()
    [file] = folder.iterdir()
    assert first.residual < 1e-12
    assert len(list(folder.iterdir())) == 2
    monkeypatch.setattr("trialea.agents.no_dice.tables.fill", None)
    again = small()
    assert again.values.tobytes() == first.values.tobytes()
    assert (again.certificate, again.seconds) == (first.certificate, first.seconds)
    assert file.suffix == ".npz"


def test_each_set_of_options_has_its_own_table(folder: Path) -> None:
    for options in (
        SMALL,
        {**SMALL, "throws": 1},
        {**SMALL, "target": 3},
        {**SMALL, "intermediates": "natural"},
    ):
        solution = solve(trialea.make_game("no_dice", 2, **options))
        assert solution.values.shape == (options["target"],) * 2 + (2,)
    assert len(list(folder.iterdir())) == 4


def _flip(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "a value's bit flipped": lambda content: _flip(content, 200),
    "a late bit flipped": lambda content: _flip(content, len(content) - 30),
    "text": lambda content: b"not a table",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_table_is_computed_again_with_a_warning(folder: Path, damage: str) -> None:
    first = small()
    [file] = folder.iterdir()
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.warns(DamagedTableWarning, match="is damaged .*computing it again"):
        assert small().values.tobytes() == first.values.tobytes()
    assert small().values.tobytes() == first.values.tobytes()  # no warning, as the file is valid again
    assert list(folder.iterdir()) == [file]


def test_table_that_does_not_match_its_digest_is_damaged(folder: Path) -> None:
    """The file itself can be read."""
    first = small()
    [file] = folder.iterdir()
    with np.load(file) as stored:
        np.savez(file, array=stored["array"] + 1e-9, header=stored["header"])
    with pytest.warns(DamagedTableWarning, match="digest"):
        assert small().values.tobytes() == first.values.tobytes()


def test_table_of_other_options_under_this_name_is_damaged(folder: Path) -> None:
    first = small()
    [file] = folder.iterdir()
    solve(trialea.make_game("no_dice", 2, target=5, throws=2))
    [other] = set(folder.iterdir()) - {file}
    file.write_bytes(other.read_bytes())
    with pytest.warns(DamagedTableWarning, match="something else"):
        assert small().values.tobytes() == first.values.tobytes()


def test_full_disk_warns_and_leaves_no_partial_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_full(file: Any, **arrays: Any) -> None:
        file.write(b"half of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np, "savez", disk_full)
    with pytest.warns(UnkeptTableWarning, match=r"\.npz can't be written: no space left on device"):
        assert small().residual < 1e-12
    assert list(folder.iterdir()) == []


def test_table_is_written_under_a_temporary_name_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file has the table's name until the table is complete."""
    seen: list[list[str]] = []
    savez = np.savez

    def watched(file: Any, **arrays: Any) -> None:
        savez(file, **arrays)
        seen.append([path.suffix for path in folder.iterdir()])
        assert Path(file.name).name.startswith(".writing-")

    monkeypatch.setattr(np, "savez", watched)
    small()
    assert sorted(seen[0]) == [".lock", ".npz"] and len(seen) == 1
    assert [path.suffix for path in folder.iterdir()] == [".npz"]


def test_interrupted_write_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(file: Any, **arrays: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small()
    assert list(folder.iterdir()) == []


def test_solve_works_when_the_cache_folder_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_file").touch()
    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path / "a_file" / "tables"))
    assert small().residual < 1e-12
    assert [path.name for path in tmp_path.iterdir()] == ["a_file"]


def test_solve_works_when_a_table_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder belongs to another user. That is not damage, so there is no warning."""
    first = small()

    def forbidden(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    for look in ("open", "exists", "stat"):
        monkeypatch.setattr(Path, look, forbidden)
    assert small().values.tobytes() == first.values.tobytes()


CACHE_USER = """
import warnings
import trialea
from trialea.envs.files import WaitingWarning
from trialea.agents.no_dice.solver import solve
warnings.simplefilter("ignore", WaitingWarning)
print(solve(trialea.make_game("no_dice", 2, target=4, throws=2)).summary()["table_sha256"])
"""


def test_two_processes_can_solve_at_the_same_time(folder: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        printed = set(threads.map(lambda _: run_python(CACHE_USER), range(2)))
    assert printed == {small().summary()["table_sha256"] + "\n"}
    assert [path.suffix for path in folder.iterdir()] == [".npz", ".npz"]  # the table and its certificate


WRITER = """
import numpy as np
from trialea.agents.cache import cache_folder, cached_array
for _ in range(100):
    for path in cache_folder().glob("[!.]*.npz"):
        path.unlink(missing_ok=True)
    cached_array({"table": "test"}, lambda: (np.arange(40_000.0), {}))
"""


def test_reader_never_sees_a_partial_table(folder: Path) -> None:
    """Another process deletes and rewrites the table repeatedly meanwhile."""
    expected = np.arange(40_000.0)
    cached_array({"table": "test"}, lambda: (expected, {}))
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(run_python, WRITER)
        while not writing.done():
            array, _ = cached_array({"table": "test"}, lambda: (expected, {}))
            assert array.tobytes() == expected.tobytes()
        assert writing.result() == ""


def test_cache_folder_is_the_users_unless_set_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIALEA_CACHE_DIR", raising=False)
    assert table_cache.cache_folder().name == "trialea"
    monkeypatch.setenv("TRIALEA_CACHE_DIR", "somewhere/else")
    assert table_cache.cache_folder() == Path("somewhere/else")
