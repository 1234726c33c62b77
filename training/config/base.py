"""The common part of the configurations of all trainings.

The upper bounds here and in the other modules stop a typing error before it reaches torch or the file system. They are
far above any sensible value. `trialea.training.memory` checks whether a configuration fits into the machine's memory.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator

from trialea.configs.values import Count, GameOptions, Real, Seed, Settings, Whole
from trialea.envs.game import Game
from trialea.envs.padding import ObservationPadder
from trialea.envs.registry import get_spec

MAX_FRAMES = 10**11  # a checkpoint's folder is called by its frames, in 12 digits
MAX_GAMES_AT_ONCE = 10**6

Frames = Annotated[Whole, Field(ge=1, le=MAX_FRAMES)]
"""A number of decisions."""

GamesAtOnce = Annotated[Whole, Field(ge=1, le=MAX_GAMES_AT_ONCE)]
"""A number of games that are played at the same time."""

Rows = Annotated[Whole, Field(ge=1, le=10**9)]
"""A number of samples in a minibatch."""

Epochs = Annotated[Whole, Field(ge=1, le=10**4)]
"""A number of passes over a batch."""

Times = Annotated[Whole, Field(ge=1, le=10**4)]
"""A number of times that something happens during a run."""

Widths = Annotated[tuple[Annotated[Whole, Field(ge=1, le=10**6)], ...], Field(max_length=100)]
"""The units of each hidden layer of a network."""

Share = Annotated[Real, Field(ge=0, le=1)]
"""A number from 0 to 1."""

NotNegative = Annotated[Real, Field(ge=0)]


class Ramp(Settings):
    """A quantity that changes in a straight line from `start` to `end` over the run."""

    start: NotNegative
    end: NotNegative

    def at(self, done: float) -> float:
        """Return its value when the share `done` of the run, from 0 to 1, is over."""
        return self.start + (self.end - self.start) * min(1.0, max(0.0, done))


class Measure(Settings):
    """The measurements of the policy during training.

    Attributes:
        times: the number of measurements, evenly spaced over the run.
        games: games against each opponent at each measurement.
        opponents: names or paths of agents.
    """

    times: Times = 10
    games: Annotated[Whole, Field(ge=1, le=10**6)] = 1000
    opponents: tuple[str, ...] = ("solver",)

    @field_validator("opponents")
    @classmethod
    def _no_person(cls, opponents: tuple[str, ...]) -> tuple[str, ...]:
        check_no_person(opponents)
        return opponents


def check_no_person(opponents: Any) -> None:
    """Raise `ValueError` if a person is among the opponents."""
    if "human" in opponents:
        raise ValueError("must not name a person: play yourself with `trialea play`")


class RunSettings(Settings):
    """The settings of any training.

    Attributes:
        game: the game's name.
        players: the number of players; by default the fewest that the game takes.
        options: the game's options.
        seed: the run's seed: the same seed, machine and versions give the same run.
        threads: the number of threads that torch uses.
        start_from: a run folder or model file whose network the run starts from; empty: a new network. It must be of
            the same game, players, options and network sizes.
    """

    game: str
    players: Count | None = None
    options: GameOptions = {}
    seed: Seed = 0
    threads: Annotated[Whole, Field(ge=1, le=512)] = 2
    start_from: str = ""

    def make_game(self) -> Game:
        """Return the game to be played; with several numbers of players, the game for the fewest.

        Raises:
            OptionError: the game doesn't take this number of players or these options.
        """
        return self.make_games()[0]

    def make_games(self) -> tuple[Game, ...]:
        """Return the game to be played for each number of players. Errors are those of `make_game`."""
        return (Game(get_spec(self.game).name, self.players, **self.options),)

    def sizes(self) -> tuple[int, int]:
        """Return the sizes of observations, padded if one policy plays for several numbers of players, and actions."""
        games = self.make_games()
        seats = max(game.num_players for game in games) if len(games) > 1 else None
        return ObservationPadder(games[0], seats).size, games[0].num_actions

    def check_games(self) -> None:
        """Raise what `make_games` raises."""
        self.make_games()
