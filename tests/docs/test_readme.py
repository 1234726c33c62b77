"""Tests that run the examples in the documentation.

Every ```python block of README.md and docs/*.md is executed, in order, each with its own namespace. The blocks of a
page share a folder, so a block can read what an earlier one wrote. The line before a block can be

- `<!-- not run -->`: a python block that is only shown;
- `<!-- run -->`: a ```console block whose `$ trialea …` lines are run. The lines below a command are output that
must appear, in that order; `…` stands for anything, and a line of `…` alone for any lines.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>not run|run) -->\s*\n)?^```(?P<language>python|console)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A code block of a page."""

    language: str
    note: str | None
    text: str
    line: int  # the text's first line, counted from 1


def blocks(page: Path) -> Iterator[Block]:
    """Yield the code blocks of a page."""
    source = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(source):
        line = source.count("\n", 0, match.start("text")) + 1
        yield Block(match["language"], match["note"], match["text"], line)


def run_python(block: Block, page: Path) -> None:
    """Execute a block so that tracebacks name the page and its line."""
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True)
    exec(code, {"__name__": "__main__"})


def commands(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the commands of a console block, split into words, with the output lines shown below each."""
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield shlex.split(command, comments=True), [line for line in shown if line.strip(" …")]


def run_console(block: Block, page: Path) -> None:
    """Run the commands of a console block and check their output."""
    from typer.testing import CliRunner

    from trialea.commands.app import app

    for words, shown in commands(block.text):
        where = f"{page.name}:{block.line}: {shlex.join(words)}"
        assert words[0] == "trialea", f"{where}: only `trialea` commands can be run"
        result = CliRunner().invoke(app, words[1:], env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"})
        assert result.exit_code == 0, f"{where}\n{result.output}\n{result.exception!r}"
        output = iter(result.output.splitlines())
        for expected in shown:
            pattern = ".*".join(re.escape(piece) for piece in expected.strip().split("…"))
            assert any(re.fullmatch(pattern, line.strip()) for line in output), (
                f"{where}\nnot in the output, or not in this order: {expected}\n{result.output}"
            )


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])
def test_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.language == "python" and block.note != "not run":
            run_python(block, page)
        elif block.language == "console" and block.note == "run":
            run_console(block, page)


def test_readme_has_examples() -> None:
    run = [block for block in blocks(ROOT / "README.md") if block.language == "python" and block.note is None]
    assert len(run) >= 3
