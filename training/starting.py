"""Start a run from the network of another run: copy the weights; optimiser, schedules and folder are new."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import torch

from trialea.agents.afterstate import Network, read_network
from trialea.agents.model_file import check_description, find_model, kind_of, read_model
from trialea.agents.seats import of_seat
from trialea.envs.errors import OptionError
from trialea.training.config import AfterstateConfig, RllibConfig, TrainConfig

Weights = dict[str, torch.Tensor]


def starting_policies(config: TrainConfig | RllibConfig) -> list[Weights]:
    """Return the weights of policy and critic that `start_from` names, under stable-baselines3's names.

    Returns:
        One policy; or one for each seat, if each learns its own.

    Raises:
        ModelFileError: there is no such model, or it is damaged or for another game, players or options.
        OptionError: it is of another kind, has other layers or lacks the critic.
    """
    file = find_model(config.start_from)
    by_seat = isinstance(config, RllibConfig) and config.policies == "seats"
    _check_kind(file, "seats" if by_seat else "policy")
    facts, weights = read_model(file)
    games = config.make_games()
    if "description" in facts:  # stable-baselines3 alone writes none
        for game in games:
            check_description(file, facts["description"], game)
    if facts["activation"] != config.ppo.activation:
        raise OptionError(
            f"ppo.activation must be {facts['activation']}, as in start_from ({file}), got {config.ppo.activation}"
        )
    policies = [of_seat(weights, seat) for seat in range(games[0].num_players)] if by_seat else [weights]
    for policy in policies:
        _check_sizes(policy, config)
    return policies


def load_starting_network(network: Network, config: AfterstateConfig) -> None:
    """Give a new afterstate network the weights that `start_from` names.

    Raises:
        ModelFileError: there is no such model, or it is damaged or for another game, players or options.
        OptionError: it is of another kind, or has other hidden layers.
    """
    file = find_model(config.start_from)
    _check_kind(file, "afterstate")
    found = read_network(file, config.make_game())
    if found.hidden != network.hidden:
        raise OptionError(f"hidden must be {list(found.hidden)}, as in start_from ({file}), got {list(network.hidden)}")
    network.load_state_dict(found.state_dict())


def _check_kind(file: Path, wanted: str) -> None:
    found = kind_of(file)
    if found != wanted:
        raise OptionError(f"start_from must be a model of the kind {wanted!r}, got {file} of the kind {found!r}")


def _check_sizes(weights: Weights, config: TrainConfig | RllibConfig) -> None:
    expected = _shapes(config)
    if missing := [name for name in expected if name not in weights]:
        lacks = "the critic" if all("value_net" in name for name in missing) else missing[0]
        raise OptionError(
            f"start_from must hold policy and critic, but {config.start_from} lacks {lacks}. Name a run folder"
        )
    if expected != {name: tuple(weight.shape) for name, weight in weights.items()}:
        raise OptionError(
            f"ppo.net_arch must be as in start_from ({config.start_from}), got {list(config.ppo.net_arch)}"
        )


def _shapes(config: TrainConfig | RllibConfig) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights of policy and critic, by stable-baselines3's names."""
    observation, actions = config.sizes()
    widths = [observation, *config.ppo.net_arch]
    shapes: dict[str, tuple[int, ...]] = {}
    for part in ("policy_net", "value_net"):
        for number, (inputs, outputs) in enumerate(pairwise(widths)):
            shapes[f"mlp_extractor.{part}.{2 * number}.weight"] = (outputs, inputs)
            shapes[f"mlp_extractor.{part}.{2 * number}.bias"] = (outputs,)
    for head, outputs in (("action_net", actions), ("value_net", 1)):
        shapes[f"{head}.weight"] = (outputs, widths[-1])
        shapes[f"{head}.bias"] = (outputs,)
    return shapes
