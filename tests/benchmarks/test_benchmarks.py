"""Tests that the benchmarks measure what they say. Only the slow tests check speeds."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from importlib import import_module
from itertools import count
from tempfile import gettempdir
from typing import Any

import numpy as np
import pytest
import torch

from tests.helpers import game_of
from trialea import GAMES, TrialeaError, UnknownNameError
from trialea.agents.no_dice.solver import compute
from trialea.benchmarks import BENCHMARKS, first_use, numpy_solver, run, timing
from trialea.benchmarks.run import SOLVER_BENCHMARKS
from trialea.envs.aec import MultiAgentEnv
from trialea.envs.game import Game

every_game = pytest.mark.parametrize("name", GAMES)

RATIOS = {
    "aec": "aec_vs_connect_four",
    "batch": "batch_vs_connect_four",
    "train": "train_vs_free_env",
    "solver": "solver_vs_numpy",
    "first-use": "evaluate_cold_seconds",
}


# Figures ---------------------------------------------------------------------------------------------------------


def test_each_benchmark_has_a_ratio() -> None:
    assert set(BENCHMARKS) == set(RATIOS)


def test_run_returns_the_figures_of_the_named_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BENCHMARKS:
        monkeypatch.setitem(BENCHMARKS, name, lambda game, name=name: {f"{name} of {game}": 1.0})
    told: list[str] = []
    assert run("no_dice", ["solver", "aec"], told.append) == {
        "game": "no_dice",
        "aec of no_dice": 1.0,
        "solver of no_dice": 1.0,
    }
    assert told == ["aec", "solver"]
    assert list(run("no_dice")) == ["game", *(f"{name} of no_dice" for name in BENCHMARKS)]


def test_unknown_benchmark_raises_before_any_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BENCHMARKS, "aec", lambda game: pytest.fail("it was run"))
    with pytest.raises(UnknownNameError, match="'sleep'. The benchmarks are aec, batch, train, solver"):
        run("no_dice", ["aec", "sleep"])


def test_python_m_trialea_benchmarks_prints_all_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, ratio in RATIOS.items():
        monkeypatch.setitem(BENCHMARKS, name, lambda game, ratio=ratio: {ratio: 2.5})
    runpy.run_module("trialea.benchmarks", run_name="__main__")
    assert json.loads(capsys.readouterr().out) == {"game": "no_dice", **dict.fromkeys(RATIOS.values(), 2.5)}


@every_game
def test_solver_benchmark_is_that_of_the_game(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = SOLVER_BENCHMARKS.get(name)
    for benchmark in set(BENCHMARKS) - {"solver"}:
        monkeypatch.setitem(BENCHMARKS, benchmark, lambda game, benchmark=benchmark: {benchmark: 1.0})
    if not place:
        assert list(run(name)) == ["game", "aec", "batch", "train", "first-use"]
        with pytest.raises(
            UnknownNameError, match=f"{name} has no benchmark of its solver. The games that have one are no_dice"
        ):
            run(name, ["solver"])
        return
    module, _, function = place.partition(":")
    monkeypatch.setattr(import_module(module), function, lambda game: {f"solver of {game}": 1.0})
    assert list(run(name)) == ["game", "aec", "batch", "train", f"solver of {name}", "first-use"]


# First use -------------------------------------------------------------------------------------------------------


@every_game
def test_first_use_steps_each_environment_and_evaluates(name: str) -> None:
    for step in first_use.STEPS.values():
        step(name)
    commands = first_use.commands_for(name)
    assert list(commands) == ["step_single", "step_aec", "step_batch", "evaluate"]
    assert {*commands["evaluate"][5:7]} <= {"random", *GAMES[name].agents}


def test_first_use_is_timed_cold_and_warm_in_the_same_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os, time; from pathlib import Path; folder = Path(os.environ['NUMBA_CACHE_DIR']); "
        "cold = not folder.exists(); folder.mkdir(exist_ok=True); cold and time.sleep(1)"
    )
    monkeypatch.setattr(first_use, "commands_for", lambda game: {"made_up": [sys.executable, "-c", code]})
    figures = first_use.time_first_use("no_dice")
    assert figures["made_up_cold_seconds"] >= 1.0 > figures["made_up_cold_cpu_seconds"] > 0.0
    assert {f"made_up_warm_{kind}" for kind in ("seconds", "cpu_seconds")} < set(figures)


def test_failed_first_use_raises_with_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_use, "commands_for", lambda game: {"made_up": [sys.executable, "-c", "1 / 0"]})
    with pytest.raises(TrialeaError, match=r"must succeed, but it ended with 1: (.|\n)*ZeroDivisionError"):
        first_use.time_first_use("no_dice")


# Timing ----------------------------------------------------------------------------------------------------------


def test_compare_returns_the_median_ratio_of_paired_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a fake clock our 10 units of work take 1, 2 and 4 seconds, and theirs always 4 seconds."""
    now = 0.0

    def worker(durations: list[float]) -> Any:
        calls = count()

        def work() -> int:
            nonlocal now
            now += durations[next(calls)]
            return 10

        return work

    monkeypatch.setattr(timing.time, "perf_counter", lambda: now)
    ours, theirs = worker([99.0, 1.0, 2.0, 4.0]), worker([99.0, 4.0, 4.0, 4.0])
    assert timing.compare(ours, theirs, rounds=3) == (2.0, 5.0, 2.5)


# Parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("players", "options"),
    [
        pytest.param(2, {"target": 6}, marks=pytest.mark.slow),
        (2, {"target": 5, "throws": 2}),
        (2, {"target": 5, "intermediates": "natural"}),
        (3, {"target": 3}),
    ],
)
def test_numpy_solver_gives_the_same_values(players: int, options: dict[str, Any]) -> None:
    game = game_of("no_dice", players, **options)
    solution = compute(game)
    assert np.abs(numpy_solver.solve(game.options, players) - solution.values).max() < 1e-12
    assert solution.residual < 1e-12


@every_game
def test_environment_loop_makes_the_requested_decisions(name: str) -> None:
    from trialea.benchmarks.envs import play

    class Counting:
        """An environment that counts the actions it is given."""

        def __init__(self) -> None:
            self.env, self.decisions = MultiAgentEnv(name), 0

        def __getattr__(self, attribute: str) -> Any:
            return getattr(self.env, attribute)

        def step(self, action: Any) -> None:
            self.decisions += action is not None
            self.env.step(action)

    env = Counting()
    assert play(env, 300) == env.decisions == 300


@every_game
def test_batch_loop_makes_one_decision_per_game_and_step(name: str) -> None:
    from trialea.benchmarks.envs import BATCH, play_batch

    assert play_batch(game_of(name), 3) == 3 * BATCH


def test_batch_benchmark_has_the_ratio_of_every_game(monkeypatch: pytest.MonkeyPatch) -> None:
    from trialea.benchmarks import envs

    measured: list[Game] = []

    def compare(ours: Any, theirs: Any, rounds: int) -> tuple[float, float, float]:
        measured.append(ours.args[0])
        return float(len(measured)), 10.0, 5.0

    monkeypatch.setattr(envs, "compare", compare)
    monkeypatch.setattr(envs, "connect_four", lambda: None)
    for name in GAMES:
        measured.clear()
        found = envs.batch_vs_connect_four(name)
        others = [other for other in GAMES if other != name]
        assert measured == [game_of(game) for game in (name, *others)]
        assert found.pop("batch_vs_connect_four") == 1.0
        assert found.pop("batch_decisions_per_second") == 10.0
        assert found == {f"batch_vs_connect_four/{other}": float(k) for k, other in enumerate(others, 2)}


def test_connect_four_runs_in_the_same_loop() -> None:
    from trialea.benchmarks.envs import connect_four, play

    assert play(connect_four(), 60) == 60


