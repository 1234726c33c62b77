"""Play blocks of a tournament in worker processes of this machine, or on a Ray cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import BrokenExecutor

from trialea.agents.parallel import backend, load_joblib, load_ray
from trialea.evaluation.tournaments.blocks import Job, Outcome, run_block

PURPOSE = "a tournament"
_ON_RAY = "the backend ray"
_ROUNDS = 4  # blocks that each worker gets in one call to Ray


def play_all(name: str, workers: int | None, job: Job, waiting: deque[int]) -> Generator[Outcome, None, None]:
    """Play the waiting blocks and yield their outcomes in any order; raise `BrokenExecutor` if a worker dies.

    A block leaves `waiting` when it is handed to a worker. Clear `waiting` to stop early.

    Args:
        name, workers: the backend and its processes, as in the configuration of a tournament.
        job: the tournament.
        waiting: the numbers of the blocks.
    """
    if name == "ray":
        yield from _play_on_ray(workers, job, waiting)
        return
    joblib = load_joblib("tournament", PURPOSE)
    with backend(name, workers):
        parallel = joblib.Parallel(batch_size=1, return_as="generator_unordered")
    yield from parallel(joblib.delayed(run_block)(job, block) for block in _taken(waiting, len(waiting)))


def check_backend(name: str) -> None:
    """Raise `MissingExtraError` if the packages of a backend are not installed."""
    load_joblib("tournament", PURPOSE)
    if name == "ray":
        load_ray(_ON_RAY)


def _play_on_ray(workers: int | None, job: Job, waiting: deque[int]) -> Generator[Outcome, None, None]:
    """Play on the cluster that Ray is connected to or `RAY_ADDRESS` names; without one, on this machine.

    Ray's backend returns results only when all are finished, so it gets some blocks at a time.
    """
    ray, joblib = load_ray(_ON_RAY), load_joblib("tournament", PURPOSE)
    if not ray.is_initialized():
        ray.init()
    while waiting:
        processors = int(ray.cluster_resources()["CPU"])  # nodes may join or leave
        count = min(workers or processors, processors)
        with backend("ray", count):
            parallel = joblib.Parallel(batch_size=1)
        try:
            yield from parallel(joblib.delayed(run_block)(job, block) for block in _taken(waiting, _ROUNDS * count))
        except ray.exceptions.RayError as error:
            raise BrokenExecutor(str(error)) from error


def _taken(waiting: deque[int], most: int) -> Iterator[int]:
    """Yield at most `most` of the waiting blocks, and remove each when it is yielded."""
    for _ in range(most):
        if not waiting:
            return
        yield waiting.popleft()
