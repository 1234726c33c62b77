"""Counter-based dice: every throw is a pure function of the game's seed and the throw's place in the game.

The generator is Philox-4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).
Its 64-bit key is the game's seed. Its four 32-bit counter words identify the draw; the last word is the purpose. The
generator has no state. So states copy exactly, every seat meets the same dice whichever agent plays it, and a player
that draws random numbers cannot change the throws of the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trialea.envs.jit import entry, kernel

_LOW32 = np.uint64(0xFFFFFFFF)
_SHIFT32 = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_SIX = np.uint64(6)

MAX_DICE = 6
"""The most dice that a throw of any game has."""

# The fourth counter word is the purpose of a draw. Two purposes never share a draw.
FOR_DICE = 0
FOR_AGENT = 1
FOR_GAME_SEED = 2
FOR_SEAT = 3
FOR_OPPONENT = 4


@kernel
def philox(key: Any, c0: Any, c1: Any, c2: Any, c3: Any) -> Any:
    """Return the first 64 bits of Philox-4x32-10's output (words 0 and 1) as one unsigned integer, word 0 high.

    Args:
        key: 64-bit key, low word first.
        c0, c1, c2, c3: the counter, four words of 32 bits each given as integers of any width.
    """
    k0 = np.uint64(key) & _LOW32
    k1 = np.uint64(key) >> _SHIFT32
    x0 = np.uint64(c0) & _LOW32
    x1 = np.uint64(c1) & _LOW32
    x2 = np.uint64(c2) & _LOW32
    x3 = np.uint64(c3) & _LOW32
    for _ in range(10):
        p0 = _MULTIPLIER_0 * x0
        p1 = _MULTIPLIER_1 * x2
        x0 = (p1 >> _SHIFT32) ^ x1 ^ k0
        x1 = p1 & _LOW32
        x2 = (p0 >> _SHIFT32) ^ x3 ^ k1
        x3 = p0 & _LOW32
        k0 = (k0 + _WEYL_0) & _LOW32
        k1 = (k1 + _WEYL_1) & _LOW32
    return (x0 << _SHIFT32) | x1


@kernel
def below(fraction: Any, n: Any) -> Any:
    """Return a whole number in [0, n) from a 64-bit draw; uniform to within n / 2^64."""
    m = np.uint64(n)
    high = (fraction >> _SHIFT32) * m
    low = (fraction & _LOW32) * m
    return np.int64((high + (low >> _SHIFT32)) >> _SHIFT32)


@kernel
def read_faces(fraction: Any, faces: Any) -> None:
    """Fill `faces` with the faces (0 to 5) of every die in one throw, from its 64-bit draw.

    The draw is read as a fraction whose successive digits in base six are the dice. Up to eight dice are uniform to
    within 10^-13.
    """
    for die in range(len(faces)):
        high = (fraction >> _SHIFT32) * _SIX
        low = (fraction & _LOW32) * _SIX
        high += low >> _SHIFT32
        faces[die] = high >> _SHIFT32
        fraction = ((high & _LOW32) << _SHIFT32) | (low & _LOW32)


@kernel
def throw_faces(seed: Any, seat: Any, turn: Any, throw: Any, faces: Any) -> None:
    """Return the faces of one throw: face `d` depends on (seed, seat, turn, throw, d) alone."""
    read_faces(philox(seed, seat, turn, throw, FOR_DICE), faces)


@entry
def throw_dice(seed: Any, seat: Any, turn: Any, throw: Any, faces: Any) -> None:
    """Fill `faces` as `throw_faces` does, for a call from Python."""
    throw_faces(seed, seat, turn, throw, faces)


@kernel
def derive(base: Any, index: Any, purpose: Any, detail: Any) -> Any:
    """Return a 64-bit value for the `index`-th episode of a stream of games whose seed is `base`."""
    i = np.uint64(index)
    return philox(base, i & _LOW32, i >> _SHIFT32, detail, purpose)


@entry
def derive_many(bases: Any, indices: Any, purpose: Any, detail: Any, out: Any) -> None:
    """Do `derive` for arrays: out[i] = derive(bases[i], indices[i], purpose, detail)."""
    for i in range(len(out)):
        out[i] = derive(bases[i], indices[i], purpose, detail)
