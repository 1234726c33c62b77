"""Checks of arguments that many functions share."""

from __future__ import annotations

from typing import Any

import numpy as np

from trialea.envs.errors import OptionError


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    """Return `value` as a Python integer from `low` to `high`.

    Raises:
        OptionError: it is not a whole number in this range. Booleans and floats are not whole numbers.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise OptionError(f"{name} must be a whole number from {low} to {high}, got {value!r}")
    return int(value)


def check_seed(seed: Any) -> int:
    """Return `seed` as a Python integer from 0 to 2^64 - 1.

    Raises:
        OptionError: it is not a whole number in this range.
    """
    return whole_number("seed", seed, 0, 2**64 - 1)
