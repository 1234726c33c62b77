"""One turn of Poker Figures, solved exactly for any values of the positions between turns.

A turn has three throws. A position within it is given by what has been written so far, the *node*, and by the number of
throws still to come. Let F_k(node) be the value with k throws to come, the next of them of all five dice. F_0 is the
value of the position after the turn. After a throw with k - 1 more to come the player has these choices:

- write the throw in a row, which leads to F_(k-1) of another node, since all five dice are thrown again;
- throw some of the dice again: the keep lattice (`trialea.agents.lattice`) gives the best choice of them;
- throw all five again: F_(k-1) of the same node, *de mão* again;
- set points aside (`sum_throws`), see `gather`;
- with k = 1, pass: F_0 of the same node.

So a node needs the F of the nodes with one more cell, and a lattice for each throw but the first. Kernels work on N
nodes at once, the innermost and vectorised axis. A *result* is a row and the points that a throw may count in it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.lattice import KeepLattice, choose_keeps, copy, expect_keeps, keeps_of, make_keep_lattice, raise_to
from trialea.envs.jit import kernel
from trialea.envs.poker_figures.rules import (
    HANDS,
    NINE,
    NUM_DICE,
    NUM_FACES,
    NUM_FIGURES,
    NUM_REROLLS,
    NUM_ROWS,
    Options,
    tables,
)

MAX_GATHERED = 60  # three throws of 20
FULL_FIGURE = 10  # what five of a figure count, twice that de mão
_FIGURE, _PILO, _OTHER = range(3)  # the kinds of face while a turn is bound to a figure row


class Gathering(NamedTuple):
    """The dice while a turn is bound to a figure row: each shows the row's figure, the pilo, or another face.

    Attributes:
        lattice: the keeps of five such dice.
        points: (2, 21) int64, what each throw counts in the row, first not *de mão*, then *de mão*.
        complete: (21,) uint8, whether all five dice count.
        firsts: (7,) int64, the sums that one throw can set aside.
        sums: int64, those that one or two throws can.
        kind_of: (5, 6) int64, the kind of each face, for each row.
    """

    lattice: KeepLattice
    points: Any
    complete: Any
    firsts: Any
    sums: Any
    kind_of: Any


class Turn(NamedTuple):
    """The tables by which the kernels solve a turn.

    Attributes:
        lattice: the keeps of five dice; its full throws are the hands in the order of `rules.HANDS`.
        rows, points: (R,) int64, the row and the points of each result. Those from `num_writes` on are not to be
            written but to be set aside.
        num_writes: the number of results that can be written.
        num_results: R, the number of all results.
        taken: (pairs, 2) int64, the results that a throw allows by its kind, by twos, the last twice where their number
            is odd: for every hand not *de mão*, then for every hand *de mão*.
        first: (2, 253) int64, where the stretches of `taken` begin.
        class_chances: (C,) float64, the probability that a throw of all five allows just these results, class by class.
        class_taken, class_first: those results, as in `taken` and `first`.
        special: (S,) int64, the hands that allow other results *de mão*.
        kept: (252, 31) int64, the keep that each rethrow of each hand leaves.
        asks: (8, 6) int16, the least that a row's next cell takes, by the cells filled.
        multipliers: (8,) int64.
        in_play, to_close, columns: as in `rules.Tables`.
        gathering: the dice of a bound turn.
    """

    lattice: KeepLattice
    rows: Any
    points: Any
    num_writes: int
    num_results: int
    taken: Any
    first: Any
    class_chances: Any
    class_taken: Any
    class_first: Any
    special: Any
    kept: Any
    asks: Any
    multipliers: Any
    in_play: int
    to_close: int
    columns: int
    gathering: Gathering


def _allowed(options: Options) -> list[list[list[tuple[int, int, bool]]]]:
    """Return, for [de mão][hand], every use of the throw: (row, points, whether they are set aside)."""
    rules = tables(options)
    least = rules.asks.min(axis=1)
    found: list[list[list[tuple[int, int, bool]]]] = [[[] for _ in HANDS] for _ in range(2)]
    for fresh, hand, row in np.ndindex(2, len(HANDS), NUM_ROWS):
        points = int(rules.points[fresh, hand, row])
        if points >= least[row]:
            found[fresh][hand].append((row, points, False))
        if row < NUM_FIGURES and rules.sum_throws and rules.in_play >> row & 1 and rules.complete[hand, row]:
            found[fresh][hand].append((row, points, True))
    return found


@cache
def make_turn(options: Options) -> Turn:
    """Return the tables of a turn under these options."""
    rules = tables(options)
    allowed = _allowed(options)
    results = sorted({use for fresh in allowed for hand in fresh for use in hand}, key=lambda use: (use[2], use[:2]))
    number = {use: index for index, use in enumerate(results)}
    lists = [[number[use] for use in hand] for fresh in allowed for hand in fresh]
    pairs = [[(uses[i], uses[min(i + 1, len(uses) - 1)]) for i in range(0, len(uses), 2)] for uses in lists]
    begins = np.cumsum([0, *map(len, pairs)])
    lattice = make_keep_lattice(NUM_DICE, [1 / NUM_FACES] * NUM_FACES)
    classes: dict[tuple[tuple[int, int], ...], float] = {}
    for row, chance in zip(pairs[len(HANDS) :], lattice.chances, strict=True):
        classes[tuple(row)] = classes.get(tuple(row), 0.0) + float(chance)
    return Turn(
        lattice=lattice,
        rows=np.array([row for row, _, _ in results]),
        points=np.array([points for _, points, _ in results]),
        num_writes=sum(not aside for _, _, aside in results),
        num_results=len(results),
        taken=np.array([pair for row in pairs for pair in row], np.int64).reshape(-1, 2),
        first=np.stack([begins[: len(HANDS) + 1], begins[len(HANDS) :]]),
        class_chances=np.array(list(classes.values())),
        class_taken=np.array([pair for row in classes for pair in row], np.int64).reshape(-1, 2),
        class_first=np.cumsum([0, *map(len, classes)]),
        special=np.array([hand for hand in range(len(HANDS)) if allowed[0][hand] != allowed[1][hand]], np.int64),
        kept=_kept(),
        asks=rules.asks,
        multipliers=rules.multipliers,
        in_play=rules.in_play,
        to_close=rules.to_close,
        columns=rules.columns,
        gathering=_make_gathering(),
    )


@cache
def _kept() -> NDArray[np.int64]:
    number = {keep: index for index, keep in enumerate(keeps_of(NUM_DICE, NUM_FACES))}
    rethrows = range(1, NUM_REROLLS + 1)
    return np.array(
        [
            [number[tuple(face for place, face in enumerate(hand) if not dice >> place & 1)] for dice in rethrows]
            for hand in HANDS.tolist()
        ]
    )


@cache
def _make_gathering() -> Gathering:
    throws = [keep for keep in keeps_of(NUM_DICE, 3) if len(keep) == NUM_DICE]
    counts = np.array([[throw.count(kind) for kind in range(3)] for throw in throws])
    points = 2 * counts[:, _FIGURE] + counts[:, _PILO]
    whole = counts[:, _FIGURE] == NUM_DICE
    complete = counts[:, _OTHER] == 0
    firsts = sorted({*points[complete].tolist(), 2 * FULL_FIGURE})
    kind_of = np.full((NUM_FIGURES, NUM_FACES), _OTHER)
    kind_of[:, NINE] = _PILO
    np.fill_diagonal(kind_of, _FIGURE)
    return Gathering(
        lattice=make_keep_lattice(NUM_DICE, [1 / 6, 1 / 6, 4 / 6]),
        points=np.stack([points, np.where(whole, 2 * FULL_FIGURE, points)]),
        complete=complete.astype(np.uint8),
        firsts=np.array(firsts),
        sums=np.array(sorted({*firsts, *(a + b for a in firsts for b in firsts)})),
        kind_of=kind_of,
    )


@kernel
def take(out: Any, gains: Any, first: Any, taken: Any, hand: Any) -> None:
    """Raise a throw's value `out` (N,) to the best result that the throw allows, of values `gains` (R, N)."""
    for pair in range(first[hand], first[hand + 1]):
        raise_to(out, gains[taken[pair, 0]], gains[taken[pair, 1]])


