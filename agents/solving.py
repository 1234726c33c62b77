"""Exact solutions: `solve` runs a game's solver, and `Solution` is the protocol of the results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.envs.registry import get_spec


@runtime_checkable
class Solution(Protocol):
    """The exact solution of a game, as `solve` returns it.

    Most solutions offer more. Ask with `isinstance`: one that is also `trialea.envs.ActionValues` gives the value of
    every action, and one that is also `trialea.evaluation.ValueFunction` gives the value of every state. Each game's
    page names what its own solution offers.
    """

    def summary(self, position: Sequence[int] = (), /) -> dict[str, Any]:
        """Return the main figures as plain data, ready for JSON, and the values of a position if one is given.

        The game's page says which numbers describe a position.
        """
        ...


def solve(game: Game, progress: Callable[[float], None] | None = None, **settings: Any) -> Solution:
    """Return the exact solution of `game`, from the cache on disk or computed.

    Args:
        game: the game with its players and options.
        progress: called with the share of the work that is done, from 0 to 1.
        **settings: settings of the game's solver; see `solver_settings`.

    Raises:
        OptionError: the game has no exact solution for its options or number of players, or its solver has no such
            setting.
    """
    known = solver_settings(game.name)
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise OptionError(
            f"the solver of {game.name} has no setting {', '.join(unknown)}; its settings: {', '.join(known) or 'none'}"
        )
    solution: Solution = import_module(get_spec(game.name).solver).solve(game, progress, **settings)
    return solution


def check_position(game: Game, position: Sequence[int], **settings: Any) -> None:
    """Raise `OptionError` unless the summary of the game's solution takes a position, before anything is solved.

    Args:
        game: the game.
        position: the numbers that describe it; each game's page says which.
        **settings: as of `solve`.
    """
    import_module(get_spec(game.name).solver).check_position(game, position, **settings)


def solver_settings(name: str) -> Mapping[str, Any]:
    """Return the settings of the solver of the game called `name`, with their defaults.

    Raises:
        UnknownNameError: there is no such game.
        OptionError: the game has no solver.
    """
    solver = get_spec(name).solver
    if not solver:
        raise OptionError(f"{name} has no exact solution")
    parameters = inspect.signature(import_module(solver).solve).parameters
    return {key: parameter.default for key, parameter in list(parameters.items())[2:]}
