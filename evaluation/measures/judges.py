"""Prepare the measurement of regret and luck, for `evaluate` and for tournaments.

Both ask here for the solution and the value function of a game, or for the reason why a game has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.evaluation.measures.luck import Luck, ValueFunction, check_consistent, value_function_of
from trialea.evaluation.measures.regret import MILLI_UNITS, SolutionValues, solution_of
from trialea.evaluation.results import LuckValues, Regret, RegretUnit


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of the values for regret and luck; by default neither is measured.

    Attributes:
        regret_unit, regret_note, luck_values, luck_note: as in `trialea.evaluation.results.Evaluation`.
    """

    regret_unit: RegretUnit = ""
    regret_note: str = ""
    luck_values: LuckValues = ""
    luck_note: str = ""


@dataclass(frozen=True, slots=True)
class Judges:
    """The solution and the value function that judge the decisions of a match.

    Attributes:
        solution: the values of actions, for regret; None if regret is not measured.
        values: the values of positions, for luck; None if luck is not measured.
        sources: the sources of both, or the reasons why they are missing.
    """

    solution: SolutionValues | None
    values: ValueFunction | None
    sources: Sources


@dataclass(frozen=True, slots=True)
class Measurements:
    """The regret and luck found in a match; by default nothing was measured.

    Attributes:
        regret: (k) the regret of each agent; None if it was not measured.
        luck: the luck in each game; None if it was not measured.
        sources: the sources of the values.
    """

    regret: tuple[Regret, ...] | None = None
    luck: Luck | None = None
    sources: Sources = Sources()


def prepare_judges(game: Game, regret: bool, luck: bool | ValueFunction) -> Judges:
    """Return the solution and the value function, as far as they are requested and exist for the game.

    Args:
        game: the game that is played.
        regret: whether to measure regret.
        luck: whether to measure luck; or the value function to measure it with.

    Raises:
        OptionError: an argument of another type, or a value function that is not consistent.
    """
    check_switch("regret", regret)
    solution: SolutionValues | None = None
    unit: RegretUnit = ""
    regret_note, luck_note = "", ""
    if regret:
        try:
            solution = solution_of(game)
            unit = MILLI_UNITS[solution.unit]
        except OptionError as error:  # the game is beyond the solver's reach
            regret_note = str(error)
    values: ValueFunction | None = None
    source: LuckValues = ""
    if isinstance(luck, ValueFunction):
        check_consistent(game, luck)
        values, source = luck, "given"
    elif not isinstance(luck, (bool, np.bool_)):
        raise OptionError(
            "luck must be True, False or a value function with the methods state_values and chance_values,"
            f" got {luck!r}"
        )
    elif luck:
        try:
            values, source = value_function_of(game, solution)
        except OptionError as error:  # there is no estimate either
            luck_note = str(error)
    return Judges(solution, values, Sources(unit, regret_note, source, luck_note))


def check_switch(name: str, value: object) -> None:
    """Raise `OptionError` unless `value`, an argument called `name`, is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{name} must be True or False, got {value!r}")
