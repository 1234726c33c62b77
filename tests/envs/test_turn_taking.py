"""Tests of turn-taking in every interface: rewards of scripted games, forced turns and elimination."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.helpers import (
    FORCED_TURNS,
    game_of,
    legal_of,
    more_players,
    pick,
    play_aec,
    player_counts,
    some_player_counts,
)
from tests.interfaces import aec, every_game
from trialea import GAMES, NotResetError
from trialea.envs.game import Game, States
from trialea.envs.no_dice import rules
from trialea.envs.poker_figures import rules as figures
from trialea.envs.single import SingleAgentEnv

# --- Rewards ------------------------------------------------------------------------------------------


class Scripted:
    """A No Dice agent that ends each turn with the most or the fewest points; with `dawdles` it rerolls twice first."""

    name = "scripted"

    def __init__(self, game: Game, wants: Callable[[np.ndarray], Any], dawdles: bool) -> None:
        self.game, self.wants, self.dawdles = game, wants, dawdles

    def act(self, states: States) -> np.ndarray:
        masks = self.game.masks(states)
        actions = np.empty(len(states), np.int64)
        for i, mask in enumerate(masks):
            if self.dawdles and mask[rules.NUM_REROLLS - 1]:
                actions[i] = rules.NUM_REROLLS - 1
                continue
            stops = [action for action in legal_of(mask) if action >= rules.NUM_REROLLS]
            if not stops:
                actions[i] = 0
                continue
            after = self.game.choose(np.repeat(states[i : i + 1], len(stops)).view(np.recarray), stops)
            actions[i] = stops[self.wants(after.scores.sum(axis=1))]
        return actions


@pytest.mark.parametrize("wins", [True, False], ids=["won", "lost"])
@pytest.mark.parametrize("players", player_counts("no_dice"))
def test_scripted_no_dice_game_pays_only_the_final_result(players: int, wins: bool) -> None:
    """The learner wins or loses against opponents whose turns take three actions."""
    game = game_of("no_dice", players, target=200)
    opponents = Scripted(game, np.argmax if wins else np.argmin, dawdles=True)
    learner = Scripted(game, np.argmin if wins else np.argmax, dawdles=False)
    for seat in range(players):
        env = gym.make("trialea/NoDice-v0", num_players=players, opponents=opponents, seat=seat, target=200)
        env.reset(seed=seat)
        rewards, over = [], False
        while not over:
            [action] = learner.act(env.unwrapped._games.states)
            _, reward, over, truncated, _ = env.step(action)
            assert not truncated
            rewards.append(reward)
        assert rewards[:-1] == [0.0] * (len(rewards) - 1)
        assert rewards[-1] == (1.0 if wins else pytest.approx(-1 / (players - 1)))
        assert env.unwrapped.state.over == (wins or players == 2)  # an eliminated learner does not wait for the others


class Writer:
    """A Poker Figures agent that writes as soon as it can, or never; otherwise it rerolls all dice."""

    name = "writer"

    def __init__(self, game: Game, writes: bool) -> None:
        self.game, self.writes = game, writes

    def act(self, states: States) -> np.ndarray:
        return np.array([self.choose(mask) for mask in self.game.masks(states)], np.int64)

    def choose(self, mask: np.ndarray) -> int:
        wanted = [action for action in legal_of(mask) if figures.WRITE <= action < figures.ASIDE] if self.writes else []
        return (wanted or ([figures.NUM_REROLLS - 1] if mask[figures.NUM_REROLLS - 1] else [figures.PASS]))[0]


@pytest.mark.parametrize("wins", [True, False], ids=["won", "lost"])
@pytest.mark.parametrize(
    "options",
    [{"rows": "ADX", "columns": 2}, {"score_open_rows": True, "max_turns": 4}],
    ids=["complete", "truncated"],
)
@pytest.mark.parametrize("players", player_counts("poker_figures"))
def test_scripted_poker_figures_game_pays_only_the_final_result(
    players: int, options: dict[str, Any], wins: bool
) -> None:
    """Players that never write take three actions a turn, the others up to six."""
    game = game_of("poker_figures", players, **options)
    learner, opponents = Writer(game, writes=wins), Writer(game, writes=not wins)
    gym_id = GAMES["poker_figures"].gym_id
    for seat in range(players):
        env = gym.make(gym_id, num_players=players, opponents=opponents, seat=seat, **options)
        env.reset(seed=seat)
        rewards, terminated, truncated = [], False, False
        while not (terminated or truncated):
            [action] = learner.act(env.unwrapped._games.states)
            _, reward, terminated, truncated, _ = env.step(action)
            rewards.append(reward)
        assert (terminated, truncated) == ("max_turns" not in options, "max_turns" in options)
        assert rewards[:-1] == [0.0] * (len(rewards) - 1)
        assert rewards[-1] == (1.0 if wins else pytest.approx(-1 / (players - 1)))
        assert (env.unwrapped.state.scores[seat] > 0) == wins


@every_game
@pytest.mark.parametrize("reward", ["win", "score"])
def test_return_matches_the_learners_final_position(name: str, reward: str) -> None:
    """In random games of every kind, the rewards add up to what the final position implies."""
    paid_well, paid_badly = 0, 0
    for players in some_player_counts(name):
        env = SingleAgentEnv(name, players, reward=reward)
        rng = np.random.default_rng(players)
        for seed in range(8):
            _, info = env.reset(seed=seed)
            total, over = 0.0, False
            while not over:
                _, paid, terminated, truncated, info = env.step(pick(info["action_mask"], rng))
                total += paid
                over = terminated or truncated
            share = float(env.state.share[env.seat])
            expected = (share * players - 1) / (players - 1)
            if reward == "score":
                expected = env.game.score_scale * int(env.state.scores[env.seat])
            assert total == pytest.approx(expected, abs=1e-6)
            paid_well += share > 0
            paid_badly += share == 0
    assert paid_well > 0
    assert paid_badly > 0


# --- Forced turns -------------------------------------------------------------------------------------


@every_game
def test_forced_turn_has_one_legal_action_that_advances_the_game(name: str) -> None:
    """Without a choice the mask has a single 1, and that action advances the game."""
    env = aec(name, more_players(name), **FORCED_TURNS[name])
    forced = 0
    for seed in range(30):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observation, *_ = env.last()
            mask = observation["action_mask"]
            if env.terminations[agent] or env.truncations[agent]:
                assert not mask.any()
                env.step(None)
                continue
            assert mask.any()
            before = env.game_state.copy()
            env.step(legal_of(mask)[0])
            if mask.sum() == 1:
                forced += 1
                assert env.game_state.decisions == before.decisions + 1
                assert env.game_state.tobytes() != before.tobytes()
    assert forced >= 20


def test_no_dice_without_an_expression_only_adds_up_the_faces() -> None:
    """This happens after the last throw."""
    env = aec("no_dice", 2)
    env.reset(seed=0)
    env.game_state.dice = [5, 4, 4, 0, 0]  # 6 4 4 1 3: no operator
    env.game_state.throws = 3
    assert legal_of(env.observe("player_0")["action_mask"]) == [rules.ADD_UP]
    assert env.game.action_name(env.game_state, rules.ADD_UP) == "add up the faces: 18"
    env.step(rules.ADD_UP)
    assert env.game_state.scores[0] == 18
    assert env.agent_selection == "player_1"


def test_poker_figures_with_nothing_to_write_can_only_pass() -> None:
    """This happens after the third throw, when no row fits the dice."""
    env = aec("poker_figures", 2)
    env.reset(seed=0)
    env.game_state.dice = [0, 1, 2, 3, 5]  # A R D V 9
    env.game_state.throws = 3
    assert legal_of(env.observe("player_0")["action_mask"]) == [figures.PASS]
    env.step(figures.PASS)
    assert env.game_state.turns[0] == 1
    assert not env.game_state.sheet.any()
    assert env.agent_selection == "player_1"


def test_last_die_always_has_exactly_one_legal_action() -> None:
    """The action is to throw the dice that the player holds."""
    env = aec("last_die", 4)
    env.reset(seed=0)
    decisions = 0
    for _, observation, _, done, _ in play_aec(env, np.random.default_rng(0)):
        assert observation["action_mask"].tolist() == [not done]
        decisions += not done
    assert env.game_state.decisions == decisions > 100


@every_game
def test_mask_is_empty_only_for_finished_players(name: str) -> None:
    """An acting player's mask is never all zero, in any interface; a finished player's is."""
    env = SingleAgentEnv(name, more_players(name))
    rng = np.random.default_rng(0)
    for seed in range(15):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            assert info["action_mask"].any()
            *_, terminated, truncated, info = env.step(pick(info["action_mask"], rng))
            over = terminated or truncated
        assert not info["action_mask"].any()
        assert not env.action_masks().any()


# --- Elimination during another player's move ---------------------------------------------------------


def test_no_dice_turns_skip_eliminated_players() -> None:
    """Of four players, seat 2 goes out in its second turn and seat 0 in its fourth."""
    env = aec("no_dice", 4, target=500)
    env.reset(seed=1)
    order, rewards, nones = [], dict.fromkeys(env.possible_agents, 0.0), dict.fromkeys(env.possible_agents, 0)
    paid_at: dict[str, int] = {}
    lengths = {"player_2": 2, "player_0": 4}  # the turn in which each of them is eliminated
    for agent in env.agent_iter(200):
        observation, reward, terminated, _, _ = env.last()
        rewards[agent] += reward
        seat = int(agent[-1])
        if terminated:
            nones[agent] += 1
            paid_at[agent] = len(order)
            env.step(None)
            continue
        state = env.game_state
        if lengths.get(agent) == state.turns[seat] + 1 or state.turns[1] == 6:
            state.scores[seat] = 499
        stops = [a for a in legal_of(observation["action_mask"]) if a >= rules.NUM_REROLLS]
        worth = [int(env.game.choose(env._states, [a]).scores[0, seat]) for a in stops]
        if not stops or (state.scores[seat] == 499 and max(worth) < 500):
            env.step(0)  # keep throwing until an expression can be scored
            continue
        order.append(seat)
        env.step(stops[int(np.argmax(worth))] if state.scores[seat] == 499 else stops[int(np.argmin(worth))])
    assert order[:15] == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 3, 0, 1, 3, 1]
    assert order[15:] == [3, 1, 3, 1][: len(order) - 15]
    assert nones == dict.fromkeys(env.possible_agents, 1)
    assert rewards == pytest.approx({f"player_{s}": 1.0 if env.game_state.share[s] else -1 / 3 for s in range(4)})
    assert paid_at["player_2"] == 7
    assert paid_at["player_0"] == 12
    assert not env.agents


def test_no_dice_episode_ends_when_the_learner_is_eliminated() -> None:
    """The learner takes no `None` step, although the game continues for the others."""
    env = SingleAgentEnv("no_dice", 4, seat=2, target=500)
    env.reset(seed=1)
    env.state.scores[2] = 499
    over = False
    while not over:
        _, reward, over, _, info = env.step(legal_of(env.action_masks())[-1])
    assert reward == pytest.approx(-1 / 3)
    assert not env.state.over
    assert not info["action_mask"].any()
    with pytest.raises(NotResetError, match="reset"):
        env.step(0)
    env.reset()
    env.step(legal_of(env.action_masks())[0])


def test_poker_figures_turn_limit_truncates_all_players() -> None:
    """Each player takes one `None` step and gets the reward that the scores imply."""
    players = 3
    env = aec("poker_figures", players, max_turns=2, score_open_rows=True)
    winners = set()
    for seed in range(30):
        env.reset(seed=seed, options={"first_player": seed % players})
        ends: dict[str, tuple[bool, bool, float]] = {}
        for agent, _, reward, done, _ in play_aec(env, np.random.default_rng(seed)):
            assert agent not in ends
            if done:
                ends[agent] = (env.terminations[agent], env.truncations[agent], reward)
            else:
                assert reward == 0.0
        scores, shares = env.game_state.scores[:players], env.game_state.share[:players]
        assert env.game_state.turns[:players].tolist() == [2] * players
        for seat, agent in enumerate(env.possible_agents):
            assert ends[agent] == (False, True, pytest.approx((players * shares[seat] - 1) / (players - 1)))
            assert (shares[seat] > 0) == (scores[seat] == scores.max())
        winners |= set(np.flatnonzero(shares == 1).tolist())
    assert winners == set(range(players))


@every_game
def test_every_player_finishes_once_and_is_paid_once(name: str) -> None:
    """Plays random games with the most players."""
    players = player_counts(name)[-1]
    env = aec(name, players)
    for seed in range(10):
        env.reset(seed=seed)
        rewards: dict[str, list[float]] = {agent: [] for agent in env.possible_agents}
        nones = dict.fromkeys(env.possible_agents, 0)
        for agent, _, reward, done, _ in play_aec(env, np.random.default_rng(seed)):
            assert not nones[agent]
            rewards[agent] += [reward] if reward else []
            nones[agent] += done
            assert done or not env.game_state.over
        assert set(nones.values()) == {1}
        assert max(len(payments) for payments in rewards.values()) <= 1
        assert sum(sum(payments) for payments in rewards.values()) == pytest.approx(0)
