"""Tests of matches, regret and evaluations."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tests.helpers import SHORT, column, game_of, nth, opponents_of
from trialea import GAMES
from trialea.envs.agent import make_agent
from trialea.envs.errors import IllegalActionError, OptionError, UnknownNameError
from trialea.envs.game import Game, States
from trialea.evaluation import Decisions, evaluate, play_match
from trialea.evaluation.matches.match import distinct_names
from trialea.evaluation.matches.schedule import make_seatings
from trialea.evaluation.measures.regret import RegretMeter, regrets, solution_of

SMALL = Game("no_dice", 2, target=8)


class Scripted:
    """An agent that acts by a function of the states."""

    def __init__(self, act: Callable[[States], Any], name: str = "scripted") -> None:
        self.act = act
        self.name = name


# --- Matches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("agents", "seats", "rows"), [(2, 2, 2), (3, 3, 3), (2, 4, 2), (2, 3, 6), (3, 8, 24)])
def test_seatings_give_every_agent_each_seat_equally_often(agents: int, seats: int, rows: int) -> None:
    seatings = make_seatings(agents, seats)
    assert len({tuple(row) for row in seatings.tolist()}) == len(seatings) == rows
    for seat in range(seats):
        assert (np.bincount(seatings[:, seat], minlength=agents) == rows / agents).all()
    for row in seatings:  # no agent has two seats more than another
        assert np.ptp(np.bincount(row, minlength=agents)) <= 1


def test_one_agent_is_not_enough_for_a_match() -> None:
    with pytest.raises(OptionError, match="agents must be at least 2, got 1"):
        evaluate(SMALL, ["random"])


def test_more_agents_than_seats_play_every_choice() -> None:
    seatings = make_seatings(4, 2).tolist()
    assert sorted(map(tuple, seatings)) == [(a, b) for a in range(4) for b in range(4) if a != b]


@pytest.mark.parametrize("duplicate", [True, False])
def test_win_rates_count_only_games_in_which_the_agent_played(duplicate: bool) -> None:
    three = evaluate(SMALL, ["greedy", "random", "greedy"], num_games=600, duplicate=duplicate, regret=False)
    assert three.games == 600
    assert column(three, "starts") == (200, 200, 200)
    assert sum(column(three, "wins")) == three.games
    assert column(three, "win_rate") == pytest.approx([won / 400 for won in column(three, "wins")])
    assert set(three.pairs) == set(permutations(three.agents, 2))
    for (a, b), pair in three.pairs.items():
        mirrored = three.pairs[b, a]
        assert pair.agents == (a, b) and pair.games == mirrored.games == 200
        assert pair.win_rate + mirrored.win_rate == pytest.approx(1)
        assert pair.difference.mean == pytest.approx(-mirrored.difference.mean)
        low, high = pair.interval
        assert low <= pair.win_rate <= high
    assert nth(three, 1).win_rate < 0.1 < 0.4 < nth(three, 0).win_rate


def watched(game: Game, agents: list[Any], games: int, duplicate: bool = True) -> Decisions:
    """Play a match and return its decisions."""
    kept: list[Decisions] = []
    play_match(game, agents, num_games=games, seed=3, duplicate=duplicate, watch=kept.append)
    assert len(kept) == 1
    return kept[0]


def first_throws(decisions: Decisions) -> dict[tuple[int, int, int, int], list[tuple[int, ...]]]:
    """Return the dice of each turn's first throw, by seed, unit, seat and turn."""
    found: dict[tuple[int, int, int, int], list[tuple[int, ...]]] = {}
    for state, unit in zip(decisions.states, decisions.units, strict=True):
        if state.throws == 1:
            key = (int(state.seed), int(unit), int(state.mover), int(state.turns[state.mover]))
            found.setdefault(key, []).append(tuple(state.dice.tolist()))
    return found


