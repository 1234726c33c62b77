"""The command `trialea play`: play a game at the terminal."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from trialea.commands.console import tell
from trialea.commands.options import GameName, Players, make_game
from trialea.envs.errors import OptionError
from trialea.envs.registry import get_spec


def play(
    context: typer.Context,
    game: GameName,
    players: Players = None,
    against: Annotated[
        str, typer.Option(metavar="AGENT", help="The agent in the other seats; by default greedy, or else random.")
    ] = "",
    seat: Annotated[int, typer.Option(metavar="N", help="Your seat, from 0.")] = 0,
    hints: Annotated[bool, typer.Option("--hints", help="Show the exact values of the best actions.")] = False,
    seed: Annotated[int | None, typer.Option(metavar="N", help="The seed of the dice; by default a new one.")] = None,
) -> None:
    """Play a game at the terminal.

    Options of the game can be added, such as --target 20.
    """
    from trialea.agents.human import GameQuit, HumanAgent
    from trialea.envs.agent import Agent, make_agent
    from trialea.envs.checks import check_seed
    from trialea.evaluation import play_game

    described, _ = make_game(context, game, players)
    if not 0 <= seat < described.num_players:
        raise OptionError(f"--seat must be from 0 to {described.num_players - 1}, got {seat}")
    against = against or ("greedy" if "greedy" in get_spec(game).agents else "random")
    agents: list[Agent] = [make_agent(against, described, other) for other in range(described.num_players)]
    agents[seat] = HumanAgent(described, hints=hints)
    try:
        play_game(described, agents, secrets.randbits(32) if seed is None else check_seed(seed))
    except GameQuit:
        tell("You left the game.")
