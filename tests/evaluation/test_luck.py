"""Tests of luck adjustment: results stay unbiased for any values, lose variance, and split into exact parts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.helpers import column, game_of
from trialea.envs.agent import Agent, make_agent
from trialea.envs.game import Game, States
from trialea.envs.poker_figures.rules import ASIDE, PASS, WRITE
from trialea.evaluation import (
    Decisions,
    LuckMeter,
    ValueFunction,
    evaluate,
    play_match,
    value_function_of,
)
from trialea.evaluation.intervals import t_interval
from trialea.evaluation.matches.match import Match
from trialea.evaluation.matches.schedule import make_schedule, make_seatings
from trialea.evaluation.measures.luck import errors_of, position_values
from trialea.evaluation.states import take

SMALL = Game("no_dice", 2, target=8)


def merged(states: States, chances: NDArray[np.float64]) -> tuple[States, NDArray[np.float64], NDArray[np.int64]]:
    """Merge states that differ only in their history; return the states, the sums of their chances, and which is
    which.

    A state's chance can be any number to be added up.
    """
    alike = states.copy()
    alike.seed, alike.decisions, alike.turns = 0, 0, 0
    alike.scores[alike.finished != 0] = 0  # nor by how far an eliminated player is over the target
    alike.dice[(states.pending[:, None] >> np.arange(alike.dice.shape[1]) & 1) == 1] = (
        0  # the faces shown before the throw
    )
    raw = np.frombuffer(alike.tobytes(), np.dtype((np.void, alike.dtype.itemsize)))
    _, first, which = np.unique(raw, return_index=True, return_inverse=True)
    return take(alike, first), np.bincount(which.ravel(), chances), which.ravel()


def thrown(game: Game, states: States) -> tuple[States, NDArray[np.float64], NDArray[np.int64]]:
    """Return each outcome of the pending dice: the state after it, its chance, and the index of its origin."""
    after, chances, origin = [], [], []
    for pending in np.unique(states.pending).tolist():
        dice = [die for die in range(8) if pending >> die & 1]
        index = np.flatnonzero(states.pending == pending)
        faces = np.zeros((6 ** len(dice), 8), np.int64)
        faces[:, dice] = list(product(range(6), repeat=len(dice)))
        outcomes = take(states, np.repeat(index, len(faces)))
        game.loops.throw(outcomes, np.tile(faces, (len(index), 1)), game.tables)
        after.append(outcomes)
        chances.append(np.full(len(outcomes), 1 / len(faces)))
        origin.append(np.repeat(index, len(faces)))
    return np.concatenate(after).view(np.recarray), np.concatenate(chances), np.concatenate(origin)


class Wrong:
    """Arbitrary values unrelated to the game, with their exact mean over the dice."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def state_values(self, states: States) -> NDArray[np.float64]:
        n = self._game.num_players
        scores = np.where(states.finished[:, :n] != 0, -1, states.scores[:, :n])
        seen = np.column_stack([states.dice, scores, states.mover, states.throws]).astype(np.float64)
        weights = np.sin(1.0 + np.arange(seen.shape[1] * n)).reshape(seen.shape[1], n)
        turned: NDArray[np.float64] = np.cos(3.0 * seen @ weights)
        return turned

    def chance_values(self, states: States) -> NDArray[np.float64]:
        different, _, which = merged(states, np.zeros(len(states)))
        after, chances, origin = thrown(self._game, different)
        found = chances[:, None] * position_values(self._game, self, after)
        return np.stack([np.bincount(origin, column, len(different)) for column in found.T], axis=1)[which]


# --- Unbiased over the whole game tree -----------------------------------------------------------------------------


