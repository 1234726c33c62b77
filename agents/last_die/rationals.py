"""The expectations of a round in exact rationals.

The equations of `trialea.agents.last_die.chain` are linear and their coefficients whole numbers, once each is
multiplied by the 6^k throws of its k dice. They are solved by Dixon's method (J. D. Dixon, "Exact solution of linear
equations using p-adic expansions", 1982): factor the matrix modulo a prime p, which gives the solution modulo p; what
is left over, divided by p, is another right side, which gives the next digit to the base p; and so on. Numerator and
denominator of each unknown are below Hadamard's bound of a determinant, so when p^K exceeds twice its square, K digits
are those of one fraction only, which Euclid's algorithm finds. Nothing is rounded and nothing guessed.

Turning the table is a cyclic shift of the seats, which the n-th roots of unity modulo p make a factor, as the Fourier
transform does with complex numbers: n small sets of equations in place of one that is n times as large.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt, log2
from typing import Any, NamedTuple

import numpy as np

from trialea.agents.last_die.chain import NUM_FACES, ROUND_OVER, Chain, Floats, Ints
from trialea.envs.jit import entry, kernel

PRIME = 67108201
"""A prime below 2^26, so that sums of a thousand products fit 64 bits; and 1 modulo 60, so that 1 has 4th, 5th and 6th
roots modulo it."""

_PRIME = np.int64(PRIME)


class Equations(NamedTuple):
    """The equations of S positions of a round, in whole numbers.

    Attributes:
        positions: (S,) int64, their numbers in the chain.
        diagonal: (S,) int64, in how many ways the dice of each may fall, by which its equation is multiplied.
        source, target, turn, weight: (E,) int64, the throws from one to another: see
            `trialea.agents.last_die.chain.Chain`; rows in place of numbers.
    """

    positions: Any
    diagonal: Any
    source: Any
    target: Any
    turn: Any
    weight: Any


@entry
def factor(matrices: Any) -> int:
    """Replace each matrix (F, S, S), modulo p, by its factors L (without its diagonal of ones) and U.

    The diagonal of U is inverted. Returns 0 if it has no factors without an exchange of rows, else 1.
    """
    for matrix in matrices:
        size = len(matrix)
        for k in range(size):
            pivot = matrix[k, k]
            if pivot == 0:
                return 0
            inverse, power, exponent = np.int64(1), pivot, _PRIME - 2
            while exponent:
                if exponent & 1:
                    inverse = inverse * power % _PRIME
                power = power * power % _PRIME
                exponent >>= 1
            matrix[k, k] = inverse
            for i in range(k + 1, size):
                if matrix[i, k]:
                    multiple = matrix[i, k] * inverse % _PRIME
                    matrix[i, k] = multiple
                    for j in range(k + 1, size):
                        matrix[i, j] = (matrix[i, j] + (_PRIME - multiple) * matrix[k, j]) % _PRIME
    return 1


@kernel
def _product(row: Any, x: Any) -> Any:
    total = np.int64(0)
    for j in range(len(row)):
        total += np.int64(row[j]) * np.int64(x[j])
    return total


@entry
def lift(factors: Any, roots: Any, share: Any, equations: Any, rest: Any, digits: Any) -> None:
    """The digits (K, n) to the base p, lowest first, of the last position's unknowns.

    Args:
        factors: (n, S, S) from `factor`.
        roots: (n,) the powers of an n-th root of unity.
        share: what times n is 1, modulo p.
        equations: what is solved.
        rest: (S, n) the right side; used up.
        digits: (K, n) to be filled.
    """
    size, n = rest.shape
    found = np.empty((n, size), np.int32)
    digit = np.empty((size, n), np.int64)
    for k in range(len(digits)):
        for f in range(n):
            x = found[f]
            for s in range(size):
                total = np.int64(0)
                for i in range(n):
                    total += rest[s, i] % _PRIME * roots[f * i % n]
                x[s] = total % _PRIME
            matrix = factors[f]
            for s in range(size):
                x[s] = (x[s] - _product(matrix[s, :s], x[:s])) % _PRIME
            for s in range(size - 1, -1, -1):
                x[s] = (x[s] - _product(matrix[s, s + 1 :], x[s + 1 :])) % _PRIME * matrix[s, s] % _PRIME
        for s in range(size):
            for i in range(n):
                total = np.int64(0)
                for f in range(n):
                    total += found[f, s] * roots[(n - f * i % n) % n]
                digit[s, i] = total % _PRIME * share % _PRIME
                rest[s, i] -= equations.diagonal[s] * digit[s, i]
        for e in range(len(equations.source)):
            source, target, turn = equations.source[e], equations.target[e], equations.turn[e]
            for i in range(n):
                rest[source, i] += equations.weight[e] * digit[target, (i - turn + n) % n]
        for s in range(size):
            for i in range(n):
                rest[s, i] //= _PRIME  # there is no remainder
        digits[k] = digit[size - 1]


def root_of_unity(order: int) -> int:
    """A number modulo p whose powers are 1 only at multiples of `order`."""
    for base in range(2, PRIME):
        root = pow(base, (PRIME - 1) // order, PRIME)
        if all(pow(root, k, PRIME) != 1 for k in range(1, order)):
            return root
    raise ArithmeticError(f"{PRIME} has no root of unity of order {order}")


def equations_of(chain: Chain, position: int) -> Equations:
    """The equations of the positions that may follow on one, which comes last among them."""
    followed = chain.target != ROUND_OVER
    every = np.arange(chain.num_positions)
    reached, before = every == position, 0
    while reached.sum() > before:
        before = int(reached.sum())
        reached[chain.target[followed & reached[chain.source]]] = True
    positions = np.append(np.flatnonzero(reached & (every != position)), position)
    row = np.full(chain.num_positions, -1)
    row[positions] = np.arange(len(positions))
    kept = followed & reached[chain.source]
    return Equations(
        positions=positions,
        diagonal=NUM_FACES ** chain.hands[positions, 0],
        source=row[chain.source[kept]],
        target=row[chain.target[kept]],
        turn=chain.turn[kept],
        weight=chain.weight[kept],
    )


def exact_expectations(chain: Chain, kinds: Sequence[Floats], position: int) -> list[list[Fraction]]:
    """What each seat may expect from one position to the round's end, exactly; seats from the thrower to the left.

    Args:
        chain: the round.
        kinds: of what: each (S, n), as the gains of `trialea.agents.last_die.chain.expectations`, which must be
            whole numbers divided by the ways the dice may fall.
        position: the position's number.

    Returns:
        For each kind, the n fractions.
    """
    n = chain.players
    equations = equations_of(chain, position)
    size = len(equations.positions)
    roots = np.array([pow(root_of_unity(n), k, PRIME) for k in range(n)], np.int64)
    matrices = np.zeros((n, size, size), np.int64)
    for frequency in range(n):
        step = equations.weight * roots[frequency * equations.turn % n] % PRIME
        np.subtract.at(matrices[frequency], (equations.source, equations.target), step)
        matrices[frequency] += np.diag(equations.diagonal)
    matrices %= PRIME
    if not factor(matrices):
        raise ArithmeticError(f"the equations have no factors modulo {PRIME}")
    found = []
    for gains in kinds:
        right = np.rint(gains[equations.positions] * equations.diagonal[:, None]).astype(np.int64)
        digits = np.zeros((int((2 * _log2_bound(equations, right) + 1) / log2(PRIME)) + 2, n), np.int64)
        lift(matrices.astype(np.int32), roots, pow(n, -1, PRIME), equations, right, digits)
        found.append([_fraction(column) for column in digits.T.tolist()])
    return found


def _log2_bound(equations: Equations, right: Ints) -> float:
    """The logarithm of what numerator and denominator of every unknown are below: Hadamard's bound.

    That is the product of the lengths of the rows, each with its right side (S, n). A row has an entry for each target
    and turn.
    """
    diagonal = equations.diagonal.astype(float)
    weight = equations.weight.astype(float)
    on_diagonal = (equations.source == equations.target) & (equations.turn == 0)
    np.subtract.at(diagonal, equations.source[on_diagonal], weight[on_diagonal])
    beside = np.bincount(equations.source[~on_diagonal], weight[~on_diagonal] ** 2, len(diagonal))
    return float(np.log2((diagonal**2 + beside)[:, None] + right.astype(float) ** 2).sum() / 2)


def _fraction(digits: list[int]) -> Fraction:
    """The only fraction with numerator and denominator below the root of p^K / 2 that has these K digits."""
    modulus, value = PRIME ** len(digits), 0
    for digit in reversed(digits):
        value = value * PRIME + digit
    limit = isqrt(modulus // 2)
    before, after = (modulus, 0), (value, 1)
    while after[0] > limit:
        quotient = before[0] // after[0]
        before, after = after, (before[0] - quotient * after[0], before[1] - quotient * after[1])
    return Fraction(after[0], after[1])
