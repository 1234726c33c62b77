"""Exact values of rethrowing dice, one die at a time. The solvers of No Dice and Poker Figures share these kernels.

**Different dice.** A *keep pattern* gives for each die either the face that it keeps, or that it is thrown again. A die
with k distinct faces has k + 1 slots, the last for "thrown again". To get the expected value of a pattern, take any one
of its thrown dice, and average over its faces the values of the patterns that keep this die. One pass over each die
therefore fills the whole lattice, starting from the full throws. The same passes with a maximum in place of the mean
find the best pattern to keep from a throw. Faces that score alike share one slot with their joint probability. For the
dice of No Dice that halves the lattice.

**Equal dice.** The order of the dice doesn't matter, so a *keep* is the multiset of the kept faces. Five dice have 462
keeps. The expected value of a keep is the mean, over the faces of the next die, of the keeps with this die added. The
best keep of a throw is the throw itself, or the best keep with one die fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import factorial, prod
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
        bases: uint64, for each die in turn: the patterns at which its slots start, with all later dice kept.
        first: (n + 1,) int64, where the part of `bases` for each die begins.
        full: (6^n,) uint64, the pattern that keeps every die, for each throw (die 0 the lowest digit in base six).
        again: (n, 6) int64, what to add to a throw's full pattern to throw again a die that shows a face (0 to 5).
        num_patterns: the number of patterns.
    """

    sizes: Any
    strides: Any
    weights: Any
    bases: Any
    first: Any
    full: Any
    again: Any
    num_patterns: int


def make_lattice(faces: Sequence[Sequence[Any]], lanes: int = 1) -> Lattice:
    """Return the lattice for dice with the given six faces each; equal faces share a slot.

    With several `lanes` it holds several problems side by side: each pattern has one number for each of them, next to
    each other, and the kernels' loops go over all of them.
    """
    dice = len(faces)
    distinct = [list(dict.fromkeys(die)) for die in faces]
    sizes = np.array([len(kinds) for kinds in distinct])
    strides = lanes * np.concatenate([[1], np.cumprod(sizes + 1)[:-1]])
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
        num_patterns=lanes * int(np.prod(sizes + 1)),
    )


