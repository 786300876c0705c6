"""Evaluation of rankings: by the concepts of the images, by labels, and by relevance judgements."""

from cuihop.evaluation.groups import GroupMean, group_means, group_table
from cuihop.evaluation.result import Evaluation

__all__ = ["Evaluation", "GroupMean", "group_means", "group_table"]
