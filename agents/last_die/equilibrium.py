"""A stationary equilibrium of Last Die with `steer`, for players who want points.

Replying best to one another, over and over, goes round in circles in this game. What is done instead: levels of
positions are settled one by one, since dice never come back. On each level everybody plays an average of the best
replies so far, in which later ones weigh more. That leads to where most choices are plain and some are mixed, and shows
which actions are in use. Newton's method then finds with what chances those must be chosen so that all of them are
worth the same. If no other action is worth more, that is an equilibrium; else averaging goes on, or begins elsewhere.

How good the result is does not rest on how it was found: `trialea.agents.last_die.deviation` finds what the best
one-sided deviation is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.last_die.chain import Floats, Ints, known_gains, points_thrown, solve_level
from trialea.agents.last_die.steer import ACTIONS, NO_CHOICE, Choices
from trialea.envs.jit import entry

SETTLED = 1e-12  # points: how much better no action may be than those in use
_USED = (0.05, 0.01)  # actions more often best than this are taken to be in use: tried in this order
_SWEEPS = 4  # of the values, in each step of averaging
_FIRST_STEPS, _MOST_STEPS = 1024, 65_536  # of averaging, before another beginning is tried
_MOST_STARTS = 20
_MOST_CHANGES = 12  # steps of Newton's method, and changes to the actions in use


@entry
def average_replies(
    first: Any, steps: Any, edges: Any, known: Any, target: Any, turn: Any, policy: Any, values: Any, best: Any
) -> None:
    """Play so many steps of averaged best replies on one level.

    In each step the values follow the policy by `_SWEEPS` sweeps instead of being solved for: they need not be right
    while the policy is not.

    Args:
        first: the number of the first step: how much the policy's present average weighs.
        steps: how many.
        edges: six arrays (E,): the level's throws that stay in it, with source, target, turn, choice, action, chance;
            choices as rows of `policy`, positions as rows of `values`.
        known: (N, n) what the positions bring besides.
        target, turn: (G, 7) where each action of each choice leads, -1 for none.
        policy: (G, 7) the average; changed.
        values: (N, n); changed.
        best: (G, 7) how often each action was the best reply; added to.
    """
    sources, targets, turns, choices, actions, chances = edges
    n = values.shape[1]
    for step in range(first, first + steps):
        for _ in range(_SWEEPS):
            follows = known.copy()
            for e in range(len(sources)):
                chance = chances[e]
                if choices[e] >= 0:
                    chance *= policy[choices[e], actions[e]]
                for seat in range(n):
                    follows[sources[e], seat] += chance * values[targets[e], (seat - turns[e]) % n]
            values[:] = follows
        weight = 2.0 / (step + 4.0)
        for choice in range(len(policy)):
            reply, worth = 0, -np.inf
            for action in range(policy.shape[1]):
                if target[choice, action] >= 0:
                    found = values[target[choice, action], -turn[choice, action] % n]
                    if found > worth:
                        reply, worth = action, found
            for action in range(policy.shape[1]):
                policy[choice, action] -= weight * policy[choice, action]
            policy[choice, reply] += weight
            best[choice, reply] += 1.0


class _Level:
    """The search on one level of positions, with the G choices that lead to it; those below are settled.

    `values` (S, n) and `policy` (X, 7) are those of the whole round, and filled in place.
    """

    def __init__(self, choices: Choices, number: int, values: Floats, policy: Floats) -> None:
        self.choices = choices
        self.number = number
        self.values = values
        self.policy = policy
        self.nodes: Ints = np.flatnonzero(choices.level == number)
        chain = choices.under(policy)
        self.bounds = slice(*chain.bounds(number))
        self.known = known_gains(chain, number, points_thrown(chain), values)
        self.steps = 0

    def worth(self) -> Floats:
        """What each action is worth to who chooses it when all play by the policy, (G, 7); NaN where illegal."""
        self.values[self.bounds] = solve_level(self.choices.under(self.policy), self.number, self.known)
        return self.choices.outcomes(self.values, self.nodes)[..., 0]

    def gain(self, worth: Floats) -> float:
        """By how much the best action is better than the policy, at most."""
        expected = np.where(np.isnan(worth), 0.0, worth * self.policy[self.nodes]).sum(axis=1)
        return float((np.nanmax(worth, axis=1) - expected).max(initial=0.0))

    def settle(self) -> None:
        """Find a policy that no action is better than."""
        # Plain best replies are enough in the opening, where all who choose are one player, and sometimes elsewhere.
        for _ in range(8):
            worth = self.worth()
            if self.gain(worth) <= SETTLED:
                return
            self.policy[self.nodes] = np.eye(ACTIONS)[np.nanargmax(worth, axis=1)]
        for seed in range(_MOST_STARTS):
            self._begin(seed)
            steps = _FIRST_STEPS
            while steps <= _MOST_STEPS:
                average, often = self._average(steps - self.steps)
                for least in _USED:
                    self.policy[self.nodes] = often
                    if self.refine(often > least):
                        return
                self.policy[self.nodes] = average
                steps *= 2

    def _begin(self, seed: int) -> None:
        """Begin from even chances; or where that led nowhere, from chances drawn with a seed."""
        drawn = np.random.default_rng(seed).exponential(size=(len(self.nodes), ACTIONS))
        weights = np.where(self.choices.legal[self.nodes], drawn if seed else 1.0, 0.0)
        self.policy[self.nodes] = weights / weights.sum(axis=1, keepdims=True)
        self.steps = 0

    def _average(self, steps: int) -> tuple[Floats, Floats]:
        """The policy after so many steps more, and the share of them in which each action was the best, (G, 7) each."""
        chain, low = self.choices.chain, self.bounds.start
        edges = chain.edges(self.number)
        inside = chain.target[edges] >= low
        place = np.full(len(self.choices.codes) + 1, NO_CHOICE)  # the last entry is that of NO_CHOICE
        place[self.nodes] = np.arange(len(self.nodes))
        columns = (
            chain.source[edges] - low,
            chain.target[edges] - low,
            chain.turn[edges],
            place[self.choices.choice[edges]],
            self.choices.action[edges],
            chain.chance[edges],
        )
        self.worth()
        policy, best = self.policy[self.nodes], np.zeros((len(self.nodes), ACTIONS))
        target = np.where(self.choices.legal[self.nodes], self.choices.target[self.nodes] - low, -1)
        average_replies(
            self.steps,
            steps,
            tuple(column[inside] for column in columns),
            self.known,
            target,
            self.choices.turn[self.nodes],
            policy,
            self.values[self.bounds],
            best,
        )
        self.steps += steps
        return policy, best / steps

    def refine(self, used: NDArray[np.bool_]) -> bool:
        """Find the chances of the actions `used` (G, 7); whether no action is better then. What is used may change."""
        for _ in range(_MOST_CHANGES):
            kept = np.where(used, self.policy[self.nodes], 0.0)
            even = used / used.sum(axis=1, keepdims=True)
            total = kept.sum(axis=1, keepdims=True)
            self.policy[self.nodes] = np.where(total > 0.0, kept / np.where(total > 0.0, total, 1.0), even)
            try:
                if not self._make_equal(used):
                    return False
            except np.linalg.LinAlgError:  # on its way it may come to chances for which the values have no solution
                return False
            chances = self.policy[self.nodes]
            if chances.min() < -SETTLED:
                used[np.unravel_index(chances.argmin(), chances.shape)] = False
                self.policy[self.nodes] = np.maximum(chances, 0.0)
                continue
            self.policy[self.nodes] = np.maximum(chances, 0.0)
            worth = self.worth()
            if self.gain(worth) <= SETTLED:
                return True
            better = worth - np.where(used, worth, np.inf).min(axis=1, keepdims=True)
            used[np.unravel_index(np.nanargmax(better), better.shape)] = True
        return False

    def _make_equal(self, used: NDArray[np.bool_]) -> bool:
        """Change the chances of what is used until all of it is worth the same, by Newton's method; whether it is."""
        base = np.where(used, self.policy[self.nodes], -1.0).argmax(axis=1)
        free = used.copy()
        free[np.arange(len(base)), base] = False
        rows, actions = np.nonzero(free)
        for _ in range(_MOST_CHANGES):
            worth = self.worth()
            unequal = worth[rows, actions] - worth[rows, base[rows]]
            if np.abs(unequal).max(initial=0.0) <= SETTLED / 10:
                return True
            slopes = self._slopes(rows, actions, base[rows])
            # Some choices are between the same positions, so that only their joint effect counts: the least change.
            change = np.linalg.lstsq(slopes, -unequal, rcond=1e-10)[0]
            change /= max(1.0, 2.0 * np.abs(change).max())
            self.policy[self.nodes[rows], actions] += change
            np.subtract.at(self.policy, (self.nodes[rows], base[rows]), change)
        return False

    def _slopes(self, rows: Ints, actions: Ints, base: Ints) -> Floats:
        """How the differences in worth, (F, F), change with the chances that are moved from base to other actions."""
        choices, chain = self.choices, self.choices.chain
        outcomes = choices.outcomes(self.values, self.nodes)
        moved = outcomes[rows, actions] - outcomes[rows, base]
        pushes = np.zeros((len(rows), *self.known.shape))
        for k, row in enumerate(rows):
            through = np.flatnonzero((choices.choice == self.nodes[row]) & (choices.action == 0))
            through = through[(chain.source[through] >= self.bounds.start) & (chain.source[through] < self.bounds.stop)]
            np.add.at(pushes[k], chain.source[through] - self.bounds.start, chain.chance[through, None] * moved[k])
        effects = solve_level(choices.under(self.policy), self.number, pushes)
        slopes = np.empty((len(rows), len(rows)))
        for k, effect in enumerate(effects):
            values = np.zeros_like(self.values)
            values[self.bounds] = effect
            changed = choices.outcomes(values, self.nodes)[..., 0]
            slopes[:, k] = changed[rows, actions] - changed[rows, base]
        return slopes


def find_policy(choices: Choices, progress: Callable[[float], None] | None = None) -> tuple[Floats, int]:
    """A policy (X, 7) near equilibrium, and how many steps of replies it took; `progress` is told the share done."""
    policy = choices.uniform()
    values = np.zeros(choices.chain.hands.shape)
    steps = 0
    for number in range(len(choices.chain.levels)):
        level = _Level(choices, number, values, policy)
        level.settle()
        level.worth()
        steps += level.steps
        if progress is not None:
            progress((number + 1) / len(choices.chain.levels))
    return policy, steps
