"""Exact results of a policy's turns of No Dice: the probability of every score, and the regret of its decisions.

With the totals fixed, a policy is a table. It has the probability of each action for every throw of the five dice and
every number of throws made. Throws are told apart by the indexes of the faces, since a network sees these. The
computation goes forward from the first throw, whose 7,776 outcomes are equally likely. The probability of an outcome
flows to the scores of the chosen expressions, and to the keep patterns of the dice thrown again. A pattern's
probability is then spread over the faces of one die after the other, which gives the outcomes of the next throw.
Nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.lattice import make_lattice, spread
from trialea.agents.no_dice.turn import NUM_SCORES, fill_action_values, fill_rows, make_turn
from trialea.agents.policy import query_policy, require_explicit_policy
from trialea.agents.regrets import TIE
from trialea.envs.agent import Agent
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.jit import entry, kernel
from trialea.envs.no_dice.rules import (
    ILLEGAL,
    NUM_ACTIONS,
    NUM_DICE,
    NUM_OUTCOMES,
    NUM_REROLLS,
    Options,
    outcome_faces,
    tables,
)

_SAMPLE = 256  # positions in which a policy is checked
REGRET, DECISIONS, OPTIMAL = 0, 1, 2  # the columns of `judged`

PlayersIn = tuple[int, ...]
"""The players still in, as places from the mover on: (0, 2) is the mover and the second player after it."""


@dataclass(frozen=True, slots=True)
class NoDicePolicyTable:
    """A policy's turns. Positions are the totals of the players in, each below the target, the mover's first.

    Attributes:
        name: the agent's name.
        scores: for each choice of players in: (T, …, 61) float64, the probability of each score of the mover's turn.
        judged: the same, (T, …, throws, 3) by the number of throws made less 1. The last axis has the expected regret
            of the mover's decisions in its turn, the expected number of those that matter, and of those without regret
            among them. Empty if the policy was not judged.
        states: the number of states in which the agent was queried.
    """

    name: str
    scores: Mapping[PlayersIn, NDArray[np.float64]]
    judged: Mapping[PlayersIn, NDArray[np.float64]]
    states: int


def players_in(num_players: int) -> list[PlayersIn]:
    """Return every set of two or more players that may be in, the mover among them."""
    others = range(1, num_players)
    return [(0, *rest) for size in range(num_players - 1, 0, -1) for rest in combinations(others, size)]


def tabulate(
    game: Game,
    agent: Agent,
    payoffs: Mapping[PlayersIn, NDArray[np.float64]] | None = None,
    progress: Callable[[float], None] | None = None,
) -> NoDicePolicyTable:
    """Compute the turns of `agent`, which is deterministic or has `action_probabilities`.

    The agent sees positions with player_0 to move, no turns counted, and players who are out at exactly the target.

    Args:
        game: No Dice.
        agent: the agent.
        payoffs: the value of each score to the mover of each position, (T, …, 61) as in `NoDicePolicyTable.scores`. If
            given, the agent's decisions are judged by them, as turns that are played best from there on.
        progress: called with the share of the work that is done, from 0 to 1.

    Raises:
        OptionError: the policy is not explicit, or depends on more than totals, dice and throws made.
        IllegalActionError: the agent may choose an illegal action.
    """
    require_explicit_policy(agent)
    _check_depends_on_position_alone(game, agent)
    target, keys = game.options.target, players_in(game.num_players)
    turns = _TurnFollower(game, agent)
    whole = sum(target ** len(key) for key in keys)
    scores, judged, done = {}, {}, 0
    for key in keys:
        shape = (target,) * len(key)
        scores[key] = np.zeros((*shape, NUM_SCORES))
        judged[key] = np.zeros((*shape, game.options.throws, 3))
        for totals in product(range(target), repeat=len(key)):
            payoff = payoffs[key][totals] if payoffs else np.empty(0)
            turns.follow(key, totals, payoff, scores[key][totals], judged[key][totals])
            done += 1
            if progress is not None:
                progress(done / whole)
    return NoDicePolicyTable(agent.name, scores, judged if payoffs else {}, turns.states)


class _Flow(NamedTuple):
    """Further tables of the kernels, besides the tables of the turn.

    Attributes:
        by_kind: (7776,) int64, the throws ordered by kind.
        lattice: the keep patterns of the dice, with all six faces of each told apart.
        kept: (7776, 31) uint16, the pattern that each rethrow of each throw leaves.
        only: (7776,) int64, the one score that each throw can end with if it is the last; -1 if there is a choice.
    """

    by_kind: Any
    lattice: Any
    kept: Any
    only: Any


@cache
def _make_flow(intermediates: Literal["any", "natural"]) -> _Flow:
    lattice = make_lattice([range(6)] * NUM_DICE)
    faces = np.array([outcome_faces(outcome) for outcome in range(NUM_OUTCOMES)])
    thrown = np.arange(1, NUM_REROLLS + 1) >> np.arange(NUM_DICE)[:, None] & 1  # (5, 31)
    again = lattice.again[np.arange(NUM_DICE), faces]  # (7776, 5)
    scores = tables(Options(intermediates=intermediates)).scores.astype(np.int64)
    least, most = scores.min(axis=1), np.where(scores == ILLEGAL, -1, scores).max(axis=1)
    return _Flow(
        by_kind=np.argsort(make_turn(intermediates).kind_of, kind="stable"),
        lattice=lattice,
        kept=(lattice.full.astype(np.int64)[:, None] + again @ thrown).astype(np.uint16),
        only=np.where(least == most, least, -1),
    )


class _TurnFollower:
    """Queries an agent after each throw of a turn, and follows the probabilities through the turn."""

    def __init__(self, game: Game, agent: Agent) -> None:
        self.states = 0
        self._game = game
        self._agent = agent
        self._throws = game.options.throws
        self._turn = make_turn(game.options.intermediates)
        self._flow = _make_flow(game.options.intermediates)
        every = game.start(np.zeros(NUM_OUTCOMES, np.uint64))
        every.dice = [outcome_faces(outcome) for outcome in range(NUM_OUTCOMES)]
        free = self._flow.only < 0
        self._early = every, np.arange(NUM_OUTCOMES)
        self._last = every[free].view(np.recarray), np.where(free, np.cumsum(free) - 1, -1)
        self._rows = np.empty((self._throws + 1, self._turn.lattice.num_patterns, 1))

    def follow(
        self,
        key: PlayersIn,
        totals: tuple[int, ...],
        payoff: NDArray[np.float64],
        scores: NDArray[np.float64],
        judged: NDArray[np.float64],
    ) -> None:
        """Follow one turn at these totals: fill `scores` (61,), and `judged` (throws, 3) if `payoff` (61,) is given."""
        if len(payoff):
            fill_rows(payoff[:, None], self._turn, self._turn.lattice, self._rows)
        reach = np.full(NUM_OUTCOMES, 1.0 / NUM_OUTCOMES)
        for made in range(1, self._throws + 1):
            states, row_of = self._early if made < self._throws else self._last
            if made in (1, self._throws):
                self._set_totals(states, key, totals)
            states.throws = made
            choices = query_policy(self._agent, self._game, states)
            self.states += len(states)
            left = self._throws - made
            row = self._rows[left, :, 0]
            follow_throw(choices, row_of, left, self._turn, self._flow, payoff, row, reach, scores, judged[made - 1])

    def _set_totals(self, states: States, key: PlayersIn, totals: tuple[int, ...]) -> None:
        out = [seat for seat in range(self._game.num_players) if seat not in key]
        states.scores[:, list(key)], states.finished[:, list(key)] = totals, 0
        states.scores[:, out], states.finished[:, out] = self._game.options.target, 1


def _check_depends_on_position_alone(game: Game, agent: Agent) -> None:
    """Raise `OptionError` if an agent's choice depends on the seat, the seed or the turns played, in a sample."""
    rng, n = np.random.default_rng(0), game.num_players
    states = game.start(range(_SAMPLE))
    states.dice = rng.integers(6, size=states.dice.shape)
    states.throws = rng.integers(1, game.options.throws + 1, _SAMPLE)
    states.scores[:, :n] = rng.integers(game.options.target, size=(_SAMPLE, n))
    turned = game.clone(states, seed=1001)
    turned.mover = n - 1
    turned.scores[:, :n] = np.roll(states.scores[:, :n], -1, axis=1)
    turned.turns[:, :n] = rng.integers(1, 10, (_SAMPLE, n))
    turned.decisions = rng.integers(1, 100, _SAMPLE)
    one, other = query_policy(agent, game, states), query_policy(agent, game, turned)
    if not (
        np.array_equal(one.actions, other.actions) and np.allclose(one.probabilities, other.probabilities, atol=1e-4)
    ):
        raise OptionError(
            f"agent {agent.name!r} cannot be valued exactly: its policy must depend on totals, dice and throws made"
            " alone, but it changes with the seat, the seed or the number of turns played"
        )


