"""The agent that chooses uniformly among the legal actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.envs.game import Game, States


class RandomAgent:
    """Uniformly random over the legal actions.

    What it draws is a function of its own seed, the game's seed and the number of the decision, so a replayed game
    meets the same choices, and nothing that anybody else draws changes them.
    """

    name = "random"

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game = game
        self._seed = np.uint64(seed)

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        actions = np.empty(len(states), np.int64)
        self.game.loops.random_actions(states, self._seed, self.game.tables, actions)
        return actions

    def action_probabilities(self, states: States) -> NDArray[np.float64]:
        """The probability (B, A) of each action: the same for all that are legal."""
        probabilities = self.game.masks(states).astype(np.float64)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities
