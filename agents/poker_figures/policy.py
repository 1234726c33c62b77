"""Exact results of a policy's turns in a small game of Poker Figures for two players.

Consider a turn that has come to a position, with k throws to come, the next of them of all five dice. A policy then
either writes a certain result while j throws are to come, or lets the turn end. The values of whole games need only the
probabilities of these events (`trialea.agents.poker_figures.exact`). They are found by going forward over the throws.
Each hand's probability flows to the results that are written, and to the keeps of the dice thrown again. Nothing is
sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.poker_figures.positions import Space, rows_of
from trialea.agents.poker_figures.small_games import SmallGameSolution, moves_of, without_turns
from trialea.agents.poker_figures.turn import make_turn
from trialea.agents.policy import query_policy, require_explicit_policy
from trialea.agents.regrets import action_regrets
from trialea.envs.agent import Agent
from trialea.envs.game import Game, States
from trialea.envs.jit import entry, kernel
from trialea.envs.poker_figures.game import tally_all
from trialea.envs.poker_figures.rules import (
    HANDS,
    MULTIPLIERS,
    NUM_COLUMNS,
    NUM_HANDS,
    NUM_REROLLS,
    NUM_THROWS,
    PASS,
    WRITE,
    Options,
)

# A position's decisions: every hand with two throws to come, and de mão or not with one and with none.
_KINDS = ((2, 1), (1, 0), (1, 1), (0, 0), (0, 1))
DECISIONS_EACH = len(_KINDS) * NUM_HANDS
_CHUNK = 16  # positions queried at once
REGRET, DECISIONS, OPTIMAL = 0, 1, 2  # the columns of `judged`


@dataclass(frozen=True, slots=True)
class PokerFiguresPolicyTable:
    """A policy's turns, by t and by position. t + 1 turns of both players together are still to come.

    In the axes of k, 0 to 2 stand for one to three throws to come, the next of them of all five dice.

    Attributes:
        name: the agent's name.
        writes: (T, N, 3, 3, R) float64, by k, j and result: the probability that this result is written next, with j
            throws to come after it.
        ends: (T, N, 3) float64, by k: the probability that the turn ends without another cell written.
        judged: (T, N, 3, 3, 3) float64, by k and throws made less 1: three expectations over the policy's decisions
            until it writes next: their regret, the number of non-trivial ones, and the number of non-trivial ones
            without regret. Empty if it was not judged.
        states: the number of states in which the agent was queried.
    """

    name: str
    writes: NDArray[np.float64]
    ends: NDArray[np.float64]
    judged: NDArray[np.float64]
    states: int


def tabulate(
    game: Game,
    agent: Agent,
    payoffs: SmallGameSolution | None = None,
    progress: Callable[[float], None] | None = None,
) -> PokerFiguresPolicyTable:
    """Compute the turns of `agent`, which is deterministic or has `action_probabilities`.

    The agent sees positions with player_0 to move. Closed rows with different cells may leave the same gap between the
    players; the agent sees one example of them.

    Args:
        game: a small game.
        agent: the agent.
        payoffs: the solution, if its decisions are to be judged.
        progress: called with the share of the work that is done, from 0 to 1.
    """
    require_explicit_policy(agent)
    moves = moves_of(game)
    turns, (size, results) = 2 * game.options.max_turns, moves.following.shape
    writes, ends = np.zeros((turns, size, NUM_THROWS, NUM_THROWS, results)), np.zeros((turns, size, NUM_THROWS))
    judged = np.zeros((turns, size, NUM_THROWS, NUM_THROWS, 3) if payoffs else (0,))
    sheets = make_sheets(game, moves.space)
    turn = moves.turn
    tables = moves.result_of, turn.lattice, turn.kept, game.tables.points
    none = np.zeros((0, len(_KINDS), NUM_HANDS, 3))
    for count in range(turns):
        for low in range(0, size, _CHUNK):
            here = slice(low, min(size, low + _CHUNK))
            states = _decisions(game, sheets[here].view(np.recarray), count + 1)
            choices = query_policy(agent, game, states)
            shape = here.stop - low, len(_KINDS), NUM_HANDS
            chances = choices.probabilities.reshape(*shape, -1) if len(choices.sums) else np.empty((0, 0, 0, 0))
            actions, sums = choices.actions.reshape(-1, *shape[1:]), choices.sums.reshape(-1, *shape[1:])
            costs = _costs(payoffs.action_values(states), choices).reshape(*shape, 3) if payoffs else none
            out = judged[count, here] if payoffs else np.zeros((0, NUM_THROWS, NUM_THROWS, 3))
            follow(actions, chances, sums, costs, *tables, writes[count, here], ends[count, here], out)
            if progress is not None:
                progress((count + here.stop / size) / turns)
    return PokerFiguresPolicyTable(agent.name, writes, ends, judged, turns * size * DECISIONS_EACH)


def _costs(values: NDArray[np.float64], choices: Any) -> NDArray[np.float64]:
    """Return (B, 3): the expected regret of each decision, whether it matters, and whether it then has no regret."""
    lost, matters = action_regrets(values)
    if len(choices.sums):
        chances = choices.probabilities / choices.sums[:, None]
    else:
        chances = np.zeros_like(values)
        chances[np.arange(len(values)), choices.actions] = 1.0
    regret, optimal = np.nansum(chances * lost, axis=1), (chances * (lost == 0.0)).sum(axis=1)
    costs: NDArray[np.float64] = np.stack([regret, np.ones(len(values)), optimal], axis=1) * matters[:, None]
    return costs


def _decisions(game: Game, sheets: States, count: int) -> States:
    """Return every decision (P × 5 × 252,) that a player may face in some positions, with `count` turns to come."""
    states = np.repeat(sheets, DECISIONS_EACH).view(np.recarray)
    to_come, fresh = np.array(_KINDS, np.uint8).T
    states.dice = np.tile(HANDS, (len(sheets) * len(_KINDS), 1))
    states.throws = np.tile(np.repeat(NUM_THROWS - to_come, NUM_HANDS), len(sheets))
    states.fresh = np.tile(np.repeat(fresh, NUM_HANDS), len(sheets))
    past = 2 * game.options.max_turns - count
    states.turns[:, 0], states.turns[:, 1] = past // 2, past - past // 2
    return states


@entry
def follow(
    actions: Any,
    chances: Any,
    sums: Any,
    costs: Any,
    result_of: Any,
    lattice: Any,
    kept: Any,
    points: Any,
    writes: Any,
    ends: Any,
    judged: Any,
) -> None:
    """Compute the turns of some positions.

    Args:
        actions: (P, 5, 252) int64, the action in each decision; empty for a policy of probabilities.
        chances, sums: (P, 5, 252, A) and (P, 5, 252), the probabilities of the actions, up to a factor, and their sums.
        costs: (P, 5, 252, 3), the results of `_costs` for each decision; empty if decisions are not judged.
        result_of: as in `trialea.agents.poker_figures.retrograde.Moves`.
        lattice, kept: as in `trialea.agents.poker_figures.turn.Turn`.
        points: as in `trialea.envs.poker_figures.rules.Tables`.
        writes, ends, judged: out, all zero before; as in `PokerFiguresPolicyTable`, for these positions.
    """
    hands = np.empty((2, NUM_HANDS))
    keeps = np.empty(lattice.num_keeps)
    for p in range(len(ends)):
        for k in range(NUM_THROWS):
            _throw_all(1.0, lattice, hands)
            for left in range(k, -1, -1):
                keeps[:] = 0.0
                for fresh in range(2):
                    kind = 0 if left == 2 else 3 - 2 * left + fresh
                    for hand in range(NUM_HANDS):
                        chance = hands[fresh, hand]
                        if chance == 0.0:
                            continue
                        for column in range(3 if len(judged) else 0):
                            judged[p, k, NUM_THROWS - 1 - left, column] += chance * costs[p, kind, hand, column]
                        where = hand, fresh, left, k, result_of, kept, points
                        out = keeps, writes[p], ends[p]
                        if len(actions):
                            _act(actions[p, kind, hand], chance, *where, *out)
                        else:
                            for action in range(chances.shape[3]):
                                often = np.float64(chances[p, kind, hand, action]) / sums[p, kind, hand]
                                if often > 0.0:
                                    _act(action, chance * often, *where, *out)
                _throw_rest(keeps, lattice, hands)


@kernel
def _throw_all(chance: Any, lattice: Any, hands: Any) -> None:
    """Set the hands (2, 252), not *de mão* and *de mão*, after all five dice are thrown."""
    for hand in range(NUM_HANDS):
        hands[0, hand] = 0.0
        hands[1, hand] = chance * lattice.chances[hand]


@kernel
def _throw_rest(keeps: Any, lattice: Any, hands: Any) -> None:
    """Set the hands after the dice that are not kept are thrown, from the keeps' probabilities (num_keeps,)."""
    _throw_all(keeps[0], lattice, hands)
    for keep in range(1, lattice.num_partial):
        if keeps[keep] > 0.0:
            for kind in range(len(lattice.weights)):
                keeps[lattice.more[keep, kind]] += lattice.weights[kind] * keeps[keep]
    for hand in range(NUM_HANDS):
        hands[0, hand] = keeps[lattice.num_partial + hand]


