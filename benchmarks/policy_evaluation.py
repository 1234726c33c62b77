"""Policy evaluation in Last Die: values learned from play on the batched engine, against the exact ones.

`python -m trialea.benchmarks.policy_evaluation` prints, for more and more games, how far temporal differences and Monte
Carlo are from the exact values. Nobody decides anything in this game, so there is nothing to learn but values: how many
points each seat may expect of the rest of the round, a table over positions before a throw.

The error is the root of the mean squared error over positions and seats, each position weighing as often as it is met.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.last_die.chain import Chain, look_up, turned
from trialea.agents.last_die.laws import expected_visits
from trialea.agents.last_die.solver import solve
from trialea.envs.checks import whole_number
from trialea.envs.errors import TrialeaError
from trialea.envs.game import Game

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 250  # games played at once
SLOWING = 0.8  # of the steps of TD: 1 / visits to this power


class Throw(NamedTuple):
    """The events in B games at once between two throws.

    Attributes:
        positions, following: (B,) the positions' numbers before this throw and before the next; -1 where there is none,
            the game or the round being over.
        turn: (B,) how many seats to the left of this thrower the next one sits.
        points: (B, n) what this throw brought each seat from its thrower to the left.
    """

    positions: Ints
    following: Ints
    turn: Ints
    points: Floats


class Learner:
    """A table of values (S, n) for the S positions of a round, learned from throws.

    Args:
        chain: the positions.
        method: `"td"` for TD(0), `"monte_carlo"` for the mean of what followed on every visit.
    """

    def __init__(self, chain: Chain, method: Literal["td", "monte_carlo"]) -> None:
        self.method = method
        self.values = np.zeros(chain.hands.shape)
        self.visits = np.zeros(len(chain.hands))

    def learn(self, throws: Sequence[Throw]) -> None:
        """Learn from games, from their last throw back to their first, so that new information spreads quickly."""
        returns = np.zeros(throws[0].points.shape)
        for throw in reversed(throws):
            after = returns if self.method == "monte_carlo" else self.values[throw.following]
            returns = throw.points + np.where((throw.following < 0)[:, None], 0.0, turned(after, throw.turn))
            self._move(throw.positions, returns)

    def _move(self, positions: Ints, returns: Floats) -> None:
        """Move the values of the positions (B,), as often as each occurs, towards what followed (B, n)."""
        met, place, times = np.unique(positions, return_inverse=True, return_counts=True)
        means = np.zeros((len(met), returns.shape[1]))
        np.add.at(means, place, returns)
        means /= times[:, None]
        means, times, met = means[met >= 0], times[met >= 0], met[met >= 0]
        self.visits[met] += times
        power = 1.0 if self.method == "monte_carlo" else SLOWING
        step = times / np.maximum(self.visits[met] ** power, times)
        self.values[met] += step[:, None] * (means - self.values[met])


def play(game: Game, chain: Chain, seeds: Sequence[int]) -> list[Throw]:
    """Play games to their end."""
    states = game.start(seeds)
    every = np.arange(len(states))
    throws = []
    positions, distance = look_up(chain, states)
    while not states.over.all():
        rounds, scores = states.rounds.copy(), states.scores.copy()
        going = np.flatnonzero(states.over == 0)
        game.step(states, np.zeros(len(going), np.int64), going)
        points = np.empty(distance.shape)
        np.put_along_axis(points, distance, (states.scores - scores)[:, : chain.players].astype(float), axis=1)
        turn = distance[every, states.mover]
        following, distance = look_up(chain, states)  # after the last round nobody holds a die, which is no position
        throws.append(Throw(positions, np.where(states.rounds == rounds, following, -1), turn, points))
        positions = following
    return throws


def measure(players: int = 4, most_games: int = 16_000, seed: int = 0) -> dict[str, Any]:
    """The errors of both methods after 250, 500, 1000 … games, up to `most_games`, in points.

    `"zero"` is the error of a table of zeros.
    """
    most_games = whole_number("games", most_games, BLOCK, 10**9)
    seed = whole_number("seed", seed, 0, 2**63)
    game = Game("last_die", players)
    solution = solve(game)
    weight = expected_visits(solution.chain)[:, None] / expected_visits(solution.chain).sum() / players
    learners = [Learner(solution.chain, "td"), Learner(solution.chain, "monte_carlo")]
    found: dict[str, Any] = {
        "players": players,
        "zero": float(np.sqrt((weight * solution.values**2).sum())),
        "games": [],
        **{learner.method: [] for learner in learners},
    }
    games, shown = 0, BLOCK
    while games < most_games:
        throws = play(game, solution.chain, range(seed + games, seed + games + BLOCK))
        games += BLOCK
        for learner in learners:
            learner.learn(throws)
        if games == shown:
            found["games"].append(games)
            for learner in learners:
                error = np.sqrt((weight * (learner.values - solution.values) ** 2).sum())
                found[learner.method].append(float(error))
            shown *= 2
    return found


def main() -> None:
    """Print the errors as JSON; one of ours is one line on standard error and exit code 2."""
    parser = argparse.ArgumentParser(description=measure.__doc__)
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--games", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    try:
        found = measure(chosen.players, chosen.games, chosen.seed)
    except TrialeaError as error:
        parser.error(str(error))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
