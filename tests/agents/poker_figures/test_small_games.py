"""Tests of solved small two-player games of Poker Figures: exact recursion, consistency and the cache."""

from __future__ import annotations

import copy
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of, nth, positions
from tests.oracle import poker_figures as oracle
from trialea import OptionError, make_game
from trialea.agents import solve
from trialea.agents.poker_figures import small_games
from trialea.agents.poker_figures.positions import count_positions, make_space
from trialea.agents.poker_figures.small_games import SmallGameSolution
from trialea.envs.agent import make_agent
from trialea.envs.game import Game, States
from trialea.envs.poker_figures.rules import Options
from trialea.evaluation import evaluate


def solved(**options: Any) -> SmallGameSolution:
    """Solve a game without the cache."""
    game = game_of("poker_figures", 2, **options)
    values, facts = small_games.compute(game)
    return SmallGameSolution(game, values, facts["seconds"])


# --- Comparison with plain recursion ---------------------------------------------------------------------


@cache
def thrown(dice: int) -> list[tuple[str, Fraction]]:
    """Return every throw of `dice` dice with its probability."""
    found = []
    for faces in combinations_with_replacement(oracle.FACES, dice):
        orders = factorial(dice) // prod(map(factorial, Counter(faces).values()))
        found.append(("".join(faces), Fraction(orders, 6**dice)))
    return found


def clone(game: oracle.Game) -> oracle.Game:
    """= | Return a copy; `copy.deepcopy` takes ten times as long."""
    new = copy.copy(game)
    new.sheets = [{row: list(cells) for row, cells in sheet.items()} for sheet in game.sheets]
    new.turns, new.doubled = list(game.turns), set(game.doubled)
    return new


class Recursion:
    """The oracle's game solved in exact fractions: the win share of seat 0, which starts."""

    def __init__(self, **options: Any) -> None:
        self.start = oracle.Game(oracle.Options(**options), 2)
        self.known: dict[Any, Fraction] = {}

    def value(self) -> Fraction:
        return self.fall(self.start)

    def fall(self, game: oracle.Game) -> Fraction:
        """Return the value of a game whose dice are about to fall, or which is over."""
        if game.over:
            return game.shares()[0]
        key = (*self.key(game), game.dice)
        if key not in self.known:
            self.known[key] = sum(
                (chance * self.choose(game, faces) for faces, chance in thrown(5 - len(game.dice))), Fraction(0)
            )
        return self.known[key]

    def choose(self, game: oracle.Game, faces: str) -> Fraction:
        """Return the value once the dice show these faces and the player decides."""
        key = (*self.key(game), game.de_mao, oracle.in_order(game.dice + faces))
        if key not in self.known:
            fallen = clone(game)
            fallen.fall(faces)
            worth = []
            for decision in fallen.legal():
                after = clone(fallen)
                after.decide(decision)
                worth.append(self.fall(after))
            self.known[key] = max(worth) if game.seat == 0 else min(worth)
        return self.known[key]

    @staticmethod
    def key(game: oracle.Game) -> tuple[Any, ...]:
        """Return the position as a key for the table of known values."""
        return str(game.sheets), game.seat, tuple(game.turns), game.throws


