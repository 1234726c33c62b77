"""Tests of tournaments: reproducible figures, resuming, and errors about anything missing."""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import zipfile
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.helpers import column
from trialea.envs.agent import make_agent
from trialea.envs.errors import FileError, InUseError, MissingExtraError, OptionError, UnknownNameError
from trialea.envs.game import Game
from trialea.evaluation import UnfinishedMatchError, evaluate
from trialea.evaluation.tournaments import tournament as tournaments
from trialea.evaluation.tournaments.config import TournamentConfig
from trialea.evaluation.tournaments.standings import Tournament, unordered_pairs
from trialea.evaluation.tournaments.tournament import (
    IncompleteTournamentError,
    read_tournament,
    resume_tournament,
    run_tournament,
)

SMALL: dict[str, Any] = {
    "game": "no_dice",
    "players": 2,
    "options": {"target": 8},
    "agents": ["random", "greedy", "solver"],
    "games": 100,
    "block": 60,
    "resamples": 100,
    "workers": 1,
}


def config(**changes: Any) -> TournamentConfig:
    """Return the small configuration with changes."""
    return TournamentConfig(**{**SMALL, **changes})


def blocks_in(folder: Path) -> list[str]:
    """Return the names of the blocks in a run folder."""
    return sorted(path.name for path in (folder / "blocks").iterdir())


class Stop(Exception):
    """Raised to interrupt a tournament."""


