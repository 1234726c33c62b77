"""Query and check an agent's policy in given states, in batches. The exact evaluators of all games use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.envs.agent import Agent, HasProbabilities, is_deterministic
from trialea.envs.errors import IllegalActionError, OptionError
from trialea.envs.game import Game, States
from trialea.envs.jit import entry

_ROUNDING = 1e-3  # how far the sum of probabilities may be from 1


class Choices(NamedTuple):
    """An agent's policy in N states: its actions, or the probabilities of its actions.

    Attributes:
        actions: (N,) int64, the actions of a deterministic agent; (0,) for any other agent.
        probabilities: (N, A), the probability of each action, not yet divided by the row's sum; (0, A) for a
            deterministic agent.
        sums: (N,) float64, the sum of each row of `probabilities`; (0,) for a deterministic agent.
    """

    actions: NDArray[np.int64]
    probabilities: NDArray[np.floating[Any]]
    sums: NDArray[np.float64]


def require_explicit_policy(agent: Agent) -> None:
    """Raise `OptionError` if an agent is neither deterministic nor has `action_probabilities`."""
    if not is_deterministic(agent) and not isinstance(agent, HasProbabilities):
        raise OptionError(
            f"the policy of agent {agent.name!r} cannot be known. Give it an attribute deterministic = True, or a"
            " method action_probabilities(states) that returns the (B, A) probabilities of its actions"
        )


@contextmanager
def error_context(name: str, game: Game, states: States) -> Iterator[None]:
    """Add the agent's name and the first of (B,) `states` as a note to any exception that the agent raises."""
    try:
        yield
    except Exception as error:
        where = f"the first of {len(states)} positions:\n{game.text(states[0])}"
        error.add_note(f"This happened when agent {name!r} was asked for actions, in {where}")
        raise


def query_policy(agent: Agent, game: Game, states: States) -> Choices:
    """Return the policy of `agent` in each of the (N,) `states` of `game`, which must be unfinished.

    Raises:
        OptionError: the policy is not explicit, see `require_explicit_policy`, or its probabilities are wrong.
        IllegalActionError: the agent chooses an illegal action or gives it a positive probability; the message names
            the agent, the action and the position.
    """
    require_explicit_policy(agent)
    count = len(states)
    none = np.empty((0, game.num_actions), np.float32)
    if is_deterministic(agent):
        with error_context(agent.name, game, states):
            given = agent.act(states)
        try:
            actions = game.as_actions(given, count)
        except IllegalActionError as error:
            raise IllegalActionError(f"agent {agent.name!r} returned an invalid array of actions: {error}") from None
        place = game.loops.first_illegal(states, np.arange(count), actions, game.num_actions, game.tables)
        if place >= 0:
            raise _blame(agent, game, states[place], int(actions[place]))
        return Choices(actions, none, np.empty(0))
    assert isinstance(agent, HasProbabilities)
    with error_context(agent.name, game, states):
        found = np.ascontiguousarray(agent.action_probabilities(states))
    if found.dtype.kind in "iub" or found.dtype == np.float16:  # one-hot integers; or halves, which are not compiled
        found = found.astype(np.float32)
    if found.shape != (count, game.num_actions) or found.dtype.kind != "f":
        raise OptionError(
            f"action_probabilities of agent {agent.name!r} must return a floating-point array of shape"
            f" ({count}, {game.num_actions}), got shape {found.shape} of {found.dtype}"
        )
    sums = np.empty(count)
    place, action = first_wrong(found, game.masks(states), _ROUNDING, sums)
    if action >= 0:
        raise _blame(agent, game, states[place], action)
    if place >= 0:
        raise OptionError(
            f"action_probabilities of agent {agent.name!r} must be at least 0 and sum to 1, got numbers"
            f" from {found[place].min():.6g} to {found[place].max():.6g} with sum {found[place].sum():.6g} here:\n"
            + game.text(states[place])
        )
    return Choices(np.empty(0, np.int64), found, sums)


def _blame(agent: Agent, game: Game, state: Any, action: int) -> IllegalActionError:
    what = game.why_illegal(state, action)
    return IllegalActionError(f"agent {agent.name!r}: {what}; the position:\n{game.text(state)}")


@entry
def first_wrong(probabilities: Any, masks: Any, rounding: Any, sums: Any) -> Any:
    """Return the first row of `probabilities` (N, A) that is not a distribution over the legal actions in `masks`.

    Also return the illegal action that has a positive probability. Either is -1 if there is none. Fills `sums` (N,).
    """
    for i in range(len(probabilities)):
        total = 0.0
        for action in range(probabilities.shape[1]):
            probability = np.float64(probabilities[i, action])
            if not probability >= 0.0:  # also true for NaN
                return i, -1
            if probability > 0.0 and masks[i, action] == 0:
                return i, action
            total += probability
        if not abs(total - 1.0) <= rounding:
            return i, -1
        sums[i] = total
    return -1, -1
