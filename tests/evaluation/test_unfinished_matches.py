"""Tests of matches with a faulty agent: the error names it, and finished games are kept."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.helpers import column, nth
from trialea.envs.agent import make_agent
from trialea.envs.errors import AgentError, IllegalActionError
from trialea.envs.game import Game, States
from trialea.evaluation import UnfinishedMatchError, evaluate, play_match
from trialea.evaluation.matches import play as matches
from trialea.evaluation.matches.match import MatchFailure

SMALL = Game("no_dice", 2, target=8)
LONG = Game("no_dice", 2, target=60)  # nobody is out before all players have had a turn
ADD_UP = 139  # legal only after the last throw


class Rogue:
    """Plays like another agent, but adds up the faces (illegally) where `when` says so."""

    def __init__(self, when: Callable[[States], Any], like: str = "greedy", name: str = "rogue") -> None:
        self.name = name
        self._agent = make_agent(like, SMALL)
        self._when = when

    def act(self, states: States) -> Any:
        actions = self._agent.act(states)
        return np.where(self._when(states) & (states.throws == 1), ADD_UP, actions)


def odd(states: States) -> Any:
    """Select games with an odd seed, once the mover has a point."""
    return (states.seed % np.uint64(2) == 1) & (states.scores[np.arange(len(states)), states.mover] > 0)


def always(states: States) -> Any:
    """Select all games."""
    return np.ones(len(states), np.bool_)


@pytest.mark.parametrize("duplicate", [True, False])
def test_finished_games_equal_those_of_a_match_without_the_fault(duplicate: bool) -> None:
    settings: Any = {"num_games": 200, "seed": 3, "duplicate": duplicate}
    honest = play_match(SMALL, [make_agent("greedy", SMALL), make_agent("random", SMALL, 1)], **settings)
    with pytest.raises(UnfinishedMatchError) as caught:
        play_match(SMALL, [Rogue(odd), make_agent("random", SMALL, 1)], **settings)
    kept = caught.value.match
    assert 50 < len(kept.numbers) < 200
    lost = np.setdiff1d(honest.numbers, kept.numbers)
    assert (honest.schedule.seeds(lost) % np.uint64(2) == 1).all()  # lost games are only those with the fault
    assert (kept.shares == honest.shares[kept.numbers]).all()
    assert (kept.lengths == honest.lengths[kept.numbers]).all()
    assert (kept.plays == honest.plays[kept.numbers]).all()
    assert (kept.seats() == honest.seats()[kept.numbers]).all()
    assert f". {len(kept.numbers)} of 200 games are finished. The position:\n" in str(caught.value)


def test_error_names_agent_action_and_position() -> None:
    with pytest.raises(IllegalActionError) as caught:
        evaluate(SMALL, ["greedy", Rogue(odd)], num_games=200)
    message = str(caught.value)
    assert message.startswith(f"agent 'rogue': action {ADD_UP} (add up the faces")
    assert "only after the last throw" in message
    assert "player_" in message and "/ 8" in message


def test_error_has_the_figures_of_the_finished_games() -> None:
    with pytest.raises(UnfinishedMatchError) as caught:
        evaluate(SMALL, [Rogue(odd), "random"], num_games=200, seed=3)
    found, kept = caught.value.evaluation, caught.value.match
    assert found is not None
    assert tuple(found.agents) == ("rogue", "random")
    assert found.games == len(kept.numbers)
    assert found.units == len(np.unique(kept.units()))
    assert column(found, "win_rate") == pytest.approx(kept.agent_shares().mean(axis=0))
    assert sum(column(found, "starts")) == found.games
    assert column(found, "regret") and nth(found, 0).regret.decisions > 0


def test_only_decisions_of_finished_games_are_judged() -> None:
    decided: list[Any] = []
    with pytest.raises(UnfinishedMatchError) as caught:
        play_match(SMALL, [Rogue(odd), make_agent("random", SMALL)], num_games=100, watch=decided.append)
    assert sum(len(part.actions) for part in decided) == caught.value.match.lengths.sum()


def test_other_agents_games_are_played_to_the_end() -> None:
    """Of three agents at two seats one is always faulty; all games of the other two are kept."""
    with pytest.raises(UnfinishedMatchError) as caught:
        evaluate(LONG, [Rogue(always), "random", "greedy"], num_games=120, regret=False)
    found = caught.value.evaluation
    assert found is not None
    assert tuple(found.agents) == ("random", "greedy")
    assert found.games == 40
    assert column(found, "starts") == (20, 20)
    assert found.pairs["random", "greedy"].win_rate == pytest.approx(nth(found, 0).win_rate)
    assert set(found.pairs) == {("random", "greedy"), ("greedy", "random")}


def test_agents_that_never_finished_a_game_together_have_no_pair() -> None:
    """Both are faulty in seat 0 at some point, so they never finish a game with each other."""
    first = [
        Rogue(lambda states: states.mover == 0, "greedy", "one"),
        Rogue(lambda states: states.mover == 0, "random", "two"),
    ]
    with pytest.raises(UnfinishedMatchError) as caught:
        evaluate(SMALL, [*first, "solver"], num_games=120)
    found = caught.value.evaluation
    assert found is not None
    assert tuple(found.agents) == ("one", "two", "solver")
    assert ("one", "two") not in found.pairs and ("two", "one") not in found.pairs
    assert found.to_json()["against"][0][:2] == [None, None]
    assert ("one", "solver") in found.pairs
    assert nth(found, 0).seat_win_rate[0] is None
    assert [pair.agents for pair in found.versus_first()] == [("one", "solver")]


def test_agents_own_exception_keeps_finished_games_and_traceback() -> None:
    calls = iter(range(1000))

    class Breaking(Rogue):
        def act(self, states: States) -> Any:
            if next(calls) == 10:
                raise KeyError("lost")
            return super().act(states)

    with pytest.raises(AgentError, match=r"agent 'rogue' raised KeyError: 'lost'\. .*The position:\n") as caught:
        evaluate(SMALL, [Breaking(lambda states: False), "random"], num_games=200, seed=3)
    assert isinstance(caught.value, UnfinishedMatchError) and not isinstance(caught.value, IllegalActionError)
    found = caught.value.evaluation
    assert found is not None and 0 < found.games < 200
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.__cause__.__traceback__ is not None
    assert 'raise KeyError("lost")' in caught.value.__notes__[0]


def test_failure_drops_an_exception_that_cannot_be_pickled() -> None:
    class Local(Exception):  # pickle does not find a class defined in a function
        pass

    for error, kept in ((KeyError("lost"), KeyError), (Local(), type(None))):
        failure = MatchFailure("agent 'a' raised", "a position", 3, error, "Traceback …")
        copy = pickle.loads(pickle.dumps(failure))
        assert isinstance(copy.error, kept)
        assert (copy.reason, copy.games, copy.trace) == (failure.reason, 3, "Traceback …")


def test_without_a_finished_game_there_are_no_figures() -> None:
    with pytest.raises(UnfinishedMatchError, match="0 of 10 games are finished") as caught:
        evaluate(LONG, [Rogue(always), "greedy"], num_games=10, regret=False)
    assert caught.value.evaluation is None
    assert len(caught.value.match.numbers) == 0


def test_blocks_before_the_fault_are_kept_and_later_ones_unplayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "BLOCK", 20)
    honest = play_match(SMALL, [make_agent("greedy", SMALL), make_agent("random", SMALL)], num_games=200)
    wrong = honest.schedule.seeds(np.array([50]))[0]
    seen: list[float] = []
    with pytest.raises(UnfinishedMatchError) as caught:
        rogue = Rogue(lambda states: states.seed == wrong)
        play_match(SMALL, [rogue, make_agent("random", SMALL)], num_games=200, progress=seen.append)
    assert caught.value.match.numbers.tolist() == [number for number in range(60) if number not in (50, 51)]
    assert seen[-1] == pytest.approx(0.3)


@pytest.mark.parametrize(
    "act",
    [
        lambda states: np.zeros(len(states)),
        lambda states: np.zeros(len(states) + 1, int),
        lambda states: None,
        lambda states: np.full(len(states), -1),
        lambda states: np.full(len(states), 10**6),
        lambda states: torch.zeros(len(states), requires_grad=True),
        lambda states: states.no_such_field,
    ],
)
def test_invalid_answers_of_an_agent_keep_finished_games(act: Callable[[States], Any]) -> None:
    agent = Rogue(always)
    agent.act = act  # type: ignore[method-assign]
    with pytest.raises(UnfinishedMatchError, match="agent 'rogue'") as caught:
        evaluate(LONG, ["random", "greedy", agent], num_games=60, regret=False)
    assert caught.value.evaluation is not None
    assert caught.value.evaluation.games == 20
