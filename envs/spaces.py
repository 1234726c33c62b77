"""The spaces of the environments: observations, and actions whose `sample()` is legal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


def observation_box(size: int) -> spaces.Box:
    """Return the space of observation vectors of length D: (D,) float32 from 0 to 1."""
    return spaces.Box(0.0, 1.0, (size,), np.float32)


class LegalDiscrete(spaces.Discrete):
    """A `Discrete` whose `sample()` without a mask draws from the actions that are legal now.

    So the usual first lines of a Gymnasium program, `env.step(env.action_space.sample())`, are legal. A pickled or
    copied space is a plain `Discrete`, so that a model saved with it holds no environment.
    """

    def __init__(self, n: int, legal: Callable[[], NDArray[np.int8]]) -> None:
        self._legal = legal
        super().__init__(n)

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        if mask is None and probability is None:
            mask = self._legal()
        return super().sample(mask, probability)

    def __reduce__(self) -> tuple[Any, ...]:
        return spaces.Discrete, (self.n,), {"_np_random": self._np_random}


class LegalMultiDiscrete(spaces.MultiDiscrete):
    """`LegalDiscrete` for a batch of games: `sample()` without a mask draws legal actions, (B,) int64."""

    def __init__(self, nvec: NDArray[np.int64], legal: Callable[[], NDArray[np.int8]]) -> None:
        self._legal = legal
        super().__init__(nvec)

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        masks = self._legal()
        drawn: NDArray[np.int64] = (masks * (1.0 - self.np_random.random(masks.shape))).argmax(axis=1)
        return drawn

    def __reduce__(self) -> tuple[Any, ...]:
        return _plain_multi_discrete, (self.nvec, self._np_random)


def _plain_multi_discrete(nvec: NDArray[np.int64], generator: np.random.Generator | None) -> spaces.MultiDiscrete:
    space = spaces.MultiDiscrete(nvec)
    if generator is not None:
        space._np_random = generator
    return space
