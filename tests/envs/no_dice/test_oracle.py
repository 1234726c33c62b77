"""Tests of the slow oracle of No Dice against examples from the source and sums by hand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from random import Random

import pytest

from tests.oracle import no_dice as oracle
from tests.oracle.no_dice import FACES, Decision, Faces, IllegalDecision, Key, Options, Position


def throw_of(*faces: oracle.Face) -> Faces:
    """Return, for each die, the first face index that shows the given face."""
    return tuple(FACES[die].index(face) for die, face in enumerate(faces))


def zero(score: int) -> Fraction:
    """Return the payoff that is 1 for a score of 0, else 0."""
    return Fraction(score == 0)


# --- Examples from the source ----------------------------------------------------------------------------


def test_source_five_minus_four_with_two_dice_left_scores_six() -> None:
    """The source's example: 5 - 4, and the other two dice are worth 5."""
    found = oracle.expressions(throw_of(5, 4, 4, 1, "-"))
    assert found[0, 4, 1] == 1 + (4 + 1)


def test_source_five_minus_three_divided_by_zero_scores_zero() -> None:
    """The source's example: (5 - 3) / 0. With the other bracket it is 5 - 0."""
    found = oracle.expressions(throw_of(5, 0, 3, "/", "-"))
    assert found[0, 4, 2, 3, 1, "left"] == 0
    assert found[0, 4, 2, 3, 1, "right"] == 5


def test_source_five_minus_bracket_scores_three() -> None:
    """The source's example: 5 - (6 / 3)."""
    found = oracle.expressions(throw_of(6, 5, 3, "/", "-"))
    assert found[1, 4, 0, 3, 2, "right"] == 3
    assert (1, 4, 0, 3, 2, "left") not in found  # -1 / 3


# --- Expressions -----------------------------------------------------------------------------------------


def test_opposite_faces_match_the_source() -> None:
    pairs = [
        [{1, 2}, {3, 5}, {4, 6}],
        [{0, 2}, {1, 3}, {4, 5}],
        [{2, "-"}, {3, "/"}, {4, 5}],
        [{1, "/"}, {6, "/"}, {"x"}],
        [{3, "-"}, {4, "-"}, {"+"}],
    ]
    assert [[set(die[i : i + 2]) for i in (0, 2, 4)] for die in FACES] == pairs


def test_unused_operator_scores_two() -> None:
    found = oracle.expressions(throw_of(5, 4, 3, "/", "-"))
    assert found[0, 4, 1] == 1 + 3 + 2


@pytest.mark.parametrize("left_over_zero", [True, False])
def test_division_by_zero_and_of_zero_gives_zero(left_over_zero: bool) -> None:
    found = oracle.expressions(throw_of(4, 0, 5, "/", "+"))
    if left_over_zero:
        assert found[0, 3, 1] == 0 + 5 + 2  # 4 / 0, with 5 and + left over
    else:
        assert found[2, 4, 0, 3, 1, "right"] == 5  # 5 + (4 / 0)
        assert found[0, 3, 1, 4, 2, "left"] == 5  # (4 / 0) + 5
        assert found[1, 3, 0, 4, 2, "left"] == 5  # (0 / 4) + 5


def test_fractional_and_negative_results_are_not_expressions() -> None:
    found = oracle.expressions(throw_of(5, 4, 3, "/", "-"))
    assert (1, 4, 0) not in found  # 4 - 5
    assert (0, 3, 1) not in found  # 5 / 4


def test_expressions_of_two_numbers_use_three_dice() -> None:
    """The throw is 1, 2 and - / +, so two operators are always left over."""
    assert oracle.expressions(throw_of(1, 2, "-", "/", "+")) == {
        (1, 2, 0): 1 + 4,  # 2 - 1
        (1, 3, 0): 2 + 4,  # 2 / 1
        (0, 4, 1): 3 + 4,
        (1, 4, 0): 3 + 4,
    }


def test_five_numbers_must_be_added_up() -> None:
    faces = throw_of(6, 5, 4, 1, 3)
    assert oracle.must_add_up(faces)
    assert oracle.add_up(faces) == 19


def test_throw_with_only_fractional_divisions_must_be_added_up() -> None:
    faces = throw_of(3, 5, "/", "/", 4)
    assert oracle.expressions(faces) == {}
    assert oracle.must_add_up(faces)
    assert oracle.add_up(faces) == 3 + 5 + 2 + 2 + 4


