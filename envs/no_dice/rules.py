"""The rules of No Dice (*Dadorik ez!*): dice, expressions and scores, as data and pure functions.

This module computes the tables that the compiled kernels read, once for each setting of the options. It knows nothing
of turns, players or environments. A changed rule needs a new version of the environment.

The 140 actions:

| index | action |
| --- | --- |
| 0 to 30 | rethrow the dice whose bits are set in `action + 1` (bit `d` is die `d`) |
| 31 to 66 | stop with a three-dice expression: number, operator, number, in this order |
| 67 to 138 | stop with a five-dice expression: number, operator, number, operator, number, and its bracket |
| 139 | after the last throw, if no expression exists: add up the faces |

Dice 0 and 1 have no operators, so no action uses them as an operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any, Literal, NamedTuple

import numpy as np

from trialea.envs.checks import whole_number
from trialea.envs.errors import OptionError

NUM_DICE = 5
NUM_OUTCOMES = 6**NUM_DICE
MIN_PLAYERS, MAX_PLAYERS = 2, 8
MIN_TARGET, MAX_TARGET = 1, 1000
MAX_THROWS = 5

# The faces of the five dice: numbers, and signs for operators.
FACES: tuple[tuple[int | str, ...], ...] = (
    (1, 2, 3, 5, 4, 6),
    (0, 2, 1, 3, 4, 5),
    (2, "−", 3, "÷", 4, 5),
    (1, "÷", 6, "÷", "×", "×"),
    (3, "−", 4, "−", "+", "+"),
)
OPERATOR_FACE_VALUE = 2
ILLEGAL = 255
SCORE_SCALE = -0.1  # of the reward "score": points are bad

NUM_REROLLS = 2**NUM_DICE - 1


class Expression(NamedTuple):
    """The dice of an expression in reading order: numbers at even places, operators at odd ones.

    `bracket` names the operator of a five-dice expression that is evaluated first, "left" or "right". It is "" for a
    three-dice expression.
    """

    dice: tuple[int, ...]
    bracket: Literal["", "left", "right"]


def _all_expressions() -> tuple[Expression, ...]:
    operator_dice = [d for d in range(NUM_DICE) if any(isinstance(face, str) for face in FACES[d])]
    three = [Expression(dice, "") for dice in permutations(range(NUM_DICE), 3) if dice[1] in operator_dice]
    five = [
        Expression(dice, bracket)
        for dice in permutations(range(NUM_DICE), 5)
        if dice[1] in operator_dice and dice[3] in operator_dice
        for bracket in ("left", "right")
    ]
    return (*three, *five)


EXPRESSIONS = _all_expressions()
ADD_UP = NUM_REROLLS + len(EXPRESSIONS)
NUM_ACTIONS: int = ADD_UP + 1


@dataclass(frozen=True, slots=True)
class Options:
    """The options of No Dice.

    Attributes:
        target: total at which a player is out, from 1 to 1000. The source says 30 "or what the table agrees".
        throws: maximum throws in a turn, from 1 to 5. The source says 3.
        intermediates: with `"any"`, the value inside a bracket may be a fraction or negative; only the result must be a
            whole number of at least 0. With `"natural"`, both must be. The source is silent.
    """

    target: int = 30
    throws: int = 3
    intermediates: Literal["any", "natural"] = "any"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", whole_number("target", self.target, MIN_TARGET, MAX_TARGET))
        object.__setattr__(self, "throws", whole_number("throws", self.throws, 1, MAX_THROWS))
        if self.intermediates not in ("any", "natural"):
            raise OptionError(f"intermediates must be 'any' or 'natural', not {self.intermediates!r}")


def num_actions(options: Options) -> int:
    """Return the size of the action space, which is the same under all options."""
    return NUM_ACTIONS


class Tables(NamedTuple):
    """The tables that the kernels read. An outcome is a throw as a base-six number; die 0 is the lowest digit.

    Attributes:
        scores: uint8 (7776, 109): the score of each expression, then of adding up; 255 if not allowed.
        first: int32 (7777,): the start of each outcome's expressions in `choices`.
        choices: uint8: the allowed expressions of every outcome, as indices into EXPRESSIONS, outcome by outcome.
        target: the total at which a player is out.
        throw_limit: maximum throws in a turn.
        per_point: float32, 1 / target.
    """

    scores: Any
    first: Any
    choices: Any
    target: int
    throw_limit: int
    per_point: Any


def outcome_index(faces: Any) -> int:
    """Return the base-six number of a throw from the face indexes of its five dice (each 0 to 5)."""
    return sum(int(face) * 6**die for die, face in enumerate(faces))


def outcome_faces(outcome: int) -> tuple[int, ...]:
    """Return the face indexes of the five dice in the throw numbered `outcome`."""
    return tuple(outcome // 6**die % 6 for die in range(NUM_DICE))


def _work_out(operator: str, left: Fraction, right: Fraction) -> Fraction:
    if operator == "+":
        return left + right
    if operator == "−":
        return left - right
    if operator == "×":
        return left * right
    return left / right if right else Fraction(0)


def _is_natural(value: Fraction) -> bool:
    return value >= 0 and value.denominator == 1


@cache
def evaluate(symbols: tuple[int | str, ...], bracket: str, natural_inside: bool) -> int | None:
    """Return the result of an expression, or None if the rules do not allow it.

    Args:
        symbols: three or five faces in reading order, numbers at even places and operators at odd ones.
        bracket: "left" or "right" for five faces, "" for three.
        natural_inside: whether the bracket's inside must itself be a whole number of at least 0.
    """
    values = [Fraction(symbol) for symbol in symbols[0::2] if isinstance(symbol, int)]
    operators = [symbol for symbol in symbols[1::2] if isinstance(symbol, str)]
    if bracket == "left":
        inside = _work_out(operators[0], values[0], values[1])
        result = _work_out(operators[1], inside, values[2])
    elif bracket == "right":
        inside = _work_out(operators[1], values[1], values[2])
        result = _work_out(operators[0], values[0], inside)
    else:
        inside = result = _work_out(operators[0], values[0], values[1])
    if not _is_natural(result) or (natural_inside and not _is_natural(inside)):
        return None
    return int(result)


def face_value(face: int | str) -> int:
    """Return the value of a left-over die: a number counts its value, an operator counts 2."""
    return face if isinstance(face, int) else OPERATOR_FACE_VALUE


def _expression_column(expression: Expression, natural_inside: bool) -> np.ndarray:
    """Return the score of one expression for each of the 7776 throws; 255 if it is not allowed.

    The result depends only on the dice in the expression. So each combination of their faces is evaluated once, and
    the values of the left-over dice are added for all their faces.
    """
    column = np.full((6,) * NUM_DICE, ILLEGAL, np.int64)  # axes: die 4 first, so that C order is outcome order
    left_over = [die for die in range(NUM_DICE) if die not in expression.dice]
    fitting = [
        [face for face in range(6) if isinstance(FACES[die][face], int) == (position % 2 == 0)]
        for position, die in enumerate(expression.dice)
    ]
    for faces in product(*fitting):
        symbols = tuple(FACES[die][face] for die, face in zip(expression.dice, faces, strict=True))
        result = evaluate(symbols, expression.bracket, natural_inside)
        if result is None:
            continue
        place: list[Any] = [slice(None)] * NUM_DICE
        for die, face in zip(expression.dice, faces, strict=True):
            place[NUM_DICE - 1 - die] = face
        score: Any = result
        for die in reversed(left_over):  # the axes that remain, in order
            values = np.array([face_value(face) for face in FACES[die]])
            score = np.add.outer(score, values)
        column[tuple(place)] = score
    return column.reshape(-1)


@cache
def _score_tables(intermediates: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    natural_inside = intermediates == "natural"
    columns = [_expression_column(expression, natural_inside) for expression in EXPRESSIONS]
    scores = np.stack([*columns, np.full(NUM_OUTCOMES, ILLEGAL)], axis=1)
    add_up = np.zeros(1, np.int64)
    for die in reversed(range(NUM_DICE)):
        add_up = np.add.outer(add_up, [face_value(face) for face in FACES[die]])
    stuck = (scores == ILLEGAL).all(axis=1)
    scores[stuck, -1] = add_up.reshape(-1)[stuck]
    allowed = scores[:, :-1] != ILLEGAL
    first = np.zeros(NUM_OUTCOMES + 1, np.int32)
    np.cumsum(allowed.sum(axis=1), out=first[1:])
    choices = np.nonzero(allowed)[1].astype(np.uint8)
    tables = (scores.astype(np.uint8), first, choices)
    for table in tables:
        table.setflags(write=False)
    return tables


def tables(options: Options) -> Tables:
    """Return the tables for a set of options. Their arrays are read-only and shared between calls."""
    return Tables(*_score_tables(options.intermediates), options.target, options.throws, np.float32(1 / options.target))
