"""What an evaluation finds: the types of its results, and their form in JSON.

They hold numbers and text alone. Nothing here plays, measures or writes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from trialea.evaluation.intervals import Interval

ValuesFrom = Literal["solution", "estimate", "given", ""]
"""Whose values luck was measured with: the exact solution's, those of an estimate of ours, the caller's, or none."""


@dataclass(frozen=True, slots=True)
class RegretBin:
    """A part of an agent's decisions.

    Attributes:
        decisions: how many non-trivial decisions it holds.
        regret: their mean regret, in thousandths of the solution's unit.
        share: their share of the agent's whole regret, from 0 to 1.
    """

    decisions: int
    regret: float
    share: float


@dataclass(frozen=True, slots=True)
class Mistake:
    """A decision that cost something.

    Attributes:
        position: the position as text.
        throws_made: throws made in the turn.
        throws_left: throws that may still be made in it; None where the game sets no limit.
        totals: points of the mover, then of the others in order of their turns.
        action, value: what was chosen, in words, and the mover's value after it.
        best_action, best_value: the same for a best action.
        regret: what it cost, in thousandths of the solution's unit.
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

    Attributes:
        decisions: how many of its decisions were not trivial; all figures are over these.
        per_decision: mean regret, in thousandths of the solution's unit; 0 where every decision was trivial; None where
            there was no decision at all.
        interval: its confidence interval; None where the units of the match show no spread, as with a perfect
            player.
        optimal_share: share of the decisions without regret.
        by_throw: by the number of throws made.
        by_score: by the mover's total, in bins such as "5–9".
        by_standing: "ahead", "level" or "behind" the best of the others.
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
    """What an agent's win rate is made of: the four sum to it. Means over the games in which it sat.

    Attributes:
        start: what its seats were worth before the first throw.
        luck: what the dice added.
        own_errors: what its own decisions added: nothing or less, where values are exact.
        others_errors: what the other agents' decisions added.
    """

    start: float
    luck: float
    own_errors: float
    others_errors: float


@dataclass(frozen=True, slots=True)
class Adjusted:
    """The figures of an evaluation without luck, for k agents.

    Attributes:
        win_rate: (k) as the evaluation's, of adjusted shares: it may lie a little outside 0 and 1.
        interval: (k) its interval; None where all units gave the same, as between players that never err.
        games_saved: (k) how many times as many games the raw win rate needs for an interval as wide: the variance
            of raw results over units, divided by that of adjusted ones; None where either do not vary.
        against, against_interval: (k) of (k): as the evaluation's.
        parts: (k) what each win rate is made of.
    """

    win_rate: tuple[float, ...]
    interval: tuple[Interval | None, ...]
    games_saved: tuple[float | None, ...]
    against: tuple[tuple[float | None, ...], ...]
    against_interval: tuple[tuple[Interval | None, ...], ...]
    parts: tuple[WinRateBreakdown, ...]


