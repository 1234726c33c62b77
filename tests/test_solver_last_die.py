"""The exact solution of Last Die: against exact rationals, the environment, enumeration and play."""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, lcm
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of, positions, rotated
from trialea import OptionError
from trialea.agents.last_die.chain import (
    Chain,
    expectations,
    look_up,
    make_chain,
    points_thrown,
    residual,
)
from trialea.agents.last_die.deviation import best_reply
from trialea.agents.last_die.equilibrium import find_policy
from trialea.agents.last_die.laws import expected_visits, first_holders, points_laws, throws_law
from trialea.agents.last_die.rationals import exact_expectations
from trialea.agents.last_die.solver import Solution, SolverAgent, solve
from trialea.agents.last_die.steer import make_choices
from trialea.agents.last_die.winning import winning
from trialea.envs.game import Game, States

PLAYERS = (4, 5, 6)
SEVERAL = (4, 5, pytest.param(6, marks=pytest.mark.slow))
READINGS = (False, True)

# What the whole of a round is worth to each seat from the opener to the left, and how many throws it has: published.
PUBLISHED = {
    (4, False): ([2.87591269, 2.89796398, 2.86596366, 3.01828366], 21.93034752),
    (4, True): ([0.70387449, 0.72579834, 0.69889998, 0.78595819], 17.55855103),
    (5, False): ([2.45418213, 2.35418632, 2.10913505, 2.23210873, 2.56258942], 22.48082096),
    (5, True): ([0.62315035, 0.60023472, 0.47901621, 0.53275244, 0.69289669], 18.08874535),
    (6, False): ([2.25984688, 2.07835615, 1.64080748, 1.53464142, 1.88187726, 2.34347706], 22.71015034),
    (6, True): ([0.59378241, 0.54843856, 0.36243490, 0.31674595, 0.45680128, 0.65654846], 18.30802299),
}


@cache
def solved(players: int = 4, **options: Any) -> Solution:
    return solve(game_of("last_die", players, **options))


def throws_counted(chain: Chain) -> np.ndarray:
    gains = np.zeros(chain.hands.shape)
    gains[:, 0] = 1.0
    return gains


# --- Against exact rationals, worked out from the rules by plain elimination -----------------------------------

Hands = tuple[int, ...]


def following(hands: Hands, opening: bool) -> Iterator[tuple[Fraction, Hands]]:
    """Every way that a throw of hand 0 can fall: its probability, and the hands after it, seen from the same seat."""
    for faces in product(("out", "left", "right", "stay"), repeat=hands[0]):
        after = [faces.count("stay"), *hands[1:]]
        after[1] += faces.count("left")
        after[-1] += faces.count("right")
        yield Fraction(3 ** faces.count("stay"), 6 ** hands[0]), tuple(after)


def next_thrower(after: Hands, opening: bool) -> int:
    if opening and after[0]:
        return 0
    return next(seat % len(after) for seat in range(1, len(after) + 1) if after[seat % len(after)])


def solve_exactly(players: int, even_ends_round: bool, counts_throws: bool) -> list[Fraction]:
    """What each seat may expect of a round, or how many throws it makes, by elimination in fractions."""
    solution: dict[tuple[Hands, bool], list[Fraction]] = {}
    for dice in range(1, 7):
        dealt = [hands for hands in product(range(dice + 1), repeat=players) if sum(hands) == dice and hands[0]]
        reached = [hands for hands in sorted(dealt) if sum(hands[2:-1]) == 0]
        for opening, group in ((False, [dealt]), (True, [[hands] for hands in reached])):
            for together in group:
                _eliminate(together, opening, even_ends_round, counts_throws, solution)
    return solution[(6, *[0] * (players - 1)), True]


