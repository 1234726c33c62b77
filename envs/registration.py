"""Registration of games and variants with Gymnasium and PettingZoo."""

from __future__ import annotations

import re
from typing import Any

import gymnasium

from trialea.envs.errors import OptionError
from trialea.envs.registry import GameSpec, add_spec, get_spec


def register_game(spec: GameSpec) -> None:
    """Add a game to the table of games, and register its ids. Registering the same game again does nothing.

    Raises:
        OptionError: the game's name or one of its ids belongs to something else.
    """
    add_spec(spec)
    _register(spec.gym_id, spec.pettingzoo_id, {"game": spec.name})


def register_variant(id: str, game: str, **arguments: Any) -> None:
    """Register a game under an id of your own, with Gymnasium and with PettingZoo (1.27 or newer).

    Registering the same variant again does nothing.

    Args:
        id: the id for both libraries, such as `"my_project/QuickNoDice-v0"`.
        game: the game's name.
        **arguments: the variant's own defaults: `num_players`, `reward`, the game's options. They are checked when an
            environment is made. The caller of `make` can override each of them.

    Raises:
        UnknownNameError: there is no such game.
        OptionError: the id is malformed, or belongs to something else.
    """
    if not re.fullmatch(r"([\w-]+/)?[\w.-]+-v\d+", str(id)):
        raise OptionError(f"id must be of the form my_project/Name-v0, got {id!r}")
    _register(id, id, {"game": get_spec(game).name, **arguments})


def _register(gym_id: str, pettingzoo_id: str, arguments: dict[str, Any]) -> None:
    if gym_id not in gymnasium.registry:
        gymnasium.register(
            gym_id,
            entry_point="trialea.envs.single:SingleAgentEnv",
            vector_entry_point="trialea.envs.vector:BatchedEnv",
            kwargs=arguments,
        )
    elif gymnasium.registry[gym_id].kwargs != arguments:
        raise OptionError(f"id must be new, but {gym_id} is registered already as something else: choose another id")
    try:
        from pettingzoo.env_registry import registration
    except ImportError:  # PettingZoo has a registry since 1.27
        return
    table: dict[str, Any] = registration.aec_registry
    if pettingzoo_id not in table:
        registration.register("aec", pettingzoo_id, entry_point="trialea.envs.aec:MultiAgentEnv", kwargs=arguments)
