"""Tests of exact values of policies in No Dice: exact rationals, simulation, and the solution."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.evaluation.exact_values import evaluated
from tests.helpers import game_of, nth
from tests.oracle import no_dice as rules_of, no_dice_policies as oracle
from trialea import make_agent
from trialea.agents.no_dice.exact import best_response as best_responses, win_probabilities
from trialea.agents.no_dice.policy import tabulate
from trialea.agents.no_dice.solver import SolverAgent
from trialea.envs.game import Game, States
from trialea.envs.no_dice.rules import ADD_UP, EXPRESSIONS, NUM_REROLLS
from trialea.evaluation import (
    best_response,
    evaluate,
    evaluate_exactly,
    exact_value,
    exploitability,
    nash_conv,
    play_match,
    tabulate_policy,
)

EXACT = 1e-12


class Quirky:
    """A policy that depends on everything it may depend on, even on which of two equal faces shows.

    The probability of each action is proportional to an integer computed from the position.
    """

    name = "quirky"

    def __init__(self, game: Game) -> None:
        self.game = game

    def action_probabilities(self, states: States) -> np.ndarray:
        players, every = self.game.num_players, np.arange(len(states))
        sums = 5 * states.throws.astype(int) + states.dice.astype(int) @ [1, 3, 7, 9, 11]
        for place in range(players):
            seats = (states.mover + place) % players
            out = states.finished[every, seats] != 0
            sums += (place + 1) * np.where(out, self.game.options.target, states.scores[every, seats])
        weights = (1 + (sums[:, None] + 7 * np.arange(self.game.num_actions)) % 4) * (self.game.masks(states) != 0)
        return weights / weights.sum(axis=1, keepdims=True)

    def act(self, states: States) -> np.ndarray:
        raise AssertionError("it is asked for probabilities alone")


def quirky(options: rules_of.Options) -> oracle.Policy:
    """Return the same policy in the oracle's form."""

    def choose(totals: oracle.Totals, mover: int, faces: rules_of.Faces, throws_done: int) -> Mapping[Any, int]:
        total = 5 * throws_done + sum(face * factor for face, factor in zip(faces, (1, 3, 7, 9, 11), strict=True))
        for place in range(len(totals)):
            points = totals[(mover + place) % len(totals)]
            total += (place + 1) * (options.target if points is None else points)
        allowed = oracle.decisions(options, faces, throws_done)
        return {decision: 1 + (total + 7 * action_of(decision)) % 4 for decision in allowed}

    return choose


@cache
def expression_actions() -> dict[Any, int]:
    """Return the action of each expression."""
    return {
        (*expression.dice, expression.bracket) if expression.bracket else expression.dice: NUM_REROLLS + number
        for number, expression in enumerate(EXPRESSIONS)
    }


def action_of(decision: rules_of.Decision) -> int:
    """Return the action of an oracle's decision."""
    if isinstance(decision, frozenset):
        return sum(1 << die for die in decision) - 1
    return ADD_UP if decision == "add up" else expression_actions()[decision]


class Pure:
    """Plays another agent's actions, and returns them as probabilities."""

    def __init__(self, agent: Any, game: Game) -> None:
        self.name, self._agent, self._game = "pure", agent, game

    def act(self, states: States) -> np.ndarray:
        return self._agent.act(states)

    def action_probabilities(self, states: States) -> np.ndarray:
        return np.eye(self._game.num_actions, dtype=np.float32)[self._agent.act(states)]


# --- Comparison with exact rationals ---------------------------------------------------------------------

REDUCED = [
    pytest.param(2, 2, 1, "natural", marks=pytest.mark.slow),
    (3, 1, 1, "any"),
    pytest.param(2, 1, 2, "any", marks=pytest.mark.slow),
    pytest.param(2, 2, 2, "any", marks=pytest.mark.slow),
    pytest.param(2, 4, 1, "natural", marks=pytest.mark.slow),
    pytest.param(2, 1, 3, "natural", marks=pytest.mark.slow),
    pytest.param(3, 2, 1, "any", marks=pytest.mark.slow),
    pytest.param(3, 1, 2, "natural", marks=pytest.mark.slow),
]
reduced = pytest.mark.parametrize(("players", "target", "throws", "reading"), REDUCED)


