"""Pick, order and read arrays of game states: helpers for everything in this package."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.envs.game import States


def whole_shares(share: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the seats' shares (B, n) of finished games in double precision, scaled so that each row sums to 1."""
    shares = share.astype(np.float64)
    whole: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
    return whole


def take(states: States, index: NDArray[np.int64]) -> States:
    """Return a copy of the states at `index`."""
    return states[index].view(np.recarray)


def by_totals(states: States) -> NDArray[np.int64]:
    """Return an order of the states (D,) that groups states with equal totals, and in a group those of one game."""
    own = states.scores[np.arange(len(states)), states.mover]
    order: NDArray[np.int64] = np.lexsort((states.seed, states.scores.sum(axis=1), own))
    return order
