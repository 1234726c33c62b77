"""The command line: what it prints, and that every error is one line on standard error with exit code 2."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

import pytest
import yaml
from rich.console import Console

from tests.helpers import SHORT, game_of, has_skill, is_solved, more_players, rival_of, words_of
from trialea import GAMES, __version__
from trialea import cli as command_line
from trialea.agents import zoo
from trialea.evaluation import evaluate

every_game = pytest.mark.parametrize("name", GAMES)

# Options, as words, that make a game short.
QUICK = {name: words_of(SHORT[name]) for name in GAMES}


class Done(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Done]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs `trialea` with some words in this process."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(command_line, "out", Console(width=80, force_terminal=False))
    monkeypatch.setattr(command_line, "err", Console(width=80, force_terminal=False, stderr=True))

    def call(*words: Any, stdin: str = "") -> Done:
        monkeypatch.setattr(sys, "argv", ["trialea", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code: Any = 0
        try:
            command_line.main()
        except SystemExit as stopped:
            code = stopped.code
        captured = capsys.readouterr()
        return Done(code or 0, captured.out, captured.err)

    return call


def process(*words: Any, stdin: str = "", cwd: Path | None = None) -> Done:
    """Runs `python -m trialea` with some words, warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "trialea", *map(str, words)],
        capture_output=True,
        text=True,
        input=stdin,
        cwd=cwd or gettempdir(),  # not the repository, where a folder has the package's name
        env={**os.environ, "NO_COLOR": "1", "TERM": "dumb"},
    )
    return Done(done.returncode, done.stdout, done.stderr)


def parsed(done: Done) -> Any:
    """The JSON that a command printed on standard output, and nothing else."""
    assert done.code == 0, done.err
    return json.loads(done.out)


# The command itself ----------------------------------------------------------------------------------------------


def test_version_is_the_packages(cli: Cli) -> None:
    assert cli("--version") == (0, f"trialea {__version__}\n", "")


@pytest.mark.parametrize("command", ["games", "solve", "train", "evaluate", "play", "bench"])
def test_help_names_every_command_and_each_has_its_own(command: str, cli: Cli) -> None:
    assert command in cli("--help").out
    done = cli(command, "--help")
    assert done.code == 0
    assert command in done.out and "Usage" in done.out


def test_python_m_trialea_is_the_same_command() -> None:
    assert process("--version") == (0, f"trialea {__version__}\n", "")


