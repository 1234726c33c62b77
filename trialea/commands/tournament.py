"""The command `trialea tournament`: many agents against each other, from a configuration, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from trialea.commands.console import out, print_json, progress_bar, tell
from trialea.commands.options import AsJson
from trialea.envs.errors import OptionError


def tournament(
    config: Annotated[str, typer.Argument(help="A YAML file, or one that ships with the package.")] = "",
    out_folder: Annotated[str, typer.Option("--out", help="The run folder; by default a new one in runs.")] = "",
    resume: Annotated[str, typer.Option(help="Go on with the tournament in this folder.")] = "",
    change: Annotated[list[str] | None, typer.Option("--set", help="Change a key: --set games=500.")] = None,
    report: Annotated[bool, typer.Option(help="Write report.html into the run folder.")] = True,
    as_json: AsJson = False,
) -> None:
    """Let agents play each other at all tables, and rate them."""
    from trialea.evaluation.matches.match import UnfinishedMatchError
    from trialea.evaluation.reports.report import check_can_report, write_tournament_report
    from trialea.evaluation.tournaments.config import load_config, shipped_configs
    from trialea.evaluation.tournaments.tournament import REPORT, resume_tournament, run_tournament

    if report:
        check_can_report()
    if resume and (config or out_folder):
        raise OptionError("--resume takes the configuration of the tournament: give it with --set at most")
    if not resume and not config:
        raise OptionError(f"name a configuration; ours are: {', '.join(shipped_configs())}")
    folder = Path(resume or out_folder or _free_folder(Path(config).stem))
    try:
        with progress_bar("playing") as progress:
            if resume:
                found = resume_tournament(folder, progress=progress, changes=change or ())
            else:
                found = run_tournament(load_config(config, change or ()), folder, progress=progress)
    except UnfinishedMatchError as error:
        if error.evaluation is not None:
            kept = error.evaluation.to_json()
            print_json({**kept, "error": str(error)}) if as_json else _show_wins(kept)
        raise
    except KeyboardInterrupt:
        tell(f"Stopped. To go on: trialea tournament --resume {folder}")
        raise typer.Exit(130) from None
    if as_json:
        print_json(found.to_json())
    else:
        _show(found.to_json())
    if report:
        tell(f"The report: {write_tournament_report(found, folder / REPORT)}")
    tell(f"The tournament is complete: {folder}")


def _free_folder(name: str) -> Path:
    """The first of `runs/tournament-name-1`, `-2`, … that is free."""
    number = 1
    while (folder := Path("runs") / f"tournament-{name}-{number}").exists():
        number += 1
    return folder


def _show(found: dict[str, Any]) -> None:
    """A tournament as tables for a person."""
    played = f"{found['game']}, {found['players']} players, {found['games']} games, seed {found['seed']}"
    out.print(played, style="italic", highlight=False)
    table = Table("agent", "rank", "rating", f"{100 * found['confidence']:g} % interval")
    order = sorted(range(len(found["agents"])), key=lambda a: found["rank"][a])
    for a in order:
        low, high = found["rating_interval"][a]
        first, last = found["rank_interval"][a]
        rank = str(first) if first == last else f"{first} to {last}"
        table.add_row(found["agents"][a], rank, f"{found['rating'][a]:+.0f}", f"{low:+.0f} to {high:+.0f}")
    out.print(table)
    _show_wins(found, order)
    for cycle in found["cycles"]:
        links = ", ".join(f"{lead['agents'][0]} beats {lead['agents'][1]}" for lead in cycle)
        out.print(f"A cycle: {links}.", highlight=False)
    if found["distinct_games"] < found["games"]:
        repeated = f"{found['distinct_games']} of {found['games']} games are distinct: the others repeat one of them"
        out.print(f"{repeated}, with the same dice and action for action.", highlight=False)


def _show_wins(found: dict[str, Any], order: list[int] | None = None) -> None:
    """Who won how much of the games in which both sat, and of all."""
    order = list(range(len(found["agents"]))) if order is None else order
    table = Table("wins of", "all", *(f"with {found['agents'][b]}" for b in order))
    for a in order:
        rates = [found["against"][a][b] for b in order]
        shown = ("–" if rate is None else f"{rate:.2%}" for rate in rates)
        table.add_row(found["agents"][a], f"{found['win_rate'][a]:.2%}", *shown)
        if found["luck_values"]:
            rates = [found["adjusted_against"][a][b] for b in order]
            shown = ("" if rate is None else f"{rate:.2%}" for rate in rates)
            table.add_row("  without luck", f"{found['adjusted_win_rate'][a]:.2%}", *shown, style="dim")
    out.print(table)
