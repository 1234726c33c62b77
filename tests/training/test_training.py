"""Tests of training runs: their files, reproducibility, stopping and resuming, and errors."""

from __future__ import annotations

import errno
import itertools
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from sb3_contrib import MaskablePPO

from tests.helpers import SHORT, game_of, is_solved, more_players, nth
from tests.training.runs import (
    ROLLOUT,
    assert_same_outcome,
    metrics,
    run,
    same_weights,
    stop_at,
    timeless,
    tiny,
)
from trialea import GAMES, OptionError, UnknownNameError
from trialea.agents.model import ModelAgent
from trialea.agents.model_file import ModelFileError
from trialea.envs.errors import FileError, InUseError
from trialea.evaluation import evaluate
from trialea.training.callbacks import RunCallback
from trialea.training.config import load_config
from trialea.training.run import resume, train
from trialea.training.run_folder import newest_checkpoint

every_game = pytest.mark.parametrize("name", GAMES)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished tiny run. Tests must not change it."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert run(tiny(), folder) is True
    return folder


# Files of a run --------------------------------------------------------------------------------------------------


def test_run_folder_has_the_configuration_with_its_seed(finished: Path) -> None:
    assert load_config(finished / "config.yaml") == tiny()
    assert yaml.safe_load((finished / "config.yaml").read_text())["seed"] == 3


def test_run_folder_has_the_versions(finished: Path) -> None:
    found = json.loads((finished / "versions.json").read_text())
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    for package in ("numpy", "numba", "gymnasium", "stable-baselines3", "sb3-contrib", "torch"):
        assert found[package] == version(package)


def test_run_folder_has_measurements_from_start_to_end(finished: Path) -> None:
    lines = metrics(finished)
    assert [line["frames"] for line in lines] == [0, 4 * ROLLOUT, 8 * ROLLOUT]
    for line in lines:
        assert set(line) == {"frames", "seconds", "win_rate/random", "regret", "optimal_share"}
        assert 0 <= line["win_rate/random"] <= 1
        assert line["regret"] > 0
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds) and seconds[-1] > 0


def test_run_folder_has_checkpoints_a_model_and_nothing_else(finished: Path) -> None:
    names = sorted(path.name for path in (finished / "checkpoints").iterdir())
    assert names == [f"{k * ROLLOUT:012d}" for k in (2, 4, 6)]
    for path in (finished / "checkpoints").iterdir():
        assert sorted(item.name for item in path.iterdir()) == ["config.yaml", "model.zip", "past.pt", "state.npz"]
    assert sorted(path.name for path in finished.iterdir()) == [
        "checkpoints",
        "config.yaml",
        "metrics.jsonl",
        "model.zip",
        "tensorboard",
        "versions.json",
    ]
    assert newest_checkpoint(finished / "checkpoints") == finished / "checkpoints" / f"{6 * ROLLOUT:012d}"


def scalars(folder: Path, tag: str) -> list[Any]:
    """Return the events of one TensorBoard scalar, with `step` and `value`."""
    events = import_module("tensorboard.backend.event_processing.event_accumulator")
    read = events.EventAccumulator(str(folder / "tensorboard"))
    read.Reload()
    return list(read.Scalars(tag))


def test_tensorboard_has_the_measured_figures(finished: Path) -> None:
    assert scalars(finished, "train/entropy_coefficient") and scalars(finished, "train/loss")
    for tag, key in (("measure/regret", "regret"), ("measure/win_rate/random", "win_rate/random")):
        shown = scalars(finished, tag)
        assert [event.value for event in shown] == pytest.approx([line[key] for line in metrics(finished)])
        assert [event.step for event in shown] == [line["frames"] for line in metrics(finished)]


def test_model_loads_as_an_agent_and_in_maskable_ppo(finished: Path) -> None:
    game = game_of("no_dice", **SHORT["no_dice"])
    agent, model = ModelAgent.load(finished, game), MaskablePPO.load(finished / "model.zip", device="cpu")
    states = game.start(range(100))
    expected, _ = model.predict(game.observe(states), action_masks=game.masks(states), deterministic=True)
    assert np.array_equal(agent.act(states), expected)


def test_last_measurement_is_of_the_saved_model(finished: Path) -> None:
    game = game_of("no_dice", **SHORT["no_dice"])
    found = evaluate(game, [ModelAgent.load(finished, game), "random"], num_games=20, seed=3)
    assert nth(found, 0).regret is not None
    assert nth(found, 0).win_rate == metrics(finished)[-1]["win_rate/random"]
    assert nth(found, 0).regret.per_decision == pytest.approx(metrics(finished)[-1]["regret"])


# Reproducibility and settings ------------------------------------------------------------------------------------


def test_same_seed_gives_the_same_run(finished: Path, tmp_path: Path) -> None:
    torch.rand(7)  # earlier use of the global generators makes no difference
    np.random.random(3)  # noqa: NPY002
    assert run(tiny(), tmp_path / "again")
    assert_same_outcome(tmp_path / "again", finished)


