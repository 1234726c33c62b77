"""Helpers that read the tables in the pages of the docs.

In the tables `{a; b}` is expanded into its parts; the last of several choices varies fastest.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def table(name: str, section: str, number: int = 0) -> list[list[str]]:
    """Return the cells of a table in a section of the game's page, without its head."""
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    _, found, rest = page.partition(f"\n## {section}\n")
    assert found, f"{name}.md has no section {section}"
    tables = re.findall(r"^\|.*?\|\n\| --- .*?\|\n((?:\|.*\|\n)+)", rest.partition("\n## ")[0], re.MULTILINE)
    assert len(tables) > number, f"{name}.md: no table {number} in section {section}"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[number].splitlines()]


def expanded(name: str) -> list[str]:
    """Return all names that a name with choices stands for."""
    parts = re.split(r"\{(.*?)\}", name)
    choices = [part.split("; ") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


def indexed(rows: list[list[str]]) -> dict[int, str]:
    """Return the name of each index. The rows must cover 0, 1, 2, … in order, without gaps."""
    names: dict[int, str] = {}
    for index, name, *_ in rows:
        low, _, high = index.partition("–")
        numbers = range(int(low), int(high or low) + 1)
        assert numbers.start == len(names), f"row {index} should begin at {len(names)}"
        parts = expanded(name)
        if len(parts) == 1:
            parts *= len(numbers)
        assert len(parts) == len(numbers), f"row {index} names {len(parts)} entries"
        names.update(zip(numbers, parts, strict=True))
    return names
