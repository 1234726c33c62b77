"""Where the blocks of a tournament are played: in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import BrokenExecutor

from trialea.agents.parallel import backend, load_joblib, load_ray
from trialea.evaluation.tournaments.blocks import Job, Outcome, play

PURPOSE = "a tournament"
_ON_RAY = "the backend ray"
_ROUNDS = 4  # blocks for each worker that Ray is handed together


def play_all(name: str, workers: int | None, job: Job, waiting: deque[int]) -> Generator[Outcome, None, None]:
    """What comes of the blocks that are waiting, in any order; `BrokenExecutor` where a process that plays dies.

    A block is taken from those waiting when it is handed to a process: by emptying them the caller puts an end to it.

    Args:
        name, workers: the backend and its processes, as in the configuration of a tournament.
        job: what is played.
        waiting: the numbers of the blocks.
    """
    if name == "ray":
        yield from _play_on_ray(workers, job, waiting)
        return
    joblib = load_joblib("tournament", PURPOSE)
    with backend(name, workers):
        parallel = joblib.Parallel(batch_size=1, return_as="generator_unordered")
    yield from parallel(joblib.delayed(play)(job, block) for block in _taken(waiting, len(waiting)))


def check_backend(name: str) -> None:
    """Raise `MissingExtraError` where what a backend needs is not installed."""
    load_joblib("tournament", PURPOSE)
    if name == "ray":
        load_ray(_ON_RAY)


def _play_on_ray(workers: int | None, job: Job, waiting: deque[int]) -> Generator[Outcome, None, None]:
    """The same on the cluster that Ray is connected to or `RAY_ADDRESS` names; without one, on this machine.

    Ray's backend gives results only when all are there, so it is handed some blocks at a time.
    """
    ray, joblib = load_ray(_ON_RAY), load_joblib("tournament", PURPOSE)
    if not ray.is_initialized():
        ray.init()
    while waiting:
        processors = int(ray.cluster_resources()["CPU"])  # nodes come and go
        count = min(workers or processors, processors)
        with backend("ray", count):
            parallel = joblib.Parallel(batch_size=1)
        try:
            yield from parallel(joblib.delayed(play)(job, block) for block in _taken(waiting, _ROUNDS * count))
        except ray.exceptions.RayError as error:
            raise BrokenExecutor(str(error)) from error


def _taken(waiting: deque[int], most: int) -> Iterator[int]:
    """Up to so many of the blocks that are waiting, each taken away when it is asked for."""
    for _ in range(most):
        if not waiting:
            return
        yield waiting.popleft()
