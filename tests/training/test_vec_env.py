"""Tests of the stable-baselines3 `VecEnv`: its interface, equality with Gymnasium's, horizons and rewards."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

from tests.helpers import SHORT, SOME_TABLES, game_of, opponents_of
from trialea import GAMES, IllegalActionError
from trialea.agents.model import network_from
from trialea.envs.agent import ActionValues, Agent, make_agent
from trialea.envs.game import Game, States
from trialea.envs.learner import LearnerBatch
from trialea.envs.no_dice.game import outcome_of
from trialea.envs.no_dice.rules import NUM_REROLLS
from trialea.training.vec_env import GamesVecEnv

COUNT = 5


def vec(
    name: str,
    count: int = COUNT,
    players: int | None = None,
    opponents: Any = "random",
    seat: Any = "random",
    reward: str = "win",
    horizon: Any = "game",
) -> GamesVecEnv:
    """Return short games, so that many of them end."""
    return GamesVecEnv(LearnerBatch(game_of(name, players, **SHORT[name]), count, opponents, seat, reward), horizon)


def choose(masks: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return random legal actions."""
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])


# The VecEnv interface -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_vec_env_has_the_methods_that_sb3_needs(name: str) -> None:
    env = vec(name)
    assert env.num_envs == COUNT
    assert env.get_attr("render_mode") == [None] * COUNT
    assert env.get_attr("render_mode", indices=[1, 3]) == [None, None]
    assert env.get_attr("render_mode", indices=2) == [None]
    assert env.has_attr("action_masks") and env.has_attr("render_mode")
    assert not env.has_attr("no_such_thing")
    assert is_masking_supported(env)
    assert env.env_is_wrapped(Monitor) == [False] * COUNT
    assert list(env.get_images()) == [None] * COUNT
    assert env.seed(7) == [7, 8, 9, 10, 11]


@pytest.mark.parametrize("name", GAMES)
def test_unknown_attribute_raises_and_is_named(name: str) -> None:
    env = vec(name)
    with pytest.raises(AttributeError, match="no_such_thing"):
        env.get_attr("no_such_thing")
    with pytest.raises(AttributeError, match="no_such_thing"):
        env.set_attr("no_such_thing", 1)
    with pytest.raises(AttributeError, match="no_such_thing"):
        env.env_method("no_such_thing")


@pytest.mark.parametrize(("name", "players"), SOME_TABLES)
def test_action_masks_match_each_game(name: str, players: int) -> None:
    env, rng = vec(name, players=players), np.random.default_rng(0)
    env.seed(players)
    env.reset()
    for _ in range(40):
        games = env.games[0]
        expected = [games.game.masks(games.states[i : i + 1].view(np.recarray))[0] for i in range(COUNT)]
        assert np.array_equal(get_action_masks(env), expected)
        assert np.array_equal(env.env_method("action_masks"), expected)
        assert np.array_equal(env.env_method("action_masks", indices=[3, 1]), [expected[3], expected[1]])
        assert np.array_equal(env.env_method("action_masks", indices=4), [expected[4]])
        assert np.any(expected, axis=1).all()
        env.step(choose(env.action_masks(), rng))


