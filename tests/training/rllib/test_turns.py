"""Tests of the adapter that gives RLlib a game's turns, rewards and ends. They need no Ray."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

from tests.helpers import SHORT, TABLES, game_of, pick
from trialea import IllegalActionError
from trialea.envs.aec import MultiAgentEnv
from trialea.envs.errors import NotResetError
from trialea.envs.game import Game
from trialea.training.rllib.turns import ALL, Moved, Turns

every_table = pytest.mark.parametrize(("name", "players"), TABLES)


def turns_of(name: str, players: int, **options: Any) -> Turns:
    """Return the adapter for short games."""
    return Turns(MultiAgentEnv(name, players, **{**SHORT[name], **options}))


def play(turns: Turns, seed: int | None, rng: np.random.Generator) -> Iterator[tuple[dict[str, int], Moved]]:
    """Play one game at random; yield each action (empty at first) and its result."""
    moved = turns.reset(seed)
    yield {}, moved
    while not (moved.terminateds[ALL] or moved.truncateds[ALL]):
        [(agent, seen)] = [
            (agent, seen) for agent, seen in moved.observations.items() if not moved.terminateds.get(agent)
        ]
        action = {agent: pick(seen["action_mask"], rng)}
        moved = turns.step(action)
        yield action, moved


def plain_rewards(game: Game, states: Any, actions: list[int], reward: str) -> np.ndarray:
    """Return what each action of one game paid every seat (decisions, P), by the game itself."""
    paid = []
    for action in actions:
        paid.append(game.step(states, [action], reward=reward)[0])
    return np.array(paid)


@every_table
@pytest.mark.parametrize("reward", ["win", "score"])
def test_rewards_are_paid_once_to_players_who_have_moved(name: str, players: int, reward: str) -> None:
    """Between two of its observations a player gets exactly what the game paid it in between."""
    turns = turns_of(name, players, reward=reward)
    game = game_of(name, players, **SHORT[name])
    rng = np.random.default_rng(players)
    for episode in range(5):
        steps = list(play(turns, 3 if episode == 0 else None, rng))
        states = game.start([int(turns.env.game_state.seed)])
        paid = plain_rewards(game, states, [next(iter(action.values())) for action, _ in steps[1:]], reward)
        assert states[0] == turns.env.game_state  # the game that was played, at its end
        since: dict[str, int] = {}  # the decision at which each player last got a reward
        for decision, (_, moved) in enumerate(steps):
            assert set(moved.rewards) == set(moved.observations) == set(moved.infos)
            for agent, earned in moved.rewards.items():
                seat = int(agent.removeprefix("player_"))
                if agent in since:
                    assert earned == pytest.approx(paid[since[agent] : decision, seat].sum())
                since[agent] = decision
        for agent, told in since.items():  # nothing is left unpaid
            assert not paid[told:, int(agent.removeprefix("player_"))].any()


@every_table
def test_players_end_once_and_the_last_step_ends_the_game(name: str, players: int) -> None:
    turns = turns_of(name, players)
    rng = np.random.default_rng(players)
    for episode in range(5):
        moved_once: set[str] = set()
        ends: Counter[str] = Counter()
        for action, moved in play(turns, 7 if episode == 0 else None, rng):
            assert not any(
                ends[agent] for agent in (*action, *moved.observations)
            )  # nothing comes after a player's end
            moved_once |= set(action)
            ends.update(agent for agent, ended in moved.terminateds.items() if ended and agent != ALL)
            assert set(moved.truncateds) == {ALL} and not moved.truncateds[ALL]
        assert moved.terminateds[ALL]  # also when the game's own limit truncated it, because its result has been paid
        assert ends == dict.fromkeys(moved_once, 1)
        assert not turns.env.agents


@every_table
def test_ends_are_reported_after_all_have_moved_or_at_the_end(name: str, players: int) -> None:
    """RLlib takes an episode to be over when all players that it has seen have ended."""
    turns = turns_of(name, players)
    rng = np.random.default_rng(1)
    for _ in range(5):
        seen: set[str] = set()
        gone: set[str] = set()
        for _, moved in play(turns, None, rng):
            seen |= set(moved.observations)
            gone |= {agent for agent, ended in moved.terminateds.items() if ended and agent != ALL}
            assert moved.terminateds[ALL] or gone < seen


def test_early_elimination_is_reported_after_all_have_moved() -> None:
    """No Dice to 1 point: a player who scores at all is out at once."""
    turns = turns_of("no_dice", 4, target=1, throws=1)
    rng = np.random.default_rng(0)
    held_back = 0
    for _ in range(50):
        acted: list[str] = []
        for action, moved in play(turns, None, rng):
            acted += action
            if moved.terminateds[ALL]:
                break
            state = turns.env.game_state
            out = {f"player_{seat}" for seat in range(4) if state.finished[seat]}
            told = set(moved.terminateds) - {ALL}
            everybody = len({*acted, *moved.observations}) == 4
            assert told <= out and (everybody or not told)
            held_back += bool(out and not everybody)
        assert {agent for agent, ended in moved.terminateds.items() if ended} - {ALL} <= set(acted)
    assert held_back > 10


@every_table
def test_max_cycles_truncates_remaining_players_with_observations(name: str, players: int) -> None:
    turns = turns_of(name, players, max_cycles=1)
    rng = np.random.default_rng(2)
    cut_short = 0
    for seed in range(10):
        seen: set[str] = set()
        ended: set[str] = set()
        for action, moved in play(turns, seed, rng):
            seen |= set(action)
            ended |= {agent for agent in moved.terminateds if agent != ALL}
            assert set(moved.truncateds) == {ALL}
        if moved.truncateds[ALL]:
            cut_short += 1
            assert not moved.terminateds[ALL]
            left = seen - ended
            assert left and left <= set(moved.observations)
            assert all(not moved.observations[agent]["action_mask"].any() for agent in ended & set(moved.observations))
    assert cut_short


@every_table
def test_seed_gives_the_same_dice_as_pettingzoo(name: str, players: int) -> None:
    turns, env = turns_of(name, players), MultiAgentEnv(name, players, **SHORT[name])
    found: dict[int, list[bytes]] = defaultdict(list)
    for run in range(2):
        env.reset(seed=11)
        for _, moved in play(turns, 11, np.random.default_rng(5)):
            found[run] += [seen["observations"].tobytes() for seen in moved.observations.values()]
            if run == 0 and len(found[0]) == 1:
                assert found[0][0] == env.observe(env.agent_selection)["observation"].tobytes()
                opening = game_of(name, players, **SHORT[name]).opening(env.game_state)
                np.testing.assert_equal(moved.infos, {env.agent_selection: opening})
    assert found[0] == found[1]


def test_invalid_steps_raise_and_change_nothing() -> None:
    turns = turns_of("no_dice", 3)
    with pytest.raises(NotResetError, match="reset"):
        turns.step({"player_0": 0})
    begun = turns.reset(1)
    before = turns.env.game_state.copy()
    illegal = int(np.flatnonzero(begun.observations["player_0"]["action_mask"] == 0)[0])
    for actions in ({}, {"player_1": 0}, {"player_0": 0, "player_1": 0}):
        with pytest.raises(IllegalActionError, match="actions must have one entry, for player_0"):
            turns.step(actions)
    with pytest.raises(IllegalActionError, match="is illegal"):
        turns.step({"player_0": illegal})
    assert turns.env.game_state == before


def test_broken_off_game_pays_nothing_and_is_over() -> None:
    turns = turns_of("no_dice", 3, target=1000)
    rng = np.random.default_rng(0)
    seen: set[str] = set()
    for _, moved in islice(play(turns, 1, rng), 8):
        seen |= set(moved.observations)
    moved = turns.break_off()
    assert moved.truncateds == {ALL: True} and moved.terminateds == {ALL: False}
    assert set(moved.observations) == seen and set(moved.rewards.values()) == {0.0}
    with pytest.raises(NotResetError):
        turns.step({"player_0": 0})
    assert turns.reset().observations