@kernel
def _act(
    action: Any,
    chance: Any,
    hand: Any,
    fresh: Any,
    left: Any,
    k: Any,
    result_of: Any,
    kept: Any,
    points: Any,
    keeps: Any,
    writes: Any,
    ends: Any,
) -> None:
    """Add the probability of an action on a hand to whatever the action leads to."""
    if action < NUM_REROLLS:
        keeps[kept[hand, action]] += chance
    elif action == PASS:
        ends[k] += chance
    else:
        row = action - WRITE
        writes[k, left, result_of[row, points[fresh, hand, row]]] += chance


# Sheets ---------------------------------------------------------------------------------------------------------


def make_sheets(game: Game, space: Space) -> States:
    """Return a state (N,) of each position with player_0 to move, no dice thrown and no turns counted."""
    size = int(space.offsets[-1])
    blank = game.start([0])
    blank[:] = np.zeros(1, blank.dtype)
    blank.num_players = 2
    states = np.repeat(blank, size).view(np.recarray)
    written, closings = _ways(game.options)
    for number, closed in enumerate(space.sets.tolist()):
        ways: dict[int, list[tuple[int, _Pair]]] = {0: []}
        for row in closings:
            if closed >> row & 1:
                ways = {
                    gap + more: [*way, (row, pair)]
                    for gap, way in reversed(ways.items())
                    for more, pair in closings[row].items()
                }
        per_gap = int(space.sizes[number])
        for place, gap in enumerate(space.gaps[space.first_gap[number] : space.first_gap[number + 1]].tolist()):
            start = int(space.offsets[number]) + place * per_gap
            for row, pair in ways[gap]:
                states.sheet[start : start + per_gap, :2, row] = pair
        here = slice(int(space.offsets[number]), int(space.offsets[number + 1]))
        inside = np.arange(here.stop - here.start) % per_gap
        for row, cells in written.items():
            stride = int(space.strides[number, row])
            if stride:
                pairs = inside // stride % len(cells) ** 2
                states.sheet[here, 0, row] = cells[pairs // len(cells)]
                states.sheet[here, 1, row] = cells[pairs % len(cells)]
    tally_states(states, game.tables)
    return states


_Pair = tuple[tuple[int, ...], tuple[int, ...]]


def _ways(options: Options) -> tuple[dict[int, NDArray[np.uint8]], dict[int, dict[int, _Pair]]]:
    """Return example cells by row: of each player's state (n, 5), and of both players for each gap once closed."""
    turn = make_turn(options)
    states: dict[int, NDArray[np.uint8]] = {}
    closings: dict[int, dict[int, _Pair]] = {}
    for row, found in rows_of(without_turns(options)).items():
        points = [int(p) for r, p in zip(turn.rows, turn.points, strict=True) if r == row]
        ways: dict[tuple[int, int], tuple[int, ...]] = {(0, 0): ()}
        for cells in range(options.columns):
            for (count, total), way in list(ways.items()):
                if count == cells:
                    for p in points:
                        if p >= turn.asks[row, cells]:
                            ways[cells + 1, total + p] = (*way, p)
        padded = {key: (*way, *(0,) * (NUM_COLUMNS - len(way))) for key, way in ways.items()}
        known = list(zip(found.cells, found.sums, strict=True))
        states[row] = np.array([padded[key] for key in known], np.uint8)
        closings[row] = {}
        for full in found.full:
            own = padded[options.columns, full]
            for count, total in known:
                gap = MULTIPLIERS[row] * (1 if count else 2) * (full - total)
                closings[row][gap] = own, padded[count, total]
                closings[row][-gap] = padded[count, total], own
    return states, closings


@entry
def tally_states(states: Any, tables: Any) -> None:
    """Set the fields that follow from the sheets of (B,) states."""
    for i in range(len(states)):
        tally_all(states[i], tables)