@pytest.mark.parametrize(("name", "players"), SOME_TABLES)
def test_vec_env_equals_gymnasium_make_vec_step_for_step(name: str, players: int) -> None:
    reward = ("win", "score")[players % 2]
    kwargs = {"opponents": dict.fromkeys(opponents_of(name, players), 1), "seat": "rotate", "reward": reward}
    mode = AutoresetMode.SAME_STEP
    theirs = gym.make_vec(GAMES[name].gym_id, COUNT, autoreset_mode=mode, num_players=players, **kwargs, **SHORT[name])
    ours, rng = vec(name, players=players, **kwargs), np.random.default_rng(1)
    ours.seed(players)
    observations = ours.reset()
    expected, facts = theirs.reset(seed=players)
    endings = 0
    for _ in range(80):
        assert observations.dtype == np.float32 and np.array_equal(observations, expected)
        assert np.array_equal(ours.action_masks(), facts["action_mask"])
        actions = choose(ours.action_masks(), rng)
        observations, rewards, dones, infos = ours.step(actions)
        expected, expected_rewards, terminated, truncated, facts = theirs.step(actions)
        assert np.array_equal(rewards, expected_rewards.astype(np.float32))
        assert np.array_equal(dones, terminated | truncated)
        assert len(infos) == COUNT and all(isinstance(info, dict) for info in infos)
        for i in range(COUNT):
            assert ("terminal_observation" in infos[i]) == dones[i]
            if dones[i]:
                endings += 1
                assert np.array_equal(infos[i]["terminal_observation"], facts["final_obs"][i])
                assert infos[i]["TimeLimit.truncated"] is False  # the result is paid, so nothing is left to bootstrap
    assert endings > COUNT


@pytest.mark.parametrize("name", GAMES)
def test_ended_game_restarts_in_the_same_step(name: str) -> None:
    env, rng = vec(name), np.random.default_rng(2)
    env.seed(0)
    env.reset()
    endings, totals = 0, np.zeros(COUNT)
    for _ in range(150):
        before = env.games[0].states.copy()
        observations, rewards, dones, infos = env.step(choose(env.action_masks(), rng))
        totals += rewards
        assert np.array_equal(observations, env.games[0].observe())
        assert np.array_equal(env.games[0].states.seed != before.seed, dones)
        for i in np.flatnonzero(dones):
            endings += 1
            assert infos[i]["episode"]["r"] == pytest.approx(totals[i])
            assert rewards[i] == totals[i]
            assert not np.array_equal(infos[i]["terminal_observation"], observations[i])
            assert infos[i]["terminal_observation"] in env.observation_space
            assert env.games[0].own_turns()[i] == 0
        assert all(infos[i] == {} for i in np.flatnonzero(~dones))
        totals[dones] = 0
    assert endings > COUNT


@pytest.mark.parametrize("name", GAMES)
def test_seed_decides_everything_and_no_seed_is_random(name: str) -> None:
    def play(seed: int | None) -> bytes:
        env, rng = vec(name), np.random.default_rng(3)
        env.seed(seed)
        seen = [env.reset()]
        for _ in range(20):
            seen += env.step(choose(env.action_masks(), rng))[:3]
        return b"".join(array.tobytes() for array in seen)

    assert play(5) == play(5)
    assert play(5) != play(6)
    assert play(None) != play(None)


@pytest.mark.parametrize("name", GAMES)
def test_illegal_action_raises_and_changes_no_game(name: str) -> None:
    env = vec(name)
    env.seed(0)
    env.reset()
    actions = choose(env.action_masks(), np.random.default_rng(0))
    actions[3] = [*np.flatnonzero(env.action_masks()[3] == 0), env.action_space.n][0]
    before = env.games[0].states.tobytes()
    with pytest.raises(IllegalActionError, match="game 3"):
        env.step(actions)
    assert env.games[0].states.tobytes() == before


# The horizon of a turn -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "players"), SOME_TABLES)
def test_turn_horizon_ends_an_episode_with_each_turn(name: str, players: int) -> None:
    """The game itself continues after the turn."""
    env, rng = vec(name, players=players, reward="score", horizon="turn"), np.random.default_rng(4)
    env.seed(1)
    env.reset()
    games, every = env.games[0], np.arange(COUNT)
    turns_over = games_over = 0
    for _ in range(120):
        before, seats = games.states.copy(), games.seats.copy()
        _, rewards, dones, infos = env.step(choose(env.action_masks(), rng))
        ended = np.array(["terminal_observation" in info for info in infos])
        assert np.array_equal(ended, games.states.seed != before.seed)
        going = ~ended
        turned = games.states.turns[every, seats] != before.turns[every, seats]
        assert np.array_equal(dones[going], turned[going])
        assert dones[ended].all()
        gained = games.states.scores[every, seats] - before.scores[every, seats]
        assert np.allclose(rewards[going], gained[going] * games.game.score_scale)
        turns_over += int(dones.sum())
        games_over += int(ended.sum())
    assert turns_over > games_over > 0


