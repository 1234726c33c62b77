"""An evaluation: a match between agents, and what each of their decisions cost where the game is solved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trialea.envs.agent import AgentLike, make_agent
from trialea.envs.dice import FOR_AGENT, derive_many
from trialea.envs.errors import OptionError, whole_number
from trialea.envs.game import Game
from trialea.envs.learner import check_seed
from trialea.envs.versions import versions
from trialea.evaluation.intervals import check_confidence, interval_of_difference, interval_of_mean
from trialea.evaluation.matches.match import Decisions, Match, UnfinishedMatchError, distinct_names
from trialea.evaluation.matches.play import play_match
from trialea.evaluation.matches.schedule import make_schedule, make_seatings
from trialea.evaluation.measures.luck import Luck, LuckMeter, ValueFunction, adjust, interval_without_bounds, values_for
from trialea.evaluation.measures.regret import RegretMeter, solution_of
from trialea.evaluation.measures.sample_size import from_pilot
from trialea.evaluation.results import Difference, Evaluation, Regret, ValuesFrom


def evaluate(
    game: Game | str,
    agents: Sequence[AgentLike],
    games: int = 4000,
    seed: int = 0,
    duplicate: bool = True,
    regret: bool = True,
    worst: int = 5,
    confidence: float = 0.95,
    progress: Callable[[float], None] | None = None,
    luck: bool | ValueFunction = True,
) -> Evaluation:
    """Let agents play each other and say who won how often, and what their decisions cost.

    Every agent holds every seat equally often. With `duplicate` dice each seed is played once in every
    seating, and the intervals count seeds, not games: games that share their dice are not independent.

    Args:
        game: what is played; a name stands for that game with its default options, for the fewest players.
        agents: at least two: `Agent` objects, names, or paths of models or runs; the same one may appear more than
            once. Fewer than there are seats are repeated round the table; of more, every choice plays.
        games: how many at least; rounded up to full rounds of all seatings.
        seed: from which the dice and the agents' own seeds follow, from 0 to 2^64 - 1.
        duplicate: whether all seatings are played with the same dice.
        regret: whether to measure regret, where the game is solved.
        worst: how many of the worst decisions to keep for each agent.
        confidence: of all intervals.
        progress: called with the share of the games that are over, from 0 to 1.
        luck: whether to measure luck, where the game is solved or estimated; or the value function to do it with.

    Raises:
        OptionError: a number out of range.
        UnknownNameError: an agent that does not exist for this game.
        UnfinishedMatchError: an agent chose an action that is not legal, or raised an error: an `IllegalActionError`
            that names agent, action and position, and whose `evaluation` holds the figures of the finished games.
    """
    check_confidence(confidence)
    seed = check_seed(seed)
    worst = whole_number("worst", worst, 0, 1000)
    games = whole_number("games", games, 1, 10**9)
    for name, switch in (("duplicate", duplicate), ("regret", regret)):
        if not isinstance(switch, (bool, np.bool_)):
            raise OptionError(f"{name} must be True or False, not {switch!r}")
    if isinstance(game, str):
        game = Game(game)
    if isinstance(agents, str):
        raise OptionError(f"agents must be at least two, in a list: [{agents!r}, …], not one name")
    if "human" in agents:
        raise OptionError("a person plays with `trialea play`; an evaluation is between agents that need nobody")
    schedule = make_schedule(make_seatings(len(agents), game.num_players), games, seed, duplicate)
    seeds = np.empty(len(agents), np.uint64)
    derive_many(np.full(len(agents), seed, np.uint64), np.arange(len(agents)), FOR_AGENT, 0, seeds)
    players = [make_agent(agent, game, int(own)) for agent, own in zip(agents, seeds, strict=True)]
    names = distinct_names([player.name for player in players])

    meter, unit, note = None, "", "it was not asked for"
    solution: Any = None
    if regret:
        try:
            solution = solution_of(game)
            meter = RegretMeter(game, solution, len(agents), schedule.num_units, worst)
            unit, note = f"milli-{solution.unit}", ""
        except OptionError as error:  # the solver does not reach so far
            note = str(error)
    values, values_from, luck_note = values_for(game, luck, solution)
    luck_meter = LuckMeter(game, values, schedule) if values else None

    def watch(decisions: Decisions) -> None:
        for one in (meter, luck_meter):
            if one:
                one.add(decisions)

    def summary(match: Match) -> Evaluation:
        found = tuple(meter.results(confidence)) if meter else None
        by_luck = luck_meter.result(match) if luck_meter else None
        judged = Measurements(found, unit, note, by_luck, values_from, luck_note)
        return summarise(game, match, names, confidence, judged)

    watched = watch if meter or luck_meter else None
    try:
        return summary(play_match(game, players, games, seed, duplicate, progress, watched, names))
    except UnfinishedMatchError as error:
        if len(error.match.numbers):
            error.evaluation = summary(error.match)
        raise


@dataclass(frozen=True, slots=True)
class Measurements:
    """What the decisions of a match were found to have cost and changed; by default nothing was measured.

    Attributes:
        regret: (k), or None where it was not measured.
        regret_unit, regret_note, luck_values, luck_note: as in `Evaluation`.
        luck: of every game; None where it was not measured.
    """

    regret: tuple[Regret, ...] | None = None
    regret_unit: str = ""
    regret_note: str = "it was not asked for"
    luck: Luck | None = None
    luck_values: ValuesFrom = ""
    luck_note: str = "it was not asked for"


NOTHING = Measurements()


def summarise(
    game: Game, match: Match, names: Sequence[str], confidence: float, judged: Measurements = NOTHING
) -> Evaluation:
    """The figures of a match of at least one game; agents that finished none are left out.

    Args:
        game: what was played.
        match: what came of it.
        names: (k) of the agents.
        confidence: of all intervals.
        judged: what its decisions were found to be.
    """
    seats, where, seated, of_agents = range(game.num_players), match.seats(), match.seated(), match.agent_shares()
    agents = np.flatnonzero(seated.any(axis=0)).tolist()
    met = {(a, b): seated[:, a] & seated[:, b] for a in agents for b in agents}
    against = {pair: match.of_units(of_agents[:, pair[0]], games) for pair, games in met.items() if games.any()}
    by_seat = {(a, s): match.shares[where[:, s] == a, s] for a in agents for s in seats}
    pairs = [(agents[0], b) for b in agents[1:] if (agents[0], b) in against]
    differences = [against[a, b] - against[b, a] for a, b in pairs]
    without_luck = [
        judged.luck.by_unit(match, 1.0 * (where == a) - (where == b), met[a, b]) if judged.luck else None
        for a, b in pairs
    ]
    fair = 1.0 / game.num_players
    seat_intervals = [interval_of_mean(match.of_units(match.shares[:, s]), confidence) for s in seats]
    description = game.description()
    return Evaluation(
        game=description["game"],
        players=description["players"],
        options=description["options"],
        agents=tuple(names[a] for a in agents),
        games=len(match.shares),
        units=match.num_units,
        distinct_games=match.distinct(),
        seed=match.schedule.seed,
        duplicate=match.schedule.duplicate,
        confidence=confidence,
        wins=tuple(of_agents[:, a].sum().item() for a in agents),
        starts=tuple(int((where[:, 0] == a).sum()) for a in agents),
        win_rate=tuple(of_agents[seated[:, a], a].mean().item() for a in agents),
        interval=tuple(interval_of_mean(against[a, a], confidence) for a in agents),
        against=tuple(
            tuple(against[a, b].mean().item() if a != b and (a, b) in against else None for b in agents) for a in agents
        ),
        against_interval=tuple(
            tuple(interval_of_mean(against[a, b], confidence) if a != b and (a, b) in against else None for b in agents)
            for a in agents
        ),
        seat_win_rate=tuple(match.shares.mean(axis=0).tolist()),
        seat_effect=tuple((match.shares.mean(axis=0) - fair).tolist()),
        seat_effect_interval=tuple((low - fair, high - fair) for low, high in seat_intervals),
        agent_seat_win_rate=tuple(
            tuple(by_seat[a, s].mean().item() if len(by_seat[a, s]) else None for s in seats) for a in agents
        ),
        difference=tuple(
            difference_of((names[a], names[b]), d, e, confidence)
            for (a, b), d, e in zip(pairs, differences, without_luck, strict=True)
        ),
        games_needed=tuple(
            from_pilot((names[a], names[b]), d, match.games_per_unit(met[a, b]), confidence, adjusted=e)
            for (a, b), d, e in zip(pairs, differences, without_luck, strict=True)
        ),
        game_length=match.lengths.mean().item(),
        points_per_turn=tuple((match.points / np.maximum(match.turns, 1))[agents].tolist()),
        regret=None if judged.regret is None else tuple(judged.regret[a] for a in agents),
        regret_unit=judged.regret_unit,
        regret_note=judged.regret_note,
        adjusted=adjust(match, judged.luck, confidence) if judged.luck else None,
        luck_values=judged.luck_values,
        luck_note=judged.luck_note,
        versions=versions(),
    )


def difference_of(
    agents: tuple[str, str], raw: NDArray[np.float64], adjusted: NDArray[np.float64] | None, confidence: float
) -> Difference:
    """How much more one agent won than another, by units (U,), and the same without luck where that was measured."""
    mean, interval = raw.mean().item(), interval_of_difference(raw, confidence)
    if adjusted is None:
        return Difference(agents, mean, interval)
    return Difference(agents, mean, interval, adjusted.mean().item(), interval_without_bounds(adjusted, confidence))