def test_duplicate_games_give_each_seat_the_same_throws() -> None:
    agents = [make_agent("greedy", SMALL), make_agent("random", SMALL, 7)]
    decisions = watched(SMALL, agents, 20)
    throws = first_throws(decisions)
    assert len({seed for seed, *_ in throws}) == 10  # two games per seed
    assert all(len(set(dice)) == 1 for dice in throws.values())
    in_both = [key for key, dice in throws.items() if len(dice) == 2]
    assert {key[3] for key in in_both} >= {0, 1}
    begun = {
        (int(unit), int(agent))
        for state, unit, agent in zip(decisions.states, decisions.units, decisions.agents, strict=True)
        if state.decisions == 0 and state.mover == 0
    }
    assert begun == {(unit, agent) for unit in range(10) for agent in range(2)}


def test_games_without_duplicate_have_separate_dice() -> None:
    agents = [make_agent("greedy", SMALL), make_agent("random", SMALL, 7)]
    decisions = watched(SMALL, agents, 20, duplicate=False)
    assert len(np.unique(decisions.states.seed)) == len(np.unique(decisions.units)) == 20
    found = evaluate(SMALL, agents, num_games=20, duplicate=False)
    assert (found.games, found.units, column(found, "starts")) == (20, 20, (10, 10))


def test_number_of_games_is_rounded_up_to_full_rounds() -> None:
    found = evaluate(SMALL, ["random", "greedy"], num_games=7)
    assert (found.games, found.units, column(found, "starts")) == (8, 4, (4, 4))


def test_same_agent_object_can_play_both_sides() -> None:
    agent = make_agent("greedy", SMALL)
    found = evaluate(SMALL, [agent, agent], num_games=400)
    assert tuple(found.agents) == ("greedy", "greedy (2)")
    assert column(found, "starts") == (200, 200)
    assert column(found, "win_rate") == (0.5, 0.5)
    for low, high in column(found, "interval"):
        assert low < 0.5 < high
    assert found.seats[0].win_rate + found.seats[1].win_rate == pytest.approx(1.0)
    assert found.seats[0].effect == pytest.approx(found.seats[0].win_rate - 0.5)
    low, high = found.seats[0].effect_interval
    assert low < found.seats[0].effect < high
    assert nth(found, 0).seat_win_rate == nth(found, 1).seat_win_rate
    assert nth(found, 0).seat_win_rate == pytest.approx([seat.win_rate for seat in found.seats])


