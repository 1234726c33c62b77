"""Tests of the league of a learner's opponents: sampling, snapshots, priorities and win rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.helpers import SHORT, game_of, more_players, player_counts, some_player_counts
from trialea import GAMES, make_agent
from trialea.agents.model import ModelAgent
from trialea.envs.game import Game
from trialea.envs.learner import LearnerBatch
from trialea.training.league import FORGETTING, League
from trialea.training.vec_env import GamesVecEnv

every_game = pytest.mark.parametrize("name", GAMES)


def network_of(game: Game, seed: int = 0) -> nn.Sequential:
    """Return a small network with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = nn.Sequential(nn.Linear(game.observation_size, 8), nn.ReLU(), nn.Linear(8, game.num_actions))
    return network.requires_grad_(False)


def league_with(
    game: Game, snapshots: int, priority: Any = "uniform", slots: int = 3, count: int = 600, weight: float = 1.0
) -> Any:
    """Return a league, its batch of `game`, and the snapshots added to it."""
    league = League({"random": weight, "past": 3.0 * weight}, slots, priority, seed=7)
    games = league.new_batch(game, None, count, "rotate")
    games.seed(range(count))
    networks = [network_of(game, seed) for seed in range(snapshots)]
    for network in networks:
        league.add(network)
    return league, games, networks


def others(games: LearnerBatch) -> np.ndarray:
    """Return the index of the opponent in each seat that is not the learner's."""
    seats = np.arange(games.game.num_players)
    return games.agent_of[seats != games.seats[:, None]]


# The pool --------------------------------------------------------------------------------------------------------


def test_pool_keeps_the_newest_snapshots() -> None:
    for count in range(1, 8):
        league, _, networks = league_with(game_of("no_dice"), count)
        assert {id(network) for network in league.networks} == {id(network) for network in networks[-3:]}
        assert sorted(league.numbers[league.numbers >= 0]) == list(range(max(0, count - 3), count))
        assert all(league.networks[slot] is networks[number] for slot, number in enumerate(league.numbers[:count]))


@every_game
def test_games_are_played_by_the_snapshots_in_their_slots(name: str) -> None:
    game = game_of(name, **SHORT[name])
    _, games, networks = league_with(game, 4)
    games.start()
    states = games.states[games.states.over == 0].view(np.recarray)
    for slot, number in enumerate([3, 1, 2]):
        expected = ModelAgent(game, networks[number], sample=True, seed=7).act(states)
        one = games.opponents.agents[1 + slot]
        assert one.name == "past" and np.array_equal(one.act(states), expected)


@every_game
def test_past_selves_act_in_one_batch(name: str) -> None:
    """One call for all slots gives the actions that each snapshot takes alone."""
    game = game_of(name, **SHORT[name])
    _, games, _ = league_with(game, 3)
    games.start()
    (_, end, _), (first, last, crowd) = games.opponents.crowds
    assert (end, first, last) == (1, 1, 4)
    states = games.states[games.states.over == 0].view(np.recarray)
    slots = np.arange(len(states)) % 3
    alone = np.stack([agent.act(states) for agent in games.opponents.agents[1:]])
    assert np.array_equal(crowd.act(states, slots), alone[slots, np.arange(len(states))])


# Sampling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1.0, 0.1, 5e307, 1e-300])
def test_single_snapshot_gets_all_games_against_past_selves(weight: float) -> None:
    _, games, _ = league_with(game_of("no_dice"), 1, weight=weight)
    games.start()
    drawn = np.bincount(others(games), minlength=4) / 600
    assert drawn[2:].sum() == 0
    assert drawn[1] == pytest.approx(0.75, abs=0.06)


@pytest.mark.parametrize(
    ("priority", "expected"), [("uniform", [1, 1, 1]), ("recent", [1, 2, 3]), ("hard", [1.0, 0.25, 0.25])]
)
def test_past_selves_are_sampled_by_priority(priority: str, expected: list[float]) -> None:
    """Five snapshots in three slots leave numbers 3, 4 and 2, with the newest in the middle."""
    league, games, _ = league_with(game_of("no_dice"), 5, priority, count=6000)
    league.rates[:] = [0.0, 0.5, 0.5]
    league.weigh()
    if priority == "recent":
        expected = [2, 3, 1]
    games.start()
    drawn = np.bincount(others(games), minlength=4)[1:]
    assert drawn / drawn.sum() == pytest.approx(np.array(expected) / sum(expected), abs=0.03)
    assert drawn.sum() / 6000 == pytest.approx(0.75, abs=0.02)


def test_past_selves_are_equally_likely_if_all_are_beaten() -> None:
    league, _, _ = league_with(game_of("no_dice"), 2, "hard")
    league.rates[:] = 1.0
    assert league.weights().tolist() == [0.5, 0.5, 0.0]


def test_league_without_past_selves_keeps_no_networks() -> None:
    league = League({"random": 1.0, "past": 0.0}, 3, "hard", seed=0)
    games = league.new_batch(game_of("no_dice"), None, 4, 0)
    league.add(network_of(game_of("no_dice")))
    games.seed(range(4))
    env = GamesVecEnv(games, on_end=league.note)
    env.reset()
    for _ in range(100):
        env.step(env.action_masks().argmax(axis=1))
    assert league.networks == [] and len(games.opponents.agents) == 1


# Win rates -------------------------------------------------------------------------------------------------------


