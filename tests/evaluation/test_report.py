"""Tests of HTML reports: self-contained, complete, escaped and written atomically."""

from __future__ import annotations

import json
import re
import sys
from html import escape
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from tests.evaluation.report_pages import read
from tests.helpers import column, run_python
from trialea.envs.agent import make_agent
from trialea.envs.errors import MissingExtraError, OptionError
from trialea.envs.game import Game
from trialea.evaluation import Evaluation, evaluate, write_report
from trialea.evaluation.intervals import t_interval
from trialea.evaluation.reports import plots, report
from trialea.evaluation.reports.plots import _draw_curves
from trialea.evaluation.reports.report import render

GAME = Game("no_dice", 2, target=8)


@pytest.fixture(scope="module")
def evaluations() -> list[Evaluation]:
    """Return three small evaluations."""
    six = evaluate(Game("no_dice", 6, target=8), ["random", "greedy"], num_games=30)
    return [
        evaluate(GAME, ["random", "greedy"], num_games=40),
        evaluate(GAME, ["random", "solver"], num_games=40),
        six,
    ]


def test_report_is_self_contained_and_complete(tmp_path: Path, evaluations: list[Evaluation]) -> None:
    path = write_report(evaluations, tmp_path / "new" / "report.html")
    page, parser = read(path)
    assert parser.loads == []
    assert not {"script", "link", "iframe", "img", "object"} & set(parser.tags)
    assert not re.search(r"https?:|@import|url\((?!#)", page)
    assert parser.tags.count("svg") >= 3
    for evaluation in evaluations:
        assert str(evaluation.seed) in parser.text
        for rate in column(evaluation, "win_rate"):
            assert f"{100 * rate:.1f}\N{NO-BREAK SPACE}%" in parser.text
        for regret in column(evaluation, "regret"):
            for mistake in regret.worst if regret else ():
                assert escape(mistake.position) in page
                assert mistake.action in parser.text
                assert mistake.best_action in parser.text
    assert "chose a best action in each" in parser.text  # the solver
    assert "Regret was not measured" in parser.text
    assert f"trialea {evaluations[0].versions['trialea']}" in parser.text
    assert list(path.parent.iterdir()) == [path]
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', page)) <= set(ids)


def test_report_shows_learning_curves(tmp_path: Path, evaluations: list[Evaluation]) -> None:
    lines = [
        {
            "frames": 1000 * i,
            "seconds": 1.0 * i,
            "win_rate/random": 0.5,
            "win_rate/solver": None,
            "regret": 30.0 / i,
        }
        for i in range(1, 5)
    ]
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "metrics.jsonl").write_text(text + '\n{"frames": 50')
    page, parser = read(write_report(evaluations, tmp_path / "report.html", [tmp_path]))
    assert "Learning" in parser.text
    assert "regret" in parser.text.partition("Learning")[2]
    assert "optimal decisions<" not in page.partition("</figure>")[2].partition("</figure>")[0]
    (tmp_path / "empty").mkdir()
    page, parser = read(write_report(evaluations, tmp_path / "report.html", [tmp_path / "empty"]))
    assert "Learning" not in parser.text


def test_learning_curves_of_several_runs_show_their_mean(evaluations: list[Evaluation]) -> None:
    """One of the three runs has a single measurement; covers one and several numbers of players."""
    ends = [0.2, 0.4, 0.6]
    runs = [[{"frames": 0, "regret": 1.0}, {"frames": 10, "regret": end}] for end in ends]
    low, high = t_interval(ends)
    figure = Figure()
    axes = figure.subplots()
    _draw_curves(axes, [{line["frames"]: line["regret"] for line in run} for run in runs], "-", color="k")
    thick = axes.lines[-1]
    assert thick.get_xdata().tolist() == [0, 10] and thick.get_ydata() == pytest.approx([1.0, 0.4])
    assert len(axes.lines) == 4
    corners = axes.collections[0].get_paths()[0].vertices
    assert {(10.0, low), (10.0, high), (0.0, 1.0)} <= set(map(tuple, corners))
    assert "their mean" in render(evaluations, runs) and "their mean" not in render(evaluations, runs[:1])
    page = render(
        evaluations, [[{"frames": 1, "2p/win_rate/solver": 0.4, "3p/win_rate/solver": 0.3, "3p/regret": 1.0}]]
    )
    assert "solver, 2 players" in page and "solver, 3 players" in page and ">3 players<" in page


