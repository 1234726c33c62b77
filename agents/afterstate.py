"""Afterstate agents: a network values the positions between turns, and each turn is played exactly for these values.

A turn of a dice game can be solved exactly if every position after it has a value. An afterstate agent takes these
values from a small network that was trained in self-play (`trialea.training.afterstate`), as TD-Gammon did (Tesauro,
1995). An afterstate is the position that a whole turn leads to (Sutton and Barto, Reinforcement Learning, section 6.8).

This file is the same for all games. A game takes part through the module that its entry names as `afterstates`, which
has a class `Afterstates` with the methods of the protocol here.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trialea.agents.model_file import (
    FACTS,
    FORMAT,
    MOST_WEIGHTS,
    check_description,
    find_model,
    load_weights,
    name_of,
    read_facts,
    read_member,
    readable,
)
from trialea.envs.agent import ActionValues
from trialea.envs.errors import OptionError, needs_extra
from trialea.envs.files import atomic_path
from trialea.envs.game import Game, States
from trialea.envs.registry import GAMES, get_spec

with needs_extra("train", "an afterstate agent", "torch"):
    import torch
    from torch import nn

KIND = "afterstate"
WEIGHTS = "weights.pth"


class Network(nn.Module):
    """A network from positions between turns to the logits of every seat's share of the win.

    Seats are in the order of the turns, from the player to move next. The first n numbers of a position are the game's
    own estimate of these logits, 0 in games without one. The output is the sum of two parts: a linear function of the
    position, which starts as that estimate, and hidden layers of rectified units, which start at 0.

    Args:
        inputs: D, the number of features of a position.
        players: n, the number of seats.
        hidden: the number of units of each hidden layer, at least one layer.
    """

    def __init__(self, inputs: int, players: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.inputs, self.players, self.hidden = inputs, players, tuple(hidden)
        # One matrix product serves the linear part, in its first rows, and the first hidden layer.
        self.first = nn.Linear(inputs, players + hidden[0])
        layers: list[nn.Module] = [nn.ReLU()]
        for width, after in pairwise(hidden):
            layers += [nn.Linear(width, after), nn.ReLU()]
        head = nn.Linear(hidden[-1], players, bias=False)
        self.rest = nn.Sequential(*layers, head)
        with torch.no_grad():
            self.first.weight[:players] = torch.eye(players, inputs)
            self.first.bias[:players] = 0.0
            head.weight.zero_()

    def forward(self, features: torch.Tensor, moves: torch.Tensor | None = None, columns: Any = None) -> torch.Tensor:
        """Return logits (B, n) of positions (B, D) float32, after `moves` (B, C) are added to these `columns` (C,)."""
        found = self.first(features)
        if moves is not None:
            found = found + moves @ self.first.weight[:, columns].T
        logits: torch.Tensor = found[:, : self.players] + self.rest(found[:, self.players :])
        return logits


class Values:
    """A network's values of positions between turns. Positions are (N, D) float32."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def shares(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return every seat's share of the win, (N, n), from the player to move next; rows sum to 1."""
        with torch.inference_mode():
            shares: NDArray[np.float64] = torch.softmax(self._network(torch.from_numpy(features)).double(), 1).numpy()
        return shares

    def log_odds(
        self, features: NDArray[np.float32], place: int, columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the log-odds (N,) of one player's share of the win, and their derivatives (N, C).

        Args:
            features: positions (N, D).
            place: the player, by its place in the order of turns.
            columns: (C,), the features to differentiate by.
        """
        moves = torch.zeros(len(features), len(columns), requires_grad=True)
        logits = self._network(torch.from_numpy(features), moves, torch.from_numpy(columns))
        others = torch.cat([logits[:, :place], logits[:, place + 1 :]], dim=1)
        odds = logits[:, place] - torch.logsumexp(others, dim=1)
        (derivatives,) = torch.autograd.grad(odds.sum(), moves)
        return odds.detach().numpy(), derivatives.numpy()


