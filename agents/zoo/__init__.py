"""The zoo: trained agents that come with the package, each under the name `zoo:NAME`.

An agent is a model file in the folder of its game, which holds only what is needed to play. A JSON file beside it has
its configuration and the figures that were measured. `trialea.training.publish` adds an agent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trialea.envs.errors import UnknownNameError, did_you_mean
from trialea.envs.registry import get_spec

PREFIX = "zoo:"
FOLDER = Path(__file__).parent


def names(game: str) -> list[str]:
    """Return the names of the agents for a game, each as `zoo:NAME`.

    Raises:
        UnknownNameError: there is no such game.
    """
    get_spec(game)
    return sorted(PREFIX + file.stem for file in (FOLDER / game).glob("*.zip"))


def file_of(game: str, name: str) -> Path:
    """Return the model file of the agent `zoo:NAME`.

    Raises:
        UnknownNameError: the zoo has no agent of this name for the game; lists its agents.
    """
    if name not in names(game):
        known = ", ".join(names(game)) or "none"
        raise UnknownNameError(
            f"the zoo has no agent {name!r} for {game}.{did_you_mean(name, names(game))} Its agents are: {known}"
        )
    return FOLDER / game / f"{name.removeprefix(PREFIX)}.zip"


def about(game: str, name: str) -> dict[str, Any]:
    """Return how the agent `zoo:NAME` was trained (`config`, `versions`, `frames`, `seconds`), and its `figures`.

    Raises:
        UnknownNameError: the zoo has no agent of this name for the game; lists its agents.
    """
    content: dict[str, Any] = json.loads(file_of(game, name).with_suffix(".json").read_text(encoding="utf-8"))
    return content
