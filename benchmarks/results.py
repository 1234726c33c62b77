"""Measure the agents of the zoo: `make results` writes the figures into the documentation and beside the models.

In a checkout, `python -m trialea.benchmarks.results` measures every row and writes the figures. With `--check` it
writes nothing, and fails if a figure differs from the documentation. Nothing is trained. To add a figure, add a `Row`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from trialea.agents import solve, zoo
from trialea.envs.errors import OptionError, TrialeaError
from trialea.envs.files import write_text
from trialea.envs.game import Game
from trialea.evaluation import evaluate
from trialea.evaluation.measures.exact import evaluate_exactly
from trialea.training.publish import write_about

PAGES = ("README.md", "docs/results.md")
BEGIN, END = "<!-- results: written by make results -->", "<!-- end of results -->"
HEAD = "| game | players | agent | against | wins | a share of 1/n | command |"


@dataclass(frozen=True)
class Row:
    """One figure: an agent's win rate, exact or from a match.

    Attributes:
        game, players: the game and its number of players.
        agent: the agent that is measured.
        against: the agent in all other seats; `""` for the exact value against the solution.
        games: the number of games of the match.
    """

    game: str
    players: int
    agent: str
    against: str = ""
    games: int = 4000

    @property
    def command(self) -> str:
        """The command that measures the same figure."""
        if not self.against:
            return f"trialea exploit {self.game} {self.agent}"
        others = " ".join([self.against] * (self.players - 1))
        players = f" --players {self.players}" if self.players > 2 else ""
        return f"trialea evaluate {self.game} {self.agent} {others}{players} --games {self.games}"

    def measure(self) -> dict[str, Any]:
        """Measure the figures and return them as plain data."""
        game = Game(self.game, self.players)
        if not self.against:
            exact = evaluate_exactly(game, self.agent)
            return {
                "wins": exact.value_vs_equilibrium,
                "exploitability": exact.exploitability,
                "regret_per_decision": exact.regret_per_decision,
            }
        if self.against == "solver":  # the evaluation itself does not build large tables
            solve(game)
        found = evaluate(
            game, [self.agent, *[self.against] * (self.players - 1)], num_games=self.games, seed=0, worst=0
        )
        agent = next(iter(found.agents.values()))
        figures: dict[str, Any] = {"wins": agent.win_rate, "interval": list(agent.interval)}
        if agent.adjusted is not None:
            figures["wins_without_luck"] = agent.adjusted.win_rate
            interval = agent.adjusted.interval
            figures["interval_without_luck"] = None if interval is None else list(interval)
        return figures

    def line(self, figures: dict[str, Any]) -> str:
        """Return the row of the table."""
        if not self.against:
            shown, wins = f"{figures['wins']:.4f}, exactly", figures["wins"]
        else:
            wins, interval = figures["wins"], figures["interval"]
            if figures.get("interval_without_luck"):
                wins, interval = figures["wins_without_luck"], figures["interval_without_luck"]
            shown = f"{wins:.1%} ({interval[0]:.1%} to {interval[1]:.1%})"
        against = self.against or "the equilibrium"
        cells = (self.game, self.players, f"`{self.agent}`", against, shown, f"{wins * self.players:.3f}")
        return f"| {' | '.join(map(str, cells))} | `{self.command}` |"


ROWS = (
    Row("no_dice", 2, "zoo:afterstate-2p"),
    Row("no_dice", 2, "zoo:ppo-2p"),
    Row("no_dice", 2, "zoo:ppo-2p", "greedy", 20_000),
    Row("no_dice", 2, "zoo:ppo-2to4p"),
    Row("no_dice", 3, "zoo:ppo-2to4p", "solver"),
    Row("no_dice", 4, "zoo:ppo-2to4p", "solver"),
    Row("poker_figures", 2, "zoo:afterstate-2p", "reference"),
    Row("poker_figures", 2, "zoo:afterstate-2p", "greedy"),
    Row("poker_figures", 2, "zoo:ppo-2p", "reference"),
    Row("poker_figures", 2, "zoo:ppo-2p", "greedy"),
)


def table(lines: list[str]) -> str:
    """Return the part of a page between the marks."""
    rule = "| " + " | ".join("---" for _ in HEAD.strip("|").split("|")) + " |"
    return "\n".join([BEGIN, HEAD, rule, *lines, END])


def replaced(page: str, part: str) -> str:
    """Return the page with `part` between its marks.

    Raises:
        OptionError: the page has no marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise OptionError(f"the page must hold the marks {BEGIN!r} and {END!r} around its results")
    return before + part + after


def measured(rows: tuple[Row, ...] = ROWS) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Measure the rows one after the other; print each command on standard error."""
    console = Console(stderr=True)
    for row in rows:
        console.print(row.command, highlight=False)
        yield row, row.measure()


def write(root: Path, found: list[tuple[Row, dict[str, Any]]]) -> None:
    """Write the figures into the pages under `root` and beside the zoo's models."""
    part = table([row.line(figures) for row, figures in found])
    pages = {root / page: replaced((root / page).read_text(encoding="utf-8"), part) for page in PAGES}
    for path, text in pages.items():
        write_text(path, text)
    for game, agent in {(row.game, row.agent) for row, _ in found}:
        figures = {row.command: one for row, one in found if (row.game, row.agent) == (game, agent)}
        write_about(zoo.file_of(game, agent), {**zoo.about(game, agent), "figures": figures})


def differences(root: Path, found: list[tuple[Row, dict[str, Any]]]) -> list[str]:
    """Return the measured rows that the pages under `root` do not show."""
    lines = [row.line(figures) for row, figures in found]
    return [f"{page}: {line}" for page in PAGES for line in lines if line not in (root / page).read_text("utf-8")]


def main() -> None:
    """Run the command line."""
    root = Path.cwd()
    if not all((root / page).is_file() for page in PAGES) or sys.argv[1:] not in ([], ["--check"]):
        sys.exit("usage, in a checkout: python -m trialea.benchmarks.results [--check]")
    try:
        found = list(measured())
        if not sys.argv[1:]:
            write(root, found)
        elif different := differences(root, found):
            sys.exit("\n".join(["these rows differ from the documentation:", *different]))
    except TrialeaError as error:
        sys.exit(f"trialea: {error}")


if __name__ == "__main__":
    main()
