"""The command `trialea` with its subcommands, one file each: a new one needs a line at the end of this file."""

from __future__ import annotations

from typing import Annotated

import typer

from trialea import __version__
from trialea.commands.bench import bench
from trialea.commands.evaluate import evaluate
from trialea.commands.exploit import exploit
from trialea.commands.games import games
from trialea.commands.options import WITH_GAME_OPTIONS
from trialea.commands.play import play
from trialea.commands.solve import solve
from trialea.commands.tournament import tournament
from trialea.commands.train import train
from trialea.commands.tune import tune

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,  # its frames cut the names of options on a narrow terminal
    help="Dice games for reinforcement learning, with exact solutions to measure agents against.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trialea {__version__}")
        raise typer.Exit


@app.callback()
def _trialea(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command()(games)
app.command(context_settings=WITH_GAME_OPTIONS)(solve)
app.command()(train)
app.command(context_settings=WITH_GAME_OPTIONS)(evaluate)
app.command(context_settings=WITH_GAME_OPTIONS)(exploit)
app.command()(tournament)
app.command()(tune)
app.command(context_settings=WITH_GAME_OPTIONS)(play)
app.command()(bench)

command = typer.main.get_command(app)
