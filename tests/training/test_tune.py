"""Tests of the search for training settings: results, reproducibility, pruning, resuming and shared work."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import optuna
import pytest
import yaml
from typer.testing import CliRunner

from tests.helpers import SHORT
from trialea import MissingExtraError, OptionError
from trialea.commands.app import app
from trialea.evaluation.reports.report import read_metrics
from trialea.training import tuning
from trialea.training.callbacks import RunCallback
from trialea.training.config import load_config as load_training
from trialea.training.config.tuning import TuneConfig, load_tuning_config, shipped_tuning_configs
from trialea.training.run import train
from trialea.training.tuning import SearchResult, tune

BASE: dict[str, Any] = {
    "game": "no_dice",
    "options": SHORT["no_dice"],
    "threads": 1,
    "frames": 1536,
    "opponents": {"random": 1.0},
    "ppo": {
        "environments": 32,
        "n_steps": 16,
        "batch_size": 128,
        "n_epochs": 1,
        "net_arch": [16],
        "learning_rate": {"start": 1e-3, "end": 1e-5},
    },
    "measure": {"times": 3, "games": 20, "opponents": ["random"]},
}
AFTERSTATES: dict[str, Any] = {
    "algorithm": "afterstate",
    "game": "no_dice",
    "options": SHORT["no_dice"],
    "threads": 1,
    "games": 60,
    "batch": 20,
    "hidden": [8],
    "measure": {"times": 3, "games": 20, "opponents": ["random"]},
}
SPACE: dict[str, Any] = {
    "ppo.learning_rate.start": {"low": 1e-5, "high": 1e-1, "log": True},
    "ppo.n_epochs": {"low": 1, "high": 3},
    "ppo.net_arch": [[16], [16, 16]],
    "ppo.activation": ["relu", "tanh"],
}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    """Silence Optuna's log."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    yield
    optuna.logging.set_verbosity(before)


def written(folder: Path, training: dict[str, Any] = BASE, **changes: Any) -> Path:
    """Write a search configuration, and its training configuration beside it."""
    (folder / "base.yaml").write_text(yaml.safe_dump(training))
    settings = {"study": "some", "base": str(folder / "base.yaml"), "space": SPACE, "trials": 4, "startup": 2}
    (folder / "search.yaml").write_text(yaml.safe_dump({**settings, **changes}, sort_keys=False))
    return folder / "search.yaml"


def config(folder: Path, training: dict[str, Any] = BASE, **changes: Any) -> TuneConfig:
    """Return a search configuration."""
    return load_tuning_config(written(folder, training, **changes))


def summary(found: SearchResult) -> list[Any]:
    """Return states and values of trials, without numbers and folders, which differ for resumed trials."""
    return [(trial.state, trial.value, trial.values) for trial in found.trials if trial.state != "fail"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SearchResult]:
    """Return a finished search and its folder. Tests must not change it."""
    folder = tmp_path_factory.mktemp("search")
    return folder / "study", tune(config(folder), folder / "study", progress=False)


# Results -----------------------------------------------------------------------------------------------------------


def test_every_trial_is_a_run_with_its_values(finished: tuple[Path, SearchResult]) -> None:
    folder, found = finished
    assert [trial.number for trial in found.trials] == [0, 1, 2, 3]
    assert {trial.state for trial in found.trials} <= {"complete", "pruned"}
    for trial in found.trials:
        assert list(trial.values) == list(SPACE)
        plain = load_training(folder / trial.run / "config.yaml").model_dump(mode="json")
        expected = load_training(folder.parent / "base.yaml").model_dump(mode="json")
        for key, value in trial.values.items():
            *parents, last = key.split(".")
            reduce(getitem, parents, expected)[last] = value
        assert plain == expected
        assert trial.value == read_metrics(folder / trial.run)[-1]["regret"]
        assert (folder / trial.run / "model.zip").exists() == (trial.state == "complete")


