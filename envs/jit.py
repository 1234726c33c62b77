"""Compile functions with numba, all in the same way. Change here how code is compiled and cached.

`kernel` is for a function that only compiled functions call. Its code is inlined into them and optimised there.
`entry` is for a function that Python calls. Its machine code is cached on disk. If no directory can be written, it is
compiled in memory.

An entry may be a closure over a *module* of kernels (see `trialea.envs.loops`). The key of numba's cache holds a pickle
of the closure. A module is pickled as its name, so the next process finds the code. It would never find that of a
closure over compiled functions. numba does not see when a kernel in another file changes. So the key also holds a
digest of the sources of all modules that the function's module imports.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, partial
from importlib.util import find_spec
from inspect import ismodule
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast, overload

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from trialea.envs.compiling import say_compiling

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


class _CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The files of numba's cache, with a digest of the machine code: damaged code would crash the process."""

    def _save_data(self, name: str, data: Any) -> None:
        code = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(code).digest() + code)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        digest, code = content[:32], content[32:]
        if digest != hashlib.sha256(code).digest():
            raise OSError(f"{name} is damaged")  # numba then compiles the function again
        return pickle.loads(code)


class _SourceKeyedCache(FunctionCache):  # type: ignore[misc]
    """numba's on-disk cache, missed as soon as the source of a kernel that the function may call has changed.

    A cache that cannot be read or written costs time and nothing else. An index may be damaged, or name a class that a
    newer version of the library no longer has.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            with suppress(OSError):
                self.flush()
                super().save_overload(sig, data)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), _source_digest(self._py_func))


LEAN = (0, 63) <= tuple(map(int, numba.__version__.split(".")[:2])) <= (0, 68)
"""Whether kernels are compiled in the lean way below, which uses parts of numba that only these versions surely have.

With other versions kernels are compiled in numba's usual way, which takes up to twice as long. After a test with a
newer numba, raise the limit.
"""


class _InlinedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The LLVM code of a kernel, linked with what the kernel calls, but neither optimised nor made machine code.

    The entry that inlines the kernel optimises the whole. To do the same for each kernel takes twice as long.
    """

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):  # type: ignore[misc]
    """numba's lowering to LLVM code, but into an `_InlinedLibrary`, without an address to call."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        if not state.flags.nrt and _holds_array(state.return_type):
            name = state.func_id.func_qualname
            raise numba.TypingError(f"{name} must not return an array. Declare it with @kernel(allocates=True).")
        state.library = _InlinedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.cr = state.cr._replace(cfunc=object())  # numba looks up a function's code by this object
        state.targetctx.insert_user_function(state.cr.cfunc, state.cr.fndesc, [state.library])
        return True


def _holds_array(kind: numba.types.Type) -> bool:
    if isinstance(kind, numba.types.BaseTuple):
        return any(map(_holds_array, kind))
    return isinstance(kind, numba.types.Array)


class _KernelCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler, with a kernel's lowering."""

    def define_pipelines(self) -> list[Any]:
        pipelines: list[Any] = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (_KernelLowering if one is NativeLowering else one, description) for one, description in pipeline.passes
            ]
        return pipelines


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel, as other compiled functions see it."""

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = result

    def __call__(self, *args: Any) -> Any:
        """Call the kernel from Python: it is compiled once more for that, so this is for tests alone."""
        return self._alone(*args)

    @cached_property
    def _alone(self) -> Callable[..., Any]:
        alone: Callable[..., Any] = numba.njit(self.py_func)
        return alone


@overload
def kernel(function: F) -> F: ...


@overload
def kernel(*, allocates: bool) -> Callable[[F], F]: ...


def kernel(function: F | None = None, *, allocates: bool = False) -> F | Callable[[F], F]:
    """Compile `function` for use by other compiled functions (plain Python when the JIT is off).

    Args:
        function: the function, which may take arrays and write into them.
        allocates: whether it makes or returns arrays. If not, no references are counted, which saves much time.
    """
    if function is None:
        return partial(kernel, allocates=allocates)
    if numba.config.DISABLE_JIT:
        return function
    if not LEAN:
        return cast(F, numba.njit(forceinline=True)(function))
    options = {"nopython": True, "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = _Kernel(function, targetoptions=options | {"_nrt": allocates}, pipeline_class=_KernelCompiler)
    return cast(F, compiled)


class _EntryCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler, which reports that it is at work and does without garbage collection meanwhile.

    It makes hundreds of thousands of objects and frees few, so that collecting takes a tenth of its time.
    """

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        say_compiling()
        collected = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)
        finally:
            if collected:
                gc.enable()


def entry(function: F) -> F:
    """Compile `function` for calls from Python, releasing the GIL, cached on disk where that is possible."""
    compiled: Any = numba.njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=_EntryCompiler)(function)
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


def record_of(values: NamedTuple) -> Any:
    """Return named arrays and numbers as one read-only record with the same names.

    Compiled code takes a record as one pointer and a tuple as hundreds of numbers, so a record of many arrays compiles
    much faster. Its type holds the arrays' shapes: use it where these are always the same.
    """
    arrays = {name: np.asarray(value) for name, value in values._asdict().items()}
    fields = [(name, array.dtype, array.shape) for name, array in arrays.items()]
    records = np.zeros(1, np.dtype(fields, align=True)).view(np.recarray)
    for name, array in arrays.items():
        records[name][0] = array
    records.setflags(write=False)
    return records[0]
