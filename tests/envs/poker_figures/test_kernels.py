"""Tests of Poker Figures' kernels against the slow oracle: every hand, every reroll, and whole games."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
import pytest

import trialea
from tests.helpers import JIT_OFF, game_of, legal_of, positions, rotated
from tests.oracle import poker_figures as oracle
from tests.poker_figures import Script, falling, let_fall, look_again, shown
from trialea import OptionError
from trialea.envs.game import Game
from trialea.envs.poker_figures import rules
from trialea.envs.poker_figures.rules import ASIDE, FACES, NUM_REROLLS, PASS, ROWS, WRITE

HANDS = ["".join(FACES[face] for face in hand) for hand in rules.HANDS.tolist()]
VARIANTS: list[dict[str, Any]] = [
    {},
    {"poker_row": True},
    {"sum_throws": True},
    {"poker_row": True, "sum_throws": True, "score_open_rows": True, "full_value": 33},
    {"rows": "AD", "columns": 2, "score_open_rows": True},
    {"rows": "RXSF", "columns": 3, "poker_row": True, "sum_throws": True},
]


def decision_of(state: Any, action: int) -> oracle.Decision:
    """= | Return the oracle's name for an action."""
    if action < NUM_REROLLS:
        dice = shown(state)
        return "throw", "".join(face for place, face in enumerate(dice) if (action + 1) >> place & 1)
    if action == PASS:
        return "pass", ""
    return ("write", ROWS[action - WRITE]) if action < ASIDE else ("aside", ROWS[action - ASIDE])


def decisions(game: Game, states: Any) -> list[oracle.Decision]:
    """= | Return the actions that the mask allows, in the oracle's form."""
    return [decision_of(states[0], action) for action in legal_of(game.masks(states)[0])]


# --- Every hand ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("full_value", [20, 1, 100])
def test_points_of_every_hand_in_every_row_match_the_oracle(full_value: int) -> None:
    table = rules.tables(rules.Options(full_value=full_value)).points
    assert table.shape == (2, 252, 8)
    for (de_mao, hand, row), points in np.ndenumerate(table):
        assert points == (oracle.count(HANDS[hand], ROWS[row], bool(de_mao), full_value) or 0)


def test_writable_rows_match_the_oracle_for_every_hand_and_column() -> None:
    """Checks hands both with and without de mão."""
    game, other = game_of("poker_figures", poker_row=True), oracle.Game(oracle.Options(poker_row=True), 2)
    states = game.start(np.zeros(252 * 2, np.int64))
    states.dice = np.repeat(rules.HANDS, 2, axis=0)
    states.fresh = np.tile([0, 1], 252)
    for column in range(5):
        states.sheet[:, 0, :, :column] = 7
        look_again(states, game.tables)
        other.sheets[0] = {row: [7] * column for row in ROWS}
        for state, mask in zip(states, game.masks(states), strict=True):
            other.dice, other.de_mao = shown(state), bool(state.fresh)
            assert mask[WRITE:ASIDE].tolist() == [other.may_write(row) for row in ROWS]


def test_state_does_not_depend_on_the_order_of_the_dice() -> None:
    """All 7776 throws give sorted dice, and equal hands give equal states."""
    game = game_of("poker_figures")
    throws = np.array(list(product(range(6), repeat=5)))
    states = np.repeat(game.start([0]), len(throws)).view(np.recarray)
    states.pending, states.throws = 31, 0
    game.loops.throw(states, np.pad(throws, ((0, 0), (0, 3))), game.tables)
    assert (states.dice == np.sort(throws, axis=1)).all()
    assert (game.tables.hand_of[throws @ 6 ** np.arange(5)] < 252).all()
    assert (rules.HANDS[game.tables.hand_of[throws @ 6 ** np.arange(5)]] == np.sort(throws, axis=1)).all()
    assert len({states[i].tobytes() for i in range(len(states))}) == len(np.unique(states.dice, axis=0))


def test_kept_and_rerolled_dice_are_sorted_together() -> None:
    script = Script()
    script.throw("VX9AD")
    assert shown(script.state) == "ADVX9"
    assert script.state.fresh == 1
    script.play(0b01010 - 1)
    assert falling(script.state) == "DX"
    script.throw("R9")
    assert shown(script.state) == "ARV99"
    assert (script.state.fresh, script.state.throws) == (0, 2)


# --- Rerolls ---------------------------------------------------------------------------------------------


def test_each_different_set_of_dice_can_be_rerolled_in_one_way() -> None:
    """For every hand, the offered rerolls keep each multiset of at most four of its dice exactly once."""
    table = rules.tables(rules.Options()).rerolls
    for hand, offered in zip(rules.HANDS.tolist(), table, strict=True):
        kept = [
            tuple(hand[place] for place in range(5) if not (action + 1) >> place & 1) for action in legal_of(offered)
        ]
        assert len(set(kept)) == len(kept)
        assert set(kept) == {chosen for size in range(5) for chosen in combinations(hand, size)}


