"""The solver of Poker Figures: the solo table, small games for two, and the agent `solver`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures.reference import ReferenceAgent
from trialea.agents.poker_figures.small_games import (
    SmallGameSolution,
    check_solvable,
    place_of,
    shared_solution,
    solve_small_game,
)
from trialea.agents.poker_figures.solo import SoloSolution, number_of_filling, solve_solo
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.poker_figures.rules import MIN_PLAYERS, Options
from trialea.envs.registry import check_own_solver


def solve(
    game: Game, progress: Callable[[float], None] | None = None, turns: int | None = None
) -> SoloSolution | SmallGameSolution:
    """Return the exact solution of a small game for two players; or, given a number of turns, the solo table.

    Args:
        game: the game; for the solo table, the one whose options are played.
        progress: called with the share of the work that is done, from 0 to 1.
        turns: from 1 to 1000. If given, the result is the greatest expected score of one player in this number of
            turns, for every filling of the sheet.

    Raises:
        OptionError: the game is too large, or of a kind that is not solved.
    """
    check_own_solver("poker_figures", game.name)
    _check(game, turns)
    return solve_small_game(game, progress) if turns is None else solve_solo(game, turns, progress)


def check_position(game: Game, position: Sequence[int], turns: int | None = None) -> None:
    """Raise `OptionError` unless the solution has a value for a position; see `summary` of the two solutions."""
    _check(game, turns)
    if turns is None:
        place_of(game, position)
    else:
        number_of_filling(game, position)


def _check(game: Game, turns: int | None) -> None:
    if turns is None:
        try:
            check_solvable(game)
        except OptionError as error:
            raise OptionError(
                f"{error}. To solve the greatest score of one player, give a number of turns: --turns 6, turns=6"
            ) from None
    elif (game.num_players, game.options.max_turns) != (MIN_PLAYERS, Options().max_turns):
        raise OptionError("turns is for the game of one player: leave out the number of players and max_turns")


class SolverAgent:
    """An agent that plays the exact solution of a small game, and in any other game plays as the reference agent.

    The solution's play maximises its share of the win against a player who does the same.

    Attributes:
        solution: the solution that it plays; None if it plays as the reference agent.
    """

    name = "solver"
    deterministic = True

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game = game
        self.solution: SmallGameSolution | None = None
        try:
            check_solvable(game)
        except OptionError:
            reference = ReferenceAgent(game)
            self._act, self._values = reference.act, reference.action_values
        else:
            self.solution = shared_solution(game)
            self._act, self._values = self.solution.best_actions, self.solution.action_values

    def __reduce__(self) -> tuple[Any, ...]:
        return SolverAgent, (self.game,)

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        return self._act(states)

    def action_values(self, states: States) -> NDArray[np.float64]:
        """Return the mover's share of the win after each action, (B, A), exact or estimated; NaN where illegal.

        Raises:
            OptionError: the option `sum_throws` is on; setting points aside has no estimate.
        """
        return self._values(states)
