"""The rules of Last Die (*L'ultimo dado*) as data: options, sizes, and the tables that the kernels read.

In the game of the source, players decide nothing. The only action is 0: throw all the dice in hand. In the house
variant `steer`, action k from 0 to 6 sends k of the dice that leave the hand to the left, and the rest to the right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from trialea.envs.checks import whole_number
from trialea.envs.errors import OptionError

NUM_DICE = 6
MIN_PLAYERS, MAX_PLAYERS = 4, 6
MAX_ROUNDS_EACH = 100
SCORE_SCALE = 0.1  # of the reward "score"

# The score per opened round that an observation shows as 1. A player scores about 12 points per round opened, or 3 if
# the first even face ends the round; about one game in a hundred exceeds these.
FULL_SCORE, FULL_SCORE_EVEN_ENDS = 30, 8


@dataclass(frozen=True, slots=True)
class Options:
    """The options of Last Die.

    Attributes:
        seating: `"throw"`: the players throw for their places when the game begins, as the source says. `"fixed"`: they
            sit clockwise in the order of their numbers, and the reset option `first_player` opens.
        rounds_each: the number of rounds that each player opens, from 1 to 100. The source says "about twenty minutes".
        even_ends_round: whether the first even face of the last die ends the round. Otherwise the die stays in hand
            and is thrown again. The source allows both readings.
        steer: lets the thrower choose how many of the dice that leave the hand go left. A house variant of this
            library, not of the source.
    """

    seating: Literal["throw", "fixed"] = "throw"
    rounds_each: int = 4
    even_ends_round: bool = False
    steer: bool = False

    def __post_init__(self) -> None:
        if self.seating not in ("throw", "fixed"):
            raise OptionError(f"seating must be 'throw' or 'fixed', not {self.seating!r}")
        object.__setattr__(self, "rounds_each", whole_number("rounds_each", self.rounds_each, 1, MAX_ROUNDS_EACH))
        for name in ("even_ends_round", "steer"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise OptionError(f"{name} must be True or False, not {getattr(self, name)!r}")
            object.__setattr__(self, name, bool(getattr(self, name)))


def num_actions(options: Options) -> int:
    """Return the size of the action space: 1, or 7 with `steer`."""
    return NUM_DICE + 1 if options.steer else 1


class Tables(NamedTuple):
    """The tables that the kernels read.

    Attributes:
        throw_for_seats, even_ends_round, steer: options, as 0 or 1.
        rounds_each: the number of rounds that each player opens.
        per_point: float32, the share of a full score that one point is in an observation.
    """

    throw_for_seats: int
    even_ends_round: int
    steer: int
    rounds_each: int
    per_point: Any


def full_score(options: Options) -> int:
    """Return the score that an observation shows as 1."""
    return options.rounds_each * (FULL_SCORE_EVEN_ENDS if options.even_ends_round else FULL_SCORE)


def tables(options: Options) -> Tables:
    """Return the tables for a set of options."""
    return Tables(
        int(options.seating == "throw"),
        int(options.even_ends_round),
        int(options.steer),
        options.rounds_each,
        np.float32(1 / full_score(options)),
    )
