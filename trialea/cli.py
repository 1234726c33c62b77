"""The command line: `trialea games | solve | train | evaluate | play | bench`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from trialea import GAMES, __version__
from trialea.envs.errors import OptionError, TrialeaError, missing_extra
from trialea.envs.registry import entry_of

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Dice games for reinforcement learning, with the exact solution to measure agents against.",
)
out = Console()
err = Console(stderr=True)

# A game's own options, such as --target, differ from game to game: they are read from the words left over.
_OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}

GameName = Annotated[str, typer.Argument(help="A game's name: see `trialea games`.")]
Players = Annotated[int, typer.Option(help="How many players.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Seed = Annotated[int, typer.Option(help="What all the dice and random choices follow from.")]


def main() -> None:
    """Run the command line; an error of ours is one line on standard error and exit code 2."""
    try:
        app()
    except TrialeaError as error:
        _tell(f"trialea: {error}", "red")
        sys.exit(2)
    except BrokenPipeError:  # whoever read our output has read enough
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # a file or folder that cannot be read or written
        _tell(f"trialea: {error}", "red")
        sys.exit(2)


def _tell(words: str, style: str = "") -> None:
    """A line on standard error, neither wrapped nor marked up: it may hold a path or a command to copy."""
    err.print(words, style=style, markup=False, highlight=False, soft_wrap=True)


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


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _split(words: Sequence[str], game: str) -> tuple[list[str], dict[str, Any]]:
    """Part the words left over into plain ones and the game's options, written `--name value` or `--flag`."""
    kind = import_module(f"trialea.envs.{entry_of(game).name}.rules").Options
    known = {field.name: field.default for field in fields(kind)}
    plain: list[str] = []
    options: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("--"):
            plain.append(word)
            continue
        written, has_value, value = word[2:].partition("=")
        name = written.replace("-", "_")
        if name not in known:
            listed = ", ".join(f"--{key.replace('_', '-')}" for key in sorted(known))
            raise OptionError(f"no such option: --{written}; the options of {game} are {listed}")
        if not has_value and isinstance(known[name], bool):
            options[name] = True
            continue
        text = value if has_value else next(rest, None)
        if text is None:
            raise OptionError(f"--{written} needs a value")
        options[name] = _value(written, text, known[name])
    return plain, options


def _value(written: str, text: str, default: Any) -> Any:
    """What the text of a game's option says, of the same type as the option's default."""
    if isinstance(default, str):
        return text
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = None
    if type(value) is not type(default):
        kind = {bool: "true or false", int: "a whole number"}.get(type(default), "a number")
        raise OptionError(f"--{written} takes {kind}, not {text!r}")
    return value


def _make_game(game: str, players: int, words: Sequence[str]) -> Any:
    """The game of the command's words, which must hold nothing but its options."""
    from trialea.envs.game import Game

    plain, options = _split(words, game)
    if plain:
        raise OptionError(f"unexpected: {' '.join(plain)}")
    return Game(game, players, **options)


