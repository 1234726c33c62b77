"""Tests of the trained agents in the package, of publishing runs, and of the published results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import positions
from tests.training.runs import run, tiny
from trialea import GAMES, UnknownNameError, make_agent, make_game
from trialea.agents import zoo
from trialea.agents.model import ModelAgent
from trialea.agents.model_file import ModelFileError
from trialea.benchmarks.results import PAGES, ROWS, Row, differences, measured, replaced, table, write
from trialea.envs.errors import OptionError
from trialea.training.config import load_config
from trialea.training.publish import publish
from trialea.training.run import train

ROOT = Path(__file__).resolve().parents[2]
ANIMALS = [(game, name) for game in GAMES for name in zoo.names(game)]
every_animal = pytest.mark.parametrize(("game", "name"), ANIMALS)


def players_of(game: str, name: str) -> list[int]:
    """Return the numbers of players that the agent supports."""
    players = zoo.about(game, name)["config"]["players"]
    return players if isinstance(players, list) else [players]


# Agents in the package -------------------------------------------------------------------------------------------


def test_zoo_has_both_kinds_of_agents_for_both_games_of_skill() -> None:
    for game in ("no_dice", "poker_figures"):
        assert {"zoo:ppo-2p", "zoo:afterstate-2p"} <= set(zoo.names(game))


@every_animal
def test_zoo_agent_plays_legally_with_each_number_of_players(game: str, name: str) -> None:
    for players in players_of(game, name):
        described = make_game(game, players)
        agent, states = make_agent(name, described), positions(described, 50)
        assert agent.name == name
        assert np.take_along_axis(described.masks(states), agent.act(states)[:, None], axis=1).all()


@every_animal
def test_zoo_agent_describes_how_it_was_trained(game: str, name: str, tmp_path: Path) -> None:
    about = zoo.about(game, name)
    (tmp_path / "config.yaml").write_text(json.dumps(about["config"]))
    assert load_config(tmp_path / "config.yaml").game == game
    assert {"seed", "players", "options"} <= set(about["config"])
    assert {"torch", "numpy", "python"} <= set(about["versions"])
    assert about["frames"] > 0 and about["seconds"] > 0
    assert about["figures"]
    assert zoo.file_of(game, name).stat().st_size < 1_000_000


def test_unknown_zoo_agent_raises_and_names_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="no agent 'zoo:nobody' for no_dice. Its agents .*zoo:ppo-2p"):
        make_agent("zoo:nobody", make_game("no_dice"))
    with pytest.raises(UnknownNameError, match="chess"):
        zoo.names("chess")
    with pytest.raises(UnknownNameError, match="for last_die. Its agents are: none"):
        make_agent("zoo:ppo-2p", make_game("last_die"))
    with pytest.raises(ModelFileError, match="with 2 players .* not no_dice with 3 players"):
        make_agent("zoo:ppo-2p", make_game("no_dice", 3))


@every_animal
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damaged_zoo_file_raises(game: str, name: str, damage: str, tmp_path: Path) -> None:
    content = bytearray(zoo.file_of(game, name).read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    else:
        content[len(content) // 3] ^= 0xFF
    (tmp_path / "bad.zip").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"bad\.zip is not a readable model"):
        make_agent(str(tmp_path / "bad.zip"), make_game(game, players_of(game, name)[0]))


# Publishing a run ------------------------------------------------------------------------------------------------


def test_published_run_plays_as_before_and_is_smaller(tmp_path: Path) -> None:
    config = tiny()
    assert run(config, tmp_path / "run")
    target = publish(tmp_path / "run", "mine", tmp_path / "zoo")
    assert target == tmp_path / "zoo" / "no_dice" / "mine.zip"
    assert target.stat().st_size < (tmp_path / "run" / "model.zip").stat().st_size / 2
    game = config.make_game()
    states = positions(game, 100)
    before, after = (ModelAgent.load(path, game) for path in (tmp_path / "run", target))
    assert np.array_equal(before.action_probabilities(states), after.action_probabilities(states))
    about = json.loads(target.with_suffix(".json").read_text())
    assert about["config"] == config.model_dump(mode="json") and about["frames"] == config.frames
    assert sorted(path.name for path in target.parent.iterdir()) == ["mine.json", "mine.zip"]


def test_published_afterstate_agent_plays_as_before(tmp_path: Path) -> None:
    config = load_config(
        "configs/afterstate_no_dice.yaml", ["games=8", "batch=8", "options.target=6", "measure.times=1"]
    )
    assert train(config, tmp_path / "run", progress=False)
    target = publish(tmp_path / "run", "mine", tmp_path / "zoo")
    game = config.make_games()[0]
    states = positions(game, 50)
    before, after = (make_agent(str(path), game) for path in (tmp_path / "run", target))
    assert np.array_equal(before.act(states), after.act(states))


def test_publishing_an_unfinished_run_raises(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"must be a finished run, but it has no model\.zip"):
        publish(tmp_path, "mine", tmp_path)


# Results ---------------------------------------------------------------------------------------------------------


@every_animal
def test_docs_show_the_measured_figures(game: str, name: str) -> None:
    figures: dict[str, Any] = zoo.about(game, name)["figures"]
    rows = [row for row in ROWS if (row.game, row.agent) == (game, name)]
    assert [row.command for row in rows] == list(figures)
    assert differences(ROOT, [(row, figures[row.command]) for row in rows]) == []


def test_results_are_written_between_the_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(zoo.FOLDER / "no_dice", tmp_path / "zoo" / "no_dice")
    monkeypatch.setattr(zoo, "FOLDER", tmp_path / "zoo")
    (tmp_path / "docs").mkdir()
    for page in PAGES:
        (tmp_path / page).write_text(f"before\n{table(['| old |'])}\nafter\n")
    row = Row("no_dice", 2, "zoo:afterstate-2p", "random", games=100)
    found = list(measured((row,)))
    write(tmp_path, found)
    page = (tmp_path / "README.md").read_text()
    assert page == f"before\n{table([row.line(found[0][1])])}\nafter\n"
    assert differences(tmp_path, found) == []
    assert zoo.about("no_dice", row.agent)["figures"] == {row.command: found[0][1]}
    assert found[0][1]["wins"] > 0.95
    changed = [(row, {**found[0][1], "wins_without_luck": 0.5})]
    assert len(differences(tmp_path, changed)) == len(PAGES)


def test_page_without_marks_raises() -> None:
    with pytest.raises(OptionError, match="must hold the marks"):
        replaced("a page", "a part")


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if not row.against or row.game == "poker_figures"], ids=str)
def test_figures_measured_again_are_unchanged(row: Row) -> None:
    """Only figures that need no table for four players; compared to the digits shown."""
    assert differences(ROOT, list(measured((row,)))) == []
