"""Evaluation of rankings: by the concepts of the images, by labels, and by relevance judgements."""

from cuihop.evaluation.evaluate import evaluate_shard
from cuihop.evaluation.groups import GroupMean, group_means, group_table
from cuihop.evaluation.result import Evaluation
from cuihop.evaluation.shards import OpenShard, open_shard

__all__ = ["Evaluation", "GroupMean", "OpenShard", "evaluate_shard", "group_means", "group_table", "open_shard"]
