"""Exact values of policies, without sampling: how often they win, what a best response gains, what decisions cost.

For games whose registry entry names a module for it (`exact`). That module offers:

| function | what it does |
| --- | --- |
| `check_in_reach(game)` | raise `OptionError` for too many players or options beyond its reach |
| `tabulate(game, agent, payoffs=None, progress=None)` | all that is needed of a policy, with `name` and `states` |
| `win_probabilities(game, tables)` | (n, n): by the seat that begins, each seat's probability of winning |
| `best_response(game, tables, seat)` | (n,): by the seat that begins, how often `seat` can win against the others |
| `solution_table(game)` | what `tabulate` would make of the agent that plays the solution; `OptionError` if unsolved |
| `mover_payoffs(game, table)` | the `payoffs` by which `tabulate` judges decisions, all playing as in `table` |
| `expected_regret(game, tables, seat)` | (T, throws, 3): by total and throws made, regret, decisions and optimal ones |

Where the positions of a game do not tell the players' totals, T is 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.agents.policy import require_explicit_policy
from trialea.envs.agent import AgentLike, make_agent
from trialea.envs.errors import OptionError, whole_number
from trialea.envs.game import Game
from trialea.envs.registry import GAMES, get_spec
from trialea.envs.versions import versions
from trialea.evaluation.measures.regret import MILLI

Progress = Callable[[float], None]
_ASKED = 0.95  # the share of the work after which the policy is known


@dataclass(frozen=True, slots=True)
class TabulatedPolicy:
    """A policy worked out once, to be used wherever an agent is asked for here.

    Attributes:
        game: what it is for.
        name: of the agent.
        states: how many decisions the agent was asked for.
        table: what the game's own module made of it.
    """

    game: Game
    name: str
    states: int
    table: Any


PolicyLike = AgentLike | TabulatedPolicy
"""An agent, a name or path of one, or a policy that is worked out already."""


@dataclass(frozen=True, slots=True)
class ExpectedRegretBin:
    """A part of an agent's decisions in a game.

    Attributes:
        decisions: how many non-trivial decisions are expected of it in a game.
        regret: their mean regret, in thousandths of a win.
        share: their share of the agent's whole regret, from 0 to 1.
    """

    decisions: float
    regret: float
    share: float


@dataclass(frozen=True, slots=True)
class ExactEvaluation:
    """How good one policy is, exactly. Values are probabilities of winning; of the n seats, seat 0 begins.

    Attributes:
        game, players, options: the game's name, n, and its options as plain data.
        agent: the agent's name.
        value: (n) of each seat, the policy playing in all of them.
        best_response: (n) the most that a player in that seat could win, the policy playing in the others.
        nash_conv: what best responses gain, summed over the seats.
        exploitability: the same as a mean.
        value_vs_equilibrium: of the policy in one seat with the solution in the others, averaged over the seats. None,
            as all below, where the game is not solved.
        value_vs_equilibrium_by_seat: (n) the same for each seat.
        decisions: how many decisions that are not trivial the policy is expected to take in such a game.
        regret_per_decision: their mean regret, in thousandths of a win.
        optimal_share: the share of them without regret.
        regret_by_throw: by the number of throws made.
        regret_by_score: by the mover's total; empty where the game's positions do not tell it, or there is one only.
        regret_unit: `"milli-wins"`; empty where it was not measured.
        regret_note: why not; else empty.
        states: how many decisions the agent was asked for.
        seconds: how long all of this took.
        versions: of what it was computed with.
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
    regret_unit: str
    regret_note: str
    states: int
    seconds: float
    versions: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The evaluation as plain data for JSON, the attributes under their own names."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def tabulate_policy(game: Game, agent: PolicyLike, progress: Progress | None = None) -> TabulatedPolicy:
    """Work out the policy of `agent`, to use it more than once.

    Args:
        game: what it plays.
        agent: one that is deterministic or tells its probabilities: see `trialea.envs.agent`.
        progress: called with the share of the work done, from 0 to 1.

    Raises:
        OptionError: the game has no exact evaluation for its players or options; or the agent does not say what it
            does, or does not do the same in the same position; or the policy is for another game.
        IllegalActionError: it chooses an action that is not legal; names agent, action and position.
    """
    return _known(game, agent, None, progress)


