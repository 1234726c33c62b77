"""The regret of actions, and the tolerance within which two values count as equal.

Every solver, agent and measure uses this tolerance. A change to it changes which of two equal actions the solvers take,
and so their tables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TIE = 1e-12  # values of actions that are closer than this count as equal


def action_regrets(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the regret of each action, (B, A), and whether each decision matters, (B,).

    A decision matters if its legal actions differ in value by more than `TIE`.

    Args:
        values: (B, A), the value of each action; NaN where it is illegal. The regret is NaN there too.
    """
    best, least = np.fmax.reduce(values, axis=1), np.fmin.reduce(values, axis=1)
    lost = best[:, None] - values
    lost[lost <= TIE] = 0.0
    return lost, best - least > TIE