@kernel
def go_back(values: Any, gains: Any, fresh: Any, lattice: Any, first: Any, taken: Any, special: Any, out: Any) -> None:
    """Go back over one throw: from the values of its possible uses to the value of throwing.

    Args:
        values: (num_keeps, N), in: at the full throws, what each is worth where it is used for no result; out: at every
            keep the value of throwing the other dice, if not all five of them.
        gains: (R, N), the value of each result, minus infinity where it is not allowed.
        fresh: (S, N), scratch.
        lattice, first, taken, special: as in `Turn`.
        out: (N,), the value of throwing all five dice.
    """
    start = lattice.num_partial
    for s in range(len(special)):
        copy(values[start + special[s]], fresh[s])
        take(fresh[s], gains, first[1], taken, special[s])
    for hand in range(len(lattice.chances)):
        take(values[start + hand], gains, first[0], taken, hand)
    expect_keeps(values, lattice)
    copy(values[0], out)
    for s in range(len(special)):
        chance, one, other = lattice.chances[special[s]], fresh[s], values[start + special[s]]
        for lane in range(np.uint64(len(out))):
            out[lane] += chance * (one[lane] - other[lane])


@kernel
def choose_rethrow(values: Any, again: Any, lattice: Any) -> None:
    """Give every full throw of `values` (num_keeps, N) its best rethrow; `again` (N,) is that of all five dice."""
    copy(again, values[0])
    choose_keeps(values, lattice)


