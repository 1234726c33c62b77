"""The table of games: a description of each game that needs no import of the game.

The table is empty at first: `trialea.games` registers the games of this library, and the loader that turns the path of
a model into an agent. This module names no game and no agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from trialea.envs.errors import OptionError, UnknownNameError, did_you_mean


@dataclass(frozen=True, slots=True)
class GameSpec:
    """The description of a game, available without importing the game.

    Places in the code are written as `"module:name"`, or as `"module"`.

    Attributes:
        name: the name of the game, such as `"no_dice"`.
        title: the name in its Gymnasium id, such as `"NoDice"`.
        summary: one line for lists.
        package: the package with its rules and kernels; see `trialea.envs.game.Game`.
        agents: the agents that can be chosen by name, each a class that is called as `Class(game, seed)`.
        most_players: the most players of each agent that doesn't play with every number of players.
        solver: the module with `solve(game, progress)`; empty if the game has no exact solution.
        exact: the module that computes the exact value of policies; may be empty.
        estimate: the class of an estimated value function, called as `Class(game)`, for measuring luck without an
            exact solution; may be empty.
        afterstates: the module that describes the positions between turns; may be empty.
    """

    name: str
    title: str
    summary: str
    package: str
    agents: Mapping[str, str]
    most_players: Mapping[str, int]
    solver: str = ""
    exact: str = ""
    estimate: str = ""
    afterstates: str = ""

    def agents_for(self, num_players: int) -> list[str]:
        """Return the names of the agents that can play in a game of `num_players`."""
        return [name for name in self.agents if num_players <= self.most_players.get(name, num_players)]

    @property
    def gym_id(self) -> str:
        """The id for `gymnasium.make`."""
        return f"trialea/{self.title}-v0"

    @property
    def pettingzoo_id(self) -> str:
        """The id for `pettingzoo.make("aec", …)`."""
        return f"trialea/{self.name}-v0"

    @property
    def aec_module(self) -> str:
        """The module with the PettingZoo constructors `env` and `raw_env`, beside the game's package."""
        return f"{self.package}_v0"


_games: dict[str, GameSpec] = {}
_agent_loader = ""

GAMES: Mapping[str, GameSpec] = MappingProxyType(_games)
"""Every registered game by its name; read-only."""


def add_spec(spec: GameSpec) -> None:
    """Add a game to the table. Adding the same game again does nothing.

    Raises:
        OptionError: the name belongs to another game.
    """
    if _games.setdefault(spec.name, spec) != spec:
        raise OptionError(f"the name of a game must be new, but {spec.name!r} is taken: choose another name")


def get_spec(name: str) -> GameSpec:
    """Return the entry of the game called `name`.

    Raises:
        UnknownNameError: there is no such game; the message lists the games.
    """
    try:
        return _games[name]
    except (KeyError, TypeError):
        raise UnknownNameError(
            f"no game is called {name!r}.{did_you_mean(name, _games)} The games are {', '.join(_games)}"
        ) from None


def set_agent_loader(place: str) -> None:
    """Set the `"module:function"` that loads an agent whose name is not in a game's entry: `function(name, game)`."""
    global _agent_loader
    _agent_loader = place


def agent_loader() -> str:
    """Return the place that `set_agent_loader` has set; empty before that."""
    return _agent_loader


def check_own_solver(own: str, name: str) -> None:
    """Raise `OptionError` if the solver of the game `own` is given the game `name`."""
    if name != own:
        raise OptionError(f"this solver supports {own} only, got {name}: use trialea.solve(game), which takes any game")
