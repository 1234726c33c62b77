"""The command `trialea evaluate`: let agents play each other and print the results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trialea.commands.console import out, print_json, progress_bar, show_table, tell, when_stopped
from trialea.commands.options import AsJson, GameName, Players, Seed, split_words

if TYPE_CHECKING:
    from trialea.evaluation.intervals import Interval
    from trialea.evaluation.results import Evaluation


def evaluate(
    context: typer.Context,
    game: GameName,
    words: Annotated[
        list[str], typer.Argument(metavar="AGENT", help="Two or more names of agents, or paths of runs or models.")
    ],
    players: Players = None,
    num_games: Annotated[int, typer.Option("--games", metavar="N", help="The number of games to play.")] = 4000,
    seed: Seed = 0,
    duplicate: Annotated[bool, typer.Option(help="Play every seating with the same dice.")] = True,
    regret: Annotated[bool, typer.Option(help="Measure regret, if the game is solved.")] = True,
    luck: Annotated[bool, typer.Option(help="Remove luck from the results, if the game has values for it.")] = True,
    worst: Annotated[int, typer.Option(metavar="N", help="How many of each agent's worst decisions to print.")] = 3,
    report: Annotated[str, typer.Option(metavar="FILE", help="Write an HTML report to this file.")] = "",
    as_json: AsJson = False,
) -> None:
    """Let agents play each other.

    Options of the game can be added, such as --target 20.
    """
    from trialea.envs.files import check_writable
    from trialea.envs.game import Game
    from trialea.evaluation import UnfinishedMatchError, evaluate as run, write_report
    from trialea.evaluation.reports.report import check_can_report

    if report:
        check_can_report()
        check_writable(report)
    agents, options = split_words(context, words, game)
    described = Game(game, players, **options)
    try:
        with when_stopped("stopped; the games played so far are not kept"), progress_bar("playing") as progress:
            result = run(
                described,
                agents,
                num_games=num_games,
                seed=seed,
                duplicate=duplicate,
                regret=regret,
                luck=luck,
                worst=worst,
                progress=progress,
            )
    except UnfinishedMatchError as error:  # an illegal action loses no finished game
        if error.evaluation is not None:
            if as_json:
                print_json({**error.evaluation.to_json(), "error": str(error)})
            else:
                _show_evaluation(error.evaluation)
        raise
    if as_json:
        print_json(result.to_json())
    else:
        _show_evaluation(result)
    if report:  # last, so that a file that can't be written loses no result
        write_report([result], report, run_folders=[agent for agent in agents if Path(agent).is_dir()])
        tell(f"The report: {report}")


def _show_evaluation(found: Evaluation) -> None:
    """Print an evaluation as tables."""
    from trialea.evaluation.reports.text import games_text

    title = f"{found.game}, {found.players} players, {found.games} games, seed {found.seed}"
    unit = found.regret_unit
    measured = [f"{unit}\na decision", "optimal"] if unit else []
    rows = []
    for name, agent in found.agents.items():
        cells = [name, f"{agent.win_rate:.2%}", _interval(agent.interval)]
        if agent.regret is not None:
            mean, optimal = agent.regret.per_decision, agent.regret.optimal_share
            cells += ["–" if mean is None else f"{mean:.3f}", "–" if optimal is None else f"{optimal:.1%}"]
        rows.append(cells)
    show_table(["agent", "wins", f"{100 * found.confidence:g} % interval", *measured], rows, title)
    if found.luck_values:
        _show_luck(found)
    if len(found.agents) > 2:
        _show_pairs(found)
    seats = ", ".join(f"seat {number} {seat.win_rate:.2%}" for number, seat in enumerate(found.seats))
    out.print(f"Wins by seat: {seats}.")
    for pair in found.versus_first():
        (a, b), needed = pair.agents, pair.games_needed
        shown = games_text(needed.raw)
        if needed.adjusted is not None:
            shown += f"; without luck {games_text(needed.adjusted)}"
        out.print(f"Games needed to tell {a} and {b} apart: {shown}.")
    for name, agent in found.agents.items():
        for mistake in agent.regret.worst if agent.regret is not None else ():
            out.print(f"\n{name} lost {mistake.regret:.1f} {unit} here:", style="bold")
            out.print(mistake.position)
            out.print(f"chosen  {mistake.value:.5f}  {mistake.action}")
            out.print(f"best    {mistake.best_value:.5f}  {mistake.best_action}")
    if found.regret_note:
        out.print(f"Regret not measured: {found.regret_note}.")
    if found.luck_note:
        out.print(f"Luck not removed: {found.luck_note}.")


def _interval(limits: Interval | None) -> str:
    return "does not vary" if limits is None else f"{limits[0]:.2%} to {limits[1]:.2%}"


def _show_luck(found: Evaluation) -> None:
    """Print the results without luck, and the terms of each win rate."""
    from trialea.evaluation.reports.text import LUCK_SOURCES, times

    measured = ("without\nluck", f"{100 * found.confidence:g} % interval", "games\nsaved")
    terms_of_rate = ("start", "luck", "own\nerrors", "others'\nerrors")
    rows = []
    for name, agent in found.agents.items():
        if agent.adjusted is not None:
            terms = agent.adjusted.breakdown
            changes = (terms.luck, terms.own_errors, terms.others_errors)
            rows.append(
                (
                    name,
                    f"{agent.adjusted.win_rate:.2%}",
                    _interval(agent.adjusted.interval),
                    times(agent.adjusted.games_saved),
                    f"{terms.start:.2%}",
                    *(f"{round(change, 4) + 0.0:+.2%}" for change in changes),
                )
            )
    show_table(("agent", *measured, *terms_of_rate), rows, f"values from {LUCK_SOURCES[found.luck_values]}")


def _show_pairs(found: Evaluation) -> None:
    """Print the win rate of each agent over the games in which another sat too."""
    rows = []
    for name in found.agents:
        pairs = [found.pairs.get((name, other)) for other in found.agents]
        rows.append((name, *("–" if pair is None else f"{pair.win_rate:.2%}" for pair in pairs)))
    show_table(["wins of", *(f"with {name}" for name in found.agents)], rows)
