"""Tests of misuse in every interface: illegal actions, bad reset options, wrong types, faulty agents."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.helpers import AGREED_ORDER, JIT_OFF, game_of, legal_of
from tests.interfaces import INTERFACES, aec, every_game, every_interface
from trialea import GAMES, AgentError, IllegalActionError, NotResetError, OptionError, UnknownNameError
from trialea.envs import learner
from trialea.envs.agent import make_agent
from trialea.envs.game import Game, States
from trialea.envs.single import SingleAgentEnv
from trialea.envs.vector import BatchedEnv

# --- Illegal actions ---------------------------------------------------------------------------------


@every_game
@every_interface
def test_illegal_action_raises_and_leaves_the_game_unchanged(name: str, interface: str) -> None:
    """After the error the state and mask are the same, a legal action works, and `reset(seed)` replays the game."""
    face = INTERFACES[interface](name)
    face.reset(seed=4)
    start = face.state().tobytes()
    legal = legal_of(face.mask())
    illegal = [action for action in range(face.env.game.num_actions) if action not in legal]
    for action in (*illegal[:3], *illegal[-3:], -1, face.env.game.num_actions, 10**12):
        with pytest.raises(IllegalActionError, match=rf"action {action}\b"):
            face.step(action)
        assert face.state().tobytes() == start
        assert legal_of(face.mask()) == legal
    face.step(legal[0])
    after = face.state().tobytes()
    assert after != start
    face.reset(seed=4)
    assert face.state().tobytes() == start
    face.step(legal[0])
    assert face.state().tobytes() == after


@every_game
def test_illegal_action_keeps_pending_rewards_in_aec(name: str) -> None:
    """A reward that the agent has earned but not yet seen survives the illegal action."""
    env = aec(name, reward="score")
    env.reset(seed=1)
    for _ in range(20):
        agent = env.agent_selection
        observation, reward, *_ = env.last()
        with pytest.raises(IllegalActionError):
            env.step(-1)
        assert env.last()[1] == reward
        assert env.agent_selection == agent
        env.step(legal_of(observation["action_mask"])[-1])
        if any(env.terminations.values()):
            break


# --- Reset options -----------------------------------------------------------------------------------


@every_game
@every_interface
def test_reset_ignores_unknown_options_but_checks_known_ones(name: str, interface: str) -> None:
    """PettingZoo's own tests pass an unknown key, so every interface must ignore it."""
    face = INTERFACES[interface](name)
    face.reset(seed=3)
    plain = face.state().tobytes()
    face.reset(seed=3, options={"unknown": 1})
    assert face.state().tobytes() == plain
    face.reset(seed=3, options={})
    assert face.state().tobytes() == plain
    with pytest.raises(OptionError, match="first_player"):
        face.reset(seed=3, options={"first_player": 17})


@every_game
@every_interface
def test_step_before_reset_raises_and_names_the_remedy(name: str, interface: str) -> None:
    """No interface steps a game that has not started."""
    face = INTERFACES[interface](name)
    with pytest.raises(NotResetError, match=r"reset\(\)"):
        face.step(0)
    face.reset(seed=0)
    face.step(legal_of(face.mask())[0])


# --- Types of actions --------------------------------------------------------------------------------


@every_game
@every_interface
def test_every_integer_type_is_accepted_as_an_action(name: str, interface: str) -> None:
    """Python ints, NumPy integers and 0-d arrays give the same result."""
    results = set()
    for kind in (int, np.int8, np.int32, np.int64, np.uint8, np.array):
        face = INTERFACES[interface](name)
        face.reset(seed=6)
        face.step(kind(legal_of(face.mask())[0]))
        results.add(face.state().tobytes())
    assert len(results) == 1


@every_game
@every_interface
def test_non_integer_and_out_of_range_actions_raise(name: str, interface: str) -> None:
    """Floats (even whole ones), bools, text, None, sequences and numbers out of range are errors."""
    face = INTERFACES[interface](name)
    face.reset(seed=6)
    before = face.state().tobytes()
    for wrong in (
        0.0,
        np.float32(1),
        np.array(1.0),
        True,
        np.bool_(True),
        "0",
        None,
        [0],
        np.array([0]),
        -1,
        999,
    ):
        with pytest.raises(IllegalActionError):
            face.step(wrong)
        assert face.state().tobytes() == before


# --- Arguments that must not reach the compiled loops ---------------------------------------------------------------


@every_game
def test_wrong_shapes_seats_and_games_raise_before_compiled_code(name: str) -> None:
    low = game_of(name)
    states = low.start(range(4))
    more = Game(name, low.num_players + 1)
    for wrong in (
        lambda: low.observe(states, np.zeros(2, np.int64)),
        lambda: low.masks(states, np.full(4, low.num_players)),
        lambda: more.observe(states),
        lambda: low.step(states, [0], index=np.array([99])),
        lambda: low.step(states, [0], index=np.array([-1])),
        lambda: low.play_randomly(states, 1, 0, np.zeros((1, 3), np.float32), np.zeros((1, 3), np.int8)),
    ):
        before = states.tobytes()
        with pytest.raises(OptionError):
            wrong()
        assert states.tobytes() == before


class Cheat:
    """An agent that always returns the same answer, or raises it if it is an exception."""

    name = "cheat"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, states: States) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@every_game
