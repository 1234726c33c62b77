"""Last Die solved exactly: what every seat may expect, and with `steer` an equilibrium in what the players want.

Without `steer` nobody decides anything and a round is a Markov chain (`trialea.agents.last_die.chain`). With it the
solution is one stationary policy for all (`trialea.agents.last_die.equilibrium`), and what it is worth. Either way a
game is so many separate rounds, and the values are points still to come.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trialea.agents.cache import cached_array, digest_of
from trialea.agents.last_die.chain import (
    Chain,
    Floats,
    Ints,
    expectations,
    hands_of,
    look_up,
    make_chain,
    points_thrown,
    residual,
)
from trialea.agents.last_die.deviation import best_reply
from trialea.agents.last_die.equilibrium import find_policy
from trialea.agents.last_die.laws import points_laws, throws_law
from trialea.agents.last_die.rationals import exact_expectations
from trialea.agents.last_die.steer import Choices, choice_codes, make_choices
from trialea.agents.last_die.winning import PLAYERS as PLAYERS_OF_JOINT_LAW, winning
from trialea.envs.errors import OptionError
from trialea.envs.game import Game, States
from trialea.envs.last_die.rules import NUM_DICE
from trialea.envs.registry import check_own_solver

SHOWN = 1e-6  # the summary leaves out the end of a law that is less likely
_MOST_ROUNDS_EACH = 4  # for which the summary evaluates the joint law of the scores
_EQUILIBRIUM = "an ε-equilibrium in stationary strategies, the same for everybody; not claimed unique"


class Steering(NamedTuple):
    """The solution of a round with `steer`: everybody plays by one policy.

    Attributes:
        choices: where somebody chooses.
        policy: (X, 7), the chance of each action.
        gains: (S, n), what each seat could gain from each position, in points a round, if it alone left the policy.
        iterations: how many steps of averaging the search took.
    """

    choices: Choices
    policy: Floats
    gains: Floats
    iterations: int

    def choices_of(self, states: States, distance: Ints) -> Ints:
        """The numbers (B,) of the choices that the movers have, the players sitting at the given distances (B, P)."""
        codes = choice_codes(hands_of(states, distance), states.sent.astype(np.int64), states.opening != 0)
        known = self.choices.codes
        found: Ints = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        if (known[found] != codes).any():
            raise OptionError("nobody has a choice in such a state")
        return found


class Solution:
    """The exact values of Last Die, in points still to come.

    Attributes:
        game: the game solved.
        chain: a round, with `steer` as everybody plays by the solution.
        values: (S, n), what each seat may expect of the rest of the round from each position before a throw, seats
            counted from the thrower to the left.
        throws: (S, n), how many throws of each seat's are still to come in the round.
        residual: the largest error in the equations of `values` and `throws`.
        seconds: how long the computation took when it was made.
        steering: with `steer`, what is played; else None.
        unit: of the values: points.
    """

    unit: Literal["points"] = "points"

    def __init__(self, game: Game, chain: Chain, steering: Steering | None = None, seconds: float = 0.0) -> None:
        self.game = game
        self.chain = chain
        self.steering = steering
        points, throws = points_thrown(chain), _throws_made(chain)
        self.values = expectations(chain, points)
        self.throws = expectations(chain, throws)
        self.residual = max(residual(chain, points, self.values), residual(chain, throws, self.throws))
        self.seconds = seconds

    # From any position ----------------------------------------------------------------------------------------

    def expected_points(self, states: States) -> Floats:
        """The points that every player may expect to score from now on, (B, P), in any states (B,) of the game."""
        positions, distance = look_up(self.chain, states)
        points = np.where((states.over != 0)[:, None], 0.0, self.values[positions])
        if self.steering is not None:
            chosen = np.flatnonzero(states.sent)
            choices = self.steering.choices_of(states[chosen].view(np.recarray), distance[chosen])
            outcomes = np.nan_to_num(self.steering.choices.outcomes(self.values, choices))
            points[chosen] = (self.steering.policy[choices][..., None] * outcomes).sum(axis=1)
        of_round: Floats = np.take_along_axis(points, distance, axis=1)
        return of_round + self._of_later_rounds(states)

    def action_values(self, states: States) -> Floats:
        """The points still to come for the mover after each action, (B, A); NaN where illegal.

        With `steer`, when everybody plays on by the solution.
        """
        positions, distance = look_up(self.chain, states)
        later = self._of_later_rounds(states)[np.arange(len(states)), states.mover][:, None]
        if self.steering is None:
            values: Floats = self.values[positions, :1]
        else:
            choices = self.steering.choices_of(states, distance)
            values = self.steering.choices.outcomes(self.values, choices)[..., 0]
        total: Floats = values + later
        return total

    def chances(self, states: States) -> Floats:
        """The probability of each action in the solution, (B, A)."""
        if self.steering is None:
            return np.ones((len(states), 1))
        chances: Floats = self.steering.policy[self.steering.choices_of(states, look_up(self.chain, states)[1])]
        return chances

    def _of_later_rounds(self, states: States) -> Floats:
        """What every player may expect of the rounds after the present one, (B, P)."""
        n = self.game.num_players
        rounds = states.rounds.astype(np.int64)[:, None]
        opened = (rounds - np.arange(n)) // n + 1  # by each place, the present round among them
        left = np.where(states.over[:, None] != 0, 0, self.game.options.rounds_each - opened)
        from_place = np.array([np.roll(self.values[self.chain.start], place) for place in range(n)])
        return np.take_along_axis(left @ from_place, states.place[:, :n].astype(np.int64), axis=1)

    # In plain data --------------------------------------------------------------------------------------------

    def summary(self, hands: Sequence[int] = ()) -> dict[str, Any]:
        """The solution in plain data, as `trialea solve --json` prints it.

        Args:
            hands: the position that `"position"` speaks of: the dice in the hands of whoever is to throw and of the
                others from there to the left.
        """
        n, start = self.game.num_players, self.chain.start
        points, everybody = points_laws(self.chain)
        return {
            "game": self.game.name,
            "players": n,
            "options": asdict(self.game.options),
            "expected_points": self.values[start].tolist(),
            "expected_throws": float(self.throws[start].sum()),
            "win_probability": [1.0 / n] * n,
            **(self._winning() if self.steering is None else self._of_equilibrium(self.steering)),
            "residual": self.residual,
            "seconds": self.seconds,
            **({"position": self._position(hands)} if hands else {}),
            "points_law": [_shortened(law) for law in points],
            "points_law_of_all": _shortened(everybody),
            "throws_law": _shortened(throws_law(self.chain)),
            **(self._exact() if self.steering is None else {}),
        }

    def _exact(self) -> dict[str, Any]:
        """The values of a whole round as fractions, `"p/q"`."""
        kinds = (points_thrown(self.chain), _throws_made(self.chain))
        points, throws = exact_expectations(self.chain, kinds, self.chain.start)
        return {"expected_points_exact": [str(p) for p in points], "expected_throws_exact": str(sum(throws))}

    def _winning(self) -> dict[str, Any]:
        """How often a game is won outright or shared, where that is computed."""
        each = self.game.options.rounds_each
        if self.game.num_players != PLAYERS_OF_JOINT_LAW or each > _MOST_ROUNDS_EACH:
            return {}
        result = winning(self.chain, np.full(PLAYERS_OF_JOINT_LAW, each))
        return {"win_outright": result.outright, "win_shared": list(result.shared)}

    def _of_equilibrium(self, steering: Steering) -> dict[str, Any]:
        gains = np.maximum(steering.gains, 0.0)
        at_start = gains[self.chain.start]
        return {
            "solution": _EQUILIBRIUM,
            "epsilon": float(at_start.max()),
            "epsilon_of_seats": at_start.tolist(),
            "epsilon_of_game": self.game.options.rounds_each * float(at_start.sum()),
            "epsilon_anywhere": float(gains.max()),
            "choices": len(steering.policy),
            "mixed_choices": int((steering.policy.max(axis=1) < 1.0).sum()),
            "iterations": steering.iterations,
            "table_sha256": digest_of(steering.policy),
        }

    def _position(self, hands: Sequence[int]) -> dict[str, Any]:
        n = self.game.num_players
        if len(hands) != n or min(hands) < 0 or not hands[0] or sum(hands) > NUM_DICE:
            raise OptionError(
                f"a position of Last Die for {n} is the dice in {n} hands, at most {NUM_DICE} in all and some in the"
                f" first, who throws: not {', '.join(map(str, hands))}"
            )
        return {
            "hands": list(hands),
            "expected_points": self.values[self.chain.number(tuple(hands), False)].tolist(),
            "expected_points_if_opening": self.values[self.chain.number(tuple(hands), True)].tolist(),
        }


def _throws_made(chain: Chain) -> Floats:
    """What `expectations` takes to count throws, (S, n): each is its thrower's."""
    throws = np.zeros(chain.hands.shape)
    throws[:, 0] = 1.0
    return throws