@contextmanager
def _progress(label: str, shown: bool) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error, told the share of the work that is done."""
    columns = (TextColumn(label), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not (shown and err.is_terminal)) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda done: bar.update(task, completed=done)


@app.command()
def games(as_json: AsJson = False) -> None:
    """List the games, their options with defaults, and the agents that they offer by name."""
    rows: list[dict[str, Any]] = []
    for entry in GAMES.values():
        rules = import_module(f"trialea.envs.{entry.name}.rules")
        options = {field.name: field.default for field in fields(rules.Options)}
        rows.append(
            {
                "game": entry.name,
                "summary": entry.summary,
                "gymnasium": entry.gym_id,
                "pettingzoo": entry.pettingzoo_id,
                "players": [rules.MIN_PLAYERS, rules.MAX_PLAYERS],
                "options": options,
                "agents": list(entry.agents),
            }
        )
    if as_json:
        _print_json(rows)
        return
    table = Table("game", "players", "options", "agents", "what it is")
    for row in rows:
        low, high = row["players"]
        settings = "\n".join(f"--{key.replace('_', '-')} {value}" for key, value in row["options"].items())
        table.add_row(row["game"], f"{low} to {high}", settings, "\n".join(row["agents"]), row["summary"])
    out.print(table)


@app.command(context_settings=_OPEN)
def solve(
    context: typer.Context,
    game: GameName,
    players: Players = 2,
    state: Annotated[str, typer.Option(help="A position, such as 12,25: the mover's total first.")] = "",
    as_json: AsJson = False,
) -> None:
    """Solve a game exactly and print its values. Options of the game follow, such as --target 20."""
    from trialea.agents import solve as solve_game

    described = _make_game(game, players, context.args)
    with _progress("solving", not as_json) as progress:
        solution = solve_game(described, progress)
    summary = solution.summary(_numbers(state)) if state else solution.summary()
    if as_json:
        _print_json(summary)
        return
    table = Table(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")  # the digest is long, and of no use without its end
    for key, value in summary.items():
        table.add_row(key, _in_words(value))
    out.print(table)


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
    return f"{value:.6g}" if isinstance(value, float) else str(value)


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
        from trialea.training import train as training
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
        _tell(f"The run is complete: {folder}")
    else:
        _tell(f"Stopped and saved. To go on: trialea train --resume {folder}")
        raise typer.Exit(130)


@app.command(context_settings=_OPEN)
def evaluate(
    game: GameName,
    words: Annotated[
        list[str], typer.Argument(metavar="AGENT", help="Names, or paths of runs or models: two or more.")
    ],
    players: Players = 2,
    num_games: Annotated[int, typer.Option("--games", help="Games to play.")] = 4000,
    seed: Seed = 0,
    duplicate: Annotated[bool, typer.Option(help="Play every seating with the same dice.")] = True,
    regret: Annotated[bool, typer.Option(help="Measure regret, where the game is solved.")] = True,
    worst: Annotated[int, typer.Option(help="How many of each agent's worst decisions to show.")] = 3,
    report: Annotated[str, typer.Option(help="Write an HTML report to this file.")] = "",
    as_json: AsJson = False,
) -> None:
    """Let agents play each other. Options of the game may follow, such as --target 20."""
    from trialea.envs.game import Game
    from trialea.evaluation import evaluate as run
    from trialea.evaluation import write_report

    if Path(report).is_dir() and report:
        raise OptionError(f"--report names the file to write, and {report} is a folder")
    agents, options = _split(words, game)
    described = Game(game, players, **options)
    with _progress("playing", not as_json) as progress:
        result = run(described, agents, num_games, seed, duplicate, regret, worst, progress=progress)
    if as_json:
        _print_json(result.to_json())
    else:
        _show_evaluation(result.to_json())
    if report:  # last, so that a file that cannot be written loses no result
        runs = [Path(agent) for agent in agents if Path(agent).is_dir()]
        write_report([result], report, run_folder=runs[0] if runs else None)
        _tell(f"The report: {report}")


def _show_evaluation(found: dict[str, Any]) -> None:
    """An evaluation as tables for a person."""
    title = f"{found['game']}, {found['players']} players, {found['games']} games, seed {found['seed']}"
    table = Table("agent", "wins", "95 % interval", "regret, milli-wins a decision", "optimal", title=title)
    for i, name in enumerate(found["agents"]):
        low, high = found["interval"][i]
        regret, optimal = found["regret_per_decision"][i], found["optimal_share"][i]
        table.add_row(
            name,
            f"{found['win_rate'][i]:.2%}",
            f"{low:.2%} to {high:.2%}",
            "–" if regret is None else f"{regret:.3f}",
            "–" if optimal is None else f"{optimal:.1%}",
        )
    out.print(table)
    if len(found["agents"]) > 2:
        _show_against(found)
    seats = ", ".join(f"seat {seat} {rate:.2%}" for seat, rate in enumerate(found["seat_win_rate"]))
    out.print(f"Wins by seat: {seats}.", highlight=False)
    for name, mistakes in zip(found["agents"], found["worst"], strict=True):
        for mistake in mistakes:
            out.print(f"\n{name} lost {mistake['regret']:.1f} milli-wins here:", style="bold", highlight=False)
            out.print(mistake["position"], highlight=False, markup=False)
            out.print(f"chosen  {mistake['value']:.5f}  {mistake['action']}", highlight=False, markup=False)
            out.print(f"best    {mistake['best_value']:.5f}  {mistake['best_action']}", highlight=False, markup=False)
    if found["regret_note"]:
        out.print(f"No regret: {found['regret_note']}.", highlight=False, markup=False)


def _show_against(found: dict[str, Any]) -> None:
    """Who won how much of the games in which both sat."""
    table = Table("wins of", *(f"with {name}" for name in found["agents"]))
    for name, rates in zip(found["agents"], found["against"], strict=True):
        table.add_row(name, *("–" if rate is None else f"{rate:.2%}" for rate in rates))
    out.print(table)


@app.command(context_settings=_OPEN)
def play(
    context: typer.Context,
    game: GameName,
    players: Players = 2,
    against: Annotated[str, typer.Option(help="Who plays the other seats.")] = "greedy",
    seat: Annotated[int, typer.Option(help="Your seat.")] = 0,
    hints: Annotated[bool, typer.Option(help="Show the exact values of the best actions.")] = False,
    seed: Annotated[int | None, typer.Option(help="The game's seed; by default a fresh one.")] = None,
) -> None:
    """Play at the terminal. Options of the game may follow, such as --target 20."""
    import secrets

    from trialea.agents.human import GameQuit, HumanAgent
    from trialea.envs.agent import make_agent
    from trialea.envs.learner import check_seed
    from trialea.play import play as play_game

    described = _make_game(game, players, context.args)
    if not 0 <= seat < players:
        raise OptionError(f"--seat must be from 0 to {players - 1}, not {seat}")
    agents: list[Any] = [make_agent(against, described, other) for other in range(players)]
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
        _print_json(figures)
        return
    table = Table("figure", "value")
    for key, value in figures.items():
        table.add_row(key, f"{value:,.3g}" if isinstance(value, float) and value < 1000 else _thousands(value))
    out.print(table)


def _thousands(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, float) else str(value)
