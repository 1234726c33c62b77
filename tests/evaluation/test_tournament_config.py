"""Tests of tournament configurations, the `tournament` command, its report, and their documentation."""

from __future__ import annotations

import json
import re
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from tests.command_line import Cli
from tests.evaluation.made_up_matches import luce, match_of
from tests.evaluation.report_pages import read
from tests.helpers import nth
from trialea import GAMES
from trialea.commands.tournament import tournament
from trialea.envs.errors import MissingExtraError, OptionError, TrialeaError
from trialea.envs.game import Game
from trialea.evaluation import evaluate, write_tournament_report
from trialea.evaluation.matches.schedule import make_seatings
from trialea.evaluation.reports import report
from trialea.evaluation.sampled import summarise
from trialea.evaluation.tournaments.config import TournamentConfig, load_tournament_config, shipped_configs
from trialea.evaluation.tournaments.standings import standings
from trialea.evaluation.tournaments.tournament import read_tournament, resume_tournament, run_tournament

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tournaments.md"
MINIMAL = {"game": "no_dice", "agents": ["random", "greedy"]}


def written(folder: Path, **changes: Any) -> Path:
    """Write a configuration file."""
    file = folder / "some.yaml"
    file.write_text(yaml.safe_dump({**MINIMAL, **changes}), encoding="utf-8")
    return file


# Configurations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", shipped_configs())
def test_shipped_configuration_loads_from_any_folder(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load_tournament_config(path)
    assert config == load_tournament_config(Path(path).name)
    assert config.game in GAMES
    known = GAMES[config.game].agents_for(config.make_game().num_players)
    assert set(config.agents.values()) <= set(known)


def test_each_game_has_a_shipped_configuration() -> None:
    assert {f"configs/tournaments/{name}.yaml" for name in GAMES} <= set(shipped_configs())


def test_configuration_survives_dump_and_load(tmp_path: Path) -> None:
    config = load_tournament_config(
        "configs/tournaments/no_dice.yaml", ["games=7", "options.target=20", "anchor=random"]
    )
    assert (config.games, config.options, config.anchor) == (7, {"target": 20}, "random")
    (tmp_path / "again.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")))
    assert load_tournament_config(tmp_path / "again.yaml") == config


def test_listed_agents_are_named_after_the_end_of_their_path() -> None:
    agents = ["greedy", "runs/a/best.zip", "runs/b/", "greedy", "other/b"]
    assert TournamentConfig(game="no_dice", agents=agents).agents == {  # type: ignore[arg-type]
        "greedy": "greedy",
        "best": "runs/a/best.zip",
        "b": "runs/b/",
        "greedy (2)": "greedy",
        "b (2)": "other/b",
    }


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"game": "chess"}, "chess"),
        ({"agents": ["random"]}, "agents must be at least 2, got 1"),
        ({"agents": ["random", "human"]}, "agents must not name a person"),
        ({"agents": "random"}, "agents must be a list of names and paths, or a mapping to them, got 'random'"),
        ({"agents": ["random", 3]}, "agents must be names and paths in a list, got 3"),
        ({"anchor": "solver"}, "anchor must be one of the agents"),
        ({"tables": 3}, "tables must be left out: with 2 agents there is one table"),
        ({"tables": "some"}, "tables"),
        ({"games": 0}, "games"),
        ({"seed": 2**64}, "seed"),
        ({"confidence": 95}, "confidence"),
        ({"backend": "dask"}, "backend"),
        ({"options": {"goal": 3}}, "goal"),
        ({"rounds": 3}, "rounds is not a known key. The keys are game, players, options, agents, tables"),
    ],
)
def test_invalid_value_raises_and_names_its_key(changes: dict[str, Any], named: str, tmp_path: Path) -> None:
    with pytest.raises(TrialeaError, match=re.escape(named)):
        load_tournament_config(written(tmp_path, **changes))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a: [1", "not valid YAML"),
        ("[1, 2]", "must hold a mapping"),
        ("", "must hold a mapping"),
        ("seed: 1\nseed: 2", "the key 'seed' appears twice"),
    ],
)
def test_file_that_is_not_a_valid_mapping_raises(text: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "some.yaml").write_text(text)
    with pytest.raises(OptionError, match=rf"some\.yaml.*{named}"):
        load_tournament_config(tmp_path / "some.yaml")


@pytest.mark.parametrize(
    ("change", "named"), [("games", "key=value"), ("=3", "key=value"), ("seed.x=1", "no nested keys")]
)
def test_invalid_set_changes_raise(change: str, named: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=named):
        load_tournament_config(written(tmp_path, seed=1), [change])


