"""The agent `reference` of Poker Figures: exact within the turn, with an estimate between turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures.estimate import assess_all, make_model
from trialea.agents.poker_figures.search import FILLINGS
from trialea.agents.poker_figures.turn_player import TurnPlayer
from trialea.envs.game import Game


class ReferenceAgent(TurnPlayer):
    """An agent that plays its turn exactly, see `TurnPlayer`, by `trialea.agents.poker_figures.estimate`."""

    name = "reference"
    deterministic = True

    def __init__(self, game: Game, seed: int = 0) -> None:
        super().__init__(game, self._assess)
        self._model = make_model(game)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.game,)

    def _assess(
        self,
        states: Any,
        throws: int,
        writable: NDArray[np.int64],
        odds: NDArray[Any],
        slopes: NDArray[Any],
        over: NDArray[Any],
    ) -> None:
        max_turns = self.game.tables.max_turns
        assess_all(states, throws, writable, max_turns, FILLINGS, self._model, odds, slopes, over)
