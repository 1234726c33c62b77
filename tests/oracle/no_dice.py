"""The slow oracle of `no_dice`, implemented only from the rules in docs/no_dice.md, independently of the kernels.

It uses plain loops and exact arithmetic. A throw is five face indices, one for each die (`faces_idx`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import lcm
from typing import Literal, NamedTuple

Face = int | str
Faces = tuple[int, ...]
Intermediates = Literal["any", "natural"]
Key = tuple[int, int, int] | tuple[int, int, int, int, int, str]
Decision = frozenset[int] | Key | Literal["add up"]

# The faces of the five different dice, by index 0 to 5.
FACES: tuple[tuple[Face, ...], ...] = (
    (1, 2, 3, 5, 4, 6),
    (0, 2, 1, 3, 4, 5),
    (2, "-", 3, "/", 4, 5),
    (1, "/", 6, "/", "x", "x"),
    (3, "-", 4, "-", "+", "+"),
)
DICE = range(5)
AGAIN = 6  # in a keep pattern: this die is thrown again

# --- Expressions -----------------------------------------------------------------------------------------


def apply(left: Fraction, operator: str, right: Fraction) -> Fraction:
    """Return the result of one operation. A number times or divided by zero is 0."""
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "x":
        return left * right
    return Fraction(0) if right == 0 else left / right


def is_natural(value: Fraction) -> bool:
    """Return whether a result counts: only whole numbers from zero up do."""
    return value.denominator == 1 and value >= 0


def worth(face: Face) -> int:
    """Return what a die outside an expression adds: a number its value, an operator 2."""
    return face if isinstance(face, int) else 2


def shown(faces_idx: Sequence[int]) -> tuple[Face, ...]:
    """Return the faces at these indices; raise ValueError unless there are five indices from 0 to 5."""
    if len(faces_idx) != 5 or any(index not in range(6) for index in faces_idx):
        raise ValueError(f"not five face indexes: {faces_idx!r}")
    return tuple(FACES[die][faces_idx[die]] for die in DICE)


def expressions(faces_idx: Sequence[int], intermediates: Intermediates = "any") -> dict[Key, int]:
    """Return every legal expression with its score.

    Keys name dice. `(a, op, c)`: the two other dice are left over and add their faces. `(a, op1, b, op2, c, "left")`
    is (a op1 b) op2 c; with `"right"`, a op1 (b op2 c). With `intermediates="natural"`, the bracket must satisfy the
    same condition as the result.
    """
    if intermediates not in ("any", "natural"):
        raise ValueError(f"unknown intermediates: {intermediates!r}")
    faces = shown(faces_idx)
    number = {die: Fraction(face) for die, face in enumerate(faces) if isinstance(face, int)}
    operator = {die: face for die, face in enumerate(faces) if isinstance(face, str)}
    found: dict[Key, int] = {}

    for a, c in permutations(number, 2):
        for op, sign in operator.items():
            result = apply(number[a], sign, number[c])
            if is_natural(result):
                found[a, op, c] = int(result) + sum(worth(faces[d]) for d in DICE if d not in (a, op, c))

    if len(number) == 3:  # NUMBER OPERATOR NUMBER OPERATOR NUMBER uses all five dice
        for (a, b, c), (op1, op2) in product(permutations(number), permutations(operator)):
            inside = apply(number[a], operator[op1], number[b])
            result = apply(inside, operator[op2], number[c])
            if is_natural(result) and (intermediates == "any" or is_natural(inside)):
                found[a, op1, b, op2, c, "left"] = int(result)
            inside = apply(number[b], operator[op2], number[c])
            result = apply(number[a], operator[op1], inside)
            if is_natural(result) and (intermediates == "any" or is_natural(inside)):
                found[a, op1, b, op2, c, "right"] = int(result)
    return found


def add_up(faces_idx: Sequence[int]) -> int:
    """Return the sum of all five faces, where an operator counts 2. `must_add_up` says when this applies."""
    return sum(worth(face) for face in shown(faces_idx))


def must_add_up(faces_idx: Sequence[int], intermediates: Intermediates = "any") -> bool:
    """Return whether these faces make no expression, so that they are added up after the last throw."""
    return not expressions(faces_idx, intermediates)


# --- The best turn ---------------------------------------------------------------------------------------


@cache
def _scores(intermediates: Intermediates) -> dict[Faces, frozenset[int]]:
    """Return, for each of the 7,776 throws, the different scores of its expressions."""
    return {faces: frozenset(expressions(faces, intermediates).values()) for faces in product(range(6), repeat=5)}


@cache
def _rethrows(faces: Faces) -> tuple[Faces, ...]:
    """Return the 31 keep patterns that throw a non-empty set of the dice again."""
    keeps = product((True, False), repeat=5)
    patterns = [tuple(f if keep else AGAIN for f, keep in zip(faces, ks, strict=True)) for ks in keeps]
    return tuple(pattern for pattern in patterns if AGAIN in pattern)


def _expectations(values: Mapping[Faces, tuple[int, int]]) -> dict[Faces, tuple[int, int]]:
    """Return the expected pair of every keep pattern (7^5), given the pair of each full throw.

    One thrown die is expanded at a time: the mean of six patterns in which that die is fixed. Those come earlier in
    the order of `product`, because AGAIN is the highest entry. The integers are scaled so that every mean is whole;
    a remainder is an error.
    """
    table = dict(values)
    for pattern in product(range(7), repeat=5):
        if AGAIN in pattern:
            die = pattern.index(AGAIN)
            six = [table[(*pattern[:die], face, *pattern[die + 1 :])] for face in range(6)]
            value, rest = divmod(sum(pair[0] for pair in six), 6)
            zero, rest_zero = divmod(sum(pair[1] for pair in six), 6)
            if rest or rest_zero:
                raise ArithmeticError("the scale is too small for exact division")
            table[pattern] = (value, zero)
    return table


def turn_value_and_zero(
    payoff: Callable[[int], Fraction], throws: int, intermediates: Intermediates = "any"
) -> tuple[Fraction, Fraction]:
    """Return the greatest expected payoff(score) of a turn, and the probability that the turn then scores 0.

    Before the last throw a player can stop only with an expression, or throw any non-empty set of dice again. After
    the last throw an expression must be made if there is one; otherwise the faces are added up. At each decision, of
    options with equal expectation the one more likely to score 0 is taken.

    The result is exact: payoffs and probabilities are integers times 1 / scale. The scale has a factor 6 for each
    die of each throw, so that no mean needs rounding.
    """
    if throws < 1:
        raise ValueError("a turn has at least one throw")
    options = _scores(intermediates)
    possible = frozenset().union(*options.values(), (add_up(f) for f, scores in options.items() if not scores))
    exact = {score: Fraction(payoff(score)) for score in possible}
    chances = 6 ** (5 * throws)
    scale = lcm(*(value.denominator for value in exact.values())) * chances
    pair = {score: (int(value * scale), chances if score == 0 else 0) for score, value in exact.items()}

    after_last = {f: max(pair[s] for s in (scores or (add_up(f),))) for f, scores in options.items()}
    table = _expectations(after_last)
    for _ in range(throws - 1):
        best = {
            faces: max([pair[score] for score in scores] + [table[pattern] for pattern in _rethrows(faces)])
            for faces, scores in options.items()
        }
        table = _expectations(best)
    value, zero = table[(AGAIN,) * 5]
    return Fraction(value, scale), Fraction(zero, chances)


def turn_value(payoff: Callable[[int], Fraction], throws: int, intermediates: Intermediates = "any") -> Fraction:
    """Return the greatest expected payoff(score) of a turn with `throws` throws; see `turn_value_and_zero`."""
    return turn_value_and_zero(payoff, throws, intermediates)[0]


# --- Two players, solved ---------------------------------------------------------------------------------


def solve_two_players(
    target: int, throws: int, intermediates: Intermediates = "any"
) -> dict[tuple[int, int], Fraction]:
    """Return the win probability of the player to move at (mover's score, other's score), both below target.

    A player who reaches the target is out at once, and so loses a game of two. A turn of score s > 0 leads from (a,
    b) to (b, a + s), which has a higher sum and is solved already. A score of 0 leads to (b, a), from which another
    0 leads back. With fixed policies each of the two satisfies W(a,b) = rest + zero * (1 - W(b,a)), two linear
    equations. Policies are improved until each is a best reply to the other. As zero < 1, that fixed point is
    unique.
    """
    win: dict[tuple[int, int], Fraction] = {}

    def best(mover: int, other: int, after_zero: Fraction) -> tuple[Fraction, Fraction]:
        """Return (value, probability of zero) of the best turn if a zero wins with probability after_zero."""

        def payoff(score: int) -> Fraction:
            if score == 0:
                return after_zero
            return 1 - win[other, mover + score] if mover + score < target else Fraction(0)

        return turn_value_and_zero(payoff, throws, intermediates)

    for total in range(2 * target - 2, -1, -1):
        for a in range(max(0, total - target + 1), total // 2 + 1):
            b = total - a
            x = y = Fraction(1, 2)  # W(a, b) and W(b, a), as a first guess
            for _ in range(100):
                value_x, zero_x = best(a, b, 1 - y)
                value_y, zero_y = best(b, a, 1 - x) if a != b else (value_x, zero_x)
                if (value_x, value_y) == (x, y):
                    break
                # Solve x = from_x - zero_x * y and y = from_y - zero_y * x by Cramer's rule.
                from_x = value_x + zero_x * y
                from_y = value_y + zero_y * x
                determinant = 1 - zero_x * zero_y
                x, y = (from_x - zero_x * from_y) / determinant, (from_y - zero_y * from_x) / determinant
            else:
                raise ArithmeticError(f"policy iteration did not settle at {(a, b)}")
            win[a, b], win[b, a] = x, y
    return win


# --- A whole game ----------------------------------------------------------------------------------------


class Options(NamedTuple):
    """Agreements before a game: the target, the throws in a turn, and which intermediate results are allowed."""

    target: int = 30
    throws: int = 3
    intermediates: Intermediates = "any"


class Position(NamedTuple):
    """What a player sees when choosing. `totals` is by seat; `out` is in the order of elimination."""

    seat: int
    turn_index: int
    faces: Faces
    throws_done: int
    totals: tuple[int, ...]
    out: tuple[int, ...]


class Step(NamedTuple):
    """One decision of a transcript; `score` is None when dice are thrown again."""

    seat: int
    faces: Faces
    throws_done: int
    decision: Decision
    score: int | None


class Game(NamedTuple):
    """A finished game: its decisions, totals by seat, eliminated seats in order, and the winning seat."""

    transcript: tuple[Step, ...]
    totals: tuple[int, ...]
    out: tuple[int, ...]
    winner: int


class IllegalDecision(ValueError):
    """A decision that the rules do not allow."""


def settle(options: Options, faces: Faces, throws_done: int, decision: Decision) -> int | None:
    """Return the turn's score with this decision, or None for another throw; raise IllegalDecision if not allowed."""
    seen, last = shown(faces), throws_done >= options.throws
    if isinstance(decision, frozenset):
        if last or not decision or not decision <= frozenset(DICE):
            raise IllegalDecision(f"cannot throw {sorted(decision)} again after throw {throws_done}")
        return None
    if isinstance(decision, tuple):
        found = expressions(faces, options.intermediates)
        if decision not in found:
            raise IllegalDecision(f"{decision} is no expression of {seen}")
        return found[decision]
    if decision != "add up" or not last or not must_add_up(faces, options.intermediates):
        raise IllegalDecision(f"{decision!r} is not allowed with {seen} after throw {throws_done}")
    return add_up(faces)


