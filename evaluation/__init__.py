"""Matches, regret and reports."""

from trialea.evaluation.intervals import interval_of_mean, t_interval, wilson
from trialea.evaluation.matches.game import play_game
from trialea.evaluation.matches.match import Decisions, Match, UnfinishedMatchError
from trialea.evaluation.matches.play import play_match
from trialea.evaluation.measures.exact import (
    ExactEvaluation,
    best_response,
    evaluate_exactly,
    exact_value,
    exploitability,
    nash_conv,
    tabulate_policy,
)
from trialea.evaluation.measures.luck import Luck, LuckMeter, ValueFunction, value_function_of
from trialea.evaluation.measures.sample_size import games_needed
from trialea.evaluation.reports.report import write_report, write_tournament_report
from trialea.evaluation.results import Adjusted, Evaluation, GamesNeeded, Mistake, Regret, RegretBin, WinRateBreakdown
from trialea.evaluation.sampled import evaluate

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
    "Regret",
    "RegretBin",
    "UnfinishedMatchError",
    "ValueFunction",
    "WinRateBreakdown",
    "best_response",
    "evaluate",
    "evaluate_exactly",
    "exact_value",
    "exploitability",
    "games_needed",
    "interval_of_mean",
    "nash_conv",
    "play_game",
    "play_match",
    "t_interval",
    "tabulate_policy",
    "value_function_of",
    "wilson",
    "write_report",
    "write_tournament_report",
]
