"""The exact solution of Last Die: every seat's expected points.

Nobody decides anything, so a round is a Markov chain (`trialea.agents.last_die.chain`), and a game is a number of
independent rounds. The house variant `steer`, in which players decide, has no solution here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trialea.agents.last_die.chain import (
    Floats,
    expectations,
    look_up,
    make_chain,
    points_thrown,
    residual,
    throws_made,
)
from trialea.agents.last_die.laws import points_laws, throws_law
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.last_die.rules import NUM_DICE
from trialea.envs.registry import check_own_solver

SHOWN = 1e-6  # the summary leaves out the tail of a distribution that is less likely


class Solution:
    """The exact values of Last Die, in points still to come.

    Attributes:
        game: the game solved.
        chain: a round.
        values: (S, n), the points that each seat expects in the rest of the round, from each position before a throw.
            Seats count from the thrower to the left.
        throws: (S, n), the throws that each seat expects to make in the rest of the round.
        residual: the largest error in the equations of `values` and `throws`.
        seconds: the time of the computation.
        unit: the unit of the values, points.
    """

    unit: Literal["points"] = "points"

    def __init__(self, game: Game) -> None:
        began = time.perf_counter()
        self.game = game
        self.chain = chain = make_chain(game.num_players, game.options.even_ends_round)
        points, throws = points_thrown(chain), throws_made(chain)
        self.values = expectations(chain, points)
        self.throws = expectations(chain, throws)
        self.residual = max(residual(chain, points, self.values), residual(chain, throws, self.throws))
        self.seconds = time.perf_counter() - began

    def expected_points(self, states: States) -> Floats:
        """Return the points that every player expects to score from now on, (B, n), in any states (B,) of the game."""
        positions, distance = look_up(self.chain, states)
        of_round = np.where((states.over != 0)[:, None], 0.0, self.values[positions])
        points: Floats = np.take_along_axis(of_round, distance, axis=1) + self._of_later_rounds(states)
        return points

    def action_values(self, states: States) -> Floats:
        """Return the points still to come for the mover after the one action, (B, 1)."""
        values: Floats = self.expected_points(states)[np.arange(len(states)), states.mover][:, None]
        return values

    def _of_later_rounds(self, states: States) -> Floats:
        """Return the points that every player expects of the rounds after the present one, (B, n)."""
        n = self.game.num_players
        rounds = states.rounds.astype(np.int64)[:, None]
        opened = (rounds - np.arange(n)) // n + 1  # by each place, with the present round
        left = np.where(states.over[:, None] != 0, 0, self.game.options.rounds_each - opened)
        from_place = np.array([np.roll(self.values[self.chain.start], place) for place in range(n)])
        return np.take_along_axis(left @ from_place, states.place[:, :n].astype(np.int64), axis=1)

    def summary(self, hands: Sequence[int] = ()) -> dict[str, Any]:
        """Return the solution as plain data, as `trialea solve --json` prints it.

        Args:
            hands: the position that `"position"` describes: the dice in each hand, from the thrower to the left.
        """
        n, start = self.game.num_players, self.chain.start
        points, everybody = points_laws(self.chain)
        return {
            "game": self.game.name,
            "players": n,
            "options": asdict(self.game.options),
            "expected_points": self.values[start].tolist(),
            "expected_throws": float(self.throws[start].sum()),
            "win_probability": [1.0 / n] * n,
            "residual": self.residual,
            "seconds": self.seconds,
            **({"position": self._position(hands)} if hands else {}),
            "points_law": [_shortened(law) for law in points],
            "points_law_of_all": _shortened(everybody),
            "throws_law": _shortened(throws_law(self.chain)),
        }

    def _position(self, hands: Sequence[int]) -> dict[str, Any]:
        check_position(self.game, hands)
        return {
            "hands": list(hands),
            "expected_points": self.values[self.chain.number(tuple(hands), False)].tolist(),
            "expected_points_if_opening": self.values[self.chain.number(tuple(hands), True)].tolist(),
        }


def _shortened(law: Floats) -> list[float]:
    """Return the distribution without a tail that is less likely than `SHOWN`."""
    tail = law[::-1].cumsum()[::-1]
    shortened: list[float] = law[tail >= SHOWN].tolist()
    return shortened


def solve(game: Game, progress: Callable[[float], None] | None = None) -> Solution:
    """Return the exact solution of Last Die.

    Args:
        game: Last Die, without `steer`.
        progress: never called, since the solution takes less than a second.

    Raises:
        OptionError: it is another game, or has `steer`.
    """
    check_own_solver("last_die", game.name)
    _check_no_decisions(game)
    return Solution(game)


def check_position(game: Game, hands: Sequence[int]) -> None:
    """Raise `OptionError` unless a position is the dice in each hand, with at least one in the thrower's."""
    n = game.num_players
    if len(hands) != n or min(hands) < 0 or not hands[0] or sum(hands) > NUM_DICE:
        raise OptionError(
            f"a position must be the dice in {n} hands, at most {NUM_DICE} in all and at least one in the first,"
            f" got {','.join(map(str, hands))}"
        )


def _check_no_decisions(game: Game) -> None:
    if game.options.steer:
        raise OptionError("steer must be False to solve Last Die, got True. Leave it out: the variant has no solution.")


class SolverAgent:
    """An agent that throws the dice, its only action.

    Raises:
        OptionError: the game has `steer`.
    """

    name = "solver"

    def __init__(self, game: Game, seed: int = 0) -> None:
        _check_no_decisions(game)
        self.game = game

    def act(self, states: States) -> NDArray[np.int64]:
        """Return the action 0, (B,), for each of the states (B,)."""
        return np.zeros(len(states), np.int64)

    def action_probabilities(self, states: States) -> Floats:
        """Return the probability 1 of the action, (B, 1)."""
        return np.ones((len(states), 1))
