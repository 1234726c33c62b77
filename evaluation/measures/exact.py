"""Exact values of policies, without sampling: win probabilities, best responses, exploitability and regret.

A game supports them if its registry entry names a module in `exact`. That module has these functions:

| function | result |
| --- | --- |
| `check_in_reach(game)` | raises `OptionError` for too many players or options out of its reach |
| `tabulate(game, agent, payoffs=None, progress=None)` | a policy as a table, with `name` and `states` |
| `win_probabilities(game, tables)` | (n, n): by the seat that begins, each seat's probability of winning |
| `best_response(game, tables, seat)` | (n,): by the seat that begins, how often `seat` can win against the others |
| `solution_table(game)` | the table of the agent that plays the solution; `OptionError` if the game is not solved |
| `mover_payoffs(game, table)` | the `payoffs` for `tabulate` to judge decisions by, if everybody plays as in `table` |
| `expected_regret(game, tables, seat)` | (T, throws, 3): by total and throws made, regret, decisions, optimal ones |

If the positions of a game do not contain the players' totals, `expected_regret` has no axis of totals: (throws, 3).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.policy import require_explicit_policy
from trialea.envs.agent import AgentLike, make_agent
from trialea.envs.checks import whole_number
from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.envs.registry import GAMES, get_spec
from trialea.envs.versions import versions
from trialea.evaluation.measures.regret import MILLI
from trialea.evaluation.results import RegretUnit, as_lists

Progress = Callable[[float], None]
_TABULATED = 0.95  # the share of the work after which the policy is tabulated


@dataclass(frozen=True, slots=True)
class TabulatedPolicy:
    """A policy as a table. Every function here accepts it in place of the agent.

    Attributes:
        game: the game that the policy is for.
        name: the agent's name.
        states: the number of states in which the agent was queried.
        table: the table, in the form of the game's own module.
    """

    game: Game
    name: str
    states: int
    table: Any = field(repr=False)


PolicyLike = AgentLike | TabulatedPolicy
"""An agent, the name or path of one, or a tabulated policy."""


@dataclass(frozen=True, slots=True)
class ExpectedRegretBin:
    """Expected regret over some of an agent's decisions in a game.

    Attributes:
        decisions: the expected number of non-trivial decisions in a game.
        regret: their mean regret, in milli-wins.
        share: their share of the agent's total regret, from 0 to 1.
    """

    decisions: float
    regret: float
    share: float


@dataclass(frozen=True, slots=True, repr=False)
class ExactEvaluation:
    """The exact strength of one policy. Values are probabilities of winning. Of the n seats, seat 0 begins.

    Attributes:
        game, players, options: the game's name, n, and its options as plain data.
        agent: the agent's name.
        value: (n) each seat's value if the policy plays in all seats.
        best_response: (n) the most that a player in that seat could win against the policy in all other seats.
        nash_conv: the gains of the best responses, summed over the seats.
        exploitability: their mean over the seats.
        value_vs_equilibrium: the value of the policy in one seat with the solution in the others, averaged over the
            seats. None if the game is not solved; then the figures below are None or empty, too.
        value_vs_equilibrium_by_seat: (n) the same for each seat.
        decisions: the expected number of non-trivial decisions of the policy in such a game.
        regret_per_decision: their mean regret, in milli-wins.
        optimal_share: the share of these decisions without regret.
        regret_by_throw: the same figures by the number of throws made.
        regret_by_score: the same figures by the mover's total; empty if the game's positions do not contain it.
        regret_unit: `"milli-wins"`; empty if regret was not measured.
        regret_note: why regret could not be measured; else empty.
        states: the number of states in which the agent was queried.
        seconds: the time taken.
        versions: the versions of this library, Python and the packages that figures depend on.
    """

    game: str
    players: int
    options: dict[str, Any]
    agent: str
    value: tuple[float, ...]
    best_response: tuple[float, ...]
    nash_conv: float
    exploitability: float
    value_vs_equilibrium: float | None
    value_vs_equilibrium_by_seat: tuple[float, ...] | None
    decisions: float | None
    regret_per_decision: float | None
    optimal_share: float | None
    regret_by_throw: dict[str, ExpectedRegretBin]
    regret_by_score: dict[str, ExpectedRegretBin]
    regret_unit: RegretUnit
    regret_note: str
    states: int
    seconds: float
    versions: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as plain data for JSON, the attributes under their own names."""
        plain: dict[str, Any] = as_lists(asdict(self))
        return plain

    def __repr__(self) -> str:
        return (
            f"<ExactEvaluation of {self.agent} in {self.game} for {self.players} players:"
            f" exploitability {self.exploitability:.6g}>"
        )


