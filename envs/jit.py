"""How kernels are compiled, in one place.

`kernel` compiles a function that other compiled functions call. `entry` compiles a function that Python
calls, and keeps the machine code on disk where a directory can be written; without one it compiles in memory.

Entry points may be closures over a *module* of kernels (see `trialea.envs.loops`): numba keys its cache by a
pickle of the closure, and a module pickles as its name, so such a closure is found again by the next process,
where a closure over compiled functions never is. What numba does not see is that a kernel in another file
changed, so the cache key also holds a digest of the sources of all modules that the function's module imports.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from inspect import ismodule
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.caching import FunctionCache

F = TypeVar("F", bound=Callable[..., Any])


_IMPORT = re.compile(r"^\s*from (trialea[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


@cache
def _source_of(module: str) -> bytes | None:
    """The source of one of the package's modules; None if there is no module of that name."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).read_bytes()


@cache
def _sources_of(module: str) -> frozenset[str]:
    """The modules of this package whose source a module's compiled code may come from: itself and what it imports."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        source = _source_of(name)
        if name in found or source is None:
            continue
        found.add(name)
        for package, names in _IMPORT.findall(source.decode()):
            waiting += [package, *(f"{package}.{part.strip('() ')}" for part in names.replace("\n", "").split(","))]
    return frozenset(found)


def _source_digest(function: Callable[..., Any]) -> str:
    """A digest of the sources that the function's machine code may come from."""
    modules = [cell.cell_contents.__name__ for cell in function.__closure__ or () if ismodule(cell.cell_contents)]
    digest = hashlib.sha256()
    for module in sorted(set().union(*map(_sources_of, [function.__module__, *modules]))):
        digest.update(_source_of(module) or b"")
    return digest.hexdigest()


class _SourceKeyedCache(FunctionCache):  # type: ignore[misc]
    """numba's on-disk cache, missed as soon as the source of a kernel that the function may call has changed."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), _source_digest(self._py_func))


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
