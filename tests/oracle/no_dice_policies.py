"""Values of given policies of `no_dice` by brute force: exact fractions and one linear system for a whole game.

A policy is a function from (totals, mover, faces, throws done) to an integer weight for each decision, to which its
probability is proportional. `totals` are by seat, and None for an eliminated player. The rules come from
`tests.oracle.no_dice`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

from tests.oracle import no_dice as oracle
from tests.oracle.no_dice import AGAIN, DICE, Decision, Faces, Options

Totals = tuple[int | None, ...]
Policy = Callable[[Totals, int, Faces, int], Mapping[Decision, int]]
Position = tuple[Totals, int]
Scores = dict[int, Fraction]


expressions = cache(oracle.expressions)


def decisions(options: Options, faces: Faces, throws_done: int) -> list[Decision]:
    """Return all legal decisions."""
    found: list[Decision] = list(expressions(faces, options.intermediates))
    if throws_done < options.throws:
        sets = product((False, True), repeat=5)
        return [*found, *(frozenset(die for die in DICE if again[die]) for again in sets if any(again))]
    return found or ["add up"]


def uniform(options: Options) -> Policy:
    """Return the policy with equal probabilities for all decisions."""
    return lambda totals, mover, faces, throws_done: dict.fromkeys(decisions(options, faces, throws_done), 1)


def turn_scores(options: Options, policy: Policy, position: Position, most: int = 1000) -> Scores:
    """Return the probability of each score of the turn, from the whole tree of throws and decisions.

    Scores above `most` count as `most`.
    """
    totals, mover = position

    @cache
    def after(pattern: Faces, throws_done: int) -> Scores:
        """Return the scores once the dice marked AGAIN have been thrown, as throw number `throws_done`."""
        thrown = [die for die in DICE if pattern[die] == AGAIN]
        found: Scores = {}
        if thrown:
            for face in range(6):  # one die at a time, because patterns with fewer dice to throw occur repeatedly
                fixed = (*pattern[: thrown[0]], face, *pattern[thrown[0] + 1 :])
                add(found, after(fixed, throws_done), Fraction(1, 6))
            return found
        weights = policy(totals, mover, pattern, throws_done)
        whole, stops = sum(weights.values()), defaultdict(int)
        for decision, weight in weights.items():
            if isinstance(decision, frozenset):
                rest = tuple(AGAIN if die in decision else pattern[die] for die in DICE)
                add(found, after(rest, throws_done + 1), Fraction(weight, whole))
            elif isinstance(decision, tuple):
                stops[min(expressions(pattern, options.intermediates)[decision], most)] += weight
            else:
                stops[min(oracle.add_up(pattern), most)] += weight
        add(found, {score: Fraction(weight) for score, weight in stops.items()}, Fraction(1, whole))
        return found

    return after((AGAIN,) * 5, 1)


def add(sums: Scores, more: Scores, weight: Fraction) -> None:
    """Add weighted probabilities to the sums."""
    for score, probability in more.items():
        sums[score] = sums.get(score, Fraction(0)) + weight * probability


def positions(options: Options, num_players: int) -> Iterator[Position]:
    """Yield every position before a turn in which at least two players are in."""
    for totals in product([*range(options.target), None], repeat=num_players):
        if sum(total is not None for total in totals) >= 2:
            yield from ((totals, mover) for mover in range(num_players) if totals[mover] is not None)


def after_score(options: Options, position: Position, score: int) -> Position:
    """Return the next position: a player at the target is out, and the next player who is in moves."""
    totals, mover = list(position[0]), position[1]
    before = totals[mover]
    assert before is not None
    totals[mover] = before + score if before + score < options.target else None
    following = (mover + 1) % len(totals)
    while totals[following] is None:
        following = (following + 1) % len(totals)
    return tuple(totals), following


def winner(totals: Totals) -> int | None:
    """Return the only seat still in, if there is just one."""
    still_in = [seat for seat, total in enumerate(totals) if total is not None]
    return still_in[0] if len(still_in) == 1 else None


def all_scores(options: Options, policies: Sequence[Policy]) -> dict[Position, Scores]:
    """Return the scores of every position's turn by the seats' policies; all scores that put the mover out are
    merged.
    """
    found = {}
    for position in positions(options, len(policies)):
        totals, mover = position
        points = totals[mover]
        assert points is not None
        found[position] = turn_scores(options, policies[mover], position, options.target - points)
    return found


def win_probabilities(
    options: Options, scores: Mapping[Position, Scores], num_players: int
) -> dict[Position, list[Fraction]]:
    """Return each seat's win probability from every position, by one linear system for all positions."""
    unknowns = list(positions(options, num_players))
    number = {position: i for i, position in enumerate(unknowns)}
    rows = []
    for i, position in enumerate(unknowns):
        row = [Fraction(i == j) for j in range(len(unknowns))] + [Fraction(0)] * num_players
        for score, probability in scores[position].items():
            following = after_score(options, position, score)
            won = winner(following[0])
            if won is None:
                row[number[following]] -= probability
            else:
                row[len(unknowns) + won] += probability
        rows.append(row)
    eliminate(rows)
    return {position: rows[i][len(unknowns) :] for i, position in enumerate(unknowns)}


