"""Evaluate agents by playing: a match, summarised agent by agent and pair by pair, with regret and luck.

`evaluate` plays; `summarise` turns a match into an `Evaluation`, and serves tournaments too. The counterpart without
sampling is `trialea.evaluation.measures.exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from trialea.envs.agent import AgentLike, make_agent
from trialea.envs.checks import check_seed, whole_number
from trialea.envs.errors import OptionError
from trialea.envs.game import Game
from trialea.envs.versions import versions
from trialea.evaluation.intervals import check_confidence, interval_of_difference, interval_of_mean
from trialea.evaluation.matches.match import Decisions, Match, UnfinishedMatchError, distinct_names
from trialea.evaluation.matches.play import MOST_GAMES, play_match
from trialea.evaluation.matches.schedule import agent_seeds, make_schedule, make_seatings
from trialea.evaluation.measures.judges import Measurements, check_switch, prepare_judges
from trialea.evaluation.measures.luck import LuckMeter, ValueFunction, adjust, interval_without_bounds
from trialea.evaluation.measures.regret import RegretMeter
from trialea.evaluation.measures.sample_size import from_pilot
from trialea.evaluation.results import AgentResult, Difference, Evaluation, PairResult, SeatResult


def evaluate(
    game: Game | str,
    agents: Sequence[AgentLike],
    *,
    num_games: int = 4000,
    seed: int = 0,
    duplicate: bool = True,
    regret: bool = True,
    luck: bool | ValueFunction = True,
    worst: int = 5,
    confidence: float = 0.95,
    progress: Callable[[float], None] | None = None,
) -> Evaluation:
    """Play a match between agents, and return the win rates and the regret of their decisions.

    Every agent holds every seat equally often. With `duplicate` dice each seed is played once in every seating, and
    the intervals count seeds, not games: games that share their dice are not independent.

    Args:
        game: the game; a name stands for the game with its default options and the fewest players.
        agents: at least two: `Agent` objects, names, or paths of models or runs. The same agent may appear more than
            once. Fewer agents than seats are repeated round the table. Of more agents than seats, every choice plays.
        num_games: the least number of games, from 1 to 10^9; it is rounded up to full rounds of all seatings.
        seed: the seed of the dice and of the agents' own seeds, from 0 to 2^64 - 1.
        duplicate: whether all seatings are played with the same dice.
        regret: whether to measure regret, if the game is solved.
        luck: whether to measure luck, if the game is solved or estimated; or the value function to measure it with.
        worst: the number of each agent's worst decisions to keep, from 0 to 1000.
        confidence: the confidence of all intervals, between 0 and 1.
        progress: called with the share of the games that are over, from 0 to 1.

    Raises:
        OptionError: an argument out of range or of the wrong type.
        UnknownNameError: an agent that does not exist for this game.
        UnfinishedMatchError: an agent chose an illegal action (then it is an `IllegalActionError` too) or raised an
            exception (then an `AgentError`). Its `evaluation` holds the figures of the finished games.
    """
    check_confidence(confidence)
    seed = check_seed(seed)
    worst = whole_number("worst", worst, 0, 1000)
    num_games = whole_number("num_games", num_games, 1, MOST_GAMES)
    check_switch("duplicate", duplicate)
    game = Game(game) if isinstance(game, str) else game
    if isinstance(agents, str):
        raise OptionError(f"agents must be a list of at least two, e.g. [{agents!r}, 'random'], got {agents!r}")
    agents = list(agents)
    if "human" in agents:
        raise OptionError("agents must play by themselves, got 'human'. Use `trialea play`")
    schedule = make_schedule(make_seatings(len(agents), game.num_players), num_games, seed, duplicate)
    seeds = agent_seeds(seed, len(agents))
    players = [make_agent(agent, game, own) for agent, own in zip(agents, seeds, strict=True)]
    names = distinct_names([player.name for player in players])
    judges = prepare_judges(game, regret, luck)
    regret_meter, luck_meter = None, None
    if judges.solution is not None:
        regret_meter = RegretMeter(game, judges.solution, len(agents), schedule.num_units, worst)
    if judges.values is not None:
        luck_meter = LuckMeter(game, judges.values, schedule)
    meters = [meter for meter in (regret_meter, luck_meter) if meter is not None]

    def watch(decisions: Decisions) -> None:
        for meter in meters:
            meter.add(decisions)

    def summary(match: Match) -> Evaluation:
        measured = Measurements(
            None if regret_meter is None else tuple(regret_meter.results(confidence)),
            None if luck_meter is None else luck_meter.result(match),
            judges.sources,
        )
        return summarise(game, match, names, confidence, measured)

    try:
        match = play_match(
            game,
            players,
            num_games=num_games,
            seed=seed,
            duplicate=duplicate,
            progress=progress,
            watch=watch if meters else None,
            names=names,
        )
    except UnfinishedMatchError as error:
        if len(error.match.numbers):
            error.evaluation = summary(error.match)
        raise
    return summary(match)


def summarise(
    game: Game, match: Match, names: Sequence[str], confidence: float, measured: Measurements | None = None
) -> Evaluation:
    """Return the figures of a match with at least one game. Agents that finished no game are left out.

    Args:
        game: the game that was played.
        match: the games.
        names: (k) the agents' names.
        confidence: of all intervals.
        measured: the regret and luck in the match; by default none.
    """
    measured = Measurements() if measured is None else measured
    agents = np.flatnonzero(match.seated().any(axis=0)).tolist()
    description, sources = game.description(), measured.sources
    return Evaluation(
        game=description["game"],
        players=description["players"],
        options=description["options"],
        games=len(match.shares),
        units=match.num_units,
        distinct_games=match.distinct(),
        seed=match.schedule.seed,
        duplicate=match.schedule.duplicate,
        confidence=confidence,
        game_length=match.lengths.mean().item(),
        agents=_agent_results(match, agents, names, confidence, measured),
        pairs=_pair_results(match, agents, names, confidence, measured),
        seats=_seat_results(match, confidence),
        regret_unit=sources.regret_unit,
        regret_note=sources.regret_note,
        luck_values=sources.luck_values,
        luck_note=sources.luck_note,
        versions=versions(),
    )


def _agent_results(
    match: Match, agents: Sequence[int], names: Sequence[str], confidence: float, measured: Measurements
) -> dict[str, AgentResult]:
    """Return the results of the `agents`, by name."""
    where, places, seated, shares = match.seats(), match.places(), match.seated(), match.agent_shares()
    results = {}
    for a in agents:
        games = seated[:, a]
        by_seat = [match.shares[where[:, seat] == a, seat] for seat in range(where.shape[1])]
        results[names[a]] = AgentResult(
            name=names[a],
            wins=shares[:, a].sum().item(),
            starts=int((where[:, 0] == a).sum()),
            win_rate=shares[games, a].mean().item(),
            interval=interval_of_mean(match.of_units(shares[:, a], games), confidence),
            equal_win_rate=places[games, a].mean().item() / where.shape[1],
            seat_win_rate=tuple(won.mean().item() if len(won) else None for won in by_seat),
            points_per_turn=match.points[a].item() / max(match.turns[a].item(), 1),
            adjusted=None if measured.luck is None else adjust(match, measured.luck, a, confidence),
            regret=None if measured.regret is None else measured.regret[a],
        )
    return results


def _pair_results(
    match: Match, agents: Sequence[int], names: Sequence[str], confidence: float, measured: Measurements
) -> dict[tuple[str, str], PairResult]:
    """Return the results of every two of the `agents` that met, in both orders, by their names."""
    where, seated, shares, luck = match.seats(), match.seated(), match.agent_shares(), measured.luck
    distinct: dict[frozenset[int], int] = {}
    results = {}
    for a in agents:
        for b in agents:
            games = seated[:, a] & seated[:, b]
            if a == b or not games.any():
                continue
            both, pair = (names[a], names[b]), frozenset((a, b))
            if pair not in distinct:
                distinct[pair] = match.distinct(games)
            won = match.of_units(shares[:, a], games)
            differences = won - match.of_units(shares[:, b], games)
            adjusted, adjusted_differences = None, None
            if luck is not None:
                adjusted = luck.by_unit(match, where == a, games)
                adjusted_differences = luck.by_unit(match, 1.0 * (where == a) - (where == b), games)
            results[both] = PairResult(
                agents=both,
                games=int(games.sum()),
                distinct_games=distinct[pair],
                win_rate=won.mean().item(),
                interval=interval_of_mean(won, confidence),
                adjusted_win_rate=None if adjusted is None else adjusted.mean().item(),
                adjusted_interval=None if adjusted is None else interval_without_bounds(adjusted, confidence),
                difference=_difference(both, differences, adjusted_differences, confidence),
                games_needed=from_pilot(
                    both, differences, match.games_per_unit(games), confidence, adjusted=adjusted_differences
                ),
            )
    return results


def _seat_results(match: Match, confidence: float) -> tuple[SeatResult, ...]:
    """Return the results of the seats in order."""
    fair, results = 1.0 / match.shares.shape[1], []
    for won in match.shares.T:
        low, high = interval_of_mean(match.of_units(won), confidence)
        rate = won.mean().item()
        results.append(SeatResult(rate, rate - fair, (low - fair, high - fair)))
    return tuple(results)


def _difference(
    agents: tuple[str, str], raw: NDArray[np.float64], adjusted: NDArray[np.float64] | None, confidence: float
) -> Difference:
    """Return the difference between two agents, from that in each unit (U,), and the same without luck."""
    mean, interval = raw.mean().item(), interval_of_difference(raw, confidence)
    if adjusted is None:
        return Difference(agents, mean, interval)
    return Difference(agents, mean, interval, adjusted.mean().item(), interval_without_bounds(adjusted, confidence))
