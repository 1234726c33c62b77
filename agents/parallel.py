"""Divide work among processes of this machine, or of a Ray cluster, with joblib.

The solver's tables and the blocks of a tournament use it. They decide how to divide the work and gather the results.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

from trialea.envs.errors import needs_extra

_LOOK = 0.5  # seconds between a worker's looks at whether its parent still runs


def load_joblib(extra: str, purpose: str) -> Any:
    """Return joblib, or raise the error that names the extra to install."""
    with needs_extra(extra, purpose, "joblib"):
        import joblib
    return joblib


def load_ray(purpose: str) -> Any:
    """Return Ray, registered with joblib, or raise the error that names the extra to install."""
    with needs_extra("cluster", purpose, "ray"):
        import ray
        from ray.util.joblib import register_ray
    register_ray()
    return ray


def backend(name: str, workers: int | None = None, **settings: Any) -> Any:
    """Return the context in which `joblib.Parallel` hands calls to the processes of a backend.

    Processes on this machine end within seconds of this one, even if it is killed, and leave Ctrl-C to it.

    Args:
        name: a joblib backend, such as `"loky"`, this machine's processes, or `"ray"` after `load_ray`.
        workers: the number of processes; by default one for each core.
        settings: further settings of the backend.

    Raises:
        ValueError: joblib knows no such backend.
    """
    import joblib

    if name == "loky":
        settings = {"initializer": follow_parent, "initargs": (os.getpid(),), **settings}
    return joblib.parallel_config(name, n_jobs=workers or -1, **settings)


def follow_parent(parent: int) -> None:
    """Make this worker process ignore Ctrl-C, and end when its parent process has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), name="follow parent", daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
