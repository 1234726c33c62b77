"""Compare the keep lattice of Poker Figures with a direct loop, on one turn of the solo table for all fillings.

The direct loop computes the value of every keep as the mean over all outcomes of the other dice. For each of the 252
hands it then loops over the sets of dice to keep. It is compiled and vectorised like the lattice, over the same
fillings. Run it with `trialea bench solver --game poker_figures`, or `python -m trialea.benchmarks.keeper_lattice`.
"""

from __future__ import annotations

import json
import statistics
import time
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.lattice import copy, keeps_of, raise_to
from trialea.agents.poker_figures.solo import LANES, make_sheet, set_gains, solve_turn
from trialea.agents.poker_figures.turn import make_turn, take
from trialea.envs.game import Game
from trialea.envs.jit import entry
from trialea.envs.poker_figures.rules import HANDS, NUM_DICE, NUM_FACES, NUM_THROWS, Options


def direct_tables() -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return each keep's outcomes (starts, hands, probabilities) and each hand's 31 keeps, the first one twice."""
    keeps = keeps_of(NUM_DICE, NUM_FACES)
    number = {keep: index for index, keep in enumerate(keeps)}
    full = len(keeps) - len(HANDS)
    first, hands, chances = [0], [], []
    for keep in keeps[:full]:
        size = NUM_DICE - len(keep)
        outcomes = [outcome for outcome in keeps if len(outcome) == size]
        for outcome in outcomes:
            hands.append(number[tuple(sorted(keep + outcome))])
            chances.append(_chance(outcome))
        first.append(len(hands))
    kept = [[number[keep] for size in range(NUM_DICE) for keep in combinations(hand, size)] for hand in HANDS.tolist()]
    return np.array(first), np.array(hands), np.array(chances), np.array([[*row, row[0]] for row in kept])


def _chance(outcome: tuple[int, ...]) -> float:
    """Return the probability that `len(outcome)` dice show `outcome`."""
    chance, left = 1.0, len(outcome)
    for face in set(outcome):
        for k in range(outcome.count(face)):
            chance *= left / (k + 1) / NUM_FACES
            left -= 1
    return chance


@entry
def direct_level(
    stages: Any,
    blocks: Any,
    direct: Any,
    special: Any,
    chances: Any,
    first: Any,
    taken: Any,
    rows: Any,
    points: Any,
    asks: Any,
    multipliers: Any,
    strides: Any,
    radix: Any,
) -> None:
    """Do the work of `trialea.agents.poker_figures.solo.solve_level` with a direct loop in place of the lattice."""
    begins, outcomes, weights, kept = direct
    start = len(begins) - 1
    values = np.empty((start + len(kept), LANES))
    gains, fresh, out = np.empty((len(rows), LANES)), np.empty((len(special), LANES)), np.empty(LANES)
    for number in range(len(blocks)):
        block = blocks[number]
        for hand in range(len(kept)):
            for lane in range(LANES):
                values[start + hand, lane] = stages[0, block[lane]]
        for to_come in range(NUM_THROWS):
            set_gains(block, stages[to_come], rows, points, asks, multipliers, strides, radix, gains)
            for s in range(len(special)):
                copy(values[start + special[s]], fresh[s])
                take(fresh[s], gains, first[1], taken, special[s])
            for hand in range(len(kept)):
                take(values[start + hand], gains, first[0], taken, hand)
            for keep in range(start):
                mean = values[keep]
                for lane in range(np.uint64(LANES)):
                    mean[lane] = 0.0
                for index in range(begins[keep], begins[keep + 1]):
                    weight, worth = weights[index], values[outcomes[index]]
                    for lane in range(np.uint64(LANES)):
                        mean[lane] += weight * worth[lane]
            copy(values[0], out)
            for s in range(len(special)):
                chance, one, other = chances[special[s]], fresh[s], values[start + special[s]]
                for lane in range(np.uint64(LANES)):
                    out[lane] += chance * (one[lane] - other[lane])
            copy(out, values[0])
            for lane in range(LANES):
                stages[to_come + 1, block[lane]] = out[lane]
            for hand in range(len(kept)):
                best = values[start + hand]
                copy(values[0], best)
                for index in range(0, kept.shape[1], 2):
                    raise_to(best, values[kept[hand, index]], values[kept[hand, index + 1]])


def direct_turn(after: NDArray[np.float64], options: Options) -> NDArray[np.float64]:
    """Do the work of `trialea.agents.poker_figures.solo.solve_turn` with the direct loop; without `sum_throws`."""
    turn, sheet, direct = make_turn(options), make_sheet(options), direct_tables()
    stages = np.zeros((NUM_THROWS + 1, sheet.size))
    stages[0] = after
    for blocks in sheet.levels:
        tables = turn.special, turn.lattice.chances, turn.first, turn.taken, turn.rows, turn.points, turn.asks
        direct_level(stages, blocks, direct, *tables, turn.multipliers, sheet.strides, sheet.radix)
    return stages


def measure(rounds: int = 3, options: Options | None = None) -> dict[str, float]:
    """Return the lattice's time relative to the direct loop's, and the largest difference in value."""
    chosen = Options() if options is None else options
    after = np.zeros(make_sheet(chosen).size)
    lattice, direct = solve_turn(after, chosen), direct_turn(after, chosen)  # compiled here
    times: list[tuple[float, float]] = []
    for _ in range(rounds):
        began = time.perf_counter()
        solve_turn(after, chosen)
        half = time.perf_counter()
        direct_turn(after, chosen)
        times.append((half - began, time.perf_counter() - half))
    return {
        "keeper_lattice_share": statistics.median(ours / theirs for ours, theirs in times),
        "keeper_lattice_seconds": statistics.median(ours for ours, _ in times),
        "direct_loop_seconds": statistics.median(theirs for _, theirs in times),
        "keeper_lattice_difference": float(np.abs(lattice - direct).max()),
    }


def lattice_vs_direct_loop(game: str) -> dict[str, float]:
    """Run `measure` with the game's default options, for `trialea bench solver`."""
    return measure(options=Game(game).options)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
