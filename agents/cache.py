"""Arrays kept on disk between processes: written whole or not at all, checked when read, rebuilt when damaged."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from trialea.envs.game import Game

FORMAT = 1


class DamagedTableWarning(UserWarning):
    """A cached table did not match its digest and is computed again."""


def cache_folder() -> Path | None:
    """The folder of cached tables: `TRIALEA_CACHE_DIR` if set, else one in the user's cache directory.

    None where a user has no home, and so nowhere to keep anything.
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
    """Why no table that is made now can be kept, and what to do; empty where it can."""
    folder = cache_folder()
    place = folder
    while place is not None and not place.exists() and place != place.parent:
        place = place.parent
    if place is not None and place.is_dir() and os.access(place, os.W_OK):
        return ""
    what = "there is no folder to keep tables in" if folder is None else f"tables cannot be kept in {folder}"
    return f"{what}: name one that can be written in TRIALEA_CACHE_DIR"


def digest_of(array: NDArray[Any]) -> str:
    """The SHA-256 of an array's bytes, in hexadecimal."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def cached_array(
    description: Mapping[str, Any],
    build: Callable[[], tuple[NDArray[Any], dict[str, Any]]],
    folder: Path | None = None,
) -> tuple[NDArray[Any], dict[str, Any]]:
    """The array that `description` names, and facts about it: from disk, else from `build()`, and then kept.

    Several processes may ask at once: each file appears whole, by a rename, and its content is checked against the
    digest inside it. Where no folder can be written the array is built each time.

    Args:
        description: plain data.
        build: makes the array and the facts, plain data too.
        folder: where arrays are kept, by default in `cache_folder()`.
    """
    folder = folder or cache_folder()
    found = stored_array(description, folder)
    if found is not None:
        return found
    array, facts = build()
    if folder is not None:
        _write(folder / _file_name(description), _key(description), array, facts)
    return array, facts


def stored_array(
    description: Mapping[str, Any], folder: Path | None = None
) -> tuple[NDArray[Any], dict[str, Any]] | None:
    """What `cached_array` has kept under this description; None if there is nothing, or it is damaged."""
    folder = folder or cache_folder()
    if folder is None:
        return None
    path = folder / _file_name(description)
    try:
        return _read(path, _key(description))
    except OSError:  # there is none, or it lies where it may not be read
        pass
    except Exception as error:  # NumPy takes what is no archive for pickled objects, of which it warns at length
        why = "it is no archive of arrays" if "pickle" in str(error) else str(error)
        warnings.warn(f"cached table {path} is damaged ({why}); computing it again", DamagedTableWarning, 3)
    return None


def solve_command(game: Game) -> str:
    """The command that makes the solution of `game`, and keeps it."""
    plain = Game(game.name)
    words = ["trialea solve", game.name]
    if game.num_players != plain.num_players:
        words.append(f"--players {game.num_players}")
    defaults = asdict(plain.options)
    changed = [(key, value) for key, value in asdict(game.options).items() if value != defaults[key]]
    return " ".join([*words, *(f"--{key.replace('_', '-')} {value}" for key, value in changed)])


def parts_folder(description: Mapping[str, Any]) -> Path | None:
    """A folder for the parts of an array in the making, to be removed when it is whole; None if there is nowhere."""
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


def _write(path: Path, key: str, array: NDArray[Any], facts: dict[str, Any]) -> None:
    header = json.dumps({"key": key, "sha256": digest_of(array), "facts": facts})
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            temporary = Path(file.name)
            np.savez(file, array=array, header=np.array(header))
        temporary.chmod(0o644)  # temporary files are private, a table is not
        temporary.replace(path)
    except OSError:  # nowhere to write: the table is computed again next time
        pass
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
