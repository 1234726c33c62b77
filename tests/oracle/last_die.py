"""The slow oracle of `last_die`, implemented only from the rules in docs/last_die.md, independently of the kernels.

It uses plain loops. Dice are named by their numbers, 1 to 6. The table is the list of players in the order of play:
the next player in the list, cyclically, sits at a player's left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

DICE = 6


class Options(NamedTuple):
    """Agreements before a game: rounds that each player opens, the reading of even faces, and the house variant."""

    rounds_each: int = 4
    even_ends_round: bool = False
    steer: bool = False


class Position(NamedTuple):
    """The position when dice are thrown, or sent on. Tuples are indexed by player.

    `turn` counts the player's own turns from 0, and `throws` the throws made in this turn. `sent` is the number of
    dice that the thrower must direct now; it is 0 before a throw.
    """

    player: int
    turn: int
    throws: int
    hands: tuple[int, ...]
    sent: int
    scores: tuple[int, ...]
    round: int
    opener: int
    opening: bool


class Game(NamedTuple):
    """A finished game: scores, turns taken and shares of the win by player, and the number of throws."""

    scores: tuple[int, ...]
    turns: tuple[int, ...]
    shares: tuple[Fraction, ...]
    throws: int


Throw = Callable[[Position], Sequence[int]]  # returns the faces of all dice in the player's hand
Choose = Callable[[Position], int]  # with `steer`: returns how many of the dice sent on go to the left


def take_places(num_players: int, total: Callable[[int, int], int]) -> tuple[list[int], list[list[int]]]:
    """Return the players in the order around the table, and the totals that each threw.

    The highest total opens, the next sits at that player's left, and so on. Players with equal totals throw again
    among themselves. `total(player, number)` is the player's throw number `number`, from 0.
    """
    if not 4 <= num_players <= 6:
        raise ValueError(f"no game of {num_players} players")
    thrown: list[list[int]] = [[] for _ in range(num_players)]

    def order(players: list[int]) -> list[int]:
        totals = {player: total(player, len(thrown[player])) for player in players}
        for player in players:
            thrown[player].append(totals[player])
        placed: list[int] = []
        for value in range(6 * DICE, 0, -1):
            equal = [player for player in players if totals[player] == value]
            placed += equal if len(equal) < 2 else order(equal)
        return placed

    return order(list(range(num_players))), thrown


class _Table:
    """A game in progress."""

    def __init__(self, options: Options, table: Sequence[int], throw: Throw, choose: Choose) -> None:
        n = len(table)
        if not 4 <= n <= 6 or sorted(table) != list(range(n)):
            raise ValueError(f"no table: {table!r}")
        self.options, self.table, self.throw, self.choose = options, list(table), throw, choose
        self.hands, self.scores, self.turns = [0] * n, [0] * n, [0] * n
        self.round, self.throws = 0, 0
        self.opening = False

    def neighbour(self, player: int, steps: int) -> int:
        """Return the player this many places to the left (to the right if negative)."""
        return self.table[(self.table.index(player) + steps) % len(self.table)]

    def position(self, player: int, throws: int, sent: int) -> Position:
        """Return the position as the players see it."""
        opener = self.table[self.round % len(self.table)]
        hands, scores = tuple(self.hands), tuple(self.scores)
        return Position(player, self.turns[player], throws, hands, sent, scores, self.round, opener, self.opening)

    def throw_hand(self, player: int, throws: int) -> list[int]:
        """Throw all dice in hand and move them by their faces; return the faces."""
        faces = list(self.throw(self.position(player, throws, 0)))
        if len(faces) != self.hands[player] or not all(face in range(1, 7) for face in faces):
            raise ValueError(f"{faces!r} is no throw of {self.hands[player]} dice")
        self.throws += 1
        left = right = 0
        for face in faces:
            if face in (1, 3, 5):
                self.hands[player] -= 1
            left += face == 3
            right += face == 5
        if self.options.steer and left + right:
            sent = left + right
            left = self.choose(self.position(player, throws + 1, sent))
            if left not in range(sent + 1):
                raise ValueError(f"{left} of {sent} dice cannot go left")
            right = sent - left
        self.hands[self.neighbour(player, 1)] += left
        self.hands[self.neighbour(player, -1)] += right
        return faces

    def take_turn(self, player: int) -> bool:
        """Make all throws of a player's turn; return whether an even face ended the round."""
        throws = 0
        again = True
        while again and self.hands[player]:
            last = sum(self.hands) == 1
            faces = self.throw_hand(player, throws)
            throws += 1
            again = self.opening  # the opener throws again and again until the hand is empty
            if last and faces[0] % 2 == 0:
                self.scores[player] += faces[0]
                if self.options.even_ends_round:
                    return True
                again = True
        return False

    def play_round(self) -> None:
        """Play one round, from its opener until no die is left in play."""
        player = self.table[self.round % len(self.table)]
        self.hands = [DICE if each == player else 0 for each in range(len(self.table))]
        self.opening = True
        while sum(self.hands):
            if self.hands[player]:
                ended = self.take_turn(player)
                self.turns[player] += 1
                self.opening = False
                if ended:
                    return
            player = self.neighbour(player, 1)


def _no_choice(position: Position) -> int:
    """Reject a choice in a game without decisions."""
    raise ValueError("nobody decides anything without `steer`")


def play(options: Options, table: Sequence[int], throw: Throw, choose: Choose = _no_choice) -> Game:
    """Play a whole game at a table whose first player opens."""
    game = _Table(options, table, throw, choose)
    while game.round < options.rounds_each * len(table):
        game.play_round()
        game.round += 1
    most = max(game.scores)
    winners = game.scores.count(most)
    shares = tuple(Fraction(int(score == most), winners) for score in game.scores)
    return Game(tuple(game.scores), tuple(game.turns), shares, game.throws)
