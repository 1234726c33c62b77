"""The kernels, the only implementation of each game: against the slow oracle, and against what must always hold."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trialea
from tests.helpers import JIT_OFF, TABLES, game_of, legal_of, pick, positions, random_play, rotated
from tests.oracle import no_dice as oracle
from trialea import GAMES, IllegalActionError, OptionError
from trialea.envs.dice import throw_faces
from trialea.envs.game import Game, States
from trialea.envs.jit import entry
from trialea.envs.no_dice import rules

READINGS = ("any", "natural")

# --- Every game ------------------------------------------------------------------------------------------


@cache
def legal_ways(module: ModuleType) -> Any:
    """A compiled loop that notes, for each state, what `is_legal` and what `num_legal` and `legal` allow."""

    @entry
    def fill(states, tables, asked, listed):
        for i in range(len(states)):
            for action in range(asked.shape[1]):
                asked[i, action] = module.is_legal(states[i], action, tables)
            for k in range(module.num_legal(states[i], tables)):
                listed[i, module.legal(states[i], k, tables)] += 1

    return fill


def assert_masks_agree(game: Game, states: States) -> np.ndarray:
    """The four ways of asking what is legal give one answer, which is returned."""
    masks = game.masks(states)
    asked, listed = np.full_like(masks, -1), np.zeros_like(masks)
    legal_ways(import_module(f"trialea.envs.{game.name}.game"))(states, game.tables, asked, listed)
    counts = np.full(len(states), -1, np.int64)
    game.loops.count_legal(states, game.tables, counts)
    assert (asked == masks).all()
    assert (listed == masks).all()  # each once
    assert (counts == masks.sum(axis=1)).all()
    assert masks.any(axis=1).all()
    return masks


@pytest.mark.nojit
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_masks_queries_lists_and_counts_agree_in_play(name: str, players: int) -> None:
    game = game_of(name, players)
    assert_masks_agree(game, positions(game, 6 if JIT_OFF else 300, seed=players))


@pytest.mark.nojit
@pytest.mark.parametrize("name", GAMES)
def test_a_step_succeeds_exactly_where_the_mask_says_so(name: str) -> None:
    game = game_of(name, 3)
    states = positions(game, 2 if JIT_OFF else 60, seed=5)
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
def test_one_illegal_action_in_a_batch_moves_no_game(name: str) -> None:
    game = game_of(name)
    states = game.start(range(4))
    before = states.tobytes()
    actions = [legal_of(mask)[0] for mask in game.masks(states)]
    with pytest.raises(IllegalActionError, match="game 2: "):
        game.step(states, [*actions[:2], game.num_actions, actions[3]])
    assert states.tobytes() == before
    with pytest.raises(IllegalActionError, match="expected 4 actions"):
        game.step(states, actions[:3])
    with pytest.raises(IllegalActionError, match="whole numbers"):
        game.step(states, np.array(actions, float))
    game.step(states, actions)
    assert (states.decisions == 1).all()


@pytest.mark.nojit
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_observations_turn_with_the_seats(name: str, players: int) -> None:
    """Move everybody on by some seats: each sees what the player in the old seat saw."""
    game = game_of(name, players)
    states = positions(game, 4 if JIT_OFF else 50, seed=players)
    for by in range(1, players):
        turned = rotated(states, by)
        for seat in range(players):
            seats = np.full(len(states), seat)
            assert (game.observe(turned, (seats + by) % players) == game.observe(states, seats)).all()
        assert (game.masks(turned) == game.masks(states)).all()


@pytest.mark.parametrize("name", GAMES)
def test_chance_is_complete_and_holds_what_is_sampled(name: str) -> None:
    game = game_of(name, 3)
    rng = np.random.default_rng(1)
    states = positions(game, 40, seed=3)
    actions = [pick(mask, rng) for mask in game.masks(states)]
    chosen = game.choose(states, actions)
    after = states.copy()
    game.step(after, actions)
    for i in range(len(states)):
        outcomes = game.chance_outcomes(chosen[i])
        assert sum(probability for _, probability in outcomes) == pytest.approx(1, abs=1e-12)
        successors = [outcome.tobytes() for outcome, _ in outcomes]
        assert after[i : i + 1].tobytes() in successors
        assert len(outcomes) == 6 ** int(chosen.pending[i]).bit_count()
    assert (states.decisions == positions(game, 40, seed=3).decisions).all()  # choosing has changed nothing


@pytest.mark.parametrize("name", GAMES)
def test_steps_throw_like_chance(name: str) -> None:
    """The successors that different seeds bring are spread as `chance_outcomes` says."""
    game = game_of(name)
    state = game.start([3])
    actions = legal_of(game.masks(state)[0])
    chosen = [game.choose(state, [action]) for action in actions]
    k = max(range(len(actions)), key=lambda k: int(chosen[k].pending[0]).bit_count() * (chosen[k].pending[0] < 8))
    outcomes = game.chance_outcomes(chosen[k][0])
    place = {}
    for number, (outcome, _) in enumerate(outcomes):
        outcome.seed = 0
        place[outcome.tobytes()] = number
    clones = game.clone(np.repeat(state, 20_000).view(np.recarray), seed=0)
    game.step(clones, np.full(len(clones), actions[k]))
    clones.seed = 0
    counts = np.bincount([place[clones[i].tobytes()] for i in range(len(clones))], minlength=len(outcomes))
    expected = len(clones) * np.array([probability for _, probability in outcomes])
    assert ((counts - expected) ** 2 / expected).sum() < len(outcomes) + 7 * np.sqrt(2 * len(outcomes))


@pytest.mark.nojit
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_a_game_pays_each_player_once_and_what_it_should(name: str, players: int) -> None:
    game = game_of(name, players)
    rng = np.random.default_rng(players)
    count = 1 if JIT_OFF else 30
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
def test_what_always_holds(table: tuple[str, int], seed: int, choices: list[int]) -> None:
    name, players = table
    game = game_of(name, players)
    states = game.start([seed], first_player=seed % players)
    assert states.mover[0] == seed % players
    for decision, choice in enumerate(choices):
        if states.over[0]:
            break
        state, before = states[0], states.copy()
        assert state.pending == 0
        assert state.throws >= 1
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
def test_a_reseeded_clone_has_another_future_and_a_plain_one_the_same(name: str) -> None:
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
    assert (futures[0].scores != futures[2].scores).any(axis=1).mean() > 0.5


@pytest.mark.parametrize("name", GAMES)
def test_every_byte_of_a_state_belongs_to_a_field(name: str) -> None:
    """Copying leaves other bytes as they happen to be, so equal states would differ."""
    dtype = game_of(name).state_dtype
    assert sum(field.itemsize for field, *_ in dtype.fields.values()) == dtype.itemsize


@pytest.mark.parametrize("name", GAMES)
def test_every_game_has_an_oracle(name: str) -> None:
    assert find_spec(f"tests.oracle.{name}") is not None


@pytest.mark.parametrize("name", GAMES)
def test_bad_tables_are_refused_with_the_good_ones_named(name: str) -> None:
    with pytest.raises(OptionError, match=r"no option colour.*its options are: "):
        trialea.make_game(name, 2, colour="red")
    for players in (0, 1, 99, 2.0, "2", True):
        with pytest.raises(OptionError, match="num_players must be a whole number from"):
            trialea.make_game(name, players)
    assert trialea.make_game(name, np.int64(2)) == trialea.make_game(name, 2)
    with pytest.raises(OptionError, match="first_player"):
        game_of(name).start([0], first_player=2)
    with pytest.raises(trialea.UnknownNameError, match=name):
        trialea.make_game("no_such_game")


# --- No Dice against its oracle --------------------------------------------------------------------------


def decision_of(action: int) -> oracle.Decision:
    """What the oracle calls an action."""
    if action < rules.NUM_REROLLS:
        return frozenset(die for die in range(5) if (action + 1) >> die & 1)
    if action == rules.ADD_UP:
        return "add up"
    expression = rules.EXPRESSIONS[action - rules.NUM_REROLLS]
    return (*expression.dice, expression.bracket) if expression.bracket else expression.dice


DECISIONS = [decision_of(action) for action in range(rules.NUM_ACTIONS)]
ACTION_OF = {decision: action for action, decision in enumerate(DECISIONS)}
THROWS = list(product(range(6), repeat=5))[:: 97 if JIT_OFF else 1]


@cache
def oracle_scores(reading: oracle.Intermediates) -> np.ndarray:
    """(throws, actions): the oracle's score of every way to stop after the last throw, -1 where there is none."""
    scores = np.full((len(THROWS), rules.NUM_ACTIONS), -1)
    for row, faces in zip(scores, THROWS, strict=True):
        for decision, score in oracle.expressions(faces, reading).items():
            row[ACTION_OF[decision]] = score
        if oracle.must_add_up(faces, reading):
            row[rules.ADD_UP] = oracle.add_up(faces)
    return scores