def test_listed_rerolls_match_the_mask() -> None:
    tables = rules.tables(rules.Options())
    for hand in range(252):
        listed = tables.choices[tables.first[hand] : tables.first[hand + 1]]
        assert listed.tolist() == legal_of(tables.rerolls[hand])


# --- Whole games -----------------------------------------------------------------------------------------


def play_side_by_side(players: int, options: dict[str, Any], seed: int, most: int) -> oracle.Game:
    """Play one game with the kernels and the oracle on the same dice, and compare both at each decision.

    Most actions write, so that rows get closed. Return the oracle's game after `most` decisions or at its end.
    """
    game = game_of("poker_figures", players, **options)
    random = Random(seed)
    first = seed % players
    states = game.start([seed], first)
    other = oracle.Game(oracle.Options(**options), players, first)
    other.fall(shown(states[0]))
    for _ in range(most):
        state = states[0]
        assert (shown(state), bool(state.fresh)) == (other.dice, other.de_mao)
        assert (state.mover, state.throws, state.aside) == (other.seat, other.throws, other.aside)
        assert (ROWS[state.bound - 1] if state.bound else "") == other.bound
        words = decisions(game, states)
        assert len(set(words)) == len(words)
        assert set(words) == other.legal()
        actions = legal_of(game.masks(states)[0])
        bold = [action for action in actions if WRITE <= action < PASS]
        action = random.choice(bold if bold and random.random() < 0.7 else actions)
        decision = decision_of(state, action)
        rethrown = falling(game.choose(states, [action])[0])
        game.step(states, [action])
        other.decide(decision)
        compare_sheets(game, states[0], other)
        if other.over:
            break
        # The faces that fell are those on the table now, without the dice that stayed.
        new = shown(states[0])
        for face in other.dice:
            new = new.replace(face, "", 1)
        assert len(new) == len(rethrown)
        other.fall(new)
    return other


def compare_sheets(game: Game, state: Any, other: oracle.Game) -> None:
    """Check that sheets, closed rows, scores, turns and the end agree."""
    for seat in range(game.num_players):
        for row, letter in enumerate(ROWS):
            cells = other.sheets[seat].get(letter, [])
            assert state.sheet[seat][row].tolist() == cells + [0] * (5 - len(cells))
            assert (state.cells[seat][row], state.sums[seat][row]) == (len(cells), sum(cells))
        assert state.scores[seat] == other.score(seat)
    played = [ROWS.index(letter) for letter in other.rows]
    for row in played:
        assert bool(state.closed >> row & 1) == other.is_closed(ROWS[row])
        assert bool(state.shared >> row & 1) == all(sheet[ROWS[row]] for sheet in other.sheets)
    assert (bool(state.over), bool(state.truncated)) == (other.over, other.truncated)
    assert state.share[: game.num_players].tolist() == pytest.approx([float(share) for share in other.shares()])
    if not other.over:
        assert state.turns[: game.num_players].tolist() == other.turns


@pytest.mark.parametrize("players", [pytest.param(2, marks=pytest.mark.nojit), 3, 4, 5, 6])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_whole_games_match_the_oracle(players: int, options: dict[str, Any]) -> None:
    table = {"max_turns": 1000, "columns": 5 if players == 2 else 2, **options}
    for seed in range(1 if JIT_OFF else 2):
        played = play_side_by_side(players, table, seed, 40 if JIT_OFF else 10_000)
        assert JIT_OFF or (played.over and not played.truncated)


@pytest.mark.parametrize("options", [VARIANTS[0], VARIANTS[3]], ids=str)
def test_truncated_games_match_the_oracle(options: dict[str, Any]) -> None:
    for seed in range(4):
        assert play_side_by_side(2 + seed, {**options, "max_turns": 2 + seed}, seed, 10_000).truncated


@pytest.mark.parametrize("players", [2, 3, 6])
def test_games_rotate_with_the_seats(players: int) -> None:
    """If all players move on by one seat and get the same dice, the states rotate by one seat."""
    game = game_of("poker_figures", players, sum_throws=True, score_open_rows=True)
    random = Random(players)
    for i in range(20):
        states = positions(game, 1, seed=100 * players + i)
        turned = rotated(states, 1)
        for _ in range(20):
            if states[0].over:
                break
            action = random.choice(legal_of(game.masks(states)[0]))
            states, turned = game.choose(states, [action]), game.choose(turned, [action])
            if states[0].pending:
                faces = "".join(random.choices(FACES, k=int(states[0].pending).bit_count()))
                let_fall(game, states, faces)
                let_fall(game, turned, faces)
            assert rotated(states, 1).tobytes() == turned.tobytes()


def test_derived_fields_match_a_recomputation_from_the_sheet() -> None:
    """During play the derived fields are updated step by step."""
    for options in VARIANTS:
        game = game_of("poker_figures", 3, **options)
        states = positions(game, 40, seed=9, most_decisions=100)
        again = states.copy()
        for field in ("cells", "sums", "asks", "scores"):
            again[field][:, :3] = 77
        for field in ("closed", "shared"):
            again[field] = 77
        look_again(again, game.tables)
        assert again.tobytes() == states.tobytes()


# --- Observations ----------------------------------------------------------------------------------------


