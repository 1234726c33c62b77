"""Everything that a training run needs to go on exactly where it stopped, in one folder written whole."""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from trialea.agents.model import MODEL, ModelFileError, network_from, write_facts
from trialea.envs.game import Game
from trialea.training.config import TrainConfig
from trialea.training.past import PastSelves
from trialea.training.vec_env import GamesVecEnv

STATE = "state.npz"
PAST = "past.pt"


def save_model(model: MaskablePPO, file: Path, game: Game, activation: str) -> None:
    """Write the model, with what it is for, whole or not at all."""
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        temporary = Path(folder) / MODEL
        model.save(temporary)
        write_facts(temporary, game, activation)
        temporary.replace(file)


def save_checkpoint(
    folder: Path, model: MaskablePPO, env: GamesVecEnv, past: PastSelves, config: TrainConfig, seconds: float
) -> Path:
    """Save a run that stands between two rollouts, into `folder`/<frames>; returns that path."""
    target = folder / f"{model.num_timesteps:012d}"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=folder, prefix=".writing-"))
    temporary.chmod(0o755)  # temporary folders are private, a checkpoint is not
    save_model(model, temporary / MODEL, config.make_game(), config.ppo.activation)
    # What the two generators will draw next: torch's samples actions, NumPy's shuffles minibatches.
    _, numpy_words, numpy_place, *_ = np.random.get_state(legacy=True)  # noqa: NPY002
    arrays: dict[str, Any] = {f"games_{name}": value for name, value in env.games.snapshot().items()}
    np.savez(
        temporary / STATE,
        frames=model.num_timesteps,
        seconds=seconds,
        updates=model._n_updates,
        starts=np.asarray(model._last_episode_starts),
        torch_random=torch.get_rng_state().numpy(),
        numpy_words=numpy_words,
        numpy_place=numpy_place,
        **arrays,
    )
    torch.save([network.state_dict() for network in past.networks], temporary / PAST)
    temporary.rename(target)
    return target


def newest_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint in a run's folder of checkpoints, if there is one."""
    found = sorted(path for path in folder.glob("[0-9]*") if path.is_dir())
    return found[-1] if found else None


def remove_leftovers(folder: Path) -> None:
    """Delete what a process that died while writing a checkpoint left behind."""
    for path in folder.glob(".writing-*"):
        shutil.rmtree(path, ignore_errors=True)


def restore(folder: Path, model: MaskablePPO, env: GamesVecEnv, past: PastSelves, config: TrainConfig) -> float:
    """Put a run back where `save_checkpoint` found it; returns the seconds it had taken. No code is read."""
    try:
        with zipfile.ZipFile(folder / MODEL) as archive:
            model.policy.load_state_dict(_weights(archive.read("policy.pth")))
            model.policy.optimizer.load_state_dict(_weights(archive.read("policy.optimizer.pth")))
        with np.load(folder / STATE, allow_pickle=False) as stored:
            state = dict(stored)
        networks = torch.load(folder / PAST, weights_only=True)
    except Exception as error:
        raise ModelFileError(f"the checkpoint {folder} cannot be read: {error}") from error
    for weights in networks:
        past.add(network_from(_as_policy_weights(weights), config.ppo.activation))
    env.games.restore({name[len("games_") :]: value for name, value in state.items() if name.startswith("games_")})
    model.num_timesteps = int(state["frames"])
    env.games.game = config.make_game(config.stage_at(model.num_timesteps))
    model._n_updates = int(state["updates"])
    model._last_obs = env.games.observe()
    model._last_episode_starts = state["starts"]
    torch.set_rng_state(torch.from_numpy(state["torch_random"]))
    np.random.set_state(("MT19937", state["numpy_words"], int(state["numpy_place"]), 0, 0.0))  # noqa: NPY002
    return float(state["seconds"])


def _weights(content: bytes) -> dict[str, Any]:
    weights: dict[str, Any] = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
    return weights


def _as_policy_weights(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A snapshot's weights under the names that stable-baselines3 gives those of a policy."""
    last = max(int(key.split(".")[0]) for key in weights)
    named = {}
    for key, value in weights.items():
        number, _, kind = key.partition(".")
        layer = "action_net" if int(number) == last else f"mlp_extractor.policy_net.{number}"
        named[f"{layer}.{kind}"] = value
    return named
