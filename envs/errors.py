"""Errors that the library raises, each naming the thing that is wrong and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np


class TrialeaError(Exception):
    """Base class of every error that `trialea` raises on purpose."""


class IllegalActionError(TrialeaError, ValueError):
    """An action that the rules do not allow in the position, or that is no action at all.

    The game is left exactly as it was: a legal action may follow.
    """


class OptionError(TrialeaError, ValueError):
    """An unknown option, or a value outside its range."""


class UnknownNameError(TrialeaError, ValueError):
    """A name that is not registered; the message lists the names that are."""


class NotResetError(TrialeaError, RuntimeError):
    """`step`, `observe` or `render` was called before `reset`, or after the episode's end."""


class MissingExtraError(TrialeaError, ImportError):
    """An optional dependency is missing; the message names the extra to install."""


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    """`value` as a Python integer, or an `OptionError` where it is none from `low` to `high`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise OptionError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return int(value)


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """The error to raise when `package` cannot be imported, naming the extra that brings it."""
    return MissingExtraError(
        f"{purpose} needs {package!r}, which is not installed. Install it with: pip install 'trialea[{extra}]'"
    )
