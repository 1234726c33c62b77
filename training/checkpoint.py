"""Everything that a training run needs to go on exactly where it stopped, in one folder written whole."""

from __future__ import annotations

import io
import json
import platform
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from trialea.agents.model import network_from
from trialea.agents.model_file import MODEL, POLICY, ModelFileError, load_weights, readable, write_facts
from trialea.configs.yaml12 import read_yaml
from trialea.envs.errors import OptionError
from trialea.envs.files import atomic_folder, atomic_path, remove_leftovers, write_text
from trialea.envs.versions import versions
from trialea.evaluation.reports.report import read_metrics
from trialea.training.config import TrainConfig
from trialea.training.league import League
from trialea.training.vec_env import GamesVecEnv

CONFIG = "config.yaml"
STATE = "state.npz"
PAST = "past.pt"
OPTIMIZER = "policy.optimizer.pth"  # in the model file, as stable-baselines3 calls it


def save_model(model: MaskablePPO, file: Path, description: Mapping[str, Any], activation: str) -> None:
    """Write the model, with what it is for, whole or not at all."""
    with atomic_path(file) as temporary:
        model.save(temporary)
        write_facts(temporary, description, activation)


def save_checkpoint(
    folder: Path, model: MaskablePPO, env: GamesVecEnv, league: League, config: TrainConfig, seconds: float
) -> Path:
    """Save a run that stands between two rollouts, into `folder`/<frames>; returns that path."""
    target = folder / f"{model.num_timesteps:012d}"
    if target.exists():
        return target
    with new_checkpoint(target) as temporary:
        save_model(model, temporary / MODEL, config.description(), config.ppo.activation)
        _save_state(temporary, model, env, league, seconds)
    return target


@contextmanager
def new_checkpoint(target: Path) -> Iterator[Path]:
    """A folder to write a checkpoint into, which then appears as `target`, whole, with the run's configuration."""
    with atomic_folder(target) as temporary:
        yield temporary
        if (config := target.parent.parent / CONFIG).is_file():
            shutil.copyfile(config, temporary / CONFIG)


def _save_state(folder: Path, model: MaskablePPO, env: GamesVecEnv, league: League, seconds: float) -> None:
    """Write what a checkpoint holds beside its model."""
    # What the two generators will draw next: torch's samples actions, NumPy's shuffles minibatches.
    _, numpy_words, numpy_place, *_ = np.random.get_state(legacy=True)  # noqa: NPY002
    arrays: dict[str, Any] = {f"league_{name}": value for name, value in league.snapshot().items()}
    for number, games in enumerate(env.games):
        arrays |= {f"games{number}_{name}": value for name, value in games.snapshot().items()}
    np.savez(
        folder / STATE,
        frames=model.num_timesteps,
        seconds=seconds,
        updates=model._n_updates,
        starts=np.asarray(model._last_episode_starts),
        torch_random=torch.get_rng_state().numpy(),
        numpy_words=numpy_words,
        numpy_place=numpy_place,
        **arrays,
    )
    save_tensors([network.state_dict() for network in league.networks], folder / PAST)


def save_tensors(tensors: Any, file: Path) -> None:
    """Write tensors as torch does, but raise an `OSError` on a full disk, where torch raises a RuntimeError."""
    with file.open("wb") as opened:
        torch.save(tensors, opened)


def newest_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint in a run's folder of checkpoints, if there is one."""
    found = sorted(path for path in folder.glob("[0-9]*") if path.is_dir())
    return found[-1] if found else None


@contextmanager
def readable_checkpoint(folder: Path) -> Iterator[None]:
    """Turn whatever goes wrong with what lies in this folder into a `ModelFileError` that says how to go on."""
    try:
        with readable(folder, "checkpoint"):
            yield
    except ModelFileError as error:
        raise ModelFileError(f"{error}. Delete {folder} to go on from the checkpoint before it") from error


def check_same(run: Path, checkpoint: Path) -> None:
    """Raise `OptionError` where a run's configuration is no longer that of its checkpoint."""
    if not (checkpoint / CONFIG).is_file():  # of a version that kept none there
        return
    with readable_checkpoint(checkpoint):
        before, now = ({**read_yaml((place / CONFIG).read_bytes())} for place in (checkpoint, run))
    changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if changed:
        raise OptionError(
            f"{run / CONFIG} is not what the run was trained with, in {', '.join(changed)}: put back"
            f" {checkpoint / CONFIG}, or begin a new run"
        )


def open_folder(run: Path, frames: int) -> None:
    """Make a run's folder ready to go on after so many frames, from its checkpoint or its beginning.

    What a process that died while writing a checkpoint left behind is deleted; measurements that are made again are
    dropped: all after the checkpoint, and the first. The versions are noted.
    """
    remove_leftovers(run / "checkpoints")
    metrics = run / "metrics.jsonl"
    if metrics.exists():
        dated = [line for line in read_metrics(run) if isinstance(line.get("frames"), int)]
        write_text(metrics, "".join(json.dumps(line) + "\n" for line in dated if line["frames"] <= frames > 0))
    noted = json.dumps({**versions(), "machine": platform.machine()}, indent=2)
    write_text(run / "versions.json", noted + "\n")


def restore(folder: Path, model: MaskablePPO, env: GamesVecEnv, league: League, config: TrainConfig) -> float:
    """Put a run back where `save_checkpoint` found it; returns the seconds it had taken. No code is read."""
    with readable_checkpoint(folder):
        with zipfile.ZipFile(folder / MODEL) as archive:
            model.policy.load_state_dict(load_weights(archive.read(POLICY)))
            optimizer = torch.load(io.BytesIO(archive.read(OPTIMIZER)), weights_only=True)
        model.policy.optimizer.load_state_dict(optimizer)
        with (folder / STATE).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            state = dict(stored)
        networks = torch.load(folder / PAST, weights_only=True)
        pool = [network_from(_as_policy_weights(weights), config.ppo.activation) for weights in networks]
    league.restore(pool, _beginning("league_", state))
    model.num_timesteps = int(state["frames"])
    league.play(config.make_games(config.stage_at(model.num_timesteps)))
    for number, games in enumerate(env.games):
        games.restore(_beginning(f"games{number}_", state))
    model._n_updates = int(state["updates"])
    model._last_obs = env.observe()
    model._last_episode_starts = state["starts"]
    torch.set_rng_state(torch.from_numpy(state["torch_random"]))
    np.random.set_state(("MT19937", state["numpy_words"], int(state["numpy_place"]), 0, 0.0))  # noqa: NPY002
    return float(state["seconds"])


def _beginning(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """The arrays whose names begin so, under the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _as_policy_weights(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A snapshot's weights under the names that stable-baselines3 gives those of a policy."""
    last = max(int(key.split(".")[0]) for key in weights)
    named = {}
    for key, value in weights.items():
        number, _, kind = key.partition(".")
        layer = "action_net" if int(number) == last else f"mlp_extractor.policy_net.{number}"
        named[f"{layer}.{kind}"] = value
    return named