def test_576_throws_without_operators_must_be_added_up() -> None:
    """Dice 2 to 4 have 4 x 2 x 2 number faces, so 36 x 16 throws have no operator."""
    forced = {faces for faces in product(range(6), repeat=5) if oracle.must_add_up(faces)}
    numbers = {f for f in forced if all(isinstance(face, int) for face in oracle.shown(f))}
    assert len(numbers) == 576
    # the other throws that must be added up have only divisions with fractional results
    assert all(set(map(str, oracle.shown(f))) & {"+", "-", "x"} == set() for f in forced)


def test_intermediates_option_changes_which_expressions_count() -> None:
    negative = throw_of(3, 0, 5, "x", "-")  # (3 - 5) x 0
    fraction = throw_of(3, 2, "/", "x", 4)  # (3 / 2) x 4
    for faces, key, score in (
        (negative, (0, 4, 2, 3, 1, "left"), 0),
        (fraction, (0, 2, 1, 3, 4, "left"), 6),
    ):
        assert oracle.expressions(faces, "any")[key] == score
        assert key not in oracle.expressions(faces, "natural")


@pytest.mark.slow
def test_natural_expressions_are_a_subset_of_any() -> None:
    for faces in product(range(6), repeat=5):
        loose, strict = oracle.expressions(faces, "any"), oracle.expressions(faces, "natural")
        assert strict.items() <= loose.items()
        assert {k for k in loose if len(k) == 3} == {k for k in strict if len(k) == 3}


@dataclass(frozen=True)
class Exact:
    """A number for `eval` with the game's division."""

    value: Fraction

    def __add__(self, other: Exact) -> Exact:
        return Exact(self.value + other.value)

    def __sub__(self, other: Exact) -> Exact:
        return Exact(self.value - other.value)

    def __mul__(self, other: Exact) -> Exact:
        return Exact(self.value * other.value)

    def __truediv__(self, other: Exact) -> Exact:
        return Exact(self.value / other.value if other.value else Fraction(0))


def test_expressions_agree_with_python_eval() -> None:
    """A second method: write each order of the dice as Python text and evaluate it."""
    random = Random(2024)
    for _ in range(300):
        faces = tuple(random.randrange(6) for _ in range(5))
        face = oracle.shown(faces)
        text = [f"Exact(Fraction({f}))" if isinstance(f, int) else f.replace("x", "*") for f in face]
        kind = "".join("n" if isinstance(f, int) else "o" for f in face)
        want: dict[object, int] = {}
        for size, pattern in ((3, "non"), (5, "nonon")):
            for order in permutations(range(5), size):
                if "".join(kind[die] for die in order) != pattern:
                    continue
                t = [text[die] for die in order]
                if size == 3:
                    rest = sum(oracle.worth(face[die]) for die in range(5) if die not in order)
                    forms: list[tuple[tuple[int | str, ...], int, str]] = [(order, rest, "".join(t))]
                else:
                    forms = [
                        ((*order, "left"), 0, f"({''.join(t[:3])}){''.join(t[3:])}"),
                        ((*order, "right"), 0, f"{''.join(t[:2])}({''.join(t[2:])})"),
                    ]
                for key, rest, formula in forms:
                    result: Fraction = eval(formula, {"Exact": Exact, "Fraction": Fraction}).value
                    if result >= 0 and result == int(result):
                        want[key] = int(result) + rest
        assert oracle.expressions(faces) == want


@pytest.mark.parametrize("faces", [(0, 0, 0, 0), (0, 0, 0, 0, 6), (0, 0, 0, 0, -1)])
def test_expressions_require_five_valid_face_indices(faces: Faces) -> None:
    with pytest.raises(ValueError, match="five face indexes"):
        oracle.expressions(faces)


# --- The best turn ---------------------------------------------------------------------------------------


def test_value_of_one_throw_is_the_plain_mean() -> None:
    best = []
    for faces in product(range(6), repeat=5):
        scores = oracle.expressions(faces).values()
        best.append(min(scores) if scores else oracle.add_up(faces))
    assert oracle.turn_value(lambda score: Fraction(-score), 1) == Fraction(-sum(best), 6**5)
    assert oracle.turn_value(zero, 1) == Fraction(best.count(0), 6**5)