def tabulate_policy(game: Game, agent: PolicyLike, progress: Progress | None = None) -> TabulatedPolicy:
    """Return the policy of `agent` as a table that can be used more than once.

    Args:
        game: the game.
        agent: an agent that is deterministic or gives its probabilities: see `trialea.envs.agent`.
        progress: called with the share of the work done, from 0 to 1.

    Raises:
        OptionError: the game has no exact evaluation for its players or options; or the agent is random and gives no
            probabilities, or does not act by the position alone; or the policy is for another game.
        IllegalActionError: the agent chooses an illegal action; names agent, action and position.
    """
    return _tabulate(game, agent, None, progress)


def exact_value(game: Game, agents: Sequence[PolicyLike], first_player: int = 0) -> NDArray[np.float64]:
    """Return each seat's probability of winning, (n,).

    Args:
        game: the game.
        agents: n policies, one for each seat; the same one may appear more than once.
        first_player: the seat that begins.

    Raises:
        OptionError, IllegalActionError: as `tabulate_policy`; or a number out of range.
    """
    first = whole_number("first_player", first_player, 0, game.num_players - 1)
    values: NDArray[np.float64] = exact_module(game).win_probabilities(game, _tables(game, agents))[first]
    return values


def best_response(game: Game, agents: Sequence[PolicyLike], seat: int, first_player: int = 0) -> float:
    """Return the probability of winning of a best response in `seat` to the policies in the other seats.

    Args:
        game: the game.
        agents: n policies, one for each seat; the one in `seat` has no effect.
        seat: the seat of the best response.
        first_player: the seat that begins.

    Raises:
        OptionError, IllegalActionError: as `tabulate_policy`; or a number out of range.
    """
    seat = whole_number("seat", seat, 0, game.num_players - 1)
    first = whole_number("first_player", first_player, 0, game.num_players - 1)
    return float(exact_module(game).best_response(game, _tables(game, agents), seat)[first])


def nash_conv(game: Game, agents: Sequence[PolicyLike], first_player: int = 0) -> float:
    """Return NashConv: the gain of each seat's best response, summed over the seats.

    It is 0 in an equilibrium and positive otherwise. Its unit is a probability of winning. With payoffs of +1 and -1
    for two players, as in some libraries, it would be twice as large.

    Args:
        game: the game.
        agents: n policies, one for each seat.
        first_player: the seat that begins.

    Raises:
        OptionError, IllegalActionError: as `tabulate_policy`; or a number out of range.
    """
    policies = _one_for_each_seat(game, agents)
    best = [best_response(game, policies, seat, first_player) for seat in range(game.num_players)]
    return float(np.sum(best - exact_value(game, policies, first_player)))


def exploitability(game: Game, agent: PolicyLike) -> float:
    """Return NashConv / n if `agent` plays in all n seats: the mean gain of a best response.

    Raises:
        OptionError, IllegalActionError: as `tabulate_policy`.
    """
    value, best = _in_every_seat(game, tabulate_policy(game, agent))
    return float(np.mean(best - value))


def evaluate_exactly(game: Game | str, agent: AgentLike, progress: Progress | None = None) -> ExactEvaluation:
    """Return the exact strength of a policy against itself, a best response and the solution, and its regret.

    Args:
        game: the game; a name stands for the game with its default options and the fewest players.
        agent: an agent that is deterministic or gives its probabilities: see `trialea.envs.agent`.
        progress: called with the share of the work done, from 0 to 1.

    Raises:
        OptionError, IllegalActionError: as `tabulate_policy`.
    """
    began = time.perf_counter()
    game = Game(game) if isinstance(game, str) else game
    player = make_agent(agent, game)
    module = exact_module(game)
    require_explicit_policy(player)
    report = progress or (lambda done: None)
    solved, payoffs, note = None, None, ""
    try:
        solved, payoffs = _solution(game)
    except OptionError as error:  # the game is beyond the solver's reach
        note = str(error)
    policy = _tabulate(game, player, payoffs, lambda done: report(_TABULATED * done))
    value, best = _in_every_seat(game, policy)
    against, regret = None, None
    if solved is not None:
        tables = [policy.table] + [solved] * (game.num_players - 1)
        against = _by_place(module.win_probabilities(game, tables)[:, 0])
        regret = module.expected_regret(game, tables, 0)
    report(1.0)
    return ExactEvaluation(
        **_described(game),
        agent=policy.name,
        value=tuple(value.tolist()),
        best_response=tuple(best.tolist()),
        nash_conv=float(np.sum(best - value)),
        exploitability=float(np.mean(best - value)),
        value_vs_equilibrium=None if against is None else float(against.mean()),
        value_vs_equilibrium_by_seat=None if against is None else tuple(against.tolist()),
        **_regret(regret),
        regret_note=note,
        states=policy.states,
        seconds=time.perf_counter() - began,
        versions=versions(),
    )


