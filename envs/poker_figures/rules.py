"""The rules of Poker Figures: dice, rows, and the value of a throw in each row, as data and pure functions.

This module computes the tables that the compiled kernels read, once for each setting of the options. It knows nothing
of turns, players or environments. A changed rule needs a new version of the environment.

The dice are sorted by face after every throw, so there are 252 different *hands*. A hand is *de mão* ("from the hand")
if the latest throw was of all five dice.

The 45 actions:

| index | action |
| --- | --- |
| 0 to 30 | rethrow the dice whose bits are set in `action + 1` (bit `i` is the die at place `i`) |
| 31 to 38 | write the throw in row `action - 31` of ROWS |
| 39 to 43 | set the throw aside for figure row `action - 39` and throw all five (only with `sum_throws`) |
| 44 | pass, after the last throw |

Among equal dice a rethrow takes the lowest places, so equivalent rethrows are offered once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np

from trialea.envs.checks import whole_number
from trialea.envs.errors import OptionError
from trialea.envs.jit import record_of

FACES = "ARDVX9"
"""The faces by index: ace, king (rei), queen (dama), jack (valete), ten, nine. The nine is the pilo."""

NINE = 5
NUM_FACES = 6
NUM_DICE = 5
NUM_THROWS = 3

ROWS = "ARDVXSFP"
"""The rows by index: the five figures, sequence, full, poker."""

NUM_ROWS = 8
NUM_FIGURES = 5
SEQUENCE, FULL, POKER = 5, 6, 7
MULTIPLIERS = (6, 5, 4, 3, 2, 1, 1, 1)

NUM_COLUMNS = 5
LEAST = (7, 6, 6, 8, 8)
"""The least result that a cell of a figure row takes, by column."""

MIN_PLAYERS, MAX_PLAYERS = 2, 6
SCORE_SCALE = 0.01  # of the reward "score"

NUM_REROLLS: int = 2**NUM_DICE - 1
WRITE = NUM_REROLLS
ASIDE = WRITE + NUM_ROWS
PASS = ASIDE + NUM_FIGURES
NUM_ACTIONS = PASS + 1

HANDS = np.array(list(combinations_with_replacement(range(NUM_FACES), NUM_DICE)), np.uint8)
"""The 252 hands in lexicographic order, (252, 5): the face at each place, rising."""

NUM_HANDS = len(HANDS)
NO_CELL = 255  # the least result of a row in which the player may write no cell: more than any result

_SEQUENCES: dict[tuple[int, ...], int] = {(1, 2, 3, 4, 5): 15, (0, 1, 2, 3, 4): 30}  # 9 X V D R and X V D R A
_POKER_REAL = (0, 0, 0, 0, 1)  # four aces and a king

HANDS.setflags(write=False)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of Poker Figures.

    Attributes:
        poker_row: adds a row P for four equal figures *de mão*: variant 1 of the source.
        sum_throws: lets players collect a figure's points over the throws of a turn: variant 2 of the source.
        full_value: points for a full, 1 to 100; *de mão* it counts double. The source is silent.
        score_open_rows: whether open rows also count. The source is silent.
        max_turns: turns of each player after which the game is truncated, 1 to 1000. Not in the source.
        rows: the rows in play, at least two letters of "ARDVXSF" in this order; all but one of them must be closed to
            end the game. Not in the source; it makes small games that can be solved exactly.
        columns: the number of columns, 1 to 5. Not in the source; for the same purpose.
    """

    poker_row: bool = False
    sum_throws: bool = False
    full_value: int = 20
    score_open_rows: bool = False
    max_turns: int = 60
    rows: str = "ARDVXSF"
    columns: int = NUM_COLUMNS

    def __post_init__(self) -> None:
        for name in ("poker_row", "sum_throws", "score_open_rows"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise OptionError(f"{name} must be True or False, not {value!r}")
            object.__setattr__(self, name, bool(value))
        for name, high in (("full_value", 100), ("max_turns", 1000), ("columns", NUM_COLUMNS)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 1, high))
        known = ROWS[:POKER]
        given: Any = self.rows
        in_order = isinstance(given, str) and given == "".join(row for row in known if row in given)
        if not in_order or len(given) < 2:
            raise OptionError(
                f"rows must be at least two different letters of {known!r} in this order, such as 'AD', not "
                f"{given!r}. To add the row P, use poker_row=True"
            )


