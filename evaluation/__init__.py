"""Matches, regret and reports."""

from trialea.evaluation.exact import (
    ExactEvaluation,
    best_response,
    evaluate_exactly,
    exact_value,
    exploitability,
    known_policy,
    nash_conv,
)
from trialea.evaluation.intervals import interval_of_mean, t_interval, wilson
from trialea.evaluation.luck import Adjusted, Luck, LuckMeter, Parts, ValueFunction, value_function_of
from trialea.evaluation.match import Decisions, Match, UnfinishedMatchError, play_match
from trialea.evaluation.measure import Evaluation, evaluate
from trialea.evaluation.regret import Mistake, Part, Regret
from trialea.evaluation.report import write_report, write_tournament_report
from trialea.evaluation.sample_size import GamesNeeded, games_needed

__all__ = [
    "Adjusted",
    "Decisions",
    "Evaluation",
    "ExactEvaluation",
    "GamesNeeded",
    "Luck",
    "LuckMeter",
    "Match",
    "Mistake",
    "Part",
    "Parts",
    "Regret",
    "UnfinishedMatchError",
    "ValueFunction",
    "best_response",
    "evaluate",
    "evaluate_exactly",
    "exact_value",
    "exploitability",
    "games_needed",
    "interval_of_mean",
    "known_policy",
    "nash_conv",
    "play_match",
    "t_interval",
    "value_function_of",
    "wilson",
    "write_report",
    "write_tournament_report",
]
