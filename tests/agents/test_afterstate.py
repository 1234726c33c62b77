"""Tests of afterstate agents: features, networks, exactly played turns, and model files."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.agents.afterstates import SMALL, every_game
from tests.helpers import game_of, positions, rotated
from tests.poker_figures import look_again
from trialea import OptionError, make_agent
from trialea.agents.afterstate import (
    AfterstateAgent,
    Network,
    Values,
    make_afterstates,
    make_network,
    save_network,
)
from trialea.agents.model_file import ModelFileError
from trialea.agents.no_dice.afterstates import Afterstates as NoDiceAfterstates
from trialea.agents.no_dice.solver import SolverAgent
from trialea.agents.no_dice.turn import NUM_SCORES
from trialea.envs.game import Game, States
from trialea.envs.poker_figures.rules import HANDS, NUM_ROWS, PASS, WRITE


def small(name: str, players: int = 2) -> Game:
    """Return a small game."""
    return game_of(name, players, **SMALL[name])


def linear_network(game: Game, seed: int = 0) -> Network:
    """Return a network with logits linear in its inputs, drawn at random near the game's own estimate."""
    network = make_network(game, (4,)).requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    weight = network.first.weight
    weight[: network.players] += 0.1 * torch.randn(weight[: network.players].shape, generator=generator)
    return network


# Features and networks -------------------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("players", [2, 3])
def test_features_are_seen_from_the_player_to_move(name: str, players: int) -> None:
    game = small(name, players)
    states = positions(game, 60, seed=1)
    afterstates = make_afterstates(game)
    features = afterstates.features(states)
    assert features.shape == (60, afterstates.num_features) and features.dtype == np.float32
    assert np.isfinite(features).all()
    for by in range(1, players):
        assert (afterstates.features(rotated(states, by)) == features).all()


@every_game
def test_features_do_not_depend_on_the_dice_on_the_table(name: str) -> None:
    game = small(name)
    states = positions(game, 30, seed=2)
    features = make_afterstates(game).features(states)
    states.dice[:, :5], states.throws = 1, 2
    assert (make_afterstates(game).features(states) == features).all()


def test_poker_figures_features_have_the_documented_places() -> None:
    game = game_of("poker_figures")
    states = game.start([0])
    states.sheet[0, 1, 0, :3] = 7, 6, 10  # three cells in the other player's row of aces
    look_again(states, game.tables)
    features = make_afterstates(game).features(states)[0]
    first = 2 + 5 + 1 + 16
    mover, other = features[first : first + 64], features[first + 64 :]
    assert len(other) == 64
    assert mover[:6].tolist() == [1, 0, 0, 0, 0, 0]
    assert other[:6].tolist() == [0, 0, 0, 1, 0, 0]
    assert other[48] == np.float32(6 * 23 / 100)
    assert features[0] == 0 < features[1]  # the reference agent's estimates, relative to the mover
    assert features[2:7].tolist() == [1, 1, 1, 1, 1]  # sixty turns are left


def test_no_dice_features_interpolate_between_points() -> None:
    game = game_of("no_dice", 3, target=80)
    afterstates = NoDiceAfterstates(game)
    features = afterstates.describe(np.array([[3, 0, 80]]))[0]
    assert features[:3].tolist() == [0, 0, -10]
    assert features[3:6].tolist() == [1, 1, 0]
    points = features[6:].reshape(3, 41)
    assert points[0, 1] == points[0, 2] == 0.5 and points[0].sum() == 1
    assert points[1, 0] == points[2, 40] == 1


def test_untrained_network_plays_like_the_reference_agent() -> None:
    """The untrained network returns the game's own estimate, which in Poker Figures is the reference agent's."""
    game = game_of("poker_figures")
    states = positions(game, 100, seed=3)
    agent = AfterstateAgent(game, make_network(game, (4,)))
    assert (
        agent.act(states) == make_agent("reference", game).act(states)
    ).mean() > 0.98  # float32 breaks some ties differently


def test_log_odds_derivatives_match_finite_differences() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = make_network(small("poker_figures"), (8, 4))
        torch.nn.init.normal_(network.rest[-1].weight)
    rng = np.random.default_rng(0)
    features = rng.random((5, network.inputs)).astype(np.float32)
    columns, step = np.array([1, 7, 30]), 1e-3
    odds, derivatives = Values(network).log_odds(features, 1, columns)
    shares = Values(network).shares(features)
    assert np.allclose(odds, np.log(shares[:, 1] / shares[:, 0]), atol=1e-5)
    for place, column in enumerate(columns):
        moved = features.copy()
        moved[:, column] += step
        change = Values(network).log_odds(moved, 1, columns)[0] - odds
        assert np.allclose(change / step, derivatives[:, place], atol=0.02)


