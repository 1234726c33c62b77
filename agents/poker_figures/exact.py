"""Exact values of whole small games of Poker Figures between two known policies.

A draw counts as half a win. Positions are valued backwards from the last turn of the game, and within a turn from the
positions in which the mover has written most. A policy's turns come from `trialea.agents.poker_figures.policy`, a best
response's from `trialea.agents.poker_figures.retrograde`. `trialea.evaluation.measures.exact` calls the public
functions here, and lists what a game must offer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures.policy import DECISIONS_EACH, PokerFiguresPolicyTable, tabulate
from trialea.agents.poker_figures.positions import count_positions, position_in
from trialea.agents.poker_figures.retrograde import Moves, after_turn, blocks_of, new_stages, solve_positions
from trialea.agents.poker_figures.small_games import SmallGameSolution, check_solvable, moves_of, shared_solution
from trialea.agents.poker_figures.solver import SolverAgent
from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.envs.poker_figures.rules import NUM_ROWS, NUM_THROWS

__all__ = [
    "best_response",
    "check_in_reach",
    "expected_regret",
    "mover_payoffs",
    "solution_table",
    "tabulate",
    "win_probabilities",
]

MAX_ENTRIES = 50_000  # positions, each with so many turns to come


def check_in_reach(game: Game) -> None:
    """Raise `OptionError` if the game has too many positions to value a policy exactly."""
    check_solvable(game)
    positions, turns = count_positions(game.options), 2 * game.options.max_turns
    if positions * turns > MAX_ENTRIES:
        raise OptionError(
            f"this game has {positions:,} positions in each of {turns} turns, each with {DECISIONS_EACH} decisions;"
            f" a policy can be valued exactly for up to {MAX_ENTRIES:,} in all. Give fewer rows, columns or max_turns"
        )


def solution_table(game: Game) -> PokerFiguresPolicyTable:
    """Return the turns of the agent `solver`."""
    return tabulate(game, SolverAgent(game))


def mover_payoffs(game: Game, table: PokerFiguresPolicyTable) -> SmallGameSolution:
    """Return the solution, which judges the decisions; `table` is one way to play it."""
    return shared_solution(game)


def win_probabilities(game: Game, tables: Sequence[PokerFiguresPolicyTable]) -> NDArray[np.float64]:
    """Return the share (2, 2) of the win of each seat, by `first` and seat; `tables` has one table for each seat."""
    own, other = _at_start(game, tables[0], tables[1])
    return np.array([[own, 1.0 - own], [1.0 - other, other]])


def best_response(game: Game, tables: Sequence[PokerFiguresPolicyTable], seat: int) -> NDArray[np.float64]:
    """Return the greatest share (2,) of the win that `seat` can have, by `first`; the other seat plays by its table."""
    own, other = _at_start(game, None, tables[1 - seat])
    return np.array([own, 1.0 - other] if seat == 0 else [1.0 - other, own])


def _start(moves: Moves) -> int:
    nothing = np.zeros((2, NUM_ROWS), np.int64)
    return position_in(moves.space, nothing, nothing)


def _at_start(
    game: Game, one: PokerFiguresPolicyTable | None, other: PokerFiguresPolicyTable | None
) -> tuple[float, float]:
    """Return the share of each of two policies against the other if it begins; None stands for a best response."""
    moves = moves_of(game)
    stages, size = new_stages(moves), len(moves.swapped)
    blocks = blocks_of(np.arange(size), moves.levels)
    later: list[NDArray[np.float64]] | None = None
    for turn in range(2 * game.options.max_turns):
        found = []
        for side, table in enumerate((one, other)):
            stages[0, :size] = after_turn(moves, None if later is None else later[1 - side])
            if table is None:
                solve_positions(stages, blocks, moves)
            else:
                _play(stages, blocks, moves, table, turn)
            found.append(stages[NUM_THROWS, :size].copy())
        later = found
    assert later is not None
    return float(later[0][_start(moves)]), float(later[1][_start(moves)])


def _play(
    stages: NDArray[np.float64],
    blocks: list[NDArray[np.int64]],
    moves: Moves,
    table: PokerFiguresPolicyTable,
    turn: int,
) -> None:
    """Do `trialea.agents.poker_figures.retrograde.solve_positions` for a known policy instead of the best."""
    worth = stages.copy()
    worth[:, -1] = 0.0  # never reached, where minus infinity would count
    for level in blocks:
        here = np.unique(level)
        after = moves.following[here]
        for k in range(NUM_THROWS):
            total = table.ends[turn, here, k] * worth[0, here]
            for left in range(k + 1):
                total += (table.writes[turn, here, k, left] * worth[left, after]).sum(axis=1)
            worth[k + 1, here] = total
    stages[1:, :-1] = worth[1:, :-1]


def expected_regret(game: Game, tables: Sequence[PokerFiguresPolicyTable], seat: int) -> NDArray[np.float64]:
    """Return the expected regret of the decisions of `seat` in a game, (3, 3) by throws made less 1.

    The last axis is that of `PokerFiguresPolicyTable.judged`. Each seat begins with the same probability. There is no
    axis of totals, since positions do not contain the players' totals.
    """
    moves = moves_of(game)
    size, turns = len(moves.swapped), 2 * game.options.max_turns
    blocks = [np.unique(level) for level in reversed(blocks_of(np.arange(size), moves.levels))]
    found = np.zeros((NUM_THROWS, 3))
    for first in range(2):
        arrived = np.zeros(size)
        arrived[_start(moves)] = 0.5
        mover = first
        for turn in range(turns - 1, -1, -1):
            visits, after = _visits(arrived, blocks, moves, tables[mover], turn)
            if mover == seat:
                found += np.einsum("kp,pktc->tc", visits, tables[mover].judged[turn])
            arrived = after[moves.swapped]
            mover = 1 - mover
    return found


def _visits(
    arrived: NDArray[np.float64],
    blocks: list[NDArray[np.int64]],
    moves: Moves,
    table: PokerFiguresPolicyTable,
    turn: int,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Count how often all five dice are thrown in a turn, (3, N) by k and position, and where the turn ends, (N,).

    Args:
        arrived: (N,), how often the turn begins in each position.
        blocks: the positions, level by level from the one where least is written.
        moves: the game.
        table: the mover's policy.
        turn: as in `PokerFiguresPolicyTable`.
    """
    size = len(arrived)
    often = np.zeros((NUM_THROWS + 1, size + 4))  # by throws to come; what follows the game's end is not looked at
    often[NUM_THROWS, :size] = arrived
    for here in blocks:
        after = moves.following[here]
        for k in range(NUM_THROWS - 1, -1, -1):
            visits = often[k + 1, here]
            often[0, here] += visits * table.ends[turn, here, k]
            for left in range(k + 1):
                np.add.at(often[left], after, visits[:, None] * table.writes[turn, here, k, left])
    return often[1:, :size], often[0, :size]