# Wrappers and algorithms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_vec_monitor_records_whole_games(name: str) -> None:
    env, rng = VecMonitor(vec(name)), np.random.default_rng(5)
    env.seed(0)
    env.reset()
    assert is_masking_supported(env)
    returns = []
    for _ in range(100):
        _, _, dones, infos = env.step(choose(get_action_masks(env), rng))
        assert [("episode" in info) for info in infos] == dones.tolist()
        returns += [float(info["episode"]["r"]) for info in infos if "episode" in info]
    assert len(returns) > COUNT
    assert -1 <= min(returns) < 0 < max(returns) == 1


@pytest.mark.parametrize("name", GAMES)
def test_vec_normalize_works_with_masks_and_terminal_observations(name: str) -> None:
    env, rng = VecNormalize(vec(name)), np.random.default_rng(6)
    env.seed(0)
    env.reset()
    plain = env.get_original_obs()
    assert plain in gym.vector.utils.batch_space(env.observation_space, COUNT)
    endings = 0
    for _ in range(60):
        observations, _, dones, infos = env.step(choose(get_action_masks(env), rng))
        assert np.isfinite(observations).all()
        for i in np.flatnonzero(dones):
            endings += 1
            assert infos[i]["terminal_observation"].shape == env.observation_space.shape
    assert endings > 0
    assert not np.allclose(observations, env.get_original_obs())


@pytest.mark.parametrize("name", GAMES)
def test_maskable_ppo_of_sb3_contrib_trains_and_is_evaluated(name: str) -> None:
    env = VecMonitor(vec(name, 16))
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=128, n_epochs=1, seed=0, device="cpu")
    # Without any decision only the value of positions can be learned.
    net = model.policy.action_net if env.action_space.n > 1 else model.policy.value_net
    before = net.weight.detach().clone()
    model.learn(1024)
    assert model.num_timesteps == 1024
    assert not before.equal(net.weight)
    assert len(model.ep_info_buffer) > 0
    returns, lengths = evaluate_policy(model, env, n_eval_episodes=20, return_episode_rewards=True)
    assert -1 <= min(returns) <= max(returns) <= 1
    assert min(lengths) >= 1


# Rewards ---------------------------------------------------------------------------------------------------------


class Spendthrift:
    """A No Dice agent that stops at once with the most points that the throw allows."""

    name = "spendthrift"

    def __init__(self, game: Game) -> None:
        self._game = game

    def act(self, states: States) -> NDArray[np.int64]:
        legal = self._game.masks(states)[:, NUM_REROLLS:] == 1
        points = [self._game.tables.scores[outcome_of(state)].astype(int) for state in states]
        points = np.where(legal, points, -1)
        # Without an expression it rerolls one die.
        return np.where(legal.any(axis=1), NUM_REROLLS + points.argmax(axis=1), 0)


def shares_of_the_win(game: Game, seed: int, seats: list[Agent]) -> list[float]:
    """Return each seat's share of the win in the game with this seed, played without an environment."""
    states = game.start([seed])
    while not states.over[0]:
        game.step(states, seats[int(states.mover[0])].act(states))
    return [float(share) for share in states.share[0, : game.num_players]]