def expected_turns(
    options: Options, scores: Mapping[Position, Scores], num_players: int, first: int
) -> dict[Position, Fraction]:
    """Return how often each position is expected in a game that seat `first` starts, by the transposed system."""
    unknowns = list(positions(options, num_players))
    number = {position: i for i, position in enumerate(unknowns)}
    rows = [[Fraction(i == j) for j in range(len(unknowns) + 1)] for i in range(len(unknowns))]
    for row in rows:
        row[-1] = Fraction(0)
    rows[number[(0,) * num_players, first]][-1] = Fraction(1)
    for position in unknowns:
        for score, probability in scores[position].items():
            following = after_score(options, position, score)
            if winner(following[0]) is None:
                rows[number[following]][number[position]] -= probability
    eliminate(rows)
    return {position: rows[i][-1] for i, position in enumerate(unknowns)}


def eliminate(rows: list[list[Fraction]]) -> None:
    """Apply Gauss–Jordan elimination in place: the left square becomes the identity."""
    for i in range(len(rows)):
        pivot = next(j for j in range(i, len(rows)) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        scale = 1 / rows[i][i]
        rows[i] = [value * scale if value else value for value in rows[i]]
        for j in range(len(rows)):
            if j != i and rows[j][i]:
                factor = rows[j][i]
                rows[j] = [a - factor * b if b else a for a, b in zip(rows[j], rows[i], strict=True)]


def best_response(options: Options, scores: Mapping[Position, Scores], num_players: int, seat: int) -> list[Fraction]:
    """Return the greatest win probability of `seat`, by the seat that starts; `scores` describes the others' play.

    Only a round in which all players score 0 returns to the same position. So the value before the seat's own turn
    is guessed, and the best policy against the guess gives the next guess, until nothing changes.
    """

    @cache
    def value(position: Position) -> Fraction:
        totals, mover = position
        if totals[seat] is None or winner(totals) is not None:
            return Fraction(winner(totals) == seat)
        if mover != seat:
            constant, factor = through_zeros(position)
            return constant + factor * value((totals, seat))
        constant, factor = through_zeros(after_score(options, position, 0))
        guess = Fraction(1, 2)
        while True:

            def payoff(score: int, guess: Fraction = guess) -> Fraction:
                return constant + factor * guess if score == 0 else value(after_score(options, position, score))

            best, zero = oracle.turn_value_and_zero(payoff, options.throws, options.intermediates)
            if best == guess:
                return best
            guess = (best - zero * factor * guess) / (1 - zero * factor)

    def through_zeros(position: Position) -> tuple[Fraction, Fraction]:
        """Return the value as constant + factor × the value before the seat's own turn at the same totals."""
        if position[1] == seat:
            return Fraction(0), Fraction(1)
        constant, factor = through_zeros(after_score(options, position, 0))
        found = [Fraction(0), Fraction(0)]
        for score, probability in scores[position].items():
            if score == 0:
                found = [found[0] + probability * constant, found[1] + probability * factor]
            else:
                found[0] += probability * value(after_score(options, position, score))
        return found[0], found[1]

    return [value(((0,) * num_players, first)) for first in range(num_players)]
