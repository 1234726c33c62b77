"""The bundled configurations, and how a YAML file becomes a checked model.

The YAML files in this folder may be changed freely. `load` serves training, tuning and tournaments: it reads a file,
applies changes and reports every invalid key.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from trialea.configs.yaml12 import MAX_BYTES, YamlError, on_one_line, read_yaml
from trialea.envs.errors import OptionError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)


def load(kind: type[M], path: str | Path, changes: Sequence[str] = (), folder: str = "") -> M:
    """Read a configuration from a YAML file, change it and check it.

    Args:
        kind: the pydantic model of the configuration.
        path: a file; or the path of a bundled file in `folder`, such as `configs/no_dice.yaml`.
        changes: `key=value` items, with dots for nested keys (`options.target=20`) and the value in YAML. The other
            keys of a nested mapping keep their values.
        folder: the folder in `configs` to look in, by default `configs` itself.

    Raises:
        OptionError: the file is missing or not a mapping, or a key or value doesn't fit; the message names it.
    """
    content = read(path, folder)
    change(content, kind, changes)
    return check(kind, content, source(path, changes))


def source(path: str | Path, changes: Sequence[str]) -> str:
    """Return the source of a configuration's keys, for error messages."""
    return f"{path}, changed by {', '.join(map(_short, changes))}" if changes else str(path)


def read(path: str | Path, folder: str = "") -> dict[str, Any]:
    """Return the keys of a configuration file, unchecked. Arguments and errors are those of `load`."""
    path = Path(path)
    content = _parse(_content(path, folder), str(path))
    if not isinstance(content, dict):
        raise OptionError(f"{path} must hold a mapping of keys to values, got {_shown(content)}")
    return content


def change(content: dict[str, Any], kind: type[BaseModel], changes: Iterable[str]) -> None:
    """Apply `key=value` items to the keys of a configuration, in place.

    Args:
        content: the keys.
        kind: the model, for its defaults: a nested key that is missing in `content` is filled from there first.
        changes: see `load`.

    Raises:
        OptionError: an item isn't `key=value`, its value isn't YAML, or its key leads into a value without keys.
    """
    for item in changes:
        key, equals, text = item.partition("=")
        *parents, last = key.split(".")
        if not equals or not all((*parents, last)):
            raise OptionError(f"a change must be written key=value, got {_short(item)}")
        place: Any = content
        model: type[BaseModel] | None = kind
        for number, parent in enumerate(parents):
            default = _default(model, parent)
            place = place.setdefault(
                parent, default.model_dump(mode="json") if isinstance(default, BaseModel) else default
            )
            if not isinstance(place, dict):
                within = ".".join(parents[: number + 1])
                raise OptionError(f"{_short(key)}: {within} has no nested keys. Set {within} as a whole")
            model = type(default) if isinstance(default, BaseModel) else None
        place[last] = _parse(text, _short(item))


def _default(model: type[BaseModel] | None, key: str) -> Any:
    """Return the default of a model's key if it has nested keys, else an empty mapping."""
    field = model.model_fields.get(key) if model else None
    default = field.get_default(call_default_factory=True) if field and not field.is_required() else None
    return default if isinstance(default, BaseModel) else dict(default) if isinstance(default, Mapping) else {}


def check(kind: type[M], content: dict[str, Any], where: str) -> M:
    """Return the keys of the configuration that comes from `where` as a model. Errors are those of `load`."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        problems: dict[str, list[str]] = {}  # a key that may be of several types has a problem with each
        errors = error.errors(include_url=False)
        for item in errors:
            if not _follows(item, errors):
                problems.setdefault(_place(item, content), []).append(_problem(item, kind))
        listed = "; ".join(f"{place} {_joined(found)}".strip() for place, found in problems.items())
        raise OptionError(f"{where}: {listed}") from error


def _follows(error: ErrorDetails, errors: list[ErrorDetails]) -> bool:
    """Return whether a list is too short only because one of its items has an error."""
    place = error["loc"]
    return error["type"] == "too_short" and any(
        len(other["loc"]) > len(place) and other["loc"][: len(place)] == place for other in errors
    )


_CONDITIONS = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "model_type": "a mapping",
    "string_pattern_mismatch": "text that matches {pattern}",
    "string_too_short": "text that isn't empty",
    "string_type": "text",
    "too_long": "at most {max_length} items long",
    "too_short": "at least {min_length} items long",
    "tuple_type": "a list",
}
"""The condition that a value must meet, by pydantic's type of error."""