def expected_result(
    game: Game, values: ValueFunction, act: Callable[[States], Any], rounds: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the expected shares and adjusted shares of the seats (P,) over all games of `rounds` decisions.

    The third value is the probability that a game is longer. Nothing is sampled.
    """
    start = game.unthrown()
    adjusted = position_values(game, values, start)[0]
    shares = np.zeros(game.num_players)
    states, chances, _ = merged(*thrown(game, start)[:2])
    for _ in range(rounds):
        actions = act(states)
        adjusted = adjusted + chances @ errors_of(game, values, states, actions)
        after, weights, _ = merged(game.choose(states, actions), chances)
        over = after.over != 0
        shares += weights[over] @ after.share[over, : game.num_players]
        outcomes, by_chance, origin = thrown(game, take(after, np.flatnonzero(~over)))
        states, chances, _ = merged(outcomes, by_chance * weights[~over][origin])
    # Unfinished games count with their current values, as if they were broken off.
    return shares + chances @ values.state_values(states), adjusted, float(chances.sum())


def capricious(game: Game) -> Callable[[States], NDArray[np.int64]]:
    """Return an agent that plays an arbitrary fixed legal action per state; it rerolls only the last two dice."""

    def act(states: States) -> NDArray[np.int64]:
        masks = game.masks(states)
        masks[:, [dice - 1 for dice in range(1, 32) if dice != 0b11000]] = 0
        taste = np.sin(np.arange(game.num_actions) * (1.0 + states.dice.sum(axis=1, dtype=np.int64)[:, None]))
        actions: NDArray[np.int64] = np.where(masks != 0, taste, -2.0).argmax(axis=1)
        return actions

    return act


TREES = [
    (2, {"target": 1, "throws": 2}, 6),
    (2, {"target": 3, "throws": 1}, 6),
    (3, {"target": 1, "throws": 1}, 5),
]


@pytest.mark.parametrize(("players", "options", "rounds"), TREES)
@pytest.mark.parametrize("wrong", [True, False])
def test_adjusted_results_are_unbiased_over_the_whole_game_tree(
    players: int, options: dict[str, Any], rounds: int, wrong: bool
) -> None:
    game = game_of("no_dice", players, **options)
    values = Wrong(game) if wrong else value_function_of(game)[0]
    shares, adjusted, going_on = expected_result(game, values, capricious(game), rounds)
    assert going_on < 0.6
    assert adjusted == pytest.approx(shares, abs=1e-12)
    if wrong:
        assert np.abs(values.chance_values(game.unthrown()) - shares).max() > 0.05  # the values really are wrong


class Biased(Wrong):
    """Values whose mean over the dice is not exact, which makes the adjustment biased."""

    def chance_values(self, states: States) -> NDArray[np.float64]:
        return super().chance_values(states) + 0.01


def test_inexact_mean_over_the_dice_shows_as_bias() -> None:
    game = game_of("no_dice", 2, target=3, throws=1)
    shares, adjusted, _ = expected_result(game, Biased(game), capricious(game), 6)
    assert np.abs(adjusted - shares).max() > 1e-3


@pytest.mark.parametrize("players", [2, 3])
def test_solution_values_are_their_own_mean_over_the_dice(players: int) -> None:
    game = game_of("no_dice", players, target=8)
    values, origin = value_function_of(game)
    assert origin == "solution"
    states = after = game.unthrown()
    for _ in range(5):
        outcomes = game.chance_outcomes(after[0])
        states = np.concatenate([thrown for thrown, _ in outcomes]).view(np.recarray)
        mean = np.array([chance for _, chance in outcomes]) @ position_values(game, values, states)
        assert mean == pytest.approx(values.chance_values(after)[0], abs=1e-12)
        one = take(states, np.array([len(states) // 3]))
        after = game.choose(one, capricious(game)(one))
        if after.over[0]:
            after = game.unthrown()


# --- The estimate for Poker Figures --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("players", "options"),
    [
        (2, {}),
        (3, {"poker_row": True, "score_open_rows": True, "max_turns": 3}),
        (2, {"sum_throws": True}),
        (2, {"rows": "ADS", "columns": 3}),
    ],
)
def test_estimate_is_its_own_exact_mean_over_the_dice(players: int, options: dict[str, Any]) -> None:
    """Covers first throws, rerolls, fresh throws after a write, and the next player's first throw."""
    game = game_of("poker_figures", players, **options)
    values, origin = value_function_of(game)
    assert origin == "estimate"
    rng = np.random.default_rng(1)
    waiting, kinds = game.unthrown(), set()
    for _ in range(60):
        expected = values.chance_values(waiting)[0]
        after, chances, _ = merged(*thrown(game, waiting)[:2])
        found = values.state_values(after)
        assert chances @ found == pytest.approx(expected, abs=1e-10)
        assert found.sum(axis=1) == pytest.approx(1, abs=1e-12)
        masks = game.masks(after)
        setters = np.flatnonzero(masks[:, ASIDE:PASS].any(axis=1))  # rare, so they are picked when they occur
        chosen = rng.choice(setters if len(setters) and rng.random() < 0.5 else len(after))
        legal = np.flatnonzero(masks[chosen])
        writes = legal[legal >= WRITE]
        action = rng.choice(writes if len(writes) and rng.random() < 0.8 else legal)
        waiting = game.choose(take(after, np.array([chosen])), [action])
        if waiting.over[0]:
            waiting = game.unthrown()
        kinds.add((int(waiting.throws[0]), bool(waiting.pending[0] == 31), bool(waiting.bound[0])))
    assert {(0, True, False), (1, True, False), (2, True, False)} <= kinds
    assert ((1, True, True) in kinds) == options.get("sum_throws", False)


def test_reference_agent_makes_only_small_errors_within_a_turn() -> None:
    """Errors by the estimate. The remaining ones occur between turns, where the estimate itself is inexact."""
    game = game_of("poker_figures", 2)
    agents = [make_agent("reference", game), make_agent("greedy", game)]
    kept: list[Decisions] = []
    play_match(game, agents, num_games=4, watch=kept.append)
    decisions = kept[0]
    change = errors_of(game, value_function_of(game)[0], decisions.states, decisions.actions)
    own = change[np.arange(len(change)), decisions.states.mover]
    rethrown = decisions.actions < WRITE
    assert np.abs(own[rethrown & (decisions.agents == 0)]).mean() < 1e-3
    assert own[rethrown & (decisions.agents == 1)].mean() < -0.001


# --- No variance between players of an equilibrium -----------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("duplicate", [True, False])
def test_equilibrium_players_get_exactly_their_seats_value(players: int, duplicate: bool) -> None:
    game = game_of("no_dice", players, target=8)
    _, luck = measured(game, ["solver"] * players, 60 * players, duplicate=duplicate)
    assert np.ptp(luck.adjusted, axis=0).max() < 1e-9
    assert luck.adjusted[0] == pytest.approx(luck.start, abs=1e-9)
    assert luck.start.sum() == pytest.approx(1)
    found = evaluate(game, ["solver"] * players, num_games=60 * players, duplicate=duplicate)
    for adjusted in column(found, "adjusted"):
        assert adjusted.win_rate == pytest.approx(1 / players, abs=1e-9)
        assert adjusted.interval is adjusted.games_saved is None


def measured(game: Game, names: list[Any], games: int, seed: int = 0, duplicate: bool = True) -> tuple[Match, Any]:
    """Play a match and return it with its luck adjustment."""
    agents = [make_agent(name, game, 5 + i) for i, name in enumerate(names)]
    schedule = make_schedule(make_seatings(len(agents), game.num_players), games, seed, duplicate)
    meter = LuckMeter(game, value_function_of(game)[0], schedule)
    match = play_match(game, agents, num_games=games, seed=seed, duplicate=duplicate, watch=meter.add)
    return match, meter.result(match)


# --- The parts add up ----------------------------------------------------------------------------------------------


def one_game(game: Game, agents: list[Agent], values: ValueFunction, seed: int) -> Any:
    """Return start, luck, own and others' errors of every seat in one game (4, P), and the final shares."""
    states = game.start([seed])
    n = game.num_players
    start = values.chance_values(game.unthrown())[0]
    luck, own, others = values.state_values(states)[0] - start, np.zeros(n), np.zeros(n)
    while True:
        mover = int(states.mover[0])
        actions = agents[mover].act(states)
        before, after = values.state_values(states)[0], game.choose(states, actions)
        ended = bool(after.over[0])
        then = after.share[0, :n].astype(float) if ended else values.chance_values(after)[0]
        for seat in range(n):
            (own if agents[seat] is agents[mover] else others)[seat] += then[seat] - before[seat]
        if ended:
            return np.array([start, luck, own, others]), then
        game.step(states, actions)
        luck = luck + values.state_values(states)[0] - then


@pytest.mark.parametrize("players", [2, 3])
def test_parts_add_up_to_the_result_and_match_each_event(players: int) -> None:
    game = game_of("no_dice", players, target=8)
    names = ["random", "greedy", "solver"][:players]
    match, luck = measured(game, names, 30)
    shape = match.shares.shape
    parts = [np.broadcast_to(part, shape) for part in (luck.start, luck.luck, luck.own_errors, luck.others_errors)]
    assert sum(parts) == pytest.approx(match.shares, abs=1e-12)
    assert luck.adjusted == pytest.approx(match.shares - luck.luck, abs=1e-12)
    values = value_function_of(game)[0]
    players_of = [make_agent(name, game, 5 + i) for i, name in enumerate(names)]
    seats, seeds = match.seats(), match.schedule.seeds(match.numbers)
    for g in range(0, len(seats), 4):
        by_event, shares = one_game(game, [players_of[a] for a in seats[g]], values, int(seeds[g]))
        assert shares == pytest.approx(match.shares[g])
        assert np.stack([part[g] for part in parts]) == pytest.approx(by_event, abs=1e-12)


def test_errors_are_never_gains_and_zero_for_the_solver() -> None:
    game = game_of("no_dice", 3, target=8)
    match, luck = measured(game, ["random", "greedy", "solver"], 60)
    seats = match.seats()
    assert luck.own_errors.max() < 1e-9
    assert luck.own_errors[seats == 0].max() < -0.1  # the random agent errs in every game
    assert np.abs(luck.own_errors[seats == 2]).max() < 1e-9
    assert luck.others_errors[seats == 2].min() > -1e-9


def test_agent_in_two_seats_counts_errors_of_both_as_its_own() -> None:
    """Alone at the table it has no opponents; what it loses in one seat it gains in the other."""
    game = game_of("no_dice", 2, target=8)
    agent = make_agent("random", game, 1)
    schedule = make_schedule(np.array([[0, 0], [0, 1], [1, 0]]), 30, 0, True)
    meter = LuckMeter(game, value_function_of(game)[0], schedule)
    kept: list[Decisions] = []
    play_match(game, [agent, agent], num_games=30, watch=kept.append)
    decisions = kept[0]
    alone = decisions.games % 3 == 0
    decisions.agents[alone] = 0
    meter.add(decisions)
    arrays = meter.to_arrays(np.arange(30))
    assert (arrays["others"][::3] == 0).all()
    assert arrays["own"][::3].sum(axis=1) == pytest.approx(0, abs=1e-12)
    assert np.abs(arrays["own"][::3]).max() > 0.1


# --- Intervals ------------------------------------------------------------------------------------------------------


def test_adjusted_intervals_cover_the_truth_as_often_as_stated() -> None:
    """A long match gives the truth, and parts of it are the samples."""
    match, luck = measured(SMALL, ["greedy", "solver"], 16_000)
    units = luck.by_unit(match, match.seats() == 0)
    limits = [t_interval(part) for part in units.reshape(80, -1)]
    assert sum(low <= units.mean() <= high for low, high in limits) >= 0.9 * 80