def on_the_table(game: Game, throws: int) -> States:
    """Every throw, as the mover's throw of that number."""
    states = game.start(range(len(THROWS)))
    states.dice = np.array(THROWS)
    states.throws = throws
    return states


@pytest.mark.nojit
def test_no_dice_actions_are_the_oracles_decisions() -> None:
    assert len(ACTION_OF) == rules.NUM_ACTIONS == 31 + 36 + 72 + 1
    assert list(rules.FACES) == [
        tuple({"-": "−", "/": "÷", "x": "×"}.get(face, face) for face in faces) for faces in oracle.FACES
    ]


@pytest.mark.parametrize("reading", READINGS)
def test_no_dice_has_no_action_that_is_never_legal(reading: oracle.Intermediates) -> None:
    assert (oracle_scores(reading) >= 0).any(axis=0)[rules.NUM_REROLLS :].all()


@pytest.mark.nojit
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("throws", [1, 2, 3])
def test_no_dice_legality_is_the_oracles_for_every_throw(reading: oracle.Intermediates, throws: int) -> None:
    game = game_of("no_dice", intermediates=reading)
    states = on_the_table(game, throws)
    expected = oracle_scores(reading) >= 0
    expected[:, : rules.NUM_REROLLS] = throws < 3
    if throws < 3:
        expected[:, rules.ADD_UP] = False
    assert (assert_masks_agree(game, states) == expected).all()


@pytest.mark.nojit
@pytest.mark.parametrize("reading", READINGS)
def test_no_dice_scores_are_the_oracles_for_every_throw_and_action(reading: oracle.Intermediates) -> None:
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


@pytest.mark.nojit
def test_no_dice_rethrows_exactly_the_dice_of_the_action() -> None:
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
    """Play a whole random game in step with the oracle, which is fed with the same faces."""
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


@pytest.mark.nojit
@pytest.mark.parametrize("players", range(2, 9))
@pytest.mark.parametrize("options", AGREEMENTS, ids=str)
def test_no_dice_whole_games_go_as_the_oracles(players: int, options: dict[str, Any]) -> None:
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
def test_no_dice_any_game_goes_as_the_oracles(
    players: int, target: int, throws: int, reading: oracle.Intermediates, seed: int
) -> None:
    game = trialea.make_game("no_dice", players, target=target, throws=throws, intermediates=reading)
    follow(game, players, seed, first=seed % players)


def test_no_dice_observation_says_what_is_on_the_table() -> None:
    """Read each entry by its place in the index table, without the kernel."""
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
def test_no_dice_refuses_options_outside_their_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        trialea.make_game("no_dice", 2, **wrong)
