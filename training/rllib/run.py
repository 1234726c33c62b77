"""Train a policy in self-play with RLlib's PPO, on one machine or on a Ray cluster.

Every seat learns; there are no other opponents. Env runners play, and need only the installed package. The main process
learns, measures and writes the run folder. If an env runner is lost, Ray starts another on any node with a free core,
while the others continue.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from trialea.agents.model import ModelAgent, network_from
from trialea.agents.model_file import MODEL, read_model, write_policy
from trialea.agents.seats import SeatsAgent, of_seat, write_seats
from trialea.envs.agent import Agent
from trialea.envs.errors import IllegalActionError, TrialeaError
from trialea.training.config import RllibConfig
from trialea.training.measuring import Report
from trialea.training.rllib.algorithm import ILLEGAL_ACTIONS, module_of, ppo_config, ray
from trialea.training.run_folder import new_checkpoint, readable_checkpoint, save_tensors
from trialea.training.self_play import self_play
from trialea.training.starting import starting_policies

OPTIMIZERS = "optimizers.pth"
STATE = "state.npz"


class ClusterError(TrialeaError):
    """A cluster that can't be reached, is too small, or no longer answers."""


class Learner:
    """One policy, or one for each seat, that learns by playing against itself on RLlib's env runners.

    Attributes:
        algorithm: RLlib's algorithm.
        games, frames: games ended and decisions taken so far, by all seats.
        unit, total: the unit of the run's length, and its length.
        stopping: set it to stop the run after the present update.
    """

    unit = "frames"

    def __init__(self, config: RllibConfig) -> None:
        torch.set_num_threads(config.threads)
        self._config = config
        self._game = config.make_game()
        self._modules = list(dict.fromkeys(module_of(config, seat) for seat in range(self._game.num_players)))
        self._restored: tuple[list[dict[str, torch.Tensor]], dict[str, Any] | None] | None = None
        self.games = self.frames = 0
        self._games_before = self._frames_before = 0
        self.total = config.frames
        self.stopping = False

    @property
    def done(self) -> int:
        """The finished part of `total`, in the same unit."""
        return self.frames

    @cached_property
    def algorithm(self) -> Any:
        """RLlib's PPO, built at its first use, so that a resumed run continues where it stopped."""
        try:
            algorithm = ppo_config(self._config, self._frames_before).build_algo()
        except Exception as error:
            if not self._config.env_runners:
                raise
            raise ClusterError(  # RLlib has logged the error of each env runner
                f"the env runners do not start ({error!r}): see the lines above. Every node must have the same versions"
                " of Python, Ray and trialea"
            ) from error
        if self._restored is not None:
            policies, optimizers = self._restored
            learner = torch_learner(algorithm)
            for module, weights in zip(self._modules, policies, strict=True):
                learner.module[module].load_state_dict(weights)
                if optimizers is not None:
                    learner.get_optimizer(module).load_state_dict(optimizers[module])
            algorithm.env_runner_group.sync_weights(
                from_worker_or_learner_group=algorithm.learner_group, inference_only=True
            )
        return algorithm

    def start_from_model(self) -> None:
        """Start from the weights that the configuration's `start_from` names."""
        self._restored = starting_policies(self._config), None

    def learn(self) -> None:
        """Play a batch and learn from it.

        Raises:
            IllegalActionError: a policy chose an illegal action.
            ClusterError: no env runner has answered for `patience` seconds.
        """
        before, gives_up = self.frames, time.monotonic() + self._config.patience
        while self.frames == before:
            found = self.algorithm.train().get("env_runners", {})
            illegal = _count(found, ILLEGAL_ACTIONS)
            if illegal:
                raise IllegalActionError(f"{illegal} illegal actions were chosen: the policy's masks do not hold")
            self.frames = max(before, self._frames_before + _count(found, "num_env_steps_sampled_lifetime"))
            self.games = max(self.games, self._games_before + _count(found, "num_episodes_lifetime"))
            if self.frames == before and time.monotonic() > gives_up:
                raise ClusterError(
                    f"no env runner has answered for {self._config.patience:g} seconds (`patience`). When the cluster"
                    " is back, `trialea train --resume` continues from the newest checkpoint"
                )

    def _policies(self) -> list[dict[str, torch.Tensor]]:
        """Return the present weights of each policy, in the order of the seats."""
        learner = torch_learner(self.algorithm)
        return [dict(learner.module[module].state_dict()) for module in self._modules]

    def agent(self) -> Agent:
        """Return an agent that plays the present policies."""
        activation = self._config.ppo.activation
        agents = [
            ModelAgent(self._game, network_from(weights, activation), name="learner") for weights in self._policies()
        ]
        return agents[0] if self._config.policies == "shared" else SeatsAgent(self._game, agents, name="learner")

    def save_model(self, file: Path) -> None:
        """Write the present policies, whole or not at all."""
        activation = self._config.ppo.activation
        if self._config.policies == "shared":
            write_policy(file, self._game.description(), self._policies()[0], activation)
        else:
            write_seats(file, self._game, self._policies(), activation)

    def save(self, target: Path, seconds: float) -> None:
        """Save the run between two batches, with its duration so far in seconds."""
        if target.exists():
            return
        learner = torch_learner(self.algorithm)
        with new_checkpoint(target) as folder:
            self.save_model(folder / MODEL)
            optimizers = {module: learner.get_optimizer(module).state_dict() for module in self._modules}
            save_tensors(optimizers, folder / OPTIMIZERS)
            np.savez(folder / STATE, games=self.games, frames=self.frames, seconds=seconds)

    def restore(self, folder: Path) -> float:
        """Restore a run from the files of `save` and return its duration in seconds. No code is loaded."""
        with readable_checkpoint(folder):
            _, weights = read_model(folder / MODEL)
            shared = self._config.policies == "shared"
            policies = [weights if shared else of_seat(weights, seat) for seat in range(len(self._modules))]
            self._restored = policies, torch.load(folder / OPTIMIZERS, weights_only=True)
            with (folder / STATE).open("rb") as file, np.load(file, allow_pickle=False) as stored:
                self.games, self.frames, seconds = int(stored["games"]), int(stored["frames"]), stored["seconds"]
        self._games_before, self._frames_before = self.games, self.frames
        return float(seconds)

    def close(self) -> None:
        """End the env runners."""
        if "algorithm" not in self.__dict__:
            return
        self.algorithm.stop()
        try:
            Path(self.algorithm.logdir).rmdir()  # RLlib's folder for results, which is empty
        except OSError:
            pass


