"""The command `trialea games`: list the games, their options and their agents."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from trialea.commands.console import out, print_json
from trialea.commands.options import AsJson, options_of
from trialea.envs.registry import GAMES


def games(as_json: AsJson = False) -> None:
    """List the games, their options with defaults, and the agents that they offer by name."""
    from trialea.agents import zoo
    from trialea.envs.package import package_of

    rows: list[dict[str, Any]] = []
    for entry in GAMES.values():
        rules = package_of(entry.name).rules
        options = options_of(entry.name)
        rows.append(
            {
                "game": entry.name,
                "summary": entry.summary,
                "gymnasium": entry.gym_id,
                "pettingzoo": entry.pettingzoo_id,
                "players": [rules.MIN_PLAYERS, rules.MAX_PLAYERS],
                "options": options,
                "agents": list(entry.agents),
                "zoo": zoo.names(entry.name),
            }
        )
    if as_json:
        print_json(rows)
        return
    table = Table("game", "players")
    for column in ("options", "agents", "what it is"):
        table.add_column(column, overflow="fold")
    for row in rows:
        low, high = row["players"]
        settings = "\n".join(f"--{key.replace('_', '-')}={value}" for key, value in row["options"].items())
        table.add_row(
            row["game"], f"{low} to {high}", settings, "\n".join([*row["agents"], *row["zoo"]]), row["summary"]
        )
    out.print(table)
