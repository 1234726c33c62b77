"""Matches, regret and reports."""

from trialea.evaluation.matches.match import Decisions, Match, UnfinishedMatchError, play_match
from trialea.evaluation.measures.evaluation import Evaluation, evaluate
from trialea.evaluation.measures.exact import (
    ExactEvaluation,
    best_response,
    evaluate_exactly,
    exact_value,
    exploitability,
    known_policy,
    nash_conv,
)
from trialea.evaluation.measures.intervals import interval_of_mean, t_interval, wilson
from trialea.evaluation.measures.luck import Adjusted, Luck, LuckMeter, Parts, ValueFunction, value_function_of
from trialea.evaluation.measures.regret import Mistake, Part, Regret
from trialea.evaluation.measures.sample_size import GamesNeeded, games_needed
from trialea.evaluation.reports.report import write_report, write_tournament_report

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