def ended(players: int, share: Sequence[float], over: int, finished: Sequence[int], agents: Sequence[int]) -> Any:
    """Return the win rates after one game has ended for a learner in seat 0."""
    game = game_of("no_dice", players)
    league, games, _ = league_with(game, 3, count=1)
    games.seats[:] = 0
    games.agent_of[0] = agents
    games.states.share[0, :players] = share
    games.states.over[0] = over
    games.states.finished[0, :players] = finished
    league.note(games, np.array([0]))
    return league.rates


@pytest.mark.parametrize(
    ("share", "over", "finished", "agents", "expected"),
    [
        ([1, 0], 1, [1, 1], [0, 1], [1, None, None]),
        ([0, 1], 1, [1, 1], [0, 3], [None, None, 0]),
        (
            [0, 1],
            1,
            [1, 1],
            [1, 0],
            [None, None, None],
        ),  # lost to random; the entry of the learner's own seat is ignored
        (
            [0, 0, 0],
            0,
            [1, 1, 0],
            [0, 1, 2],
            [1, 0, None],
        ),  # the learner is out after the first opponent and before the second
        ([0, 0, 1], 1, [1, 1, 1], [0, 1, 2], [0.5, 0, None]),  # a third player won, so the losers are even
        ([0.5, 0.5, 0], 1, [1, 1, 1], [0, 2, 3], [None, 0.5, 1]),
    ],
)
def test_win_rates_count_opponents_behind_the_learner(
    share: list[float], over: int, finished: list[int], agents: list[int], expected: list[float | None]
) -> None:
    rates = ended(len(share), share, over, finished, agents)
    moved = [0.5 if one is None else 0.5 + FORGETTING * (one - 0.5) for one in expected]
    assert rates.tolist() == pytest.approx(moved)


@pytest.mark.parametrize("name", [name for name in GAMES if "greedy" in GAMES[name].agents])
def test_strong_past_self_gets_a_higher_priority_than_a_weak_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The learner plays at random against one random and one greedy opponent."""
    game = game_of(name, **SHORT[name])
    league, games, _ = league_with(game, 2, "hard", count=256)
    weak, strong = (make_agent(agent, game) for agent in ("random", "greedy"))
    monkeypatch.setattr(
        games.opponents.agents[1].crowd,
        "act",
        lambda states, slots: np.where(slots == 0, weak.act(states), strong.act(states)),
    )
    env = GamesVecEnv(games, on_end=league.note)
    env.seed(0)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(120):
        masks = env.action_masks()
        env.step((rng.random(masks.shape) * masks).argmax(axis=1))
    assert league.rates[1] < 0.3 < league.rates[0]
    assert league.weights()[1] > league.weights()[0] and league.weights()[2] == 0


@every_game
def test_restored_league_samples_as_before(name: str) -> None:
    game = game_of(name, more_players(name))
    league, games, _ = league_with(game, 5, "hard", count=50)
    league.rates[:] = [0.2, 0.9, 0.4]
    league.weigh()
    other, theirs, _ = league_with(game, 0, "hard", count=50)
    other.restore(league.networks, league.snapshot())
    games.start()
    theirs.start()
    assert np.array_equal(games.agent_of, theirs.agent_of)
    assert np.array_equal(games.states, theirs.states)
    league.add(network_of(game, 9))
    other.add(network_of(game, 9))
    assert np.array_equal(league.numbers, other.numbers) and np.array_equal(league.rates, other.rates)


# Several numbers of players --------------------------------------------------------------------------------------


@every_game
def test_one_batch_can_mix_numbers_of_players(name: str) -> None:
    """Each part is played as it would be alone."""
    counts = some_player_counts(name)
    games = [game_of(name, players, **SHORT[name]) for players in counts]
    sizes = range(3, 3 + len(counts))
    env = GamesVecEnv([LearnerBatch(g, size, "random", "rotate", "win") for g, size in zip(games, sizes, strict=True)])
    alone = [
        GamesVecEnv(LearnerBatch(g, size, "random", "rotate", "win")) for g, size in zip(games, sizes, strict=True)
    ]
    env.seed(5)
    for number, single in enumerate(alone):
        single.seed(5 + sum(sizes[:number]))
    ends = np.cumsum(list(sizes))
    parts = np.split(env.reset(), ends[:-1])
    expected = [single.reset() for single in alone]
    flags = max(counts)
    for _ in range(60):
        for part, own, players in zip(parts, expected, counts, strict=True):
            assert np.allclose(part[:, :-flags].sum(axis=1), own.sum(axis=1), rtol=1e-5)
            assert (part[:, -flags:].sum(axis=1) == players).all()
        masks = env.action_masks()
        assert np.array_equal(masks, np.concatenate([single.action_masks() for single in alone]))
        observations, rewards, dones, infos = env.step(masks.argmax(axis=1))
        steps = [single.step(single.action_masks().argmax(axis=1)) for single in alone]
        parts, expected = np.split(observations, ends[:-1]), [step[0] for step in steps]
        assert np.array_equal(rewards, np.concatenate([step[1] for step in steps]))
        assert np.array_equal(dones, np.concatenate([step[2] for step in steps]))
        lengths = [info.get("episode") for info in infos]
        assert lengths == [info.get("episode") for step in steps for info in step[3]]
    assert env.observation_space.contains(observations[0])


def test_padding_follows_the_largest_number_of_players() -> None:
    games = [game_of("no_dice", players) for players in player_counts("no_dice")[:3]]
    env = GamesVecEnv([LearnerBatch(game, 2, "random", 0, "win") for game in games])
    assert env.observation_space.shape == (games[-1].observation_size + 4,)
