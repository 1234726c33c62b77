"""What the test modules of Last Die share: a table on which given dice fall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.helpers import game_of
from tests.oracle import last_die as oracle
from trialea.envs.dice import throw_faces
from trialea.envs.game import Game, States
from trialea.envs.last_die.rules import Options


def philox_faces(seed: int, player: int, turn: int, throw: int, count: int = 6) -> list[int]:
    """The numbers on the dice of one throw, by the place of the throw in the game alone."""
    faces = np.empty(6, np.int64)
    throw_faces(np.uint64(seed), player, turn, throw, faces)
    return [int(face) + 1 for face in faces[:count]]


def oracle_options(options: Options) -> oracle.Options:
    """The options as the oracle takes them."""
    return oracle.Options(options.rounds_each, options.even_ends_round, options.steer)


def game_of_oracle(players: int, options: oracle.Options) -> Game:
    """The game with the oracle's options, in which player 0 opens."""
    return game_of("last_die", players, seating="fixed", **options._asdict())


def position_of(game: Game, state: Any) -> oracle.Position:
    """A state as the oracle sees it."""
    n, mover = game.num_players, int(state.mover)
    return oracle.Position(
        mover,
        int(state.turns[mover]),
        int(state.throws),
        tuple(state.held[:n].tolist()),
        int(state.sent),
        tuple(state.scores[:n].tolist()),
        int(state.rounds),
        table_of(game, state)[int(state.rounds) % n],
        bool(state.opening),
    )


def table_of(game: Game, state: Any) -> list[int]:
    return [int(player) for player in np.argsort(state.place[: game.num_players])]


def fresh(game: Game, seed: int = 0) -> States:
    """A game before its first throw, the players in the order of their numbers; with `steer` the dice are waiting."""
    unsteered = game_of("last_die", game.num_players, seating="fixed")
    states = unsteered.start([seed])
    states.pending = 63 * game.options.steer
    return states


def fall(game: Game, states: States, faces: Sequence[int]) -> States:
    """The states (one) after the mover's dice have shown `faces`."""
    after = states.copy() if game.options.steer else game.choose(states, [0])
    assert after.pending[0] == 2 ** len(faces) - 1
    game.loops.throw(after, np.array([[*faces, *[6] * (8 - len(faces))]]) - 1, game.tables)
    return after


def after(game: Game, *throws: str) -> Any:
    """The state after these throws from the beginning of a game."""
    states = fresh(game)
    for faces in throws:
        states = fall(game, states, [int(face) for face in faces])
    return states[0]