def _eliminate(
    together: list[Hands],
    opening: bool,
    even_ends_round: bool,
    counts_throws: bool,
    solution: dict[tuple[Hands, bool], list[Fraction]],
) -> None:
    """Solve the positions that lead to one another; those that they lead to besides are solved."""
    n = len(together[0])
    unknown = {(hands, seat): k for k, (hands, seat) in enumerate(product(together, range(n)))}
    rows: list[dict[int, Fraction]] = [{k: Fraction(1)} for k in range(len(unknown))]
    right = [Fraction(int(counts_throws and seat == 0)) for _, seat in unknown]
    for hands in together:
        chances: dict[Hands, Fraction] = defaultdict(Fraction)
        for chance, after in following(hands, opening):
            chances[after] += chance
        for after, chance in chances.items():
            scores = sum(hands) == 1 and after[0] == 1
            if scores and not counts_throws:
                right[unknown[hands, 0]] += chance * 4
            if not any(after) or (scores and even_ends_round):
                continue
            turn = next_thrower(after, opening)
            onward, still = after[turn:] + after[:turn], opening and after[0] > 0
            for seat in range(n):
                row, seen = unknown[hands, seat], (seat - turn) % n
                if still == opening and (onward, seen) in unknown:
                    column = unknown[onward, seen]
                    rows[row][column] = rows[row].get(column, Fraction(0)) - chance
                else:
                    right[row] += chance * solution[onward, still][seen]
    for k, row in enumerate(rows):  # forward
        pivot = row.pop(k)
        for column in row:
            row[column] /= pivot
        right[k] /= pivot
        for below in range(k + 1, len(rows)):
            multiple = rows[below].pop(k, None)
            if multiple:
                for column, value in row.items():
                    rows[below][column] = rows[below].get(column, Fraction(0)) - multiple * value
                right[below] -= multiple * right[k]
    for k in range(len(rows) - 1, -1, -1):  # and back
        right[k] -= sum((value * right[column] for column, value in rows[k].items()), Fraction(0))
    for hands in together:
        solution[hands, opening] = [right[unknown[hands, seat]] for seat in range(n)]


@pytest.mark.parametrize(
    ("players", "even_ends_round", "counts_throws"),
    [
        (4, False, False),
        pytest.param(4, True, False, marks=pytest.mark.slow),
        pytest.param(4, False, True, marks=pytest.mark.slow),
        pytest.param(4, True, True, marks=pytest.mark.slow),
    ],
)
def test_the_rationals_are_those_of_plain_elimination(players: int, even_ends_round: bool, counts_throws: bool) -> None:
    chain = make_chain(players, even_ends_round)
    gains = throws_counted(chain) if counts_throws else points_thrown(chain)
    found = exact_expectations(chain, [gains], chain.start)[0]
    assert found == solve_exactly(players, even_ends_round, counts_throws)


@pytest.mark.parametrize("players", SEVERAL)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_the_floats_are_the_rationals(players: int, even_ends_round: bool) -> None:
    chain = make_chain(players, even_ends_round)
    kinds = [points_thrown(chain), throws_counted(chain)]
    for gains, exact in zip(kinds, exact_expectations(chain, kinds, chain.start), strict=True):
        values = expectations(chain, gains)
        assert values[chain.start] == pytest.approx([float(value) for value in exact], abs=1e-12)
        assert residual(chain, gains, values) < 1e-12


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_the_published_values(players: int, even_ends_round: bool) -> None:
    solution = solved(players, even_ends_round=even_ends_round)
    points, throws = PUBLISHED[players, even_ends_round]
    start = solution.chain.start
    assert solution.values[start] == pytest.approx(points, abs=6e-9)
    assert solution.throws[start].sum() == pytest.approx(throws, abs=6e-9)
    assert solution.residual < 1e-12


# --- Against the environment ------------------------------------------------------------------------------------


def expected_after(solution: Solution, state: Any, action: int) -> np.ndarray:
    """What every player may expect from now on if the mover takes an action: the mean over all throws."""
    game = solution.game
    after = game.choose(np.array([state]).view(np.recarray), [action])
    dice = int(after.pending[0]).bit_count()
    faces = np.zeros((6**dice, 8), np.int64)
    faces[:, :dice] = list(product(range(6), repeat=dice))
    states = np.repeat(after, len(faces)).view(np.recarray)
    if dice:  # an action may end the game
        game.loops.throw(states, faces, game.tables)
    gained = states.scores[:, : game.num_players] - state.scores[: game.num_players]
    return (solution.expected_points(states) + gained).mean(axis=0)


