"""Tests of the examples. `make examples` also runs them with the wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "ppo_single_file.py"
TINY = ["--frames=1024", "--games=32", "--steps=16", "--minibatch=128", "--evaluation-games=20"]


def ppo(folder: Path, *flags: str) -> str:
    """Return what the script prints when run in another folder, with warnings as errors."""
    command = [sys.executable, "-W", "error", str(SCRIPT), *flags]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_script_imports_no_training_code_of_the_package() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    imported = set(re.findall(r"^\s*(?:from|import) ([\w.]+)", text, re.MULTILINE))
    ours = {name for name in imported if name.startswith("trialea")}
    assert ours == {"trialea", "trialea.evaluation"}
    assert not any(name in text for name in ("trialea.training", "stable_baselines3", "sb3_contrib", "import_module"))


@pytest.mark.slow  # `.ci/run` runs the script with the wheel
def test_script_trains_saves_and_evaluates(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    printed = ppo(tmp_path, *TINY, "--save=policy.pt")
    assert "1,024 frames" in printed
    for opponent in ("random", "greedy", "solver"):
        assert re.search(rf"^wins against {opponent}: \d+\.\d% \(", printed, re.MULTILINE), printed
    weights = torch.load(tmp_path / "policy.pt", weights_only=True)
    assert len(weights) == 12 and all(torch.isfinite(value).all() for value in weights.values())


@pytest.mark.slow
def test_script_learns_to_beat_random_play(tmp_path: Path) -> None:
    """It uses a fifth of the default frames. An untrained network would not win that often."""
    printed = ppo(tmp_path, "--frames=200000", "--games=256", "--minibatch=1024", "--evaluation-games=400")
    found = re.search(r"^wins against random: ([\d.]+)%", printed, re.MULTILINE)
    assert found and float(found[1]) > 90, printed


@pytest.mark.slow
@pytest.mark.parametrize("game", ["LastDie", "PokerFigures"])
def test_script_works_with_other_games(game: str, tmp_path: Path) -> None:
    flags = [f"--env=trialea/{game}-v0", "--opponents=random", "--horizon=game", "--reward=win"]
    assert "wins against random" in ppo(tmp_path, *TINY, *flags)


def test_example_project_depends_only_on_the_package() -> None:
    project = ROOT / "examples" / "own_variant"
    assert 'dependencies = ["trialea[train]"]' in (project / "pyproject.toml").read_text(encoding="utf-8")
    for path in project.glob("own_variant/*.py"):
        imported = re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(imported) <= {"trialea", "own_variant", *sys.stdlib_module_names}


def test_example_project_registers_its_variant(tmp_path: Path) -> None:
    code = """
import gymnasium as gym, sys
game = gym.make("own_variant:own_variant/QuickNoDice-v0").unwrapped.game
assert "torch" not in sys.modules
from own_variant.main import CONFIG
from trialea.training.config import load_config
assert game.num_players == 3 and load_config(CONFIG).make_game() == game
"""
    path = os.pathsep.join([str(ROOT / "examples" / "own_variant"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
