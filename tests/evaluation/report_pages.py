"""Helpers that read the HTML page of a report."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path


class Loads(HTMLParser):
    """= | Collects everything that a page would load from elsewhere, its tags and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [v for k, v in attrs if k.rpartition(":")[2] in ("src", "href", "data") and v and v[0] != "#"]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(path: Path) -> tuple[str, Loads]:
    """Return a page and its parsed form."""
    page = path.read_text("utf-8")
    parser = Loads()
    parser.feed(page)
    return page, parser