@reduced
def test_turns_values_and_best_responses_match_exact_rationals(
    players: int, target: int, throws: int, reading: rules_of.Intermediates
) -> None:
    """A quirky player in seat 0 meets uniform players in the other seats."""
    game = game_of("no_dice", players, target=target, throws=throws, intermediates=reading)
    options = rules_of.Options(target, throws, reading)
    scores = oracle.all_scores(options, [quirky(options), *[oracle.uniform(options)] * (players - 1)])
    exact = oracle.win_probabilities(options, scores, players)
    known = [tabulate_policy(game, Quirky(game)), *[tabulate_policy(game, "random")] * (players - 1)]
    for (totals, mover), of_turn in scores.items():
        if mover == 0:
            key = tuple(place for place in range(players) if totals[place] is not None)
            found = known[0].table.scores[key][tuple(totals[place] for place in key)]
            most = max(of_turn)  # includes all higher scores that put the mover out
            assert found[:most] == pytest.approx([float(of_turn.get(score, 0)) for score in range(most)], abs=EXACT)
            assert found[most:].sum() == pytest.approx(float(of_turn[most]), abs=EXACT)
    for first in range(players):
        expected = [float(value) for value in exact[(0,) * players, first]]
        assert exact_value(game, known, first) == pytest.approx(expected, abs=EXACT)
    for seat in range(players):
        best = oracle.best_response(options, scores, players, seat)
        for first in range(players):
            assert best_response(game, known, seat, first) == pytest.approx(float(best[first]), abs=EXACT)


def test_decisions_and_regret_of_one_throw_match_exact_rationals() -> None:
    """Uniform play against the solution, with two players, target 2 and one throw. The only decision is the
    expression.
    """
    game, options = game_of("no_dice", 2, target=2, throws=1), rules_of.Options(2, 1)
    values = rules_of.solve_two_players(2, 1)

    def worth(position: oracle.Position, score: int) -> Fraction:
        mover = position[1]
        totals, following = oracle.after_score(options, position, score)
        if totals[mover] is None:
            return Fraction(0)
        other = totals[following]
        assert other is not None
        return 1 - values[other, totals[mover]]

    def best(totals: oracle.Totals, mover: int, faces: rules_of.Faces, throws_done: int) -> dict[Any, int]:
        found = oracle.expressions(faces, "any")
        if not found:
            return {"add up": 1}
        return {max(found, key=lambda key: (worth((totals, mover), found[key]), -found[key])): 1}

    @cache
    def of_a_turn(position: oracle.Position) -> tuple[Fraction, Fraction]:
        """Return the regret of uniform play, and the number of non-trivial decisions."""
        worths = {score: worth(position, score) for score in range(61)}
        lost, decisions = Fraction(0), 0
        for faces in product(range(6), repeat=5):
            found = [worths[score] for score in oracle.expressions(faces, "any").values()]
            if found and max(found) > min(found):
                lost += max(found) - sum(found) / len(found)
                decisions += 1
        return lost / 6**5, Fraction(decisions, 6**5)

    scores = oracle.all_scores(options, [oracle.uniform(options), best])
    sums = np.zeros((2, 2), object)  # by the player's total: regret, decisions
    for first in range(2):
        for position, often in oracle.expected_turns(options, scores, 2, first).items():
            if position[1] == 0:
                sums[position[0][0]] += np.multiply(often / 2, of_a_turn(position))
    found = evaluate_exactly(game, "random")
    lost, decisions = (float(part) for part in sums.sum(axis=0))
    assert found.decisions == pytest.approx(decisions, abs=EXACT)
    assert found.regret_per_decision == pytest.approx(1000 * lost / decisions, abs=1e-9)
    for total in range(2):
        part = found.regret_by_score[str(total)]
        assert part.decisions == pytest.approx(float(sums[total, 1]), abs=EXACT)
        assert part.regret == pytest.approx(1000 * float(sums[total, 0] / sums[total, 1]), abs=1e-9)
        assert part.share == pytest.approx(float(sums[total, 0]) / lost, abs=EXACT)
    assert list(found.regret_by_throw) == ["1"]


# --- Comparison with the solution ------------------------------------------------------------------------


SIZES = [{"target": 8}, pytest.param({}, marks=pytest.mark.slow)]
sizes = pytest.mark.parametrize("options", SIZES, ids=str)


