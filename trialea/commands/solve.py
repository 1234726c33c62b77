"""The command `trialea solve`: solve a game exactly and print its values."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from trialea.commands.console import out, print_json, progress_bar, tell
from trialea.commands.options import AsJson, GameName, Players, make_game
from trialea.envs.errors import OptionError
from trialea.envs.registry import get_spec


def solve(
    context: typer.Context,
    game: GameName,
    players: Players = None,
    state: Annotated[str, typer.Option(help="A position, such as 12,25: the mover's total first.")] = "",
    as_json: AsJson = False,
) -> None:
    """Solve a game exactly and print its values. Options of the game and of its solver follow, such as --target 20."""
    from trialea.agents import solve as solve_game, solver_settings
    from trialea.agents.cache import cache_folder, why_not_kept

    described, settings = make_game(game, players, context.args, solver_settings(get_spec(game).name))
    lost = why_not_kept()
    if lost:
        tell(lost)
    try:
        with progress_bar("solving") as progress:
            solution = solve_game(described, progress, **settings)
    except KeyboardInterrupt:
        if not lost:
            kept = f"what is finished of the tables is kept in {cache_folder()}"
            tell(f"stopped; {kept}: the same command goes on from there")
        raise
    summary = solution.summary(_numbers(state)) if state else solution.summary()
    if as_json:
        print_json(summary)
        return
    table = Table(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")  # the digest is long, and of no use without its end
    for key, value in summary.items():
        table.add_row(key, _in_words(value))
    out.print(table)


MOST_LETTERS = 80  # of a value in a table; a digest has 64


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"a position is written as numbers with commas, such as 12,25, not {text!r}") from None


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_in_words(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_in_words(item) for item in value)
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)  # an exact fraction may have hundreds of digits
    return text if len(text) <= MOST_LETTERS else f"{text[:40]}… ({len(text)} characters; whole with --json)"
