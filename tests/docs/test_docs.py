"""Tests that every game has a page in the docs, and that the page's tables match the code.

In the tables `{a; b}` is expanded into its parts; the last of several choices varies fastest. A name of an action
can contain `*`, which matches anything, because some names depend on the position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from fnmatch import fnmatchcase

import numpy as np
import pytest

import trialea
from tests.docs.pages import DOCS, indexed, table
from tests.helpers import ALL_ACTIONS, game_of
from trialea.envs.game import Game
from trialea.envs.registry import GAMES


def named_actions(game: Game, decisions: int) -> Iterator[tuple[int, str]]:
    """Yield the legal actions in about `decisions` decisions of random games, with their names."""
    agent = trialea.make_agent("random", game)
    states = game.start(range(8))
    for _ in range(decisions // len(states)):
        for state, mask in zip(states, game.masks(states), strict=True):
            for action in np.flatnonzero(mask).tolist():
                yield action, game.action_name(state, action)
        game.step(states, agent.act(states))
        over = np.flatnonzero(states.over)
        game.restart(states, over, states.seed[over] + np.uint64(len(states)), np.zeros(len(over), np.int64))


@pytest.mark.parametrize("name", GAMES)
def test_observation_table_matches_the_game(name: str) -> None:
    game = game_of(name)
    assert list(indexed(table(name, "Observation")).values()) == game.observation_names()


@pytest.mark.parametrize("name", GAMES)
def test_action_table_matches_the_game(name: str) -> None:
    assert_names_are_documented(game_of(name, **ALL_ACTIONS[name]), table(name, "Actions"))


def test_action_table_of_last_die_with_steer_matches_the_game() -> None:
    assert_names_are_documented(game_of("last_die", steer=True), table("last_die", "Actions", 1))


def assert_names_are_documented(game: Game, rows: list[list[str]]) -> None:
    """Check that every action that occurs matches exactly its row, and that every row occurs."""
    documented = indexed(rows)
    assert len(documented) == game.num_actions
    met = set()
    for action, called in set(named_actions(game, 4000)):
        met.add(documented[action])
        matching = {pattern for pattern in set(documented.values()) if fnmatchcase(called, pattern)}
        assert matching == {documented[action]}, f"action {action} is called {called!r}"
    assert met == set(documented.values())


@pytest.mark.parametrize("name", GAMES)
def test_options_table_matches_the_game(name: str) -> None:
    options = game_of(name).options
    documented = {row[0]: row[1].strip("`") for row in table(name, "Options")}
    assert documented == {field.name: repr(field.default) for field in fields(options)}


@pytest.mark.parametrize("name", GAMES)
def test_page_gives_the_score_scale_and_number_of_actions(name: str) -> None:
    game = game_of(name)
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    scale = f"{game.score_scale:g}".replace("-", "−")
    assert re.search(rf'`reward="score"`: {re.escape(scale)}\b', page)
    assert f"`Discrete({game.num_actions})`" in page


def test_no_dice_page_has_the_table_of_faces() -> None:
    from trialea.envs.no_dice.rules import FACES

    page = (DOCS / "no_dice.md").read_text(encoding="utf-8")
    for die, faces in enumerate(FACES):
        assert f"| {die} | {' | '.join(map(str, faces))} |\n" in page


def test_pictures_shown_in_pages_exist() -> None:
    for page in DOCS.glob("**/*.md"):
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).is_file(), f"{page.name} shows {target}"
