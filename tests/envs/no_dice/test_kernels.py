"""Tests of No Dice's kernels against the slow oracle, for every throw and for whole games."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import trialea
from tests.helpers import JIT_OFF, assert_masks_agree, game_of, pick, positions
from tests.oracle import no_dice as oracle
from trialea import OptionError
from trialea.envs.dice import throw_faces
from trialea.envs.game import Game, States
from trialea.envs.no_dice import rules

READINGS = ("any", "natural")


def decision_of(action: int) -> oracle.Decision:
    """Return the oracle's name for an action."""
    if action < rules.NUM_REROLLS:
        return frozenset(die for die in range(5) if (action + 1) >> die & 1)
    if action == rules.ADD_UP:
        return "add up"
    expression = rules.EXPRESSIONS[action - rules.NUM_REROLLS]
    return (*expression.dice, expression.bracket) if expression.bracket else expression.dice


DECISIONS = [decision_of(action) for action in range(rules.NUM_ACTIONS)]
ACTION_OF = {decision: action for action, decision in enumerate(DECISIONS)}
THROWS = list(product(range(6), repeat=5))


@cache
def oracle_scores(reading: oracle.Intermediates) -> np.ndarray:
    """Return an array (throws, actions) with the oracle's score for each way to stop after the last throw, or -1."""
    scores = np.full((len(THROWS), rules.NUM_ACTIONS), -1)
    for row, faces in zip(scores, THROWS, strict=True):
        for decision, score in oracle.expressions(faces, reading).items():
            row[ACTION_OF[decision]] = score
        if oracle.must_add_up(faces, reading):
            row[rules.ADD_UP] = oracle.add_up(faces)
    return scores


def on_the_table(game: Game, throws: int) -> States:
    """Return a state for each possible throw, as throw number `throws` of the mover's turn."""
    states = game.start(range(len(THROWS)))
    states.dice = np.array(THROWS)
    states.throws = throws
    return states


def test_actions_are_the_oracles_decisions() -> None:
    assert len(ACTION_OF) == rules.NUM_ACTIONS == 31 + 36 + 72 + 1
    assert list(rules.FACES) == [
        tuple({"-": "−", "/": "÷", "x": "×"}.get(face, face) for face in faces) for faces in oracle.FACES
    ]


@pytest.mark.parametrize("reading", READINGS)
def test_every_action_is_legal_for_some_throw(reading: oracle.Intermediates) -> None:
    assert (oracle_scores(reading) >= 0).any(axis=0)[rules.NUM_REROLLS :].all()


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("throws", [1, 2, 3])
def test_legal_actions_match_the_oracle_for_every_throw(reading: oracle.Intermediates, throws: int) -> None:
    game = game_of("no_dice", intermediates=reading)
    states = on_the_table(game, throws)
    expected = oracle_scores(reading) >= 0
    expected[:, : rules.NUM_REROLLS] = throws < 3
    if throws < 3:
        expected[:, rules.ADD_UP] = False
    assert (assert_masks_agree(game, states) == expected).all()


@pytest.mark.parametrize("reading", READINGS)
def test_scores_match_the_oracle_for_every_throw_and_action(reading: oracle.Intermediates) -> None:
    game = game_of("no_dice", target=1000, intermediates=reading)
    expected = oracle_scores(reading)
    row, action = np.nonzero(expected >= 0)
    states = on_the_table(game, 3)[row]
    states.scores[:, 1] = 7
    mover = states.mover.copy()
    game.step(states, action)
    assert (states.scores[:, 0] == expected[row, action]).all()
    assert (states.scores[:, 1] == 7).all()
    assert (states.mover == 1 - mover).all()
    assert (states.throws == 1).all()


def test_repeated_faces_of_a_die_score_the_same() -> None:
    """Die 3 has ÷ and × twice and die 4 has − and + twice; which of the two shows makes no difference."""
    scores = rules.tables(rules.Options()).scores.reshape(6, 6, 6, 6, 6, -1)  # the first axis is die 4
    assert (scores[:, 1] == scores[:, 3]).all()
    assert (scores[:, 4] == scores[:, 5]).all()
    assert (scores[1] == scores[3]).all()
    assert (scores[4] == scores[5]).all()


def test_swapping_two_equal_dice_keeps_the_score() -> None:
    """When two dice show the same, an expression scores the same with the two dice exchanged."""
    place = {expression: k for k, expression in enumerate(rules.EXPRESSIONS)}
    scores = rules.tables(rules.Options()).scores
    compared = 0
    for outcome in range(rules.NUM_OUTCOMES):
        faces = [rules.FACES[die][face] for die, face in enumerate(rules.outcome_faces(outcome))]
        for one in range(5):
            for other in range(one + 1, 5):
                if faces[one] != faces[other]:
                    continue
                swap = {one: other, other: one}
                for expression, k in place.items():
                    dice = tuple(swap.get(die, die) for die in expression.dice)
                    twin = place.get(rules.Expression(dice, expression.bracket))
                    if twin is not None:
                        compared += 1
                        assert scores[outcome, k] == scores[outcome, twin]
    assert compared > 10_000


