"""The command `trialea solve`: solve a game exactly and print its values."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trialea.commands.console import print_json, progress_bar, show_record, tell, when_stopped
from trialea.commands.options import AsJson, GameName, Players, make_game
from trialea.envs.errors import OptionError
from trialea.envs.registry import get_spec

MAX_LETTERS = 80  # of a value that is printed for a person; a digest has 64


def solve(
    context: typer.Context,
    game: GameName,
    players: Players = None,
    state: Annotated[
        str, typer.Option(metavar="A,B,…", help="The position to value; in No Dice the totals, the mover's first.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Solve a game exactly and print its values.

    Options of the game and of its solver can be added, such as --target 20.
    """
    from trialea.agents import solve as solve_game, solver_settings
    from trialea.agents.cache import cache_folder, why_not_kept
    from trialea.agents.solving import check_position

    described, settings = make_game(context, game, players, solver_settings(get_spec(game).name))
    position = _numbers(state) if state else []
    if position:
        check_position(described, position, **settings)
    lost = why_not_kept()
    if lost:
        tell(lost)
    kept = "nothing is kept" if lost else f"finished work is kept in {cache_folder()}: the same command uses it"
    with when_stopped(f"stopped; {kept}"), progress_bar("solving") as progress:
        solution = solve_game(described, progress, **settings)
    summary = solution.summary(position)
    if as_json:
        print_json(summary)
    else:
        show_record((key, _in_words(value)) for key, value in summary.items())


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"--state must be whole numbers with commas, such as 12,25, got {text!r}") from None


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_in_words(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_in_words(item) for item in value)
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)  # an exact fraction may have hundreds of digits
    return text if len(text) <= MAX_LETTERS else f"{text[:40]}… ({len(text)} characters; whole with --json)"
