"""Tests of importing the package, in new processes outside the repository."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from tests.helpers import run_python
from trialea import GAMES

HEAVY = ("torch", "stable_baselines3", "numba", "ray", "matplotlib", "pygame", "PIL", "hypothesis")


def test_import_loads_no_heavy_packages() -> None:
    printed = run_python(f"import sys, trialea; print(sorted(set({HEAVY!r}) & set(sys.modules)))")
    assert printed == "[]\n"


def test_import_adds_less_than_a_quarter_of_a_second() -> None:
    """The time is the median beyond Gymnasium's own. If other work slows the machine, the best run must be fast."""
    code = "import time, gymnasium; began = time.perf_counter(); import trialea; print(time.perf_counter() - began)"
    run_python(code)  # compiles the byte code
    times = [float(run_python(code)) for _ in range(7)]
    assert median(times) < 0.25 or min(times) < 0.1, times


def test_gym_make_imports_the_package_by_its_prefix() -> None:
    """The process has imported only Gymnasium."""
    code = """
import sys, gymnasium as gym
assert not any(module.startswith("trialea") for module in sys.modules)
for id in sys.argv[1:]:
    env = gym.make(f"trialea:{id}")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    gym.make_vec(f"trialea:{id}", num_envs=2).reset(seed=0)
"""
    assert run_python(code, *(game.gym_id for game in GAMES.values())) == ""


def test_ids_work_in_both_libraries_after_the_import() -> None:
    code = """
import gymnasium, pettingzoo, trialea
for name, game in trialea.GAMES.items():
    gymnasium.make(game.gym_id).reset()
    env = pettingzoo.make("aec", game.pettingzoo_id, num_players=5)
    env.reset(seed=0)
    assert env.agents == [f"player_{seat}" for seat in range(5)]
"""
    assert run_python(code) == ""


IMPORTS = [
    "import trialea",
    "import trialea.envs",
    "import trialea.games",
]


@pytest.mark.parametrize("order", [(0, 1, 2, 0), (1, 0), (2, 0, 1), (0, 0)], ids=str)
def test_imports_in_any_order_register_once_without_warnings(order: tuple[int, ...]) -> None:
    """`run_python` makes every warning an error."""
    lines = [IMPORTS[k] for k in order]
    lines[1:1] = [f"from {game.aec_module} import env" for game in GAMES.values()]
    lines += ["import importlib; importlib.reload(trialea)", "import gymnasium"]
    lines += [f"assert '{game.gym_id}' in gymnasium.registry" for game in GAMES.values()]
    assert run_python("\n".join(["import trialea", *lines]) if order[0] else "\n".join(lines)) == ""


def test_public_names_exist() -> None:
    code = """
import sys
import trialea, trialea.envs, trialea.training
assert not {"numba", "pydantic", "torch"} & set(sys.modules)
for module in (trialea, trialea.envs, trialea.training):
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None, name
    try:
        module.no_such_name
    except AttributeError as error:
        assert "no_such_name" in str(error)
    else:
        raise AssertionError
"""
    assert run_python(code) == ""


def test_variant_can_be_registered_under_its_own_id() -> None:
    """Both libraries know it, and registering it again is allowed. Another variant under the same id is an error."""
    code = """
import gymnasium as gym, pettingzoo, sys, trialea
for _ in range(2):
    trialea.register_variant("mine/Quick-v0", "no_dice", num_players=3, target=15, throws=2)
assert "numba" not in sys.modules
game = trialea.make_game("no_dice", 3, target=15, throws=2)
assert gym.make("mine/Quick-v0", opponents="greedy").unwrapped.game == game
assert gym.make_vec("mine/Quick-v0", num_envs=2).unwrapped.game == game
assert pettingzoo.make("aec", "mine/Quick-v0").unwrapped.game == game
assert gym.make("mine/Quick-v0", num_players=2).unwrapped.game.num_players == 2
for id, name, error, said in (
    ("mine/Quick-v0", "no_dice", trialea.OptionError, "something else"),
    ("mine/Chess-v0", "chess", trialea.UnknownNameError, "'chess'"),
    ("mine/Quick", "no_dice", trialea.OptionError, "of the form my_project/Name-v0, got 'mine/Quick'"),
    ("mine:Quick-v0", "no_dice", trialea.OptionError, "of the form"),
    (5, "no_dice", trialea.OptionError, "of the form"),
):
    try:
        trialea.register_variant(id, name)
    except error as raised:
        assert said in str(raised), raised
    else:
        raise AssertionError(said)
"""
    assert run_python(code) == ""


def test_package_works_in_a_checkout_without_installation() -> None:
    """Python is started in the checkout, and no installation could find the subpackages."""
    checkout = Path(__file__).parents[1]
    code = f"""
import sys
from importlib.machinery import PathFinder
sys.meta_path[:] = [one for one in sys.meta_path if one is PathFinder or one.__module__.startswith("_frozen")]
sys.path.insert(0, {str(checkout)!r})
import trialea.agents.zoo, trialea.envs
print(trialea.envs.__file__)
"""
    assert run_python(code).strip() == str(checkout / "envs" / "__init__.py")
