"""Tests of the command line: help, one-line errors with exit code 2, and the commands `games` and `solve`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest

from tests.command_line import Cli, parsed, process
from tests.helpers import game_of
from trialea import GAMES, __version__
from trialea.agents import zoo
from trialea.commands import console

every_game = pytest.mark.parametrize("name", GAMES)

# Help and processes ----------------------------------------------------------------------------------------------


def test_version_is_the_packages(cli: Cli) -> None:
    assert cli("--version") == (0, f"trialea {__version__}\n", "")


@pytest.mark.parametrize("command", ["games", "solve", "train", "evaluate", "play", "bench"])
def test_help_lists_every_command_and_each_has_its_own_help(command: str, cli: Cli) -> None:
    assert command in cli("--help").out
    done = cli(command, "--help")
    assert done.code == 0
    assert command in done.out and "Usage" in done.out


def test_python_m_trialea_is_the_same_command() -> None:
    assert process("--version") == (0, f"trialea {__version__}\n", "")


def test_error_in_a_process_is_one_line() -> None:
    done = process("solve", "chess")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"trialea: no game is called 'chess'. The games are {', '.join(GAMES)}\n"


def test_closed_output_pipe_gives_no_traceback() -> None:
    """This happens in `trialea games --json | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "trialea", "games", "--json"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=gettempdir())
    os.close(writer)
    assert "Traceback" not in done.stderr


# Errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("solve chess", "'chess'. The games are no_dice"),
        ("solve no_dice --players 9", "2 to 8, got 9"),
        ("solve last_die --players 3", "4 to 6, got 3"),
        ("solve no_dice --turns 3", "no such option: --turns. Did you mean '--throws'? The options of no_dice are"),
        ("solve poker_figures", "turns"),
        ("solve poker_figures --turns 0", "got 0"),
        ("solve poker_figures --turns few", "--turns must be a whole number, got 'few'"),
        ("solve last_die --steer=maybe", "--steer must be true or false, got 'maybe'"),
        ("solve no_dice --players 6", "players must be 2 to 5 to solve No Dice, got 6"),
        ("solve no_dice --target 101", "got 101"),
        ("solve no_dice --target 0", "got 0"),
        ("solve no_dice --target ten", "--target must be a whole number, got 'ten'"),
        ("solve no_dice --target 2.5", "--target must be a whole number, got '2.5'"),
        ("solve no_dice --target [", "--target must be a whole number, got '['"),
        ("solve no_dice --throws true", "--throws must be a whole number, got 'true'"),
        ("solve no_dice --target", "--target needs a value"),
        ("solve no_dice --intermediates some", "'any' or 'natural', not 'some'"),
        ("solve no_dice --goal 20", "no such option: --goal. The options of no_dice are"),
        ("solve no_dice 20", "unexpected words: 20. See trialea solve --help"),
        ("solve no_dice --target 8 --state 3", "2 players must have 2 totals, got 1"),
        ("solve no_dice --target 8 --state 8,0", "0 to 7, got 8 and 0"),
        ("solve no_dice --target 8 --state=-1,0", "0 to 7, got -1 and 0"),
        ("solve no_dice --target 8 --state a,b", "such as 12,25, got 'a,b'"),
        ("evaluate chess random random", "'chess'"),
        ("evaluate no_dice random nobody", "no agent 'nobody'"),
        ("evaluate no_dice random", "agents"),
        ("evaluate no_dice random greedy --games 0", "games must be a whole number from 1 to"),
        ("evaluate no_dice random greedy --seed -1", "got -1"),
        ("evaluate no_dice random greedy --goal 20", "--goal"),
        ("evaluate no_dice random greedy --target x", "--target must be a whole number"),
        ("evaluate no_dice random greedy solver --players 6", "'solver' for 6 players"),
        ("evaluate no_dice random .", "holds no model.zip"),
        ("evaluate last_die random greedy", "no agent 'greedy'"),
        ("play chess", "'chess'"),
        ("play no_dice --against nobody", "no agent 'nobody'"),
        ("play no_dice --seat 2", "--seat must be from 0 to 1, got 2"),
        ("play last_die --seat 4", "--seat must be from 0 to 3, got 4"),
        ("play no_dice --seed -1", "got -1"),
        ("play no_dice --goal 3", "--goal"),
        ("train", "CONFIG is missing. Give a YAML file, or a bundled configuration: configs/"),
        ("train nothing.yaml", "there is no configuration nothing.yaml"),
        ("train demo.yaml --set frmaes=3", "frmaes"),
        ("train demo.yaml --set frames", "key=value"),
        ("train demo.yaml --set game=chess", "'chess'"),
        ("train --resume nothing", "must be a run folder, with config.yaml. To begin one"),
        ("train demo.yaml --resume nothing", "--resume must be given alone"),
        ("train demo.yaml --out /dev/null/folder", "/dev/null"),
        ("bench sleep", "'sleep'. The benchmarks are aec, batch, train, solver"),
        ("bench aec --game chess", "'chess'"),
    ],
)
def test_invalid_values_give_a_one_line_error_and_exit_code_2(
    line: str, named: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli(*line.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("trialea: ") and done.err.count("\n") == 1
    assert named in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("nonsense", "nonsense"),
        ("games --nonsense", "--nonsense"),
        ("evaluate no_dice random greedy --games many", "--games"),
        ("solve no_dice --players two", "--players"),
        ("solve", "game"),
        ("evaluate no_dice", "agent"),
    ],
)
def test_unparsable_command_gives_exit_code_2_and_no_traceback(line: str, named: str, cli: Cli) -> None:
    done = cli(*line.split())
    assert (done.code, done.out) == (2, "")
    assert named in done.err.lower()
    assert "Traceback" not in done.err


# games and solve -------------------------------------------------------------------------------------------------


@every_game
def test_games_lists_options_and_agents(name: str, cli: Cli) -> None:
    assert name in cli("games").out
    (row,) = [row for row in parsed(cli("games", "--json")) if row["game"] == name]
    assert set(row) == {"game", "summary", "gymnasium", "pettingzoo", "players", "options", "agents", "zoo"}
    assert row["gymnasium"] == GAMES[name].gym_id
    assert row["agents"] == list(GAMES[name].agents)
    assert row["zoo"] == zoo.names(name)
    assert row["options"] == game_of(name).description()["options"]


# The arguments of a quick solve, and keys that its result must have. A new game needs an entry.
SOLVES: dict[str, tuple[list[str], set[str]]] = {
    "no_dice": (["--target", "8"], {"value", "residual", "turn_score"}),
    "poker_figures": (["--turns", "2"], {"value", "values_by_turns", "turns"}),
    "last_die": (["--players", "4"], {"expected_points", "expected_throws", "win_probability"}),
}


@every_game
def test_solve_works_for_every_game(name: str, cli: Cli) -> None:
    words, keys = SOLVES[name]
    found = parsed(cli("solve", name, *words, "--json"))
    assert keys | {"game", "options", "seconds"} <= set(found)
    assert found["game"] == name
    assert found["options"].keys() == game_of(name).description()["options"].keys()


def test_solve_no_dice_json_has_every_documented_key(cli: Cli) -> None:
    found = parsed(cli("solve", "no_dice", "--players", 2, "--target", 8, "--json"))
    assert set(found) == {
        "game",
        "players",
        "options",
        "value",
        "residual",
        "seconds",
        "table_sha256",
        "turn_score",
    }
    assert (found["game"], found["players"]) == ("no_dice", 2)
    assert found["options"] == {"target": 8, "throws": 3, "intermediates": "any"}
    first, second = found["value"]
    assert 0 < first < 0.5 < second < 1 and first + second == pytest.approx(1)
    assert 0 <= found["residual"] < 1e-12
    assert found["seconds"] > 0
    assert len(found["table_sha256"]) == 64
    assert set(found["turn_score"]) == {"1", "2", "3"}
    assert found["turn_score"]["3"] < found["turn_score"]["2"] < found["turn_score"]["1"]


def test_solve_poker_figures_gives_a_value_per_number_of_turns(cli: Cli) -> None:
    found = parsed(cli("solve", "poker_figures", "--turns", 2, "--json"))
    one, two = found["values_by_turns"]
    assert 0 < one < two == found["value"]
    assert found["turns"] == 2


def test_solve_last_die_gives_points_per_seat_and_takes_options(cli: Cli) -> None:
    points = []
    for words in ([], ["--even-ends-round"]):
        found = parsed(cli("solve", "last_die", "--players", 4, *words, "--json"))
        assert found["options"]["even_ends_round"] is bool(words)
        assert found["win_probability"] == pytest.approx([0.25] * 4)
        assert len(found["expected_points"]) == 4
        points.append(sum(found["expected_points"]))
    assert points[0] > points[1] > 0


def test_solve_state_gives_the_values_of_that_position(cli: Cli) -> None:
    ahead, behind = (
        parsed(cli("solve", "no_dice", "--target", 8, "--state", state, "--json"))["value"] for state in ("1,6", "6,1")
    )
    assert ahead[0] > 0.7 > 0.3 > behind[0]
    assert sum(ahead) == pytest.approx(1)
    level = parsed(cli("solve", "no_dice", "--target", 8, "--state", "0,0", "--json"))
    assert level["value"] == parsed(cli("solve", "no_dice", "--target=8", "--json"))["value"]


def test_solve_takes_options_with_a_space_or_an_equals_sign(cli: Cli) -> None:
    one = parsed(cli("solve", "no_dice", "--target=5", "--intermediates", "natural", "--json"))
    other = parsed(cli("solve", "--json", "no_dice", "--intermediates=natural", "--target", "5"))
    assert one == other
    assert one["options"]["intermediates"] == "natural"


def test_progress_without_a_terminal_is_printed_in_lines(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)
    done = cli("solve", "no_dice", "--target", 6, "--json")
    assert json.loads(done.out)["players"] == 2
    assert re.search(r"^solving: \d+%, 0:00:\d\d left$", done.err, re.MULTILINE)
    assert "solving: 100%, 0:00:00 left" in done.err


def test_stopped_solve_says_what_is_kept(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("TRIALEA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("trialea.agents.solve", stopped)
    done = cli("solve", "no_dice", "--target", 6)
    assert done.code == 130
    assert f"finished work is kept in {tmp_path}: the same command uses it" in done.err


def test_solve_prints_the_same_values_as_text_and_as_json(cli: Cli) -> None:
    found = parsed(cli("solve", "no_dice", "--target", 8, "--json"))
    printed = cli("solve", "no_dice", "--target", 8).out
    assert f"{found['value'][0]:.6g}" in printed
    assert found["table_sha256"] in re.sub(r"[^0-9a-f]", "", printed)  # can be wrapped over two lines
