"""Train an afterstate agent by TD(λ) in self-play, as a configuration says.

A batch of games is played to the end by the network as it stands, which the dice make explore. Every position between
turns is then taught the λ-return of its game (Sutton and Barto, Reinforcement Learning, chapter 12), every seat's share
of the win, in which the luck of the dice is left out. With V the network's value of a position and T the value that it
has if the turn that follows is played for V, which the turn's solution gives without a throw,

    return of position t = V_t + sum over k >= t of λ^(k - t) (T_k - V_k).

Where T is exact, that has the expectation that the usual λ-return has, which takes V of the position that the dice led
to, and at the end the result, in the place of T; but the dice no longer blur it. With λ = 0 it is value iteration.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from trialea.agents.afterstate import (
    AfterstateAgent,
    Afterstates,
    Player,
    Values,
    make_afterstates,
    make_network,
    read_network,
    save_network,
)
from trialea.agents.model_file import MODEL
from trialea.envs.game import Game
from trialea.training.config import AfterstateConfig
from trialea.training.run_folder import new_checkpoint, readable_checkpoint, save_tensors

TINY = 1e-9  # the share of all others is taken for no smaller, to divide by it
OPTIMIZER = "optimizer.pth"
STATE = "state.npz"


class Played(NamedTuple):
    """The N positions between turns of some games, in the order in which they were met.

    Attributes:
        features: (N, D) float32.
        games: (N,) int64, the game of each.
        movers: (N,) int64, the player to move next.
        worths: (N,) float64, its share of the win as it expects it before its first throw.
        decisions: how many were taken.
    """

    features: NDArray[np.float32]
    games: NDArray[np.int64]
    movers: NDArray[np.int64]
    worths: NDArray[np.float64]
    decisions: int


def play(game: Game, afterstates: Afterstates, player: Player, seeds: NDArray[np.uint64]) -> Played:
    """Play games with these seeds (B,) to their end, `player` in all seats."""
    states = game.start(seeds)
    features, games, movers, worths = [], [], [], []
    while len(going := np.flatnonzero(states.over == 0)):
        actions, worth = player.decide(states[going].view(np.recarray))
        begun = np.flatnonzero(~np.isnan(worth))
        fresh = states[going[begun]].view(np.recarray)
        features.append(afterstates.features(fresh))
        games.append(going[begun])
        movers.append(game.movers(fresh))
        worths.append(worth[begun])
        game.step(states, actions, going)
    return Played(
        np.concatenate(features),
        np.concatenate(games),
        np.concatenate(movers),
        np.concatenate(worths),
        int(states.decisions.sum()),
    )


def lambda_returns(played: Played, values: NDArray[np.float64], td_lambda: float) -> NDArray[np.float64]:
    """What each position is to be taught, (N, n), in seat order from the player to move next.

    Args:
        played: the positions.
        values: (N, n), what the network says of them, in the same order.
        td_lambda: from 0 to 1.
    """
    count, players = values.shape
    seats = (played.movers[:, None] + np.arange(players)) % players
    expected = values.copy()
    expected[:, 0] = played.worths
    # What the mover's turn makes of the others' shares is not known but for their sum.
    others = values[:, 1:]
    expected[:, 1:] = others * ((1.0 - played.worths) / np.maximum(others.sum(axis=1), TINY))[:, None]
    errors = np.empty_like(values)
    np.put_along_axis(errors, seats, expected - values, axis=1)  # by seat
    ahead = np.zeros((played.games.max() + 1, players))  # of each game: the sum from the next position on
    sums = np.empty_like(values)
    order = np.argsort(played.games, kind="stable")
    places = np.arange(count) - np.searchsorted(played.games[order], played.games[order])
    for place in range(places.max(), -1, -1):
        here = order[places == place]
        games = played.games[here]
        sums[here] = ahead[games] = errors[here] + td_lambda * ahead[games]
    returns = np.clip(values + np.take_along_axis(sums, seats, axis=1), 0.0, 1.0)
    taught: NDArray[np.float64] = returns / returns.sum(axis=1, keepdims=True)
    return taught


class Learner:
    """A network that learns from playing against itself.

    Attributes:
        network: the network.
        games, frames: games played and decisions taken so far.
        unit, total: what the run is long in, and how long.
        stopping: set to stop the run after its batch.
    """

    unit = "games"

    def __init__(self, config: AfterstateConfig) -> None:
        torch.set_num_threads(config.threads)
        torch.manual_seed(config.seed)
        self._config = config
        self._game = config.make_game()
        self._afterstates = make_afterstates(self._game)
        self.network = make_network(self._game, config.hidden)
        self._optimizer = torch.optim.Adam(self.network.parameters())
        self._player = self._afterstates.player(Values(self.network))
        self.games = self.frames = 0
        self.total = config.games
        self.stopping = False

    @property
    def done(self) -> int:
        """How much of `total` is over."""
        return self.games

    def learn(self) -> None:
        """Play a batch of games and learn from it."""
        config = self._config
        rng = np.random.default_rng([config.seed, self.games])
        count = min(config.batch, config.games - self.games)
        seeds = rng.integers(2**63, size=count, dtype=np.uint64)
        played = play(self._game, self._afterstates, self._player, seeds)
        values = Values(self.network).shares(played.features)
        taught = lambda_returns(played, values, config.td_lambda)
        features, targets = torch.from_numpy(played.features), torch.from_numpy(taught.astype(np.float32))
        for group in self._optimizer.param_groups:
            group["lr"] = config.learning_rate.at(self.games / config.games)
        for _ in range(config.epochs):
            for part in torch.split(torch.from_numpy(rng.permutation(len(features))), config.batch_size):
                loss = torch.nn.functional.cross_entropy(self.network(features[part]), targets[part])
                self._optimizer.zero_grad()
                torch.autograd.backward(loss)
                self._optimizer.step()
        self.games += count
        self.frames += played.decisions

    def agent(self) -> AfterstateAgent:
        """The agent that the network as it stands makes."""
        return AfterstateAgent(self._game, self.network, "learner")

    def save_model(self, file: Path) -> None:
        """Write the network as it stands, whole or not at all."""
        save_network(self.network, file, self._game)

    def save(self, target: Path, seconds: float) -> None:
        """Save a run that stands between two batches, with the seconds it has taken."""
        if target.exists():
            return
        with new_checkpoint(target) as folder:
            self.save_model(folder / MODEL)
            save_tensors(self._optimizer.state_dict(), folder / OPTIMIZER)
            np.savez(folder / STATE, games=self.games, frames=self.frames, seconds=seconds)

    def restore(self, folder: Path) -> float:
        """Put the run back where `save` found it; returns the seconds it had taken. No code is read."""
        with readable_checkpoint(folder):
            self.network.load_state_dict(read_network(folder / MODEL, self._game).state_dict())
            self._optimizer.load_state_dict(torch.load(folder / OPTIMIZER, weights_only=True))
            with (folder / STATE).open("rb") as file, np.load(file, allow_pickle=False) as stored:
                self.games, self.frames, seconds = int(stored["games"]), int(stored["frames"]), stored["seconds"]
        return float(seconds)
