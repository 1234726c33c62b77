"""Reports of evaluations and tournaments: self-contained HTML for any screen, in light and dark colours.

The pages are Jinja templates in `templates/`; the plots come from `plots`, figures as text from `text`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trialea.envs.errors import OptionError, needs_extra
from trialea.envs.files import write_text
from trialea.evaluation.reports import plots
from trialea.evaluation.reports.text import LUCK_SOURCES, games_text, percent, plain, signed, spread, times, worth
from trialea.evaluation.results import Evaluation
from trialea.evaluation.tournaments.standings import Tournament, leads, unordered_pairs


def write_report(evaluations: Sequence[Evaluation], path: str | Path, run_folders: Sequence[str | Path] = ()) -> Path:
    """Write a report of some evaluations as one self-contained HTML file.

    Args:
        evaluations: at least one, from `evaluate`.
        path: the file to write; missing folders are made.
        run_folders: training runs whose learning curves to show. Their `metrics.jsonl` has one JSON object on each
            line, with `frames` and any of `win_rate/<opponent>`, `regret` and `optimal_share`.

    Returns:
        The path of the file.

    Raises:
        FileError: the file can't be written; `trialea.envs.files.check_writable` says so beforehand.
        OptionError: no evaluations.
        MissingExtraError: the extra `report` is not installed.
    """
    if not evaluations:
        raise OptionError("evaluations must be at least one, got none")
    write_text(path, render(evaluations, [read_metrics(Path(run)) for run in run_folders]))
    return Path(path)


def write_tournament_report(tournament: Tournament, path: str | Path) -> Path:
    """Write a report of a tournament; see `write_report`.

    Raises:
        MissingExtraError: the extra `report` is not installed.
    """
    write_text(path, render_tournament(tournament))
    return Path(path)


def check_can_report() -> None:
    """Raise `MissingExtraError` if the extra `report` is not installed."""
    _environment()
    with plots.settings():
        pass


def render(evaluations: Sequence[Evaluation], runs: Sequence[Sequence[dict[str, Any]]] = ()) -> str:
    """Return the report's HTML; see `write_report`."""
    return _page(
        "report.html.j2",
        evaluations,
        {"win_rates": plots.win_rates(evaluations), "learning": plots.learning_curves(runs)},
        several_runs=len(runs) > 1,
        title=_title(evaluations),
        evaluations=evaluations,
    )


def render_tournament(tournament: Tournament) -> str:
    """Return the HTML of a tournament's report; see `write_tournament_report`."""
    evaluation, ratings = tournament.evaluation, tournament.ratings
    verdicts: dict[tuple[str, str], str] = {}
    for winner, loser in leads(evaluation):
        verdicts[winner, loser], verdicts[loser, winner] = "won", "lost"
    names = list(evaluation.agents)
    return _page(
        "tournament.html.j2",
        [evaluation],
        {"ratings_plot": plots.ratings(names, ratings)},
        title=f"Tournament in {evaluation.game}",
        tournament=tournament,
        evaluation=evaluation,
        ratings=ratings,
        pairs=unordered_pairs(evaluation),
        order=sorted(range(len(names)), key=lambda a: ratings.rank[a]),
        names=names,
        verdicts=verdicts,
    )


def _environment() -> Any:
    with needs_extra("report", "a report", "jinja2"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    loader = PackageLoader("trialea.evaluation.reports")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        percent=percent,
        spread=spread,
        signed=signed,
        plain=plain,
        worth=worth,
        times=times,
        games_text=games_text,
    )
    environment.globals["luck_sources"] = LUCK_SOURCES
    return environment


def _page(template: str, shown: Sequence[Evaluation], drawn: dict[str, str], **values: Any) -> str:
    """Return a page from a template and its values. All text is escaped except the plots in `drawn`.

    The template also gets `regret_plots`, keyed by the number of the evaluation and the agent's name, `luck_plots`,
    keyed by the number of the evaluation, and `versions`.
    """
    environment = _environment()
    from markupsafe import Markup

    regret_plots = {
        (i, name): Markup(plots.regret_bins(agent.regret, evaluation.regret_unit, f"regret-{i}-{a}"))
        for i, evaluation in enumerate(shown)
        for a, (name, agent) in enumerate(evaluation.agents.items())
        if agent.regret and agent.regret.per_decision
    }
    luck_plots = {
        i: Markup(plots.luck(evaluation, f"luck-{i}")) for i, evaluation in enumerate(shown) if evaluation.luck_values
    }
    page: str = environment.get_template(template).render(
        regret_plots=regret_plots,
        luck_plots=luck_plots,
        versions={name: found for evaluation in shown for name, found in evaluation.versions.items()},
        **{name: Markup(plot) for name, plot in drawn.items()},
        **values,
    )
    return page


def read_metrics(run_folder: Path) -> list[dict[str, Any]]:
    """Return the measurements of a training run, if there are any. Lines that cannot be read are left out."""
    path = run_folder / "metrics.jsonl"
    if not path.is_file():
        return []
    measured = []
    for line in path.read_text("utf-8", errors="replace").splitlines():
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(found, dict):
            measured.append(found)
    return measured


def _title(evaluations: Sequence[Evaluation]) -> str:
    """Return a title: the games, and the first agent if all evaluations have the same one."""
    firsts = {next(iter(evaluation.agents)) for evaluation in evaluations}
    games = ", ".join(dict.fromkeys(evaluation.game for evaluation in evaluations))
    return f"{firsts.pop()} in {games}" if len(firsts) == 1 else games
