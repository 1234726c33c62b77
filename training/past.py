"""The learner's past selves as opponents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import nn

from trialea.agents.model import ModelAgent
from trialea.envs.game import Game, States


class PastSelves:
    """An agent that plays each game as one of the learner's snapshots, picked by the game's seed.

    It samples from the snapshots' policies. The pool grows up to its slots, and then each new snapshot drives the
    oldest out; a game that is under way when the pool changes may go on with another of them.

    Args:
        game: what is played.
        slots: how many snapshots are kept.
        seed: what its draws depend on, beside the game's seed.
    """

    name = "past"

    def __init__(self, game: Game, slots: int, seed: int) -> None:
        self._game = game
        self._seed = seed
        self._slots = slots
        self.networks: list[nn.Sequential] = []
        self._agents: list[ModelAgent] = []

    def add(self, network: nn.Sequential) -> None:
        """Take a frozen snapshot of the learner's network into the pool."""
        self.networks = [*self.networks, network][-self._slots :]
        self._agents = [ModelAgent(self._game, net, sample=True, seed=self._seed) for net in self.networks]

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        which = (states.seed % np.uint64(len(self._agents))).astype(np.int64)
        actions = np.empty(len(states), np.int64)
        for number in np.unique(which):
            mine = np.flatnonzero(which == number)
            actions[mine] = self._agents[number].act(states[mine])
        return actions
