"""The command line: `trialea games | solve | train | evaluate | exploit | tournament | tune | play | bench`.

`app` joins the commands, one file each; `main` runs it and turns every error into one line and an exit status.
"""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer

from trialea import __version__
from trialea.commands.bench import bench
from trialea.commands.console import tell
from trialea.commands.evaluate import evaluate
from trialea.commands.exploit import exploit
from trialea.commands.games import games
from trialea.commands.options import OPEN
from trialea.commands.play import play
from trialea.commands.solve import solve
from trialea.commands.tournament import tournament
from trialea.commands.train import train
from trialea.commands.tune import tune
from trialea.envs.errors import TrialeaError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Dice games for reinforcement learning, with the exact solution to measure agents against.",
)


def main() -> None:
    """Run the command line; an error of ours is one line on standard error and exit code 2, a warning one line."""
    warnings.showwarning = _show_warning
    try:
        app()
    except TrialeaError as error:
        tell(f"trialea: {error}", "red")
        sys.exit(2)
    except BrokenPipeError:  # whoever read our output has read enough
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # a file or folder that cannot be read or written
        tell(f"trialea: {error}", "red")
        sys.exit(2)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    tell(f"trialea: warning: {message}", "yellow")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trialea {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


app.command()(games)
app.command(context_settings=OPEN)(solve)
app.command()(train)
app.command(context_settings=OPEN)(evaluate)
app.command(context_settings=OPEN)(exploit)
app.command()(tournament)
app.command()(tune)
app.command(context_settings=OPEN)(play)
app.command()(bench)
