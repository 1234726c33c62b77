"""Read and write plain data in YAML 1.2, with bounds on size and nesting.

Every configuration file and every value on the command line is read here. PyYAML reads YAML 1.1, in which `yes` is a
truth value, `010` is 8 and `1:30` is 90. The tables below give it the core schema of YAML 1.2 instead
(https://yaml.org/spec/1.2.2/, section 10.3.2).
"""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar

import yaml

MAX_BYTES = 2**20
MAX_DEPTH = 50
MAX_DIGITS = 400  # of a number; a float has up to 309 before the point

_TAG = "tag:yaml.org,2002:"
# Kind, pattern and possible first characters of the scalars that are not text when written without quotes.
_CORE_SCHEMA = [
    ("null", re.compile(r"^(~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("int", re.compile(r"^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), list("-+0123456789")),
    (
        "float",
        re.compile(
            r"^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$",
        ),
        list("-+.0123456789"),
    ),
]
_RESOLVERS: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
for _kind, _pattern, _first in _CORE_SCHEMA:
    for _character in _first:
        _RESOLVERS.setdefault(_character, []).append((_TAG + _kind, _pattern))


class YamlError(ValueError):
    """Text that is not YAML, or holds more than plain data. The message is one line."""


def read_yaml(text: str | bytes) -> Any:
    """Return the data in a YAML 1.2 document: None, truth values, numbers, text, lists, and mappings with text keys.

    Raises:
        YamlError: the text is not valid YAML, is too long or nested too deep, uses anchors or tags, or has a mapping
            with the same key twice.
    """
    if len(text) > MAX_BYTES:
        raise YamlError(f"it must have at most {MAX_BYTES:,} bytes, got {len(text):,}")
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(_in_words(error)) from error


def write_yaml(data: Any) -> str:
    """Return plain data as a YAML document that `read_yaml` reads back as the same data."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def on_one_line(data: Any) -> str:
    """Return plain data as YAML without line breaks, as it can follow `key=` on the command line."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=True, width=math.inf
    )
    return text.removesuffix("...\n").strip()


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = _RESOLVERS

    def __init__(self, stream: str | bytes) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _problem("anchors and aliases (& and *) are not supported: repeat the value", event)
        if event.tag is not None:
            raise _problem(f"tags are not supported, got {event.tag}: write plain data", event)
        if self._depth == MAX_DEPTH:
            raise _problem(f"values must be nested at most {MAX_DEPTH} levels deep", event)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _problem("keys must be text, got a list or a mapping", key)
            name = self.construct_object(key)
            if not isinstance(name, str):
                raise _problem(f"keys must be text, got {key.value}: put it in quotes", key)
            if name in seen:
                raise _problem(f"the key {name!r} appears twice", key)
            seen.add(name)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Do nothing: in YAML 1.2 `<<` is a key like any other."""

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        text = node.value
        if len(text) > MAX_DIGITS:
            raise _problem(f"numbers must have at most {MAX_DIGITS} digits, got {len(text)}", node)
        if node.tag == _TAG + "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        return int(text[2:], 8) if text.startswith("0o") else int(text, 16 if text.startswith("0x") else 10)

    yaml_constructors = {
        **yaml.SafeLoader.yaml_constructors,
        _TAG + "int": construct_number,
        _TAG + "float": construct_number,
    }


def _problem(words: str, place: yaml.Event | yaml.Node) -> yaml.MarkedYAMLError:
    mark: Any = place.start_mark
    return yaml.MarkedYAMLError(problem=words, problem_mark=mark)


def _in_words(error: Exception) -> str:
    """Return the error and its place, on one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem or error.context}, line {mark.line + 1}, column {mark.column + 1}"
    return " ".join(str(error).split())


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers = _RESOLVERS

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        style = '"' if any(mark in data for mark in "\n\x85\u2028\u2029") else None  # so that it stays on one line
        node: yaml.ScalarNode = self.represent_scalar(_TAG + "str", data, style)
        return node

    yaml_representers: ClassVar[dict[type[Any], Any]] = {**yaml.SafeDumper.yaml_representers, str: represent_text}