def test_names_are_escaped(tmp_path: Path) -> None:
    agent = make_agent("greedy", GAME)
    agent.name = "<script>alert('$x$')</script> & co"
    page, parser = read(write_report([evaluate(GAME, [agent, "random"], num_games=10)], tmp_path / "report.html"))
    assert "script" not in parser.tags
    assert "<script>" not in page
    assert agent.name in parser.text


def test_failed_write_keeps_the_old_report(
    tmp_path: Path, evaluations: list[Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_report(evaluations[:1], tmp_path / "report.html")
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_report(evaluations, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_report_without_evaluations_raises(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="at least one"):
        write_report([], tmp_path / "report.html")


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_missing_package_raises_and_names_the_extra(
    tmp_path: Path, evaluations: list[Evaluation], monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*trialea\[report\]"):
        report.render(evaluations)


def test_importing_evaluation_loads_no_heavy_packages() -> None:
    loaded = run_python("import sys, trialea.evaluation; print(*sys.modules)").split()
    assert not {"torch", "matplotlib", "jinja2"} & set(loaded)


@pytest.mark.parametrize(("agents", "players", "equal"), [(4, 2, 1 / 2), (2, 3, 1 / 2), (3, 3, 1 / 3), (2, 4, 1 / 2)])
def test_equal_win_rate_counts_the_seats_at_a_table(agents: int, players: int, equal: float) -> None:
    game = Game("no_dice", players, target=4)
    found = evaluate(game, ["random"] * agents, num_games=24, regret=False, luck=False)
    assert column(found, "equal_win_rate") == pytest.approx([equal] * agents)


def test_logarithmic_axis_has_plain_number_labels() -> None:
    """Covers regrets over more than a decade, within one, and so close that the axis is linear."""
    for first, last, label in ((90.0, 0.7, ">10<"), (60.0, 11.0, ">20<"), (63.0, 58.0, ">60<")):
        page = plots.learning_curves([[{"frames": 1, "regret": first}, {"frames": 2, "regret": last}]])
        assert "mathdefault" not in page and "$" not in page
        assert label in page


def test_names_in_any_script_are_drawn_without_warnings() -> None:
    names = ["骰子", "ಆಟ", "a\x07b", "<i>"]
    agents = [Named(name, Game("no_dice", 2, target=4)) for name in names]
    found = evaluate(Game("no_dice", 2, target=4), agents, num_games=12, regret=False)
    page = render([found])
    plot = page[page.index("<svg") : page.index("</svg>")]
    assert "骰子" in plot and "ಆಟ" in plot and "&lt;i&gt;" in plot and "a b" in plot


class Named:
    """An agent with a given name that plays the first legal action."""

    def __init__(self, name: str, game: Game) -> None:
        self.name, self.game = name, game

    def act(self, states: Any) -> Any:
        return self.game.masks(states).argmax(axis=1)


def test_evaluation_has_a_short_repr_in_a_notebook(evaluations: list[Evaluation]) -> None:
    for evaluation in evaluations:
        assert repr(evaluation).startswith("<Evaluation of ") and len(repr(evaluation)) < 200
        shown = evaluation._repr_html_()
        assert len(shown) < 1000
        for name, agent in evaluation.agents.items():
            assert f"<th>{name}</th><td>{agent.win_rate:.1%}</td>" in shown