def test_missing_file_error_lists_the_shipped_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("nothing.yaml", "configs/no_dice.yaml", "elsewhere/no_dice.yaml"):
        with pytest.raises(OptionError, match=r"there is no configuration .*configs/tournaments/no_dice\.yaml"):
            load_tournament_config(path)


def test_docs_list_every_key_with_its_default() -> None:
    match = re.search(r"^\| key \| default \| meaning \|\n\| --- .*\|\n((?:\|.*\|\n)+)", PAGE.read_text("utf-8"), re.M)
    assert match
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in match[1].splitlines()]
    fields = TournamentConfig.model_fields
    assert [key for key, *_ in rows] == list(fields)
    for key, default, *_ in rows:
        if fields[key].is_required():
            assert default == "required"
        else:
            assert yaml.safe_load(default.strip("`")) == fields[key].default, key


# Reports ---------------------------------------------------------------------------------------------------------


def rock_paper_scissors() -> Any:
    """Return a tournament in which each of three agents beats the next one nine times in ten."""
    seatings = make_seatings(3, 2)
    winner = {(0, 1): 0, (1, 0): 0, (1, 2): 1, (2, 1): 1, (2, 0): 2, (0, 2): 2}
    shares = [[float(seat == winner[tuple(row)]) for seat in row] for row in seatings.tolist()]
    match = match_of(luce([0, 0, 0], 2, 10, 0).shares * 0 + 0.5, seatings)
    rounds = match.shares.reshape(10, len(seatings), 2)
    rounds[:9] = shares
    game, names = Game("no_dice", 2), ("rock", "paper", "<b>scissors</b>")
    return standings(summarise(game, match, names, 0.95), match, 100)


def test_report_shows_a_cycle(tmp_path: Path) -> None:
    found = rock_paper_scissors()
    (cycle,) = found.cycles
    assert {lead.agents for lead in cycle} == {
        ("rock", "paper"),
        ("paper", "<b>scissors</b>"),
        ("<b>scissors</b>", "rock"),
    }
    assert all(lead.interval[0] > 0 for lead in cycle)
    assert max(abs(points) for points in found.ratings.points) < 1e-3  # one number per agent cannot show the cycle
    page, parser = read(write_tournament_report(found, tmp_path / "report.html"))
    assert "rock beats paper" in parser.text
    assert "A cycle contradicts them" in parser.text
    assert "<b>scissors</b>" in parser.text and "<b>scissors</b>" not in page
    assert page.count('class="won"') == page.count('class="lost"') == 3


def test_tournament_report_is_self_contained_and_complete(tmp_path: Path) -> None:
    small = Game("no_dice", 2, target=8)
    evaluation = evaluate(small, ["random", "greedy", "solver"], num_games=120)
    match = luce([-1, 0, 0.1], 2, 20, 0)
    found = standings(evaluation, match, 100, "random")
    page, parser = read(write_tournament_report(found, tmp_path / "new" / "report.html"))
    assert parser.loads == []
    assert not {"script", "link", "iframe", "img", "object"} & set(parser.tags)
    assert parser.tags.count("svg") >= 2
    assert "random has 0." in parser.text
    assert "There is no significant cycle" in parser.text
    assert nth(evaluation, 0).regret
    for mistake in nth(evaluation, 0).regret.worst:
        assert mistake.action in parser.text
    for a, b in combinations(evaluation.agents, 2):
        assert f"{a} – {b}" in parser.text
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_missing_report_package_raises_before_anything_is_played(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for package in ("jinja2", "matplotlib"):
        with monkeypatch.context() as patch:
            patch.setitem(__import__("sys").modules, package, None)
            with pytest.raises(MissingExtraError, match=rf"{package}.*trialea\[report\]"):
                report.check_can_report()
            done = command(written(tmp_path), "--out", tmp_path / "run")
            assert isinstance(done.exception, MissingExtraError)
            assert not (tmp_path / "run").exists()


# The command -----------------------------------------------------------------------------------------------------


def command(*words: Any) -> Any:
    """Run `trialea tournament`."""
    app = typer.Typer()
    app.command()(tournament)
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "120", "NO_COLOR": "1"})


SHORT = {"options": {"target": 8}, "games": 60, "resamples": 100, "workers": 1, "block": 50}


