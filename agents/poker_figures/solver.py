"""What is solved of Poker Figures: the solo table; and the strongest agent that a solution gives."""

from __future__ import annotations

from collections.abc import Callable

from trialea.agents.poker_figures.reference import ReferenceAgent
from trialea.agents.poker_figures.solo import SoloSolution, solve_solo
from trialea.envs.errors import OptionError
from trialea.envs.game import Game


def solve(game: Game, progress: Callable[[float], None] | None = None, turns: int | None = None) -> SoloSolution:
    """The greatest expected score of one player who has so many turns, for every filling of the sheet.

    Args:
        game: the game whose options are played.
        progress: called with the share of the work done, from 0 to 1.
        turns: from 1 to 1000.

    Raises:
        OptionError: no number of turns, or a table too large.
    """
    if turns is None:
        raise OptionError(
            "Poker Figures for several players is not solved; give a number of turns (turns=6, or --turns 6) for the "
            "greatest expected score of one player"
        )
    return solve_solo(game, turns, progress)


class SolverAgent(ReferenceAgent):
    """The strongest agent that a solution gives: the reference agent."""

    name = "solver"
