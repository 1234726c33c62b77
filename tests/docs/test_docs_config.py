"""Tests that the docs list every key of the training configurations with its default."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import yaml

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training.md"
SECTION = re.compile(r"^## Configuration$(.*?)^## ", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^\| key \| default \| meaning \|\n\| --- .*\|\n((?:\|.*\|\n)+)", re.MULTILINE)
NESTED = ("ppo", "measure")


def documented() -> list[dict[str, str]]:
    """Return, for each configuration table in order, the default shown for each key."""
    section = SECTION.search(PAGE.read_text(encoding="utf-8"))
    assert section
    tables = []
    for match in TABLE.finditer(section[1]):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in match[1].splitlines()]
        tables.append({key: default.strip("`") for key, default, *_ in rows})
    return tables


@pytest.mark.parametrize(("place", "kind"), list(enumerate(["TrainConfig", "Stage", "Ppo", "Measure"])))
def test_training_page_lists_keys_and_defaults(place: int, kind: str) -> None:
    config = import_module("trialea.training.config")
    fields = getattr(config, kind).model_fields
    cells = documented()[place]
    assert list(cells) == list(fields)
    for key, field in fields.items():
        if key in NESTED:
            assert cells[key] == "below"
        elif field.is_required():
            assert cells[key] == "required"
        else:
            assert yaml.safe_load(cells[key]) == plain(field.default), key


@pytest.mark.parametrize(
    ("page", "place", "kind"),
    [
        ("afterstate", 0, "trialea.training.config:AfterstateConfig"),
        ("rllib", 0, "trialea.training.config:RllibConfig"),
        ("rllib", 1, "trialea.training.config:RllibPpo"),
        ("tuning", 0, "trialea.training.config:TuneConfig"),
    ],
)
def test_other_pages_list_keys_and_defaults(page: str, place: int, kind: str) -> None:
    fields = resolve_name(kind).model_fields
    table = TABLE.findall((PAGE.parent / f"{page}.md").read_text(encoding="utf-8"))[place]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert [row[0] for row in rows] == list(fields)
    for key, cell, _ in rows:
        if fields[key].is_required():
            assert cell == "required"
        elif key not in NESTED:
            assert yaml.safe_load(cell.strip("`")) == plain(fields[key].default), key


def plain(value: Any) -> Any:
    """Return a default in the form in which YAML would load it."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value
