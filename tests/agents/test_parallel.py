"""Tests of worker processes: they end with their parent, and missing libraries are named."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trialea.agents.parallel import load_joblib, load_ray
from trialea.envs.errors import MissingExtraError

PARENT = """
import time
import joblib
from trialea.agents.parallel import backend
with backend("loky", 2):
    parallel = joblib.Parallel(batch_size=1, return_as="generator_unordered")
for _ in parallel(joblib.delayed(time.sleep)(seconds) for seconds in (0, 0, 60, 60)):
    print(flush=True)
"""


def descendants(pid: int) -> set[int]:
    """Return the processes that a process has started, directly or indirectly."""
    children = {
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    }
    return children.union(*map(descendants, children))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads which processes there are from /proc")
def test_workers_end_within_seconds_of_a_killed_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        parent.stdout.readline()
        started = descendants(parent.pid)
        assert len(started) >= 3  # two workers and the resource tracker
        parent.send_signal(signal.SIGKILL)
    ends = time.monotonic() + 5
    while left := [pid for pid in started if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < ends, f"still running: {left}"
        time.sleep(0.1)


def test_missing_library_raises_and_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"a tournament needs 'joblib'.*trialea\[tournament\]"):
        load_joblib("tournament", "a tournament")
    with pytest.raises(MissingExtraError, match=r"the backend ray needs 'ray'.*trialea\[cluster\]"):
        load_ray("the backend ray")