def with_few_dice(states: States, most: int) -> States:
    """The states whose mover throws at most so many dice next."""
    few = states[states.held[np.arange(len(states)), states.mover] <= most]
    return few.view(np.recarray)


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_the_values_are_means_over_the_throws_of_the_environment(players: int, even_ends_round: bool) -> None:
    solution = solved(players, even_ends_round=even_ends_round)
    states = positions(solution.game, 150, seed=players, most_decisions=300)
    full = solution.game.start(range(1))  # all six dice
    tested = np.concatenate([with_few_dice(states, 4), full]).view(np.recarray)
    assert len(tested) > 100
    expected = solution.expected_points(tested)
    values = solution.action_values(tested)
    for i in range(len(tested)):
        assert expected[i] == pytest.approx(expected_after(solution, tested[i], 0), rel=1e-12, abs=1e-12)
        assert values[i].tolist() == [expected[i, tested.mover[i]]]


@pytest.mark.parametrize("even_ends_round", READINGS)
def test_with_steer_each_action_is_worth_what_follows_it(even_ends_round: bool) -> None:
    solution = solved(4, steer=True, even_ends_round=even_ends_round)
    states = positions(solution.game, 60, seed=1, most_decisions=200)
    values = solution.action_values(states)
    assert ((solution.game.masks(states) != 0) == np.isfinite(values)).all()
    expected = solution.expected_points(states)
    chances = solution.chances(states)
    tested = 0
    for i in range(len(states)):
        after = [expected_after(solution, states[i], action) for action in range(int(states.sent[i]) + 1)]
        for action, found in enumerate(after):
            assert values[i, action] == pytest.approx(found[states.mover[i]], rel=1e-12, abs=1e-12)
            tested += 1
        assert expected[i] == pytest.approx(chances[i, : len(after)] @ np.array(after), rel=1e-12, abs=1e-12)
    assert tested > 120


@pytest.mark.parametrize("options", [{}, {"steer": True}], ids=str)
def test_a_game_is_worth_its_rounds_and_one_that_is_over_nothing(options: dict[str, Any]) -> None:
    solution = solved(4, rounds_each=3, **options)
    states = solution.game.start(range(5))
    whole = 3 * solution.values[solution.chain.start].sum()
    if not options:
        assert solution.expected_points(states) == pytest.approx(whole, abs=1e-12)
    played = SolverAgent(solution.game)
    while not states.over.all():
        going = np.flatnonzero(states.over == 0)
        solution.game.step(states, played.act(states[going].view(np.recarray)), going)
    assert (solution.expected_points(states) == 0).all()


def test_the_values_go_with_the_players_when_they_move_on() -> None:
    for options in ({}, {"steer": True}):
        solution = solved(4, **options)
        states = positions(solution.game, 50, seed=2, most_decisions=100)
        turned = rotated(states, 1)
        assert (solution.expected_points(turned) == np.roll(solution.expected_points(states), 1, axis=1)).all()
        assert np.array_equal(solution.action_values(turned), solution.action_values(states), equal_nan=True)


def test_states_of_another_table_are_refused() -> None:
    with pytest.raises(OptionError, match="4 players"):
        solved(4).action_values(game_of("last_die", 5).start([0]))
    steered = solved(4, steer=True)
    states = steered.game.start([0])
    states.sent = 0
    with pytest.raises(OptionError, match="nobody has a choice"):
        steered.action_values(states)


# --- The laws of a round ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_the_laws_sum_to_one_and_have_the_exact_means(players: int, even_ends_round: bool) -> None:
    chain = make_chain(players, even_ends_round)
    points, throws = expectations(chain, points_thrown(chain)), expectations(chain, throws_counted(chain))
    of_seats, of_all = points_laws(chain)
    length = throws_law(chain)
    for law in (*of_seats, of_all, length):
        assert (law >= 0).all()
        assert law.sum() == pytest.approx(1, abs=1e-12)
    scored = 2 * np.arange(len(of_all))
    assert of_seats @ scored == pytest.approx(points[chain.start], abs=1e-11)
    assert of_all @ scored == pytest.approx(points[chain.start].sum(), abs=1e-11)
    assert length @ np.arange(len(length)) == pytest.approx(throws[chain.start].sum(), abs=1e-11)
    assert expected_visits(chain).sum() == pytest.approx(throws[chain.start].sum(), abs=1e-11)
    # A round of one throw: six ones. No points at all: the last dice leave at once, or the last one scores nothing.
    assert length[1] == pytest.approx(6.0**-6, abs=1e-15)
    none = 1 - first_holders(chain)[chain.start].sum()
    assert of_all[0] == pytest.approx(none + (1 - none) / 4, abs=1e-12)