def test_reroll_throws_exactly_the_chosen_dice() -> None:
    game = game_of("no_dice")
    faces = np.empty(6, np.int64)
    for action in range(rules.NUM_REROLLS):
        states = game.start([action])
        shown = states.dice[0].tolist()
        game.step(states, [action])
        throw_faces(states.seed[0], 0, 0, 1, faces)
        thrown = decision_of(action)
        assert states.dice[0].tolist() == [int(faces[d]) if d in thrown else shown[d] for d in range(5)]
        assert states.throws[0] == 2


def follow(game: Game, players: int, seed: int, first: int) -> None:
    """Play a whole random game in step with the oracle, which gets the same faces."""
    options = oracle.Options(game.options.target, game.options.throws, game.options.intermediates)
    rng = np.random.default_rng(seed)
    states = game.start([seed], first_player=first)
    out: list[int] = []
    faces = np.empty(6, np.int64)

    def throw(seat: int, turn: int, throw_number: int, die: int) -> int:
        throw_faces(np.uint64(seed), seat, turn, throw_number, faces)
        return int(faces[die])

    def choose(position: oracle.Position) -> oracle.Decision:
        state = states[0]
        assert position == (
            state.mover,
            state.turns[state.mover],
            tuple(state.dice.tolist()),
            state.throws,
            tuple(state.scores[:players].tolist()),
            tuple(out),
        )
        action = pick(game.masks(states)[0], rng)
        game.step(states, [action])
        out.extend(s for s in range(players) if states.finished[0, s] and not states.share[0, s] and s not in out)
        return DECISIONS[action]

    played = oracle.play(options, players, first, throw, choose)
    assert states.over[0]
    assert played.totals == tuple(states.scores[0, :players].tolist())
    assert played.out == tuple(out)
    assert states.share[0].tolist() == [float(seat == played.winner) for seat in range(8)]
    assert len(played.transcript) == states.decisions[0]


AGREEMENTS: list[dict[str, Any]] = [
    {},
    {"throws": 1},
    {"target": 1, "throws": 2},
    {"target": 100, "throws": 5, "intermediates": "natural"},
]


@pytest.mark.parametrize("players", [2, pytest.param(3, marks=pytest.mark.nojit), 4, 5, 6, 7, 8])
@pytest.mark.parametrize("options", AGREEMENTS, ids=str)
def test_random_games_match_the_oracle(players: int, options: dict[str, Any]) -> None:
    if JIT_OFF:
        options = {**options, "target": min(10, options.get("target", 10))}
    game = game_of("no_dice", players, **options)
    for seed in range(1 if JIT_OFF else 8):
        follow(game, players, seed, first=seed % players)


@settings(deadline=None, max_examples=60)
@given(
    players=st.integers(2, 8),
    target=st.integers(1, 60),
    throws=st.integers(1, 5),
    reading=st.sampled_from(READINGS),
    seed=st.integers(0, 2**63),
)
def test_games_with_any_options_and_seed_match_the_oracle(
    players: int, target: int, throws: int, reading: oracle.Intermediates, seed: int
) -> None:
    game = trialea.make_game("no_dice", players, target=target, throws=throws, intermediates=reading)
    follow(game, players, seed, first=seed % players)


def test_observation_shows_dice_throws_totals_and_scores() -> None:
    """Reads each entry by its documented index, without the kernel."""
    game = game_of("no_dice", 4, target=20)
    states = positions(game, 200, seed=8)
    expected_scores = dict(zip(THROWS, oracle_scores("any"), strict=True))
    for i in range(len(states)):
        state = states[i]
        for seat in range(4):
            seen = game.observe(states[i : i + 1], np.array([seat]))[0]
            dice, left, seats, worth = np.split(seen, [30, 33, 45])
            assert dice.reshape(5, 6).argmax(axis=1).tolist() == state.dice.tolist()
            assert dice.sum() == 5
            assert left.tolist() == [float(3 - state.throws == n) for n in range(3)]
            order = [(seat + offset) % 4 for offset in range(4)]
            totals, still_in, to_move = seats.reshape(4, 3).T
            assert totals == pytest.approx([min(1, state.scores[s] / 20) for s in order])
            assert still_in.tolist() == [1.0 - state.finished[s] for s in order]
            assert to_move.tolist() == [float(s == state.mover) for s in order]
            scores = expected_scores[tuple(state.dice.tolist())][rules.NUM_REROLLS :]
            assert worth[:-1] == pytest.approx(np.where(scores < 0, 0, 1 / (1 + np.maximum(scores, 0))))
            assert worth[-1] == worth[:-1].max()


@pytest.mark.parametrize(
    "wrong",
    [{"target": 0}, {"target": 1001}, {"throws": 0}, {"throws": 6}, {"intermediates": "some"}],
    ids=str,
)
def test_options_out_of_range_raise(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        trialea.make_game("no_dice", 2, **wrong)
