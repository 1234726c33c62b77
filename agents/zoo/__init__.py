"""Trained agents that come with the package: `zoo:NAME` wherever an agent is named.

Each is a model file in the folder of its game, with only what it takes to play, and beside it a JSON file that says how
it was trained and what was measured of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trialea.envs.errors import UnknownNameError
from trialea.envs.registry import get_spec

PREFIX = "zoo:"
FOLDER = Path(__file__).parent


def names(game: str) -> list[str]:
    """The agents for the game of this name, each as `zoo:NAME`; none where there are none.

    Raises:
        UnknownNameError: there is no such game.
    """
    get_spec(game)
    return sorted(PREFIX + file.stem for file in (FOLDER / game).glob("*.zip"))


def file_of(game: str, name: str) -> Path:
    """The model file of the agent `zoo:NAME`.

    Raises:
        UnknownNameError: there is none of this name for the game, with those that there are.
    """
    if name not in names(game):
        known = ", ".join(names(game)) or "none"
        raise UnknownNameError(f"the zoo has no agent {name!r} for {game}; it has: {known}")
    return FOLDER / game / f"{name.removeprefix(PREFIX)}.zip"


def about(game: str, name: str) -> dict[str, Any]:
    """How the agent `zoo:NAME` was trained (`config`, `versions`, `frames`, `seconds`), and its measured `figures`.

    Raises:
        UnknownNameError: there is none of this name for the game, with those that there are.
    """
    content: dict[str, Any] = json.loads(file_of(game, name).with_suffix(".json").read_text(encoding="utf-8"))
    return content
