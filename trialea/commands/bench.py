"""The command `trialea bench`: measure speed against peers."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from trialea.commands.console import err, out, print_json
from trialea.commands.options import AsJson
from trialea.envs.registry import get_spec


def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Which: aec, batch, train, solver; all by default.")] = None,
    game: Annotated[str, typer.Option(help="The game to measure.")] = "no_dice",
    as_json: AsJson = False,
) -> None:
    """Measure speed against peers, each as a ratio in one run."""
    from trialea.benchmarks import run

    get_spec(game)
    figures = run(game, names or (), report=None if as_json else lambda name: err.print(f"measuring: {name}"))
    if as_json:
        print_json(figures)
        return
    table = Table("figure", "value")
    for key, value in figures.items():
        table.add_row(key, f"{value:,.3g}" if isinstance(value, float) and value < 1000 else _thousands(value))
    out.print(table)


def _thousands(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, float) else str(value)
