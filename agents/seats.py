"""A policy of its own for each seat, as one agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from trialea.agents.model import (
    ModelAgent,
    checked_network,
    model_file,
    name_of,
    read_model,
    readable,
    write_policy,
)
from trialea.envs.agent import Agent
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States

KIND = "seats"


class SeatsAgent:
    """Plays each seat as the agent for that seat does, by its most probable action.

    Args:
        game: what it plays.
        agents: one for each seat, in order.
        name: how it is called in results.
    """

    deterministic = True

    def __init__(self, game: Game, agents: Sequence[Agent], name: str = KIND) -> None:
        if len(agents) != game.num_players:
            raise OptionError(f"a policy is needed for each of {game.num_players} seats, and {len(agents)} were given")
        self.name = name
        self.game = game
        self._agents = list(agents)

    @classmethod
    def load(cls, path: str | Path, game: Game) -> SeatsAgent:
        """The agent in a run folder or model file, checked to be for `game`; no code is read.

        Raises:
            ModelFileError: no model lies there, it is damaged, or it is for another game or number of players.
        """
        file = model_file(Path(path))
        with readable(file):
            facts, weights = read_model(file)
            networks = [
                checked_network(file, facts, of_seat(weights, seat), game)[0] for seat in range(game.num_players)
            ]
        return cls(game, [ModelAgent(game, network) for network in networks], name=name_of(path))

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        movers = self.game.movers(states)
        actions = np.empty(len(states), np.int64)
        for seat in np.unique(movers).tolist():
            mine = np.flatnonzero(movers == seat)
            actions[mine] = self._agents[seat].act(states[mine].view(np.recarray))
        return actions


def write_seats(file: Path, game: Game, policies: Sequence[Mapping[str, torch.Tensor]], activation: str) -> None:
    """Write the weights of every seat's policy into one model file, whole or not at all; see `write_policy`."""
    weights = {f"{seat}.{key}": value for seat, policy in enumerate(policies) for key, value in policy.items()}
    write_policy(file, game.description(), weights, activation, KIND)


def of_seat(weights: Mapping[str, torch.Tensor], seat: int) -> dict[str, torch.Tensor]:
    """The weights of one seat's policy, of those in a file that `write_seats` wrote."""
    prefix = f"{seat}."
    return {key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)}
