"""Tests of the random generator against published values, and of the fairness of the dice."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.helpers import JIT_OFF
from trialea.envs.dice import FOR_AGENT, FOR_DICE, below, derive, derive_many, philox, throw_faces
from trialea.envs.jit import entry

pytestmark = pytest.mark.nojit

# The χ² value that is exceeded once in a million, by degrees of freedom.
ONE_IN_A_MILLION = {5: 35.89, 35: 89.95, 7775: 8382.2}

MANY = 2_000 if JIT_OFF else 400_000


def philox4(counter: list[int], key: list[int], width: int, multipliers: list[int], weyl: list[int]) -> list[int]:
    """Compute Philox-4×W-10 as published, for 32-bit or 64-bit words, with Python integers."""
    word = 2**width - 1
    for _ in range(10):
        first, second = multipliers[0] * counter[0], multipliers[1] * counter[2]
        counter = [
            second >> width ^ counter[1] ^ key[0],
            second & word,
            first >> width ^ counter[3] ^ key[1],
            first & word,
        ]
        key = [(k + step) & word for k, step in zip(key, weyl, strict=True)]
    return counter


def philox4x32(counter: list[int], key: list[int]) -> list[int]:
    return philox4(counter, key, 32, [0xD2511F53, 0xCD9E8D57], [0x9E3779B9, 0xBB67AE85])


def philox4x64(counter: list[int], key: list[int]) -> list[int]:
    multipliers = [0xD2E7470EE14C6C93, 0xCA5A826395121157]
    return philox4(counter, key, 64, multipliers, [0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B])


def kernel_words(counter: list[int], key: list[int]) -> list[int]:
    """Return the first two words from the kernel, which never computes the other two."""
    both = int(philox(np.uint64(key[0] | key[1] << 32), *(np.uint64(word) for word in counter)))
    return [both >> 32, both & 0xFFFFFFFF]


KNOWN = [  # Random123, tests/kat_vectors: philox4x32 10
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN, ids=["zeros", "ones", "pi"])
def test_philox_gives_the_published_values(counter: list[int], key: list[int], answer: list[int]) -> None:
    assert philox4x32(counter, key) == answer
    assert kernel_words(counter, key) == answer[:2]


def test_philox_kernel_agrees_with_a_second_implementation() -> None:
    words = np.random.default_rng(1).integers(0, 2**32, (500, 6), np.uint64).tolist()
    for row in words:
        assert kernel_words(row[:4], row[4:]) == philox4x32(row[:4], row[4:])[:2]


def test_second_philox_implementation_agrees_with_numpy() -> None:
    """NumPy's Philox has 64-bit words, so its numbers differ from the kernel's, but the rounds are the same."""
    words = np.random.default_rng(2).integers(0, 2**63, (50, 6), np.uint64)
    for row in words:
        numpys = np.random.Philox(counter=row[:4], key=row[4:]).random_raw(4).tolist()
        counter = row[:4].tolist()
        assert (
            philox4x64([counter[0] + 1, *counter[1:]], row[4:].tolist()) == numpys
        )  # NumPy increments the counter first


@pytest.mark.parametrize("n", [1, 2, 3, 6, 140, 7776, 2**31])
def test_below_scales_a_fraction_exactly(n: int) -> None:
    draws = [
        0,
        1,
        2**32 - 1,
        2**32,
        2**63,
        2**64 - 1,
        *np.random.default_rng(3).integers(0, 2**63, 50).tolist(),
    ]
    for draw in draws:
        assert int(below(np.uint64(draw), n)) == draw * n >> 64


def test_throw_is_the_first_base_six_digits_of_one_draw() -> None:
    rng = np.random.default_rng(4)
    faces = np.empty(6, np.int64)
    for _ in range(200):
        seed = int(rng.integers(0, 2**63)) * 2 + 1
        seat, turn, throw = (int(rng.integers(0, n)) for n in (8, 1000, 5))
        throw_faces(np.uint64(seed), seat, turn, throw, faces)
        words = philox4x32([seat, turn, throw, FOR_DICE], [seed & 0xFFFFFFFF, seed >> 32])
        fraction = words[0] << 32 | words[1]
        assert faces.tolist() == [(fraction * 6 ** (die + 1) >> 64) % 6 for die in range(6)]


@pytest.mark.parametrize("dice", [1, 3, 5, 6])
def test_face_does_not_depend_on_the_number_of_dice(dice: int) -> None:
    few, all_six = np.empty(dice, np.int64), np.empty(6, np.int64)
    for turn in range(20):
        throw_faces(np.uint64(7), 1, turn, 2, few)
        throw_faces(np.uint64(7), 1, turn, 2, all_six)
        assert few.tolist() == all_six[:dice].tolist()


@entry
def fill_throws(places, out):  # (N, 4): seed, seat, turn, throw -> (N, 5)
    for i in range(len(places)):
        throw_faces(np.uint64(places[i, 0]), places[i, 1], places[i, 2], places[i, 3], out[i])


def throws_at(**indices: np.ndarray | int) -> np.ndarray:
    """Return many throws of five dice. Indices that are not given are 0."""
    columns = [np.broadcast_to(indices.get(name, 0), MANY) for name in ("seed", "seat", "turn", "throw")]
    out = np.empty((MANY, 5), np.int64)
    fill_throws(np.ascontiguousarray(np.stack(columns, axis=1).astype(np.int64)), out)
    return out


def chi_squared(cells: np.ndarray, kinds: int) -> float:
    counts = np.bincount(cells, minlength=kinds)
    expected = len(cells) / kinds
    return float(((counts - expected) ** 2).sum() / expected)


PLACES = {
    "seed": {"seed": np.arange(MANY)},
    "turn": {"turn": np.arange(MANY), "seed": 11},
    "throw": {"throw": np.arange(MANY) % 3, "turn": np.arange(MANY) // 3, "seed": 12},
    "seat": {"seat": np.arange(MANY) % 8, "turn": np.arange(MANY) // 8, "seed": 13},
}


@pytest.mark.parametrize("varying", PLACES)
def test_every_die_is_fair_along_every_index(varying: str) -> None:
    faces = throws_at(**PLACES[varying])
    for die in range(5):
        assert chi_squared(faces[:, die], 6) < ONE_IN_A_MILLION[5]


@pytest.mark.parametrize("varying", PLACES)
def test_neighbouring_throws_are_independent_along_every_index(varying: str) -> None:
    """Checks all pairs of faces of one or two dice, within a throw and between a throw and the next."""
    faces = throws_at(**PLACES[varying])
    for die, other in product(range(5), repeat=2):
        assert chi_squared(6 * faces[:-1, die] + faces[1:, other], 36) < ONE_IN_A_MILLION[35]
        if die < other:
            assert chi_squared(6 * faces[:, die] + faces[:, other], 36) < ONE_IN_A_MILLION[35]


def test_all_7776_throws_are_equally_likely() -> None:
    faces = throws_at(**PLACES["turn"])
    if JIT_OFF:  # too few throws for 7,776 cells, so only three dice are compared
        assert chi_squared(faces[:, :3] @ np.array([1, 6, 36]) % 36, 36) < ONE_IN_A_MILLION[35]
    else:
        assert chi_squared(faces @ 6 ** np.arange(5), 7776) < ONE_IN_A_MILLION[7775]


@pytest.mark.parametrize("index", ["seed", "seat", "turn", "throw"])
def test_every_index_changes_the_throw(index: str) -> None:
    """Throws that differ in one index are equal as rarely as independent throws: once in 7,776."""
    place = {"seed": np.arange(MANY) + 5, "seat": 1, "turn": np.arange(MANY) % 9, "throw": 1}
    faces, others = throws_at(**place), throws_at(**{**place, index: place[index] + 1000})
    assert (faces == others).all(axis=1).mean() < 0.002


def test_different_purposes_never_share_a_draw() -> None:
    draws = {int(derive(np.uint64(9), index, purpose, 0)) for index in range(200) for purpose in range(5)}
    assert len(draws) == 1000
    assert FOR_DICE != FOR_AGENT


def test_derive_many_agrees_with_derive() -> None:
    bases, indices = np.arange(5, dtype=np.uint64), np.array([0, 1, 2, 2**32, 2**33 + 1])
    out = np.empty(5, np.uint64)
    derive_many(bases, indices, 3, 4, out)
    assert out.tolist() == [int(derive(b, i, 3, 4)) for b, i in zip(bases, indices, strict=True)]
    for base, index, got in zip(bases.tolist(), indices.tolist(), out.tolist(), strict=True):
        words = philox4x32([index & 0xFFFFFFFF, index >> 32, 4, 3], [base, 0])
        assert got == words[0] << 32 | words[1]
