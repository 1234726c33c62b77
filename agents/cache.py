"""Cache arrays on disk between processes, such as the tables of solved games.

Each file is written whole or not at all, and checked against its digest when read. A damaged array is built again.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from trialea.envs.errors import FileError
from trialea.envs.files import atomic_path, check_writable, locked, remove_leftovers
from trialea.envs.game import Game

FORMAT = 1


class DamagedTableWarning(UserWarning):
    """A cached table does not match its digest and is computed again."""


class UnkeptTableWarning(UserWarning):
    """A table could not be written, for example on a full disk; it is used, but not cached."""


def cache_folder() -> Path | None:
    """Return the folder of cached tables: `TRIALEA_CACHE_DIR` if set, else a folder in the user's cache directory.

    Return None if the user has no home, so that nothing can be cached.
    """
    chosen = os.environ.get("TRIALEA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        folder = user_cache_path("trialea")
    except RuntimeError:  # a user without a home
        return None
    return folder if folder.is_absolute() else None


def why_not_kept() -> str:
    """Return why tables can't be cached now, and the remedy; empty if they can."""
    folder = cache_folder()
    remedy = "name one that can be written in TRIALEA_CACHE_DIR"
    if folder is None:
        return f"there is no folder to keep tables in: {remedy}"
    try:
        check_writable(folder / "table")
    except FileError:
        return f"tables cannot be kept in {folder}: {remedy}"
    return ""


def digest_of(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's bytes, in hexadecimal."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def cached_array(
    description: Mapping[str, Any],
    build: Callable[[], tuple[NDArray[Any], dict[str, Any]]],
    folder: Path | None = None,
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return the array for `description`, with facts about it, from the cache; else build and cache it.

    If several processes need the array at once, one builds it, and the others wait, with a `WaitingWarning`. If no
    folder can be written, each process builds the array each time.

    Args:
        description: plain data that identifies the array.
        build: returns the array and the facts, which are plain data too.
        folder: the folder of cached arrays, by default `cache_folder()`.
    """
    folder = folder or cache_folder()
    found = stored_array(description, folder)
    if found is not None:
        return found
    if folder is None:
        return build()
    path, key = folder / _file_name(description), _key(description)
    with _making(path):
        found = _stored(path, key, tell=False)  # another process may have made it by now
        if found is None:
            found = build()
            keep_array(description, *found, folder)
    return found


def stored_array(
    description: Mapping[str, Any], folder: Path | None = None
) -> tuple[NDArray[Any], dict[str, Any]] | None:
    """Return the cached array and facts for this description; None if they are missing or damaged."""
    folder = folder or cache_folder()
    return None if folder is None else _stored(folder / _file_name(description), _key(description), tell=True)


def keep_array(description: Mapping[str, Any], array: NDArray[Any], facts: dict[str, Any], folder: Path) -> None:
    """Write an array and its facts, whole or not at all. If that fails, warn and continue without a cache."""
    path, key = folder / _file_name(description), _key(description)
    header = json.dumps({"key": key, "sha256": digest_of(array), "facts": facts})
    try:
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, array=array, header=np.array(header))
    except FileError as error:
        if not why_not_kept():  # else the folder can't be written at all, which `trialea solve` says beforehand
            warnings.warn(f"the table is computed again next time: {error}", UnkeptTableWarning, 3)


@contextmanager
def _making(path: Path) -> Iterator[None]:
    """Let one process at a time make a table. No lock is held if its folder can't be written."""
    with ExitStack() as stack:
        with suppress(FileError):
            stack.enter_context(locked(path.with_suffix(".lock"), "is making this table", wait=True))
            remove_leftovers(path.parent, path)
        yield


def _stored(path: Path, key: str, tell: bool) -> tuple[NDArray[Any], dict[str, Any]] | None:
    """Return the content of a file; None if it is missing or damaged. `tell`: whether to warn of damage."""
    try:
        return _read(path, key)
    except OSError:  # it doesn't exist, or is in a folder that can't be read
        pass
    except Exception as error:  # NumPy treats other files as pickled objects, and its long message warns of these
        why = "it is not an archive of arrays" if "pickle" in str(error) else str(error)
        if tell:
            warnings.warn(f"cached table {path} is damaged ({why}); computing it again", DamagedTableWarning, 4)
    return None


def solve_command(game: Game) -> str:
    """Return the command that computes the solution of `game` and caches it."""
    plain = Game(game.name)
    words = ["trialea solve", game.name]
    if game.num_players != plain.num_players:
        words.append(f"--players {game.num_players}")
    defaults = asdict(plain.options)
    changed = [(key, value) for key, value in asdict(game.options).items() if value != defaults[key]]
    return " ".join([*words, *(f"--{key.replace('_', '-')} {value}" for key, value in changed)])


def parts_folder(description: Mapping[str, Any]) -> Path | None:
    """Return the folder for the parts of an unfinished array; None if nothing can be cached."""
    folder = cache_folder()
    return None if folder is None else (folder / _file_name(description)).with_suffix(".parts")


def _key(description: Mapping[str, Any]) -> str:
    return json.dumps({"format": FORMAT, **description}, sort_keys=True)


def _file_name(description: Mapping[str, Any]) -> str:
    words = "-".join(str(value) for value in description.values() if isinstance(value, (str, int)))
    return f"{words}-{hashlib.sha256(_key(description).encode()).hexdigest()[:16]}.npz"


def _read(path: Path, key: str) -> tuple[NDArray[Any], dict[str, Any]]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        array, header = stored["array"], json.loads(str(stored["header"]))
    if header["key"] != key:
        raise ValueError("it describes something else")
    if header["sha256"] != digest_of(array):
        raise ValueError("its digest does not match")
    return array, header["facts"]