def test_another_seed_gives_another_run(finished: Path, tmp_path: Path) -> None:
    assert run(tiny(seed=4), tmp_path / "other")
    assert not same_weights(tmp_path / "other" / "model.zip", finished / "model.zip")
    assert timeless(tmp_path / "other") != timeless(finished)


def test_stages_set_reward_and_horizon_and_entropy_decreases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []
    entropy: list[float] = []
    on_step = RunCallback._on_step

    def step(self: RunCallback) -> bool:
        seen.append((self._env.games[0].reward, self._env.horizon))
        entropy.append(self.model.ent_coef)
        return on_step(self)

    monkeypatch.setattr(RunCallback, "_on_step", step)
    assert run(tiny(), tmp_path / "run")
    assert seen == [("score", "turn")] * 64 + [("win", "game")] * 64
    ramp = tiny().ppo.entropy
    assert entropy[0] == ramp.start > entropy[64] == pytest.approx((ramp.start + ramp.end) / 2)
    assert entropy == sorted(entropy, reverse=True)


@every_game
@pytest.mark.parametrize(
    "changes",
    [
        {"players": more_players, "opponents": {"random": 1.0, "past": 1.0}, "seat": "random"},
        {"opponents": {"solver": 1.0}, "seat": 1, "measure": {"times": 1, "games": 4, "opponents": ["solver"]}},
        {"frames": ROLLOUT + 1, "ppo": {**tiny().ppo.model_dump(), "activation": "tanh"}},
    ],
    ids=["more players", "against the solver", "an odd number of frames"],
)
def test_run_works_with_other_settings(name: str, changes: dict[str, Any], tmp_path: Path) -> None:
    given = {key: value(name) if callable(value) else value for key, value in changes.items()}
    config = tiny(name, **{"frames": 2 * ROLLOUT, **given})
    assert run(config, tmp_path / "run")
    last = metrics(tmp_path / "run")[-1]
    assert last["frames"] == 2 * ROLLOUT
    assert ("regret" in last) == is_solved(name, config.players, **config.options)
    assert ModelAgent.load(tmp_path / "run", config.make_game()).name == "run"


# Stopping and resuming -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rollouts", [0.5, 2.0, 2.5, 6.5])
def test_stopped_run_resumes_to_the_same_end(
    rollouts: float, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_at(int(rollouts * ROLLOUT), patch)
        assert run(tiny(), folder) is False
    assert not (folder / "model.zip").exists()
    assert resume(folder, progress=False) is True
    assert_same_outcome(folder, finished)


def test_tensorboard_has_the_measurement_before_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: RunCallback) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunCallback, "_on_step", fail)
    with pytest.raises(KeyboardInterrupt):
        run(tiny(), tmp_path / "run")
    assert [event.step for event in scalars(tmp_path / "run", "measure/regret")] == [0]


