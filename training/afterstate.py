"""Train an afterstate agent by TD(λ) in self-play.

The present network plays a batch of games to the end; the dice take care of exploration. Then the network learns the
λ-return of every position between turns: each seat's share of the win (Sutton and Barto, Reinforcement Learning,
chapter 12). Let V be the network's value of a position. Let T be the position's value if the next turn is played
optimally for V; the solution of the turn gives T without throwing any dice. Then

    return of position t = V_t + sum over k >= t of λ^(k - t) (T_k - V_k).

In the place of T, the usual λ-return has the value of the position that the dice led to, or the result at the end. If
T is exact, both have the same expectation, but this one has less variance. With λ = 0 it is value iteration.
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

TINY = 1e-9  # least share of all others, so that it can be divided by
OPTIMIZER = "optimizer.pth"
STATE = "state.npz"


class Played(NamedTuple):
    """The N positions between turns of a batch of games, in the order of play.

    Attributes:
        features: (N, D) float32, the positions as numbers.
        games: (N,) int64, the number of each position's game.
        movers: (N,) int64, the player to move next.
        worths: (N,) float64, the mover's expected share of the win before its first throw.
        decisions: the number of decisions in all games.
    """

    features: NDArray[np.float32]
    games: NDArray[np.int64]
    movers: NDArray[np.int64]
    worths: NDArray[np.float64]
    decisions: int


def play(game: Game, afterstates: Afterstates, player: Player, seeds: NDArray[np.uint64]) -> Played:
    """Play games with these seeds (B,) to the end, with `player` in all seats."""
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
    """Return the targets of the positions, (N, n): each seat's share of the win, from the player to move next.

    Args:
        played: the positions.
        values: (N, n), the network's values of them, in the same order of seats.
        td_lambda: λ, from 0 to 1.
    """
    count, players = values.shape
    seats = (played.movers[:, None] + np.arange(players)) % players
    expected = values.copy()
    expected[:, 0] = played.worths
    # Of the others' shares after the mover's turn only the sum is known.
    others = values[:, 1:]
    expected[:, 1:] = others * ((1.0 - played.worths) / np.maximum(others.sum(axis=1), TINY))[:, None]
    errors = np.empty_like(values)
    np.put_along_axis(errors, seats, expected - values, axis=1)  # by seat
    ahead = np.zeros((played.games.max() + 1, players))  # for each game, the sum from the next position on
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
    """A network that learns by playing against itself.

    Attributes:
        network: the network.
        games, frames: games played and decisions taken so far.
        unit, total: the unit of the run's length, and its length.
        stopping: set it to stop the run after the present batch.
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
        """The finished part of `total`, in the same unit."""
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
        """Return an agent that plays with the present network."""
        return AfterstateAgent(self._game, self.network, "learner")

    def save_model(self, file: Path) -> None:
        """Write the present network, whole or not at all."""
        save_network(self.network, file, self._game)

    def save(self, target: Path, seconds: float) -> None:
        """Save the run between two batches, with its duration so far in seconds."""
        if target.exists():
            return
        with new_checkpoint(target) as folder:
            self.save_model(folder / MODEL)
            save_tensors(self._optimizer.state_dict(), folder / OPTIMIZER)
            np.savez(folder / STATE, games=self.games, frames=self.frames, seconds=seconds)

    def restore(self, folder: Path) -> float:
        """Restore a run from the files of `save` and return its duration in seconds. No code is loaded."""
        with readable_checkpoint(folder):
            self.network.load_state_dict(read_network(folder / MODEL, self._game).state_dict())
            self._optimizer.load_state_dict(torch.load(folder / OPTIMIZER, weights_only=True))
            with (folder / STATE).open("rb") as file, np.load(file, allow_pickle=False) as stored:
                self.games, self.frames, seconds = int(stored["games"]), int(stored["frames"]), stored["seconds"]
        return float(seconds)
