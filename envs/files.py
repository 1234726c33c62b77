"""Write files whole or not at all, and let one process at a time write in a folder.

Every file that this library writes passes through `atomic_path`, `write_text` or `atomic_folder`. Every folder in which
a long piece of work keeps its state is claimed by `new_folder` or `locked_folder`. This module decides how files are
written; the modules that call it decide on the content.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import secrets
import shutil
import stat
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from pathlib import Path

from trialea.envs.errors import FileError, InUseError, TrialeaError

LOCK = ".lock"
TEMPORARY = ".writing-"  # how the names of unfinished files and folders begin
_PATIENCE = 3.0  # seconds to wait for a lock without a word
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class WaitingWarning(UserWarning):
    """This process waits for another process, which is making a file that both need."""


# Files -------------------------------------------------------------------------------------------------------------


def check_writable(target: str | Path) -> Path:
    """Return the file that `target` names, links followed, if it can be written. Nothing is written yet.

    Missing parent folders are fine: `atomic_path` makes them.

    Raises:
        FileError: the target is a folder, a pipe, a device or a read-only file, or its folder can't be written.
    """
    with _errors_name(target):
        real = Path(os.path.realpath(target))
        with suppress(FileNotFoundError, NotADirectoryError):
            mode = real.stat().st_mode
            if not stat.S_ISREG(mode):
                raise FileError(f"{target} must be a file, got {_kind(mode)}. Name another file")
            if not os.access(real, os.W_OK):
                raise FileError(f"{target} can't be written: it is read-only. Name another file")
        _check_folder(real.parent, target)
        return real


def check_new_folder(folder: str | Path, leftovers: Collection[str] = ()) -> None:
    """Raise unless `new_folder` could claim this folder; nothing is written.

    Args:
        folder: to be written, see `new_folder`.
        leftovers: see `new_folder`.

    Raises:
        FileError: it can't be written, or holds something already.
    """
    place = Path(folder)
    with _errors_name(place):
        _check_folder(place, place)
        if place.is_dir():
            names = {path.name for path in place.iterdir() if not path.name.startswith((LOCK, TEMPORARY))}
            if not names <= set(leftovers):
                raise FileError(
                    f"{place} exists already and isn't empty. Choose another folder, delete it, or continue with"
                    f" --resume {place}"
                )


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path. The file written there becomes `target` at the end; after an error it is deleted.

    The temporary file is in the target's folder and has the same suffix. A symbolic link is followed, and an existing
    file keeps its permissions. Missing folders are made.

    Raises:
        FileError: the target can't be written, as `check_writable` says, or the disk is full. It names the target.
    """
    real = check_writable(target)
    with _errors_name(target):
        real.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(real)
        temporary.touch(exist_ok=False)
        try:
            if real.exists():
                shutil.copymode(real, temporary)
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(real)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(target: str | Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all; see `atomic_path`."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder, which becomes `target` at the end; after an error it is deleted.

    Raises:
        FileError: the folder can't be written, or the disk is full. It names the target.
    """
    with _errors_name(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(target)
        temporary.mkdir()
        try:
            yield temporary
            temporary.rename(target)
        except FileError as error:
            raise FileError(str(error).replace(str(temporary), str(target))) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _temporary(target: Path) -> Path:
    return target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}{target.suffix}")


def _prefix(target: Path) -> str:
    """Return the prefix of the names of a target's unfinished files."""
    return f"{TEMPORARY}{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}-"


def _check_folder(folder: Path, target: str | Path) -> None:
    """Raise a `FileError` about `target` unless files can be made in this folder, or in the first parent there is."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise FileError(f"{target} can't be written: {folder} is not a folder. Name another place")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"{target} can't be written: there is no permission to write in {folder}. Name another place")


def _kind(mode: int) -> str:
    """Return the kind of file, in words, from its mode."""
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")


def remove_leftovers(folder: Path, target: Path | None = None) -> None:
    """Delete the unfinished files and folders of killed processes: all in a folder, or only those of one target.

    Call it only under a lock, so that nobody else writes there.
    """
    for path in folder.glob(f"{_prefix(target) if target else TEMPORARY}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


@contextmanager
def resumable(folder: Path, remedy: str) -> Iterator[None]:
    """Add a remedy to Ctrl-C, and to errors of the file system such as a full disk.

    Args:
        folder: the folder to name if an error names no file.
        remedy: whole sentences that say what is saved and how to continue.
    """
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(f"{str(stop) or 'stopped'}. {remedy}") from None
    except FileError as error:
        raise FileError(f"{error}. {remedy}") from error
    except OSError as error:
        raise FileError(f"{error.filename or folder}: {_reason(error)}. {remedy}") from error


# Folders -----------------------------------------------------------------------------------------------------------


@contextmanager
def locked(lock: Path, use: str, wait: bool = False) -> Iterator[None]:
    """Hold a lock file. It belongs to this process alone, and is released when the process ends, even if killed.

    Args:
        lock: the file; made when needed, and deleted at the end.
        use: the words about this process that others read after its number, such as "is training in it".
        wait: whether to wait for another holder, with a `WaitingWarning`, instead of raising.

    Raises:
        InUseError: another process holds the lock, and `wait` is false.
        FileError: the lock file can't be written.
    """
    from filelock import FileLock, Timeout

    with _errors_name(lock.parent):
        _check_folder(lock.parent, lock.parent)
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(lock, is_singleton=False)
        try:
            held.acquire(timeout=_PATIENCE if wait else 0)
        except Timeout:
            thing = lock.parent if lock.name == LOCK else lock.with_suffix("")
            in_use = f"{thing} is in use: {_holder(lock)}"
            if not wait:
                raise InUseError(f"{in_use}. Wait for it, end it, or use another folder") from None
            warnings.warn(f"{in_use}. Waiting for it", WaitingWarning, stacklevel=4)
            held.acquire(poll_interval=0.2)
    try:
        with suppress(OSError):  # on a full disk the lock holds all the same
            since = datetime.now().astimezone().isoformat(" ", "seconds")
            lock.write_text(f"process {os.getpid()} on {platform.node()} {use}, since {since}", encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            lock.unlink()  # a process that waits for the deleted file notices, and makes another
        held.release()


def _holder(lock: Path) -> str:
    """Return which process holds a lock, in words."""
    with suppress(OSError, ValueError):
        return lock.read_text(encoding="utf-8").strip() or "another process"
    return "another process"


@contextmanager
def locked_folder(folder: str | Path, use: str, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a folder, and delete the unfinished files of killed processes in it; see `locked`."""
    place = Path(folder)
    with locked(place / LOCK, use, wait):
        remove_leftovers(place)
        yield


@contextmanager
def new_folder(folder: str | Path, use: str, leftovers: Collection[str] = ()) -> Iterator[None]:
    """Make a folder, or use an empty one, and hold its lock.

    Args:
        folder: to be written; its parents are made.
        use: see `locked`.
        leftovers: files that are no content, since a process that is killed early may leave them.

    Raises:
        FileError: it holds something already, or can't be written.
        InUseError: another process writes in it.
    """
    check_new_folder(folder, leftovers)
    with locked_folder(folder, use):
        check_new_folder(folder, leftovers)
        yield


@contextmanager
def numbered_folder(parent: str | Path, name: str) -> Iterator[Path]:
    """Make the first free folder of name-1, name-2, …; at the end delete it if it is still empty.

    No two processes get the same folder.
    """
    with _errors_name(parent):
        _check_folder(Path(parent), parent)
        Path(parent).mkdir(parents=True, exist_ok=True)
        for number in count(1):
            folder = Path(parent) / f"{name}-{number}"
            with suppress(FileExistsError):
                folder.mkdir()
                break
    try:
        yield folder
    finally:
        with suppress(OSError):
            folder.rmdir()


# Errors ------------------------------------------------------------------------------------------------------------


@contextmanager
def _errors_name(target: str | Path) -> Iterator[None]:
    """Turn an error of the file system into a `FileError` that names the target, not a temporary file."""
    try:
        yield
    except TrialeaError:
        raise
    except Exception as error:
        cause = _cause(error)
        if cause is None:
            raise
        remedy = "Free some space" if cause.errno in _NO_ROOM else "Name another place, or change its permissions"
        raise FileError(f"{target} can't be written: {_reason(cause)}. {remedy}") from error


def _cause(error: BaseException) -> OSError | None:
    """Return the error of the file system that caused an error.

    On a full disk, a writer of archives raises another error while it closes the archive.
    """
    if isinstance(error, OSError):
        return error
    before = error.__context__
    while before is not None:
        if isinstance(before, OSError) and before.errno in _NO_ROOM:
            return before
        before = before.__context__
    return None


def _reason(error: OSError) -> str:
    """Return the system's message about an error."""
    return str(error) if error.strerror is None else error.strerror[:1].lower() + error.strerror[1:]