@pytest.mark.parametrize("even_ends_round", READINGS)
def test_the_law_of_the_length_is_that_of_the_matrix(even_ends_round: bool) -> None:
    """Its variance is 2 e (I - P)^-1 (I - P)^-1 1 - m - m^2, with m its mean."""
    chain = make_chain(4, even_ends_round)
    size = chain.num_positions
    step = np.zeros((size, size))
    inside = chain.target >= 0
    np.add.at(step, (chain.source[inside], chain.target[inside]), chain.chance[inside])
    mean = np.linalg.solve(np.eye(size) - step, np.ones(size))
    twice = np.linalg.solve(np.eye(size) - step, mean)[chain.start]
    law = throws_law(chain)
    lengths = np.arange(len(law))
    variance = law @ lengths**2 - (law @ lengths) ** 2
    assert variance == pytest.approx(2 * twice - mean[chain.start] - mean[chain.start] ** 2, abs=1e-9)


# --- Who wins ---------------------------------------------------------------------------------------------------


def last_die_scores(first: np.ndarray, even_ends_round: bool, rng: np.random.Generator) -> np.ndarray:
    """What the last die brings to each of four seats (G, 4), thrown out from those who hold it first (G,)."""
    holder, scores = first.copy(), np.zeros((len(first), 4), np.int64)
    going = np.arange(len(first))
    while len(going):
        faces = rng.integers(1, 7, len(going))
        even = faces % 2 == 0
        scores[going[even], holder[going[even]]] += faces[even]
        holder[going] = (holder[going] + (faces == 3) - (faces == 5)) % 4
        going = going[(faces != 1) & ~(even & even_ends_round)]
    return scores


def test_every_player_wins_a_quarter_by_exact_enumeration() -> None:
    """Where the first even face ends the round a player scores with probability a quarter of its expected points."""
    chain = make_chain(4, True)
    each = [points / 12 for points in exact_expectations(chain, [points_thrown(chain)], chain.start)[0]]
    ways = lcm(*(chance.denominator for chance in each))  # chances as whole numbers of these, for speed
    numbers = [int(chance * ways) for chance in each]
    games: dict[tuple[int, ...], int] = {(0, 0, 0, 0): 1}
    for opener in range(4):
        after: dict[tuple[int, ...], int] = defaultdict(int)
        for scores, number in games.items():
            after[scores] += number * (ways - 3 * sum(numbers))
            for seat, points in product(range(4), (2, 4, 6)):
                player = (opener + seat) % 4
                after[(*scores[:player], scores[player] + points, *scores[player + 1 :])] += number * numbers[seat]
        games = after
    shares, outright = [Fraction(0)] * 4, Fraction(0)
    for scores, number in games.items():
        winners = [player for player in range(4) if scores[player] == max(scores)]
        for player in winners:
            shares[player] += Fraction(number, len(winners))
        outright += number * (winners == [0])
    assert sum(games.values()) == ways**4
    assert [share / ways**4 for share in shares] == [Fraction(1, 4)] * 4
    found = winning(chain, np.ones(4, np.int64))
    assert found.outright == pytest.approx(float(outright / ways**4), abs=1e-12)
    assert found.share == pytest.approx(0.25, abs=1e-12)
    assert found.error == 0