@sizes
def test_solution_cannot_be_exploited(options: dict[str, Any]) -> None:
    found = evaluated("solver", **options)
    assert abs(found.nash_conv) < 1e-9
    assert abs(found.exploitability) < 1e-9
    solution = SolverAgent(game_of("no_dice", 2, **options)).solution
    assert found.value[0] == pytest.approx(solution.value(0, 0), abs=EXACT)
    assert found.value_vs_equilibrium == pytest.approx(0.5, abs=EXACT)
    assert found.regret_per_decision == pytest.approx(0, abs=1e-9)
    assert found.optimal_share == pytest.approx(1, abs=EXACT)


@sizes
@pytest.mark.parametrize("agent", ["greedy", "random"])
def test_total_regret_is_the_win_probability_lost_to_the_solution(agent: str, options: dict[str, Any]) -> None:
    """Every decision is judged under the solution's later play, so the sum over a game telescopes."""
    found = evaluated(agent, **options)
    assert found.regret_per_decision is not None and found.decisions is not None
    assert found.value_vs_equilibrium == pytest.approx(
        0.5 - found.regret_per_decision * found.decisions / 1000, abs=EXACT
    )
    for parts in (found.regret_by_throw, found.regret_by_score):
        assert sum(part.decisions for part in parts.values()) == pytest.approx(found.decisions)
        assert sum(part.share for part in parts.values()) == pytest.approx(1)
        weighted = sum(part.regret * part.decisions for part in parts.values())
        assert weighted == pytest.approx(found.regret_per_decision * found.decisions)


@sizes
@pytest.mark.parametrize("agent", ["greedy", "random"])
def test_weaker_agents_can_be_exploited(agent: str, options: dict[str, Any]) -> None:
    found = evaluated(agent, **options)
    gains = np.subtract(found.best_response, found.value)
    assert (gains > 0).all()
    assert found.nash_conv == pytest.approx(gains.sum())
    assert found.exploitability == pytest.approx(gains.mean())
    # The solution is one possible response. It wins whatever the policy does not win against it.
    assert found.value_vs_equilibrium is not None
    assert np.mean(found.best_response) > 1 - found.value_vs_equilibrium > 0.5


def test_best_response_to_the_solution_is_as_good_as_the_solution() -> None:
    game = game_of("no_dice", 2, target=6)
    known, solver = tabulate_policy(game, "random"), tabulate_policy(game, "solver")
    values = exact_value(game, [solver, solver])
    assert best_response(game, [known, solver], 0) == pytest.approx(values[0], abs=EXACT)
    assert best_response(game, [solver, known], 1) == pytest.approx(values[1], abs=EXACT)


# --- Comparison with simulation --------------------------------------------------------------------------


def assert_wins_agree(game: Game, agents: list[Any], games: int) -> None:
    """Check win rates within 4.5 standard errors, for every seat of every seating; seat 0 starts."""
    match = play_match(game, agents, num_games=games * game.num_players, seed=5, duplicate=False)
    known = [tabulate_policy(game, agent) for agent in agents]
    seats = match.seats()
    for seating in np.unique(seats, axis=0):
        shares = match.shares[(seats == seating).all(axis=1)]
        expected = exact_value(game, [known[agent] for agent in seating])
        assert (np.abs(shares.mean(axis=0) - expected) < 4.5 * shares.std(axis=0) / len(shares) ** 0.5 + 1e-3).all()


@pytest.mark.slow
def test_two_player_win_rates_match_simulation() -> None:
    game = game_of("no_dice", 2, target=12)
    assert_wins_agree(game, [make_agent("random", game, seed=7), make_agent("greedy", game)], 10_000)


def test_three_player_win_rates_match_simulation() -> None:
    game = game_of("no_dice", 3, target=4, throws=2)
    random, greedy = make_agent("random", game, seed=3), make_agent("greedy", game)
    assert_wins_agree(game, [random, greedy, greedy], 5_000)


@pytest.mark.slow
@pytest.mark.parametrize("opponent", ["random", "greedy", "solver"])
def test_win_rate_of_random_matches_200_000_full_games(opponent: str) -> None:
    game = game_of("no_dice")
    result = evaluate(
        game, ["random", opponent], num_games=200_000, seed=1, duplicate=False, regret=False, confidence=0.999
    )
    known = [tabulate_policy(game, "random"), tabulate_policy(game, opponent)]
    exact = np.mean([exact_value(game, known)[0], exact_value(game, known[::-1])[1]])
    low, high = nth(result, 0).interval
    assert low <= exact <= high