@every_game
def test_free_environment_has_the_shapes_of_the_real_one(name: str) -> None:
    from trialea.benchmarks.training import FreeVecEnv
    from trialea.envs.learner import LearnerBatch
    from trialea.training.vec_env import GamesVecEnv

    def made(kind: Any) -> Any:
        games = LearnerBatch(game_of(name), 4, "random", "rotate", "win")
        games.start()
        return kind(games)

    real, free = made(GamesVecEnv), made(FreeVecEnv)
    assert (real.observation_space, real.action_space) == (free.observation_space, free.action_space)
    real.seed(0)
    for ours, theirs in ((real.reset(), free.reset()), (real.action_masks(), free.action_masks())):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    actions = real.action_masks().argmax(axis=1)
    for ours, theirs in zip(real.step(actions), free.step(actions), strict=True):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        if isinstance(ours, np.ndarray):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    assert free.step(actions)[0] is free.reset()


@every_game
def test_training_benchmark_trains_the_requested_frames(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from trialea.benchmarks import training

    monkeypatch.setattr(training, "ENVIRONMENTS", 128)
    games = training.LearnerBatch(game_of(name), training.ENVIRONMENTS, "random", "rotate", "win")
    games.start()
    model = training._model(training.FreeVecEnv(games))
    assert training._learn(model, 1) == training.ROLLOUT * training.ENVIRONMENTS == model.num_timesteps
    assert training._learn(model, 1) == model.num_timesteps / 2


def test_training_benchmark_compares_the_stated_setups(monkeypatch: pytest.MonkeyPatch) -> None:
    from trialea.benchmarks import training

    compared: list[tuple[Any, ...]] = []

    def side(model: Any) -> tuple[Any, ...]:
        model.learn(training.ROLLOUT * training.ENVIRONMENTS)  # training with this setup works
        agents = model.env.games[0].opponents.agents
        return type(model.policy).__name__, type(model.env).__name__, model.action_space.n, agents[0].name

    def compare(ours: Any, theirs: Any) -> tuple[float, float, float]:
        compared.append((side(ours), side(theirs)))
        return float(len(compared)), 10.0, 5.0

    monkeypatch.setattr(training, "_compare", compare)
    for name, value in {"ENVIRONMENTS": 64, "ROLLOUT": 2, "THREADS": 1, "SNAPSHOTS": 2}.items():
        monkeypatch.setattr(training, name, value)
    threads = torch.get_num_threads()
    found = training.measure("no_dice")
    assert torch.get_num_threads() == threads
    ours, free = ("LegalPolicy", "GamesVecEnv", 140, "random"), ("LegalPolicy", "FreeVecEnv", 140, "random")
    stock = "MaskableActorCriticPolicy"
    assert compared == [
        (ours, free),
        (free, (stock, *free[1:])),
        (("LegalPolicy", "FreeVecEnv", 330, "random"), (stock, "FreeVecEnv", 330, "random")),
        ((*ours[:3], "past"), ours),
    ]
    ratios = ("train_vs_free_env", "masked_ppo_vs_stock", "masked_ppo_vs_stock_330_actions", "past_vs_random_opponents")
    assert [found[key] for key in ratios] == [1.0, 2.0, 3.0, 4.0]
    env = training.FreeVecEnv(training._games(game_of("no_dice")), 330)
    assert env.action_masks().any(axis=1).all() and 0.3 < env.action_masks().mean() < 0.37


# Whole benchmarks ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["aec", "batch", "train", "solver"])
def test_benchmark_prints_its_ratio_as_json(name: str) -> None:
    command = [sys.executable, "-m", "trialea", "bench", name, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=gettempdir())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("game") == "no_dice"
    assert (
        found[RATIOS[name]] > {"aec": 1.5, "batch": 200, "train": 0.5, "solver": 3}[name]
    )  # far below the usual figures
    if name == "train":
        assert found["masked_ppo_vs_stock_330_actions"] > 1.3 < found["masked_ppo_vs_stock"]
        assert found["past_vs_random_opponents"] > 0.4
    if name == "batch":
        others = {key: value for key, value in found.items() if "/" in key}
        assert set(others) == {f"{RATIOS[name]}/{other}" for other in GAMES if other != "no_dice"}
        assert min(others.values()) > 200
    assert all(isinstance(value, float) and value >= 0 for value in found.values())