def test_game_without_afterstates_names_the_games_that_have_them() -> None:
    with pytest.raises(
        OptionError, match="last_die has no afterstate agent; games that have one: no_dice, poker_figures"
    ):
        make_afterstates(game_of("last_die"))


# Turns -----------------------------------------------------------------------------------------------------------


class Brute:
    """A Poker Figures turn by plain recursion, which asks the network about every position after it."""

    def __init__(self, game: Game, state: States, network: Network) -> None:
        self.game, self.state = game, state
        self.seat = int(state.mover[0])
        self.values, self.afterstates = Values(network), make_afterstates(game)
        self.number = {tuple(hand): place for place, hand in enumerate(HANDS.tolist())}
        self.after = cache(self._after)
        self.lying = cache(self._lying)
        self.keeping = cache(self._keeping)

    def _after(self, written: tuple[tuple[int, int], ...]) -> tuple[bool, float, States]:
        """Return whether the game is over, the position's value to the mover after its turn, and the position."""
        after = self.state.copy()
        for row, points in written:
            after.sheet[0, self.seat, row, (after.sheet[0, self.seat, row] != 0).sum()] = points
        look_again(after, self.game.tables)
        scores = after.scores[0, :2].tolist()
        rows = bin(int(after.closed[0])).count("1")
        over = rows >= self.game.tables.to_close
        after.turns[0, self.seat] += 1
        after.mover = 1 - self.seat
        if over or (after.turns[0, :2] >= self.game.options.max_turns).all():
            mine, other = scores[self.seat], scores[1 - self.seat]
            return over, (mine > other) + 0.5 * (mine == other), after
        return over, float(self.values.shares(self.afterstates.features(after))[0, 1]), after

    def uses(self, hand: tuple[int, ...], fresh: bool, to_come: int, written: Any) -> dict[int, float]:
        """Return the value of each result that may be written."""
        over, _, after = self.after(written)
        found = {}
        for row in range(NUM_ROWS):
            points = int(self.game.tables.points[int(fresh), self.number[hand], row])
            if not over and points >= after.asks[0, self.seat, row]:
                more = (*written, (row, points))
                ends = to_come == 0 or self.after(more)[0]
                found[row] = self.after(more)[1] if ends else self.keeping((), True, to_come, more)
        return found

    def _lying(self, hand: tuple[int, ...], fresh: bool, to_come: int, written: Any) -> float:
        """Return the best value with these dice on the table."""
        stay = self.after(written)[1] if to_come == 0 else max(self.rethrows(hand, to_come, written).values())
        return max([stay, *self.uses(hand, fresh, to_come, written).values()])

    def rethrows(self, hand: tuple[int, ...], to_come: int, written: Any) -> dict[int, float]:
        """Return the value of each reroll."""
        found = {}
        for action in range(31):
            kept = tuple(face for place, face in enumerate(hand) if not action + 1 >> place & 1)
            found[action] = self.keeping(kept, not kept, to_come, written)
        return found

    def _keeping(self, kept: tuple[int, ...], fresh: bool, to_come: int, written: Any) -> float:
        """Return the value of throwing the other dice."""
        if len(kept) == 5:
            return self.lying(kept, fresh, to_come - 1, written)
        more = (tuple(sorted((*kept, face))) for face in range(6))
        return sum(self.keeping(hand, fresh, to_come, written) for hand in more) / 6


def beginnings(game: Game) -> States:
    """Return positions at the first throw of a turn."""
    states = positions(game, 300, seed=5, most_decisions=90)
    return states[(states.throws == 1) & (states.cells[:, :2].sum(axis=(1, 2)) > 0)].view(np.recarray)


@pytest.mark.parametrize(
    ("options", "close"),
    [
        ({"rows": "AD", "columns": 3}, 0.01),
        ({"rows": "DS", "columns": 2, "score_open_rows": True}, 0.01),
        (
            {"rows": "XF", "columns": 2, "max_turns": 8},
            1.0,
        ),  # a single cell decides, so the estimate at the start of the turn is rough
    ],
)
def test_turn_is_played_as_plain_recursion_says(options: dict[str, Any], close: float) -> None:
    """The network is linear in the points, as the turn's solution assumes. Checks all three throws."""
    game = game_of("poker_figures", 2, **options)
    network = linear_network(game)
    player = make_afterstates(game).player(Values(network))
    states = beginnings(game)[:1]
    for k in range(len(states)):
        state = states[k : k + 1].view(np.recarray)
        brute = Brute(game, state, network)
        for throws in (1, 2, 3):
            state.throws = throws
            hand, fresh = tuple(state.dice[0].tolist()), bool(state.fresh[0])
            actions, begun = player.decide(state)
            uses = brute.uses(hand, fresh, 3 - throws, ())
            worths = {WRITE + row: worth for row, worth in uses.items()}
            worths |= {PASS: brute.after(())[1]} if throws == 3 else brute.rethrows(hand, 3 - throws, ())
            assert worths[int(actions[0])] == pytest.approx(max(worths.values()), abs=1e-5)
            if throws == 1:
                assert begun[0] == pytest.approx(brute.keeping((), True, 3, ()), abs=close)
            else:
                assert np.isnan(begun[0])


