"""Inputs that broke other environments, over every game: illegal actions, reset options, kinds of number."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers import AGREED_ORDER, game_of, legal_of
from tests.interfaces import INTERFACES, aec, every_game, every_interface
from trialea import IllegalActionError, NotResetError, OptionError
from trialea.envs.game import Game, States
from trialea.envs.single import SingleAgentEnv

# --- 12. Illegal action ----------------------------------------------------------------------------------


@every_game
@every_interface
def test_case_12_an_illegal_action_is_refused_and_forgotten(name: str, interface: str) -> None:
    """Case 12: a domain error, the state as before; then a legal action works; then `reset(seed)` replays."""
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
def test_case_12_a_refused_action_leaves_the_rewards_to_come(name: str) -> None:
    """Case 12 in AEC: what the agent has earned but not yet seen is not lost with the illegal action."""
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


# --- 14. Reset options -----------------------------------------------------------------------------------


@every_game
@every_interface
def test_case_14_unknown_reset_options_are_ignored_everywhere(name: str, interface: str) -> None:
    """Case 14: PettingZoo's own tests pass an unknown key, so every interface ignores them; not a wrong value."""
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
def test_case_14_stepping_before_reset_is_refused_with_the_remedy(name: str, interface: str) -> None:
    """Case 14: no interface steps a game that has not begun."""
    face = INTERFACES[interface](name)
    with pytest.raises(NotResetError, match=r"reset\(\)"):
        face.step(0)
    face.reset(seed=0)
    face.step(legal_of(face.mask())[0])


# --- 15. Kinds of number ---------------------------------------------------------------------------------


@every_game
@every_interface
def test_case_15_every_kind_of_whole_number_is_an_action(name: str, interface: str) -> None:
    """Case 15: the NumPy kinds, a 0-d array and Python's own do the same."""
    results = set()
    for kind in (int, np.int8, np.int32, np.int64, np.uint8, np.array):
        face = INTERFACES[interface](name)
        face.reset(seed=6)
        face.step(kind(legal_of(face.mask())[0]))
        results.add(face.state().tobytes())
    assert len(results) == 1


@every_game
@every_interface
def test_case_15_other_things_are_refused(name: str, interface: str) -> None:
    """Case 15: a float, even a whole one, a bool, text, None, a sequence, and a number out of range."""
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


# --- Beside the cases: what the compiled loops must not be given ----------------------------------------------------


@every_game
def test_wrong_shapes_seats_and_games_never_reach_the_compiled_loops(name: str) -> None:
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


@every_game
def test_an_opponents_illegal_action_is_named_and_needs_a_reset(name: str) -> None:
    class Cheat:
        name = "cheat"

        def act(self, states: States) -> np.ndarray:
            return np.full(len(states), -1)

    env = SingleAgentEnv(name, opponents=Cheat(), seat=0, **AGREED_ORDER[name])
    env.reset(seed=0)
    with pytest.raises(IllegalActionError, match="opponent 'cheat'"):
        while True:
            env.step(legal_of(env.action_masks())[-1])
    with pytest.raises(NotResetError, match="reset"):
        env.step(0)
    env.reset(seed=0)
    assert env.action_masks().any()
