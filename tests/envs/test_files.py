"""Tests of atomic writes, checks before writing, and locks on folders."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from trialea.envs import files
from trialea.envs.errors import FileError, InUseError, TrialeaError
from trialea.envs.files import (
    WaitingWarning,
    atomic_folder,
    atomic_path,
    check_new_folder,
    check_writable,
    locked,
    locked_folder,
    new_folder,
    numbered_folder,
    resumable,
    write_text,
)


def test_file_appears_complete_and_missing_folders_are_made(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "page.html"
    with atomic_path(target) as temporary:
        temporary.write_text("half")
        assert temporary.suffix == ".html" and not target.exists()
    assert target.read_text() == "half"
    assert list(target.parent.iterdir()) == [target]


def test_error_while_writing_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_overwritten_file_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "secret"
    target.touch(0o600)
    write_text(target, "new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    plain = tmp_path / "plain"
    plain.touch()
    write_text(tmp_path / "fresh", "new")
    assert (tmp_path / "fresh").stat().st_mode == plain.stat().st_mode


def test_write_follows_symbolic_links(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link, dangling = tmp_path / "there" / "real", tmp_path / "link", tmp_path / "dangling"
    real.write_text("old")
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "there" / "new")
    write_text(link, "new")
    write_text(dangling, "new")
    assert link.is_symlink() and real.read_text() == "new"
    assert dangling.is_symlink() and (tmp_path / "there" / "new").read_text() == "new"


def test_pipes_folders_and_devices_are_rejected_and_kept(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for target, kind in (
        (pipe, "a pipe"),
        (tmp_path / "link", "a pipe"),
        (tmp_path, "a folder"),
        ("/dev/null", "a device"),
    ):
        with pytest.raises(FileError, match=f"must be a file, got {kind}"):
            check_writable(target)
        with pytest.raises(FileError), atomic_path(target):
            pytest.fail("the body must not run")
    assert stat.S_ISFIFO(pipe.stat().st_mode) and stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_error_names_a_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "afile").touch()
    for target in (tmp_path / "afile" / "r.html", tmp_path / "afile" / "deep" / "r.html"):
        with pytest.raises(FileError) as caught:
            check_writable(target)
        assert (
            str(caught.value) == f"{target} can't be written: {tmp_path / 'afile'} is not a folder. Name another place"
        )
    with pytest.raises(FileError, match="is not a folder"):
        check_new_folder(tmp_path / "afile")


@pytest.mark.parametrize("refused", ["folder", "file"])
def test_missing_permission_is_found_before_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    target = tmp_path / "r.html"
    target.touch()
    place = target if refused == "file" else tmp_path
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != place and access(path, mode))
    with pytest.raises(FileError, match="read-only" if refused == "file" else "no permission to write in"):
        check_writable(target)


def test_error_names_an_impossible_file_name(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="file name too long"):
        check_writable(tmp_path / ("x" * 300))
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(FileError, match=str(loop)):
        check_writable(loop)


@pytest.mark.parametrize("closing_fails", [False, True])
def test_full_disk_error_names_the_target(tmp_path: Path, closing_fails: bool) -> None:
    """An archive writer can raise a second error when it closes its archive on a full disk."""
    target = tmp_path / "table.npz"
    with pytest.raises(FileError) as caught, atomic_path(target) as temporary:
        temporary.write_bytes(b"half")
        try:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            if closing_fails:
                raise ValueError("the archive can't be closed")
    assert str(caught.value) == f"{target} can't be written: no space left on device. Free some space"
    assert not list(tmp_path.iterdir())


def test_resumable_adds_how_to_continue_to_the_error() -> None:
    for file in ("runs/x/metrics.jsonl", None):
        expected = f"^{file or 'runs/x'}: no space left on device. To continue: this$"
        with pytest.raises(FileError, match=expected), resumable(Path("runs/x"), "To continue: this"):
            raise OSError(errno.ENOSPC, "No space left on device", file)
    with (
        pytest.raises(KeyboardInterrupt, match=r"^stopped\. To continue: this$"),
        resumable(Path(), "To continue: this"),
    ):
        raise KeyboardInterrupt


def test_folder_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "checkpoints" / "1") as temporary:
        (temporary / "model").touch()
        assert not (tmp_path / "checkpoints" / "1").exists()
    assert (tmp_path / "checkpoints" / "1" / "model").exists()
    with pytest.raises(RuntimeError), atomic_folder(tmp_path / "checkpoints" / "2"):
        raise RuntimeError
    with pytest.raises(FileError) as caught, atomic_folder(tmp_path / "checkpoints" / "2") as temporary:
        (temporary / "model").mkdir()
        check_writable(temporary / "model")
    assert str(caught.value).startswith(f"{tmp_path / 'checkpoints' / '2' / 'model'} must be a file, got a folder")
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["1"]


def test_locked_folder_error_names_the_process_and_its_task(tmp_path: Path) -> None:
    with new_folder(tmp_path / "run", "is training in it"):
        assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]
        expected = rf"is in use: process {os.getpid()} on \S+ is training in it, since .*\. Wait"
        with pytest.raises(InUseError, match=expected), locked_folder(tmp_path / "run", "is training in it"):
            pytest.fail("the body must not run")
        with pytest.raises(InUseError), new_folder(tmp_path / "run", "is training in it"):
            pytest.fail("the body must not run")
    assert not list((tmp_path / "run").iterdir())


def test_lock_ends_when_its_process_is_killed(tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from trialea.envs.files import locked
with locked(Path({str(tmp_path / ".lock")!r}), "here"):
    print(flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(InUseError, match=f"process {other.pid} on"), locked(tmp_path / ".lock", "there"):
            pytest.fail("the body must not run")
        other.send_signal(signal.SIGKILL)
    with locked(tmp_path / ".lock", "there"):
        pass
    assert not list(tmp_path.iterdir())


def test_waiting_for_a_lock_warns_and_then_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_PATIENCE", 0.0)
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(tmp_path / "table.lock", "is solving a game"):
            held.set()
            let_go.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    threading.Timer(0.1, let_go.set).start()
    with pytest.warns(WaitingWarning, match="is solving a game"), locked(tmp_path / "table.lock", "", wait=True):
        assert let_go.is_set()
    holder.join()


def test_new_folder_rejects_a_folder_with_content(tmp_path: Path) -> None:
    (tmp_path / "plan.json").touch()
    (tmp_path / ".writing-0").touch()  # left by a killed process
    with pytest.raises(FileError, match="exists already and isn't empty"), new_folder(tmp_path, ""):
        pytest.fail("the body must not run")
    with new_folder(tmp_path, "", leftovers=("plan.json",)):
        assert not (tmp_path / ".writing-0").exists()


def test_numbered_folders_get_consecutive_numbers(tmp_path: Path) -> None:
    with numbered_folder(tmp_path / "runs", "x") as first, numbered_folder(tmp_path / "runs", "x") as second:
        assert [first.name, second.name] == ["x-1", "x-2"]
        (first / "config.yaml").touch()
    assert first.exists() and not second.exists()
    (tmp_path / "afile").touch()
    with (
        pytest.raises(FileError, match="afile can't be written: .* is not a folder"),
        numbered_folder(tmp_path / "afile", "x"),
    ):
        pytest.fail("the body must not run")


def test_file_error_is_a_trialea_error_and_an_os_error() -> None:
    assert issubclass(FileError, TrialeaError) and issubclass(FileError, OSError)
