"""Register Quick No Dice (three players, 5 points, two throws a turn) with Gymnasium and PettingZoo."""

from typing import Any

import trialea

ID = "own_variant/QuickNoDice-v0"
GAME = "no_dice"
ARGUMENTS: dict[str, Any] = {"num_players": 3, "target": 5, "throws": 2}

trialea.register_variant(ID, GAME, **ARGUMENTS)


def make_game() -> trialea.Game:
    """Make the variant for agents, solutions and evaluation."""
    return trialea.make_game(GAME, **ARGUMENTS)
