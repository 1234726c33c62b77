"""The games of this library, each with its agents, solver, exact values and estimates.

Importing this module registers them. To add a game, add its `GameSpec` here; docs/design.md lists what it needs.
"""

from __future__ import annotations

from trialea.envs.registration import register_game
from trialea.envs.registry import GameSpec, set_agent_loader

_COMMON_AGENTS = {"random": "trialea.agents.random:RandomAgent", "human": "trialea.agents.human:HumanAgent"}

NO_DICE = GameSpec(
    name="no_dice",
    title="NoDice",
    summary="five odd dice; make an expression as near to zero as you can; at 30 points you are out",
    package="trialea.envs.no_dice",
    agents={
        **_COMMON_AGENTS,
        "greedy": "trialea.agents.no_dice.greedy:GreedyAgent",
        "solver": "trialea.agents.no_dice.solver:SolverAgent",
    },
    most_players={"solver": 5},
    solver="trialea.agents.no_dice.solver",
    exact="trialea.agents.no_dice.exact",
    afterstates="trialea.agents.no_dice.afterstates",
)
POKER_FIGURES = GameSpec(
    name="poker_figures",
    title="PokerFigures",
    summary="five poker dice and a sheet of figures; fill rows before the others; one left open ends it",
    package="trialea.envs.poker_figures",
    agents={
        **_COMMON_AGENTS,
        "greedy": "trialea.agents.poker_figures.greedy:GreedyAgent",
        "reference": "trialea.agents.poker_figures.reference:ReferenceAgent",
        "solver": "trialea.agents.poker_figures.solver:SolverAgent",
    },
    most_players={},
    solver="trialea.agents.poker_figures.solver",
    exact="trialea.agents.poker_figures.exact",
    estimate="trialea.agents.poker_figures.luck_values:Estimate",
    afterstates="trialea.agents.poker_figures.afterstates",
)
LAST_DIE = GameSpec(
    name="last_die",
    title="LastDie",
    summary="six dice wander round the table; whoever holds the last one in play throws it for points",
    package="trialea.envs.last_die",
    agents={**_COMMON_AGENTS, "solver": "trialea.agents.last_die.solver:SolverAgent"},
    most_players={},
    solver="trialea.agents.last_die.solver",
)

for _spec in (NO_DICE, POKER_FIGURES, LAST_DIE):
    register_game(_spec)
set_agent_loader("trialea.agents.loading:load_agent")
