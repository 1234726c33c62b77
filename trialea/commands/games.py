"""The command `trialea games`: list the games, their options and their agents."""

from __future__ import annotations

from typing import Any

from trialea.commands.console import out, print_json, show_record
from trialea.commands.options import AsJson, options_of
from trialea.envs.registry import GAMES


def games(as_json: AsJson = False) -> None:
    """List the games with their options and agents."""
    from trialea.agents import zoo
    from trialea.envs.package import package_of

    rows: list[dict[str, Any]] = []
    for entry in GAMES.values():
        rules = package_of(entry.name).rules
        rows.append(
            {
                "game": entry.name,
                "summary": entry.summary,
                "gymnasium": entry.gym_id,
                "pettingzoo": entry.pettingzoo_id,
                "players": [rules.MIN_PLAYERS, rules.MAX_PLAYERS],
                "options": options_of(entry.name),
                "agents": list(entry.agents),
                "zoo": zoo.names(entry.name),
            }
        )
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            _show(row)


def _show(row: dict[str, Any]) -> None:
    low, high = row["players"]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in row["options"].items()]
    out.print(row["game"], style="bold")
    items = {
        "summary": row["summary"],
        "players": f"{low} to {high}",
        "options": "\n".join(options),
        "agents": "\n".join([*row["agents"], *row["zoo"]]),
    }
    show_record(items.items(), indent=2)
