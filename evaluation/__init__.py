"""Matches, regret and reports."""

from trialea.evaluation.intervals import interval_of_mean, t_interval, wilson
from trialea.evaluation.match import Decisions, Match, play_match
from trialea.evaluation.measure import Evaluation, evaluate
from trialea.evaluation.regret import Mistake, Part, Regret
from trialea.evaluation.report import write_report

__all__ = [
    "Decisions",
    "Evaluation",
    "Match",
    "Mistake",
    "Part",
    "Regret",
    "evaluate",
    "interval_of_mean",
    "play_match",
    "t_interval",
    "wilson",
    "write_report",
]
