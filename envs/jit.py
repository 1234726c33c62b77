"""How kernels are compiled, in one place.

`kernel` compiles a function that other compiled functions call. `entry` compiles a function that Python
calls, and keeps the machine code on disk where a directory can be written; without one it compiles in memory.

Entry points may be closures over a *module* of kernels (see `trialea.envs.loops`): numba keys its cache by a
pickle of the closure, and a module pickles as its name, so such a closure is found again by the next process,
where a closure over compiled functions never is. What numba does not see is that a kernel in another file
changed, so the cache key also holds a digest of every source file of this package that defines kernels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.caching import FunctionCache

F = TypeVar("F", bound=Callable[..., Any])


@cache
def _source_digest() -> str:
    """A digest of the sources that machine code may come from: the environments and the agents."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for folder in (here, here.parent / "agents"):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


class _SourceKeyedCache(FunctionCache):  # type: ignore[misc]
    """numba's on-disk cache, missed as soon as any kernel's source has changed."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), _source_digest())


def kernel(function: F) -> F:
    """Compile `function` for use by other compiled functions (plain Python when the JIT is off)."""
    compiled: F = numba.njit(forceinline=True)(function)
    return compiled


def entry(function: F) -> F:
    """Compile `function` for calls from Python, releasing the GIL, cached on disk where that is possible."""
    compiled: Any = numba.njit(nogil=True)(function)
    if not numba.config.DISABLE_JIT:
        try:
            compiled._cache = _SourceKeyedCache(function)
        except (RuntimeError, OSError):  # no directory can be written: compile in memory
            pass
    result: F = compiled
    return result


def plain(states: Any) -> Any:
    """A view of an array of records that calls compiled code some microseconds faster, for batches of one.

    numba takes long to recognise a `recarray`. With the JIT off it is only a `recarray` whose records have attributes.
    """
    return states if numba.config.DISABLE_JIT else states.view(np.ndarray)
