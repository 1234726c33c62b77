"""Tests of the text and picture of every game, during play and at the end."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import trialea
from tests.helpers import game_of, player_counts
from tests.interfaces import aec
from trialea.envs.errors import DisplayError, MissingExtraError
from trialea.envs.game import Game, States
from trialea.envs.registry import GAMES
from trialea.envs.single import SingleAgentEnv


def some_counts(name: str) -> list[int]:
    """Return the smallest, the middle and the largest number of players."""
    counts = player_counts(name)
    return sorted({counts[0], counts[(len(counts) - 1) // 2], counts[-1]})


CASES = [(name, count) for name in GAMES for count in some_counts(name)]


def positions(game: Game, seed: int = 3, most: int = 12) -> list[States]:
    """Return the first positions of a random game, before and after each choice, and the end."""
    agent = trialea.make_agent("random", game)
    states = game.start([seed])
    found = []
    while not states[0].over:
        actions = agent.act(states)
        if len(found) < most:
            found += [states.copy(), game.choose(states, actions)]
        game.step(states, actions)
    return [*found, states]


@pytest.mark.parametrize(("name", "count"), CASES)
def test_text_shows_players_and_scores_within_80_columns(name: str, count: int) -> None:
    game = game_of(name, count)
    for states in positions(game):
        before = states.tobytes()
        text = game.text(states[0])
        assert states.tobytes() == before
        assert text == text.rstrip()
        assert "\t" not in text
        lines = text.splitlines()
        assert max(map(len, lines)) <= 80
        for seat in range(count):
            assert any(f"player_{seat}" in line and str(states[0].scores[seat]) in line for line in lines)


@pytest.mark.parametrize(("name", "count"), CASES)
def test_texts_of_different_positions_differ(name: str, count: int) -> None:
    """Choosing, throwing and ending all change the text."""
    game = game_of(name, count)
    texts = [game.text(states[0]) for states in positions(game)]
    assert len(set(texts)) > len(texts) * 2 / 3


@pytest.mark.parametrize(("name", "count"), CASES)
def test_pictures_keep_their_size_and_do_not_change_the_state(name: str, count: int) -> None:
    game = game_of(name, count)
    shapes, seen = set(), set()
    shown = positions(game, most=6)
    for states in shown:
        before = states.tobytes()
        picture = game.picture(states[0])
        assert states.tobytes() == before
        assert picture.dtype == np.uint8
        assert picture.flags.writeable
        assert len(np.unique(picture @ np.array([1, 256, 65536]))) > 20  # number of colours
        shapes.add(picture.shape)
        seen.add(picture.tobytes())
        assert np.array_equal(picture, game.picture(states[0]))
    assert len(shapes) == 1
    height, width, channels = shapes.pop()
    assert channels == 3
    assert 200 <= height <= 1200 and 300 <= width <= 1200
    assert len(seen) > len(shown) / 2


@pytest.mark.parametrize("name", GAMES)
def test_picture_without_pillow_raises_and_names_the_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    game = game_of(name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"trialea\[render\]"):
        game.require_pictures()
    with pytest.raises(MissingExtraError):
        game.picture(game.start([0])[0])


def test_no_dice_text_matches_a_full_example() -> None:
    game = trialea.make_game("no_dice", 3)
    states = game.start([0], first_player=1)
    states[0].dice[:] = (3, 0, 3, 1, 1)  # 5 0 ÷ ÷ −
    states[0].scores[:3] = (31, 12, 0)
    states[0].finished[0] = 1
    assert game.text(states[0]).splitlines() == [
        "┌───┐ ┌───┐ ┌───┐ ┌───┐ ┌───┐",
        "│ 5 │ │ 0 │ │ ÷ │ │ ÷ │ │ − │",
        "└─0─┘ └─1─┘ └─2─┘ └─3─┘ └─4─┘",
        "player_1 to move: throw 1 of 3, 2 left",
        "  player_0 31 / 30 ████████████████████ out",
        "▶ player_1 12 / 30 ████████············",
        "  player_2  0 / 30 ····················",
    ]
    waiting = game.choose(states, [0b10101 - 1])[0]
    assert game.text(waiting).splitlines()[1] == "│ ? │ │ 0 │ │ ? │ │ ÷ │ │ ? │"


def test_no_dice_picture_draws_each_operator_differently() -> None:
    """Operators are drawn as shapes, not taken from a font."""
    game = trialea.make_game("no_dice")
    states = game.start([0])
    pictures = set()
    for die, face in ((2, 1), (2, 3), (3, 1), (3, 4), (4, 1), (4, 4)):
        states[0].dice[:] = 0
        states[0].dice[die] = face
        pictures.add(game.picture(states[0]).tobytes())
    assert len(pictures) == 6


@pytest.mark.parametrize("name", GAMES)
def test_human_mode_without_a_display_names_the_remedy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame").display.quit()
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")
    monkeypatch.setenv("DISPLAY", ":no-such-display")
    for env in (SingleAgentEnv(name, render_mode="human"), aec(name, render_mode="human")):
        with pytest.raises(DisplayError, match="needs a display: .*rgb_array.*SDL_VIDEODRIVER=dummy"):
            env.reset(seed=0)
        env.close()