@pytest.mark.parametrize(("name", "agent"), [(name, agent) for name in GAMES for agent in opponents_of(name)])
def test_agent_against_itself_wins_half(name: str, agent: str) -> None:
    """Two copies start equally often, the interval includes one half, and the seat effect is shown.

    With more than two seats the copies hold equally many seats, or take turns at holding one more.
    """
    game = game_of(name, **SHORT[name])
    even = 1 / game.num_players
    for duplicate in (True, False):
        found = evaluate(game, [agent, agent], num_games=600, duplicate=duplicate, regret=False, confidence=0.9999)
        assert column(found, "starts") == (found.games // 2, found.games // 2)
        for low, high in column(found, "interval"):
            assert low <= 0.5 <= high
        assert [seat.effect for seat in found.seats] == pytest.approx([seat.win_rate - even for seat in found.seats])
        assert sum(seat.win_rate for seat in found.seats) == pytest.approx(1)
        for seat in found.seats:
            low, high = seat.effect_interval
            assert low < seat.effect < high


def test_two_random_agents_get_different_seeds_and_are_equal() -> None:
    every = [evaluate(SMALL, ["random", "random"], num_games=200, seed=seed, regret=False) for seed in range(20)]
    assert tuple(every[0].agents) == ("random", "random (2)")
    assert nth(every[0], 0).seat_win_rate != nth(every[0], 1).seat_win_rate
    assert len({column(found, "win_rate") for found in every}) > 5
    assert sum(low <= 0.5 <= high for (low, high), _ in (column(found, "interval") for found in every)) >= 16
    assert (
        sum(
            found.versus_first()[0].difference.interval[0] <= 0 <= found.versus_first()[0].difference.interval[1]
            for found in every
        )
        >= 16
    )
    assert np.mean([nth(found, 0).win_rate for found in every]) == pytest.approx(0.5, abs=0.03)


def test_equal_names_are_made_distinct() -> None:
    assert distinct_names(["a", "a", "a (2)", "a"]) == ["a", "a (2)", "a (2) (2)", "a (3)"]


@pytest.mark.parametrize(
    ("players", "agents"),
    [(6, ["greedy", "random"]), (8, ["greedy", "random"]), (6, ["greedy", "random", "random"])],
)
def test_games_with_more_players_are_evaluated_without_regret(players: int, agents: list[str]) -> None:
    found = evaluate(Game("no_dice", players, target=8), agents, num_games=60)
    assert nth(found, 0).regret is None
    assert str(players) in found.regret_note
    assert sum(column(found, "win_rate")) == pytest.approx(1.0)
    assert sum(seat.win_rate for seat in found.seats) == pytest.approx(1.0)
    assert len(found.seats) == players
    assert nth(found, 0).win_rate > 0.8
    assert len(set(column(found, "starts"))) == 1
    assert found.to_json()["regret_per_decision"] == [None] * len(agents)


def test_illegal_action_error_names_agent_action_and_position() -> None:
    rogue = Scripted(lambda states: np.full(len(states), 139), "rogue")
    with pytest.raises(IllegalActionError) as caught:
        evaluate(SMALL, ["greedy", rogue], num_games=4)
    message = str(caught.value)
    assert "agent 'rogue': action 139 (add up the faces" in message
    assert "only after the last throw" in message
    assert "player_" in message and "/ 8" in message  # the position


@pytest.mark.parametrize(
    "act",
    [
        lambda states: np.zeros(len(states)),
        lambda states: np.zeros(len(states) + 1, int),
        lambda states: None,
    ],
)
def test_invalid_action_array_error_names_the_agent(act: Callable[[States], Any]) -> None:
    with pytest.raises(IllegalActionError, match="agent 'scripted' returned an invalid action array"):
        evaluate(SMALL, ["greedy", Scripted(act)], num_games=4)


def test_agents_cannot_change_the_games() -> None:
    greedy = make_agent("greedy", SMALL)

    def cheat(states: States) -> Any:
        actions = greedy.act(states)
        states.scores[:] = 0
        return actions

    honest = evaluate(SMALL, ["random", greedy], num_games=40)
    cheated = evaluate(SMALL, ["random", Scripted(cheat, "greedy")], num_games=40)
    assert cheated == honest


def test_arguments_out_of_range_raise() -> None:
    for wrong in (
        {"num_games": 0},
        {"num_games": 10**20},
        {"confidence": "high"},
        {"seed": -1},
        {"seed": 0.5},
        {"confidence": 1.0},
        {"duplicate": "no"},
        {"regret": 1},
    ):
        with pytest.raises(OptionError):
            evaluate(SMALL, ["random", "greedy"], **wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="greedy"):
        evaluate(SMALL, ["random", "nobody"])
    with pytest.raises(
        OptionError, match=r"must be a list of at least two, e\.g\. \['random', 'random'\], got 'random'"
    ):
        evaluate(SMALL, "random")
    beyond = Scripted(lambda states: np.full(len(states), 2**63, np.uint64))
    with pytest.raises(IllegalActionError, match="action 9223372036854775808 is out of range"):
        evaluate(SMALL, [beyond, "random"])


def test_progress_increases_to_one() -> None:
    seen: list[float] = []
    evaluate(SMALL, ["random", "greedy"], num_games=2100, regret=False, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_same_seed_gives_the_same_evaluation() -> None:
    first, again, other = (evaluate(SMALL, ["random", "greedy"], num_games=100, seed=s).to_json() for s in (4, 4, 5))
    assert json.dumps(first) == json.dumps(again)
    assert json.dumps(first) != json.dumps(other)


# --- Regret ----------------------------------------------------------------------------------------------


def test_regrets_of_given_values() -> None:
    values = np.array([[0.5, np.nan, 0.2], [0.3, 0.3, np.nan], [0.1, 0.4, 0.4 - 1e-14]])
    lost, matters = regrets(values, np.array([2, 1, 2]))
    assert lost.tolist() == pytest.approx([0.3, 0.0, 0.0])
    assert lost[2] == 0.0
    assert matters.tolist() == [True, False, True]


def test_regret_is_zero_for_the_solver_and_large_for_random() -> None:
    game = Game("no_dice", 2)
    against_solver = evaluate(game, ["greedy", "solver"], num_games=100)
    against_random = evaluate(game, ["solver", "random"], num_games=100)
    assert column(against_solver, "regret") and column(against_random, "regret")
    greedy, solver = column(against_solver, "regret")
    random = nth(against_random, 1).regret
    for perfect in (solver, nth(against_random, 0).regret):
        assert perfect.per_decision == 0.0
        assert perfect.optimal_share == 1.0
        assert perfect.worst == ()
        assert perfect.interval is None
    assert greedy.per_decision is not None and 0 < greedy.per_decision < 2
    assert greedy.optimal_share is not None and 0.85 < greedy.optimal_share < 1
    assert greedy.by_throw["3"].regret == 0.0  # without another throw the fewest points are best
    assert random.per_decision is not None and random.per_decision > 30
    assert random.interval is not None and random.interval[0] < random.per_decision < random.interval[1]


def by_hand(game: Game, state: Any, action: int) -> float:
    """Return the mover's win probability after an action, from the rules and the values between turns."""
    solution: Any = solution_of(game)
    one = np.array([state], game.state_dtype).view(np.recarray)
    after = game.choose(one, np.array([action]))
    if after.over[0]:
        return float(after.share[0, state.mover])
    if after.mover[0] != state.mover:
        mover = int(after.mover[0])
        return 1.0 - float(solution.value(int(after.scores[0, mover]), int(after.scores[0, 1 - mover])))
    return sum(
        p * max(by_hand(game, thrown[0], int(a)) for a in np.flatnonzero(game.masks(thrown)[0]))
        for thrown, p in game.chance_outcomes(after[0])
    )


def test_regret_matches_win_probabilities_by_hand() -> None:
    game = Game("no_dice", 2, target=4)
    decisions = watched(game, [make_agent("random", game), make_agent("greedy", game)], 40)
    values = solution_of(game).action_values(decisions.states)
    lost, _ = regrets(values, decisions.actions)
    last = np.flatnonzero(decisions.states.throws == 3)
    before = np.flatnonzero(decisions.states.throws == 2)
    assert len(last) > 20 and len(before) > 20
    for i in last:
        state, legal = decisions.states[i], np.flatnonzero(~np.isnan(values[i]))
        hand = {int(action): by_hand(game, state, int(action)) for action in legal}
        assert max(hand.values()) - hand[int(decisions.actions[i])] == pytest.approx(lost[i], abs=1e-12)
    for i in before[:8]:  # one die thrown again
        for action in (0, 1, 3, 7, 15):
            assert by_hand(game, decisions.states[i], action) == pytest.approx(values[i, action], abs=1e-12)


def test_regret_parts_add_up_and_match_the_decisions() -> None:
    agents = [make_agent("random", SMALL, 3), make_agent("greedy", SMALL)]
    found = evaluate(SMALL, agents, num_games=60, seed=3, worst=4)
    decisions = watched(SMALL, agents, 60)
    lost, matters = regrets(solution_of(SMALL).action_values(decisions.states), decisions.actions)
    assert nth(found, 0).regret
    for a, regret in enumerate(column(found, "regret")):
        mine = matters & (decisions.agents == a)
        assert regret.decisions == mine.sum()
        assert regret.per_decision == pytest.approx(1000 * lost[mine].mean())
        assert regret.optimal_share == pytest.approx((lost[mine] == 0).mean())
        for parts in (regret.by_throw, regret.by_score, regret.by_standing):
            assert sum(part.decisions for part in parts.values()) == regret.decisions
            assert sum(part.share for part in parts.values()) == pytest.approx(1.0)
        at_two = mine & (decisions.states.throws == 2)
        assert regret.by_throw["2"].regret == pytest.approx(1000 * lost[at_two].mean())
        assert len(regret.worst) == 4
        assert regret.worst[0].regret == pytest.approx(1000 * lost[mine].max())
        assert len({(m.position, m.action) for m in regret.worst}) == 4
    own = decisions.states.scores[np.arange(len(lost)), decisions.states.mover]
    other = decisions.states.scores[np.arange(len(lost)), 1 - decisions.states.mover]
    ahead = matters & (decisions.agents == 0) & (own < other)  # points are bad in this game
    assert nth(found, 0).regret.by_standing["ahead"].decisions == ahead.sum()


class Flat:
    """A solution, in points, under which no decision matters."""

    unit = "points"

    def __init__(self, game: Game) -> None:
        self._game = game

    def action_values(self, states: States) -> Any:
        return np.where(self._game.masks(states) == 1, 3.5, np.nan)


def test_regret_is_exactly_zero_when_no_decision_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialea.evaluation.measures.judges.solution_of", Flat)
    found = evaluate(SMALL, ["random", "greedy"], num_games=20)
    assert found.regret_unit == "milli-points"
    assert nth(found, 0).regret
    for regret in column(found, "regret"):
        assert (regret.per_decision, regret.decisions) == (0.0, 0)
        assert regret.interval is None and regret.optimal_share is None and regret.worst == ()
    plain = found.to_json()
    assert plain["regret_per_decision"] == [0.0, 0.0]
    assert plain["decisions"] == [0, 0]


def test_agent_without_any_decision_has_no_regret() -> None:
    meter = RegretMeter(SMALL, solution_of(SMALL), 2, 1)
    states = SMALL.start([1])
    zeros = np.zeros(1, np.int64)
    meter.add(Decisions(states, np.array([30]), zeros, zeros, zeros))
    judged, idle = meter.results()
    assert judged.per_decision is not None
    assert idle.per_decision is None


def test_solution_without_action_values_gives_no_regret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialea.evaluation.measures.regret.solve", lambda game: object())
    with pytest.raises(OptionError, match="has no action values"):
        solution_of(SMALL)
    found = evaluate(SMALL, ["random", "greedy"], num_games=4)
    assert (column(found, "regret"), found.regret_unit) == ((None, None), "")
    assert "has no action values" in found.regret_note


def test_worst_mistake_is_described() -> None:
    found = evaluate(Game("no_dice", 2), ["random", "greedy"], num_games=20, worst=2)
    assert nth(found, 0).regret
    mistake = nth(found, 0).regret.worst[0]
    assert mistake.best_value - mistake.value == pytest.approx(mistake.regret / 1000)
    assert mistake.throws_left == 3 - mistake.throws_made
    assert "player_" in mistake.position
    assert mistake.action != mistake.best_action
    assert len(mistake.totals) == 2


# --- JSON ------------------------------------------------------------------------------------------------


def test_json_has_the_documented_keys() -> None:
    found = evaluate(SMALL, ["random", "greedy"], num_games=40)
    plain = found.to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    keys = """game players options agents games units distinct_games seed duplicate confidence wins starts
    win_rate interval against against_interval seat_win_rate seat_effect seat_effect_interval
    agent_seat_win_rate difference games_needed game_length points_per_turn equal_win_rate regret_unit regret_note
    regret_per_decision regret_interval optimal_share decisions regret_by_throw regret_by_score
    regret_by_standing worst adjusted_win_rate adjusted_interval adjusted_against adjusted_against_interval
    games_saved luck luck_values luck_note versions"""
    assert set(plain) == set(keys.split())
    assert plain["agents"] == ["random", "greedy"]
    assert plain["win_rate"][0] + plain["win_rate"][1] == pytest.approx(1.0)
    assert all(low <= rate <= high for rate, (low, high) in zip(plain["win_rate"], plain["interval"], strict=True))
    assert plain["options"]["target"] == 8
    without = evaluate(SMALL, ["random", "greedy"], num_games=40, regret=False).to_json()
    assert set(without) == set(plain)
    assert without["regret_per_decision"] == without["decisions"] == [None, None]
    assert without["worst"] == [[], []]
