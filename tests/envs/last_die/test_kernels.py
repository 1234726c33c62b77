"""Tests of Last Die's kernels: whole games against the slow oracle, seating, symmetry and copies."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import given, settings, strategies as st

from tests.helpers import JIT_OFF, game_of, pick, positions, random_play, rotated
from tests.last_die import fall, fresh, oracle_options, philox_faces, position_of, table_of
from tests.oracle import last_die as oracle
from trialea import IllegalActionError
from trialea.envs import last_die_v0
from trialea.envs.game import Game
from trialea.envs.last_die import names
from trialea.envs.last_die.game import SEATING_THROW
from trialea.envs.last_die.names import seating_throws

PLAYERS = (4, 5, 6)
AGREEMENTS: list[dict[str, Any]] = [
    {"seating": seating, "even_ends_round": ends, "steer": steer}
    for seating, ends, steer in product(("throw", "fixed"), (False, True), (False, True))
]


def assert_ends_alike(game: Game, state: Any, played: oracle.Game) -> None:
    """Check that the game's end state agrees with the oracle's game."""
    n = game.num_players
    assert state.over and not state.truncated
    assert state.finished[:n].all()
    assert tuple(state.scores[:n].tolist()) == played.scores
    assert tuple(state.turns[:n].tolist()) == played.turns
    assert state.share[:n].tolist() == pytest.approx([float(share) for share in played.shares])
    assert state.rounds == game.options.rounds_each * n
    assert state.held.sum() == state.sent == state.pending == 0


# --- Whole games against the oracle ----------------------------------------------------------------------


def follow(game: Game, seed: int) -> None:
    """Play a game in step with the oracle, which gets the dice of the same seed, player, turn and throw."""
    rng = np.random.default_rng(seed)
    states = game.start([seed], first_player=seed % game.num_players)
    state = states[0]

    def throw(position: oracle.Position) -> list[int]:
        faces = philox_faces(seed, position.player, position.turn, position.throws, position.hands[position.player])
        if not game.options.steer:
            assert position_of(game, state) == position
            game.step(states, [0])
            assert names.latest_throw(state) == faces
            assert (state.mover + state.thrower) % game.num_players == position.player
        return faces

    def choose(position: oracle.Position) -> int:
        assert position_of(game, state) == position
        assert state.thrower == 0
        action = pick(game.masks(states)[0], rng)
        game.step(states, [action])
        return action

    played = oracle.play(oracle_options(game.options), table_of(game, state), throw, choose)
    assert_ends_alike(game, state, played)
    if not game.options.steer:
        assert state.decisions == played.throws


@pytest.mark.parametrize("players", [pytest.param(4, marks=pytest.mark.nojit), 5, 6])
@pytest.mark.parametrize("options", AGREEMENTS, ids=lambda options: " ".join(map(str, options.values())))
def test_random_games_match_the_oracle(players: int, options: dict[str, Any]) -> None:
    game = game_of("last_die", players, **options, rounds_each=1 if JIT_OFF else 3)
    for seed in range(1 if JIT_OFF else 12):
        follow(game, seed)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(PLAYERS), st.sampled_from(AGREEMENTS), st.integers(1, 3), st.integers(0, 2**64 - 1))
def test_games_with_any_options_and_seed_match_the_oracle(
    players: int, options: dict[str, Any], rounds: int, seed: int
) -> None:
    follow(game_of("last_die", players, **options, rounds_each=rounds), seed)


@pytest.mark.parametrize("likely", range(1, 7))
@pytest.mark.parametrize(("ends", "steer"), list(product((False, True), repeat=2)))
def test_games_with_loaded_dice_match_the_oracle(likely: int, ends: bool, steer: bool) -> None:
    """Dice that favour one face cause rare events: all dice leave at once, long openings, long last dice."""
    players = PLAYERS[likely % 3]
    game = game_of("last_die", players, even_ends_round=ends, steer=steer, rounds_each=4)
    rng = np.random.default_rng(likely)
    states = fresh(game, likely)

    def throw(position: oracle.Position) -> list[int]:
        nonlocal states
        assert position_of(game, states[0]) == position
        count = position.hands[position.player]
        faces = np.where(rng.random(count) < 0.5, likely, rng.integers(1, 7, count)).tolist()
        states = fall(game, states, faces)
        return [int(face) for face in faces]

    def choose(position: oracle.Position) -> int:
        nonlocal states
        assert position_of(game, states[0]) == position
        assert states.pending[0] == 0
        action = pick(game.masks(states)[0], rng)
        states = game.choose(states, [action])
        return action

    played = oracle.play(oracle_options(game.options), range(players), throw, choose)
    assert_ends_alike(game, states[0], played)


def test_no_more_dice_can_be_steered_left_than_leave_the_hand() -> None:
    game = game_of("last_die", 4, steer=True)
    waiting = fall(game, fresh(game), [1, 3, 3, 5, 2, 5])
    assert game.masks(waiting)[0].tolist() == [1, 1, 1, 1, 1, 0, 0]
    with pytest.raises(IllegalActionError, match=r"send 5 left.*only 4 dice showing 3 or 5 can be sent on"):
        game.step(waiting, [5])


def test_every_decision_of_a_steered_game_offers_a_choice() -> None:
    game = game_of("last_die", 4, steer=True)
    for states in random_play(game, game.start(range(30)), np.random.default_rng(0)):
        going = states[states.over == 0]
        assert (game.masks(going).sum(axis=1) == going.sent + 1).all()
        assert (going.sent >= 1).all()
        assert (going.throws >= 1).all()
        assert (going.held.sum(axis=1) + going.sent <= 6).all()


# --- Seating ---------------------------------------------------------------------------------------------


def seated(game: Game, seed: int) -> tuple[list[int], list[list[int]]]:
    """Return the oracle's seating order and all its totals."""
    return oracle.take_places(
        game.num_players, lambda player, number: sum(philox_faces(seed, player, 0, SEATING_THROW + number))
    )


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("steer", [False, True])
def test_seating_by_throws_matches_the_oracle(players: int, steer: bool) -> None:
    game = game_of("last_die", players, steer=steer)
    kinds = set()
    seeds = range(1500)
    states = game.start(seeds)
    for seed, state in zip(seeds, states, strict=True):
        order, thrown = seated(game, seed)
        assert table_of(game, state) == order
        assert state.seating == 0
        report = game.opening(state)
        assert report["seating_order"].tolist() == order
        assert report["seating_total"].tolist() == [totals[0] for totals in thrown]
        assert report["seating_throws"].tolist() == list(map(len, thrown))
        assert seating_throws(game, state) == thrown
        kinds.add(tuple(sorted(map(len, thrown))))
    if not steer:
        assert (states.mover == states.place[:, :players].argmin(axis=1)).all()
        assert (states.held[np.arange(len(states)), states.mover] == 6).all()
        assert (states.throws == 0).all() and (states.decisions == 0).all()
    # two tied, three tied, two pairs tied, and two players tied a second time
    tied = {players * (1,), (players - 2) * (1,) + (2, 2), (players - 3) * (1,) + (2, 2, 2)}
    assert kinds >= {*tied, (players - 4) * (1,) + 4 * (2,), (players - 2) * (1,) + (3, 3)}


