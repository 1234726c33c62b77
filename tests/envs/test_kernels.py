"""Tests of properties that every game's kernels must have. `<game>/test_kernels.py` tests each game's rules."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import trialea
from tests.helpers import (
    AGREED_ORDER,
    JIT_OFF,
    SHORT,
    TABLES,
    assert_masks_agree,
    game_of,
    legal_of,
    more_players,
    pick,
    player_counts,
    positions,
    random_play,
    rotated,
)
from trialea import GAMES, IllegalActionError, OptionError
from trialea.envs.dice import throw_faces
from trialea.envs.game import Game, States


@pytest.mark.nojit
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_masks_legality_queries_lists_and_counts_agree(name: str, players: int) -> None:
    game = game_of(name, players)
    assert_masks_agree(game, positions(game, 6 if JIT_OFF else 300, seed=players))


@pytest.mark.parametrize("name", GAMES)
def test_step_succeeds_only_for_actions_that_the_mask_allows(name: str) -> None:
    game = game_of(name, more_players(name))
    states = positions(game, 60, seed=5)
    for i, mask in enumerate(game.masks(states)):
        for action in range(-2, game.num_actions + 2):
            after = game.clone(states[i : i + 1])
            if 0 <= action < game.num_actions and mask[action]:
                game.step(after, [action])
                assert after.decisions[0] == states.decisions[i] + 1
            else:
                with pytest.raises(IllegalActionError, match=f"action {action}"):
                    game.step(after, [action])
                assert after.tobytes() == states[i : i + 1].tobytes()


@pytest.mark.parametrize("name", GAMES)
def test_one_illegal_action_in_a_batch_changes_no_game(name: str) -> None:
    game = game_of(name)
    states = game.start(range(4))
    before = states.tobytes()
    actions = [legal_of(mask)[0] for mask in game.masks(states)]
    with pytest.raises(IllegalActionError, match="game 2: "):
        game.step(states, [*actions[:2], game.num_actions, actions[3]])
    assert states.tobytes() == before
    with pytest.raises(IllegalActionError, match="actions must be 4, one for each game"):
        game.step(states, actions[:3])
    with pytest.raises(IllegalActionError, match="whole numbers"):
        game.step(states, np.array(actions, float))
    game.step(states, actions)
    assert (states.decisions == 1).all()


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_observations_rotate_with_the_seats(name: str, players: int) -> None:
    """After all players move on by some seats, each sees what the player in the old seat saw."""
    game = game_of(name, players)
    states = positions(game, 50, seed=players)
    for by in range(1, players):
        turned = rotated(states, by)
        for seat in range(players):
            seats = np.full(len(states), seat)
            assert (game.observe(turned, (seats + by) % players) == game.observe(states, seats)).all()
        assert (game.masks(turned) == game.masks(states)).all()


def thrown_once(game: Game, state: Any) -> States:
    """Return the state after its next throw with the dice that its seed determines, if any dice are pending."""
    after = np.array([state], game.state_dtype).view(np.recarray)
    if state.pending:
        faces = np.zeros((1, 8), np.int64)
        throw_faces(np.uint64(state.seed), state.mover, state.turns[state.mover], state.throws, faces[0, :6])
        game.loops.throw(after, faces, game.tables)
    return after


@pytest.mark.parametrize("name", GAMES)
def test_chance_outcomes_are_complete_and_include_the_sample(name: str) -> None:
    game = game_of(name, more_players(name))
    rng = np.random.default_rng(1)
    states = positions(game, 40, seed=3)
    actions = [pick(mask, rng) for mask in game.masks(states)]
    chosen = game.choose(states, actions)
    after = states.copy()
    game.step(after, actions)
    for i in range(len(states)):
        state, throws = chosen[i], 0
        while throws == 0 or (
            state.pending and not state.over
        ):  # some throws are followed by another without a decision in between
            outcomes = game.chance_outcomes(state)
            assert len(outcomes) == 6 ** int(state.pending).bit_count()
            assert sum(probability for _, probability in outcomes) == pytest.approx(1, abs=1e-12)
            successors = {outcome.tobytes() for outcome, _ in outcomes}
            thrown = thrown_once(game, state)
            assert thrown.tobytes() in successors
            state, throws = thrown[0], throws + 1
        assert after[i : i + 1].tobytes() == thrown.tobytes()
    assert (states.decisions == positions(game, 40, seed=3).decisions).all()  # `choose` leaves its input unchanged


@pytest.mark.parametrize("name", GAMES)
def test_step_samples_successors_with_the_chance_probabilities(name: str) -> None:
    """Over many seeds, successors are as frequent as `chance_outcomes` says (χ² test)."""
    game = game_of(name)
    state, action = a_throw_of_few_dice(game)
    expected: Counter[bytes] = Counter()
    for outcome, probability in game.chance_outcomes(game.choose(state, [action])[0]):
        outcome.seed = 0
        expected[outcome.tobytes()] += 20_000 * probability
    clones = game.clone(np.repeat(state, 20_000).view(np.recarray), seed=0)
    game.step(clones, np.full(len(clones), action))
    clones.seed = 0
    counts = Counter(clones[i].tobytes() for i in range(len(clones)))
    assert set(counts) <= set(expected)
    assert sum(expected.values()) == pytest.approx(len(clones))
    statistic = sum((counts[outcome] - mean) ** 2 / mean for outcome, mean in expected.items())
    assert statistic < len(expected) + 7 * np.sqrt(2 * len(expected))


def a_throw_of_few_dice(game: Game) -> tuple[States, int]:
    """Return a state and an action after which two or three dice are thrown, once."""
    states = positions(game, 200, seed=3)
    for i in range(len(states)):
        state = states[i : i + 1].view(np.recarray)
        for action in legal_of(game.masks(state)[0]):
            chosen = game.choose(state, [action])
            if int(chosen.pending[0]).bit_count() in (2, 3):
                return state, action
    raise AssertionError("no such state")


@pytest.mark.nojit
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_rewards_match_the_shares_and_each_player_is_paid_once(name: str, players: int) -> None:
    game = game_of(name, players, **(SHORT[name] if JIT_OFF else {}))
    rng = np.random.default_rng(players)
    count = 1 if JIT_OFF else 20
    states, scored = game.start(range(count)), game.start(range(count))
    wins, points = np.zeros((count, players)), np.zeros((count, players))
    paid = np.zeros((count, players), int)
    while not states.over.all():
        index = np.flatnonzero(states.over == 0)
        actions = [pick(mask, rng) for mask in game.masks(states[index])]
        before = states.finished.copy()
        now = game.step(states, actions, index)
        assert ((now != 0) <= (states.finished != before)[:, :players]).all()
        paid += now != 0
        wins += now
        points += game.step(scored, actions, index, reward="score")
    assert scored.tobytes() == states.tobytes()
    assert wins.sum(axis=1) == pytest.approx(0, abs=1e-6)
    assert wins == pytest.approx((states.share[:, :players] * players - 1) / (players - 1), abs=1e-6)
    assert paid.max() <= 1
    assert states.share.sum(axis=1) == pytest.approx(1)
    assert points == pytest.approx(game.score_scale * states.scores[:, :players])


@settings(deadline=None, max_examples=15 if JIT_OFF else 80)
@given(
    table=st.sampled_from(TABLES),
    seed=st.integers(0, 2**64 - 1),
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=20 if JIT_OFF else 200),
)
@pytest.mark.nojit
def test_state_invariants_hold_in_random_play(table: tuple[str, int], seed: int, choices: list[int]) -> None:
    name, players = table
    game = game_of(name, players, **(AGREED_ORDER[name] if seed % 2 else {}))
    states = game.start([seed], first_player=seed % players)
    assert states.mover[0] == seed % players or (AGREED_ORDER[name] and not seed % 2)
    for decision, choice in enumerate(choices):
        if states.over[0]:
            break
        state, before = states[0], states.copy()
        assert state.pending == 0
        assert state.decisions == decision
        assert not state.finished[state.mover]
        assert state.share.sum() == 0
        for seat in range(players):
            observation = game.observe(states, np.array([seat]))
            assert observation.dtype == np.float32
            assert 0 <= observation.min() <= observation.max() <= 1
            assert game.masks(states, np.array([seat])).any() == (seat == state.mover)
        actions = legal_of(game.masks(states)[0])
        game.step(states, [actions[choice % len(actions)]])
        assert (states.scores >= before.scores).all()
        assert (states.turns >= before.turns).all()
        assert (states.finished >= before.finished).all()
        assert states.seed == before.seed
        assert (states.turns - before.turns).sum() <= 1
    if states.over[0]:
        assert states.finished[0, :players].all()
        assert not game.masks(states).any()
        with pytest.raises(IllegalActionError, match="over"):
            game.step(states, [0])


@pytest.mark.parametrize("name", GAMES)
def test_reseeded_clone_diverges_and_plain_clone_does_not(name: str) -> None:
    game = game_of(name)
    states = game.start(range(50))
    same, other = game.clone(states), game.clone(states, seed=12345)
    futures = []
    for batch in (states, same, other):
        rng = np.random.default_rng(0)
        for _ in random_play(game, batch, rng):
            pass
        futures.append(batch)
    assert futures[0].tobytes() == futures[1].tobytes()
    futures[2].seed = futures[0].seed
    assert sum(futures[0][i].tobytes() != futures[2][i].tobytes() for i in range(50)) > 25


@pytest.mark.parametrize("name", GAMES)
def test_every_byte_of_a_state_belongs_to_a_field(name: str) -> None:
    """A copy does not preserve padding bytes, so equal states would compare as different."""
    dtype = game_of(name).state_dtype
    assert sum(field.itemsize for field, *_ in dtype.fields.values()) == dtype.itemsize


@pytest.mark.parametrize("name", GAMES)
def test_every_game_has_an_oracle(name: str) -> None:
    assert find_spec(f"tests.oracle.{name}") is not None


@pytest.mark.parametrize("name", GAMES)
def test_bad_game_arguments_raise_and_name_the_valid_ones(name: str) -> None:
    fewest, most = player_counts(name)[0], player_counts(name)[-1]
    with pytest.raises(OptionError, match=r"unexpected keyword argument 'colour'.*Its options: "):
        trialea.make_game(name, fewest, colour="red")
    for players in (0, fewest - 1, most + 1, 99, float(fewest), str(fewest), True):
        with pytest.raises(OptionError, match=f"num_players must be a whole number from {fewest} to {most}"):
            trialea.make_game(name, players)
    assert trialea.make_game(name, np.int64(fewest)) == trialea.make_game(name, fewest) == trialea.make_game(name)
    with pytest.raises(OptionError, match="first_player"):
        game_of(name).start([0], first_player=fewest)
    with pytest.raises(trialea.UnknownNameError, match=name):
        trialea.make_game("no_such_game")