class Tables(NamedTuple):
    """The tables that the kernels read.

    Attributes:
        hands: uint8 (252, 5): HANDS.
        hand_of: uint8 (7776,): the hand of five dice in any order, by the sum of face * 6**place.
        points: int16 (2, 252, 8): the points of each hand in each row, first not *de mão*, then *de mão*; 0 if the hand
            is not of the row's kind.
        least: int16 (8, 5): the least result of a row's cell, by column.
        asks: uint8 (8, 6): the least result by the number of cells filled; NO_CELL if the row is full or not in play.
        barriers: int16 (6, 8): added to the least result, by the row to which a turn is bound (0, or 1 + a figure
            row): 0 for rows that may be written, and for others more than any result.
        complete: uint8 (252, 5): whether all five dice count for the figure row.
        rerolls: uint8 (252, 31): 1 for each rethrow that is offered.
        first: int32 (253,): the start of each hand's rethrows in `choices`.
        choices: uint8: the offered rethrows of every hand, hand by hand, in rising order.
        multipliers: int64 (8,): the multiplier of each row.
        per_count: float32 (8,): 1 / the most that a cell of the row can hold; 0 if the row is not in play.
        worth: float32 (8,): multiplier / 120, five aces de mão counting 1.
        sum_worth: float32 (8,): multiplier / 600, five cells of five aces de mão counting 1.
        played: float32 (8,): 1 for the rows in play (P only with `poker_row`), else 0.
        in_play: the rows in play, a bit for each.
        to_close: the number of rows of the option `rows` that must be closed to end the game.
        per_column, per_turn: float32, 1 / columns and 1 / max_turns.
        columns, max_turns, sum_throws, score_open_rows, full_value: the options, as whole numbers.
    """

    hands: Any
    hand_of: Any
    points: Any
    least: Any
    asks: Any
    barriers: Any
    complete: Any
    rerolls: Any
    first: Any
    choices: Any
    multipliers: Any
    per_count: Any
    worth: Any
    sum_worth: Any
    played: Any
    in_play: int
    to_close: int
    per_column: Any
    per_turn: Any
    columns: int
    max_turns: int
    sum_throws: int
    score_open_rows: int
    full_value: int


def count_in(hand: Sequence[int], row: int, de_mao: bool, full_value: int = 20) -> int:
    """Return the points of five dice in a row; 0 if they are not of its kind.

    Args:
        hand: the five faces, rising.
        row: index in ROWS.
        de_mao: whether the latest throw was of all five dice.
        full_value: points for a full that is not *de mão*.
    """
    double = 2 if de_mao else 1
    numbers = sorted((hand.count(face) for face in range(NUM_FACES)), reverse=True)
    if row < NUM_FIGURES:
        figures = hand.count(row)
        return 10 * double if figures == NUM_DICE else 2 * figures + hand.count(NINE)
    if row == SEQUENCE:
        return double * _SEQUENCES.get(tuple(hand), 0)
    if row == FULL:
        return double * full_value if numbers[:2] == [3, 2] else 0
    if not de_mao or max(hand.count(figure) for figure in range(NUM_FIGURES)) < 4:
        return 0
    return 200 if tuple(hand) == _POKER_REAL else 100


def is_offered(hand: Sequence[int], dice: int) -> bool:
    """Return whether the rethrow of the places set in the bits of `dice` takes the lowest places among equal dice."""
    return all(
        hand[place] != hand[place + 1] or not dice >> place + 1 & 1 or bool(dice >> place & 1)
        for place in range(NUM_DICE - 1)
    )


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


