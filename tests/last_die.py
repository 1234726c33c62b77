"""Helpers for tests of Last Die: games with chosen dice, and conversion to the oracle's types."""

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
    """Return the dice values of one throw; they depend only on the seed and the throw's place in the game."""
    faces = np.empty(6, np.int64)
    throw_faces(np.uint64(seed), player, turn, throw, faces)
    return [int(face) + 1 for face in faces[:count]]


def oracle_options(options: Options) -> oracle.Options:
    """Return the options in the oracle's form."""
    return oracle.Options(options.rounds_each, options.even_ends_round, options.steer)


def game_of_oracle(players: int, options: oracle.Options) -> Game:
    """Return the game with the oracle's options; player 0 starts."""
    return game_of("last_die", players, seating="fixed", **options._asdict())


def position_of(game: Game, state: Any) -> oracle.Position:
    """Convert a state into the oracle's position."""
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
    """Return the players in the order in which they sit."""
    return [int(player) for player in np.argsort(state.place[: game.num_players])]


def fresh(game: Game, seed: int = 0) -> States:
    """Return a game before its first throw, with players seated by number. With `steer` the dice are pending."""
    unsteered = game_of("last_die", game.num_players, seating="fixed")
    states = unsteered.start([seed])
    states.pending = 63 * game.options.steer
    return states


def fall(game: Game, states: States, faces: Sequence[int]) -> States:
    """Return the only state after the mover's dice have shown `faces`."""
    after = states.copy() if game.options.steer else game.choose(states, [0])
    assert after.pending[0] == 2 ** len(faces) - 1
    game.loops.throw(after, np.array([[*faces, *[6] * (8 - len(faces))]]) - 1, game.tables)
    return after


def after(game: Game, *throws: str) -> Any:
    """Return the state after these throws from the start of a game."""
    states = fresh(game)
    for faces in throws:
        states = fall(game, states, [int(face) for face in faces])
    return states[0]
