"""What one player can gain in Last Die with `steer` by leaving a policy that everybody else keeps to."""

from __future__ import annotations

import numpy as np

from trialea.agents.last_die.chain import Floats, points_thrown, turned
from trialea.agents.last_die.steer import ACTIONS, NO_CHOICE, Choices

_TIE = 1e-13  # points: a reply is changed for one that is better by more
_MOST_ROUNDS = 100


def best_reply(choices: Choices, policy: Floats, values: Floats) -> Floats:
    """The most points that each seat can expect from each position when all others play by `policy`, (S, n).

    Each seat has a Markov decision process of its own, in which it chooses only when it is the thrower. All are solved
    together, exactly, by policy iteration, level by level.

    Args:
        choices: the round.
        policy: (X, 7).
        values: (S, n), what the policy is worth against itself.
    """
    best = values.copy()
    reply = policy.copy()
    for level in range(len(choices.chain.levels)):
        nodes = np.flatnonzero(choices.level == level)
        _solve(choices, level, policy, reply, best)
        for _ in range(_MOST_ROUNDS):
            worth = choices.outcomes(best, nodes)[..., 0]
            now = np.where(np.isnan(worth), 0.0, worth * reply[nodes]).sum(axis=1)
            better = np.nanmax(worth, axis=1) > now + _TIE if len(nodes) else np.zeros(0, bool)
            if not better.any():
                break
            reply[nodes[better]] = np.eye(ACTIONS)[np.nanargmax(worth[better], axis=1)]
            _solve(choices, level, policy, reply, best)
        else:
            raise ArithmeticError(f"policy iteration did not settle on level {level}")
    return best


def _solve(choices: Choices, level: int, policy: Floats, reply: Floats, best: Floats) -> None:
    """Fill in what the level's positions bring each seat that plays by `reply` while the others play by `policy`.

    A position is not the same for the one who deviates as for others, so turning the table is no symmetry any more: an
    unknown is a position and a seat.
    """
    chain = choices.chain
    n = chain.players
    low, high = chain.bounds(level)
    edges = chain.edges(level)
    source, target, turn, choice, action = (
        column[edges] for column in (chain.source, chain.target, chain.turn, choices.choice, choices.action)
    )
    chance = np.repeat(chain.chance[edges, None], n, axis=1)
    chooses = choice != NO_CHOICE
    chance[chooses, 1:] *= policy[choice[chooses], action[chooses], None]
    chance[chooses, 0] *= reply[choice[chooses], action[chooses]]
    known = points_thrown(chain)[low:high]
    leaves = (target >= 0) & (target < low)
    np.add.at(known, source[leaves] - low, chance[leaves] * turned(best[target[leaves]], turn[leaves]))
    stays = target >= low
    seats = np.arange(n)
    rows = (source[stays, None] - low) * n + seats
    columns = (target[stays, None] - low) * n + (seats - turn[stays, None]) % n
    matrix = np.eye(known.size)
    np.subtract.at(matrix, (rows, columns), chance[stays])
    best[low:high] = np.linalg.solve(matrix, known.ravel()).reshape(known.shape)