def play(
    options: Options,
    num_players: int,
    first_player: int,
    throw: Callable[[int, int, int, int], int],
    choose: Callable[[Position], Decision],
) -> Game:
    """Play a whole game; seats move in ascending order.

    `throw(seat, turn_index, throw_index, die)` returns the face index of each thrown die; a seat's own turns and a
    turn's throws are counted from 0. `choose` answers every position, even forced ones. The game ends when one
    player is left; players who always score 0 never end it.
    """
    if not 2 <= num_players <= 8 or not 0 <= first_player < num_players:
        raise ValueError(f"no game of {num_players} players begun by seat {first_player}")
    totals, turns = [0] * num_players, [0] * num_players
    out: list[int] = []
    transcript: list[Step] = []
    seat = first_player
    while len(out) < num_players - 1:
        if seat not in out:
            faces: list[int] = [0] * 5
            thrown, score, throws_done = frozenset(DICE), None, 0
            while score is None:
                for die in sorted(thrown):
                    faces[die] = throw(seat, turns[seat], throws_done, die)
                throws_done += 1
                now = tuple(faces)
                decision = choose(Position(seat, turns[seat], now, throws_done, tuple(totals), tuple(out)))
                score = settle(options, now, throws_done, decision)
                transcript.append(Step(seat, now, throws_done, decision, score))
                if isinstance(decision, frozenset):
                    thrown = decision
            turns[seat] += 1
            totals[seat] += score
            if totals[seat] >= options.target:
                out.append(seat)
        seat = (seat + 1) % num_players
    winner = next(s for s in range(num_players) if s not in out)
    return Game(tuple(transcript), tuple(totals), tuple(out), winner)