def test_stopping_finishes_and_saves_the_current_rollout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_at(ROLLOUT // 2, monkeypatch)
    assert run(tiny(), tmp_path / "run") is False
    assert newest_checkpoint(tmp_path / "run" / "checkpoints") == tmp_path / "run" / "checkpoints" / f"{ROLLOUT:012d}"


def test_run_stopped_in_its_last_rollout_is_complete(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at(int(7.5 * ROLLOUT), monkeypatch)
    assert run(tiny(), tmp_path / "run") is True
    assert_same_outcome(tmp_path / "run", finished)


def test_run_stopped_several_times_comes_to_the_same_end(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_at(ROLLOUT, monkeypatch)
    assert run(tiny(), tmp_path / "run") is False
    for rollouts in (3, 4):
        stop_at(rollouts * ROLLOUT, monkeypatch)
        assert resume(tmp_path / "run", progress=False) is False
    assert resume(tmp_path / "run", progress=False) is True
    assert_same_outcome(tmp_path / "run", finished)
    seconds = [line["seconds"] for line in metrics(tmp_path / "run")]
    assert seconds == sorted(seconds)


def test_crashed_run_resumes_from_its_last_checkpoint(finished: Path, tmp_path: Path) -> None:
    """It left measurements from after the checkpoint, and a partial checkpoint."""
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / "model.zip").unlink()
    shutil.rmtree(folder / "checkpoints" / f"{6 * ROLLOUT:012d}")
    shutil.rmtree(folder / "checkpoints" / f"{4 * ROLLOUT:012d}")
    (folder / "checkpoints" / ".writing-x").mkdir()
    assert resume(folder, progress=False) is True
    assert_same_outcome(folder, finished)
    assert not (folder / "checkpoints" / ".writing-x").exists()


def test_run_that_crashed_before_a_checkpoint_starts_again(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("config.yaml", "metrics.jsonl"):
        shutil.copy(finished / name, folder)
    assert resume(folder, progress=False) is True
    assert_same_outcome(folder, finished)


def test_ctrl_c_stops_a_process_whose_run_resumes_exactly(tmp_path: Path) -> None:
    config = tiny(frames=16 * ROLLOUT, checkpoints=3, opponents={"random": 0.5, "past": 0.5}, past_selves=1)
    # Keep the order of keys: the order of the opponents decides who is sampled.
    (tmp_path / "long.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False))
    command = [sys.executable, "-W", "error", "-m", "trialea", "train", "long.yaml", "--out", "stopped"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    for _ in range(6000):  # until training has started
        if list(tmp_path.glob("stopped/metrics.jsonl")) or process.poll() is not None:
            break
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "To continue: trialea train --resume stopped" in errors
    assert "Traceback" not in errors
    reached = newest_checkpoint(tmp_path / "stopped" / "checkpoints")
    assert reached is not None and 0 <= int(reached.name) < config.frames
    assert resume(tmp_path / "stopped", progress=False) is True
    assert run(config, tmp_path / "whole") is True
    assert_same_outcome(tmp_path / "stopped", tmp_path / "whole")


# Errors ----------------------------------------------------------------------------------------------------------


def test_run_in_progress_is_locked(finished: Path, tmp_path: Path) -> None:
    refused = []

    def report(_: dict[str, Any]) -> bool:
        for other in (lambda: train(tiny(), tmp_path / "run", progress=False), lambda: resume(tmp_path / "run")):
            with pytest.raises((InUseError, FileError)) as caught:
                other()
            refused.append(str(caught.value))
        return False

    assert train(tiny(), tmp_path / "run", progress=False, report=report) is True
    assert "exists already" in refused[0]
    assert f"is in use: process {os.getpid()} on" in refused[1] and "is training in it" in refused[1]
    assert_same_outcome(tmp_path / "run", finished)
    assert not (tmp_path / "run" / ".lock").exists()


def test_full_disk_error_says_what_is_saved_and_how_to_continue(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the second checkpoint. No partial checkpoint remains, and the run can resume."""
    folder, save, writes = tmp_path / "run", torch.save, itertools.count()

    def save_once(tensors: Any, file: Any) -> None:
        if Path(str(getattr(file, "name", ""))).name == "past.pt" and next(writes) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(tensors, file)

    with monkeypatch.context() as patched, pytest.raises(FileError) as caught:
        patched.setattr(torch, "save", save_once)
        run(tiny(), folder)
    target = folder / "checkpoints" / f"{4 * ROLLOUT:012d}"
    assert str(caught.value) == (
        f"{target} can't be written: no space left on device. Free some space. The run is saved up to its newest"
        f" checkpoint. To continue: trialea train --resume {folder}"
    )
    assert [path.name for path in (folder / "checkpoints").iterdir()] == [f"{2 * ROLLOUT:012d}"]
    assert resume(folder, progress=False) is True
    assert_same_outcome(folder, finished)


def test_errors_of_tensorboards_thread_are_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tensorboard.summary.writer.record_writer.RecordWriter.write", full)
    with pytest.raises(FileError, match=r"run: no space left on device\. The run is saved"):
        run(tiny(), tmp_path / "run")
    assert capsys.readouterr().err == ""


def test_existing_folder_raises_and_stays_unchanged(finished: Path, tmp_path: Path) -> None:
    before = (finished / "model.zip").read_bytes()
    with pytest.raises(FileError, match="exists already.*--resume"):
        run(tiny(), finished)
    assert (finished / "model.zip").read_bytes() == before
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileError, match="file is not a folder"):
        run(tiny(), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_complete_run_does_not_resume(finished: Path) -> None:
    with pytest.raises(OptionError, match="is complete"):
        resume(finished, progress=False)


def test_folder_without_a_run_does_not_resume(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(OptionError, match=r"must be a run folder, with config\.yaml"):
            resume(folder, progress=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"opponents": {"nobody": 1.0}},
        {"seat": 2},
        {"players": 6, "opponents": {"solver": 1.0}},
        {"players": 6, "opponents": {"random": 1.0}, "measure": {"opponents": ["solver"]}},
        {"measure": {"opponents": ["nobody"]}},
    ],
    ids=str,
)
def test_invalid_run_raises_before_its_folder_is_made(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises((OptionError, UnknownNameError)):
        run(tiny(**changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Payload:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def hostile_checkpoint(folder: Path, member: str, payload: Payload) -> None:
    """Put a pickled payload into a member of a checkpoint."""
    if member == "past.pt":
        torch.save([payload], folder / member)
    elif member == "state.npz":
        np.savez(folder / member, frames=np.array([payload], object))
    else:
        with zipfile.ZipFile(folder / "model.zip", "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(member, pickle.dumps(payload))


@pytest.mark.parametrize("member", ["past.pt", "state.npz", "policy.pth", "policy.optimizer.pth"])
def test_hostile_checkpoint_runs_no_code(member: str, finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / "model.zip").unlink()
    newest = newest_checkpoint(folder / "checkpoints")
    assert newest is not None
    hostile_checkpoint(newest, member, Payload(tmp_path / "mark"))
    with pytest.raises(ModelFileError, match=newest.name):
        resume(folder, progress=False)
    assert not (tmp_path / "mark").exists()
