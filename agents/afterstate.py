"""Agents that value positions between turns by a network, and play each turn exactly for these values.

A turn of a dice game can be solved exactly once it is known what each position after it is worth. An *afterstate agent*
takes that from a small network, trained in self-play (`trialea.training.afterstate`): the way of TD-Gammon (Tesauro,
1995), where an afterstate (Sutton and Barto, Reinforcement Learning, section 6.8) is what a whole turn leads to.

A game takes part through the module that its registry entry names as `afterstates`, which has a class `Afterstates`.
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

from trialea.agents.model import (
    FACTS,
    FORMAT,
    check_description,
    load_weights,
    model_file,
    name_of,
    read_facts,
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
    """From a position between turns to the logits of every seat's share of the win.

    Seats are in the order of the turns, from the player to move next. The first numbers of a position are the game's
    own estimate of these logits, 0 where it has none. The network adds to what is linear in all numbers, which starts
    as that estimate, what layers of rectified units make of them, which starts as 0.

    Args:
        inputs: how many numbers describe a position.
        players: how many seats.
        hidden: how many units each hidden layer has, one layer at least.
    """

    def __init__(self, inputs: int, players: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.inputs, self.players, self.hidden = inputs, players, tuple(hidden)
        # One product for what is linear in the numbers, in the first columns, and for the first hidden layer.
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
        """Logits (B, n) from positions (B, D) float32, some of whose `columns` are moved by `moves` (B, C)."""
        found = self.first(features)
        if moves is not None:
            found = found + moves @ self.first.weight[:, columns].T
        logits: torch.Tensor = found[:, : self.players] + self.rest(found[:, self.players :])
        return logits


class Values:
    """What a network makes of positions between turns, (N, D) float32 each."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def shares(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Every seat's share of the win, (N, n), from the player to move next; rows sum to 1."""
        with torch.inference_mode():
            shares: NDArray[np.float64] = torch.softmax(self._network(torch.from_numpy(features)).double(), 1).numpy()
        return shares

    def log_odds(
        self, features: NDArray[np.float32], place: int, columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The log-odds (N,) of one player's share, by its place in the order, and their derivatives.

        Derivatives are (N, C), by the numbers in these `columns` (C,) of the positions.
        """
        moves = torch.zeros(len(features), len(columns), requires_grad=True)
        logits = self._network(torch.from_numpy(features), moves, torch.from_numpy(columns))
        others = torch.cat([logits[:, :place], logits[:, place + 1 :]], dim=1)
        odds = logits[:, place] - torch.logsumexp(others, dim=1)
        (derivatives,) = torch.autograd.grad(odds.sum(), moves)
        return odds.detach().numpy(), derivatives.numpy()


class Player(Protocol):
    """Whoever plays turns."""

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        ...

    def decide(self, states: States) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The same, and (B,) the mover's expected share of the win before the first throw of its turn.

        The latter is needed where the first throw of a turn lies, and may be NaN elsewhere.
        """
        ...


class Afterstates(Protocol):
    """What a game must say of its positions between turns; made as `Afterstates(game)`.

    Attributes:
        num_features: D, how many numbers describe a position.
    """

    num_features: int

    def features(self, states: States) -> NDArray[np.float32]:
        """The positions in which the turns of (B,) states began, as numbers (B, D); see `Network` for the first n."""
        ...

    def player(self, values: Values) -> Player:
        """Whoever plays its turns to the best of these values."""
        ...


def make_afterstates(game: Game) -> Afterstates:
    """The positions between turns of `game`.

    Raises:
        OptionError: turns of this game are not solved for given values of the positions between them.
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
        network: a network over what the game's `Afterstates` shows.
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
        """The agent in a run folder or model file, checked to be for `game`.

        Raises:
            ModelFileError: no model lies there, it is damaged, or it is for another game or number of players.
        """
        network = read_network(model_file(Path(path)), game)
        return cls(game, network.requires_grad_(False), name=name_of(path))

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        return self._player.act(states)


def make_network(game: Game, hidden: Sequence[int]) -> Network:
    """An untrained network for `game`, drawn from torch's global generator."""
    return Network(make_afterstates(game).num_features, game.num_players, hidden)


def read_network(file: Path, game: Game) -> Network:
    """The network in a model file, checked to be for `game`; no code is read.

    Raises:
        ModelFileError: it is damaged, or for another game, number of players or options.
    """
    with readable(file):
        with zipfile.ZipFile(file) as archive:
            facts, content = read_facts(archive), archive.read(WEIGHTS)
        check_description(file, facts["description"], game)
        network = make_network(game, facts["hidden"])
        network.load_state_dict(load_weights(content))
    return network


def save_network(network: Network, file: Path, game: Game) -> None:
    """Write the weights, with what they are for, whole or not at all."""
    content = io.BytesIO()
    torch.save(network.state_dict(), content)
    facts = {"format": FORMAT, "kind": KIND, "description": game.description(), "hidden": network.hidden}
    with atomic_path(file) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(WEIGHTS, content.getvalue())
        archive.writestr(FACTS, json.dumps(facts))