def exact_module(game: Game) -> Any:
    """Return the game's own module for exact values.

    Raises:
        OptionError: the game has no such module, or its number of players or options are out of the module's reach.
    """
    name = get_spec(game.name).exact
    if not name:
        known = ", ".join(entry.name for entry in GAMES.values() if entry.exact)
        raise OptionError(f"exact values need one of these games: {known}; got {game.name}")
    module: Any = import_module(name)
    module.check_in_reach(game)
    return module


def _tabulate(game: Game, agent: PolicyLike, payoffs: Any, progress: Progress | None) -> TabulatedPolicy:
    """Return the policy of `agent` as a table; judge its decisions by `payoffs`, unless None."""
    module = exact_module(game)
    if isinstance(agent, TabulatedPolicy):
        if agent.game != game:
            raise OptionError(f"the policy {agent.name!r} must be for {game!r}, got one for {agent.game!r}")
        return agent
    table = module.tabulate(game, make_agent(agent, game), payoffs, progress)
    return TabulatedPolicy(game, table.name, table.states, table)


def _one_for_each_seat(game: Game, agents: Sequence[PolicyLike]) -> list[TabulatedPolicy]:
    """Return the policy in each seat. A policy that sits in several seats is tabulated once."""
    one = isinstance(agents, (str, TabulatedPolicy)) or not isinstance(agents, Sequence)
    if one or len(agents) != game.num_players:
        given = "one" if one else len(agents)
        raise OptionError(
            f"agents must be a list of {game.num_players}, one for each seat, got {given}."
            " For one policy in all seats, use exploitability"
        )
    tabulated: dict[Any, TabulatedPolicy] = {}
    keys = [agent if isinstance(agent, str) else id(agent) for agent in agents]
    for key, agent in zip(keys, agents, strict=True):
        if key not in tabulated:
            tabulated[key] = tabulate_policy(game, agent)
    return [tabulated[key] for key in keys]


def _tables(game: Game, agents: Sequence[PolicyLike]) -> list[Any]:
    return [policy.table for policy in _one_for_each_seat(game, agents)]


@lru_cache(maxsize=2)
def _solution(game: Game) -> tuple[Any, Any]:
    """Return the solution's table and its payoffs, which judge decisions; raise `OptionError` if unsolved."""
    table = exact_module(game).solution_table(game)
    return table, exact_module(game).mover_payoffs(game, table)


def _by_place(by_first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reorder the values of seat 0 (n,): from the seat that begins to seat 0's place in the order of turns."""
    return by_first[-np.arange(len(by_first)) % len(by_first)]


def _in_every_seat(game: Game, policy: TabulatedPolicy) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each seat's value if all play this policy, and its best response's value, each (n,); seat 0 begins."""
    module, tables = exact_module(game), [policy.table] * game.num_players
    return module.win_probabilities(game, tables)[0], _by_place(module.best_response(game, tables, 0))


def _described(game: Game) -> dict[str, Any]:
    description = game.description()
    return {key: description[key] for key in ("game", "players", "options")}


def _regret(found: NDArray[np.float64] | None) -> dict[str, Any]:
    """Return the regret fields of an `ExactEvaluation` from the sums of `expected_regret`, which may be None."""
    if found is None:
        missing = dict.fromkeys(("decisions", "regret_per_decision", "optimal_share"))
        return {**missing, "regret_by_throw": {}, "regret_by_score": {}, "regret_unit": ""}
    has_totals = found.ndim == 3
    by_throw = found.sum(axis=0) if has_totals else found
    lost, decisions, optimal = by_throw.sum(axis=0).tolist()
    return {
        "decisions": decisions,
        "regret_per_decision": MILLI * lost / decisions if decisions else 0.0,
        "optimal_share": optimal / decisions if decisions else None,
        "regret_by_throw": _bins(by_throw, 1),
        "regret_by_score": _bins(found.sum(axis=1), 0) if has_totals else {},
        "regret_unit": "milli-wins",
    }


def _bins(found: NDArray[np.float64], first: int) -> dict[str, ExpectedRegretBin]:
    """Return the bins of the sums (N, 3), numbered from `first`. Bins without decisions are left out."""
    whole = float(found[:, 0].sum())
    return {
        str(number): ExpectedRegretBin(decisions, MILLI * lost / decisions, lost / whole if whole else 0.0)
        for number, (lost, decisions, _) in enumerate(found.tolist(), first)
        if decisions
    }