@cache
def _hand_of() -> np.ndarray:
    """Return the hand of each of the 7776 ordered throws."""
    number = {tuple(hand): index for index, hand in enumerate(HANDS.tolist())}
    throws = product(range(NUM_FACES), repeat=NUM_DICE)  # which die is the lowest digit makes no difference
    return _frozen(np.array([number[tuple(sorted(dice))] for dice in throws], np.uint8))


@cache
def _rerolls() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rethrows offered for each hand: a table, the starts in the list, and the list."""
    table = np.array(
        [[is_offered(hand, dice) for dice in range(1, NUM_REROLLS + 1)] for hand in HANDS.tolist()], np.uint8
    )
    first = np.zeros(NUM_HANDS + 1, np.int32)
    np.cumsum(table.sum(axis=1), out=first[1:])
    choices = np.nonzero(table)[1].astype(np.uint8)
    return _frozen(table), _frozen(first), _frozen(choices)


@cache
def _points(full_value: int) -> np.ndarray:
    counts = [
        [[count_in(hand, row, de_mao, full_value) for row in range(NUM_ROWS)] for hand in HANDS.tolist()]
        for de_mao in (False, True)
    ]
    return _frozen(np.array(counts, np.int16))


def num_actions(options: Options) -> int:
    """Return the size of the action space, which is the same under all options."""
    return NUM_ACTIONS


@cache
def tables(options: Options) -> Any:
    """Return the tables for a set of options: a read-only record with the fields of `Tables`, made once."""
    played = [row for row in range(NUM_ROWS) if ROWS[row] in options.rows or (row == POKER and options.poker_row)]
    least = np.ones((NUM_ROWS, NUM_COLUMNS), np.int16)
    least[:NUM_FIGURES] = LEAST
    asks = np.full((NUM_ROWS, NUM_COLUMNS + 1), NO_CELL, np.uint8)
    asks[played, : options.columns] = least[played, : options.columns]
    barriers = np.full((NUM_FIGURES + 1, NUM_ROWS), 2 * NO_CELL, np.int16)
    barriers[0] = 0
    np.fill_diagonal(barriers[1:], 0)
    hands = HANDS[:, None, :]
    figures = np.arange(NUM_FIGURES)[None, :, None]
    complete = ((hands == figures) | (hands == NINE)).all(axis=2).astype(np.uint8)
    points = _points(options.full_value)
    most = points.max(axis=(0, 1)).astype(np.float32)
    if options.sum_throws:
        most[:NUM_FIGURES] *= NUM_THROWS
    made = Tables(
        hands=HANDS,
        hand_of=_hand_of(),
        points=points,
        least=_frozen(least),
        asks=_frozen(asks),
        barriers=_frozen(barriers),
        complete=_frozen(complete),
        **dict(zip(("rerolls", "first", "choices"), _rerolls(), strict=True)),
        multipliers=_frozen(np.array(MULTIPLIERS, np.int64)),
        per_count=_frozen(np.where(np.isin(np.arange(NUM_ROWS), played), 1 / most, np.float32(0))),
        worth=_frozen(np.array(MULTIPLIERS, np.float32) / 120),
        sum_worth=_frozen(np.array(MULTIPLIERS, np.float32) / 600),
        played=_frozen(np.isin(np.arange(NUM_ROWS), played).astype(np.float32)),
        in_play=sum(1 << row for row in played),
        to_close=len(options.rows) - 1,
        per_column=np.float32(1 / options.columns),
        per_turn=np.float32(1 / options.max_turns),
        columns=options.columns,
        max_turns=options.max_turns,
        sum_throws=int(options.sum_throws),
        score_open_rows=int(options.score_open_rows),
        full_value=options.full_value,
    )
    return record_of(made)
