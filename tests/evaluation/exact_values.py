"""Cached exact evaluations for several test modules."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.helpers import game_of
from trialea.evaluation import evaluate_exactly
from trialea.evaluation.measures.exact import ExactEvaluation


@cache
def evaluated(agent: str, **options: Any) -> ExactEvaluation:
    """Return a cached exact evaluation of an agent."""
    return evaluate_exactly(game_of("no_dice", 2, **options), agent)
