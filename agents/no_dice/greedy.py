"""The agent `greedy` of No Dice, which makes the expected score of every turn as small as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.agents.no_dice.play import look_up, play
from trialea.agents.no_dice.turn import LANES, make_turn, points_lost
from trialea.envs.game import Game, States


class GreedyAgent:
    """An agent that minimises the expected score of each turn exactly, whatever the totals are.

    Among actions with the same expected score it prefers to stop with the fewest points, else it takes the first.
    """

    name = "greedy"
    deterministic = True

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game = game
        self._throws = game.options.throws
        self._turn = make_turn(game.options.intermediates)
        choices = np.zeros((self._throws, len(self._turn.full), LANES), np.uint8)
        rows = np.empty((self._throws + 1, self._turn.lattice.num_patterns, LANES))
        play(np.repeat(points_lost()[:, None], LANES, axis=1), self._turn, rows, choices)
        self._policy = np.ascontiguousarray(choices[None, :, :, 0])

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        actions = np.empty(len(states), np.int64)
        look_up(states, self._policy, np.zeros(len(states), np.int64), self._turn, self._throws, actions)
        return actions