def exact_value(game: Game, agents: Sequence[PolicyLike], first_player: int = 0) -> NDArray[np.float64]:
    """Each seat's probability of winning, (n,).

    Args:
        game: what is played.
        agents: n of them, one for each seat; the same one may appear more than once.
        first_player: the seat that begins.

    Raises:
        OptionError, IllegalActionError: as `tabulate_policy`; or a number out of range.
    """
    first = whole_number("first_player", first_player, 0, game.num_players - 1)
    values: NDArray[np.float64] = exact_module(game).win_probabilities(game, _tables(game, agents))[first]
    return values


def best_response(game: Game, agents: Sequence[PolicyLike], seat: int, first_player: int = 0) -> float:
    """The probability of winning of a best response, played in `seat`, to the policies in the other seats.

    Args:
        game: what is played.
        agents: n of them, one for each seat; the one in `seat` makes no difference.
        seat: where the best response sits.
        first_player: the seat that begins.

    Raises:
        OptionError, IllegalActionError: as `tabulate_policy`; or a number out of range.
    """
    seat = whole_number("seat", seat, 0, game.num_players - 1)
    first = whole_number("first_player", first_player, 0, game.num_players - 1)
    return float(exact_module(game).best_response(game, _tables(game, agents), seat)[first])


def nash_conv(game: Game, agents: Sequence[PolicyLike], first_player: int = 0) -> float:
    """How much more than it wins each seat could win by a best response, summed over the seats: NashConv.

    It is 0 in an equilibrium and nowhere else. The unit is a probability of winning; with payoffs of +1 and -1, as
    some libraries have them for two players, it would be twice as much.

    Args:
        game: what is played.
        agents: n of them, one for each seat.
        first_player: the seat that begins.

    Raises:
        OptionError, IllegalActionError: as `tabulate_policy`; or a number out of range.
    """
    known = _all_known(game, agents)
    best = [best_response(game, known, seat, first_player) for seat in range(game.num_players)]
    return float(np.sum(best - exact_value(game, known, first_player)))


def exploitability(game: Game, agent: PolicyLike) -> float:
    """How much more a best response wins than `agent` does among its like, averaged over the seats: NashConv / n.

    Raises:
        OptionError, IllegalActionError: as `tabulate_policy`.
    """
    value, best = _in_every_seat(game, tabulate_policy(game, agent))
    return float(np.mean(best - value))


