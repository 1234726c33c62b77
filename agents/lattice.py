"""Exact values of rethrowing dice, one die at a time.

A *keep pattern* says of each die which face it keeps, or that it is thrown again: a die with k distinct faces has k + 1
slots, the last for "thrown again". The expected value of a pattern is the mean over the faces of any one of its thrown
dice of the values of the patterns with that die kept, so a pass over each die fills the whole lattice from its corner
of full throws. The best pattern to keep from a throw is found by the same passes with a maximum for the mean.

Faces that score alike are one slot with their joint probability, which halves the lattice for No Dice's dice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.envs.jit import kernel

# The shape's numbers are unsigned, all the way into the loops: an index that cannot be negative needs no check, and
# the compiler turns a loop without checks into vector instructions.
_ONE = np.uint64(1)


class Lattice(NamedTuple):
    """The shape of a lattice of keep patterns, as the kernels read it.

    Attributes:
        sizes: (n,) uint64, distinct faces of each die.
        strides: (n,) uint64, how far apart two slots of a die lie in a pattern's number; die 0 varies fastest.
        weights: (n, 6) float64, the probability of each distinct face.
        bases: uint64, for each die in turn: the patterns from which its slots start, with full throws above it.
        first: (n + 1,) int64, where each die's stretch of `bases` begins.
        full: (6^n,) uint64, the pattern that keeps every die, for each throw (die 0 the lowest digit in base six).
        again: (n, 6) int64, what to add to a throw's full pattern to throw again a die that shows a face (0 to 5).
        num_patterns: how many patterns there are.
    """

    sizes: Any
    strides: Any
    weights: Any
    bases: Any
    first: Any
    full: Any
    again: Any
    num_patterns: int


def make_lattice(faces: Sequence[Sequence[Any]]) -> Lattice:
    """The lattice for dice with the given six faces each; equal faces share a slot."""
    dice = len(faces)
    distinct = [list(dict.fromkeys(die)) for die in faces]
    sizes = np.array([len(kinds) for kinds in distinct])
    strides = np.concatenate([[1], np.cumprod(sizes + 1)[:-1]])
    weights = np.zeros((dice, 6))
    slot = np.zeros((dice, 6), np.int64)
    for die, kinds in enumerate(distinct):
        for face, shown in enumerate(faces[die]):
            slot[die, face] = kinds.index(shown)
            weights[die, slot[die, face]] += 1 / 6
    bases = [_sums([np.arange(sizes[d]) * strides[d] for d in range(die + 1, dice)]) for die in range(dice)]
    return Lattice(
        sizes=sizes.astype(np.uint64),
        strides=strides.astype(np.uint64),
        weights=weights,
        bases=np.concatenate(bases).astype(np.uint64),
        first=np.cumsum([0, *map(len, bases)]),
        full=_sums([slot[die] * strides[die] for die in range(dice)]).astype(np.uint64),
        again=(sizes[:, None] - slot) * strides[:, None],
        num_patterns=int(np.prod(sizes + 1)),
    )


def _sums(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Every sum of one number from each part, the first part varying fastest."""
    total = np.zeros(1, np.int64)
    for part in reversed(parts):
        total = np.add.outer(total, part).reshape(-1)
    return total


@kernel
def expect(values: Any, lattice: Any) -> None:
    """Fill the lattice's values (num_patterns,) with expectations from those of its full throws."""
    for die in range(len(lattice.sizes)):
        size, stride = lattice.sizes[die], lattice.strides[die]
        for k in range(lattice.first[die], lattice.first[die + 1]):
            base = lattice.bases[k]
            thrown = base + size * stride
            for low in range(stride):
                values[thrown + low] = lattice.weights[die, 0] * values[base + low]
            for face in range(_ONE, size):
                weight, kept = lattice.weights[die, face], base + face * stride
                for low in range(stride):
                    values[thrown + low] += weight * values[kept + low]


@kernel
def choose_best(values: Any, followers: Any, lattice: Any) -> None:
    """Turn each full throw's value into the best over keeping it whole and throwing again any of its dice.

    `followers`, unless empty, is a second quantity of each pattern, which follows the choices made.
    """
    following = len(followers) > 0
    for die in range(len(lattice.sizes) - 1, -1, -1):
        size, stride = lattice.sizes[die], lattice.strides[die]
        for k in range(lattice.first[die], lattice.first[die + 1]):
            base = lattice.bases[k]
            thrown = base + size * stride
            for face in range(size):
                kept = base + face * stride
                if following:
                    for low in range(stride):
                        better = values[thrown + low] > values[kept + low]
                        followers[kept + low] = followers[thrown + low] if better else followers[kept + low]
                for low in range(stride):
                    values[kept + low] = max(values[kept + low], values[thrown + low])


@kernel
def decide(values: Any, followers: Any, stop: Any, stop_followers: Any, patterns: Any, lattice: Any) -> None:
    """Go back over a decision between stopping and throwing again, after `expect` has gone back over the throw.

    Args:
        values, followers: (num_patterns,), in: the values of throwing again; out: at the full patterns the best of
            stopping and throwing again (what lies elsewhere then means nothing).
        stop, stop_followers: (K,), what stopping pays, minus infinity where it is not allowed.
        patterns: (K,) uint64, the full patterns that `stop` speaks of.
        lattice: the dice.
    """
    for kind in range(len(patterns)):
        values[patterns[kind]] = stop[kind]
        if len(followers):
            followers[patterns[kind]] = stop_followers[kind]
    choose_best(values, followers, lattice)