@cache
def names_of(players: int) -> list[str]:
    """Return the names of the observation's entries."""
    return game_of("poker_figures", players).observation_names()


def test_observation_matches_its_entry_names() -> None:
    script = Script(3, sum_throws=True, rows="RDVXSF")
    script.score_in("D", "DDDDD", "DDD9X", "DD99A", "DDDDA", "DDDDA")
    script.score_in("V", "VVVV9", "VVVVA")
    script.throw("RRRR9")
    script.set_aside("R")
    script.throw("RR99X")
    seen = dict(zip(names_of(3), script.game.observe(script.states)[0].tolist(), strict=True))
    faces = ["R", "R", "X", "9", "9"]
    for place, face in enumerate(faces):
        assert [seen[f"die {place} shows {other}"] for other in FACES] == [float(other == face) for other in FACES]
    assert [seen[f"throws left: {left}"] for left in range(3)] == [0, 1, 0]
    assert seen["de mão"] == 1
    assert seen["points set aside"] == pytest.approx(9 / 60)
    assert seen["bound to kings"] == 1 and seen["bound to aces"] == 0
    assert seen["kings: the dice count"] == pytest.approx((9 + 6) / 60)
    assert seen["kings: may be written"] == 1
    assert seen["kings: worth of writing"] == pytest.approx(15 * 5 / 120)
    assert seen["tens: the dice count"] == pytest.approx(4 / 60)
    assert seen["tens: may be written"] == seen["tens: worth of writing"] == 0
    assert seen["kings: observer's next cell asks"] == pytest.approx(7 / 8)
    assert seen["queens: observer's next cell asks"] == 0
    assert seen["fulls: observer's next cell asks"] == pytest.approx(1 / 8)
    assert [seen[f"{row}: played"] for row in ("aces", "fulls", "pokers")] == [0, 1, 0]
    assert [seen[f"{row}: closed"] for row in ("queens", "jacks")] == [1, 0]
    assert seen["queens: everybody has a cell"] == 0
    queens, jacks = 20 + 7 + 6 + 8 + 8, 9 + 8
    who = "player 1 after the observer, "
    assert seen[who + "queens: cells / columns"] == 1
    assert seen[who + "queens: sum × multiplier"] == pytest.approx(4 * queens / 600)
    assert [seen[who + f"{row}: opened"] for row in ("queens", "jacks")] == [1, 0]
    assert seen["player 1 after the observer: total"] == pytest.approx(2 * 4 * queens / 2000)
    who = "player 2 after the observer, "
    assert seen[who + "jacks: cells / columns"] == pytest.approx(2 / 5)
    assert seen[who + "jacks: sum × multiplier"] == pytest.approx(3 * jacks / 600)
    assert seen["player 2 after the observer: total"] == 0
    assert [seen[f"{whose}: to move"] for whose in ("observer", "player 1 after the observer")] == [1, 0]


def test_observation_size_depends_only_on_the_number_of_players() -> None:
    for players in range(2, 7):
        sizes = {game_of("poker_figures", players, **options).observation_size for options in VARIANTS}
        assert sizes == {97 + 26 * players}


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_observation_of_unplayed_rows_is_zero(options: dict[str, Any]) -> None:
    game = game_of("poker_figures", 2, **options)
    observations = game.observe(positions(game, 200, seed=4))
    assert 0 <= observations.min() <= observations.max() <= 1
    for place, name in enumerate(game.observation_names()):
        for row in range(8):
            if f"{trialea.envs.poker_figures.names.ROW_NAMES[row]}:" in name and not game.tables.in_play >> row & 1:
                assert not observations[:, place].any(), name


# --- Options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"poker_row": 1}, "poker_row must be True or False"),
        ({"sum_throws": "yes"}, "sum_throws must be True or False"),
        ({"score_open_rows": None}, "score_open_rows must be True or False"),
        ({"full_value": 0}, "full_value must be a whole number from 1 to 100"),
        ({"full_value": 101}, "full_value"),
        ({"max_turns": 0}, "max_turns must be a whole number from 1 to 1000"),
        ({"max_turns": 1001}, "max_turns"),
        ({"columns": 6}, "columns must be a whole number from 1 to 5"),
        ({"rows": "A"}, "at least two different letters"),
        ({"rows": "DA"}, "in this order"),
        ({"rows": "AAD"}, "different"),
        ({"rows": "ADP"}, "poker_row=True"),
        ({"rows": "ad"}, "rows must be"),
        ({"rows": ""}, "rows must be"),
        ({"rows": ["A", "D"]}, "rows must be"),
    ],
    ids=str,
)
def test_wrong_options_raise_and_name_the_valid_ones(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(OptionError, match=match):
        trialea.make_game("poker_figures", 2, **wrong)


def test_options_are_converted_to_plain_python_values() -> None:
    options = rules.Options(poker_row=np.bool_(True), full_value=np.int64(30))
    assert options == replace(rules.Options(), poker_row=True, full_value=30)
    assert [type(getattr(options, field.name)) for field in fields(options)] == [bool, bool, int, bool, int, str, int]