@pytest.mark.parametrize(
    "options",
    [
        {"rows": "SF", "columns": 1, "max_turns": 1, "full_value": 30},
        {"rows": "AD", "columns": 1, "max_turns": 2},
        pytest.param({"rows": "SF", "columns": 2, "max_turns": 1}, marks=pytest.mark.slow),
        pytest.param({"rows": "AF", "columns": 2, "max_turns": 1, "score_open_rows": True}, marks=pytest.mark.slow),
        pytest.param({"rows": "ASF", "columns": 1, "max_turns": 1, "poker_row": True}, marks=pytest.mark.slow),
        pytest.param({"rows": "XSF", "columns": 1, "max_turns": 2, "score_open_rows": True}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_values_match_exact_rationals(options: dict[str, Any]) -> None:
    assert solved(**options).value() == pytest.approx(float(Recursion(**options).value()), abs=1e-12)


@pytest.mark.nojit
def test_kernels_without_jit_give_the_same_values() -> None:
    """The recursion above gives 0.5724321271704911."""
    solution = solved(rows="AD", columns=1, max_turns=1)
    assert solution.value() == pytest.approx(0.5724321271704911, abs=1e-12)
    states = solution.game.start([1])
    after = solution.game.choose(states, solution.best_actions(states))
    assert solution.chance_values(after) == pytest.approx(solution.state_values(states), abs=1e-12)


# --- Consistency ------------------------------------------------------------------------------------------

SMALL: list[dict[str, Any]] = [
    {"rows": "AD", "columns": 2, "max_turns": 4},
    {"rows": "ADSF", "columns": 1, "max_turns": 6},
    {"rows": "XF", "columns": 2, "max_turns": 3, "poker_row": True, "score_open_rows": True, "full_value": 7},
]


@cache
def small(number: int) -> SmallGameSolution:
    """Return the solution of one of the small games."""
    return solved(**SMALL[number])


def some(game: Game, count: int = 60) -> States:
    """Return states of random games that are not over."""
    states = positions(game, count, most_decisions=25)
    return states[states.over == 0].view(np.recarray)


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_state_and_action_values_are_consistent(number: int) -> None:
    solution = small(number)
    game = solution.game
    states = some(game)
    every = np.arange(len(states))
    values, by_seat = solution.action_values(states), solution.state_values(states)
    assert (np.isnan(values) == (game.masks(states) == 0)).all()
    assert by_seat[every, states.mover] == pytest.approx(np.nanmax(values, axis=1), abs=1e-12)
    assert by_seat.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert values[every, solution.best_actions(states)] == pytest.approx(np.nanmax(values, axis=1), abs=1e-12)
    for action in range(game.num_actions):
        legal = np.flatnonzero(~np.isnan(values[:, action]))
        if len(legal):
            after = game.choose(states[legal].view(np.recarray), np.full(len(legal), action))
            expected = solution.chance_values(after)[np.arange(len(legal)), states.mover[legal]]
            assert expected == pytest.approx(values[legal, action], abs=1e-12)


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_value_before_a_throw_is_the_mean_over_its_outcomes(number: int) -> None:
    solution = small(number)
    game = solution.game
    states = some(game, 12)
    rng = np.random.default_rng(0)
    after = game.choose(states, [rng.choice(np.flatnonzero(mask)) for mask in game.masks(states)])
    values = solution.chance_values(after)
    for state, value in zip(after, values, strict=True):
        outcomes = game.chance_outcomes(state)
        if state.over:
            assert (value == state.share[:2]).all()
            continue
        fallen = np.concatenate([outcome for outcome, _ in outcomes]).view(np.recarray)
        chances = np.array([chance for _, chance in outcomes])
        assert chances @ solution.state_values(fallen) == pytest.approx(value, abs=1e-12)


def test_game_value_is_the_same_whoever_starts() -> None:
    solution = small(0)
    for first in range(2):
        states = solution.game.start([1], first_player=first)
        states.throws, states.pending = 0, 31
        assert solution.chance_values(states)[0, first] == pytest.approx(solution.value(), abs=1e-12)


def test_position_values_favour_the_mover_and_the_player_ahead() -> None:
    solution = small(0)
    assert 0 <= solution.values.min() <= solution.values.max() <= 1
    # When both players lack only one queen, the player who throws next is better off.
    own = solution.value((8, 1, 7, 1, 7, 0, 0, 0, 0))
    assert own > 0.5
    ahead, behind = (solution.value((4, *a, *b, 0, 0, 0, 0)) for a, b in (((1, 20), (0, 0)), ((0, 0), (1, 20))))
    assert ahead > solution.value((4, *[0] * 8)) > behind
    assert solution.value((0, 1, 20, 0, 0, 0, 0, 0, 0)) == 0.5  # truncated, where an open row counts nothing


def test_solver_self_play_win_rate_matches_its_value() -> None:
    solution = small(1)
    states = solution.game.start(np.arange(4000) + 77)
    going = np.arange(len(states))
    while len(going):
        solution.game.step(states, solution.best_actions(states[going].view(np.recarray)), going)
        going = going[states.over[going] == 0]
    assert states.share[:, 0].mean() == pytest.approx(solution.value(), abs=4 * 0.5 / 4000**0.5)


# --- Agent, summary and cache -----------------------------------------------------------------------------


def test_solver_plays_the_solution_and_has_zero_regret() -> None:
    game = game_of("poker_figures", 2, rows="AD", columns=2, max_turns=3)
    agent: Any = make_agent("solver", game)
    assert agent.deterministic
    assert isinstance(agent.solution, SmallGameSolution)
    states = positions(game, 50)
    values = agent.action_values(states)
    assert np.array_equal(np.isnan(values), game.masks(states) == 0)
    assert np.take_along_axis(values, agent.act(states)[:, None], 1).ravel() == pytest.approx(np.nanmax(values, axis=1))
    found = evaluate(game, ["solver", "greedy"], num_games=40, seed=1)
    assert nth(found, 0).regret.per_decision == 0
    assert nth(found, 1).regret.per_decision > 0
    assert found.to_json()["regret_unit"] == "milli-wins"


def test_solver_is_the_reference_agent_for_unsolved_games() -> None:
    for players, options in (
        (2, {"rows": "ADS", "columns": 5}),
        (3, {"rows": "AD", "columns": 2}),
        (2, {"rows": "AD", "sum_throws": True}),
    ):
        game = game_of("poker_figures", players, **options)
        solver: Any = make_agent("solver", game)
        assert solver.solution is None
        states = positions(game, 40)
        assert (solver.act(states) == make_agent("reference", game).act(states)).all()


def test_summary_reports_the_given_position() -> None:
    solution = solve(make_game("poker_figures", rows="AD", columns=2, max_turns=3))
    summary = solution.summary()
    assert summary["value"][0] + summary["value"][1] == 1
    assert (summary["game"], summary["players"], summary["positions"]) == ("poker_figures", 2, 1296)
    assert solution.summary((1, 1, 20, 0, 0, 1, 8, 1, 7))["value"][0] == solution.value((1, 1, 20, 0, 0, 1, 8, 1, 7))
    for wrong in ((1,), (7, *[0] * 8), (1, 1, 6, *[0] * 6), (1, 2, 14, *[0] * 6), (1, -1, 0, *[0] * 6)):
        with pytest.raises(OptionError, match="position|turns to come|cells and sums"):
            solution.summary(wrong)


def test_solution_is_cached_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path))
    game = make_game("poker_figures", rows="AD", columns=2, max_turns=2)
    first = solve(game)
    assert len(list(tmp_path.glob("win_share-*.npz"))) == 1
    again = solve(game)
    assert again.seconds == first.seconds
    assert (again.values == first.values).all()


@pytest.mark.parametrize(
    ("players", "options", "words"),
    [
        (2, {}, r"at least 10\^24 positions between turns, but at most 3,000,000 can be solved. Give fewer rows"),
        (2, {"rows": "XSF", "columns": 3}, "positions between turns, but at most 3,000,000"),
        (2, {"rows": "ADSF", "columns": 2}, "Give max_turns of at most 12"),
        (2, {"rows": "AD", "columns": 3}, "Run `trialea solve poker_figures --rows AD --columns 3` first"),
        (2, {"rows": "AD", "columns": 1, "sum_throws": True}, "sum_throws must be off"),
        (3, {"rows": "AD", "columns": 1}, "players must be 2 .* got 3"),
    ],
)
def test_unsolvable_games_raise_with_the_reason(players: int, options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        solve(game_of("poker_figures", players, **options))


def test_states_of_other_games_raise() -> None:
    solution = small(0)
    other = game_of("poker_figures", 2).start([1])
    other.sheet[0, 1, 0] = 8  # kings are not played in the small game
    other.cells[0, 1], other.sums[0, 1] = 1, 8
    with pytest.raises(OptionError, match="states must be of Game"):
        solution.action_values(other)
    with pytest.raises(OptionError, match="of two players"):
        solution.action_values(game_of("poker_figures", 3).start([1]))
    states = solution.game.start([1])
    with pytest.raises(OptionError, match="a player is to act"):
        solution.chance_values(states)
    with pytest.raises(OptionError, match="a player is to act"):
        solution.state_values(solution.game.choose(states, [0]))


def test_count_positions_matches_the_listed_positions() -> None:
    for options in SMALL:
        chosen = Options(**options)
        assert make_space(chosen).offsets[-1] == count_positions(chosen)
