"""Evaluation of rankings: by the concepts of the images, by labels, and by relevance judgements."""

from cuihop.evaluation.judged import evaluate_judged
from cuihop.evaluation.result import Evaluation
from cuihop.evaluation.several_rankings import evaluate_rankings

__all__ = ["Evaluation", "evaluate_judged", "evaluate_rankings"]
