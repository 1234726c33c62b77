"""Tests of the greedy and reference agents of Poker Figures, and of the lattice benchmark."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tests.helpers import game_of, nth, positions
from trialea import make_agent
from trialea.agents.poker_figures.estimate import PACE, POINTS, race_table
from trialea.agents.poker_figures.reference import ReferenceAgent
from trialea.agents.poker_figures.solver import SolverAgent
from trialea.benchmarks.keeper_lattice import measure
from trialea.envs.poker_figures.rules import FACES, Options
from trialea.evaluation import evaluate

SMALL: dict[str, Any] = {"rows": "ADF", "columns": 3}


def on_the_table(dice: str, throws: int, **options: Any) -> Any:
    """Return one state with these dice, sorted as in the game, after `throws` throws of all five."""
    states = game_of("poker_figures", **options).start([0])
    states.dice[0] = sorted(FACES.index(face) for face in dice)
    states.throws, states.fresh = throws, 1
    return states


@pytest.mark.parametrize(
    ("dice", "throws", "named"),
    [
        ("AA99V", 1, "reroll dice 0 1 2"),
        ("DDD9X", 1, "write"),  # 7 points for queens
        ("XVDRA", 2, "write"),
        ("AARDV", 3, "pass"),
        ("99999", 1, "reroll all"),
    ],
)
def test_greedy_maximises_the_points_of_the_turn(dice: str, throws: int, named: str) -> None:
    states = on_the_table(dice, throws)
    game = game_of("poker_figures")
    action = int(make_agent("greedy", game).act(states)[0])
    if named == "write":
        assert 31 <= action < 39
    elif named == "pass":
        assert action == 44
    elif named == "reroll all":
        assert action == 30
    else:  # two aces and two pilos are kept, so only the jack is thrown again
        thrown = [FACES[states.dice[0, place]] for place in range(5) if action + 1 >> place & 1]
        assert thrown == ["V"]


@pytest.mark.parametrize("name", ["greedy", "reference", "solver"])
@pytest.mark.parametrize(
    ("players", "options"),
    [(2, SMALL), (3, {**SMALL, "poker_row": True, "sum_throws": True}), (6, {**SMALL, "score_open_rows": True})],
)
def test_agents_always_choose_legal_actions(name: str, players: int, options: dict[str, Any]) -> None:
    """The positions are from random games and include bound turns."""
    game = game_of("poker_figures", players, **options)
    states = positions(game, 200, seed=2)
    actions = make_agent(name, game).act(states)
    assert game.masks(states)[np.arange(len(states)), actions].all()
    for low in (0, 57, 133):  # the same answer alone as in a batch
        assert make_agent(name, game).act(states[low : low + 1].view(np.recarray)) == actions[low]


def test_solver_falls_back_to_the_reference_and_both_pickle() -> None:
    game = game_of("poker_figures", **SMALL)
    states = positions(game, 50, seed=3)
    for kind in (ReferenceAgent, SolverAgent):
        agent = pickle.loads(pickle.dumps(kind(game)))
        assert type(agent) is kind
        assert (agent.act(states) == ReferenceAgent(game).act(states)).all()


def test_reference_writes_the_last_cell_only_if_that_wins() -> None:
    """One more cell ends the game."""
    game = game_of("poker_figures", rows="AD", columns=2)
    for ahead in (True, False):
        states = game.start([0])
        mover, other = (8, 7) if ahead else (7, 40)
        states.sheet[0, 0, 0, 0] = mover
        states.sheet[0, 1, 0, 0] = other if other < 21 else 20
        states.cells[0, :2, 0] = 1
        states.sums[0, 0, 0], states.sums[0, 1, 0] = mover, states.sheet[0, 1, 0, 0]
        states.asks[0, :2, 0] = 6
        states.shared[0] |= 1
        states.dice[0], states.throws, states.fresh = [0, 0, 0, 1, 2], 3, 0  # 6 in aces closes the row
        action = int(ReferenceAgent(game).act(states)[0])
        assert action == (31 if ahead else 44)


def test_race_table_favours_the_mover_and_the_player_ahead() -> None:
    table = race_table(PACE[0], POINTS[0], 5, 1)
    added, missed, time = np.moveaxis(table, -1, 0)
    assert (added[1] >= added[0] - 1e-12).all()  # moving is worth at least as much as waiting
    assert (np.diff(added[:, :, :5], axis=2) <= 1e-12).all()  # a fuller sheet of the opponent leaves less time
    assert (missed[:, 1:] == 0).all()
    assert (np.diff(missed[:, 0], axis=1) >= -1e-12).all()
    assert (time[:, :5, :5] > 0).all()


def test_reference_beats_greedy_and_random() -> None:
    """Checks the published win rates with fewer games; see the game's page in the docs."""
    game = game_of("poker_figures")
    against_greedy = evaluate(game, ["reference", "greedy"], num_games=600, regret=False, luck=False)
    assert nth(against_greedy, 0).win_rate > 0.65
    against_random = evaluate(game, ["reference", "random"], num_games=100, regret=False, luck=False)
    assert nth(against_random, 0).win_rate >= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("players", [3, 6])
def test_reference_beats_greedy_with_more_players(players: int) -> None:
    game = game_of("poker_figures", players)
    found = evaluate(game, ["reference", "greedy"], num_games=400, regret=False, luck=False)
    assert nth(found, 0).win_rate > nth(found, 1).win_rate


def test_direct_loop_and_keep_lattice_give_the_same_values() -> None:
    assert measure(1, Options(rows="ADSF", columns=3))["keeper_lattice_difference"] < 1e-9