@pytest.mark.parametrize(
    ("throws", "value"),
    [
        (1, Fraction(1, 6) ** 3 * Fraction(1, 3) ** 2),
        (2, Fraction(11, 36) ** 3 * Fraction(5, 9) ** 2),
        (3, Fraction(91, 216) ** 3 * Fraction(19, 27) ** 2),
    ],
)
def test_highest_score_needs_one_face_of_each_die(throws: int, value: Fraction) -> None:
    """Only (5 + 5) x 6 makes 60: a 6, two 5s, x and +, each kept as soon as it shows."""
    scores = {s for f in product(range(6), repeat=5) for s in oracle.expressions(f).values()}
    assert max(scores) == 60
    assert oracle.turn_value(lambda score: Fraction(score == 60), throws) == value


@pytest.mark.parametrize("intermediates", ["any", "natural"])
def test_probability_of_zero_equals_the_value_of_paying_for_zero(intermediates: oracle.Intermediates) -> None:
    value, chance = oracle.turn_value_and_zero(zero, 2, intermediates)
    assert value == chance
    assert value > oracle.turn_value(zero, 1, intermediates)


def test_turn_value_is_linear_in_the_payoff() -> None:
    assert oracle.turn_value(lambda _: Fraction(3, 7), 2) == Fraction(3, 7)
    low = oracle.turn_value_and_zero(lambda score: Fraction(-score), 2)
    scaled = oracle.turn_value_and_zero(lambda score: Fraction(2, 9) - Fraction(5, 11) * score, 2)
    assert scaled == (Fraction(2, 9) + Fraction(5, 11) * low[0], low[1])


@pytest.mark.slow
def test_two_throws_agree_with_direct_sums_at_one_position() -> None:
    """For (6, 5, 3, /, -) each of the 31 rerolls is summed without keep patterns."""
    faces = throw_of(6, 5, 3, "/", "-")

    def best(now: Faces) -> int:
        return -min(oracle.expressions(now).values() or [oracle.add_up(now)])

    table = oracle._expectations({f: (best(f) * 6**5, 0) for f in product(range(6), repeat=5)})
    rethrows = oracle._rethrows(faces)
    assert len(set(rethrows)) == 31
    for pattern in rethrows:
        thrown = pattern.count(oracle.AGAIN)
        total = 0
        for new in product(range(6), repeat=thrown):
            fresh = iter(new)
            total += best(tuple(next(fresh) if f == oracle.AGAIN else f for f in pattern))
        assert Fraction(table[pattern][0], 6**5) == Fraction(total, 6**thrown)


# --- Two players -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("throws", [1, 2])
def test_with_target_one_only_a_score_of_zero_survives(throws: int) -> None:
    """The value is W = p (1 - W), where p is the best probability of scoring zero."""
    chance = oracle.turn_value(zero, throws)
    assert oracle.solve_two_players(1, throws) == {(0, 0): chance / (1 + chance)}


@pytest.mark.parametrize(("target", "throws"), [(3, 1), pytest.param(2, 2, marks=pytest.mark.slow)])
def test_every_value_equals_its_own_best_turn(target: int, throws: int) -> None:
    win = oracle.solve_two_players(target, throws)
    assert set(win) == set(product(range(target), repeat=2))
    for (mover, other), value in win.items():

        def payoff(score: int, mover: int = mover, other: int = other) -> Fraction:
            return 1 - win.get((other, mover + score), Fraction(1))  # the mover is out, so the other player has won

        assert oracle.turn_value(payoff, throws) == value


@pytest.mark.slow
def test_value_depends_only_on_points_missing_to_the_target() -> None:
    small, large = oracle.solve_two_players(2, 1), oracle.solve_two_players(3, 1)
    assert all(large[a + 1, b + 1] == value for (a, b), value in small.items())


# --- Whole games -----------------------------------------------------------------------------------------


def lowest(position: Position) -> Decision:
    """Stop with the lowest expression. Without one reroll all dice, and add up after the last throw."""
    found = oracle.expressions(position.faces)
    if found:
        return min(found, key=lambda key: (found[key], str(key)))
    return "add up" if position.throws_done == 3 else frozenset(range(5))