class Known(Values):
    """Exact values of two-player No Dice in place of a network."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = table

    def shares(self, features: np.ndarray) -> np.ndarray:
        target = len(self.table)
        totals = features[:, 4:].reshape(-1, 2, target + 1).argmax(axis=2)
        mine = self.table[totals[:, 0], totals[:, 1]]
        return np.stack([mine, 1.0 - mine], axis=1)


def test_no_dice_is_played_exactly_with_exact_values() -> None:
    game = game_of("no_dice", target=12)
    solver = SolverAgent(game)
    table = np.array([[solver.solution.value(mine, other) for other in range(12)] for mine in range(12)])
    player = NoDiceAfterstates(game).player(Known(table))
    states = positions(game, 300, seed=1)
    actions, begun = player.decide(states)
    assert (actions == solver.act(states)).all()
    first = states.throws == 1
    totals = NoDiceAfterstates(game).totals(states)[first]
    assert np.allclose(begun[first], table[totals[:, 0], totals[:, 1]], atol=1e-12)
    assert np.isnan(begun[~first]).all()


def test_no_dice_payoffs_are_zero_for_an_eliminated_mover() -> None:
    game = game_of("no_dice", 3, target=10)
    values = Values(linear_network(game))
    payoffs = NoDiceAfterstates(game).payoffs(np.array([[4, 10, 2], [9, 3, 3]]), values)
    assert payoffs.shape == (2, NUM_SCORES)
    assert (payoffs[0, 6:] == 0).all() and (payoffs[0, :6] > 0).all()
    assert (payoffs[1, 1:] == 0).all()
    after = NoDiceAfterstates(game).describe(
        np.array([[2, 4 + 3, 10]])
    )  # the player after the eliminated one moves next
    assert payoffs[0, 3] == pytest.approx(values.shares(after)[0, 1], abs=1e-6)


@every_game
@pytest.mark.parametrize("players", [2, 4])
def test_agents_always_choose_legal_actions(name: str, players: int) -> None:
    game = small(name, players)
    agent = pickle.loads(pickle.dumps(AfterstateAgent(game, linear_network(game))))
    states = positions(game, 150, seed=4)
    actions = agent.act(states)
    assert game.masks(states)[np.arange(len(states)), actions].all()


# Files -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return the path of a saved network."""
    game = small("no_dice")
    save_network(make_network(game, (8, 4)), tmp_path / "mine.zip", game)
    return tmp_path / "mine.zip"


def test_saved_network_loads_unchanged(tmp_path: Path) -> None:
    game = small("poker_figures")
    network = linear_network(game)
    save_network(network, tmp_path / "mine.zip", game)
    agent = make_agent(str(tmp_path / "mine.zip"), game)
    assert agent.name == "mine"
    states = positions(game, 50, seed=6)
    assert (agent.act(states) == AfterstateAgent(game, network).act(states)).all()


def test_model_for_another_game_raises_and_names_both(saved: Path) -> None:
    with pytest.raises(ModelFileError, match="no_dice with 2 players .* not no_dice with 3 players"):
        make_agent(str(saved), small("no_dice", 3))
    with pytest.raises(ModelFileError, match="not poker_figures"):
        make_agent(str(saved), small("poker_figures"))


class Evil:
    """An object whose unpickling creates a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("evil"),)


@pytest.mark.parametrize(
    "damage", ["truncated", "flipped", "not a zip", "no weights", "other shapes", "no facts", "code", "no numbers"]
)
def test_damaged_model_file_raises_and_runs_no_code(
    damage: str, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = bytearray(saved.read_bytes())
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if damage == "truncated":
        saved.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[len(content) // 3] ^= 255
        saved.write_bytes(content)
    elif damage == "not a zip":
        saved.write_text("weights")
    else:
        facts = json.loads(members["trialea.json"])
        if damage == "no weights":
            del members["weights.pth"]
        elif damage == "other shapes":
            members["trialea.json"] = json.dumps({**facts, "hidden": [9, 4]}).encode()
        elif damage == "no facts":
            members["trialea.json"] = json.dumps({"kind": "afterstate"}).encode()
        elif damage == "no numbers":
            weights, content = torch.load(io.BytesIO(members["weights.pth"]), weights_only=True), io.BytesIO()
            torch.save({name: weight * np.nan for name, weight in weights.items()}, content)
            members["weights.pth"] = content.getvalue()
        else:
            members["weights.pth"] = pickle.dumps(Evil())
        with zipfile.ZipFile(saved, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    with pytest.raises(ModelFileError, match="mine.zip"):
        make_agent(str(saved), small("no_dice"))
    assert not (tmp_path / "evil").exists()
