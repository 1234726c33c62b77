"""The command `trialea bench`: measure speed against peers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trialea.commands.console import print_json, show_record, tell, when_stopped
from trialea.commands.options import AsJson
from trialea.envs.registry import get_spec


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="BENCHMARK", help="The benchmarks to run; by default all of the game.")
    ] = None,
    game: Annotated[str, typer.Option(metavar="GAME", help="The game to measure.")] = "no_dice",
    as_json: AsJson = False,
) -> None:
    """Measure speed against peers, each as a ratio in one run."""
    from trialea.benchmarks import run

    get_spec(game)
    with when_stopped("stopped; the figures measured so far are lost"):
        figures = run(game, names or (), report=None if as_json else lambda name: tell(f"measuring: {name}"))
    if as_json:
        print_json(figures)
    else:
        show_record((key, _in_words(value)) for key, value in figures.items())


def _in_words(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