class Player(Protocol):
    """A player of whole turns, for given values of the positions between them."""

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        ...

    def decide(self, states: States) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the actions (B,), and the mover's expected share of the win (B,) before the first throw of its turn.

        The share is needed in states after the first throw of a turn, and may be NaN in others.
        """
        ...


class Afterstates(Protocol):
    """The features of a game's positions between turns; created as `Afterstates(game)`.

    Attributes:
        num_features: D, the number of features of a position.
    """

    num_features: int

    def features(self, states: States) -> NDArray[np.float32]:
        """Return features (B, D) of the positions in which the turns of (B,) states began; see `Network`."""
        ...

    def player(self, values: Values) -> Player:
        """Return a player that plays each turn exactly for these values."""
        ...


def make_afterstates(game: Game) -> Afterstates:
    """Return the positions between turns of `game`.

    Raises:
        OptionError: the game has no afterstate agents.
    """
    module = get_spec(game.name).afterstates
    if not module:
        able = ", ".join(entry.name for entry in GAMES.values() if entry.afterstates)
        raise OptionError(f"{game.name} has no afterstate agent; games that have one: {able}")
    afterstates: Afterstates = import_module(module).Afterstates(game)
    return afterstates


class AfterstateAgent:
    """An agent that plays each turn exactly, by the values that its network gives to the positions after the turn.

    Args:
        game: the game that it plays.
        network: a network that reads the features of the game's `Afterstates`.
        name: its name in results.

    Attributes:
        action_values: as in `trialea.envs.agent.ActionValues`: the mover's expected share of the win if this agent
            plays on. There is no such attribute in games whose turns are solved without valuing single actions.
    """

    deterministic = True
    action_values: Callable[[States], NDArray[np.float64]]

    def __init__(self, game: Game, network: Network, name: str = KIND) -> None:
        self.name = name
        self.game = game
        self._network = network
        self._player = make_afterstates(game).player(Values(network))
        if isinstance(self._player, ActionValues):
            self.action_values = self._player.action_values

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.game, self._network, self.name)

    @classmethod
    def load(cls, path: str | Path, game: Game) -> AfterstateAgent:
        """Return the agent in a run folder or model file, checked to be for `game`.

        Raises:
            ModelFileError: there is no model at `path`, it is damaged, or it is for another game or number of players.
        """
        network = read_network(find_model(path), game)
        return cls(game, network.requires_grad_(False), name=name_of(path))

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        return self._player.act(states)


def make_network(game: Game, hidden: Sequence[int]) -> Network:
    """Return an untrained network for `game`. Its weights are drawn from torch's global generator."""
    return Network(make_afterstates(game).num_features, game.num_players, hidden)


def read_network(file: Path, game: Game) -> Network:
    """Return the network in a model file, checked to be for `game`. No code in the file is run.

    Raises:
        ModelFileError: the file is damaged, or for another game, number of players or options.
    """
    with readable(file):
        with zipfile.ZipFile(file) as archive:
            facts, weights = read_facts(archive), load_weights(read_member(archive, WEIGHTS, MOST_WEIGHTS))
        check_description(file, facts["description"], game)
        hidden = facts["hidden"]
        layers = hidden if isinstance(hidden, list) else []
        if not 1 <= len(layers) <= len(weights) or not all(type(width) is int and width > 0 for width in layers):
            raise ValueError(f"its {FACTS} must give the units of each hidden layer, at least 1")
        with torch.device("meta"):  # no memory for weights until their shapes are known to be right
            network = make_network(game, layers)
        network.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    return network


def save_network(network: Network, file: Path, game: Game) -> None:
    """Write the weights and their metadata, whole or not at all."""
    content = io.BytesIO()
    torch.save(network.state_dict(), content)
    facts = {"format": FORMAT, "kind": KIND, "description": game.description(), "hidden": network.hidden}
    with atomic_path(file) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(WEIGHTS, content.getvalue())
        archive.writestr(FACTS, json.dumps(facts))