def _count(found: Mapping[str, Any], key: str) -> int:
    """Return a number that RLlib reports; 0 if there is none or it is NaN because nothing was played."""
    value = found.get(key, 0)
    return int(value) if value > 0 else 0


def torch_learner(algorithm: Any) -> Any:
    """Return the local learner of an algorithm."""
    (found,) = algorithm.learner_group.foreach_learner(lambda learner: learner)
    return found.get()


def run(
    config: RllibConfig,
    learner: Learner,
    folder: Path,
    checkpoint: Path | None,
    progress: bool,
    report: Report | None = None,
) -> bool:
    """Train in a run folder, from a checkpoint or the beginning; return False if the run was stopped before its end."""
    deterministic = torch.are_deterministic_algorithms_enabled()  # RLlib switches this on for the whole process
    logger = logging.getLogger("ray.rllib")
    level = logger.level
    logger.setLevel(logging.ERROR)  # RLlib warns about settings that are intended here
    try:
        with _cluster(config):
            try:
                return self_play(config, learner, folder, checkpoint, progress, report)
            finally:
                learner.close()
    finally:
        logger.setLevel(level)
        torch.use_deterministic_algorithms(deterministic)


def prepare(config: RllibConfig, fresh: bool) -> Learner:
    """Return the learner of a training. A `fresh` learner has the weights that `start_from` names, if any.

    Raises:
        ClusterError: the cluster can't be reached or is too small.
    """
    check_cluster(config)
    learner = Learner(config)
    if fresh and config.start_from:
        learner.start_from_model()
    return learner


def check_cluster(config: RllibConfig) -> None:
    """Raise `ClusterError` if a running cluster can't be reached or is too small."""
    if config.address or ray.is_initialized():
        with _cluster(config):
            pass


@contextmanager
def _cluster(config: RllibConfig) -> Iterator[None]:
    """Connect to the configured Ray cluster, unless this process is already connected."""
    if ray.is_initialized():
        _check_size(config)
        yield
        return
    arguments: dict[str, Any] = {"address": config.address}
    if not config.address:
        arguments = {"address": "local", "num_cpus": config.env_runners + 1, "include_dashboard": False}
    try:
        _check_listens(config.address)
        ray.init(**arguments, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        where = f"no Ray cluster can be reached at {config.address!r}" if config.address else "Ray does not start here"
        raise ClusterError(f"{where} (`address`): {error}") from error
    try:
        _check_size(config)
        yield
    finally:
        ray.shutdown()


def _check_listens(address: str) -> None:
    """Raise `OSError` if nothing listens at the host and port. Ray itself would retry for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10.0).close()


def _check_size(config: RllibConfig) -> None:
    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < config.env_runners:
        raise ClusterError(
            f"the cluster has {cores} cores, and {config.env_runners} env runners need one each: lower `env_runners`,"
            " or add nodes"
        )
