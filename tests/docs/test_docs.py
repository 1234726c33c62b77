"""Tests that every game has a page in the docs, and that the page's tables match the code.

In the tables `{a; b}` is expanded into its parts; the last of several choices varies fastest. A name of an action
can contain `*`, which matches anything, because some names depend on the position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import trialea
from tests.helpers import ALL_ACTIONS, game_of
from trialea.envs.game import Game
from trialea.envs.registry import GAMES

DOCS = Path(__file__).resolve().parents[2] / "docs"


def table(name: str, section: str, number: int = 0) -> list[list[str]]:
    """Return the cells of a table in a section of the game's page, without its head."""
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    _, found, rest = page.partition(f"\n## {section}\n")
    assert found, f"{name}.md has no section {section}"
    tables = re.findall(r"^\|.*?\|\n\| --- .*?\|\n((?:\|.*\|\n)+)", rest.partition("\n## ")[0], re.MULTILINE)
    assert len(tables) > number, f"{name}.md: no table {number} in section {section}"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[number].splitlines()]


def expanded(name: str) -> list[str]:
    """Return all names that a name with choices stands for."""
    parts = re.split(r"\{(.*?)\}", name)
    choices = [part.split("; ") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


def indexed(rows: list[list[str]]) -> dict[int, str]:
    """Return the name of each index. The rows must cover 0, 1, 2, … in order, without gaps."""
    names: dict[int, str] = {}
    for index, name, *_ in rows:
        low, _, high = index.partition("–")
        numbers = range(int(low), int(high or low) + 1)
        assert numbers.start == len(names), f"row {index} should begin at {len(names)}"
        parts = expanded(name)
        if len(parts) == 1:
            parts *= len(numbers)
        assert len(parts) == len(numbers), f"row {index} names {len(parts)} entries"
        names.update(zip(numbers, parts, strict=True))
    return names


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
