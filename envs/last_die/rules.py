"""The rules of Last Die (*L'ultimo dado*) that are data: options, sizes, and what the kernels look up.

As the source has it nobody decides anything, and there is one action: 0, throw all the dice in hand. In the house
variant `steer` the actions are 0 to 6: send so many of the dice that leave the hand to the left, the rest to the right.
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

# What an observation shows as a full score, for each round that a player opens. A player scores about 12 points for
# each, or 3 where the first even face ends the round; one game in a hundred goes beyond these.
FULL_SCORE, FULL_SCORE_EVEN_ENDS = 30, 8


@dataclass(frozen=True, slots=True)
class Options:
    """What a table may agree on before a game of Last Die.

    Attributes:
        seating: `"throw"`: the places are thrown for when the game begins, as the source says; `"fixed"`: the players
            sit clockwise in the order of their numbers, and the reset option `first_player` opens.
        rounds_each: how many rounds each player opens, from 1 to 100. The source says "about twenty minutes".
        even_ends_round: whether the first even face of the last die ends the round. Otherwise the die stays in hand, as
            even faces do, and is thrown again. A reading: the source can be read either way.
        steer: the thrower chooses how many of the dice that leave the hand go left. A house variant of this library,
            not the source's.
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
    """The size of the action space: 1, or with `steer` one for each number of dice from 0 to 6."""
    return NUM_DICE + 1 if options.steer else 1


class Tables(NamedTuple):
    """What the kernels look up.

    Attributes:
        throw_for_seats, even_ends_round, steer: options, as 0 or 1.
        rounds_each: how many rounds each player opens.
        per_point: float32, what an observation shows of one point.
    """

    throw_for_seats: int
    even_ends_round: int
    steer: int
    rounds_each: int
    per_point: Any


def full_score(options: Options) -> int:
    """The score that an observation shows as 1."""
    return options.rounds_each * (FULL_SCORE_EVEN_ENDS if options.even_ends_round else FULL_SCORE)


def tables(options: Options) -> Tables:
    """The tables for one set of options."""
    return Tables(
        int(options.seating == "throw"),
        int(options.even_ends_round),
        int(options.steer),
        options.rounds_each,
        np.float32(1 / full_score(options)),
    )
