"""Afterstates of Poker Figures: positions between turns as numbers for a network, and turns played by its values.

See `trialea.agents.afterstate`. In a game of n, the features are these, in seat order from the player to move next:

| number | feature |
| --- | --- |
| n | the reference agent's expected totals, less that of the player to move next, by the scale of its logistic rule |
| 5 | the turns that are left, at several scales |
| 1 | the logarithm of the scale |
| 8, 8 | the rows that are closed; the probability that each is closed before the end |
| 64 for each player | for each row: the cells filled (six switches); points times multiplier; the expected total |

A turn is solved for log-odds that are linear in the points that it writes (`trialea.agents.poker_figures.search`). So
the network is asked once for each filling that a turn may lead to, with typical points in its cells. Its gradient gives
the slopes. Positions that end the game have their exact result instead. A change of the features needs new networks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.afterstate import Values
from trialea.agents.poker_figures.estimate import assess, expect, fill, make_model, make_work, read_sheets
from trialea.agents.poker_figures.search import FILLINGS
from trialea.agents.poker_figures.turn_player import TurnPlayer
from trialea.envs.game import Game, States
from trialea.envs.jit import entry, kernel, plain
from trialea.envs.loops import MAX_PLAYERS
from trialea.envs.poker_figures.rules import NUM_COLUMNS, NUM_ROWS

SPANS = np.array([2.0, 5.0, 12.0, 25.0, 60.0])  # turns left are shown as shares of these, at most 1
MOST = 10.0  # what the estimate's logits are cut off at, which leaves a share of 1 in 20,000
WORTH = 100.0  # points of a row for a 1
SWITCHES = NUM_COLUMNS + 1
PER_PLAYER = NUM_ROWS * (SWITCHES + 2)


def num_features(players: int) -> int:
    """Return the number of features of a position."""
    return players + len(SPANS) + 1 + 2 * NUM_ROWS + PER_PLAYER * players


@kernel
def _first_of(player: Any, players: Any) -> Any:
    """Return where the features of a player begin, counted from the player to move next."""
    return players + len(SPANS) + 1 + 2 * NUM_ROWS + PER_PLAYER * player


@kernel
def describe(cells: Any, sums: Any, players: Any, left: Any, model: Any, scale: Any, work: Any, out: Any) -> None:
    """Write the features of a position between turns.

    Args:
        cells, sums: of every player from the one whose turn has ended, as `expect` takes them.
        players: the number of players.
        left: how many turns are left, on average over the players.
        model, scale, work: what `expect` took, gave and left there.
        out: (D,) float32.
    """
    _, _, totals, chances, parts = work
    for player in range(players):
        place = player - 1 if player else players - 1
        ahead = (totals[player] - totals[1]) / scale
        out[place] = min(MOST, max(-MOST, ahead))
        first = _first_of(place, players)
        for row in range(NUM_ROWS):
            for filled in range(SWITCHES):
                out[first + SWITCHES * row + filled] = cells[player, row] == filled
            out[first + SWITCHES * NUM_ROWS + row] = model.multipliers[row] * sums[player, row] / WORTH
            out[first + (SWITCHES + 1) * NUM_ROWS + row] = parts[player, row] / WORTH
    for k in range(len(SPANS)):
        out[players + k] = min(1.0, left / SPANS[k])
    out[players + len(SPANS)] = np.log(scale)
    rows = out[players + len(SPANS) + 1 :]
    for row in range(NUM_ROWS):
        closed = False
        for player in range(players):
            closed |= cells[player, row] == model.columns
        rows[row], rows[NUM_ROWS + row] = closed, chances[row]


@kernel
def _turns_left(state: Any, max_turns: Any) -> Any:
    """Return how many turns each player still has, on average, the current one included."""
    left = 0.0
    for seat in range(state.num_players):
        left += max_turns - state.turns[seat]
    return left / state.num_players


@entry
def describe_all(states: Any, max_turns: Any, model: Any, out: Any) -> None:
    """Return features (B, D) of the positions in which the turns of the (B,) states began."""
    cells, sums = np.empty((MAX_PLAYERS, NUM_ROWS), np.int64), np.empty((MAX_PLAYERS, NUM_ROWS))
    work, slopes = make_work(), np.empty(NUM_ROWS)
    for i in range(len(states)):
        state = states[i]
        players = np.int64(state.num_players)
        seat = np.int64(state.mover) - 1 if state.mover else players - 1
        left = read_sheets(state, seat, max_turns, cells, sums)
        _, scale = expect(cells, sums, players, left, model, work, slopes)
        describe(cells, sums, players, _turns_left(state, max_turns), model, scale, work, out[i])


@entry
def gather(
    states: Any,
    throws: Any,
    writable: Any,
    max_turns: Any,
    fillings: Any,
    model: Any,
    odds: Any,
    slopes: Any,
    over: Any,
    which: Any,
    features: Any,
    scales: Any,
) -> Any:
    """Describe the positions that the rest of the movers' turns may lead to, and finish those that end the game.

    Args:
        states, throws, writable, max_turns, fillings, model, odds, slopes, over: as in `leaf.assess_all`. In positions
            that do not end the game, `slopes` is what each point more adds to the mover's expected total.
        which: (N, 2) int64, out: the state and the filling of each description.
        features: (N, D) float32, out: with cells of the points that they hold as a rule.
        scales: (N,), out: those by which totals become a share of the win.

    Returns:
        The number of descriptions; N must be enough for all.
    """
    cells, sums = np.empty((MAX_PLAYERS, NUM_ROWS), np.int64), np.empty((MAX_PLAYERS, NUM_ROWS))
    work, nothing = make_work(), np.zeros(model.points.shape)
    count = 0
    for i in range(len(states)):
        state = states[i]
        players = np.int64(state.num_players)
        left = read_sheets(state, np.int64(state.mover), max_turns, cells, sums)
        turns_left = _turns_left(state, max_turns) - 1.0 / players
        for number in range(len(fillings)):
            filling, slope = fillings[number], slopes[i, number]
            if not fill(state, filling, throws, writable[i], model.points, model, cells, sums):
                continue
            over[i, number], scale = expect(cells, sums, players, left, model, work, slope)
            if over[i, number] or left <= 0:
                fill(state, filling, throws, writable[i], nothing, model, cells, sums)
                odds[i, number] = assess(cells, sums, players, left, model, work, slope)[1]
            else:
                describe(cells, sums, players, turns_left, model, scale, work, features[count])
                which[count, 0], which[count, 1], scales[count] = i, number, scale
                count += 1
    return count


@entry
def spread(
    states: Any,
    fillings: Any,
    model: Any,
    which: Any,
    features: Any,
    scales: Any,
    values: Any,
    derivatives: Any,
    odds: Any,
    slopes: Any,
) -> None:
    """Take the log-odds `values` (N,) of the positions from `gather` as odds, and their `derivatives` (N, C) as slopes.

    The columns C are those of `_moving`.
    """
    for n in range(len(values)):
        i, number = which[n]
        state = states[i]
        last = np.int64(state.num_players) - 1
        inside = abs(features[n, last]) < MOST
        derivative, slope = derivatives[n], slopes[i, number]
        for row in range(NUM_ROWS):
            rate = inside * derivative[0] / scales[n] + derivative[1 + NUM_ROWS + row] / WORTH
            slope[row] = slope[row] * rate + derivative[1 + row] * model.multipliers[row] / WORTH
        odds[i, number] = values[n]
        for k in range(3):
            row = fillings[number, k]
            if row >= 0:
                cell = state.cells[state.mover, row]
                for earlier in range(k):
                    cell += fillings[number, earlier] == row
                odds[i, number] -= slope[row] * model.points[row, cell]


def _moving(players: int) -> NDArray[np.int64]:
    """Return the features that change with the points that the mover writes: those of the last player in the order."""
    first = int(_first_of(players - 1, players)) + SWITCHES * NUM_ROWS
    return np.array([players - 1, *range(first, first + 2 * NUM_ROWS)])


class Afterstates:
    """The positions between turns of a game, see `trialea.agents.afterstate.Afterstates`."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._model = make_model(game)
        self._moving = _moving(game.num_players)
        self.num_features = num_features(game.num_players)

    def features(self, states: States) -> NDArray[np.float32]:
        """Return features (B, D) of the positions in which the turns of (B,) states began."""
        out = np.empty((len(states), self.num_features), np.float32)
        describe_all(plain(states), self._game.tables.max_turns, self._model, out)
        return out

    def player(self, values: Values) -> TurnPlayer:
        """Return a player that plays each turn exactly for these values."""

        def leaf(
            states: Any,
            throws: int,
            writable: NDArray[np.int64],
            odds: NDArray[Any],
            slopes: NDArray[Any],
            over: NDArray[Any],
        ) -> None:
            most = len(states) * len(FILLINGS)
            which, scales = np.empty((most, 2), np.int64), np.empty(most)
            features = np.empty((most, self.num_features), np.float32)
            asked = states, throws, writable, self._game.tables.max_turns, FILLINGS, self._model
            count = gather(*asked, odds, slopes, over, which, features, scales)
            found, derivatives = values.log_odds(features[:count], self._game.num_players - 1, self._moving)
            known = which[:count], features[:count], scales[:count]
            spread(states, FILLINGS, self._model, *known, found, derivatives, odds, slopes)

        return TurnPlayer(self._game, leaf)