def test_an_error_in_a_process_is_one_line_too() -> None:
    done = process("solve", "chess")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"trialea: no game is called 'chess'; there are: {', '.join(GAMES)}\n"


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    """As in `trialea games --json | head -1`."""
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
        ("solve chess", "'chess'; there are: no_dice"),
        ("solve no_dice --players 9", "2 to 8, not 9"),
        ("solve last_die --players 3", "4 to 6, not 3"),
        ("solve no_dice --turns 3", "no such option: --turns; the options of no_dice are"),
        ("solve poker_figures", "turns"),
        ("solve poker_figures --turns 0", "not 0"),
        ("solve poker_figures --turns few", "--turns takes a whole number, not 'few'"),
        ("solve last_die --steer=maybe", "--steer takes true or false, not 'maybe'"),
        ("solve no_dice --players 6", "for 2 to 5 players, not 6"),
        ("solve no_dice --target 101", "not 101"),
        ("solve no_dice --target 0", "not 0"),
        ("solve no_dice --target ten", "--target takes a whole number, not 'ten'"),
        ("solve no_dice --target 2.5", "--target takes a whole number, not '2.5'"),
        ("solve no_dice --target [", "--target takes a whole number, not '['"),
        ("solve no_dice --throws true", "--throws takes a whole number, not 'true'"),
        ("solve no_dice --target", "--target needs a value"),
        ("solve no_dice --intermediates some", "'any' or 'natural', not 'some'"),
        ("solve no_dice --goal 20", "no such option: --goal; the options of no_dice are"),
        ("solve no_dice 20", "unexpected: 20"),
        ("solve no_dice --target 8 --state 3", "2 players is 2 totals, not 1"),
        ("solve no_dice --target 8 --state 8,0", "0 to 7, not 8 and 0"),
        ("solve no_dice --target 8 --state=-1,0", "0 to 7, not -1 and 0"),
        ("solve no_dice --target 8 --state a,b", "such as 12,25, not 'a,b'"),
        ("evaluate chess random random", "'chess'"),
        ("evaluate no_dice random nobody", "no agent 'nobody'"),
        ("evaluate no_dice random", "agents"),
        ("evaluate no_dice random greedy --games 0", "games must be a whole number from 1 to"),
        ("evaluate no_dice random greedy --seed -1", "not -1"),
        ("evaluate no_dice random greedy --goal 20", "--goal"),
        ("evaluate no_dice random greedy --target x", "--target takes a whole number"),
        ("evaluate no_dice random greedy solver --players 6", "'solver' for 6 players"),
        ("evaluate no_dice random .", "holds no model.zip"),
        ("evaluate last_die random greedy", "no agent 'greedy'"),
        ("play chess", "'chess'"),
        ("play no_dice --against nobody", "no agent 'nobody'"),
        ("play no_dice --seat 2", "--seat must be from 0 to 1, not 2"),
        ("play last_die --seat 4", "--seat must be from 0 to 3, not 4"),
        ("play no_dice --seed -1", "not -1"),
        ("play no_dice --goal 3", "--goal"),
        ("train", "name a configuration; ours are: configs/"),
        ("train nothing.yaml", "no configuration lies at nothing.yaml"),
        ("train demo.yaml --set frmaes=3", "frmaes"),
        ("train demo.yaml --set frames", "key=value"),
        ("train demo.yaml --set game=chess", "'chess'"),
        ("train --resume nothing", "no run folder"),
        ("train demo.yaml --resume nothing", "give it alone"),
        ("train demo.yaml --out /dev/null/folder", "/dev/null"),
        ("bench sleep", "sleep; there are: aec, batch, train, solver"),
        ("bench aec --game chess", "'chess'"),
    ],
)
def test_an_error_of_ours_is_one_line_on_standard_error_with_exit_code_2(
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
def test_a_line_that_cannot_be_read_has_exit_code_2_and_no_traceback(line: str, named: str, cli: Cli) -> None:
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


# The words of a quick solve, and what must be among its keys. A new game needs a line.
SOLVES: dict[str, tuple[list[str], set[str]]] = {
    "no_dice": (["--target", "8"], {"value", "residual", "turn_score"}),
    "poker_figures": (["--turns", "2"], {"value", "values_by_turns", "turns"}),
    "last_die": (["--players", "4"], {"expected_points", "expected_throws", "win_probability"}),
}


@every_game
def test_solve_knows_every_game(name: str, cli: Cli) -> None:
    words, keys = SOLVES[name]
    found = parsed(cli("solve", name, *words, "--json"))
    assert keys | {"game", "options", "seconds"} <= set(found)
    assert found["game"] == name
    assert found["options"].keys() == game_of(name).description()["options"].keys()


def test_no_dice_solve_json_has_every_documented_key(cli: Cli) -> None:
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


def test_poker_figures_solve_gives_the_value_of_each_number_of_turns(cli: Cli) -> None:
    found = parsed(cli("solve", "poker_figures", "--turns", 2, "--json"))
    one, two = found["values_by_turns"]
    assert 0 < one < two == found["value"]
    assert found["turns"] == 2


def test_last_die_solve_gives_every_seat_and_takes_the_other_reading(cli: Cli) -> None:
    points = []
    for words in ([], ["--even-ends-round"]):
        found = parsed(cli("solve", "last_die", "--players", 4, *words, "--json"))
        assert found["options"]["even_ends_round"] is bool(words)
        assert found["win_probability"] == pytest.approx([0.25] * 4)
        assert len(found["expected_points"]) == 4
        points.append(sum(found["expected_points"]))
    assert points[0] > points[1] > 0


def test_solve_state_speaks_of_that_position_the_mover_first(cli: Cli) -> None:
    ahead, behind = (
        parsed(cli("solve", "no_dice", "--target", 8, "--state", state, "--json"))["value"] for state in ("1,6", "6,1")
    )
    assert ahead[0] > 0.7 > 0.3 > behind[0]
    assert sum(ahead) == pytest.approx(1)
    level = parsed(cli("solve", "no_dice", "--target", 8, "--state", "0,0", "--json"))
    assert level["value"] == parsed(cli("solve", "no_dice", "--target=8", "--json"))["value"]


def test_solve_takes_the_games_options_in_either_spelling(cli: Cli) -> None:
    one = parsed(cli("solve", "no_dice", "--target=5", "--intermediates", "natural", "--json"))
    other = parsed(cli("solve", "--json", "no_dice", "--intermediates=natural", "--target", "5"))
    assert one == other
    assert one["options"]["intermediates"] == "natural"


def test_solve_prints_the_same_for_a_person(cli: Cli) -> None:
    found = parsed(cli("solve", "no_dice", "--target", 8, "--json"))
    printed = cli("solve", "no_dice", "--target", 8).out
    assert f"{found['value'][0]:.6g}" in printed
    assert found["table_sha256"] in re.sub(r"[^0-9a-f]", "", printed)  # over two lines where one is too short


# evaluate --------------------------------------------------------------------------------------------------------


@every_game
def test_evaluate_json_has_every_documented_key_and_is_what_python_gives(name: str, cli: Cli) -> None:
    rival, players = rival_of(name), game_of(name).num_players
    words = ["evaluate", name, "random", rival, "--games", 40, "--seed", 5, *QUICK[name], "--worst", 2, "--json"]
    found = parsed(cli(*words))
    documented = {"agents", "games", "win_rate", "interval", "seat_win_rate", "regret_per_decision", "optimal_share"}
    assert documented <= set(found)
    assert (found["agents"], found["games"], found["seed"]) == (["random", rival], 40, 5)
    assert sum(found["win_rate"]) == pytest.approx(1)
    assert found["win_rate"][1] > 0.7 or not has_skill(name)
    for (low, high), rate in zip(found["interval"], found["win_rate"], strict=True):
        assert 0 <= low <= rate <= high <= 1
    assert len(found["seat_win_rate"]) == players
    if not is_solved(name, **SHORT[name]):
        assert (found["regret_per_decision"], found["regret_unit"]) == ([None, None], "")
        assert found["regret_note"]
    elif has_skill(name):
        assert found["regret_per_decision"][0] > 10 * found["regret_per_decision"][1] >= 0
        assert found["optimal_share"][0] < found["optimal_share"][1] <= 1
    else:  # decisions were made, and none mattered
        assert found["regret_per_decision"] == [0.0, 0.0]
        assert found["decisions"] == [0, 0]
    again = evaluate(game_of(name, **SHORT[name]), ["random", rival], games=40, seed=5, worst=2)
    assert found == json.loads(json.dumps(again.to_json()))


@every_game
def test_evaluate_takes_its_switches(name: str, cli: Cli) -> None:
    words = ["evaluate", name, *QUICK[name], "random", rival_of(name), "--games", 20, "--json"]
    plain = parsed(cli(*words, "--no-duplicate", "--no-regret", "--worst", 0))
    assert plain["duplicate"] is False and plain["regret_per_decision"] == [None, None]
    assert plain["units"] == plain["games"] == 20
    assert plain["regret_note"]
    players = more_players(name)
    seats = ["random", rival_of(name), "random"]
    three = parsed(cli("evaluate", name, *seats, *QUICK[name], "--players", players, "--games", 6, "--json"))
    assert three["players"] == players and len(three["win_rate"]) == 3
    assert three["agents"][0] != three["agents"][2]
    assert (three["regret_per_decision"] == [None] * 3) != is_solved(name, players, **SHORT[name])


@every_game
def test_evaluate_prints_a_table_for_a_person(name: str, cli: Cli) -> None:
    words = ["evaluate", name, "random", rival_of(name), "--games", 20, *QUICK[name]]
    found, printed = parsed(cli(*words, "--json")), cli(*words)
    assert f"{found['win_rate'][1]:.2%}" in printed.out
    assert "Wins by seat" in printed.out
    assert printed.err == ""


# play ------------------------------------------------------------------------------------------------------------


@every_game
def test_play_follows_what_is_typed_to_the_end_of_the_game(name: str, cli: Cli) -> None:
    game = game_of(name)
    words = ["play", name, "--against", "random", "--seed", 3, *QUICK[name]]
    every_action = "".join(f"#{action}\n" for action in range(game.num_actions))
    stdin = f"1\n{every_action}" * 200  # the first of the list, or the first action that is legal
    done = cli(*words, stdin=stdin)
    assert done.code == 0, done.err
    others = ", ".join(f"player_{seat} (random)" for seat in range(1, game.num_players))
    assert f"player_0 (human), {others}. Seed 3" in done.out
    assert re.search(r" wins\.| share the win\.", done.out) and "Scores: " in done.out
    assert done == cli(*words, stdin=stdin)


@every_game
def test_play_can_be_left_at_any_time(name: str, cli: Cli) -> None:
    for stdin in ("q\n", "", "1\nquit\n"):
        done = cli("play", name, "--seat", 0, "--seed", 1, *QUICK[name], stdin=stdin)
        assert (done.code, done.err) == (0, "You left the game.\n")


@every_game
def test_play_takes_seat_players_and_hints(name: str, cli: Cli) -> None:
    players = more_players(name)
    done = cli("play", name, "--players", players, "--seat", 2, "--against", "random", "--seed", 1, stdin="q\n")
    assert "player_0 (random), player_1 (random), player_2 (human)" in done.out
    assert f"player_{players - 1} (" in done.out and f"player_{players} (" not in done.out
    hinted = cli("play", name, "--hints", "--against", "solver", *QUICK[name], stdin="q\n")
    hint = "Best, with the exact value of each:" if is_solved(name, **SHORT[name]) else "There are no hints"
    assert hint in hinted.out
    assert "Best, with" not in cli("play", name, "--against", "solver", *QUICK[name], stdin="q\n").out


def test_play_in_a_process_reads_standard_input() -> None:
    done = process("play", "no_dice", "--seed", 3, "--against", "greedy", "--target", 8, stdin="?\n1\nq\n")
    assert done.code == 0
    assert done.err == "You left the game.\n"
    assert "player_0 (human)" in done.out and "leave the game" in done.out


# train, evaluate, report -----------------------------------------------------------------------------------------


def tiny_config(name: str, folder: Path) -> Path:
    config = {
        "game": name,
        "options": SHORT[name],
        "threads": 1,
        "frames": 1024,
        "checkpoints": 2,
        "ppo": {"environments": 32, "n_steps": 16, "batch_size": 128, "n_epochs": 1, "net_arch": [8]},
        "measure": {"times": 1, "games": 10, "opponents": ["random"]},
    }
    file = folder / "tiny.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


@every_game
def test_train_evaluate_and_report_from_end_to_end(
    name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny_config(name, tmp_path)
    trained = cli("train", "tiny.yaml", "--set", "seed=4", "--set", "ppo.n_steps=32")
    assert (trained.code, trained.out) == (0, ""), trained.err
    assert "The run is complete: runs/tiny-1" in trained.err
    saved = yaml.safe_load((tmp_path / "runs/tiny-1/config.yaml").read_text())
    assert (saved["seed"], saved["ppo"]["n_steps"]) == (4, 32)

    words = ["runs/tiny-1", "random", "--games", 10, *QUICK[name], "--report", "report.html", "--json"]
    found = parsed(cli("evaluate", name, *words))
    assert found["agents"] == ["tiny-1", "random"]
    page = (tmp_path / "report.html").read_text()
    assert ("tiny-1" in page and "<svg" in page) or "data:image" in page

    model = parsed(cli("evaluate", name, "runs/tiny-1/model.zip", "random", "--games", 10, *QUICK[name], "--json"))
    assert model["win_rate"] == found["win_rate"]
    refused = cli("evaluate", name, "runs/tiny-1", "random", "--games", 10)  # without its options
    assert refused.code == 2 and refused.err.count("\n") == 1

    assert cli("train", "tiny.yaml", "--out", "runs/tiny-1").code == 2
    assert cli("train", "--resume", "runs/tiny-1").code == 2
    assert cli("train", "tiny.yaml").code == 0
    assert (tmp_path / "runs/tiny-2/model.zip").exists()


@every_game
def test_a_stopped_training_says_how_to_go_on_in_one_line_to_copy(
    name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trialea.training.callbacks import RunCallback

    folder = tmp_path / ("a folder with quite a long name" * 4).replace(" ", "-")
    with monkeypatch.context() as patch:
        patch.setattr(RunCallback, "_on_step", lambda self: setattr(self, "stopping", True) or not self.stopped)
        stopped = cli("train", tiny_config(name, tmp_path), "--out", folder)
    assert stopped.code == 130
    assert f"trialea train --resume {folder}\n" in stopped.err
    resumed = cli("train", "--resume", folder)
    assert resumed.code == 0 and f"The run is complete: {folder}\n" in resumed.err


@every_game
def test_a_report_that_cannot_be_written_is_an_error_of_one_line(name: str, cli: Cli) -> None:
    words = ["random", rival_of(name), "--games", 4, *QUICK[name]]
    done = cli("evaluate", name, *words, "--report", "/dev/null/x.html")
    assert done.code == 2
    assert done.err.startswith("trialea: ") and done.err.count("\n") == 1
    assert "/dev/null" in done.err


# bench -----------------------------------------------------------------------------------------------------------


def test_bench_prints_figures_as_json_and_for_a_person(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from trialea.benchmarks import BENCHMARKS

    monkeypatch.setitem(BENCHMARKS, "aec", lambda game: {"aec_vs_connect_four": 3.5, "rate": 123456.7})
    assert parsed(cli("bench", "aec", "--json")) == {"game": "no_dice", "aec_vs_connect_four": 3.5, "rate": 123456.7}
    done = cli("bench", "aec")
    assert "measuring: aec" in done.err
    assert "3.5" in done.out and "123,457" in done.out
