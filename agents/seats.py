"""An agent with a separate policy for each seat, such as RLlib can train.

Its files have the format of `trialea.agents.model_file`, with the seat's number before the name of each weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from trialea.agents.model import ModelAgent, checked_network
from trialea.agents.model_file import find_model, name_of, read_model, readable, write_policy
from trialea.envs.agent import Agent
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States

KIND = "seats"


class SeatsAgent:
    """An agent that plays each seat with the agent for that seat.

    Args:
        game: the game that it plays.
        agents: one deterministic agent for each seat, in order.
        name: its name in results.

    Raises:
        OptionError: there are more or fewer agents than seats.
    """

    deterministic = True

    def __init__(self, game: Game, agents: Sequence[Agent], name: str = KIND) -> None:
        if len(agents) != game.num_players:
            raise OptionError(f"agents must be one for each of {game.num_players} seats, got {len(agents)}")
        self.name = name
        self.game = game
        self._agents = list(agents)

    @classmethod
    def load(cls, path: str | Path, game: Game) -> SeatsAgent:
        """Return the agent in a run folder or model file, checked to be for `game`. No code in the file is run.

        Raises:
            ModelFileError: there is no model at `path`, it is damaged, or it is for another game or number of players.
        """
        file = find_model(path)
        with readable(file):
            facts, weights = read_model(file)
            networks = [
                checked_network(file, facts, of_seat(weights, seat), game)[0] for seat in range(game.num_players)
            ]
        return cls(game, [ModelAgent(game, network) for network in networks], name=name_of(path))

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        movers = self.game.movers(states)
        actions = np.empty(len(states), np.int64)
        for seat in np.unique(movers).tolist():
            mine = np.flatnonzero(movers == seat)
            actions[mine] = self._agents[seat].act(states[mine].view(np.recarray))
        return actions


def write_seats(file: Path, game: Game, policies: Sequence[Mapping[str, torch.Tensor]], activation: str) -> None:
    """Write the weights of the policies of all seats into one model file, whole or not at all."""
    weights = {f"{seat}.{key}": value for seat, policy in enumerate(policies) for key, value in policy.items()}
    write_policy(file, game.description(), weights, activation, KIND)


def of_seat(weights: Mapping[str, torch.Tensor], seat: int) -> dict[str, torch.Tensor]:
    """Return the weights of one seat's policy from those in a file by `write_seats`."""
    prefix = f"{seat}."
    return {key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)}