@pytest.mark.parametrize("seat", [0, 1, "random", "rotate"])
@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("learner_wins", [True, False])
def test_scripted_game_pays_the_learner_its_own_seats_result(learner_wins: bool, players: int, seat: Any) -> None:
    game = game_of("no_dice", players)
    careful, careless = make_agent("greedy", game), Spendthrift(game)
    learner, other = (careful, careless) if learner_wins else (careless, careful)
    count = 40
    games = LearnerBatch(game, count, other, seat, "win")
    games.seed(range(count))
    games.start()
    paid = np.zeros(count)
    ended = np.zeros(count, bool)
    while not ended.all():
        index = np.flatnonzero(~ended)
        rewards, terminated, truncated = games.step(learner.act(games.states[index].view(np.recarray)), index)
        assert not rewards[ended].any()
        assert not rewards[~terminated].any()
        assert not truncated.any()
        paid += rewards
        ended = terminated
    lost = -1 / (players - 1)
    assert set(paid) <= {1.0, lost}
    assert (paid == (1.0 if learner_wins else lost)).mean() > 0.9
    for i in range(count):
        seats = [learner if place == games.seats[i] else other for place in range(players)]
        shares = shares_of_the_win(game, int(games.states.seed[i]), seats)
        assert paid[i] == (1.0 if shares[games.seats[i]] == 1.0 else lost)
        # The returns of the other seats are their own results, or 0 while they are playing.
        for place in range(players):
            expected = (players * shares[place] - 1) / (players - 1) if games.states.finished[i, place] else 0.0
            assert games.returns[i, place] == pytest.approx(expected)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_learner_is_not_charged_for_the_points_of_others(players: int) -> None:
    """The learner scores few points, while all others score many between its decisions."""
    game = game_of("no_dice", players, target=200)
    careful = make_agent("greedy", game)
    env = GamesVecEnv(LearnerBatch(game, 20, Spendthrift(game), "random", "score"))
    env.seed(0)
    env.reset()
    every, others_scored = np.arange(20), 0
    for _ in range(12):
        seats, before = env.games[0].seats.copy(), env.games[0].states.copy()
        _, rewards, dones, _ = env.step(careful.act(env.games[0].states))
        going = ~dones
        gained = env.games[0].states.scores.astype(int) - before.scores
        assert np.allclose(rewards[going], gained[every, seats][going] * game.score_scale)
        others_scored += int((gained.sum(axis=1) - gained[every, seats])[going].sum())
    assert others_scored > 1000


@pytest.mark.parametrize(("name", "judge"), [("no_dice", "solver"), ("poker_figures", "reference")])
def test_regret_reward_is_the_cost_of_each_decision(name: str, judge: str) -> None:
    game = game_of(name, **SHORT[name])
    agent = make_agent(judge, game)
    assert isinstance(agent, ActionValues)
    env = GamesVecEnv(LearnerBatch(game, 20, "random", "rotate", "score"), judges=[agent])
    env.aim("regret", "decision")
    env.seed(0)
    env.reset()
    rng, paid = np.random.default_rng(0), []
    for step in range(12):
        states = env.games[0].states.copy()
        values = agent.action_values(states)
        assert (np.isnan(values) == (env.action_masks() == 0)).all()
        best = agent.act(states) if step % 3 == 0 else choose(env.action_masks(), rng)
        _, rewards, dones, _ = env.step(best)
        assert dones.all()
        assert np.allclose(rewards, 100 * (values[np.arange(20), best] - np.nanmax(values, axis=1)), atol=1e-6)
        if step % 3 == 0:
            assert np.allclose(rewards, 0.0, atol=1e-6)
        paid.append(rewards)
    assert np.min(paid) < -1.0 and np.max(paid) <= 0.0
    env.aim("score", "game")
    assert not env.step(choose(env.action_masks(), rng))[2].all()


def test_unseeded_games_differ_and_loading_a_network_keeps_rng() -> None:
    env = GamesVecEnv(LearnerBatch(Game("no_dice", 2), 8, "greedy", "rotate", "win"))
    observations = env.reset()
    assert not (observations == observations[0]).all()
    torch.manual_seed(0)
    weights = {"action_net.weight": torch.zeros(3, 2), "action_net.bias": torch.zeros(3)}
    network_from(weights, "tanh")
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert drawn == torch.rand(1)
