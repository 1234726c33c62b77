"""The command `trialea tournament`: rate many agents against each other from a configuration, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trialea.commands.console import out, print_json, progress_bar, run_folder, show_table, tell, when_stopped
from trialea.commands.options import AsJson, Changes, Config, missing_config
from trialea.envs.errors import OptionError


def tournament(
    config: Config = "",
    out_folder: Annotated[
        str,
        typer.Option("--out", metavar="FOLDER", help="The run folder; by default runs/tournament-<config>-<number>."),
    ] = "",
    resume: Annotated[str, typer.Option(metavar="FOLDER", help="Continue the tournament in this folder.")] = "",
    change: Changes = None,
    report: Annotated[bool, typer.Option(help="Write report.html into the run folder.")] = True,
    as_json: AsJson = False,
) -> None:
    """Let agents play each other at all tables, and rate them.

    Ctrl-C stops; --resume continues.
    """
    from trialea.evaluation.matches.match import UnfinishedMatchError
    from trialea.evaluation.reports.report import check_can_report, write_tournament_report
    from trialea.evaluation.tournaments.config import load_tournament_config, shipped_configs
    from trialea.evaluation.tournaments.tournament import REPORT, resume_tournament, run_tournament

    if report:
        check_can_report()
    if resume and (config or out_folder):
        raise OptionError("--resume can be given with --set only: the folder holds the configuration of its tournament")
    if not resume and not config:
        raise missing_config(shipped_configs())
    with run_folder(resume or out_folder, f"tournament-{Path(config).stem}") as folder:
        try:
            with when_stopped("stopped before the first game"), progress_bar("playing") as progress:
                if resume:
                    found = resume_tournament(folder, progress=progress, changes=change or ())
                else:
                    found = run_tournament(load_tournament_config(config, change or ()), folder, progress=progress)
        except UnfinishedMatchError as error:
            if error.evaluation is not None:
                kept = error.evaluation.to_json()
                print_json({**kept, "error": str(error)}) if as_json else _show_wins(kept)
            raise
    if as_json:
        print_json(found.to_json())
    else:
        _show(found.to_json())
    if report:
        tell(f"The report: {write_tournament_report(found, folder / REPORT)}")
    tell(f"The tournament is complete: {folder}")


def _show(found: dict[str, Any]) -> None:
    """Print a tournament as tables."""
    title = f"{found['game']}, {found['players']} players, {found['games']} games, seed {found['seed']}"
    order = sorted(range(len(found["agents"])), key=lambda a: found["rank"][a])
    rows = []
    for a in order:
        low, high = found["rating_interval"][a]
        first, last = found["rank_interval"][a]
        rank = str(first) if first == last else f"{first} to {last}"
        rows.append((found["agents"][a], rank, f"{found['rating'][a]:+.0f}", f"{low:+.0f} to {high:+.0f}"))
    show_table(["agent", "rank", "rating", f"{100 * found['confidence']:g} % interval"], rows, title)
    _show_wins(found, order)
    for cycle in found["cycles"]:
        links = ", ".join(f"{lead['agents'][0]} beats {lead['agents'][1]}" for lead in cycle)
        out.print(f"A cycle: {links}.")
    if found["distinct_games"] < found["games"]:
        out.print(
            f"Only {found['distinct_games']} of {found['games']} games are distinct. The others repeat one of them"
            " action for action, with the same dice."
        )


def _show_wins(found: dict[str, Any], order: list[int] | None = None) -> None:
    """Print each agent's win rate over all its games, and over the games in which another agent sat too."""
    order = list(range(len(found["agents"]))) if order is None else order
    rows = []
    for a in order:
        rows.append((found["agents"][a], f"{found['win_rate'][a]:.2%}", *_rates(found["against"][a], order)))
        if found["luck_values"]:
            adjusted = _rates(found["adjusted_against"][a], order)
            rows.append((f"{found['agents'][a]} without luck", f"{found['adjusted_win_rate'][a]:.2%}", *adjusted))
    show_table(["wins of", "all", *(f"with {found['agents'][b]}" for b in order)], rows)


def _rates(rates: list[float | None], order: list[int]) -> list[str]:
    return ["–" if (rate := rates[b]) is None else f"{rate:.2%}" for b in order]
