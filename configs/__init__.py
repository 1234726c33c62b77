"""Configurations that ship with the package, one file for each job, and how a YAML file becomes a checked model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from trialea.envs.errors import OptionError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)


def load(kind: type[M], path: str | Path, changes: Sequence[str] = (), folder: str = "") -> M:
    """Read a configuration of some kind from YAML and change it.

    Args:
        kind: the pydantic model that it must fit.
        path: a file; or the path of one that ships in `folder`, such as `configs/no_dice.yaml`.
        changes: `key=value` items, with dots into nested keys (`options.target=20`) and the value in YAML.
        folder: of those that ship, a folder of `configs`.

    Raises:
        OptionError: the file is missing or not a mapping, or a key or value does not fit; the message says which.
    """
    return check(kind, read(path, changes, folder), source(path, changes))


def source(path: str | Path, changes: Sequence[str]) -> str:
    """Where the keys of a configuration come from, for errors about them."""
    return f"{path}, changed by {', '.join(changes)}" if changes else str(path)


def read(path: str | Path, changes: Sequence[str] = (), folder: str = "") -> dict[str, Any]:
    """The keys of a configuration, changed but not checked; arguments and errors are those of `load`."""
    content = _read(Path(path), folder)
    for change in changes:
        _apply(content, change)
    return content


def check(kind: type[M], content: dict[str, Any], where: str) -> M:
    """The keys of the configuration that comes from `where` as the pydantic model that they must fit; see `load`."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        problems: dict[str, list[str]] = {}  # what may be of one type or another has a problem with each
        errors = error.errors()
        for item in errors:
            if not _follows(item, errors):
                problems.setdefault(_place(item, content), []).append(_message(item, kind))
        told = "; ".join(f"{place}: {', or '.join(messages)}" for place, messages in problems.items())
        raise OptionError(f"{where}: {told}") from error


def _follows(error: ErrorDetails, errors: list[ErrorDetails]) -> bool:
    """Whether a list is too short only because something that is in it is wrong, and has an error of its own."""
    place = error["loc"]
    return error["type"] == "too_short" and any(
        len(other["loc"]) > len(place) and other["loc"][: len(place)] == place for other in errors
    )


def _message(error: ErrorDetails, kind: type[BaseModel]) -> str:
    """What is wrong, in the words of YAML, which has lists and mappings."""
    if error["type"] == "extra_forbidden":
        keys = f"; the keys are: {', '.join(kind.model_fields)}" if len(error["loc"]) == 1 else ""
        return f"there is no such key{keys}"
    words = error["msg"].removeprefix("Value error, ")
    return words.replace("a valid tuple", "a list").replace("a valid dictionary", "a mapping")


def _place(error: ErrorDetails, content: Any) -> str:
    """Where in the content an error lies, without pydantic's names of the types that were tried there."""
    place = []
    for part in error["loc"]:
        inside = range(len(content)) if isinstance(content, list) else content if isinstance(content, dict) else ()
        if part in inside:
            place.append(str(part))
            content = content[part]
    if error["type"] == "missing":
        place.append(str(error["loc"][-1]))
    return ".".join(place) or "config"


def shipped(folder: str = "") -> list[str]:
    """The configurations that the package brings in a folder of `configs`, as paths that `load` takes."""
    names = [item.name for item in (files(__name__) / folder).iterdir() if item.name.endswith(".yaml")]
    return sorted((Path("configs") / folder / name).as_posix() for name in names)


def _read(path: Path, folder: str) -> dict[str, Any]:
    if path.is_file():
        text = path.read_bytes()
    else:
        inside = files(__name__) / folder / path.name
        if not inside.is_file() or path.parent not in (Path(), Path(folder), Path("configs") / folder):
            raise OptionError(
                f"no configuration lies at {path}; those of the package are: {', '.join(shipped(folder))}"
            )
        text = inside.read_bytes()
    content = _parse(text, str(path))
    if not isinstance(content, dict):
        raise OptionError(f"{path} must hold a mapping of keys to values")
    return content


class _Loader(yaml.SafeLoader):
    """YAML's plain types alone; a key that stands twice in a mapping is an error, as it is in YAML itself."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (name := self.construct_object(key)) in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {name!r} stands twice", key.start_mark
                    )
                seen.add(name)
        return super().construct_mapping(node, deep)


def _parse(text: str | bytes, where: str) -> Any:
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise OptionError(f"{where} is not valid YAML: {' '.join(str(error).split())}") from error


def _apply(content: dict[str, Any], change: str) -> None:
    key, equals, value = change.partition("=")
    if not equals or not key:
        raise OptionError(f"a change is written key=value, not {change!r}")
    *parents, last = key.split(".")
    place = content
    for parent in parents:
        place = place.setdefault(parent, {})
        if not isinstance(place, dict):
            raise OptionError(f"{key}: {parent} holds no keys of its own")
    place[last] = _parse(value, change)