def stop_after(blocks: int, total: int) -> Any:
    """Return a `progress` that stops the tournament once `blocks` of its blocks are finished."""

    def progress(done: float) -> None:
        if done >= blocks / total - 1e-9:
            raise Stop

    return progress


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tournament]:
    """Return a finished tournament and its folder."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return folder, run_tournament(config(), folder)


# Figures ---------------------------------------------------------------------------------------------------------


def test_figures_match_an_evaluation_with_the_same_seed(finished: tuple[Path, Tournament]) -> None:
    found = finished[1].evaluation
    same = evaluate(Game("no_dice", 2, target=8), ["random", "greedy", "solver"], num_games=300)
    assert (found.games, found.units) == (300, 50)
    assert column(found, "regret") and column(same, "regret")
    assert replace(found, agents={}) == replace(same, agents={})
    for mine, theirs in zip(found.agents.values(), same.agents.values(), strict=True):
        assert replace(mine, regret=None) == replace(theirs, regret=None)
    for mine, theirs in zip(column(found, "regret"), column(same, "regret"), strict=True):
        assert mine.per_decision == pytest.approx(theirs.per_decision)
        assert mine.interval == pytest.approx(theirs.interval)
        assert (mine.decisions, mine.optimal_share) == (theirs.decisions, theirs.optimal_share)
        assert list(mine.by_score) == list(theirs.by_score)
        for label, part in mine.by_throw.items():
            assert part.regret == pytest.approx(theirs.by_throw[label].regret)
        assert [mistake.regret for mistake in mine.worst] == pytest.approx([mistake.regret for mistake in theirs.worst])
        assert {mistake.position for mistake in mine.worst} == {mistake.position for mistake in theirs.worst}


def test_run_folder_has_the_documented_files(finished: tuple[Path, Tournament]) -> None:
    folder, found = finished
    assert {path.name for path in folder.iterdir()} == {"config.yaml", "plan.json", "blocks", "results.json"}
    assert blocks_in(folder) == [f"{block:06d}.npz" for block in range(5)]
    assert json.loads((folder / "results.json").read_text("utf-8")) == found.to_json()
    assert TournamentConfig(**yaml.safe_load((folder / "config.yaml").read_text("utf-8"))) == config()


def test_json_has_the_evaluations_keys_and_its_own(finished: tuple[Path, Tournament]) -> None:
    plain = finished[1].to_json()
    own = "tables games_per_table pairs rating rating_interval rank rank_interval expected anchor resamples cycles"
    assert set(plain) == set(finished[1].evaluation.to_json()) | set(own.split())
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["tables"] == [["random", "greedy"], ["random", "solver"], ["greedy", "solver"]]
    assert plain["games_per_table"] == 100
    assert [pair["agents"] for pair in plain["pairs"]] == plain["tables"]
    assert plain["rank"][0] == 3
    assert plain["rating"][0] < -100
    for pair in plain["pairs"]:
        low, high = pair["interval"]
        assert low <= pair["mean"] <= high
        assert pair["games"] == 100 >= pair["distinct_games"]


@pytest.mark.parametrize(("workers", "block"), [(2, 60), (1, 7), (1, 1000)])
def test_workers_and_block_size_do_not_change_the_figures(
    workers: int, block: int, finished: tuple[Path, Tournament], tmp_path: Path
) -> None:
    """Equal blocks give equal bits; other blocks add up regret in another order."""
    found = run_tournament(config(workers=workers, block=block), tmp_path / "run").to_json()
    before = finished[1].to_json()
    if block == SMALL["block"]:
        assert found == before
    else:
        assert found["regret_per_decision"] == pytest.approx(before["regret_per_decision"])
        for key in (
            "against",
            "rating",
            "rating_interval",
            "pairs",
            "seat_win_rate",
            "optimal_share",
            "distinct_games",
        ):
            assert found[key] == before[key]


@pytest.mark.slow
def test_ray_gives_the_same_figures(finished: tuple[Path, Tournament], tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    try:
        found = run_tournament(config(workers=2, backend="ray"), tmp_path / "run")
    finally:
        ray.shutdown()
    assert found.to_json() == finished[1].to_json()


@pytest.mark.parametrize("tables", ["all", 6])
def test_tables_of_three_players(tables: Any, tmp_path: Path) -> None:
    agents = {"a": "random", "b": "greedy", "c": "random", "d": "greedy", "e": "random", "f": "greedy"}
    settings = {"players": 3, "agents": agents, "games": 30, "tables": tables, "regret": False, "block": 500}
    found = run_tournament(config(**settings), tmp_path / "run")
    evaluation = found.evaluation
    assert len(found.tables) == (20 if tables == "all" else 6)
    assert found.games_per_table == 30
    assert evaluation.games == 30 * len(found.tables)
    assert len(set(column(evaluation, "starts"))) == 1
    assert sum(column(evaluation, "wins")) == pytest.approx(evaluation.games)
    assert {found.ratings.rank[a] for a in (1, 3, 5)} == {1, 2, 3}
    assert set(evaluation.pairs) == set(permutations(agents, 2))


def test_fewer_agents_than_seats_share_the_table(tmp_path: Path) -> None:
    found = run_tournament(config(players=4, agents=["random", "greedy"], games=50, regret=False), tmp_path / "run")
    assert found.tables == (("random", "greedy"),)
    assert found.evaluation.games == 50
    assert found.ratings.rank == (2, 1)


def test_identical_agents_count_as_repeated_games(tmp_path: Path) -> None:
    """Two names of one deterministic agent: the two games of a seed are one distinct game."""
    agents = {"one": "greedy", "other": "greedy", "random": "random"}
    found = run_tournament(config(agents=agents), tmp_path / "run")
    alike, *rest = unordered_pairs(found.evaluation)
    assert alike.agents == ("one", "other")
    assert (alike.games, alike.distinct_games) == (100, 50)
    assert alike.difference.mean == 0.0
    assert alike.games_needed.raw.games is None
    assert all(pair.distinct_games > 50 for pair in rest)
    assert found.evaluation.distinct_games == sum(pair.distinct_games for pair in (alike, *rest))
    assert abs(found.ratings.points[0] - found.ratings.points[1]) < 1e-3


# Agents given as objects -----------------------------------------------------------------------------------------


def noisy() -> Any:
    """Return an agent of a class that workers cannot import."""

    class Noisy:
        name = "noisy"

        def __init__(self) -> None:
            self._agent = make_agent("random", Game("no_dice", 2, target=8), 99)

        def act(self, states: Any) -> Any:
            return self._agent.act(states)

    return Noisy()


@pytest.mark.parametrize("workers", [1, 2])
def test_object_plays_under_its_name_in_the_configuration(workers: int, tmp_path: Path) -> None:
    settings = config(agents=["greedy", "mine"], workers=workers)
    found = run_tournament(settings, tmp_path / "run", agents={"mine": noisy()})
    assert tuple(found.evaluation.agents) == ("greedy", "mine")
    assert found.ratings.rank == (1, 2)
    assert read_tournament(tmp_path / "run") == found
    with pytest.raises(
        UnknownNameError, match=r"no agent 'mine' .*, in Python, an object given as agents=\{'mine': …\}"
    ):
        resume_tournament(tmp_path / "run")
    assert resume_tournament(tmp_path / "run", agents={"mine": noisy()}) == found


def test_unpicklable_object_plays_only_in_one_process(tmp_path: Path) -> None:
    agent = noisy()
    agent.lock = threading.Lock()
    with pytest.raises(OptionError, match="agent 'mine' must be picklable .*lock' object.* workers=1"):
        run_tournament(config(agents=["greedy", "mine"], workers=2), tmp_path / "run", agents={"mine": agent})
    assert not (tmp_path / "run").exists()
    assert run_tournament(config(agents=["greedy", "mine"], workers=1), tmp_path / "run", agents={"mine": agent})


def test_missing_joblib_raises_and_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(MissingExtraError, match="tournament"):
        run_tournament(config(agents=["greedy", "mine"]), tmp_path / "run", agents={"mine": noisy()})


def test_object_under_an_unknown_name_raises(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="agents must be among random, greedy, solver, got mine"):
        run_tournament(config(), tmp_path / "run", agents={"mine": noisy()})
    assert not (tmp_path / "run").exists()


# Stopping and resuming -------------------------------------------------------------------------------------------


def test_incomplete_tournament_raises_and_says_how_to_continue(
    finished: tuple[Path, Tournament], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Stop):
        run_tournament(config(), run, progress=stop_after(2, 5))
    assert blocks_in(run) == ["000000.npz", "000001.npz"]
    assert not (run / "results.json").exists()
    with pytest.raises(IncompleteTournamentError, match=r"3 of 5 blocks are missing \(2–4\)") as caught:
        read_tournament(run)
    assert caught.value.missing == [2, 3, 4]
    assert f"trialea tournament --resume {run}" in str(caught.value)

    before = {name: (run / "blocks" / name).stat().st_mtime_ns for name in blocks_in(run)}
    assert resume_tournament(run, changes=["workers=2"]).to_json() == finished[1].to_json()
    for name, written in before.items():
        assert (run / "blocks" / name).stat().st_mtime_ns == written
    assert read_tournament(run) == finished[1]
    assert resume_tournament(run) == finished[1]  # nothing is left to play


def test_damaged_and_foreign_blocks_are_played_again(finished: tuple[Path, Tournament], tmp_path: Path) -> None:
    run = tmp_path / "run"
    run_tournament(config(), run)
    run_tournament(config(seed=1), tmp_path / "other")
    (run / "blocks" / "000001.npz").write_bytes((run / "blocks" / "000001.npz").read_bytes()[:-40])
    (run / "blocks" / "000003.npz").write_bytes((tmp_path / "other" / "blocks" / "000003.npz").read_bytes())
    (run / "blocks" / "000004.npz").write_bytes((run / "blocks" / "000000.npz").read_bytes())
    (run / "blocks" / ".writing-abc").write_text("left behind")
    with pytest.raises(IncompleteTournamentError, match=r"\(1, 3–4\)"):
        read_tournament(run)
    assert resume_tournament(run) == finished[1]
    assert len(blocks_in(run)) == 5


def test_configuration_of_a_started_tournament_cannot_change(finished: tuple[Path, Tournament], tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(Stop):
        run_tournament(config(), run, progress=stop_after(1, 5))
    with pytest.raises(OptionError, match="only workers and backend can change .*, got games=7"):
        resume_tournament(run, changes=["games=7"])
    text = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(text.replace("seed: 0", "seed: 1").replace("solver: solver", "solver: greedy"))
    with pytest.raises(OptionError, match="since it began: seed, agent solver"):
        resume_tournament(run)
    (run / "config.yaml").write_text(text)
    assert resume_tournament(run) == finished[1]


@pytest.mark.parametrize("content", [None, "config.yaml"])
def test_folder_without_a_tournament_raises(content: str | None, tmp_path: Path) -> None:
    if content:
        (tmp_path / content).write_text("game: no_dice")
    for read in (resume_tournament, read_tournament):
        with pytest.raises(OptionError, match=r"must be a tournament's folder, with config\.yaml and plan\.json"):
            read(tmp_path)


def test_new_tournament_in_an_existing_folder_raises(finished: tuple[Path, Tournament]) -> None:
    with pytest.raises(FileError, match="exists already"):
        run_tournament(config(), finished[0])


def test_tournament_in_progress_is_locked(finished: tuple[Path, Tournament], tmp_path: Path) -> None:
    refused = []

    def progress(done: float) -> None:
        with pytest.raises(InUseError, match=rf"process {os.getpid()} on .* is playing a tournament in it") as caught:
            resume_tournament(tmp_path / "run")
        refused.append(caught.value)

    assert run_tournament(config(), tmp_path / "run", progress=progress) == finished[1]
    assert len(refused) == 5


def test_start_killed_between_its_files_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "plan.json").write_text("{}")
    with pytest.raises(OptionError, match=r"To begin one there: trialea tournament CONFIG --out"):
        resume_tournament(tmp_path / "run")
    with pytest.raises(Stop):
        run_tournament(config(), tmp_path / "run", progress=stop_after(1, 5))


def test_full_disk_error_says_what_is_kept_and_how_to_continue(
    finished: tuple[Path, Tournament], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched, pytest.raises(FileError) as caught:
        patched.setattr(np, "savez_compressed", full)
        run_tournament(config(), tmp_path / "run")
    said, block = str(caught.value), tmp_path / "run" / "blocks" / "000000.npz"
    assert said.startswith(
        f"{block} can't be written: no space left on device. Free some space. The finished blocks are"
    )
    assert said.endswith(f"trialea tournament --resume {tmp_path / 'run'}")
    assert resume_tournament(tmp_path / "run") == finished[1]


# Agents with errors ----------------------------------------------------------------------------------------------


def rogue(wrong: np.ndarray) -> Any:
    """Return a greedy agent that adds up the faces too early in games with these seeds."""

    class Rogue:
        name = "rogue"

        def __init__(self) -> None:
            self._agent = make_agent("greedy", Game("no_dice", 2, target=8))

        def act(self, states: Any) -> Any:
            return np.where(np.isin(states.seed, wrong) & (states.throws == 1), 139, self._agent.act(states))

    return Rogue()


@pytest.mark.parametrize("workers", [1, 2])
def test_illegal_action_stops_the_tournament_and_keeps_games(workers: int, tmp_path: Path) -> None:
    settings, run = config(agents=["random", "mine", "solver"], workers=workers), tmp_path / "run"
    schedule = settings.make_schedule(settings.make_game())
    wrong = schedule.seeds(np.array([130]))  # in the third block
    with pytest.raises(UnfinishedMatchError, match="agent 'mine': action 139") as caught:
        run_tournament(settings, run, agents={"mine": rogue(wrong)})
    message, found = str(caught.value), caught.value.evaluation
    assert "player_" in message
    assert message.endswith(f"To continue: resume_tournament({str(run)!r}, agents={{'mine': …}})")
    assert found is not None
    kept = len(blocks_in(run)) if (run / "blocks").exists() else 0
    assert workers > 1 or kept == 2
    assert 60 * kept + 50 < found.games < 60 * (kept + 1)
    assert tuple(found.agents) == ("random", "mine", "solver")

    mended = resume_tournament(run, agents={"mine": rogue(wrong[:0])})
    honest = run_tournament(
        config(agents=["random", "mine", "solver"]), tmp_path / "honest", {"mine": rogue(wrong[:0])}
    )
    assert mended == honest


def test_killed_worker_process_keeps_finished_blocks(tmp_path: Path) -> None:
    class Deadly:
        name = "deadly"

        def act(self, states: Any) -> Any:
            os._exit(3)

    run = tmp_path / "run"
    with pytest.raises(IncompleteTournamentError, match="a worker process died") as caught:
        run_tournament(config(agents=["random", "mine"], workers=2), run, agents={"mine": Deadly()})
    assert "To continue: resume_tournament(" in str(caught.value)
    assert caught.value.missing == [0, 1]


def test_unknown_agent_raises_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="nobody"):
        run_tournament(config(agents=["random", "nobody"]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_changed_model_file_cannot_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's content is compared, and its full path is stored, so that it is found from any folder."""
    pytest.importorskip("torch")
    from torch import nn

    from trialea.agents.model import ModelAgent

    def write(content: str) -> None:
        with zipfile.ZipFile(tmp_path / "mine" / "model.zip", "w") as archive:
            archive.writestr(zipfile.ZipInfo("content"), content)  # without a time stamp

    game = Game("no_dice", 2, target=8)
    (tmp_path / "mine").mkdir()
    write("one")
    network = nn.Linear(game.observation_size, game.num_actions)
    monkeypatch.setattr(ModelAgent, "load", lambda path, game, seed=0: ModelAgent(game, network, name=str(path)))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Stop):
        run_tournament(config(agents=["random", "mine"]), tmp_path / "run", progress=stop_after(1, 2))
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["agents"]["mine"] == str(tmp_path / "mine")
    monkeypatch.chdir("/")
    write("two")
    with pytest.raises(OptionError, match="agent mine"):
        resume_tournament(tmp_path / "run")
    write("one")
    resume_tournament(tmp_path / "run")


def test_numbers_are_listed_as_ranges() -> None:
    assert tournaments._as_ranges([0, 4, 5, 6, 9, 10]) == "0, 4–6, 9–10"
