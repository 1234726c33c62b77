"""The results of an evaluation: typed, and as JSON.

These classes hold numbers and text only. Nothing here plays, measures or writes. A figure that is added here must also
be added to `Evaluation.to_json` and to docs/command-line.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

from trialea.evaluation.intervals import Interval

RegretUnit = Literal["milli-wins", "milli-points", ""]
"""The unit of regret; empty if regret was not measured."""

LuckValues = Literal["solution", "estimate", "given", ""]
"""The source of luck's values: the exact solution, an estimate or the caller's function; empty if not measured."""


@dataclass(frozen=True, slots=True)
class RegretBin:
    """Regret over some of an agent's decisions.

    Attributes:
        decisions: the number of non-trivial decisions.
        regret: their mean regret, in `RegretUnit`.
        share: their share of the agent's total regret, from 0 to 1.
    """

    decisions: int
    regret: float
    share: float


@dataclass(frozen=True, slots=True)
class Mistake:
    """A decision with regret.

    Attributes:
        position: the position as text.
        throws_made: throws made in the turn.
        throws_left: throws still allowed in the turn; None where the game sets no limit.
        totals: points of the mover, then of the others in turn order.
        action, value: the action that was chosen, as text, and the mover's value after it.
        best_action, best_value: the same for a best action.
        regret: `best_value` less `value`, in `RegretUnit`.
    """

    position: str
    throws_made: int
    throws_left: int | None
    totals: tuple[int, ...]
    action: str
    value: float
    best_action: str
    best_value: float
    regret: float


@dataclass(frozen=True, slots=True)
class Regret:
    """One agent's regret in a match.

    A decision is trivial if all its legal actions have the same value. Every figure here leaves trivial decisions out.

    Attributes:
        decisions: the number of non-trivial decisions.
        per_decision: mean regret, in `RegretUnit`; 0 if every decision was trivial, None if there was no decision.
        interval: its confidence interval; None if the units show no spread, as for a perfect player.
        optimal_share: the share of decisions without regret; None if there was no non-trivial decision.
        by_throw: by the number of throws made.
        by_score: by the mover's total, in bins such as "5–9".
        by_standing: by "ahead", "level" or "behind", compared with the best of the others.
        worst: the costliest decisions, worst first, each position once.
    """

    decisions: int
    per_decision: float | None
    interval: Interval | None
    optimal_share: float | None
    by_throw: dict[str, RegretBin]
    by_score: dict[str, RegretBin]
    by_standing: dict[str, RegretBin]
    worst: tuple[Mistake, ...]


@dataclass(frozen=True, slots=True)
class WinRateBreakdown:
    """The four terms that sum to an agent's win rate. Means over the games in which it sat.

    Attributes:
        start: the value of its seats before the first throw.
        luck: the change of value at throws.
        own_errors: the change of value at its own decisions; at most 0 where values are exact.
        others_errors: the change of value at the other agents' decisions.
    """

    start: float
    luck: float
    own_errors: float
    others_errors: float


@dataclass(frozen=True, slots=True)
class AdjustedResult:
    """One agent's win rate without luck.

    Attributes:
        win_rate: the mean of the adjusted shares; it may lie slightly outside 0 to 1.
        interval: its confidence interval; None if the units do not vary, as between perfect players.
        games_saved: the variance of raw results over units, divided by that of adjusted results. The raw win rate needs
            this many times as many games for an equally wide interval. None if either does not vary.
        breakdown: the terms of the raw win rate.
    """

    win_rate: float
    interval: Interval | None
    games_saved: float | None
    breakdown: WinRateBreakdown


@dataclass(frozen=True, slots=True)
class AgentResult:
    """One agent's result. Rates are from 0 to 1.

    Attributes:
        name: the agent's name, made unique in the evaluation.
        wins: games won; a shared win counts as its share.
        starts: games in which the agent held the first seat.
        win_rate, interval: the share of its games that it won, from any of its seats, and the confidence interval.
        equal_win_rate: the win rate it would have if all seats won equally often.
        seat_win_rate: (n) its win rate in each seat; None where it never sat.
        points_per_turn: mean points in a turn.
        adjusted: the result without luck; None where luck was not measured.
        regret: None where regret was not measured.
    """

    name: str
    wins: float
    starts: int
    win_rate: float
    interval: Interval
    equal_win_rate: float
    seat_win_rate: tuple[float | None, ...]
    points_per_turn: float
    adjusted: AdjustedResult | None
    regret: Regret | None


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two agents' win rates, paired unit by unit.

    Attributes:
        agents: the first agent and the second.
        mean: the first's win rate less the second's, from -1 to 1, over the games in which both sat.
        interval: its confidence interval.
        adjusted_mean: the difference without luck; None where luck was not measured.
        adjusted_interval: its interval; None also if the units do not vary.
    """

    agents: tuple[str, str]
    mean: float
    interval: Interval
    adjusted_mean: float | None = None
    adjusted_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class SampleSize:
    """The number of games needed to tell two agents apart.

    Attributes:
        sd: standard deviation over units of the difference between the two agents; None for a single unit.
        units: independent units needed if the true difference is the pilot's; None if the pilot showed no difference
            or had a single unit.
        games: the same in games in which both sit.
        games_interval: games needed if the true difference is at the far and at the near end of the pilot's interval;
            None at the near end if the interval contains 0. Both are None if `games` is.
    """

    sd: float | None
    units: int | None
    games: int | None
    games_interval: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class GamesNeeded:
    """The number of games needed to tell two agents apart, estimated from a pilot.

    Attributes:
        agents: the two agents.
        difference: the pilot's difference between their win rates, from -1 to 1.
        confidence: the confidence of the interval that must exclude 0.
        power: the probability that it does.
        raw: for the results as they are.
        adjusted_difference: the pilot's difference without luck; None where luck was not measured.
        adjusted: for the results without luck; None where luck was not measured.
    """

    agents: tuple[str, str]
    difference: float
    confidence: float
    power: float
    raw: SampleSize
    adjusted_difference: float | None = None
    adjusted: SampleSize | None = None