@kernel
def gather(stay: Any, written: Any, values: Any, gathering: Any, once: Any, twice: Any) -> None:
    """Compute the values of having set points aside for one figure row, with one throw to come and with two.

    The turn is then bound: only the row's figure, the pilo and other faces differ. Points not written are lost.

    Args:
        stay: (N,), the value of the position if nothing is written before the turn ends.
        written: (2, 61, N), the value of writing so many points in the row with no throw to come and with one, minus
            infinity where the row does not take them.
        values: (keeps of the gathering's lattice, N), scratch.
        gathering: the tables.
        once: (61, N), out: for the sums that can be set aside, the value of throwing all five with none to come.
        twice: (61, N), out: the same with one to come, for the sums that one throw can set aside.
    """
    lattice, lanes = gathering.lattice, np.uint64(len(stay))
    start = lattice.num_partial
    for total in gathering.sums:
        out = once[total]
        for lane in range(lanes):
            out[lane] = 0.0
        for throw in range(len(lattice.chances)):
            chance, gain = lattice.chances[throw], written[0, total + gathering.points[1, throw]]
            for lane in range(lanes):
                out[lane] += chance * max(stay[lane], gain[lane])
    for total in gathering.firsts:
        for throw in range(len(lattice.chances)):
            gain, worth = written[0, total + gathering.points[0, throw]], values[start + throw]
            for lane in range(lanes):
                worth[lane] = max(stay[lane], gain[lane])
        expect_keeps(values, lattice)
        copy(once[total], values[0])
        choose_keeps(values, lattice)
        out = twice[total]
        for lane in range(lanes):
            out[lane] = 0.0
        for throw in range(len(lattice.chances)):
            reached = total + gathering.points[1, throw]
            worth = values[start + throw]
            aside = once[reached] if gathering.complete[throw] else worth
            raise_to(worth, written[1, reached], aside)
            chance = lattice.chances[throw]
            for lane in range(lanes):
                out[lane] += chance * worth[lane]