def _shortened(law: Floats) -> list[float]:
    """The law without an end that is less likely than `SHOWN`."""
    rest = law[::-1].cumsum()[::-1]
    shortened: list[float] = law[rest >= SHOWN].tolist()
    return shortened


def solve(game: Game, progress: Callable[[float], None] | None = None) -> Solution:
    """The exact solution of Last Die; with `steer` the policy comes from the cache on disk, or is searched for.

    Args:
        game: Last Die, with any options.
        progress: called with the share of the work done, from 0 to 1.

    Raises:
        OptionError: it is another game.
    """
    check_own_solver("last_die", game.name)
    options = game.options
    began = time.perf_counter()
    if not options.steer:
        chain = make_chain(game.num_players, options.even_ends_round)
        solution = Solution(game, chain)
        solution.seconds = time.perf_counter() - began
        return solution
    steering, seconds = _steering(game.num_players, options.even_ends_round, progress)
    return Solution(game, steering.choices.under(steering.policy), steering, seconds)


def _steering(players: int, even_ends_round: bool, progress: Callable[[float], None] | None) -> tuple[Steering, float]:
    """What is played with `steer`, and the seconds that it took to find."""
    choices = make_choices(players, even_ends_round)

    def build() -> tuple[NDArray[Any], dict[str, Any]]:
        began = time.perf_counter()
        policy, iterations = find_policy(choices, progress)
        return policy, {"iterations": iterations, "seconds": time.perf_counter() - began}

    description = {"table": "steer_policy", "game": "last_die", "players": players, "even_ends_round": even_ends_round}
    policy, facts = cached_array(description, build)
    chain = choices.under(policy)
    values = expectations(chain, points_thrown(chain))
    gains = best_reply(choices, policy, values) - values
    return Steering(choices, policy, gains, facts["iterations"]), facts["seconds"]


@lru_cache(maxsize=8)
def _shared(game: Game) -> Solution:
    """One solution for all agents of a process that play the same game."""
    return solve(game)


class SolverAgent:
    """Plays the solution: without `steer` the one action there is, with it the actions at their chances.

    What it draws is a function of its own seed, the game's seed and the number of the decision.
    """

    name = "solver"

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game = game
        self._seed = seed
        self.solution = _shared(game)

    def __reduce__(self) -> tuple[Any, ...]:
        return SolverAgent, (self.game, self._seed)

    def act(self, states: States) -> NDArray[np.int64]:
        """A legal action (B,) for each of the (B,) states."""
        drawn = np.empty(len(states))
        self.game.loops.uniforms(states, np.uint64(self._seed), drawn)
        edges = self.action_probabilities(states).cumsum(axis=1)
        actions: NDArray[np.int64] = (drawn[:, None] < edges / edges[:, -1:]).argmax(axis=1)
        return actions

    def action_probabilities(self, states: States) -> Floats:
        """The probability (B, A) of each action."""
        return self.solution.chances(states)