@dataclass(frozen=True, slots=True)
class PairResult:
    """One agent's result against another, over the games in which both sat.

    Attributes:
        agents: the agent and its opponent.
        games: the number of those games.
        distinct_games: how many of them differ in dice, in any action or in who sat at the table.
        win_rate, interval: the agent's win rate in those games, and its confidence interval.
        adjusted_win_rate, adjusted_interval: the same without luck; None as in `AdjustedResult`.
        difference: the agent's win rate less the opponent's.
        games_needed: the number of games needed to tell the two apart.
    """

    agents: tuple[str, str]
    games: int
    distinct_games: int
    win_rate: float
    interval: Interval
    adjusted_win_rate: float | None
    adjusted_interval: Interval | None
    difference: Difference
    games_needed: GamesNeeded


@dataclass(frozen=True, slots=True)
class SeatResult:
    """The result of one seat, over all agents that held it.

    Attributes:
        win_rate: the share of all games that the seat won.
        effect, effect_interval: `win_rate` less 1/n, the fair share, and its confidence interval.
    """

    win_rate: float
    effect: float
    effect_interval: Interval


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """The result of a match between k agents in n seats. Rates are from 0 to 1.

    Attributes:
        game, players, options: the game's name, n, and its options as plain data.
        games: games played.
        units: independent units among them: seeds if seatings share their dice, else games.
        distinct_games: games that differ in dice, in any action or in who sat at the table. Two agents that play alike
            repeat a game when they change seats.
        seed: the evaluation's seed.
        duplicate: whether every seating was played with the same dice.
        confidence: the confidence of all intervals.
        game_length: mean number of decisions in a game, by all players.
        agents: the agents' results by name, in the order in which the agents were given.
        pairs: the results of `pairs[a, b]`, agent a against agent b, for every two agents that met, in both orders.
        seats: (n) the results of the seats.
        regret_unit: the unit of every regret.
        regret_note: why regret could not be measured; empty if it was measured or not requested.
        luck_values: the values that luck was measured with.
        luck_note: why luck could not be measured; empty if it was measured or not requested.
        versions: the versions of this library, Python and the packages that figures depend on.
    """

    game: str
    players: int
    options: dict[str, Any]
    games: int
    units: int
    distinct_games: int
    seed: int
    duplicate: bool
    confidence: float
    game_length: float
    agents: dict[str, AgentResult]
    pairs: dict[tuple[str, str], PairResult]
    seats: tuple[SeatResult, ...]
    regret_unit: RegretUnit
    regret_note: str
    luck_values: LuckValues
    luck_note: str
    versions: dict[str, str]

    def versus_first(self) -> list[PairResult]:
        """Return the pairs of the first agent with each other agent that it met."""
        first = next(iter(self.agents))
        return [pair for (a, _), pair in self.pairs.items() if a == first]

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as plain data for JSON, with the keys that docs/command-line.md lists.

        Figures of agents are lists with one entry for each agent. Figures of pairs are lists of such lists.
        """
        agents, names = list(self.agents.values()), list(self.agents)
        regret = [{} if agent.regret is None else asdict(agent.regret) for agent in agents]
        adjusted = [agent.adjusted for agent in agents if agent.adjusted is not None]
        first = self.versus_first()

        def matrix(figure: Callable[[PairResult], Any]) -> list[list[Any]]:
            return [[figure(self.pairs[a, b]) if (a, b) in self.pairs else None for b in names] for a in names]

        plain: dict[str, Any] = as_lists(
            {
                "game": self.game,
                "players": self.players,
                "options": self.options,
                "agents": names,
                "games": self.games,
                "units": self.units,
                "distinct_games": self.distinct_games,
                "seed": self.seed,
                "duplicate": self.duplicate,
                "confidence": self.confidence,
                "wins": [agent.wins for agent in agents],
                "starts": [agent.starts for agent in agents],
                "win_rate": [agent.win_rate for agent in agents],
                "interval": [agent.interval for agent in agents],
                "equal_win_rate": [agent.equal_win_rate for agent in agents],
                "against": matrix(lambda pair: pair.win_rate),
                "against_interval": matrix(lambda pair: pair.interval),
                "seat_win_rate": [seat.win_rate for seat in self.seats],
                "seat_effect": [seat.effect for seat in self.seats],
                "seat_effect_interval": [seat.effect_interval for seat in self.seats],
                "agent_seat_win_rate": [agent.seat_win_rate for agent in agents],
                "difference": [asdict(pair.difference) for pair in first],
                "games_needed": [asdict(pair.games_needed) for pair in first],
                "game_length": self.game_length,
                "points_per_turn": [agent.points_per_turn for agent in agents],
                "regret_per_decision": [one.get("per_decision") for one in regret],
                "regret_interval": [one.get("interval") for one in regret],
                "optimal_share": [one.get("optimal_share") for one in regret],
                "decisions": [one.get("decisions") for one in regret],
                "regret_by_throw": [one.get("by_throw", {}) for one in regret],
                "regret_by_score": [one.get("by_score", {}) for one in regret],
                "regret_by_standing": [one.get("by_standing", {}) for one in regret],
                "worst": [one.get("worst", []) for one in regret],
                "regret_unit": self.regret_unit,
                "regret_note": self.regret_note,
                "adjusted_win_rate": [one.win_rate for one in adjusted] or None,
                "adjusted_interval": [one.interval for one in adjusted] or None,
                "adjusted_against": matrix(lambda pair: pair.adjusted_win_rate) if adjusted else None,
                "adjusted_against_interval": matrix(lambda pair: pair.adjusted_interval) if adjusted else None,
                "games_saved": [one.games_saved for one in adjusted] or None,
                "luck": [asdict(one.breakdown) for one in adjusted] or None,
                "luck_values": self.luck_values,
                "luck_note": self.luck_note,
                "versions": self.versions,
            }
        )
        return plain

    def __repr__(self) -> str:
        rates = ", ".join(f"{name} {agent.win_rate:.1%}" for name, agent in self.agents.items())
        return f"<Evaluation of {self.games:,} games of {self.game} for {self.players} players: {rates}>"

    def _repr_html_(self) -> str:
        """Return a small table for a notebook."""
        confidence = f"{100 * self.confidence:g} % interval"
        regret = f"<th>regret, {self.regret_unit} a decision</th>" if self.regret_unit else ""
        rows = ""
        for name, agent in self.agents.items():
            low, high = agent.interval
            rows += f"<tr><th>{escape(name)}</th><td>{agent.win_rate:.1%}</td><td>{low:.1%} to {high:.1%}</td>"
            if agent.regret is not None:
                mean = agent.regret.per_decision
                rows += f"<td>{'–' if mean is None else f'{mean:.3f}'}</td>"
            rows += "</tr>"
        title = f"{self.games:,} games of {escape(self.game)} for {self.players} players, seed {self.seed}"
        head = f"<tr><th>agent</th><th>win rate</th><th>{confidence}</th>{regret}</tr>"
        return f"<table><caption>{title}</caption>{head}{rows}</table>"


def as_lists(value: Any) -> Any:
    """Return `value` with every tuple in it, at any depth, as a list: the form in which JSON is read back."""
    if isinstance(value, dict):
        return {key: as_lists(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_lists(inner) for inner in value]
    return value
