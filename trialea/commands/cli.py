"""The command line: `trialea games | solve | train | evaluate | exploit | tournament | tune | play | bench`."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from trialea import GAMES, __version__
from trialea.commands.console import (
    OPEN,
    AsJson,
    GameName,
    Players,
    Seed,
    err,
    make_game,
    options_of,
    out,
    print_json,
    progress_bar,
    split_words,
    tell,
)
from trialea.commands.exploit import exploit
from trialea.commands.tournament import tournament
from trialea.commands.tune import tune
from trialea.envs.errors import OptionError, TrialeaError, missing_extra
from trialea.envs.registry import entry_of

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Dice games for reinforcement learning, with the exact solution to measure agents against.",
)


def main() -> None:
    """Run the command line; an error of ours is one line on standard error and exit code 2, a warning one line."""
    warnings.showwarning = _show_warning
    try:
        app()
    except TrialeaError as error:
        tell(f"trialea: {error}", "red")
        sys.exit(2)
    except BrokenPipeError:  # whoever read our output has read enough
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # a file or folder that cannot be read or written
        tell(f"trialea: {error}", "red")
        sys.exit(2)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    tell(f"trialea: warning: {message}", "yellow")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trialea {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command()
def games(as_json: AsJson = False) -> None:
    """List the games, their options with defaults, and the agents that they offer by name."""
    from trialea.agents import zoo

    rows: list[dict[str, Any]] = []
    for entry in GAMES.values():
        rules = import_module(f"trialea.envs.{entry.name}.rules")
        options = options_of(entry.name)
        rows.append(
            {
                "game": entry.name,
                "summary": entry.summary,
                "gymnasium": entry.gym_id,
                "pettingzoo": entry.pettingzoo_id,
                "players": [rules.MIN_PLAYERS, rules.MAX_PLAYERS],
                "options": options,
                "agents": list(entry.agents),
                "zoo": zoo.names(entry.name),
            }
        )
    if as_json:
        print_json(rows)
        return
    table = Table("game", "players")
    for column in ("options", "agents", "what it is"):
        table.add_column(column, overflow="fold")
    for row in rows:
        low, high = row["players"]
        settings = "\n".join(f"--{key.replace('_', '-')}={value}" for key, value in row["options"].items())
        table.add_row(
            row["game"], f"{low} to {high}", settings, "\n".join([*row["agents"], *row["zoo"]]), row["summary"]
        )
    out.print(table)


@app.command(context_settings=OPEN)
def solve(
    context: typer.Context,
    game: GameName,
    players: Players = None,
    state: Annotated[str, typer.Option(help="A position, such as 12,25: the mover's total first.")] = "",
    as_json: AsJson = False,
) -> None:
    """Solve a game exactly and print its values. Options of the game and of its solver follow, such as --target 20."""
    from trialea.agents import solve as solve_game
    from trialea.agents import solver_settings
    from trialea.agents.cache import cache_folder, why_not_kept

    described, settings = make_game(game, players, context.args, solver_settings(entry_of(game).name))
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


@app.command()
def train(
    config: Annotated[str, typer.Argument(help="A YAML file, or one of ours such as configs/no_dice.yaml.")] = "",
    out_folder: Annotated[str, typer.Option("--out", help="The run folder; by default a new one in runs/.")] = "",
    change: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key: --set frames=1000000, --set ppo.n_steps=64."),
    ] = None,
    resume: Annotated[str, typer.Option(help="Go on with the run in this folder.")] = "",
) -> None:
    """Train a policy. Ctrl-C stops after saving everything; --resume goes on."""
    try:
        from trialea.training import config as configuration
        from trialea.training import run as training
    except ImportError as error:
        raise missing_extra("stable-baselines3", "train", "training") from error
    if resume:
        if config or out_folder or change:
            raise OptionError("--resume takes the configuration of the run: give it alone")
        folder = Path(resume)
        finished = training.resume(folder)
    else:
        if not config:
            raise OptionError(f"name a configuration; ours are: {', '.join(configuration.shipped_configs())}")
        settings = configuration.load_config(config, change or ())
        folder = Path(out_folder) if out_folder else training.new_run_folder(Path("runs"), Path(config).stem)
        finished = training.train(settings, folder)
    if finished:
        tell(f"The run is complete: {folder}")
    else:
        tell(f"Stopped and saved. To go on: trialea train --resume {folder}")
        raise typer.Exit(130)


@app.command(context_settings=OPEN)
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
    from trialea.evaluation import UnfinishedMatchError, write_report
    from trialea.evaluation import evaluate as run
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


app.command(context_settings=OPEN)(exploit)
app.command()(tournament)
app.command()(tune)


@app.command(context_settings=OPEN)
def play(
    context: typer.Context,
    game: GameName,
    players: Players = None,
    against: Annotated[str, typer.Option(help="Who plays the other seats: by default greedy, else random.")] = "",
    seat: Annotated[int, typer.Option(help="Your seat.")] = 0,
    hints: Annotated[bool, typer.Option(help="Show the exact values of the best actions.")] = False,
    seed: Annotated[int | None, typer.Option(help="The game's seed; by default a fresh one.")] = None,
) -> None:
    """Play at the terminal. Options of the game may follow, such as --target 20."""
    import secrets

    from trialea.agents.human import GameQuit, HumanAgent
    from trialea.commands.play import play as play_game
    from trialea.envs.agent import make_agent
    from trialea.envs.learner import check_seed

    described, _ = make_game(game, players, context.args)
    if not 0 <= seat < described.num_players:
        raise OptionError(f"--seat must be from 0 to {described.num_players - 1}, not {seat}")
    against = against or ("greedy" if "greedy" in entry_of(game).agents else "random")
    agents: list[Any] = [make_agent(against, described, other) for other in range(described.num_players)]
    agents[seat] = HumanAgent(described, hints=hints)
    try:
        play_game(described, agents, secrets.randbits(32) if seed is None else check_seed(seed))
    except GameQuit:
        err.print("You left the game.")


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Which: aec, batch, train, solver; all by default.")] = None,
    game: Annotated[str, typer.Option(help="The game to measure.")] = "no_dice",
    as_json: AsJson = False,
) -> None:
    """Measure speed against peers, each as a ratio in one run."""
    from trialea.benchmarks import run

    entry_of(game)
    figures = run(game, names or (), report=None if as_json else lambda name: err.print(f"measuring: {name}"))
    if as_json:
        print_json(figures)
        return
    table = Table("figure", "value")
    for key, value in figures.items():
        table.add_row(key, f"{value:,.3g}" if isinstance(value, float) and value < 1000 else _thousands(value))
    out.print(table)


def _thousands(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, float) else str(value)
