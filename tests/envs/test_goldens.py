"""Tests that recorded games replay exactly. A change in rules, dice, seeding, names or text shows as a diff.

A file in `goldens/` starts with the settings of a game (`game: no_dice` and so on), up to an empty line. The test
plays the game again and compares the rest. Every registered game needs a short recording, and one more for its
variants. For a new recording, write the settings and an empty line. With `TRIALEA_UPDATE_GOLDENS=1` in the
environment the tests write the rest. Do the same after an intended change.
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
    """Return the settings at the top of a recording."""
    head, _, _ = path.read_text(encoding="utf-8").partition("\n\n")
    return dict(line.split(": ", 1) for line in head.splitlines() if not line.startswith("#"))


def replay(recipe: dict[str, str]) -> str:
    """Return the whole text of a recording, settings first."""
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
    """Return a test parameter. Games with only random agents also run without the JIT, as they are fast."""
    random_only = set(recipe_of(path)["agents"].split(", ")) == {"random"}
    return pytest.param(path, id=path.stem, marks=[pytest.mark.nojit] if random_only else [])


@pytest.mark.parametrize("path", [parameter(path) for path in FILES])
def test_recorded_game_replays_exactly(path: Path) -> None:
    now = replay(recipe_of(path))
    if os.environ.get("TRIALEA_UPDATE_GOLDENS") == "1":
        path.write_text(now, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == now, f"{path.name} differs; see the top of {Path(__file__).name}"


@pytest.mark.parametrize("name", GAMES)
def test_every_game_has_a_recording(name: str) -> None:
    assert any(recipe_of(path)["game"] == name for path in FILES), f"{name} has no playthrough in tests/goldens/"


def test_every_recording_is_of_a_registered_game() -> None:
    assert FILES
    assert all(recipe_of(path)["game"] in GAMES for path in FILES)
