"""Comparison of systems: differences, significance tests, score cards."""

from cuihop.comparison.comparison import Comparison, Difference, compare
from cuihop.comparison.score_card import ScoreCard
from cuihop.comparison.system_groups import best_and_worst, system_groups, system_ranks

__all__ = ["Comparison", "Difference", "ScoreCard", "best_and_worst", "compare", "system_groups", "system_ranks"]