@pytest.mark.parametrize("even_ends_round", READINGS)
@pytest.mark.parametrize("rounds", [(1, 0, 0, 0), (0, 1, 0, 2)])
def test_the_joint_law_of_some_rounds_is_that_of_walks(even_ends_round: bool, rounds: tuple[int, ...]) -> None:
    """Not everybody opens equally often, so that place 0 does not win a quarter."""
    chain = make_chain(4, even_ends_round)
    holders = first_holders(chain)[chain.start]
    rng, games = np.random.default_rng(1), 400_000
    scores = np.zeros((games, 4), np.int64)
    for opener, count in enumerate(rounds):
        for _ in range(count):
            first = rng.choice(5, games, p=[*holders, 1 - holders.sum()])
            seat = (opener + first) % 4
            scores += (first < 4)[:, None] * last_die_scores(seat, even_ends_round, rng)
    most = scores[:, 0] == scores.max(axis=1)
    ties = np.bincount((scores == scores.max(axis=1, keepdims=True)).sum(axis=1)[most], minlength=5)[1:] / games
    found = winning(chain, np.array(rounds))
    assert [found.outright, *found.shared] == pytest.approx(ties, abs=4.5 * 0.5 / games**0.5)
    assert abs(found.share - 0.25) > 1e-3


@pytest.mark.parametrize(("even_ends_round", "each"), [(True, 1), (True, 4), (False, 1)])
def test_shares_of_a_whole_game_are_a_quarter_to_1e_12(even_ends_round: bool, each: int) -> None:
    found = winning(make_chain(4, even_ends_round), np.full(4, each))
    assert found.share == pytest.approx(0.25, abs=2e-12)
    assert found.error < 1e-12
    assert found.outright + sum(found.shared) == pytest.approx(
        found.share + sum(found.shared[k] * (1 - 1 / (k + 2)) for k in range(3)), abs=1e-12
    )


def test_the_joint_law_is_of_four_players() -> None:
    with pytest.raises(OptionError, match="4 players, not 5"):
        winning(make_chain(5, False), np.ones(5, np.int64))


# --- With steer -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_sending_each_die_by_a_coin_is_the_game_without_steer(players: int, even_ends_round: bool) -> None:
    choices = make_choices(players, even_ends_round)
    coin = np.array([[comb(sent, left) / 2**sent for left in range(7)] for sent in choices.sent])
    chain, plain = choices.under(coin), make_chain(players, even_ends_round)
    values = expectations(chain, points_thrown(chain))
    assert values == pytest.approx(expectations(plain, points_thrown(plain)), abs=1e-12)


@pytest.mark.parametrize("players", SEVERAL)
@pytest.mark.parametrize("even_ends_round", READINGS)
def test_nobody_gains_by_leaving_the_solution(players: int, even_ends_round: bool) -> None:
    found = solved(players, steer=True, even_ends_round=even_ends_round)
    assert found.steering is not None
    policy, choices = found.steering.policy, found.steering.choices
    assert (policy[~choices.legal] == 0).all()
    assert (policy >= 0).all()
    assert policy.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert found.residual < 1e-12
    assert found.steering.gains.max() < 1e-9
    assert improved_values(found, policy, found.values)[0] < 1e-9
    # It is not trivial: some choices are mixed, and most are not what one would do by a coin.
    mixed = (policy.max(axis=1) < 1 - 1e-9).sum()
    assert 0 < mixed < len(policy) / 10


def improved_values(found: Solution, policy: np.ndarray, values: np.ndarray) -> tuple[float, np.ndarray]:
    """One sweep of value iteration for whoever deviates: the largest gain of any seat anywhere, and the values."""
    assert found.steering is not None
    choices = found.steering.choices
    chain, n = choices.chain, choices.chain.players
    after = np.zeros_like(values)
    after[:, 0] = points_thrown(chain)[:, 0]
    worth = np.nan_to_num(choices.outcomes(values, np.arange(len(policy))), nan=-np.inf)
    played = (policy[..., None] * np.where(np.isfinite(worth), worth, 0.0)).sum(axis=1)
    played[:, 0] = worth[..., 0].max(axis=1)
    for edge in range(len(chain.source)):
        source, chance = chain.source[edge], chain.chance[edge]
        if choices.choice[edge] >= 0:
            if choices.action[edge] == 0:
                after[source] += chance * played[choices.choice[edge]]
        elif chain.target[edge] >= 0:
            after[source] += chance * np.roll(values[chain.target[edge]], chain.turn[edge])
    assert after.shape[1] == n
    return float((after - values).max()), after


