"""Afterstates of No Dice: positions between turns as numbers for a network, and turns played by its values.

See `trialea.agents.afterstate`. A position is the total of each player, in the order of turns from the player to move
next. For each player the network reads whether the player is in, and the total. The total is given by weights on up to
41 points between 0 and the target: only the two points next to it have a weight. So a linear function of the weights
can be any function of the total. The game's own estimate is that a player who is out does not win.

A turn leads to at most as many positions as there are scores. All of them are valued, and the turn is solved for these
values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.agents.afterstate import Values
from trialea.agents.no_dice.play import look_up, play
from trialea.agents.no_dice.turn import LANES, NUM_SCORES, Turn, make_turn
from trialea.envs.game import Game, States
from trialea.envs.jit import plain

OUT = -10.0  # the logit of a player who is out
MOST_POINTS = 41


def fill_policies(
    payoffs: NDArray[np.float64], turn: Turn, policies: NDArray[np.uint8], worths: NDArray[np.float64]
) -> None:
    """Fill what is done with each throw, and what turns are worth.

    Args:
        payoffs: (N, NUM_SCORES), what each score pays in N turns.
        turn: the tables.
        policies: (N, throws, K) uint8, out: the choices, see `trialea.agents.no_dice.play`.
        worths: (N,), out.
    """
    count, throws, kinds = policies.shape
    rows = np.empty((throws + 1, turn.lattice.num_patterns, LANES))
    choices = np.empty((throws, kinds, LANES), np.uint8)
    for low in range(0, count, LANES):
        high = min(low + LANES, count)
        lanes = np.arange(low, low + LANES).clip(max=count - 1)
        play(np.ascontiguousarray(payoffs[lanes].T), turn, rows, choices)
        policies[low:high] = choices.transpose(2, 0, 1)[: high - low]
        worths[low:high] = rows[throws, -1, : high - low]


class Afterstates:
    """The positions between turns of a game, see `trialea.agents.afterstate.Afterstates`."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._points = np.linspace(0.0, game.options.target, min(MOST_POINTS, game.options.target + 1))
        self.num_features = game.num_players * (2 + len(self._points))

    def features(self, states: States) -> NDArray[np.float32]:
        """Return features (B, D) of the positions in which the turns of (B,) states began."""
        return self.describe(self.totals(states))

    def totals(self, states: States) -> NDArray[np.int64]:
        """Return the totals (B, n) from the player to move on; the target for players who are out."""
        players = self._game.num_players
        seats = (self._game.movers(states)[:, None] + np.arange(players)) % players
        totals = np.where(states.finished[:, :players] != 0, self._game.options.target, states.scores[:, :players])
        turned: NDArray[np.int64] = np.take_along_axis(totals, seats, axis=1).astype(np.int64)
        return turned

    def describe(self, totals: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return features (B, D) of positions with these `totals` (B, n)."""
        is_in = totals < self._game.options.target
        near = 1.0 - abs(totals[:, :, None] - self._points) / self._points[1]
        parts = [
            np.where(is_in, 0.0, OUT),
            is_in,
            np.maximum(near, 0.0).reshape(len(totals), totals.shape[1] * len(self._points)),
        ]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def payoffs(self, totals: NDArray[np.int64], values: Values) -> NDArray[np.float64]:
        """Return the value of each score of a turn to the mover, (B, NUM_SCORES), at these totals (B, n)."""
        count, players = totals.shape
        after = np.repeat(totals[:, None], NUM_SCORES, axis=1)
        after[:, :, 0] += np.arange(NUM_SCORES)
        after = after.reshape(-1, players)
        still = np.flatnonzero(after[:, 0] < self._game.options.target)
        after = after[still]
        following = 1 + np.argmax(after[:, 1:] < self._game.options.target, axis=1)  # the player to move next
        places = (following[:, None] + np.arange(players)) % players
        shares = values.shares(self.describe(np.take_along_axis(after, places, axis=1)))
        found = np.zeros(count * NUM_SCORES)  # a player who is out has lost
        found[still] = shares[np.arange(len(still)), players - following]
        return found.reshape(count, NUM_SCORES)

    def player(self, values: Values) -> AfterstatePlayer:
        """Return a player that plays each turn exactly for these values."""
        return AfterstatePlayer(self._game, self, values)


class AfterstatePlayer:
    """A player of turns, exact for a network's values of the positions after them.

    `trialea.agents.no_dice.play` has the rule for ties.
    """

    def __init__(self, game: Game, afterstates: Afterstates, values: Values) -> None:
        self._game = game
        self._afterstates = afterstates
        self._values = values
        self._turn = make_turn(game.options.intermediates)

    def act(self, states: States) -> NDArray[np.int64]:
        """Return a legal action (B,) for each of the (B,) states."""
        return self.decide(states)[0]

    def decide(self, states: States) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return legal actions (B,), and the mover's share of the win (B,) before the first throw of its turn.

        The share is exact. It is NaN in states after a later throw.
        """
        turn, throws = self._turn, self._game.options.throws
        totals, which = np.unique(self._afterstates.totals(states), axis=0, return_inverse=True)
        which = which.reshape(-1)
        policies, worths = np.empty((len(totals), throws, len(turn.full)), np.uint8), np.empty(len(totals))
        fill_policies(self._afterstates.payoffs(totals, self._values), turn, policies, worths)
        actions = np.empty(len(states), np.int64)
        look_up(plain(states), policies, which, turn, throws, actions)
        return actions, np.where(states.throws == 1, worths[which], np.nan)