def test_exact_regret_matches_regret_in_a_match() -> None:
    game = game_of("no_dice", 2, target=8)
    exact = evaluated("greedy", target=8)
    match = evaluate(game, ["greedy", "solver"], num_games=8000, seed=2, confidence=0.999)
    assert nth(match, 0).regret is not None and exact.regret_per_decision is not None and exact.decisions is not None
    sampled = nth(match, 0).regret
    assert sampled.interval is not None and exact.optimal_share is not None
    assert sampled.interval[0] < exact.regret_per_decision < sampled.interval[1]
    assert sampled.decisions / match.games == pytest.approx(exact.decisions, rel=0.05)
    assert sampled.optimal_share == pytest.approx(exact.optimal_share, abs=0.01)
    assert list(sampled.by_throw) == list(exact.regret_by_throw)
    assert list(sampled.by_score) == list(exact.regret_by_score)
    for parts, exact_parts in ((sampled.by_throw, exact.regret_by_throw), (sampled.by_score, exact.regret_by_score)):
        for label, part in parts.items():
            assert part.share == pytest.approx(exact_parts[label].share, abs=0.05)
            assert part.decisions / sampled.decisions == pytest.approx(
                exact_parts[label].decisions / exact.decisions, abs=0.02
            )


# --- Three players, and other forms of a policy ----------------------------------------------------------


def test_three_equal_players_have_equal_values_by_turn_order() -> None:
    game = game_of("no_dice", 3, target=2, throws=2)
    table = tabulate(game, Quirky(game))
    values = win_probabilities(game, [table] * 3)
    assert values.sum(axis=1) == pytest.approx(np.ones(3), abs=EXACT)
    for first in range(3):  # only the place in the turn order matters
        assert values[first] == pytest.approx(np.roll(values[0], first), abs=EXACT)
    for seat in range(3):
        best = best_responses(game, [table] * 3, seat)
        assert (best > values[:, seat]).all()
        assert best == pytest.approx(np.roll(best_responses(game, [table] * 3, 0), seat), abs=EXACT)
    found = evaluate_exactly(game, Quirky(game))
    assert found.value == pytest.approx(values[0], abs=EXACT)
    assert found.nash_conv == pytest.approx(nash_conv(game, [Quirky(game)] * 3), abs=EXACT)


def test_game_continues_between_two_after_one_is_eliminated() -> None:
    """With target 1 the first player who scores is out. What remains is the two-player game."""
    three, two = game_of("no_dice", 3, target=1, throws=1), game_of("no_dice", 2, target=1, throws=1)
    zero = tabulate(two, make_agent("random", two)).scores[0, 1][0, 0, 0]
    pair = exact_value(two, ["random", "random"])
    out = (1 - zero) * np.array([1, zero, zero**2]) / (1 - zero**3)  # each seat's probability to be the first one out
    expected = [
        out[2] * pair[0] + out[1] * pair[1],
        out[0] * pair[0] + out[2] * pair[1],
        out[1] * pair[0] + out[0] * pair[1],
    ]
    assert exact_value(three, ["random"] * 3) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("players", [2, 3])
def test_deterministic_agent_equals_its_probabilities(players: int) -> None:
    game = game_of("no_dice", players, target=3)
    greedy = make_agent("greedy", game)
    plain, told = tabulate(game, greedy), tabulate(game, Pure(greedy, game))
    assert plain.states == told.states
    for key, scores in plain.scores.items():
        assert np.abs(scores - told.scores[key]).max() < EXACT


def test_value_of_target_one_and_one_throw_matches_the_formula() -> None:
    """Both players have W = p (1 - W), where p is the probability of scoring zero."""
    game = game_of("no_dice", 2, target=1, throws=1)
    chance = rules_of.turn_value(lambda score: Fraction(score == 0), 1)
    assert exact_value(game, ["greedy", "greedy"])[0] == pytest.approx(float(chance / (1 + chance)), abs=EXACT)
    assert exploitability(game, "greedy") == pytest.approx(0, abs=EXACT)
