"""Tests of compilation: how much is compiled, what the disk cache depends on, and damaged caches."""

from __future__ import annotations

import gc
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from tests.helpers import JIT_OFF, run_python
from trialea.envs import jit
from trialea.envs.compiling import report_compiling
from trialea.envs.registry import GAMES

CALL = """
import sys
import numpy as np
import trialea
trialea.__path__.append(sys.argv[1])
from trialea.made_up import answer
print(answer(np.zeros(1)), len(answer.stats.cache_hits))
"""
MADE_UP = "from trialea.envs.jit import entry\nfrom trialea.made_up_kernels import value\n" + (
    "@entry\ndef answer(array):\n    return value() + array[0]\n"
)
KERNELS = "from trialea.envs.jit import kernel\n@kernel\ndef value():\n    return {}\n"


FIRST_STEP = """
import sys
from numba.core import event
from trialea.benchmarks.first_use import STEPS
with event.install_recorder("numba:compile") as compiled:
    STEPS["aec"](sys.argv[1])
functions = [happened.data["dispatcher"].py_func for _, happened in compiled.buffer if happened.is_start]
print(sum(function.__module__.startswith("trialea.") for function in functions))
"""

COMPILED = {"no_dice": 24, "poker_figures": 34, "last_die": 35}
"""The largest allowed number of functions compiled for the first step of the AEC environment."""


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
@pytest.mark.parametrize("name", GAMES)
def test_first_step_compiles_few_functions_and_caches_them(name: str, tmp_path: Path) -> None:
    cold, warm = (int(run_python(FIRST_STEP, name, env={"NUMBA_CACHE_DIR": str(tmp_path)})) for _ in range(2))
    assert 0 < cold <= COMPILED[name]
    assert warm == 0


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
def test_report_compiling_is_called_only_while_compiling() -> None:
    told: list[str] = []

    def twice(value: int) -> int:
        return 2 * value

    compiled = jit.entry(twice)
    with report_compiling(lambda: told.append("compiling")):
        assert [compiled(value) for value in (1, 2)] == [2, 4]
        assert gc.isenabled()
    jit.entry(twice)(3)
    assert told == ["compiling"]


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
def test_kernel_is_compiled_in_the_usual_way_with_an_unknown_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "LEAN", False)

    def double(number: int) -> int:
        return 2 * number

    compiled = jit.kernel(double)
    assert njit(lambda number: compiled(number) + 1)(20) == 41


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
def test_kernel_that_returns_an_array_must_declare_allocation() -> None:
    def same(array: np.ndarray) -> np.ndarray:
        return array

    array = np.arange(3.0)
    passing, failing = jit.kernel(allocates=True)(same), jit.kernel(same)
    assert njit(lambda array: passing(array).sum())(array) == 3.0
    with pytest.raises(TypingError, match=r"same must not return an array. Declare it with @kernel\(allocates=True\)"):
        njit(lambda array: failing(array).sum())(array)


def test_record_holds_the_values_and_is_read_only() -> None:
    class Values(NamedTuple):
        small: np.ndarray
        number: int
        large: np.ndarray

    values = Values(np.arange(3, dtype=np.uint8), 5, np.arange(6.0).reshape(2, 3))
    record = jit.record_of(values)
    for name, value in values._asdict().items():
        assert (getattr(record, name) == value).all()
    with pytest.raises(ValueError, match="read-only"):
        record.large[0, 0] = 1.0


@pytest.mark.parametrize("name", GAMES)
def test_cached_code_of_a_game_depends_on_its_own_sources_only(name: str) -> None:
    """Its own sources include the modules that all games share."""
    sources = jit._sources_of(f"trialea.envs.{name}.game")
    assert {f"trialea.envs.{name}.rules", "trialea.envs.loops", "trialea.envs.dice"} <= sources
    assert not any(f".{other}." in module for other in GAMES if other != name for module in sources)


def loaded(path: Path) -> Any:
    """Return the function `answer` of a module, as a new process would define it."""
    spec = spec_from_file_location("made_up", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.answer


DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "empty index": ("*.nbi", lambda content: b""),
    "short index": ("*.nbi", lambda content: content[:-9]),
    "index names a class that is gone": ("*.nbi", lambda content: content[:-1] + b"ctrialea\ngone\n."),
    "empty code": ("*.nbc", lambda content: b""),
    "code with a flipped bit": ("*.nbc", lambda content: content[:-99] + bytes([content[-99] ^ 1]) + content[-98:]),
}


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_cache_is_compiled_again(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "cache"))
    module = tmp_path / "made_up.py"
    module.write_text("from trialea.envs.jit import entry\n@entry\ndef answer(number):\n    return number + 1\n")
    hits = []
    for number in range(4):
        if number == 2:
            pattern, change = DAMAGE[damage]
            (file,) = (tmp_path / "cache").glob(f"**/{pattern}")
            file.write_bytes(change(file.read_bytes()))
        answer = loaded(module)
        assert answer(number) == number + 1
        hits.append(sum(answer.stats.cache_hits.values()))
    assert hits == [0, 1, 0, 1]


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
def test_cached_code_is_kept_until_any_of_its_kernels_changes(tmp_path: Path) -> None:
    """numba itself checks only the file of the called function."""
    (tmp_path / "made_up.py").write_text(MADE_UP)
    printed = []
    for value in (1, 1, 2):
        (tmp_path / "made_up_kernels.py").write_text(KERNELS.format(value))
        printed.append(run_python(CALL, str(tmp_path)).split())
    assert printed == [["1.0", "0"], ["1.0", "1"], ["2.0", "0"]]