@dataclass(frozen=True, slots=True)
class Needed:
    """What one way of counting results needs.

    Attributes:
        sd: standard deviation over units of the difference between the two agents; None of a single unit.
        units: independent units needed if the true difference is the pilot's; None where the pilot showed no
            difference, or had a single unit.
        games: the same in games in which both sit.
        games_interval: games needed if the true difference lies at the far and at the near end of the pilot's
            interval; None at the near end where the interval holds 0. None for both where `games` is.
    """

    sd: float | None
    units: int | None
    games: int | None
    games_interval: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class GamesNeeded:
    """How many games it takes to tell two agents apart, judged by a pilot.

    Attributes:
        agents: the two.
        difference: the pilot's difference between their win rates, from -1 to 1.
        confidence: of the interval that shall not hold 0.
        power: the probability with which it shall not.
        raw: what the results need as they are.
        adjusted_difference: the pilot's difference without luck; None where luck was not measured.
        adjusted: what the results need without luck; None where it was not measured.
    """

    agents: tuple[str, str]
    difference: float
    confidence: float
    power: float
    raw: Needed
    adjusted_difference: float | None = None
    adjusted: Needed | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more the first agent won than another, paired unit by unit.

    Attributes:
        agents: the first agent and the other.
        mean: difference of their win rates, from -1 to 1.
        interval: its confidence interval.
        adjusted_mean: the difference without luck; None where luck was not measured.
        adjusted_interval: its interval; None also where the units do not vary.
    """

    agents: tuple[str, str]
    mean: float
    interval: Interval
    adjusted_mean: float | None = None
    adjusted_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a match between k agents in n seats showed. Rates are from 0 to 1.

    Attributes:
        game, players, options: the game's name, n, and its options as plain data.
        agents: the k agents' names, made different from each other.
        games: games played; more than were asked for where these were no full rounds of seatings.
        units: independent units among them: the seeds, or the games if each had dice of its own.
        distinct_games: how many of the games differ in dice, in any action or in who sat at the table: agents that play
            alike, or an agent that plays itself, repeat a game when they change seats.
        seed: the evaluation's seed.
        duplicate: whether every seating was played with the same dice.
        confidence: of all intervals.
        wins: (k) games won, shared ones as shares.
        starts: (k) games in which the agent held the first seat.
        win_rate, interval: (k) share of the games won in any of its seats, and its interval over the units.
        against, against_interval: (k) of (k): the same in the games in which the other agent sat too; None for itself
            and where the two never met.
        seat_win_rate: (n) what each seat won, whoever held it.
        seat_effect, seat_effect_interval: (n) the same less 1/n, which is what a fair seat wins.
        agent_seat_win_rate: (k) of (n), what each agent won in each seat; None where it never sat.
        difference: (k - 1) of the first agent to each other that it met.
        games_needed: (k - 1) how many games it takes to tell the two apart.
        game_length: mean decisions a game, by all players.
        points_per_turn: (k) mean points a turn.
        regret: (k), or None where it was not measured.
        regret_unit: what it is measured in, `"milli-wins"` or `"milli-points"`; empty where it was not measured.
        regret_note: why not; else empty.
        adjusted: the results without luck, or None where luck was not measured.
        luck_values: whose values luck was measured with, see `trialea.evaluation.measures.luck.ValuesFrom`.
        luck_note: why it was not measured; else empty.
        versions: of what it was computed with.
    """

    game: str
    players: int
    options: dict[str, Any]
    agents: tuple[str, ...]
    games: int
    units: int
    distinct_games: int
    seed: int
    duplicate: bool
    confidence: float
    wins: tuple[float, ...]
    starts: tuple[int, ...]
    win_rate: tuple[float, ...]
    interval: tuple[Interval, ...]
    against: tuple[tuple[float | None, ...], ...]
    against_interval: tuple[tuple[Interval | None, ...], ...]
    seat_win_rate: tuple[float, ...]
    seat_effect: tuple[float, ...]
    seat_effect_interval: tuple[Interval, ...]
    agent_seat_win_rate: tuple[tuple[float | None, ...], ...]
    difference: tuple[Difference, ...]
    games_needed: tuple[GamesNeeded, ...]
    game_length: float
    points_per_turn: tuple[float, ...]
    regret: tuple[Regret, ...] | None
    regret_unit: str
    regret_note: str
    adjusted: Adjusted | None
    luck_values: ValuesFrom
    luck_note: str
    versions: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The evaluation as plain data for JSON.

        The attributes under their own names, but `regret` taken apart into lists, one entry for each agent:
        `regret_per_decision`, `regret_interval`, `optimal_share`, `decisions` (null where not measured), and
        `regret_by_throw`, `regret_by_score`, `regret_by_standing`, `worst` (then empty). `adjusted` is taken apart into
        `adjusted_win_rate`, `adjusted_interval`, `adjusted_against`, `adjusted_against_interval`, `games_saved` and
        `luck`, the parts of each win rate; all null where luck was not measured.
        """
        plain: dict[str, Any] = listed(asdict(self))
        found = plain.pop("regret") or [{}] * len(self.agents)
        plain["regret_per_decision"] = [one.get("per_decision") for one in found]
        plain["regret_interval"] = [one.get("interval") for one in found]
        for key in ("optimal_share", "decisions"):
            plain[key] = [one.get(key) for one in found]
        for key in ("by_throw", "by_score", "by_standing"):
            plain[f"regret_{key}"] = [one.get(key, {}) for one in found]
        plain["worst"] = [one.get("worst", []) for one in found]
        adjusted = plain.pop("adjusted") or {}
        for key in ("win_rate", "interval", "against", "against_interval"):
            plain[f"adjusted_{key}"] = adjusted.get(key)
        plain["games_saved"], plain["luck"] = adjusted.get("games_saved"), adjusted.get("parts")
        return plain


def listed(value: Any) -> Any:
    """`value` with every tuple in it, however deep, as a list: what comes back when JSON is read again."""
    if isinstance(value, dict):
        return {key: listed(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [listed(inner) for inner in value]
    return value
