"""Tests of the solo table of Poker Figures, and of one turn, against plain recursion."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of
from trialea import OptionError
from trialea.agents import lattice, solve
from trialea.agents.poker_figures.solo import SoloSolution, compute, make_sheet, solve_turn
from trialea.agents.poker_figures.turn import make_turn
from trialea.envs.jit import entry
from trialea.envs.poker_figures.rules import HANDS, Options


@cache
def throws_of(dice: int, faces: int) -> Counter[tuple[int, ...]]:
    """Return every throw, sorted, with the number of its orders."""
    return Counter(tuple(sorted(throw)) for throw in product(range(faces), repeat=dice))


# --- The solo table against plain recursion --------------------------------------------------------------

LEAST = (7, 6, 6, 8, 8)
MULTIPLIERS = dict(zip("ARDVXSFP", (6, 5, 4, 3, 2, 1, 1, 1), strict=True))


def counted(row: str, dice: tuple[int, ...], de_mao: bool) -> int:
    """Return the points of five dice in a row, computed from the rules."""
    faces = ["ARDVX9"[face] for face in dice]
    number, double = Counter(faces), 2 if de_mao else 1
    if row in "ARDVX":
        return 10 * double if number[row] == 5 else 2 * number[row] + number["9"]
    if row == "S":
        return double * {"9DRVX": 15, "ADRVX": 30}.get("".join(sorted(faces)), 0)
    if row == "F":
        return 20 * double if sorted(number.values()) == [2, 3] else 0
    if not de_mao or max(number[figure] for figure in "ARDVX") < 4:
        return 0
    return 200 if number["A"] == 4 and number["R"] == 1 else 100


class Recursion:
    """The game for one player, solved by plain recursion in exact fractions."""

    def __init__(self, rows: str, columns: int, poker_row: bool, sum_throws: bool) -> None:
        self.closing, self.rows = rows, rows + "P" * poker_row
        self.columns, self.sums = columns, sum_throws
        self.throw = cache(self._throw)

    def over(self, cells: tuple[int, ...]) -> bool:
        """Return whether the game is over."""
        full = [row for row, count in zip(self.rows, cells, strict=True) if count == self.columns and row != "P"]
        return len(full) >= len(self.closing) - 1

    def _throw(
        self, cells: tuple[int, ...], turns: int, to_come: int, kept: tuple[int, ...], row: str, aside: int
    ) -> Fraction:
        """Return the value of throwing the dice not kept; `to_come` counts the throws left, including this one."""
        if self.over(cells) or turns == 0:
            return Fraction(0)
        if to_come == 0:
            return self._throw(cells, turns - 1, 3, (), "", 0)
        fallen = throws_of(5 - len(kept), 6)
        total = Fraction(0)
        for throw, count in fallen.items():
            dice = tuple(sorted(kept + throw))
            total += count * self.decide(cells, turns, to_come - 1, dice, not kept, row, aside)
        return total / 6 ** (5 - len(kept))

    def decide(
        self, cells: tuple[int, ...], turns: int, left: int, dice: tuple[int, ...], de_mao: bool, row: str, aside: int
    ) -> Fraction:
        """Return the value of the best decision with these dice."""
        choices = [] if left else [self.throw(cells, turns, 0, (), "", 0)]
        for place, name in enumerate(self.rows):
            if row not in ("", name) or cells[place] == self.columns:
                continue
            result = aside + counted(name, dice, de_mao)
            if result >= (LEAST[cells[place]] if name in "ARDVX" else 1):
                after = (*cells[:place], cells[place] + 1, *cells[place + 1 :])
                choices.append(MULTIPLIERS[name] * result + self.throw(after, turns, left, (), "", 0))
            figures = {"ARDVX".find(name), 5}
            if self.sums and left and name in "ARDVX" and set(dice) <= figures:
                choices.append(self.throw(cells, turns, left, (), name, result))
        if left:
            for kept in {kept for size in range(5) for kept in combinations(dice, size)}:
                choices.append(self.throw(cells, turns, left, kept, row, aside))
        return max(choices)


@pytest.mark.parametrize(
    ("rows", "columns", "poker_row", "sum_throws", "turns"),
    [
        ("AD", 2, False, False, 2),
        ("SF", 1, True, False, 2),
        ("DF", 1, False, True, 2),
        pytest.param("ADS", 2, False, False, 2, marks=pytest.mark.slow),
        pytest.param("AX", 2, False, True, 2, marks=pytest.mark.slow),
    ],
)
def test_solo_values_match_exact_rationals(
    rows: str, columns: int, poker_row: bool, sum_throws: bool, turns: int
) -> None:
    game = game_of("poker_figures", rows=rows, columns=columns, poker_row=poker_row, sum_throws=sum_throws)
    values, facts = compute(game, turns)
    solution = SoloSolution(game, turns, values, facts["seconds"])
    recursion = Recursion(rows, columns, poker_row, sum_throws)
    for count in range(1, turns + 1):
        exact = recursion.throw((0,) * len(recursion.rows), count, 3, (), "", 0)
        assert solution.value(count) == pytest.approx(float(exact), abs=1e-11)


def test_solo_values_match_the_published_ones() -> None:
    summary: dict[str, Any] = solve(game_of("poker_figures"), turns=6).summary()
    assert summary["values_by_turns"] == pytest.approx(
        [23.8600, 49.2255, 75.7244, 102.9388, 130.5551, 158.3451], abs=5e-5
    )
    assert summary["value"] == summary["values_by_turns"][-1]
    assert (summary["turns"], summary["fillings"]) == (6, 6**7)


def test_solo_values_increase_with_turns_and_are_zero_at_the_end() -> None:
    game = game_of("poker_figures", rows="ADF", columns=3)
    values, _ = compute(game, 4)
    assert (np.diff(values, axis=0) >= -1e-12).all()
    assert values[:, -1].max() == 0  # every row is full, so the game is over
    assert (values[0] == 0).all()


def test_simulated_solo_policy_scores_its_table_value() -> None:
    """Plays two turns by the table's own stages, in plain Python."""
    game = game_of("poker_figures", rows="AD", columns=2)
    options, turn = game.options, make_turn(game.options)
    strides = make_sheet(options).strides
    values, _ = compute(game, 2)
    rng = np.random.default_rng(1)
    keeps = lattice.keeps_of(5, 6)
    cached: dict[tuple[int, int, int], np.ndarray] = {}
    stages = [solve_turn(values[t], options) for t in range(2)]

    def hand_values(t: int, to_come: int, filling: int) -> np.ndarray:
        """Return the value of throwing again for every keep: the mean over the hands with `to_come` throws left."""
        key = (t, to_come, filling)
        if key not in cached:
            shape = turn.lattice
            work = np.zeros((shape.num_keeps, 1))
            for number, hand in enumerate(HANDS.tolist()):
                work[shape.num_partial + number] = max(options_of(t, to_come - 1, filling, tuple(hand), False).values())
            cached[key] = expect_only(work, shape)[:, 0]
        return cached[key]

    def options_of(t: int, left: int, filling: int, hand: tuple[int, ...], de_mao: bool) -> dict[Any, float]:
        """Return the value of each decision with this hand."""
        found: dict[Any, float] = {"pass": stages[t][0, filling]} if left == 0 else {}
        for place, name in enumerate("ARD"):
            cells = filling // strides[place] % 3 if strides[place] else 2
            result = counted(name, hand, de_mao)
            if cells < 2 and result >= LEAST[cells]:
                found[name] = MULTIPLIERS[name] * result + stages[t][left, filling + strides[place]]
        if left:
            row = hand_values(t, left, filling)
            for kept in {kept for size in range(1, 5) for kept in combinations(hand, size)}:
                found[kept] = row[keeps.index(kept)]
            found[()] = stages[t][left, filling]
        return found

    scores = []
    for _ in range(3000):
        filling, score = 0, 0
        for t in (1, 0):
            if values[1, filling] == 0:
                break
            kept: tuple[int, ...] = ()
            for left in (2, 1, 0):
                hand = tuple(sorted((*kept, *rng.integers(0, 6, 5 - len(kept)).tolist())))
                de_mao = not kept
                choices = options_of(t, left, filling, hand, de_mao)
                choice = max(choices, key=choices.__getitem__)
                kept = choice if isinstance(choice, tuple) else ()
                if isinstance(choice, str) and choice != "pass":
                    score += MULTIPLIERS[choice] * counted(choice, hand, de_mao)
                    filling += strides["ARD".index(choice)]
                    if values[1, filling] == 0:
                        break
        scores.append(score)
    error = np.std(scores) / len(scores) ** 0.5
    assert abs(np.mean(scores) - values[2, 0]) < 4 * error


@entry
def expect_only(values, shape):
    """Return the lattice's expectations in place."""
    lattice.expect_keeps(values, shape)
    return values


# --- Input checks ----------------------------------------------------------------------------------------


def test_wrong_numbers_of_turns_and_positions_raise() -> None:
    game = game_of("poker_figures")
    with pytest.raises(OptionError, match="turns"):
        solve(game)
    for turns in (0, -1, 1001, 2.5):
        with pytest.raises(OptionError, match="turns must be"):
            solve(game, turns=turns)
    with pytest.raises(OptionError, match="turns must be at most"):
        solve(game, turns=900)
    solution = solve(game_of("poker_figures", rows="AD", columns=1), turns=1)
    with pytest.raises(OptionError, match="rows AD"):
        solution.summary((0, 0, 0))
    with pytest.raises(OptionError, match="cells"):
        solution.summary((0, 2))


def test_sheet_size_depends_on_rows_columns_and_pokers() -> None:
    assert make_sheet(Options(rows="AD", columns=2)).size == 9
    assert make_sheet(Options(rows="AD", columns=2, poker_row=True)).size == 27
