"""Tests of the commands in which agents play: `evaluate`, `play`, `train` and `bench`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.command_line import QUICK, Cli, parsed, process
from tests.helpers import SHORT, game_of, has_skill, is_solved, more_players, rival_of
from trialea import GAMES
from trialea.evaluation import evaluate

every_game = pytest.mark.parametrize("name", GAMES)

# evaluate --------------------------------------------------------------------------------------------------------


@every_game
def test_evaluate_json_has_the_documented_keys_and_pythons_values(name: str, cli: Cli) -> None:
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
    else:  # there were decisions, but none mattered
        assert found["regret_per_decision"] == [0.0, 0.0]
        assert found["decisions"] == [0, 0]
    again = evaluate(game_of(name, **SHORT[name]), ["random", rival], num_games=40, seed=5, worst=2)
    assert found == json.loads(json.dumps(again.to_json()))


@every_game
def test_evaluate_options_change_the_result(name: str, cli: Cli) -> None:
    words = ["evaluate", name, *QUICK[name], "random", rival_of(name), "--games", 20, "--json"]
    plain = parsed(cli(*words, "--no-duplicate", "--no-regret", "--worst", 0))
    assert plain["duplicate"] is False and plain["regret_per_decision"] == [None, None]
    assert plain["units"] == plain["games"] == 20
    assert plain["regret_note"] == plain["regret_unit"] == ""
    players = more_players(name)
    seats = ["random", rival_of(name), "random"]
    three = parsed(cli("evaluate", name, *seats, *QUICK[name], "--players", players, "--games", 6, "--json"))
    assert three["players"] == players and len(three["win_rate"]) == 3
    assert three["agents"][0] != three["agents"][2]
    assert (three["regret_per_decision"] == [None] * 3) != is_solved(name, players, **SHORT[name])


@every_game
def test_evaluate_prints_a_readable_table(name: str, cli: Cli) -> None:
    words = ["evaluate", name, "random", rival_of(name), "--games", 20, *QUICK[name]]
    found, printed = parsed(cli(*words, "--json")), cli(*words)
    assert f"{found['win_rate'][1]:.2%}" in printed.out
    assert "Wins by seat" in printed.out
    assert printed.err == ""


# play ------------------------------------------------------------------------------------------------------------


@every_game
def test_play_follows_the_typed_input_to_the_end_of_the_game(name: str, cli: Cli) -> None:
    game = game_of(name)
    words = ["play", name, "--against", "random", "--seed", 3, *QUICK[name]]
    every_action = "".join(f"#{action}\n" for action in range(game.num_actions))
    stdin = f"1\n{every_action}" * 200  # the first menu entry, or the first legal action
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
    """Write the configuration of a very short training."""
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
def test_train_evaluate_and_report_work_together(
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
    refused = cli("evaluate", name, "runs/tiny-1", "random", "--games", 10)  # without the options of its game
    assert refused.code == 2 and refused.err.count("\n") == 1

    assert cli("train", "tiny.yaml", "--out", "runs/tiny-1").code == 2
    assert cli("train", "--resume", "runs/tiny-1").code == 2
    assert cli("train", "tiny.yaml").code == 0
    assert (tmp_path / "runs/tiny-2/model.zip").exists()


@every_game
def test_stopped_training_prints_the_command_to_continue(
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
def test_unwritable_report_is_a_one_line_error(name: str, cli: Cli) -> None:
    words = ["random", rival_of(name), "--games", 4, *QUICK[name]]
    done = cli("evaluate", name, *words, "--report", "/dev/null/x.html")
    assert done.code == 2
    assert done.err.startswith("trialea: ") and done.err.count("\n") == 1
    assert "/dev/null" in done.err


# bench -----------------------------------------------------------------------------------------------------------


def test_bench_prints_figures_as_json_and_as_text(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from trialea.benchmarks import BENCHMARKS

    monkeypatch.setitem(BENCHMARKS, "aec", lambda game: {"aec_vs_connect_four": 3.5, "rate": 123456.7})
    assert parsed(cli("bench", "aec", "--json")) == {"game": "no_dice", "aec_vs_connect_four": 3.5, "rate": 123456.7}
    done = cli("bench", "aec")
    assert "measuring: aec" in done.err
    assert "3.5" in done.out and "123,457" in done.out