def test_best_trial_has_the_least_regret_and_a_configuration(
    finished: tuple[Path, SearchResult],
) -> None:
    folder, found = finished
    complete = [trial for trial in found.trials if trial.state == "complete"]
    assert found.metric == "regret" and found.direction == "minimize"
    assert found.best is not None
    assert found.best.value == min(trial.value for trial in complete if trial.value is not None)
    assert found.config == str(folder / "best.yaml")
    assert load_training(found.config) == load_training(folder / found.best.run / "config.yaml")
    assert sorted(path.name for path in folder.iterdir()) == [
        "best.yaml",
        "study.db",
        *(trial.run for trial in found.trials),
        "tune.yaml",
    ]


def test_same_seed_tries_the_same_values(finished: tuple[Path, SearchResult], tmp_path: Path) -> None:
    again = tune(config(tmp_path), tmp_path / "again", progress=False)
    assert summary(again) == summary(finished[1])
    other = tune(config(tmp_path, seed=1, trials=1), tmp_path / "other", progress=False)
    assert other.trials[0].values != again.trials[0].values


def test_search_by_wins_and_over_afterstate_settings(tmp_path: Path) -> None:
    space = {"td_lambda": {"low": 0.0, "high": 1.0, "step": 0.25}, "epochs": {"low": 1, "high": 4, "log": True}}
    search = config(tmp_path, AFTERSTATES, space=space, metric="win_rate/random", pruner="none", trials=3)
    found = tune(search, tmp_path / "study", progress=False)
    assert found.direction == "maximize"
    assert [trial.state for trial in found.trials] == ["complete"] * 3
    assert found.best is not None and found.best.value == max(trial.value or 0.0 for trial in found.trials)
    for trial in found.trials:
        assert trial.values["td_lambda"] in (0.0, 0.25, 0.5, 0.75, 1.0) and trial.values["epochs"] in (1, 2, 3, 4)
        assert trial.value == read_metrics(tmp_path / "study" / trial.run)[-1]["win_rate/random"]


def test_metric_is_win_rate_for_an_unsolved_game(tmp_path: Path) -> None:
    base = {**BASE, "players": 6, "frames": 512, "options": {"target": 5}}
    found = tune(config(tmp_path, base, trials=1), tmp_path / "study", progress=False)
    assert found.metric == "win_rate/random"


# Pruning -----------------------------------------------------------------------------------------------------------


