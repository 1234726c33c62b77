"""The table of games, and the registration of their environments with Gymnasium and PettingZoo."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from trialea.envs.errors import OptionError, UnknownNameError


@dataclass(frozen=True, slots=True)
class Entry:
    """What the library knows of a game without importing it.

    Attributes:
        name: the game's name and the folder of `trialea.envs` that holds it.
        title: the name of its Gymnasium environment, without namespace and version.
        summary: one line for lists.
        agents: `"module:class"` of each agent that it offers by name; each is made as `class(game, seed)`.
        solver: the module whose `solve(game, progress)` gives its exact solution; empty if there is none.
        most_players: up to how many players an agent exists, where that is fewer than the game takes.
        exact: the module that values policies exactly, see `trialea.evaluation.measures.exact`; empty if there is none.
        benchmark: `"module:function"` that times the solver against another way, see `trialea.benchmarks`; empty if
            there is none.
        estimate: `"module:class"` of an estimated value function, made as `class(game)`, for luck where the solver does
            not reach, see `trialea.evaluation.measures.luck`; empty if there is none.
        afterstates: the module of its positions between turns, see `trialea.agents.afterstate`; empty if there is none.
    """

    name: str
    title: str
    summary: str
    agents: Mapping[str, str]
    solver: str
    most_players: Mapping[str, int]
    exact: str = ""
    benchmark: str = ""
    estimate: str = ""
    afterstates: str = ""

    def agents_for(self, num_players: int) -> list[str]:
        """The names of the agents for a game of so many players."""
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
        """The module with the PettingZoo constructors."""
        return f"trialea.envs.{self.name}_v0"


_COMMON_AGENTS = {"random": "trialea.agents.random:RandomAgent", "human": "trialea.agents.human:HumanAgent"}

GAMES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            name="no_dice",
            title="NoDice",
            summary="five odd dice; make an expression as near to zero as you can; at 30 points you are out",
            agents={
                **_COMMON_AGENTS,
                "greedy": "trialea.agents.no_dice.greedy:GreedyAgent",
                "solver": "trialea.agents.no_dice.solver:SolverAgent",
            },
            solver="trialea.agents.no_dice.solver",
            most_players={"solver": 5},
            exact="trialea.agents.no_dice.exact",
            benchmark="trialea.benchmarks.run:solver_vs_numpy",
            afterstates="trialea.agents.no_dice.afterstates",
        ),
        Entry(
            name="poker_figures",
            title="PokerFigures",
            summary="five poker dice and a sheet of figures; fill rows before the others; one left open ends it",
            agents={
                **_COMMON_AGENTS,
                "greedy": "trialea.agents.poker_figures.greedy:GreedyAgent",
                "reference": "trialea.agents.poker_figures.reference:ReferenceAgent",
                "solver": "trialea.agents.poker_figures.solver:SolverAgent",
            },
            solver="trialea.agents.poker_figures.solver",
            most_players={},
            exact="trialea.agents.poker_figures.exact",
            benchmark="trialea.benchmarks.keeper_lattice:lattice_vs_direct_loop",
            estimate="trialea.agents.poker_figures.value:Estimate",
            afterstates="trialea.agents.poker_figures.afterstates",
        ),
        Entry(
            name="last_die",
            title="LastDie",
            summary="six dice wander round the table; whoever holds the last one in play throws it for points",
            agents={**_COMMON_AGENTS, "solver": "trialea.agents.last_die.solver:SolverAgent"},
            solver="trialea.agents.last_die.solver",
            most_players={},
        ),
    )
}


def named(place: str) -> Any:
    """What stands at `"module:name"`, as an entry gives places; imported only now."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def check_own_solver(own: str, name: str) -> None:
    """Raise `OptionError` where the solver of the game `own` is given a game with another `name`."""
    if name != own:
        raise OptionError(f"this solves {own}, not {name}: trialea.agents.solve(game) takes every game that is solved")


def entry_of(name: str) -> Entry:
    """The entry of the game called `name`.

    Raises:
        UnknownNameError: no such game, with a list of those that exist.
    """
    try:
        return GAMES[name]
    except KeyError:
        raise UnknownNameError(f"no game is called {name!r}; there are: {', '.join(GAMES)}") from None


def register_all() -> None:
    """Register every game with Gymnasium, and with PettingZoo where it has a registry; again does nothing."""
    for entry in GAMES.values():
        _register(entry.gym_id, entry.pettingzoo_id, entry, {})


def register_variant(id: str, game: str, **arguments: Any) -> None:
    """Register a game under an id of your own, with Gymnasium, and with PettingZoo where it has a registry.

    Args:
        id: such as `"my_project/QuickNoDice-v0"`, for both libraries.
        game: the game's name.
        **arguments: what is otherwise than by default: `num_players`, `reward`, the game's options. They are checked
            when an environment is made; whoever makes one may give others.

    Raises:
        UnknownNameError: no such game.
        OptionError: the id is not of that form, or stands for something else. To register the same again does nothing.
    """
    if not re.fullmatch(r"([\w-]+/)?[\w.-]+-v\d+", str(id)):
        raise OptionError(f"an id is of the form my_project/Name-v0, not {id!r}")
    _register(id, id, entry_of(game), arguments)


def _register(gym_id: str, pettingzoo_id: str, entry: Entry, arguments: dict[str, Any]) -> None:
    import gymnasium

    kwargs = {"game": entry.name, **arguments}
    if gym_id not in gymnasium.registry:
        gymnasium.register(
            gym_id,
            entry_point="trialea.envs.single:SingleAgentEnv",
            vector_entry_point="trialea.envs.vector:BatchedEnv",
            kwargs=kwargs,
        )
    elif gymnasium.registry[gym_id].kwargs != kwargs:
        raise OptionError(f"{gym_id} is registered already, as something else: choose another id")
    try:
        from pettingzoo.env_registry import registration
    except ImportError:  # before PettingZoo 1.27 there was no registry
        return
    table: dict[str, Any] = registration.aec_registry
    if pettingzoo_id not in table:
        registration.register("aec", pettingzoo_id, entry_point=f"{entry.aec_module}:env", kwargs=arguments)