def test_game_by_hand_with_three_players() -> None:
    """The target is 6 and the throws are the source's. Seat 1 starts and is out at once with 6 points."""
    six, none, good = throw_of(5, 4, 4, 1, "-"), throw_of(6, 5, 4, 1, 3), throw_of(5, 0, 3, "/", "-")
    dice = {(1, 0): [six], (2, 0): [none, good], (0, 0): [good], (2, 1): [none, none, none]}
    keys: dict[tuple[int, int], list[Decision]] = {
        (1, 0): [(0, 4, 1)],
        (2, 0): [frozenset(range(5)), (0, 4, 2, 3, 1, "left")],
        (0, 0): [(0, 4, 2, 3, 1, "right")],
        (2, 1): [frozenset({0, 4}), frozenset({1}), "add up"],
    }
    game = oracle.play(
        Options(target=6),
        3,
        1,
        lambda seat, turn, throw, die: dice[seat, turn][throw][die],
        lambda p: keys[p.seat, p.turn_index][p.throws_done - 1],
    )
    assert [(s.seat, s.throws_done, s.score) for s in game.transcript] == [
        (1, 1, 6),
        (2, 1, None),
        (2, 2, 0),
        (0, 1, 5),
        (2, 1, None),
        (2, 2, None),
        (2, 3, 19),
    ]
    assert game.transcript[0] == (1, six, 1, (0, 4, 1), 6)
    assert (game.totals, game.out, game.winner) == ((5, 6, 19), (1, 2), 0)


@pytest.mark.parametrize("num_players", [2, 3, 8])
def test_random_games_end_with_one_player_below_the_target(num_players: int) -> None:
    random = Random(num_players)
    asked: list[tuple[int, int, int, int]] = []

    def throw(seat: int, turn: int, index: int, die: int) -> int:
        asked.append((seat, turn, index, die))
        return random.randrange(6)

    game = oracle.play(Options(), num_players, num_players - 1, throw, lowest)
    assert len(set(asked)) == len(asked)
    assert game.transcript[0].seat == num_players - 1
    assert sorted([*game.out, game.winner]) == list(range(num_players))
    assert [seat for seat in range(num_players) if game.totals[seat] < 30] == [game.winner]
    gained = [0] * num_players
    for step in game.transcript:
        assert gained[step.seat] < 30  # an eliminated player never plays again
        gained[step.seat] += step.score or 0
    assert tuple(gained) == game.totals


def test_only_rerolled_dice_are_requested() -> None:
    asked: list[tuple[int, int, int, int]] = []
    script: list[Decision] = [frozenset({4, 1}), frozenset({0}), (0, 4, 2, 3, 1, "left")]

    def throw(seat: int, turn: int, index: int, die: int) -> int:
        asked.append((seat, turn, index, die))
        return throw_of(5, 0, 3, "/", "-")[die] if seat == 0 else throw_of(6, 5, 4, 1, 3)[die]

    def choose(position: Position) -> Decision:
        if position.seat == 0:
            return script[position.throws_done - 1]
        return lowest(position)

    game = oracle.play(Options(target=1), 2, 0, throw, choose)
    first = [(0, 0, 0, die) for die in range(5)] + [(0, 0, 1, 1), (0, 0, 1, 4), (0, 0, 2, 0)]
    assert asked[:8] == first
    assert (game.totals, game.winner) == ((0, 19), 0)


GOOD, NONE = throw_of(5, 0, 3, "/", "-"), throw_of(6, 5, 4, 1, 3)


@pytest.mark.parametrize(
    ("faces", "throws_done", "decision"),
    [
        (GOOD, 1, frozenset()),  # an empty set
        (GOOD, 1, frozenset({5})),  # no such die
        (GOOD, 3, frozenset({0})),  # no throw is left
        (GOOD, 1, "add up"),  # allowed only after the last throw
        (GOOD, 3, "add up"),  # an expression exists
        (NONE, 1, "add up"),
        (NONE, 3, (0, 4, 1)),  # die 4 shows a number
        (GOOD, 1, (2, 4, 0)),  # 3 - 5
        (GOOD, 1, (0, 4, 2, 3, 1)),  # no bracket named
    ],
)
def test_illegal_decision_raises(faces: Faces, throws_done: int, decision: Decision) -> None:
    def choose(position: Position) -> Decision:
        return decision if position.throws_done == throws_done else frozenset({0})

    with pytest.raises(IllegalDecision):
        oracle.play(Options(), 2, 0, lambda seat, turn, throw, die: faces[die], choose)


def test_intermediates_option_reaches_the_game() -> None:
    faces = throw_of(3, 0, 5, "x", "-")
    key: Key = (0, 4, 2, 3, 1, "left")
    assert oracle.settle(Options(), faces, 1, key) == 0
    with pytest.raises(IllegalDecision, match="no expression"):
        oracle.settle(Options(intermediates="natural"), faces, 1, key)


@pytest.mark.parametrize(("num_players", "first"), [(1, 0), (9, 0), (2, 2), (2, -1)])
def test_wrong_number_of_players_or_first_seat_raises(num_players: int, first: int) -> None:
    with pytest.raises(ValueError, match="no game"):
        oracle.play(Options(), num_players, first, lambda *_: 0, lowest)
