"""The opponents of a learner: fixed agents and its own past selves, drawn by weights and priorities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from trialea.agents.model import legal_scores, sampled
from trialea.envs.agent import AgentLike
from trialea.envs.game import Game, States
from trialea.envs.learner import LearnerBatch, Seat
from trialea.envs.opponents import Opponents
from trialea.envs.padding import ObservationPadder

PAST = "past"
FORGETTING = 0.01  # weight of the newest game in the learner's rate against a past self

Priority = Literal["uniform", "recent", "hard"]


class PastSelf:
    """An agent that samples from the policy of the snapshot in its slot of the pool.

    Args:
        crowd: the past selves in all slots.
        slot: the number of its slot.
    """

    name = PAST

    def __init__(self, crowd: PastSelves, slot: int) -> None:
        self.crowd = crowd
        self.game = crowd.game
        self._slot = slot

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        return self.crowd.act(states, np.full(len(states), self._slot))


class PastSelves:
    """The past selves in all slots. They act together: observe once, then run one forward pass for each slot.

    Args:
        game: the game.
        seats: the number of seats that observations are padded to, see `trialea.envs.padding.ObservationPadder`.
        networks: the snapshots by slot, a list that the league changes.
        seed: the seed of their draws, besides the game's seed.
    """

    def __init__(self, game: Game, seats: int | None, networks: Sequence[nn.Sequential], seed: int) -> None:
        self.game = game
        self._view = ObservationPadder(game, seats)
        self._networks = networks
        self._seed = np.uint64(seed)

    def act(self, states: States, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states, by the past selves in the slots `members` (B,)."""

        def scores(observations: torch.Tensor) -> torch.Tensor:
            out = torch.empty(len(observations), self.game.num_actions)
            for slot in np.unique(members):
                rows = torch.from_numpy(np.flatnonzero(members == slot))
                out[rows] = self._networks[slot](observations[rows])
            return out

        return sampled(legal_scores(scores, self._view, states), self.game, states, self._seed)


@dataclass
class _Table:
    """A batch of games, with the number of seats that its observations are padded to."""

    games: LearnerBatch
    seats: int | None


class League:
    """The opponents of a learner: fixed agents, and a pool of snapshots of the learner's policy.

    Each seat's opponent is drawn for each game: its kind by the weights, and a past self by the priority:

    - `"uniform"`: all are equally likely;
    - `"recent"`: the newest of k has weight k, the next k - 1, and so on;
    - `"hard"`: the weight is (1 - w)², where w is the learner's rate of finishing ahead of it, a running mean over the
      run's games that starts at 1/2 (prioritised fictitious self-play, Vinyals et al. 2019).

    Once all slots are full, each new snapshot replaces the oldest. A game in progress continues against the new one.

    Args:
        shares: the weight of each kind of opponent; `"past"` stands for the past selves.
        slots: the number of snapshots that are kept.
        priority: how past selves are drawn, as above.
        seed: the seed of the past selves' draws, besides each game's seed.

    Attributes:
        networks: the snapshots, by slot.
        numbers: (slots,) the number of the snapshot in each slot, counted over the run from 0; -1 if the slot is empty.
        rates: (slots,) the learner's rate against each.
    """

    def __init__(self, shares: Mapping[str, float], slots: int, priority: Priority, seed: int) -> None:
        largest = max(shares.values())  # sums of shares up to 1 stay finite
        self._shares = {name: share / largest for name, share in shares.items() if share}
        self._slots = slots if PAST in self._shares else 0
        self._priority = priority
        self._seed = seed
        self._first = list(self._shares).index(PAST) if self._slots else 0  # place of slot 0 among the opponents
        self._tables: list[_Table] = []
        self.networks: list[nn.Sequential] = []
        self.numbers = np.full(self._slots, -1)
        self.rates = np.full(self._slots, 0.5)

    def new_batch(self, game: Game, seats: int | None, count: int, place: Seat) -> LearnerBatch:
        """Return `count` new games of a learner at `place` against the league, with observations padded to `seats`."""
        games = LearnerBatch(game, count, self._opponents(game, seats), place, "win")
        self._tables.append(_Table(games, seats))
        return games

    def play(self, games: Sequence[Game]) -> None:
        """Switch to these games, one for each batch: the same game with other options."""
        for table, game in zip(self._tables, games, strict=True):
            table.games.game = game
            table.games.opponents = Opponents(self._opponents(game, table.seats), game)
        self.weigh()

    def _opponents(self, game: Game, seats: int | None) -> dict[AgentLike, float]:
        """Return all opponents with their weights. At first slot 0 has the past selves' whole weight."""
        opponents: dict[AgentLike, float] = {}
        for name, share in self._shares.items():
            if name == PAST:
                crowd = PastSelves(game, seats, self.networks, self._seed)
                opponents |= {PastSelf(crowd, slot): share * (slot == 0) for slot in range(self._slots)}
            else:
                opponents[name] = share
        return opponents

    def add(self, network: nn.Sequential) -> None:
        """Add a frozen snapshot of the learner's network to the pool."""
        if not self._slots:
            return
        number = int(self.numbers.max()) + 1
        slot = number % self._slots
        self.networks[slot : slot + 1] = [network]
        self.numbers[slot], self.rates[slot] = number, 0.5
        self.weigh()

    def weigh(self) -> None:
        """Draw past selves by their present weights in games that start from now on."""
        if not len(self.networks):
            return
        weights = self.weights() * self._shares[PAST]
        for table in self._tables:
            assert table.games.opponents.weights is not None
            table.games.opponents.weights[self._first : self._first + self._slots] = weights

    def weights(self) -> NDArray[np.float64]:
        """Return the probability of each slot (slots,) in the games against past selves."""
        there = self.numbers >= 0
        if self._priority == "recent":
            weights = np.where(there, self.numbers - self.numbers[there].min() + 1.0, 0.0)
        elif self._priority == "hard":
            weights = np.where(there, (1.0 - self.rates) ** 2, 0.0)
        else:
            weights = there.astype(float)
        if not weights.any():
            weights = there.astype(float)
        parts: NDArray[np.float64] = weights / weights.sum()
        return parts

    def note(self, games: LearnerBatch, index: NDArray[np.int64]) -> None:
        """Update the rates from the games picked by `index`, which have just ended for the learner."""
        if not self._slots:
            return
        states, own = games.states[index].view(np.recarray), games.seats[index][:, None]
        slots = games.agent_of[index] - self._first
        shares = states.share[:, : slots.shape[1]]
        # If an opponent is still in the game when the learner is out, it is ahead of the learner.
        ahead = np.where(
            states.over[:, None] != 0,
            (np.sign(np.take_along_axis(shares, own, 1) - shares) + 1) / 2,
            states.finished[:, : slots.shape[1]] != 0,
        )
        met = (slots >= 0) & (slots < self._slots) & (np.arange(slots.shape[1]) != own)
        count = np.bincount(slots[met], minlength=self._slots)
        mean = np.bincount(slots[met], ahead[met], self._slots) / np.maximum(count, 1)
        self.rates += (1.0 - (1.0 - FORGETTING) ** count) * (mean - self.rates)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return the state of the draws, without the networks, as arrays."""
        return {"numbers": self.numbers.copy(), "rates": self.rates.copy()}

    def restore(self, networks: Sequence[nn.Sequential], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the pool that `snapshot` described."""
        self.networks[:] = networks
        self.numbers, self.rates = arrays["numbers"].copy(), arrays["rates"].copy()
        self.weigh()