def evaluate_exactly(game: Game | str, agent: AgentLike, progress: Progress | None = None) -> ExactEvaluation:
    """How good a policy is: against itself, a best response and the solution, and what its decisions cost.

    Args:
        game: what is played; a name stands for that game with its default options, for the fewest players.
        agent: one that is deterministic or tells its probabilities: see `trialea.envs.agent`.
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
    except OptionError as error:  # the solver does not reach so far
        note = str(error)
    known = _known(game, player, payoffs, lambda done: report(_ASKED * done))
    value, best = _in_every_seat(game, known)
    against, regret = None, None
    if solved is not None:
        tables = [known.table] + [solved] * (game.num_players - 1)
        against = _by_place(module.win_probabilities(game, tables)[:, 0])
        regret = module.expected_regret(game, tables, 0)
    report(1.0)
    return ExactEvaluation(
        **_described(game),
        agent=known.name,
        value=tuple(value.tolist()),
        best_response=tuple(best.tolist()),
        nash_conv=float(np.sum(best - value)),
        exploitability=float(np.mean(best - value)),
        value_vs_equilibrium=None if against is None else float(against.mean()),
        value_vs_equilibrium_by_seat=None if against is None else tuple(against.tolist()),
        **_regret(regret),
        regret_note=note,
        states=known.states,
        seconds=time.perf_counter() - began,
        versions=versions(),
    )


def exact_module(game: Game) -> Any:
    """The game's own module for exact values.

    Raises:
        OptionError: there is none, or it does not reach so many players or such options.
    """
    name = get_spec(game.name).exact
    if not name:
        known = ", ".join(entry.name for entry in GAMES.values() if entry.exact)
        raise OptionError(f"policies of {game.name} cannot be valued exactly; those of these games can: {known}")
    module: Any = import_module(name)
    module.check_in_reach(game)
    return module


def _known(game: Game, agent: PolicyLike, payoffs: Any, progress: Progress | None) -> TabulatedPolicy:
    module = exact_module(game)
    if isinstance(agent, TabulatedPolicy):
        if agent.game != game:
            raise OptionError(f"the policy {agent.name!r} was worked out for {agent.game!r}, not {game!r}")
        return agent
    table = module.tabulate(game, make_agent(agent, game), payoffs, progress)
    return TabulatedPolicy(game, table.name, table.states, table)


def _all_known(game: Game, agents: Sequence[PolicyLike]) -> list[TabulatedPolicy]:
    """The policy for each seat, one that sits in several seats worked out once."""
    if isinstance(agents, str) or len(agents) != game.num_players:
        raise OptionError(f"name an agent for each of the {game.num_players} seats, not {agents!r}")
    found: dict[Any, TabulatedPolicy] = {}
    keys = [agent if isinstance(agent, str) else id(agent) for agent in agents]
    for key, agent in zip(keys, agents, strict=True):
        if key not in found:
            found[key] = tabulate_policy(game, agent)
    return [found[key] for key in keys]


def _tables(game: Game, agents: Sequence[PolicyLike]) -> list[Any]:
    return [known.table for known in _all_known(game, agents)]


@lru_cache(maxsize=2)
def _solution(game: Game) -> tuple[Any, Any]:
    """The solution's table and the payoffs by which it judges decisions; `OptionError` where there is none."""
    table = exact_module(game).solution_table(game)
    return table, exact_module(game).mover_payoffs(game, table)


def _by_place(by_first: NDArray[np.float64]) -> NDArray[np.float64]:
    """What holds for seat 0, from the order of who begins (n,) to that of its place in the order of turns."""
    return by_first[-np.arange(len(by_first)) % len(by_first)]


def _in_every_seat(game: Game, known: TabulatedPolicy) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each seat wins where all play this policy, and what its best response would, each (n,); seat 0 begins."""
    module, tables = exact_module(game), [known.table] * game.num_players
    return module.win_probabilities(game, tables)[0], _by_place(module.best_response(game, tables, 0))


def _described(game: Game) -> dict[str, Any]:
    description = game.description()
    return {key: description[key] for key in ("game", "players", "options")}


def _regret(found: NDArray[np.float64] | None) -> dict[str, Any]:
    """The fields of an `ExactEvaluation` that speak of regret, from the sums (T, throws, 3) if there are any."""
    if found is None:
        none = dict.fromkeys(("decisions", "regret_per_decision", "optimal_share"))
        return {**none, "regret_by_throw": {}, "regret_by_score": {}, "regret_unit": ""}
    lost, decisions, optimal = found.sum(axis=(0, 1)).tolist()
    return {
        "decisions": decisions,
        "regret_per_decision": MILLI * lost / decisions if decisions else 0.0,
        "optimal_share": optimal / decisions if decisions else None,
        "regret_by_throw": _parts(found.sum(axis=0), 1),
        "regret_by_score": _parts(found.sum(axis=1), 0) if len(found) > 1 else {},
        "regret_unit": "milli-wins",
    }


def _parts(found: NDArray[np.float64], first: int) -> dict[str, ExpectedRegretBin]:
    """The parts (N, 3), numbered from `first`; those without decisions are left out."""
    whole = float(found[:, 0].sum())
    return {
        str(number): ExpectedRegretBin(decisions, MILLI * lost / decisions, lost / whole if whole else 0.0)
        for number, (lost, decisions, _) in enumerate(found.tolist(), first)
        if decisions
    }
