"""Tests of the lattices used to value throws in which a player keeps some dice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from trialea.agents import lattice
from trialea.envs.jit import entry

Faces = tuple[int, ...]


@entry
def expect_patterns(values, shape):
    """Run `lattice.expect` as compiled code."""
    lattice.expect(values, shape)


@entry
def choose_patterns(values, shape):
    """Run `lattice.choose_best` as compiled code."""
    lattice.choose_best(values, shape)


@entry
def expect_keeps(values, shape):
    """Run `lattice.expect_keeps` as compiled code."""
    lattice.expect_keeps(values, shape)


@entry
def choose_keeps(values, shape):
    """Run `lattice.choose_keeps` as compiled code."""
    lattice.choose_keeps(values, shape)


def by_patterns(dice: int, worth: Callable[[Faces], float], throws: int) -> float:
    """Return the value of up to `throws` throws when any dice can be kept and play can stop early, by keep patterns."""
    shape = lattice.make_lattice([range(1, 7)] * dice)
    stop = np.array([worth(faces) for faces in product(range(1, 7), repeat=dice)], float)
    values = np.zeros(shape.num_patterns)
    values[shape.full] = stop
    expect_patterns(values, shape)
    for _ in range(throws - 1):
        values[shape.full] = stop
        choose_patterns(values, shape)
        expect_patterns(values, shape)
    return float(values[-1])


def by_keeps(dice: int, worth: Callable[[Faces], float], throws: int) -> float:
    """Return the same value with the lattice that treats equal dice as one."""
    shape = lattice.make_keep_lattice(dice, [1 / 6] * 6)
    stop = np.array([[worth(faces)] for faces in combinations_with_replacement(range(1, 7), dice)], float)
    values = np.zeros((shape.num_keeps, 1))
    values[shape.num_partial :] = stop
    expect_keeps(values, shape)
    for _ in range(throws - 1):
        choose_keeps(values, shape)
        values[shape.num_partial :] = np.maximum(values[shape.num_partial :], stop)
        expect_keeps(values, shape)
    return float(values[0, 0])


each_lattice = pytest.mark.parametrize("value", [by_patterns, by_keeps], ids=["patterns", "keeps"])


@pytest.mark.nojit
@each_lattice
@pytest.mark.parametrize(("throws", "expected"), [(1, 7 / 2), (2, 17 / 4), (3, 14 / 3)])
def test_best_of_one_die_in_up_to_three_throws(value: Callable[..., float], throws: int, expected: float) -> None:
    assert value(1, lambda faces: faces[0], throws) == pytest.approx(expected, abs=1e-13)


@each_lattice
def test_five_of_a_kind_in_three_throws(value: Callable[..., float]) -> None:
    """The best play keeps the largest group of equal dice."""
    assert value(5, lambda faces: len(set(faces)) == 1, 3) == pytest.approx(347897 / 7558272, abs=1e-13)


def test_keep_lattice_matches_exact_sums_over_all_outcomes() -> None:
    """Covers 252 hands × 31 rerolls × all outcomes, in exact fractions."""
    hands = list(combinations_with_replacement(range(6), 5))
    rng = np.random.default_rng(0)
    worth = {hand: int(rng.integers(0, 1000)) for hand in hands}
    shape = lattice.make_keep_lattice(5, [1 / 6] * 6)
    values = np.zeros((shape.num_keeps, 1))
    values[shape.num_partial :, 0] = [worth[hand] for hand in hands]
    expect_keeps(values, shape)
    choose_keeps(values, shape)
    best = values[shape.num_partial :, 0]

    @cache
    def of_keep(kept: tuple[int, ...]) -> Fraction:
        fallen = Counter(product(range(6), repeat=5 - len(kept)))
        total = sum(count * worth[tuple(sorted(kept + throw))] for throw, count in fallen.items())
        return Fraction(total, 6 ** (5 - len(kept)))

    for number, hand in enumerate(hands):
        keeps = {kept for size in range(5) for kept in combinations(hand, size)}
        assert best[number] == pytest.approx(float(max(map(of_keep, keeps))), abs=1e-9)
