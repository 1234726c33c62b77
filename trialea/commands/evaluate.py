"""The command `trialea evaluate`: let agents play each other and print what their games show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trialea.commands.console import out, print_json, progress_bar, show_table, tell, when_stopped
from trialea.commands.options import AsJson, GameName, Players, Seed, split_words


def evaluate(
    context: typer.Context,
    game: GameName,
    words: Annotated[
        list[str], typer.Argument(metavar="AGENT...", help="Two or more names of agents, or paths of runs or models.")
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
            kept = error.evaluation.to_json()
            print_json({**kept, "error": str(error)}) if as_json else _show_evaluation(kept)
        raise
    if as_json:
        print_json(result.to_json())
    else:
        _show_evaluation(result.to_json())
    if report:  # last, so that a file that can't be written loses no result
        write_report([result], report, run_folders=[agent for agent in agents if Path(agent).is_dir()])
        tell(f"The report: {report}")


def _show_evaluation(found: dict[str, Any]) -> None:
    """Print an evaluation as tables."""
    title = f"{found['game']}, {found['players']} players, {found['games']} games, seed {found['seed']}"
    unit = found["regret_unit"]
    measured = [f"{unit}\na decision", "optimal"] if unit else []
    rows = []
    for i, name in enumerate(found["agents"]):
        low, high = found["interval"][i]
        cells = [name, f"{found['win_rate'][i]:.2%}", f"{low:.2%} to {high:.2%}"]
        if unit:
            regret, optimal = found["regret_per_decision"][i], found["optimal_share"][i]
            cells += ["–" if regret is None else f"{regret:.3f}", "–" if optimal is None else f"{optimal:.1%}"]
        rows.append(cells)
    show_table(["agent", "wins", "95 % interval", *measured], rows, title)
    if found["luck_values"]:
        _show_luck(found)
    if len(found["agents"]) > 2:
        _show_against(found)
    seats = ", ".join(f"seat {seat} {rate:.2%}" for seat, rate in enumerate(found["seat_win_rate"]))
    out.print(f"Wins by seat: {seats}.")
    for needed in found["games_needed"]:
        a, b = needed["agents"]
        shown = _games_in_words(needed["raw"])
        if needed["adjusted"]:
            shown += f"; without luck {_games_in_words(needed['adjusted'])}"
        out.print(f"Games needed to tell {a} and {b} apart: {shown}.")
    for name, mistakes in zip(found["agents"], found["worst"], strict=True):
        for mistake in mistakes:
            out.print(f"\n{name} lost {mistake['regret']:.1f} {unit} here:", style="bold")
            out.print(mistake["position"])
            out.print(f"chosen  {mistake['value']:.5f}  {mistake['action']}")
            out.print(f"best    {mistake['best_value']:.5f}  {mistake['best_action']}")
    if found["regret_note"]:
        out.print(f"Regret not measured: {found['regret_note']}.")
    if found["luck_note"]:
        out.print(f"Luck not removed: {found['luck_note']}.")


def _games_in_words(needed: dict[str, Any]) -> str:
    games = needed["games"]
    return "can't be estimated from these games" if games is None else f"about {games:,} games"


def _show_luck(found: dict[str, Any]) -> None:
    """Print the results without luck, and the parts of each win rate."""
    from trialea.evaluation.reports.text import times

    by = {"solution": "the solution's values", "estimate": "estimated values", "given": "the values given"}
    measured = ("without\nluck", "95 % interval", "games\nsaved")
    parts_of_rate = ("start", "luck", "own\nerrors", "others'\nerrors")
    rows = []
    for a, name in enumerate(found["agents"]):
        limits, saved, parts = found["adjusted_interval"][a], found["games_saved"][a], found["luck"][a]
        rows.append(
            (
                name,
                f"{found['adjusted_win_rate'][a]:.2%}",
                "does not vary" if limits is None else f"{limits[0]:.2%} to {limits[1]:.2%}",
                times(saved),
                f"{parts['start']:.2%}",
                *(f"{round(parts[key], 4) + 0.0:+.2%}" for key in ("luck", "own_errors", "others_errors")),
            )
        )
    show_table(("agent", *measured, *parts_of_rate), rows, f"by {by[found['luck_values']]}")


def _show_against(found: dict[str, Any]) -> None:
    """Print the win rate of each agent over the games in which another sat too."""
    rows = [
        (name, *("–" if rate is None else f"{rate:.2%}" for rate in rates))
        for name, rates in zip(found["agents"], found["against"], strict=True)
    ]
    show_table(["wins of", *(f"with {name}" for name in found["agents"])], rows)