def test_the_best_reply_is_the_limit_of_value_iteration() -> None:
    """Against players who send every number of dice left alike there is much to gain."""
    found = solved(4, steer=True)
    assert found.steering is not None
    choices = found.steering.choices
    policy = choices.uniform()
    chain = choices.under(policy)
    values = expectations(chain, points_thrown(chain))
    best = best_reply(choices, policy, values)
    assert improved_values(found, policy, best)[0] < 1e-12
    improved = values
    for _ in range(120):
        improved = improved_values(found, policy, improved)[1]
    assert improved == pytest.approx(best, abs=1e-8)
    assert (best[chain.start] - values[chain.start]).min() > 0.01


def play_out(game: Game, agents: list[Any], seeds: range) -> States:
    """Games to their end, player p played by agent p."""
    states = game.start(seeds)
    while not states.over.all():
        for player, agent in enumerate(agents):
            index = np.flatnonzero((states.over == 0) & (states.mover == player))
            if len(index):
                game.step(states, agent.act(states[index].view(np.recarray)), index)
    return states


@pytest.mark.parametrize("players", [4, 5])
def test_the_solver_scores_against_itself_what_it_should(players: int) -> None:
    """The first round alone: what each seat from the opener scores."""
    game = game_of("last_die", players, steer=True, seating="fixed", rounds_each=1)
    solution = solve(game)
    agent = SolverAgent(game, 5)
    states = game.start(range(40_000))
    scores = np.zeros((len(states), players), np.int64)
    while len(going := np.flatnonzero(states.rounds == 0)):
        game.step(states, agent.act(states[going].view(np.recarray)), going)
        scores[going] = states.scores[going, :players]
    # The step that ended the round may have begun to play the next, but it cannot have ended it.
    expected = solution.values[solution.chain.start]
    error = scores.std(axis=0) / len(scores) ** 0.5
    assert (np.abs(scores.mean(axis=0) - expected) < 4.5 * error).all()


def test_a_deviating_player_does_not_gain_in_play() -> None:
    """One random player among three of the solution scores less over a whole game, in which all sit everywhere."""
    game = game_of("last_die", 4, steer=True, seating="fixed")
    states = play_out(game, [random_player(game), *[SolverAgent(game, 1)] * 3], range(20_000))
    whole = 4 * solve(game).values[solve(game).chain.start].sum()
    mine = states.scores[:, 0]
    assert mine.mean() < whole - 2 * mine.std() / len(mine) ** 0.5


def random_player(game: Game) -> Any:
    from trialea.agents.random import RandomAgent

    return RandomAgent(game, 3)


def test_the_solver_draws_at_its_chances_and_the_same_again() -> None:
    game = game_of("last_die", 4, steer=True)
    agent = SolverAgent(game, 7)
    states = positions(game, 400, seed=4, most_decisions=100)
    actions = agent.act(states)
    assert (game.masks(states)[np.arange(len(states)), actions] == 1).all()
    assert actions.tolist() == pickle.loads(pickle.dumps(agent)).act(states).tolist()
    assert actions.tolist() == [int(agent.act(states[i : i + 1])[0]) for i in range(len(states))]
    chances = agent.action_probabilities(states)
    mixed = int(np.argmin(chances.max(axis=1)))
    assert chances[mixed].max() < 0.99
    same = np.repeat(states[mixed : mixed + 1], 20_000).view(np.recarray)
    same.seed = np.arange(len(same))
    found = np.bincount(agent.act(same), minlength=7) / len(same)
    assert found == pytest.approx(chances[mixed], abs=4.5 * 0.5 / len(same) ** 0.5)
    assert SolverAgent(game, 8).act(same).tolist() != agent.act(same).tolist()


def test_without_steer_the_solver_throws() -> None:
    game = game_of("last_die", 5)
    agent = SolverAgent(game)
    states = positions(game, 20)
    assert agent.act(states).tolist() == [0] * 20
    assert agent.action_probabilities(states).tolist() == [[1.0]] * 20


