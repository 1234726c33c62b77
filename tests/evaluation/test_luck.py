"""Luck: results without it are unbiased whatever the values, vary not at all where they can, and add up."""

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
    """States that differ in nothing but how they came about, each once; the sums of their chances; and which is which.

    A state's own chance may be any number that is to be added up.
    """
    alike = states.copy()
    alike.seed, alike.decisions, alike.turns = 0, 0, 0
    alike.scores[alike.finished != 0] = 0  # nor by how much anybody is out
    alike.dice[(states.pending[:, None] >> np.arange(alike.dice.shape[1]) & 1) == 1] = 0  # what they showed before
    raw = np.frombuffer(alike.tobytes(), np.dtype((np.void, alike.dtype.itemsize)))
    _, first, which = np.unique(raw, return_index=True, return_inverse=True)
    return take(alike, first), np.bincount(which.ravel(), chances), which.ravel()


def thrown(game: Game, states: States) -> tuple[States, NDArray[np.float64], NDArray[np.int64]]:
    """Every outcome of the dice that wait in some states: the states after it, its chance, and whose it is."""
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
    """Values that have nothing to do with the game: any numbers whatever, and their exact mean over the dice."""

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


# --- Unbiased, by the whole tree -----------------------------------------------------------------------------------


def expected_result(
    game: Game, values: ValueFunction, act: Callable[[States], Any], rounds: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The expectations of the seats' shares and of their adjusted shares (P,), over all games of so many decisions.

    And the chance that a game is longer. Nothing is sampled.
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
    # What is still being played counts as it stands, as if the games were broken off at their last values.
    return shares + chances @ values.state_values(states), adjusted, float(chances.sum())


def capricious(game: Game) -> Callable[[States], NDArray[np.int64]]:
    """Some legal action or other, always the same in the same state; of rethrows only that of the last two dice."""

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
def test_the_whole_tree_shows_no_bias_whatever_the_values(
    players: int, options: dict[str, Any], rounds: int, wrong: bool
) -> None:
    game = game_of("no_dice", players, **options)
    values = Wrong(game) if wrong else value_function_of(game)[0]
    shares, adjusted, going_on = expected_result(game, values, capricious(game), rounds)
    assert going_on < 0.6
    assert adjusted == pytest.approx(shares, abs=1e-12)
    if wrong:
        assert np.abs(values.chance_values(game.unthrown()) - shares).max() > 0.05  # the values are wrong indeed


class Biased(Wrong):
    """A mean over the dice that is not exact, which no adjustment survives."""

    def chance_values(self, states: States) -> NDArray[np.float64]:
        return super().chance_values(states) + 0.01


def test_the_tree_notices_a_mean_that_is_not_exact() -> None:
    game = game_of("no_dice", 2, target=3, throws=1)
    shares, adjusted, _ = expected_result(game, Biased(game), capricious(game), 6)
    assert np.abs(adjusted - shares).max() > 1e-3


@pytest.mark.parametrize("players", [2, 3])
def test_the_values_of_the_solution_are_their_own_mean_over_the_dice(players: int) -> None:
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


# --- The estimate of Poker Figures ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("players", "options"),
    [
        (2, {}),
        (3, {"poker_row": True, "score_open_rows": True, "max_turns": 3}),
        (2, {"sum_throws": True}),
        (2, {"rows": "ADS", "columns": 3}),
    ],
)
def test_the_estimate_is_its_own_exact_mean_over_the_dice(players: int, options: dict[str, Any]) -> None:
    """Before first throws, rethrows, fresh throws after a cell is written, and the next player's first throw."""
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
        setters = np.flatnonzero(masks[:, ASIDE:PASS].any(axis=1))  # rare enough to be sought
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


def test_the_reference_agent_errs_little_within_its_turn_by_the_estimate() -> None:
    """What is left are the estimate's own, where one turn ends and the next begins; and greedy's."""
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
def test_between_players_of_an_equilibrium_nothing_is_left_but_what_the_seats_are_worth(
    players: int, duplicate: bool
) -> None:
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
    agents = [make_agent(name, game, 5 + i) for i, name in enumerate(names)]
    schedule = make_schedule(make_seatings(len(agents), game.num_players), games, seed, duplicate)
    meter = LuckMeter(game, value_function_of(game)[0], schedule)
    match = play_match(game, agents, num_games=games, seed=seed, duplicate=duplicate, watch=meter.add)
    return match, meter.result(match)


# --- The parts add up ----------------------------------------------------------------------------------------------


def one_game(game: Game, agents: list[Agent], values: ValueFunction, seed: int) -> Any:
    """Start, luck, own and others' errors of every seat in one game (4, P), event by event, and the final shares."""
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
def test_the_parts_add_up_to_every_result_and_are_what_each_event_brought(players: int) -> None:
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


def test_exact_values_find_no_decision_that_gains_and_none_of_the_solvers_that_loses() -> None:
    game = game_of("no_dice", 3, target=8)
    match, luck = measured(game, ["random", "greedy", "solver"], 60)
    seats = match.seats()
    assert luck.own_errors.max() < 1e-9
    assert luck.own_errors[seats == 0].max() < -0.1  # random errs in every game
    assert np.abs(luck.own_errors[seats == 2]).max() < 1e-9
    assert luck.others_errors[seats == 2].min() > -1e-9


def test_an_agent_in_two_seats_answers_for_both() -> None:
    """Alone at the table it has no others; what it spoils in one seat it gains in the other."""
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


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """The truth being what a match of many games shows, and the samples parts of it."""
    match, luck = measured(SMALL, ["greedy", "solver"], 16_000)
    units = luck.by_unit(match, match.seats() == 0)
    limits = [t_interval(part) for part in units.reshape(80, -1)]
    assert sum(low <= units.mean() <= high for low, high in limits) >= 0.9 * 80
