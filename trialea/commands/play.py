"""The command `trialea play`: play a game at the terminal."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

import typer

from trialea.commands.console import err
from trialea.commands.options import GameName, Players, make_game
from trialea.envs.errors import OptionError
from trialea.envs.registry import get_spec


def play(
    context: typer.Context,
    game: GameName,
    players: Players = None,
    against: Annotated[str, typer.Option(help="Who plays the other seats: by default greedy, else random.")] = "",
    seat: Annotated[int, typer.Option(help="Your seat.")] = 0,
    hints: Annotated[bool, typer.Option(help="Show the exact values of the best actions.")] = False,
    seed: Annotated[int | None, typer.Option(help="The game's seed; by default a fresh one.")] = None,
) -> None:
    """Play at the terminal. Options of the game may follow, such as --target 20."""
    from trialea.agents.human import GameQuit, HumanAgent
    from trialea.envs.agent import make_agent
    from trialea.envs.learner import check_seed
    from trialea.evaluation import play_game

    described, _ = make_game(game, players, context.args)
    if not 0 <= seat < described.num_players:
        raise OptionError(f"--seat must be from 0 to {described.num_players - 1}, not {seat}")
    against = against or ("greedy" if "greedy" in get_spec(game).agents else "random")
    agents: list[Any] = [make_agent(against, described, other) for other in range(described.num_players)]
    agents[seat] = HumanAgent(described, hints=hints)
    try:
        play_game(described, agents, secrets.randbits(32) if seed is None else check_seed(seed))
    except GameQuit:
        err.print("You left the game.")
