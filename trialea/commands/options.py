"""Options that several commands share, and a game's own options, which are read from the words left over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer

from trialea.configs.yaml12 import YamlError, read_yaml
from trialea.envs.errors import OptionError
from trialea.envs.package import package_of

# A game's own options, such as --target, differ from game to game: they are read from the words left over.
OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}

GameName = Annotated[str, typer.Argument(help="A game's name: see `trialea games`.")]
Players = Annotated[int | None, typer.Option(help="How many players; by default the fewest that can play.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Seed = Annotated[int, typer.Option(help="What all the dice and random choices follow from.")]


def options_of(game: str) -> dict[str, Any]:
    """The options of the game of that name, with their defaults."""
    kind = package_of(game).rules.Options
    return {field.name: field.default for field in fields(kind)}


def split_words(words: Sequence[str], game: str, known: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Part the words left over into plain ones and the `known` options, written `--name value` or `--flag`."""
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
    """What the text of an option says, of the same type as the option's default; a whole number where that is None."""
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
        raise OptionError(f"--{written} takes {kind}, not {text!r}")
    return value


def make_game(
    game: str, players: int | None, words: Sequence[str], settings: Mapping[str, Any] | None = None
) -> tuple[Any, dict[str, Any]]:
    """The game of the command's words, which must hold nothing but its options and `settings`, and the settings."""
    from trialea.envs.game import Game

    settings = settings or {}
    plain, options = split_words(words, game, {**options_of(game), **settings})
    if plain:
        raise OptionError(f"unexpected: {' '.join(plain)}")
    chosen = {name: options.pop(name) for name in settings if name in options}
    return Game(game, players, **options), chosen