def test_command_shows_and_saves_the_results(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = command(
        written(tmp_path, **SHORT), "--out", run, "--set", "seed=3", "--set", "agents=[greedy, random, greedy]"
    )
    assert done.exit_code == 0, done.output
    for words in ("seed 3", "rank", "rating", "greedy (2)", "with random", "games are distinct"):
        assert words in done.stdout
    assert f"The tournament is complete: {run}" in done.stderr
    assert (run / "report.html").is_file()
    results = json.loads((run / "results.json").read_text("utf-8"))
    again = command("--resume", run, "--json", "--no-report")
    assert json.loads(again.stdout) == results


def test_names_with_brackets_are_shown_unchanged(tmp_path: Path) -> None:
    agents = {"net [/a]": "random", "[red]x": "greedy"}
    done = command(written(tmp_path, agents=agents, **SHORT), "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert "net [/a]" in done.stdout and "[red]x" in done.stdout


def test_damaged_plan_says_how_to_continue(tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    found = run_tournament(load_tournament_config(written(tmp_path, **SHORT)), run)
    for content in (b"", b"{", b"\xff\xfe\x00", b"null", b"[]"):
        (run / "plan.json").write_bytes(content)
        for go_on in (resume_tournament, read_tournament):
            with pytest.raises(OptionError, match=r"plan\.json must be .* damaged.*trialea tournament .*\.yaml --out"):
                go_on(run)
    run_tournament(load_tournament_config(run / "config.yaml"), other)
    (run / "plan.json").write_bytes((other / "plan.json").read_bytes())
    assert read_tournament(run) == found


def test_invalid_tournament_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    settings: dict[str, Any] = {"game": "no_dice", "agents": ["random", "greedy"], "games": 4, "options": {"target": 3}}
    with pytest.raises(MissingExtraError, match="cluster"):
        run_tournament(TournamentConfig(**settings, backend="ray"), tmp_path / "run")
    for wrong in ({"config": settings}, {"agents": ["random"]}):
        with pytest.raises(OptionError, match="TournamentConfig|mapping"):
            run_tournament(**{"config": TournamentConfig(**settings), "folder": tmp_path / "run", **wrong})
    assert not (tmp_path / "run").exists()


def test_default_run_folder_is_the_first_free_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        assert command(written(tmp_path, **SHORT), "--no-report").exit_code == 0
        assert (tmp_path / "runs" / f"tournament-some-{number}" / "results.json").is_file()
    assert not (tmp_path / "runs" / "tournament-some-1" / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "CONFIG is missing. Give a YAML file, or a bundled configuration: configs/tournaments/"),
        (["a.yaml", "--resume", "b"], "--resume can be given with --set only"),
        (["--out", "a", "--resume", "b"], "--resume can be given with --set only"),
        (["nothing.yaml"], "there is no configuration nothing.yaml"),
        (["--resume", "nowhere"], "must be a tournament's folder"),
    ],
)
def test_invalid_arguments_raise(words: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(*words)
    assert isinstance(done.exception, OptionError)
    assert named in str(done.exception)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"games": 10**9}, "must have at most 1,000,000,000 games at all its tables, got 3,000,000,000. Lower games"),
        ({"games": 10**7, "block": 1}, "must have at most 1,000,000 blocks. Set block to 30 or more"),
    ],
)
def test_too_many_games_raise_before_anything_is_written(changes: dict[str, Any], named: str, tmp_path: Path) -> None:
    settings = {"game": "no_dice", "agents": ["random", "greedy", "solver"], **changes}
    with pytest.raises(OptionError, match=named):
        run_tournament(TournamentConfig(**settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_stopped_tournament_says_how_to_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trialea.evaluation.tournaments.workers.run_block", stop)
    done = cli("tournament", written(tmp_path, **SHORT), "--out", tmp_path / "run")
    assert done.code == 130
    assert f"To continue: trialea tournament --resume {tmp_path / 'run'}" in done.err


@pytest.mark.parametrize("as_json", [True, False])
def test_finished_games_are_shown_after_an_illegal_action(
    as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trialea.agents.no_dice.greedy import GreedyAgent

    act = GreedyAgent.act

    def wrong(self: Any, states: Any) -> Any:
        actions = act(self, states)
        actions[(states.turns[:, 0] > 1) & (states.throws == 1)] = 139
        return actions

    monkeypatch.setattr(GreedyAgent, "act", wrong)
    words = [written(tmp_path, **SHORT), "--out", tmp_path / "run", *(["--json"] if as_json else [])]
    done = command(*words)
    assert "agent 'greedy': action 139" in str(done.exception)
    if as_json:
        kept = json.loads(done.stdout)
        assert 0 < kept["games"] < 60
        assert kept["error"] == str(done.exception)
    else:
        assert "with greedy" in done.stdout
