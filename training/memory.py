"""Estimate how much memory a training needs, before it allocates any.

The estimates follow from the shapes of the arrays that a training keeps. They detect a configuration that is far too
large for the machine, which would otherwise crash or swap.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.training.config import AfterstateConfig, RllibConfig, RunConfig, TrainConfig

FLOAT = 4  # bytes
TRAINED = 4 * FLOAT  # bytes of a trained weight, with its gradient and Adam's two moments
POSITIONS = 50  # turns of each player in a game, an upper estimate
OBJECTS = 20_000  # bytes of the Python objects for one of RLlib's environments


@dataclass(frozen=True)
class Need:
    """The memory needed for one purpose.

    Attributes:
        purpose: the purpose, in words.
        size: the size in bytes.
        keys: the keys of the configuration that reduce it.
    """

    purpose: str
    size: float
    keys: str


def check_memory(config: RunConfig) -> None:
    """Raise an `OptionError` that names the keys to change if a training needs more memory than the machine has."""
    available = total_memory()
    needs = sorted(memory_needs(config), key=lambda need: need.size, reverse=True)
    total = sum(need.size for need in needs)
    if available is not None and total > available:
        largest = needs[0]
        raise OptionError(
            f"the training needs about {in_bytes(total)} of memory, {in_bytes(largest.size)} of it for"
            f" {largest.purpose}, and this machine has {in_bytes(available)}. Make {largest.keys} smaller"
        )


def memory_needs(config: RunConfig) -> list[Need]:
    """Return the memory that a training needs, by purpose."""
    if isinstance(config, AfterstateConfig):
        return _afterstate_needs(config)
    return _rllib_needs(config) if isinstance(config, RllibConfig) else _ppo_needs(config)


def total_memory() -> int | None:
    """Return the total memory in bytes that this process may use; None if the system doesn't report it."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this system
        return None
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no limit of a container
        return total


def in_bytes(size: float) -> str:
    """Return a size in a unit that suits it, such as `4.3 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def _ppo_needs(config: TrainConfig) -> list[Need]:
    games, ppo = config.make_games(), config.ppo
    size, actions = config.sizes()
    rows = ppo.environments * ppo.n_steps
    policy, value = weights([size, *ppo.net_arch, actions]), weights([size, *ppo.net_arch, 1])
    kept = min(config.past_selves, config.snapshots + 1) if config.opponents.get("past") else 0
    return [
        Need("the rollouts", rows * (FLOAT * (size + 8) + actions), "ppo.environments or ppo.n_steps"),
        Need("the games", ppo.environments * _game_size(games, size), "ppo.environments"),
        Need("a minibatch", _batch_size(min(ppo.batch_size, rows), size, actions, ppo.net_arch), "ppo.batch_size"),
        Need("the networks", TRAINED * (policy + value), "ppo.net_arch"),
        Need("past selves", FLOAT * policy * kept, "past_selves or ppo.net_arch"),
    ]


def _rllib_needs(config: RllibConfig) -> list[Need]:
    games, ppo = config.make_games(), config.ppo
    size, actions = config.sizes()
    rows = ppo.environments * ppo.n_steps * max(1, config.env_runners)
    networks = 1 if config.policies == "shared" else games[0].num_players
    both = weights([size, *ppo.net_arch, actions]) + weights([size, *ppo.net_arch, 1])
    environments = "ppo.environments, ppo.n_steps or env_runners"
    return [
        Need("a batch", 3 * rows * (FLOAT * (size + actions + 8) + actions), environments),
        Need("the games", ppo.environments * (OBJECTS + _game_size(games, size)), "ppo.environments"),
        Need("a minibatch", _batch_size(min(ppo.batch_size, rows), size, actions, ppo.net_arch), "ppo.batch_size"),
        Need("the networks", TRAINED * both * networks, "ppo.net_arch"),
    ]


def _afterstate_needs(config: AfterstateConfig) -> list[Need]:
    games = config.make_games()
    players = games[0].num_players
    size, _ = config.sizes()  # about the number of features of a position between turns
    batch = min(config.batch, config.games)
    positions = batch * POSITIONS * players
    network = weights([size, config.hidden[0] + players, *config.hidden[1:], players])
    return [
        Need("a batch's positions", positions * FLOAT * (3 * size + 2 * sum(config.hidden)), "batch"),
        Need("the games", batch * _game_size(games, size), "batch"),
        Need("the network", TRAINED * network, "hidden"),
    ]


def _game_size(games: Sequence[Game], observation: int) -> int:
    """Return the bytes of one game in progress: its state with copies, and masks, logits and values of its actions."""
    state = max(game.state_dtype.itemsize for game in games)
    return 4 * state + 2 * FLOAT * observation + 32 * games[0].num_actions + 500


def _batch_size(rows: int, observation: int, actions: int, widths: Sequence[int]) -> int:
    """Return the bytes of a forward and backward pass of a minibatch through both networks."""
    return rows * FLOAT * (observation + 6 * actions + 2 * 3 * sum(widths))


def weights(widths: Sequence[int]) -> int:
    """Return the number of weights of a network with these widths of layers, starting with the inputs."""
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(widths))
