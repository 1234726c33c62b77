"""What a policy reads of a game, where one policy plays for several numbers of players."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States


class ObservationPadder:
    """A game's observations, padded to a table of `seats` where a policy is for more than one number of players.

    A padded observation has the entries that the game's observation has for so many seats, each at the same place
    whatever the number of players; those of empty seats are 0. After them come `seats` flags: 1 for each seat that is
    there, the observer's first and then in order from the observer's left.

    Args:
        game: what is played.
        seats: the most players that the policy is for; None leaves observations as the game gives them.

    Attributes:
        game: as given.
        size: length of an observation.

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
            raise OptionError(f"{game!r} has more players than the {seats} seats that observations are padded to")
        widest = Game(game.name, seats, **game.description()["options"])
        place_of = {name: place for place, name in enumerate(widest.observation_names())}
        self._places = np.array([place_of[name] for name in game.observation_names()])
        self._flags = slice(widest.observation_size, widest.observation_size + game.num_players)
        self.size = widest.observation_size + seats

    def observe(self, states: States, seats: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """What `seats` (B,), by default the players to move, see of the (B,) states: (B, size)."""
        seen = self.game.observe(states, seats)
        if self._places is None:
            return seen
        padded = np.zeros((len(states), self.size), np.float32)
        padded[:, self._places] = seen
        padded[:, self._flags] = 1.0
        return padded
