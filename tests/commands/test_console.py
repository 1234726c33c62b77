"""Tests that output is readable at any width and in any encoding."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from tests.command_line import QUICK, Cli
from trialea import GAMES
from trialea.agents import zoo
from trialea.commands.app import command
from trialea.commands.options import options_of

every_command = pytest.mark.parametrize("name", sorted(command.commands))

LINES = [
    "--help",
    "games",
    "evaluate --help",
    "evaluate no_dice greedy random --games 4 --target 8",
    "solve no_dice --target 4",
    "exploit no_dice random --target 2 --throws 1",
    "play no_dice --hints --seed 1 --target 8",
    "play poker_figures --seed 1",
    "play last_die --seed 1",
    "evaluate no_dice random né",
]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("line", LINES)
def test_characters_missing_in_an_encoding_are_replaced(
    line: str, encoding: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2)]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        code = cli(*line.split(), stdin="1\nq\n").code
    printed = ""
    for stream in streams:
        stream.flush()
        printed += stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert code == (2 if "né" in line else 0)
    assert "Traceback" not in printed and "\\u" not in printed
    if line.startswith("play no_dice"):
        assert "+---+" in printed
    if "evaluate no_dice greedy" in line:
        assert "| greedy |" in printed


def test_json_is_utf_8_in_any_encoding(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "ascii")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        words = ["evaluate", "no_dice", "random", "greedy", "--games", 40, *QUICK["no_dice"], "--json"]
        assert cli(*words).code == 0
    printed = stream.buffer.getvalue()  # type: ignore[attr-defined]
    assert "─" in json.loads(printed)["worst"][0][0]["position"]
    assert "─".encode() in printed


def test_path_that_is_not_valid_text_works_and_is_printed(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["evaluate", "last_die", "random", "random", *QUICK["last_die"], "--games", 2, "--report"]
    done = cli(*words, os.fsdecode(b"r\xff.html"))
    assert (done.code, done.err) == (0, "The report: r\\xff.html\n")
    assert os.listdir(os.fsencode(tmp_path)) == [b"r\xff.html"]


@pytest.mark.parametrize("columns", [80, 60, 40, 20])
@pytest.mark.parametrize("name", GAMES)
def test_names_are_never_cut_at_any_width(name: str, columns: int, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    agents = ["random", "random", "solver" if name == "last_die" else "greedy"]
    printed = cli("evaluate", name, *agents, "--games", 6, *QUICK[name]).out
    for agent in ("random", "random (2)", agents[-1]):
        assert agent in printed
    assert "…" not in printed
    listed = cli("games").out
    for option in options_of(name):
        assert f"--{option.replace('_', '-')}=" in listed
    for agent in zoo.names(name):
        assert f"{agent}\n" in listed


@every_command
@pytest.mark.parametrize("columns", [80, 40])
def test_help_never_cuts_option_names(name: str, columns: int, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    words = cli(name, "--help").out.split()
    for parameter in command.commands[name].params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            assert parameter.param_type_name == "argument" or option in words