def _sums(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return every sum of one number from each part; the first part varies fastest."""
    total = np.zeros(1, np.int64)
    for part in reversed(parts):
        total = np.add.outer(total, part).reshape(-1)
    return total


@kernel
def expect(values: Any, lattice: Any) -> None:
    """Fill the values (num_patterns,) of all patterns with expectations, given those of the full throws."""
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
def choose_best(values: Any, lattice: Any) -> None:
    """Replace the value of each full throw by the best over all sets of its dice to throw again, the empty one too."""
    for die in range(len(lattice.sizes) - 1, -1, -1):
        size, stride = lattice.sizes[die], lattice.strides[die]
        for k in range(lattice.first[die], lattice.first[die + 1]):
            base = lattice.bases[k]
            thrown = base + size * stride
            for face in range(size):
                kept = base + face * stride
                for low in range(stride):
                    values[kept + low] = max(values[kept + low], values[thrown + low])


@kernel
def spread(chances: Any, lattice: Any) -> None:
    """Throw the dice: add the probability of every pattern to the full throws that it can become.

    After the call only the entries of full throws are meaningful.
    """
    for die in range(len(lattice.sizes) - 1, -1, -1):
        size, stride = lattice.sizes[die], lattice.strides[die]
        for k in range(lattice.first[die], lattice.first[die + 1]):
            base = lattice.bases[k]
            thrown = base + size * stride
            for face in range(size):
                weight, kept = lattice.weights[die, face], base + face * stride
                for low in range(stride):
                    chances[kept + low] += weight * chances[thrown + low]


class KeepLattice(NamedTuple):
    """The shape of the lattice of keeps of n equal dice, as the kernels read it.

    A keep is a sorted tuple of at most n kinds of face. Keeps are numbered by their size, from the empty one, number 0,
    to the full throws at the end; keeps of one size are in lexicographic order. Kernels read keeps in pairs, because a
    maximum over two sources at a time compiles to vector instructions, and a maximum over one does not.

    Attributes:
        more: (num_partial, k or k + 1) uint64, the keep with one more die of each kind, for the keeps that are not
            full. If the number of kinds is odd, a column of probability 0 makes it even.
        weights: (k or k + 1,) float64, the probability of each kind on one die.
        fewer: (pairs, 2) uint64, for each keep in turn but the empty one: the keeps with one die fewer, in pairs. If
            their number is odd, the last one stands twice.
        first: (num_keeps + 1,) int64, where the part of `fewer` for each keep begins.
        chances: (num_keeps - num_partial,) float64, the probability of each full throw.
        num_partial: the number of keeps that are not full, and so the number of the first full throw.
        num_keeps: the number of keeps.
    """

    more: Any
    weights: Any
    fewer: Any
    first: Any
    chances: Any
    num_partial: int
    num_keeps: int


def keeps_of(num_dice: int, num_kinds: int) -> list[tuple[int, ...]]:
    """Return every keep of `num_dice` equal dice with `num_kinds` kinds of face, in the order of the lattice."""
    kinds = range(num_kinds)
    return [keep for size in range(num_dice + 1) for keep in combinations_with_replacement(kinds, size)]


def make_keep_lattice(num_dice: int, weights: Sequence[float]) -> KeepLattice:
    """Return the lattice of keeps for `num_dice` equal dice, given the probability of each kind of face."""
    keeps = keeps_of(num_dice, len(weights))
    number = {keep: k for k, keep in enumerate(keeps)}
    partial = [keep for keep in keeps if len(keep) < num_dice]
    more = [[number[tuple(sorted((*keep, kind)))] for kind in range(len(weights))] for keep in partial]
    fewer = [sorted({number[keep[:die] + keep[die + 1 :]] for die in range(len(keep))}) for keep in keeps]
    pairs = [[(row[i], row[min(i + 1, len(row) - 1)]) for i in range(0, len(row), 2)] for row in fewer]
    odd = len(weights) % 2
    return KeepLattice(
        more=np.array([row + row[-1:] * odd for row in more], np.uint64),
        weights=np.array([*weights, *[0.0] * odd]),
        fewer=np.array([pair for row in pairs for pair in row], np.uint64),
        first=np.cumsum([0, *map(len, pairs)]),
        chances=np.array([_chance(keep, weights) for keep in keeps[len(partial) :]]),
        num_partial=len(partial),
        num_keeps=len(keeps),
    )


def _chance(throw: tuple[int, ...], weights: Sequence[float]) -> float:
    """Return the probability that equal dice show these faces in any order."""
    counts = [throw.count(kind) for kind in range(len(weights))]
    orders = factorial(len(throw)) // prod(map(factorial, counts))
    return orders * prod(weight**count for weight, count in zip(weights, counts, strict=True))


@kernel
def expect_keeps(values: Any, lattice: Any) -> None:
    """Fill the values (num_keeps, N) of all keeps with expectations, given those of the full throws, in N problems."""
    lanes = np.uint64(values.shape[1])
    weights = lattice.weights
    for k in range(lattice.num_partial - 1, -1, -1):
        out, more = values[k], lattice.more[k]
        one, other, p, q = values[more[0]], values[more[1]], weights[0], weights[1]
        for lane in range(lanes):
            out[lane] = p * one[lane] + q * other[lane]
        for kind in range(2, len(weights), 2):
            one, other, p, q = values[more[kind]], values[more[kind + 1]], weights[kind], weights[kind + 1]
            for lane in range(lanes):
                out[lane] += p * one[lane] + q * other[lane]


@kernel
def choose_keeps(values: Any, lattice: Any) -> None:
    """Give each full throw the best value of throwing again any of its dice, one at least, in N problems.

    Args:
        values: (num_keeps, N), in: the value of every keep that is not full, from `expect_keeps`; out: for each full
            throw the best of its keeps. The other entries are then not meaningful.
        lattice: the dice.
    """
    lanes = np.uint64(values.shape[1])
    for k in range(1, lattice.num_keeps):
        start, out = lattice.first[k], values[k]
        if k >= lattice.num_partial:
            one, other = values[lattice.fewer[start, 0]], values[lattice.fewer[start, 1]]
            for lane in range(lanes):
                out[lane] = one[lane] if one[lane] > other[lane] else other[lane]
            start += 1
        for pair in range(start, lattice.first[k + 1]):
            raise_to(out, values[lattice.fewer[pair, 0]], values[lattice.fewer[pair, 1]])


@kernel
def copy(source: Any, out: Any) -> None:
    """Copy `source` (N,) to `out`. This compiles to far less code than an assignment of slices."""
    for lane in range(np.uint64(len(out))):
        out[lane] = source[lane]


@kernel
def fill(out: Any, value: Any) -> None:
    """Set all of `out` (N,) to a value."""
    for lane in range(np.uint64(len(out))):
        out[lane] = value


@kernel
def raise_to(out: Any, one: Any, other: Any) -> None:
    """Raise `out` (N,) to the greatest of itself and two others."""
    for lane in range(np.uint64(len(out))):
        best = one[lane] if one[lane] > out[lane] else out[lane]
        out[lane] = other[lane] if other[lane] > best else best
