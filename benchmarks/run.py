"""Run the benchmarks, and gather their figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trialea.envs.errors import UnknownNameError, missing_extra


def aec(game: str) -> dict[str, float]:
    """The AEC environment against connect_four."""
    from trialea.benchmarks.envs import aec_vs_connect_four

    return aec_vs_connect_four(game)


def batch(game: str) -> dict[str, float]:
    """The batched engine against connect_four."""
    from trialea.benchmarks.envs import batch_vs_connect_four

    return batch_vs_connect_four(game)


def train(game: str) -> dict[str, float]:
    """Training on the real environment against a free one."""
    try:
        from trialea.benchmarks.training import train_vs_free_env
    except ImportError as error:
        raise missing_extra("stable-baselines3", "train", "the benchmark of training") from error
    return train_vs_free_env(game)


def solver(game: str) -> dict[str, float]:
    """The compiled solver against plain NumPy, on the same equations, one thread each."""
    from trialea.agents.no_dice.solver import compute
    from trialea.benchmarks import numpy_solver
    from trialea.envs.game import Game

    full = Game("no_dice", 2)
    compute(Game("no_dice", 2, target=2))  # compile, or load what was compiled
    values, facts = compute(full)
    began = time.perf_counter()
    others = numpy_solver.solve(full.options)
    theirs = time.perf_counter() - began
    again = compute(full)[1]["seconds"]
    ours = (facts["seconds"] + again) / 2  # one run before the other solver and one after it
    return {
        "solver_vs_numpy": theirs / ours,
        "solver_seconds": ours,
        "numpy_solver_seconds": theirs,
        "solver_numpy_difference": float(np.abs(values - others).max()),
    }


BENCHMARKS: dict[str, Callable[[str], dict[str, float]]] = {
    "aec": aec,
    "batch": batch,
    "train": train,
    "solver": solver,
}


def run(
    game: str = "no_dice", names: Sequence[str] = (), report: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """The figures of the named benchmarks (all by default); `report` is told each name as it starts."""
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        raise UnknownNameError(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}")
    figures: dict[str, Any] = {"game": game}
    for name, measure in BENCHMARKS.items():
        if not names or name in names:
            if report is not None:
                report(name)
            figures.update(measure(game))
    return figures
