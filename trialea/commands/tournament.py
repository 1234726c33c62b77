"""The command `trialea tournament`: rate many agents against each other from a configuration, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trialea.commands.console import out, print_json, progress_bar, run_folder, show_table, tell, when_stopped
from trialea.commands.options import AsJson, Changes, Config, missing_config
from trialea.envs.errors import OptionError

if TYPE_CHECKING:
    from trialea.evaluation.results import Evaluation
    from trialea.evaluation.tournaments.standings import Tournament


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
                if as_json:
                    print_json({**error.evaluation.to_json(), "error": str(error)})
                else:
                    _show_wins(error.evaluation, list(error.evaluation.agents))
            raise
    if as_json:
        print_json(found.to_json())
    else:
        _show(found)
    if report:
        tell(f"The report: {write_tournament_report(found, folder / REPORT)}")
    tell(f"The tournament is complete: {folder}")


def _show(found: Tournament) -> None:
    """Print a tournament as tables."""
    evaluation, ratings = found.evaluation, found.ratings
    title = f"{evaluation.game}, {evaluation.players} players, {evaluation.games} games, seed {evaluation.seed}"
    names = list(evaluation.agents)
    order = sorted(range(len(names)), key=lambda a: ratings.rank[a])
    rows = []
    for a in order:
        low, high = ratings.interval[a]
        first, last = ratings.rank_interval[a]
        rank = str(first) if first == last else f"{first} to {last}"
        rows.append((names[a], rank, f"{ratings.points[a]:+.0f}", f"{low:+.0f} to {high:+.0f}"))
    show_table(["agent", "rank", "rating", f"{100 * evaluation.confidence:g} % interval"], rows, title)
    _show_wins(evaluation, [names[a] for a in order])
    for cycle in found.cycles:
        links = ", ".join(f"{lead.agents[0]} beats {lead.agents[1]}" for lead in cycle)
        out.print(f"A cycle: {links}.")
    if evaluation.distinct_games < evaluation.games:
        out.print(
            f"Only {evaluation.distinct_games} of {evaluation.games} games are distinct. The others repeat one of them"
            " action for action, with the same dice."
        )


def _show_wins(found: Evaluation, order: list[str]) -> None:
    """Print each agent's win rate over all its games, and over the games in which another agent sat too."""
    rows = []
    for name in order:
        agent, pairs = found.agents[name], [found.pairs.get((name, other)) for other in order]
        rates = [None if pair is None else pair.win_rate for pair in pairs]
        rows.append((name, f"{agent.win_rate:.2%}", *map(_rate, rates)))
        if agent.adjusted is not None:
            rates = [None if pair is None else pair.adjusted_win_rate for pair in pairs]
            rows.append((f"{name} without luck", f"{agent.adjusted.win_rate:.2%}", *map(_rate, rates)))
    show_table(["wins of", "all", *(f"with {name}" for name in order)], rows)


def _rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.2%}"
