"""What compiled code is kept under: the sources that it may come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import JIT_OFF, run_python
from trialea.envs import jit
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


@pytest.mark.parametrize("name", GAMES)
def test_a_games_code_hangs_on_its_own_sources_and_the_generic_ones(name: str) -> None:
    sources = jit._sources_of(f"trialea.envs.{name}.game")
    assert {f"trialea.envs.{name}.rules", "trialea.envs.loops", "trialea.envs.dice"} <= sources
    assert not any(f".{other}." in module for other in GAMES if other != name for module in sources)


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
def test_code_is_kept_until_a_kernel_in_another_file_changes(tmp_path: Path) -> None:
    """numba itself looks only at the file of the function that is called."""
    (tmp_path / "made_up.py").write_text(MADE_UP)
    printed = []
    for value in (1, 1, 2, 2):
        (tmp_path / "made_up_kernels.py").write_text(KERNELS.format(value))
        printed.append(run_python(CALL, str(tmp_path)).split())
    assert printed == [["1.0", "0"], ["1.0", "1"], ["2.0", "0"], ["2.0", "1"]]