def test_the_search_tells_its_progress() -> None:
    shares: list[float] = []
    policy, steps = find_policy(make_choices(4, True), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert steps > 0
    assert policy.shape == (378, 7)


def test_the_policy_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path))
    game = game_of("last_die", 4, steer=True, rounds_each=2)
    first = solve(game)
    assert len(list(tmp_path.iterdir())) == 1
    told: list[float] = []
    again = solve(game_of("last_die", 4, steer=True, seating="fixed"), told.append)
    assert told == []
    assert first.steering is not None and again.steering is not None
    assert (first.steering.policy == again.steering.policy).all()
    assert again.seconds == first.seconds


# --- What can be asked ------------------------------------------------------------------------------------------

FIRST = ["game", "players", "options", "expected_points", "expected_throws", "win_probability"]
LAWS = ["points_law", "points_law_of_all", "throws_law"]
EXACT = ["expected_points_exact", "expected_throws_exact"]


def test_the_summary_has_the_documented_keys() -> None:
    summary = json.loads(json.dumps(solved(4, even_ends_round=True).summary()))
    assert list(summary) == [*FIRST, "win_outright", "win_shared", "residual", "seconds", *LAWS, *EXACT]
    points = [Fraction(value) for value in summary["expected_points_exact"]]
    assert [float(value) for value in points] == pytest.approx(summary["expected_points"], abs=1e-12)
    assert float(Fraction(summary["expected_throws_exact"])) == pytest.approx(summary["expected_throws"], abs=1e-12)
    assert summary["win_probability"] == [0.25] * 4
    shared = sum(chance / (k + 2) for k, chance in enumerate(summary["win_shared"]))
    assert summary["win_outright"] + shared == pytest.approx(0.25, abs=1e-12)
    for law in (*summary["points_law"], summary["points_law_of_all"], summary["throws_law"]):
        assert 1 - 1e-6 <= sum(law) <= 1 + 1e-12
    assert list(solved(5).summary()) == [*FIRST, "residual", "seconds", *LAWS, *EXACT]


def test_the_summary_with_steer_says_how_near_to_an_equilibrium_it_is() -> None:
    summary = json.loads(json.dumps(solved(4, steer=True).summary()))
    assert list(summary) == [
        *FIRST,
        *("solution", "epsilon", "epsilon_of_seats", "epsilon_of_game", "epsilon_anywhere"),
        *("choices", "mixed_choices", "iterations", "table_sha256"),
        *("residual", "seconds", *LAWS),
    ]
    assert summary["choices"] == 378 > summary["mixed_choices"] > 0
    assert summary["epsilon"] == max(summary["epsilon_of_seats"])
    assert 0 <= summary["epsilon"] <= summary["epsilon_anywhere"] < 1e-9
    assert summary["epsilon_of_game"] == pytest.approx(4 * sum(summary["epsilon_of_seats"]))


def test_a_position_can_be_asked_about() -> None:
    solution = solved(4, even_ends_round=True)
    position = solution.summary((2, 1, 0, 3))["position"]
    states = solution.game.start([0])
    for opening, key in ((0, "expected_points"), (1, "expected_points_if_opening")):
        states.opening, states.rounds = opening, 15  # the last round
        players = (int(states.mover[0]) + np.arange(4)) % 4
        states.place[0, players] = (3 + np.arange(4)) % 4
        states.held[0, players] = (2, 1, 0, 3)
        assert position[key] == pytest.approx(solution.expected_points(states)[0, players], abs=1e-12)
    for wrong in ((2, 1, 0), (0, 1, 0, 3), (3, 3, 0, 1), (2, -1, 0, 1)):
        with pytest.raises(OptionError, match="dice in 4 hands"):
            solution.summary(wrong)


def test_positions_are_found_in_states() -> None:
    chain = make_chain(4, False)
    states = game_of("last_die", 4).start(range(3))
    numbers, distance = look_up(chain, states)
    assert (numbers == chain.start).all()
    assert (np.sort(distance, axis=1) == np.arange(4)).all()
    assert (distance[np.arange(3), states.mover] == 0).all()
