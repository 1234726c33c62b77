"""The command `trialea evaluate`: let agents play each other and print what their games show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from trialea.commands.console import out, print_json, progress_bar, tell
from trialea.commands.options import AsJson, GameName, Players, Seed, options_of, split_words
from trialea.envs.errors import OptionError


def evaluate(
    game: GameName,
    words: Annotated[
        list[str], typer.Argument(metavar="AGENT", help="Names, or paths of runs or models: two or more.")
    ],
    players: Players = None,
    num_games: Annotated[int, typer.Option("--games", help="Games to play.")] = 4000,
    seed: Seed = 0,
    duplicate: Annotated[bool, typer.Option(help="Play every seating with the same dice.")] = True,
    regret: Annotated[bool, typer.Option(help="Measure regret, where the game is solved.")] = True,
    luck: Annotated[
        bool, typer.Option(help="Take luck out of the results, where the game is solved or estimated.")
    ] = True,
    worst: Annotated[int, typer.Option(help="How many of each agent's worst decisions to show.")] = 3,
    report: Annotated[str, typer.Option(help="Write an HTML report to this file.")] = "",
    as_json: AsJson = False,
) -> None:
    """Let agents play each other. Options of the game may follow, such as --target 20."""
    from trialea.envs.game import Game
    from trialea.evaluation import UnfinishedMatchError, evaluate as run, write_report
    from trialea.evaluation.reports.report import check_can_report

    if report:
        check_can_report()
        if Path(report).is_dir():
            raise OptionError(f"--report names the file to write, and {report} is a folder")
    agents, options = split_words(words, game, options_of(game))
    described = Game(game, players, **options)
    try:
        with progress_bar("playing") as progress:
            result = run(described, agents, num_games, seed, duplicate, regret, worst, progress=progress, luck=luck)
    except UnfinishedMatchError as error:  # an illegal action loses no finished game
        if error.evaluation is not None:
            kept = error.evaluation.to_json()
            print_json({**kept, "error": str(error)}) if as_json else _show_evaluation(kept)
        raise
    if as_json:
        print_json(result.to_json())
    else:
        _show_evaluation(result.to_json())
    if report:  # last, so that a file that cannot be written loses no result
        write_report([result], report, run_folders=[agent for agent in agents if Path(agent).is_dir()])
        tell(f"The report: {report}")


def _show_evaluation(found: dict[str, Any]) -> None:
    """An evaluation as tables for a person."""
    title = f"{found['game']}, {found['players']} players, {found['games']} games, seed {found['seed']}"
    unit = found["regret_unit"]
    measured = [f"regret, {unit} a decision", "optimal"] if unit else []
    table = Table("agent", "wins", "95 % interval", *measured, title=title)
    for i, name in enumerate(found["agents"]):
        low, high = found["interval"][i]
        cells = [name, f"{found['win_rate'][i]:.2%}", f"{low:.2%} to {high:.2%}"]
        if unit:
            regret, optimal = found["regret_per_decision"][i], found["optimal_share"][i]
            cells += ["–" if regret is None else f"{regret:.3f}", "–" if optimal is None else f"{optimal:.1%}"]
        table.add_row(*cells)
    out.print(table)
    if found["luck_values"]:
        _show_luck(found)
    if len(found["agents"]) > 2:
        _show_against(found)
    seats = ", ".join(f"seat {seat} {rate:.2%}" for seat, rate in enumerate(found["seat_win_rate"]))
    out.print(f"Wins by seat: {seats}.", highlight=False)
    for needed in found["games_needed"]:
        a, b = needed["agents"]
        shown = _games_in_words(needed["raw"])
        if needed["adjusted"]:
            shown += f"; without luck {_games_in_words(needed['adjusted'])}"
        out.print(f"To tell {a} and {b} apart: {shown}.", highlight=False)
    for name, mistakes in zip(found["agents"], found["worst"], strict=True):
        for mistake in mistakes:
            out.print(f"\n{name} lost {mistake['regret']:.1f} {unit} here:", style="bold", highlight=False)
            out.print(mistake["position"], highlight=False)
            out.print(f"chosen  {mistake['value']:.5f}  {mistake['action']}", highlight=False)
            out.print(f"best    {mistake['best_value']:.5f}  {mistake['best_action']}", highlight=False)
    if found["regret_note"]:
        out.print(f"No regret: {found['regret_note']}.", highlight=False)
    if found["luck_note"]:
        out.print(f"Luck not taken out: {found['luck_note']}.", highlight=False)


def _games_in_words(needed: dict[str, Any]) -> str:
    games = needed["games"]
    return "no number of games can be told from these" if games is None else f"about {games:,} games"


def _show_luck(found: dict[str, Any]) -> None:
    """The results without luck, and what each win rate is made of."""
    from trialea.evaluation.measures.luck import in_times

    by = {"solution": "the solution's values", "estimate": "estimated values", "given": "the values given"}
    columns = ("without luck", "95 % interval", "games saved", "start", "luck", "own errors", "others' errors")
    table = Table("agent", *columns, title=f"by {by[found['luck_values']]}")
    for a, name in enumerate(found["agents"]):
        limits, saved, parts = found["adjusted_interval"][a], found["games_saved"][a], found["luck"][a]
        table.add_row(
            name,
            f"{found['adjusted_win_rate'][a]:.2%}",
            "does not vary" if limits is None else f"{limits[0]:.2%} to {limits[1]:.2%}",
            in_times(saved),
            f"{parts['start']:.2%}",
            *(f"{round(parts[key], 4) + 0.0:+.2%}" for key in ("luck", "own_errors", "others_errors")),
        )
    out.print(table)


def _show_against(found: dict[str, Any]) -> None:
    """Who won how much of the games in which both sat."""
    table = Table("wins of", *(f"with {name}" for name in found["agents"]))
    for name, rates in zip(found["agents"], found["against"], strict=True):
        table.add_row(name, *("–" if rate is None else f"{rate:.2%}" for rate in rates))
    out.print(table)
