"""The agent `random`, which draws uniformly from the legal actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.envs.game import Game, States


class RandomAgent:
    """An agent that draws uniformly from the legal actions.

    Its draws are counter-based: functions of its own seed, the game's seed and the number of the decision. A replayed
    game gets the same actions, whatever else draws random numbers.
    """

    name = "random"

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game = game
        self._seed = np.uint64(seed)

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        actions = np.empty(len(states), np.int64)
        self.game.loops.random_actions(states, self._seed, self.game.tables, actions)
        return actions

    def action_probabilities(self, states: States) -> NDArray[np.float64]:
        """Return the probability (B, A) of each action, the same for all legal actions of a state."""
        probabilities = self.game.masks(states).astype(np.float64)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities
