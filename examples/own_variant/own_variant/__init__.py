"""Quick No Dice: three players, 5 points, two throws a turn; registered with Gymnasium and PettingZoo on import."""

from typing import Any

import trialea

ID = "own_variant/QuickNoDice-v0"
GAME = "no_dice"
ARGUMENTS: dict[str, Any] = {"num_players": 3, "target": 5, "throws": 2}

trialea.register_variant(ID, GAME, **ARGUMENTS)


def make_game() -> trialea.Game:
    """The variant, as agents, solutions and evaluation take it."""
    return trialea.make_game(GAME, **ARGUMENTS)
