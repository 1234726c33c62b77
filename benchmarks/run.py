"""Run the benchmarks and collect their figures. To add a benchmark, add its function to `BENCHMARKS`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import UnknownNameError, did_you_mean, needs_extra

SOLVER_BENCHMARKS = {
    "no_dice": "trialea.benchmarks.run:solver_vs_numpy",
    "poker_figures": "trialea.benchmarks.keeper_lattice:lattice_vs_direct_loop",
}
"""The function that times a game's solver against another way to do the same."""


def aec(game: str) -> dict[str, float]:
    """Compare the AEC environment with connect_four."""
    from trialea.benchmarks.envs import aec_vs_connect_four

    return aec_vs_connect_four(game)


def batch(game: str) -> dict[str, float]:
    """Compare the batched engine with connect_four."""
    from trialea.benchmarks.envs import batch_vs_connect_four

    return batch_vs_connect_four(game)


def train(game: str) -> dict[str, float]:
    """Compare training with a free environment, with the stock policy, and against past selves and random play."""
    with needs_extra("train", "the benchmark of training", "torch", "stable_baselines3", "sb3_contrib"):
        from trialea.benchmarks.training import measure
    return measure(game)


def solver(game: str) -> dict[str, float]:
    """Compare the game's solver with another way to compute the same."""
    if game not in SOLVER_BENCHMARKS:
        raise UnknownNameError(
            f"{game} has no benchmark of its solver. The games that have one are {', '.join(SOLVER_BENCHMARKS)}"
        )
    figures: dict[str, float] = resolve_name(SOLVER_BENCHMARKS[game])(game)
    return figures


def solver_vs_numpy(game: str) -> dict[str, float]:
    """Compare the compiled solver with plain NumPy on the same equations, one thread each, for two and three players.

    For three players the target is low, since NumPy takes long.
    """
    from trialea.benchmarks import numpy_solver
    from trialea.envs.game import Game

    figures: dict[str, float] = {}
    for players, target, words in ((2, 30, ""), (3, 8, "_3_players")):
        full = Game("no_dice", players, target=target)
        _solve_alone(Game("no_dice", players, target=2))  # compile, or load what was compiled
        values, first = _solve_alone(full)
        began = time.perf_counter()
        others = numpy_solver.solve(full.options, players)
        theirs = time.perf_counter() - began
        ours = (first + _solve_alone(full)[1]) / 2  # one run before the other solver and one after it
        figures |= {
            f"solver_vs_numpy{words}": theirs / ours,
            f"solver_seconds{words}": ours,
            f"numpy_solver_seconds{words}": theirs,
            f"solver_numpy_difference{words}": float(np.abs(values - others).max()),
        }
    return figures


def _solve_alone(game: Any) -> tuple[NDArray[np.float64], float]:
    """Return the probabilities of winning in all positions, computed by one thread, and the seconds it took."""
    from trialea.agents.no_dice.tables import Filling, alone, with_players

    began = time.perf_counter()
    tables = {1: alone(game)}
    for players in range(2, game.num_players + 1):
        filling = Filling("values", with_players(game, players), lambda _, number: tables[number])
        for total in filling.totals:
            codes = filling.cycles(total)
            filling.enter(codes, filling.rows_of(codes).rows)
        tables[players] = filling.table
    seconds = time.perf_counter() - began
    n, target = game.num_players, game.options.target
    return tables[n].reshape(*(target,) * n, n + 1)[..., :n], seconds


def first_use(game: str) -> dict[str, float]:
    """Seconds of the first step and the first evaluation, with nothing compiled yet and with all code on disk."""
    from trialea.benchmarks.first_use import time_first_use

    return time_first_use(game)


BENCHMARKS: dict[str, Callable[[str], dict[str, float]]] = {
    "aec": aec,
    "batch": batch,
    "train": train,
    "solver": solver,
    "first-use": first_use,
}


def run(
    game: str = "no_dice", names: Sequence[str] = (), report: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Return the figures of the named benchmarks, by default of all of the game. `report` is called as each starts."""
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        raise UnknownNameError(
            f"no benchmark is called {unknown[0]!r}.{did_you_mean(unknown[0], BENCHMARKS)}"
            f" The benchmarks are {', '.join(BENCHMARKS)}"
        )
    figures: dict[str, Any] = {"game": game}
    chosen = names or [name for name in BENCHMARKS if name != "solver" or game in SOLVER_BENCHMARKS]
    for name, measure in BENCHMARKS.items():
        if name in chosen:
            if report is not None:
                report(name)
            figures.update(measure(game))
    return figures
