"""The compiled loops that every game shares, built once for each game over its module of kernels.

A loop is a closure over the game's *module*, not over its functions, so that its machine code is cached on disk
(see `trialea.envs.jit`). Shapes: `states` is (B,) records; `index` picks G of them; `actions` (G,) int64;
`observations` (G, D) float32; `masks` (G, A) int8; `rewards` (B, P) float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from trialea.envs.dice import FOR_AGENT, FOR_DICE, MAX_DICE, below, philox, read_faces, throw_faces
from trialea.envs.jit import entry, kernel

MAX_PLAYERS = 8


class Loops(NamedTuple):
    """One game's compiled loops; each says what it does where it is defined, in `loops_for`."""

    start: Callable[..., None]
    throw: Callable[..., None]
    first_illegal: Callable[..., int]
    advance: Callable[..., None]
    advance_one: Callable[..., int]
    observe: Callable[..., None]
    masks: Callable[..., None]
    observe_one: Callable[..., None]
    random_actions: Callable[..., None]
    uniforms: Callable[..., None]
    count_legal: Callable[..., None]
    waiting: Callable[..., int]
    play_randomly: Callable[..., int]


@kernel
def _agent_draw(agent_seed: Any, state: Any) -> Any:
    """64 random bits for the state's next decision, the same whenever this agent meets this decision."""
    return philox(agent_seed, state.seed, np.uint64(state.seed) >> np.uint64(32), state.decisions, FOR_AGENT)


@kernel
def _pay(state: Any, before: Any, score_scale: Any, rewards: Any) -> int:
    """Add what a transition pays to `rewards` (P,), see `trialea.envs.game.Reward`; 1 if it paid or ended anything.

    `before` (2, P) holds the seats' `finished` and `scores` before the transition.
    """
    n = state.num_players
    changed = 0
    for seat in range(n):
        ended = state.finished[seat] != before[0, seat]
        gained = state.scores[seat] - before[1, seat]
        if ended or (gained != 0 and score_scale != 0.0):
            changed = 1
        if score_scale != 0.0:
            rewards[seat] += score_scale * gained
        elif ended:
            rewards[seat] += (state.share[seat] * n - 1.0) / (n - 1.0)
    return changed


