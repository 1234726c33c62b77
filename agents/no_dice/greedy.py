"""The agent that wants the fewest points in every turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.agents.no_dice.turn import fill_policy, look_up, make_turn, points_lost
from trialea.envs.game import Game, States


class GreedyAgent:
    """Plays each turn for the least expected score, exactly, whatever the totals are.

    Of actions with the same expected score it stops with the fewest points, else takes the first.
    """

    name = "greedy"
    deterministic = True

    def __init__(self, game: Game, seed: int = 0) -> None:
        self._throws = game.options.throws
        self._turn = make_turn(game.options.intermediates)
        self._policy = np.zeros((1, self._throws, len(self._turn.patterns)), np.uint8)
        fill_policy(points_lost(), self._throws, self._turn, self._policy[0])

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        actions = np.empty(len(states), np.int64)
        look_up(states, self._policy, np.zeros(len(states), np.int64), self._turn, self._throws, actions)
        return actions
