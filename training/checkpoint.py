"""Checkpoints of a training with MaskablePPO, from which it resumes exactly: games, networks, opponents, generators."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from trialea.agents.model import network_from
from trialea.agents.model_file import MODEL, POLICY, load_weights, write_facts
from trialea.envs.files import atomic_path
from trialea.training.config import TrainConfig
from trialea.training.league import League
from trialea.training.run_folder import new_checkpoint, readable_checkpoint, save_tensors
from trialea.training.vec_env import GamesVecEnv

STATE = "state.npz"
PAST = "past.pt"
OPTIMIZER = "policy.optimizer.pth"  # in the model file, as stable-baselines3 calls it


def save_model(model: MaskablePPO, file: Path, description: Mapping[str, Any], activation: str) -> None:
    """Write a model with its description, whole or not at all."""
    with atomic_path(file) as temporary:
        model.save(temporary)
        write_facts(temporary, description, activation)


def save_checkpoint(
    folder: Path, model: MaskablePPO, env: GamesVecEnv, league: League, config: TrainConfig, seconds: float
) -> Path:
    """Save a run between two rollouts, into `folder`/<frames>, and return that path."""
    target = folder / f"{model.num_timesteps:012d}"
    if target.exists():
        return target
    with new_checkpoint(target) as temporary:
        save_model(model, temporary / MODEL, config.description(), config.ppo.activation)
        _save_state(temporary, model, env, league, seconds)
    return target


def _save_state(folder: Path, model: MaskablePPO, env: GamesVecEnv, league: League, seconds: float) -> None:
    """Write the state of a run, except the model, into a checkpoint."""
    # The states of two generators: torch's samples actions, NumPy's shuffles minibatches.
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


def restore(folder: Path, model: MaskablePPO, env: GamesVecEnv, league: League, config: TrainConfig) -> float:
    """Restore a run from the files of `save_checkpoint` and return its duration in seconds. No code is loaded."""
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
    """Return the arrays whose names start with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _as_policy_weights(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return a snapshot's weights under stable-baselines3's names for a policy."""
    last = max(int(key.split(".")[0]) for key in weights)
    named = {}
    for key, value in weights.items():
        number, _, kind = key.partition(".")
        layer = "action_net" if int(number) == last else f"mlp_extractor.policy_net.{number}"
        named[f"{layer}.{kind}"] = value
    return named