@cache
def loops_for(module_name: str) -> Loops:
    """Build the loops over the kernels of the module named `module_name`."""
    game: Any = import_module(module_name)

    @kernel
    def settle_one(state: Any, tables: Any, faces: Any) -> None:
        while state.pending != 0 and state.over == 0:
            throw_faces(state.seed, state.mover, state.turns[state.mover], state.throws, faces)
            game.throw(state, faces, tables)

    @kernel
    def act_one(
        state: Any,
        action: Any,
        tables: Any,
        sample: Any,
        faces: Any,
        score_scale: Any,
        before: Any,
        rewards: Any,
    ) -> int:
        for seat in range(state.num_players):
            before[0, seat] = state.finished[seat]
            before[1, seat] = state.scores[seat]
        game.apply(state, action, tables)
        state.decisions += 1
        if sample:
            game.settle(state, tables, faces)
        return _pay(state, before, score_scale, rewards)

    # The helpers above are compiled code, which the closures below must not hold if they are to be cached: they
    # hold the module, of which the helpers are made attributes.
    game.settle, game.act = settle_one, act_one

    @entry
    def start(states: Any, index: Any, blank: Any, seeds: Any, first_players: Any, tables: Any, sample: Any) -> None:
        """Begin a new game in each picked state, and (if `sample`) throw its first dice."""
        faces = np.empty(MAX_DICE, np.int64)
        for k in range(len(index)):
            states[index[k]] = blank[0]
            state = states[index[k]]
            state.seed = seeds[k]
            state.mover = first_players[k]
            game.begin(state, tables)
            if sample:
                game.settle(state, tables, faces)

    @entry
    def throw(states: Any, faces: Any, tables: Any) -> None:
        """Let the dice waiting in each state fall as `faces` (B, MAX_DICE) says."""
        for i in range(len(states)):
            game.throw(states[i], faces[i], tables)

    @entry
    def first_illegal(states: Any, index: Any, actions: Any, num_actions: Any, tables: Any) -> int:
        """The place of the first action that its state does not allow, or -1."""
        for k in range(len(index)):
            state = states[index[k]]
            action = actions[k]
            if state.over or action < 0 or action >= num_actions:
                return k
            if not game.is_legal(state, action, tables):
                return k
        return -1

    @entry
    def advance(
        states: Any, index: Any, actions: Any, tables: Any, sample: Any, score_scale: Any, rewards: Any
    ) -> None:
        """Take one legal action in each picked state, and (if `sample`) throw the dice that follow from it."""
        faces = np.empty(MAX_DICE, np.int64)
        before = np.empty((2, MAX_PLAYERS), np.int64)
        for k in range(len(index)):
            game.act(states[index[k]], actions[k], tables, sample, faces, score_scale, before, rewards[index[k]])

    @entry
    def advance_one(states: Any, action: Any, tables: Any, score_scale: Any, rewards: Any) -> int:
        """`advance` for a batch of one, with its check: -1, having changed nothing, if the action is not legal.

        Otherwise the next mover, plus 256 if somebody was paid or finished.
        """
        state = states[0]
        if state.over or not game.is_legal(state, action, tables):
            return -1
        faces = np.empty(MAX_DICE, np.int64)
        before = np.empty((2, MAX_PLAYERS), np.int64)
        changed = game.act(state, action, tables, True, faces, score_scale, before, rewards[0])
        return int(state.mover + 256 * changed)

    @kernel
    def mask_one(state: Any, seat: Any, tables: Any, mask: Any) -> None:
        if state.over or state.mover != seat:
            mask[:] = 0
        else:
            game.write_mask(state, tables, mask)

    game.mask = mask_one

    @entry
    def observe(states: Any, seats: Any, tables: Any, observations: Any) -> None:
        """Each state as its seat in `seats` sees it."""
        for i in range(len(states)):
            game.observe(states[i], seats[i], tables, observations[i])

    @entry
    def masks(states: Any, seats: Any, tables: Any, out: Any) -> None:
        """Each state's legal actions; all zero where `seats` names a seat that is not to move."""
        for i in range(len(states)):
            game.mask(states[i], seats[i], tables, out[i])

    @entry
    def observe_one(states: Any, seat: Any, tables: Any, observation: Any, mask: Any) -> None:
        """`observe` and `masks` for a batch of one, into (D,) and (A,)."""
        game.observe(states[0], seat, tables, observation)
        game.mask(states[0], seat, tables, mask)

    @entry
    def random_actions(states: Any, agent_seed: Any, tables: Any, out: Any) -> None:
        """A uniformly random legal action for each state."""
        for i in range(len(states)):
            n = game.num_legal(states[i], tables)
            out[i] = game.legal(states[i], below(_agent_draw(agent_seed, states[i]), n), tables)

    @entry
    def uniforms(states: Any, agent_seed: Any, out: Any) -> None:
        """A number from 0 up to 1 for each state's next decision, for agents that draw their own way."""
        for i in range(len(states)):
            out[i] = np.float64(_agent_draw(agent_seed, states[i]) >> np.uint64(11)) * 2.0**-53

    @entry
    def count_legal(states: Any, tables: Any, out: Any) -> None:
        """How many actions are legal in each state."""
        for i in range(len(states)):
            out[i] = 0 if states[i].over else game.num_legal(states[i], tables)

    @entry
    def waiting(states: Any, seats: Any, agent_of: Any, index: Any, agents: Any) -> int:
        """The games that are not over, whose player in `seats` is still in and not to move.

        Writes their numbers to `index` and the agent that is to move there (from `agent_of`, (B, P)) to `agents`;
        returns how many there are.
        """
        count = 0
        for i in range(len(states)):
            state = states[i]
            if state.over or state.finished[seats[i]] or state.mover == seats[i]:
                continue
            index[count] = i
            agents[count] = agent_of[i, state.mover]
            count += 1
        return count

    @entry
    def play_randomly(
        states: Any, blank: Any, num_steps: Any, agent_seed: Any, tables: Any, observations: Any, masks: Any
    ) -> int:
        """Random play by every seat for `num_steps` decisions a game; writes the mover's view after each.

        A game that ends begins again at once under the next seed. Returns how many games ended.
        """
        faces = np.empty(MAX_DICE, np.int64)
        ended = 0
        # All games draw at once: a loop of nothing but draws compiles to vector instructions.
        size = len(states)
        seeds, draws = np.empty(size, np.uint64), np.empty(size, np.uint64)
        seats, turns, throws = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint64)
        for _ in range(num_steps):
            for i in range(size):
                seeds[i], turns[i] = states[i].seed, states[i].decisions
            for i in range(size):
                draws[i] = philox(agent_seed, seeds[i], seeds[i] >> np.uint64(32), turns[i], FOR_AGENT)
            for i in range(size):
                state = states[i]
                chosen = below(draws[i], game.num_legal(state, tables))
                game.apply(state, game.legal(state, chosen, tables), tables)
                state.decisions += 1
                if state.over:
                    ended += 1
                    seed = np.uint64(state.seed) + np.uint64(1)
                    states[i] = blank[0]
                    state.seed = seed
                    game.begin(state, tables)
                mover = state.mover
                seeds[i], seats[i], turns[i], throws[i] = state.seed, mover, state.turns[mover], state.throws
            for i in range(size):
                draws[i] = philox(seeds[i], seats[i], turns[i], throws[i], FOR_DICE)
            for i in range(size):
                state = states[i]
                if state.pending:
                    read_faces(draws[i], faces)
                    game.throw(state, faces, tables)
                game.settle(state, tables, faces)
                game.observe(state, state.mover, tables, observations[i])
                game.write_mask(state, tables, masks[i])
        return ended

    return Loops(
        start=start,
        throw=throw,
        first_illegal=first_illegal,
        advance=advance,
        advance_one=advance_one,
        observe=observe,
        masks=masks,
        observe_one=observe_one,
        random_actions=random_actions,
        uniforms=uniforms,
        count_legal=count_legal,
        waiting=waiting,
        play_randomly=play_randomly,
    )
