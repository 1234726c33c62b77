"""Read the options of a command: options that several commands share, and a game's options, such as `--target 20`.

Which options a game has differs from game to game. A command registered with `WITH_GAME_OPTIONS` leaves the words that
it doesn't know to `split_words` or `make_game`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer

from trialea.configs.yaml12 import YamlError, read_yaml
from trialea.envs.errors import OptionError, did_you_mean
from trialea.envs.game import Game
from trialea.envs.package import package_of

WITH_GAME_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}

GameName = Annotated[str, typer.Argument(metavar="GAME", help="The game's name; `trialea games` lists the games.")]
Players = Annotated[
    int | None, typer.Option(metavar="N", help="The number of players; by default the fewest that can play.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, with every figure.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The seed of the dice and of all random choices.")]
Config = Annotated[str, typer.Argument(metavar="CONFIG", help="A YAML file, or the path of a bundled configuration.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the configuration. Can be given several times."),
]


def options_of(game: str) -> dict[str, Any]:
    """Return the options of the game called `game`, with their defaults."""
    kind = package_of(game).rules.Options
    return {field.name: field.default for field in fields(kind)}


def make_game(
    context: typer.Context, game: str, players: int | None, settings: Mapping[str, Any] | None = None
) -> tuple[Game, dict[str, Any]]:
    """Return the game that a command names, and the settings that it gives.

    Args:
        context: of the command; the words left over in it are options of the game, or settings.
        game: the game's name.
        players: the number of players; by default the fewest.
        settings: further options that can be given like the game's options, with defaults.
    """
    plain, options = split_words(context, context.args, game, settings)
    if plain:
        raise OptionError(f"unexpected words: {' '.join(plain)}. See {context.command_path} --help")
    chosen = {name: options.pop(name) for name in settings or () if name in options}
    return Game(game, players, **options), chosen


def split_words(
    context: typer.Context, words: Sequence[str], game: str, settings: Mapping[str, Any] | None = None
) -> tuple[list[str], dict[str, Any]]:
    """Split the words that a command doesn't know into plain words and options (`--name value` or `--flag`)."""
    known = {**options_of(game), **(settings or {})}
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
            raise OptionError(_unknown(context, written, game, known))
        if not has_value and isinstance(known[name], bool):
            options[name] = True
            continue
        text = value if has_value else next(rest, None)
        if text is None:
            raise OptionError(f"--{written} needs a value")
        options[name] = _value(written, text, known[name])
    return plain, options


def missing_config(shipped: Sequence[str]) -> OptionError:
    """Return the error for a command without the configuration that it needs."""
    return OptionError(f"CONFIG is missing. Give a YAML file, or a bundled configuration: {', '.join(shipped)}")


def _unknown(context: typer.Context, written: str, game: str, known: Mapping[str, Any]) -> str:
    of_game = [f"--{name.replace('_', '-')}" for name in sorted(known)]
    of_command = [option for parameter in context.command.params for option in parameter.opts if option[:2] == "--"]
    nearest = did_you_mean(f"--{written}", [*of_game, *of_command])
    return f"no such option: --{written}.{nearest} The options of {game} are {', '.join(of_game)}"


def _value(written: str, text: str, default: Any) -> Any:
    """Return the value of an option's text, of the type of its default; an integer if the default is None."""
    if isinstance(default, str):
        return text
    wanted = int if default is None else type(default)
    try:
        value = read_yaml(text)
    except YamlError:
        value = None
    if wanted is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # such as 1e6
    if type(value) is not wanted:
        kind = {bool: "true or false", int: "a whole number"}.get(wanted, "a number")
        raise OptionError(f"--{written} must be {kind}, got {text!r}")
    return value
