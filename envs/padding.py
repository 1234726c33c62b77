"""Observations padded to one size, so that one policy can play with several numbers of players."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States


class ObservationPadder:
    """Pads a game's observations to a table of `seats`, for a policy that plays with several numbers of players.

    A padded observation has the entries of the same game with `seats` players. Each entry keeps its place whatever the
    number of players; the entries of empty seats are 0. After them come `seats` flags: 1 for each seat that is taken,
    the observer's first, and then in order from the observer's left.

    Args:
        game: the game that is played.
        seats: the most players that the policy can play with; None leaves observations as they are.

    Attributes:
        game: as given.
        size: the length of a padded observation.

    Raises:
        OptionError: the game has more players than there are seats.
    """

    def __init__(self, game: Game, seats: int | None = None) -> None:
        self.game = game
        self._places: NDArray[np.int64] | None = None
        self.size = game.observation_size
        if seats is None:
            return
        if game.num_players > seats:
            raise OptionError(f"the game must have at most {seats} players for this policy, got {game!r}")
        widest = Game(game.name, seats, **game.description()["options"])
        place_of = {name: place for place, name in enumerate(widest.observation_names())}
        self._places = np.array([place_of[name] for name in game.observation_names()])
        self._flags = slice(widest.observation_size, widest.observation_size + game.num_players)
        self.size = widest.observation_size + seats

    def observe(self, states: States, seats: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the padded observations (B, size) of `seats` (B,), by default of the players to move."""
        seen = self.game.observe(states, seats)
        if self._places is None:
            return seen
        padded = np.zeros((len(states), self.size), np.float32)
        padded[:, self._places] = seen
        padded[:, self._flags] = 1.0
        return padded
