"""The version of this library, and of the packages that its results depend on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

__version__ = "0.1.0"

_PACKAGES = ("numpy", "numba", "gymnasium", "pettingzoo", "torch", "stable-baselines3", "sb3-contrib", "ray")


def versions() -> dict[str, str]:
    """Return the versions of this library, of Python and of the packages that figures depend on, where installed."""
    found = {"trialea": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    return found
