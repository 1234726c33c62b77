"""Small games for tests of afterstate agents and their training."""

from __future__ import annotations

from typing import Any

import pytest

from trialea import GAMES

SMALL: dict[str, dict[str, Any]] = {"no_dice": {"target": 8}, "poker_figures": {"rows": "ADF", "columns": 2}}
every_game = pytest.mark.parametrize("name", [name for name in GAMES if GAMES[name].afterstates])