def _problem(error: ErrorDetails, kind: type[BaseModel]) -> str:
    """Return a description of a key's error, in the terms of YAML, such as list and mapping."""
    if error["type"] == "extra_forbidden":
        keys = f". The keys are {', '.join(kind.model_fields)}" if len(error["loc"]) == 1 else ""
        return f"is not a known key{keys}"
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    value = error["input"]
    condition = _CONDITIONS.get(error["type"])
    words = f"must be {condition.format(**error.get('ctx', {}))}" if condition else f"doesn't fit: {error['msg']}"
    remedy = ""
    if error["type"] == "string_type" and isinstance(value, (bool, int, float)):
        remedy = ". Put it in quotes"
    elif error["type"] in ("int_type", "float_type") and isinstance(value, str) and _is_number(value):
        remedy = ". Leave out the quotes"
    return f"{words}, got {_shown(value)}{remedy}"


def _joined(problems: Sequence[str]) -> str:
    """Return the problems of one key as a sentence that names its value once."""
    unique = list(dict.fromkeys(problems))
    got = [problem.partition(", got ")[2] for problem in unique]
    if len(unique) > 1 and all(got) and len(set(got)) == 1:
        conditions = [problem.partition(", got ")[0].removeprefix("must be ") for problem in unique]
        return f"must be {' or '.join(conditions)}, got {got[0]}"
    return ", or ".join(unique)


def _is_number(text: str) -> bool:
    try:
        return isinstance(read_yaml(text), (int, float))
    except YamlError:
        return False


def _shown(value: Any) -> str:
    """Return a value in YAML, shortened."""
    try:
        return _short(on_one_line(value))
    except Exception:  # not a YAML value: from Python
        return reprlib.repr(value)


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:60]}…{text[-10:]}"


def _place(error: ErrorDetails, content: Any) -> str:
    """Return the place of an error in the content, without the names of the types that pydantic tried there."""
    place = []
    for part in error["loc"]:
        inside = range(len(content)) if isinstance(content, list) else content if isinstance(content, dict) else ()
        if part in inside:
            place.append(_short(str(part)))
            content = content[part]
    if error["type"] == "missing":
        place.append(str(error["loc"][-1]))
    return ".".join(place)


def shipped(folder: str = "") -> list[str]:
    """Return the paths of the bundled configurations in a folder of `configs`, in the form that `load` takes."""
    return [(Path("configs") / folder / name).as_posix() for name in _shipped_names(folder)]


def _shipped_names(folder: str) -> list[str]:
    return sorted(item.name for item in (files(__name__) / folder).iterdir() if item.name.endswith(".yaml"))


def _content(path: Path, folder: str) -> bytes:
    """Return the content of the user's file, or else of the bundled file with this name."""
    if os.path.isdir(path):
        raise OptionError(f"a configuration must be a YAML file, got the folder {path}")
    if os.path.isfile(path):
        try:
            with path.open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise OptionError(f"{path} cannot be read: {error.strerror}") from error
    if path.parent not in (Path(), Path(folder), Path("configs") / folder) or path.name not in _shipped_names(folder):
        raise OptionError(
            f"there is no configuration {_short(str(path))}. Bundled configurations: {', '.join(shipped(folder))}"
        )
    return (files(__name__) / folder / path.name).read_bytes()


def _parse(text: str | bytes, where: str) -> Any:
    try:
        return read_yaml(text)
    except YamlError as error:
        raise OptionError(f"{where} is not valid YAML: {error}") from error