@pytest.mark.parametrize(
    ("answer", "cause", "message"),
    [
        (np.array([-1]), IllegalActionError, "chose an illegal action: action -1 is outside"),
        ((np.array([0]), None), IllegalActionError, "a tuple of 2 things: give the actions alone"),
        (np.array([0.5]), IllegalActionError, "must be whole numbers, got float64"),
        (np.array([0, 0]), IllegalActionError, r"must be 1, one for each game, got shape \(2,\)"),
        (None, IllegalActionError, "must be whole numbers, got object"),
        (KeyError("x"), KeyError, "raised KeyError: 'x'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faulty_opponent_raises_agent_error_and_requires_reset(
    name: str, answer: Any, cause: type[Exception], message: str
) -> None:
    env = SingleAgentEnv(name, opponents=Cheat(answer), seat=0, **AGREED_ORDER[name])
    env.reset(seed=0)
    with pytest.raises(AgentError, match=f"opponent 'cheat' .*{message}.*reset") as raised:
        while True:
            env.step(legal_of(env.action_masks())[-1])
    assert isinstance(raised.value.__cause__, cause)
    with pytest.raises(NotResetError, match="reset"):
        env.step(0)
    env.reset(seed=0)
    assert env.action_masks().any()


def test_agent_error_names_the_member_of_a_crowd_at_fault() -> None:
    """Here a crowd answers for all its members at once, and the answers of member 1 are illegal."""

    class Crowd:
        def act(self, states: States, members: np.ndarray) -> np.ndarray:
            actions = make_agent("random", game).act(states)
            return np.where(members == 1, -1, actions)

    class Member:
        crowd = Crowd()

        def __init__(self, name: str) -> None:
            self.name = name

        def act(self, states: States) -> np.ndarray:
            raise AssertionError("the crowd is asked instead")

    game = game_of("no_dice", 4)
    env = SingleAgentEnv("no_dice", 4, opponents=[Member("one"), Member("two"), Member("three")], seat=0)
    env.reset(seed=0)
    with pytest.raises(AgentError, match="opponent 'two' chose an illegal action"):
        while True:
            env.step(legal_of(env.action_masks())[-1])


# --- Seeds, names and keywords --------------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, "1", [1]])
def test_wrong_seed_raises_the_same_error_everywhere(name: str, seed: Any) -> None:
    game, env, single, batch = game_of(name), aec(name), SingleAgentEnv(name), BatchedEnv(name)
    for each in (env, single, batch):
        each.reset(seed=1)
    before = batch.games.states.tobytes()
    for use in (
        lambda: game.clone(game.start([1]), seed),
        lambda: make_agent("random", game, seed),
        lambda: env.clone(seed=seed),
        lambda: env.reset(seed=seed),
        lambda: single.clone(seed=seed),
        lambda: single.unwrapped.reset(seed=seed),
        lambda: batch.reset(seed=[seed]),
    ):
        with pytest.raises(OptionError, match="seed must be a whole number"):
            use()
    assert batch.games.states.tobytes() == before


@every_game
def test_unknown_keyword_raises_type_error_and_suggests_a_name(name: str) -> None:
    """TorchRL's GymEnv passes `frameskip`, and drops it if a TypeError contains these words."""
    for make in (partial(gym.make, GAMES[name].gym_id), partial(aec, name), partial(BatchedEnv, name)):
        with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'") as raised:
            make(frameskip=1)
        assert isinstance(raised.value, OptionError)
    with pytest.raises(OptionError, match="unexpected keyword argument 'players'. Did you mean 'num_players'"):
        gym.make(GAMES[name].gym_id, players=3)


@every_game
def test_make_agent_rejects_objects_that_are_not_agents(name: str) -> None:
    game = game_of(name)
    for wrong in ("", None, 5, b"cheat"):
        agent = Cheat(0)
        agent.name = wrong
        with pytest.raises(OptionError, match="the name of an agent must be a text that is not empty, got"):
            make_agent(agent, game)
    for wrong in (5, None, Cheat, object()):
        with pytest.raises(OptionError, match="an agent must be a name, a path or an object with"):
            make_agent(wrong, game)
    with pytest.raises(UnknownNameError, match="no agent 'no/such' for"):
        make_agent(Path("no/such"), game)
    with pytest.raises(TypeError):
        GAMES["chess"] = GAMES[name]  # type: ignore[index]


# --- Games without a decision by the learner ------------------------------------------------------------------------


def test_games_without_a_learner_decision_are_counted_as_skipped() -> None:
    """Each game is either an episode or skipped. Equal players win equally often when both kinds are counted."""
    env = SingleAgentEnv("no_dice", target=4, throws=1, opponents="random", seat="random")
    total, games, skipped = 0.0, 0, 0
    agent = make_agent("random", env.game, 1)
    for episode in range(400 if not JIT_OFF else 20):
        _, info = env.reset(seed=None if episode else 5)
        games += 1 + info["skipped_games"]
        total += info["skipped_reward"]
        skipped += info["skipped_games"]
        assert (
            info["skipped_reward"] == info["skipped_games"]
        )  # the opponents reached the target, so the learner won each of these games
        done = False
        while not done:
            _, reward, terminated, truncated, _ = env.step(int(agent.act(env._games.states)[0]))
            total += reward
            done = terminated or truncated
    assert env._games._episodes[0] == games  # every game of the stream is counted
    assert skipped > 0
    if not JIT_OFF:
        assert abs(total) < 4 * games**0.5


def test_learner_that_never_decides_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lowered, because no opponent of this game ends every game before the learner's turn."""
    monkeypatch.setattr(learner, "MAX_SKIPPED", 3)
    env = SingleAgentEnv("no_dice", target=1, throws=1, seat=1)
    with pytest.raises(OptionError, match="the learner must get to decide, but 3 games in a row"):
        for seed in range(1000):
            env.reset(seed=seed)