def test_report_can_stop_a_run(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []

    def report(line: dict[str, Any]) -> bool:
        told.append(line)
        return line["frames"] > 0

    (tmp_path / "base.yaml").write_text(yaml.safe_dump(BASE))
    assert train(load_training(tmp_path / "base.yaml"), tmp_path / "run", progress=False, report=report) is False
    assert told == read_metrics(tmp_path / "run")
    assert [line["frames"] for line in told] == [0, 512]


@pytest.mark.parametrize("base", [BASE, AFTERSTATES], ids=["ppo", "afterstate"])
def test_trial_worse_than_the_median_is_pruned(
    base: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of three trials measures more regret than the one before."""
    count = iter(range(100))
    place = "trialea.training.callbacks" if base is BASE else "trialea.training.self_play"
    monkeypatch.setattr(f"{place}.measure_agents", lambda *_: {"win_rate/random": 0.5, "regret": float(next(count))})
    search = config(tmp_path, base, space={"seed": {"low": 0, "high": 9}}, trials=3)
    found = tune(search, tmp_path / "study", progress=False)
    assert [(trial.state, trial.value) for trial in found.trials] == [
        ("complete", 3.0),
        ("complete", 7.0),
        ("pruned", 9.0),
    ]
    assert len(read_metrics(tmp_path / "study" / "trial-002")) == 2
    assert found.best is not None and found.best.number == 0


# Stopping, resuming and sharing ------------------------------------------------------------------------------------


def test_stopped_search_resumes_to_the_same_end(
    finished: tuple[Path, SearchResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_step = RunCallback._on_step
    steps = 0

    def step(self: RunCallback) -> bool:
        nonlocal steps
        steps += 1
        if steps in (70, 100):
            self.stopping = True
        return on_step(self)

    monkeypatch.setattr(RunCallback, "_on_step", step)
    search = config(tmp_path)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            tune(search, tmp_path / "study", progress=False)
    found = tune(search, tmp_path / "study", progress=False)
    assert [trial.state for trial in found.trials].count("fail") == 2
    assert summary(found) == summary(finished[1])


def test_more_trials_continue_an_existing_search(finished: tuple[Path, SearchResult], tmp_path: Path) -> None:
    first = tune(config(tmp_path, trials=2), tmp_path / "study", progress=False)
    assert len(first.trials) == 2
    more = tune(config(tmp_path), tmp_path / "study", progress=False)
    assert summary(more) == summary(finished[1])
    assert tune(config(tmp_path), tmp_path / "study", progress=False) == more


@pytest.mark.slow
def test_killed_process_has_its_run_continued_at_once(finished: tuple[Path, SearchResult], tmp_path: Path) -> None:
    """The lock shows that the process is gone, long before its heartbeats are missed."""
    search = written(tmp_path)
    command = [sys.executable, "-c", DIES, str(search), str(tmp_path / "study")]
    died = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    found = tune(load_tuning_config(search), tmp_path / "study", progress=False)
    assert [trial.state for trial in found.trials].count("fail") == 1
    assert [trial.run for trial in found.trials].count("trial-001") == 2
    assert summary(found) == summary(finished[1])


DIES = """
import os, signal, sys
from trialea.training import tuning
from trialea.training.config import load_tuning_config

judge, seen = tuning._Judge.__call__, []

def dying(self, line):
    seen.append(line)
    if len(seen) == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return judge(self, line)

tuning._Judge.__call__ = dying
tuning.tune(load_tuning_config(sys.argv[1]), sys.argv[2], progress=False)
"""


@pytest.mark.slow
def test_two_processes_share_the_trials(tmp_path: Path) -> None:
    search = written(tmp_path, trials=6, pruner="none")
    words = ["tune", str(search), "--out", "study", "--json"]
    command = [sys.executable, "-W", "error", "-m", "trialea", *words]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
    ended = [(process.communicate(timeout=300), process.returncode) for process in processes]
    for (_, errors), code in ended:
        assert code == 0, errors
    assert all("Trial" in errors for (_, errors), _ in ended)  # both processes ran trials
    found = tune(load_tuning_config(search), tmp_path / "study", progress=False)
    assert 6 <= found.count("complete") <= 7
    rates = [trial.values["ppo.learning_rate.start"] for trial in found.trials]
    assert len(set(rates)) == len(rates)


def test_storage_can_be_a_url_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    words = ["tune", str(written(tmp_path, trials=1)), "--out", "study", "--storage", url]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["best"]["run"] == "trial-000" and found["config"] == "study/best.yaml"
    assert optuna.load_study(study_name="some", storage=url).best_value == found["best"]["value"]
    assert not (tmp_path / "study" / "study.db").exists()
    assert "Trial 0 complete at" in done.stderr
    shown = CliRunner().invoke(app, words)
    assert "Trials of some: 1 complete, 0 pruned, 0 running." in shown.output
    assert "To train with these settings: trialea train study/best.yaml" in shown.output


# Errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"space": {"ppo.n_step": [8]}}, r"space: ppo\.n_step cannot be 8.*is not a known key"),
        ({"space": {"ppo.n_steps": {"low": 0, "high": 8}}}, r"ppo\.n_steps cannot be 0"),
        ({"space": {"ppo.activation": ["relu", "elu"]}}, r"ppo\.activation cannot be elu"),
        ({"space": {"seed": {"low": 3, "high": 2}}}, "space.seed low must be at most high, got 3 and 2"),
        ({"space": {"seed": {"low": 0, "high": 2, "log": True}}}, "a range with log must start above 0"),
        ({"space": {"seed": {"low": 0, "high": 2, "step": 0.5}}}, "step must be a whole number where low and high are"),
        ({"space": {"seed": []}}, "must list at least one value for seed"),
        ({"space": {}}, "space"),
        ({"changes": ["frames"]}, "written key=value"),
        ({"base": "nothing.yaml"}, "^there is no configuration nothing.yaml"),
        ({"changes": ["frmaes=1"]}, "base.yaml, changed by frmaes=1: frmaes is not a known key"),
        ({"study": "../mine"}, "study must be text that matches"),
        ({"trials": 0}, "trials"),
        ({"pruner": "mean"}, "pruner"),
    ],
)
def test_invalid_search_raises_before_training(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=message):
        config(tmp_path, **changes)


def test_unknown_metric_raises_and_names_the_measured_ones(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="one of regret, optimal_share, win_rate/random, which.*got wins"):
        tune(config(tmp_path, metric="wins"), tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_another_search_in_the_folder_or_storage_raises(finished: tuple[Path, SearchResult], tmp_path: Path) -> None:
    folder, _ = finished
    with pytest.raises(OptionError, match="another search, with other values of seed"):
        tune(load_tuning_config(folder.parent / "search.yaml", ["seed=5"]), folder)
    with pytest.raises(OptionError, match="must be empty or hold this search"):
        tune(config(tmp_path), tmp_path)
    storage = f"storage=sqlite:///{folder / 'study.db'}"
    with pytest.raises(OptionError, match="study must be a new name in this storage: the study some there"):
        tune(load_tuning_config(folder.parent / "search.yaml", ["seed=5", storage]), tmp_path / "study")


@pytest.mark.parametrize(
    ("url", "message"),
    [("nonsense", "must be a database's URL"), ("sqlite:////no/such/folder/x.db", "unable to open database file")],
)
def test_unusable_storage_raises(url: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=message):
        tune(config(tmp_path, storage=url), tmp_path / "study")


def test_password_of_a_storage_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    tuning._claim(tmp_path / "study", config(tmp_path, storage="mysql://me:secret@host/trials"))
    assert "mysql://me:***@host/trials" in (tmp_path / "study" / "tune.yaml").read_text()


def test_values_that_do_not_fit_together_are_pruned_with_a_reason(tmp_path: Path) -> None:
    """A rollout of 513 decisions in minibatches of 128 leaves a single one."""
    space = {"ppo.environments": [32, 27], "ppo.n_steps": [16, 19]}
    short = {**BASE, "frames": 100, "measure": {**BASE["measure"], "times": 1, "games": 4}}
    found = tune(config(tmp_path, short, space=space, trials=8), tmp_path / "study", progress=False)
    refused = [trial for trial in found.trials if trial.refused]
    assert refused and all(trial.values == {"ppo.environments": 27, "ppo.n_steps": 19} for trial in refused)
    assert all(trial.state == "pruned" and "a single decision" in trial.refused for trial in refused)
    assert len(found.trials) == 8


def test_other_errors_stop_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the code must not be taken for values that don't fit together."""

    def fail(*_: object) -> bool:
        raise ValueError("shapes (3,) and (4,) do not match")

    monkeypatch.setattr(tuning, "train", fail)
    with pytest.raises(ValueError, match="shapes"):
        tune(config(tmp_path, trials=1), tmp_path / "study", progress=False)


def test_missing_package_raises_and_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"optuna.*trialea\[tune\]"):
        CliRunner().invoke(app, ["tune", str(written(tmp_path))], catch_exceptions=False)


# Shipped configurations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", shipped_tuning_configs())
def test_shipped_search_loads_from_any_folder(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_tuning_config(path).training().make_game().num_players == 2