@kernel
def _judge(payoff: Any, turn: Any, row: Any, kind: Any, left: Any, action_values: Any) -> Any:
    """Fill the values of the actions on a kind of throw; return the best of them, and whether they differ."""
    fill_action_values(payoff, turn, row, kind, left, action_values)
    best, least = -np.inf, np.inf
    for value in action_values:
        if value > best:  # false of NaN, an illegal action's
            best = value
        if value < least:
            least = value
    return best, best - least > TIE


@kernel
def _take(action: Any, chance: Any, outcome: Any, kind: Any, turn: Any, flow: Any, patterns: Any, scores: Any) -> None:
    """Add the probability of an action to the keep pattern or the score that it leads to."""
    if action < NUM_REROLLS:
        patterns[flow.kept[outcome, action]] += chance
    else:
        scores[turn.action_scores[kind, action - NUM_REROLLS]] += chance


@kernel
def _count(chance: Any, lost: Any, judged: Any) -> None:
    """Count a decision that matters and is taken with this probability."""
    judged[DECISIONS] += chance
    if lost > TIE:
        judged[REGRET] += chance * lost
    else:
        judged[OPTIMAL] += chance


@entry
def follow_throw(
    choices: Any,
    row_of: Any,
    left: Any,
    turn: Any,
    flow: Any,
    payoff: Any,
    row: Any,
    reach: Any,
    scores: Any,
    judged: Any,
) -> None:
    """Follow a policy through one decision and the throw after it.

    Args:
        choices: the policy on the throws that the agent was asked about.
        row_of: (7776,), the place of each throw in `choices`; -1 if the agent was not asked about it.
        left: throws still to come.
        turn, flow: the tables.
        payoff: (61,), by which to judge the decisions; empty if they are not to be judged.
        row: (num_patterns,), the row of `fill_rows` for `left` throws; any row if decisions are not judged.
        reach: (7776,), in: the probability that each throw is on the table; out: the same after the next throw.
        scores: (61,), to which the probabilities of ending with each score are added.
        judged: (3,), to which regret, decisions and optimal ones are added.
    """
    patterns = np.zeros(flow.lattice.num_patterns)
    action_values = np.empty(NUM_ACTIONS)
    last_kind, best, matters = -1, 0.0, False
    for outcome in flow.by_kind:
        chance = reach[outcome]
        if chance == 0.0:
            continue
        place, kind = row_of[outcome], turn.kind_of[outcome]
        if place < 0:
            scores[flow.only[outcome]] += chance
            continue
        if len(payoff) and kind != last_kind:
            last_kind = kind
            best, matters = _judge(payoff, turn, row, kind, left, action_values)
        if len(choices.actions):
            action = choices.actions[place]
            _take(action, chance, outcome, kind, turn, flow, patterns, scores)
            if matters:
                _count(chance, best - action_values[action], judged)
            continue
        for action in range(NUM_ACTIONS):
            part = choices.probabilities[place, action]
            if part > 0.0:
                taken = chance * (part / choices.sums[place])
                _take(action, taken, outcome, kind, turn, flow, patterns, scores)
                if matters:
                    _count(taken, best - action_values[action], judged)
    spread(patterns, flow.lattice)
    for outcome in range(NUM_OUTCOMES):
        reach[outcome] = patterns[flow.lattice.full[outcome]]
