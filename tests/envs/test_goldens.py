"""Whole games, written down: a change in rules, dice, seeding, names or text is a readable difference.

A file in `goldens/` begins with the recipe of a game (`game: no_dice` and so on), up to an empty line. The test plays
the game again and compares the rest. Every registered game needs a short one, and one more for its variants. For a new
one write the recipe and an empty line. With `TRIALEA_UPDATE_GOLDENS=1` in the environment the tests write the rest. Do
the same after an intended change.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import trialea
from trialea.envs.registry import GAMES

FOLDER = Path(__file__).parents[1] / "goldens"
FILES = sorted(FOLDER.glob("*.txt"))


def recipe_of(path: Path) -> dict[str, str]:
    head, _, _ = path.read_text(encoding="utf-8").partition("\n\n")
    return dict(line.split(": ", 1) for line in head.splitlines() if not line.startswith("#"))


def replay(recipe: dict[str, str]) -> str:
    """Return the whole text of a playthrough, recipe first."""
    game = trialea.make_game(recipe["game"], int(recipe["players"]), **json.loads(recipe["options"]))
    seats = [trialea.make_agent(name, game, seat) for seat, name in enumerate(recipe["agents"].split(", "))]
    states = game.start([int(recipe["seed"])], int(recipe["first_player"]))
    state = states[0]
    parts = ["\n".join(f"{key}: {value}" for key, value in recipe.items())]
    while not state.over:
        legal = int(np.count_nonzero(game.masks(states)))
        action = int(seats[state.mover].act(states)[0])
        shown = [
            f"--- decision {state.decisions}",
            game.text(state),
            f"legal actions: {legal}",
            f"player_{state.mover} ({seats[state.mover].name}): {action}, {game.action_name(state, action)}",
        ]
        rewards = game.step(states, [action])[0]
        parts.append("\n".join([*shown, "rewards: " + ", ".join(f"{reward:+g}" for reward in rewards)]))
    parts.append(f"--- end, after {state.decisions} decisions\n{game.text(state)}")
    return "\n\n".join(parts) + "\n"


def parameter(path: Path) -> object:
    """Mark random play, which is quick enough to be tested without the JIT too."""
    random_only = set(recipe_of(path)["agents"].split(", ")) == {"random"}
    return pytest.param(path, id=path.stem, marks=[pytest.mark.nojit] if random_only else [])


@pytest.mark.parametrize("path", [parameter(path) for path in FILES])
def test_playthrough_is_as_written(path: Path) -> None:
    now = replay(recipe_of(path))
    if os.environ.get("TRIALEA_UPDATE_GOLDENS") == "1":
        path.write_text(now, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == now, f"{path.name} differs; see the top of {Path(__file__).name}"


@pytest.mark.parametrize("name", GAMES)
def test_every_game_has_a_playthrough(name: str) -> None:
    assert any(recipe_of(path)["game"] == name for path in FILES), f"{name} has no playthrough in tests/goldens/"


def test_every_playthrough_is_of_a_registered_game() -> None:
    assert FILES
    assert all(recipe_of(path)["game"] in GAMES for path in FILES)