def test_first_player_option_does_not_change_seating_by_throws() -> None:
    game = game_of("last_die", 5)
    ties = [seed for seed in range(100) if len(seated(game, seed)[1][0]) > 1]
    assert ties
    for seed in (*range(5), ties[0]):
        first = game.start([seed]).tobytes()
        assert all(game.start([seed], first_player=player).tobytes() == first for player in range(5))


def test_fixed_seating_follows_the_numbers_from_the_first_player() -> None:
    game = game_of("last_die", 6, seating="fixed")
    state = game.start([3], first_player=2)[0]
    assert state.place[:6].tolist() == [4, 5, 0, 1, 2, 3]
    assert (state.mover, state.held[2]) == (2, 6)
    assert game.opening(state) == {}


def test_reset_reports_the_seating_throws() -> None:
    env = last_die_v0.env(num_players=5)
    env.reset(seed=4)
    report = env.game.opening(env.game_state)
    assert data_equivalence(env.infos, dict.fromkeys(env.agents, report), exact=True)
    assert env.agent_selection == f"player_{report['seating_order'][0]}"
    assert report["seating_total"][report["seating_order"]].tolist() == sorted(report["seating_total"], reverse=True)
    fixed = last_die_v0.env(seating="fixed")
    fixed.reset(seed=4, options={"first_player": 2})
    assert fixed.agent_selection == "player_2"
    assert not fixed.infos["player_0"]


def test_throws_in_play_never_reach_the_seating_throws() -> None:
    most = 0
    game = game_of("last_die", 4)
    states = game.start(range(200))
    for now in random_play(game, states, np.random.default_rng(0)):
        most = max(most, int(now.throws.max()))
    assert 8 < most < SEATING_THROW / 2


# --- Symmetry and copies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("steer", [False, True])
def test_rotated_games_continue_identically(players: int, steer: bool) -> None:
    game = game_of("last_die", players, steer=steer)
    states = positions(game, 60, seed=players)
    rng = np.random.default_rng(players)
    actions = [pick(mask, rng) for mask in game.masks(states)]
    faces = rng.integers(0, 6, (len(states), 8))
    moved = game.choose(states, actions)
    game.loops.throw(moved, faces, game.tables)
    for by in range(1, players):
        turned = rotated(states, by)
        assert (game.masks(turned) == game.masks(states)).all()
        for seat in range(players):
            seats = np.full(len(states), seat)
            assert (game.observe(turned, (seats + by) % players) == game.observe(states, seats)).all()
        turned = game.choose(turned, actions)
        game.loops.throw(turned, faces, game.tables)
        assert turned.tobytes() == rotated(moved, by).tobytes()


@pytest.mark.parametrize("steer", [False, True])
def test_copy_continues_identically_and_reseeded_copy_keeps_seats(steer: bool) -> None:
    game = game_of("last_die", 4, steer=steer)
    states = positions(game, 40, seed=2)
    same, other = game.clone(states), game.clone(states, seed=99)
    assert (other.place == states.place).all()
    for batch in (states, same, other):
        for _ in random_play(game, batch, np.random.default_rng(0)):
            pass
    assert same.tobytes() == states.tobytes()
    assert (other.scores != states.scores).any(axis=1).mean() > 0.5
    assert (other.place == states.place).all()
