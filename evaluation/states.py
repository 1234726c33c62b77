"""Pick, order and read arrays of game states: helpers for everything in this package."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.envs.game import States


def whole_shares(share: NDArray[np.float32]) -> NDArray[np.float64]:
    """The seats' shares of the win (B, n) in finished games, made to sum to 1: states hold them in single precision."""
    shares = share.astype(np.float64)
    whole: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
    return whole


def take(states: States, index: NDArray[np.int64]) -> States:
    """A copy of the states picked by `index`."""
    return states[index].view(np.recarray)


def by_totals(states: States) -> NDArray[np.int64]:
    """An order of the states (D,) in which those with the same totals of mover and others lie together, by games."""
    own = states.scores[np.arange(len(states)), states.mover]
    order: NDArray[np.int64] = np.lexsort((states.seed, states.scores.sum(axis=1), own))
    return order
