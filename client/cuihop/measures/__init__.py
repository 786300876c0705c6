"""The measures: concept overlap of two images, quality of a ranking, and scores of predictions.

Definitions, edge cases and worked examples: docs/measures/index.md. Names: `cuihop.measures.measure`.
"""

from cuihop.measures.bipartite_matching import bipartite_matching
from cuihop.measures.dcg import dcg, ndcg_at_k
from cuihop.measures.f1 import MatchCounts, concept_f1, match_counts, nn_f1, nn_precision, nn_recall, span_counts
from cuihop.measures.irma_error import code_error, irma_error
from cuihop.measures.judged import (
    average_precision,
    bpref,
    graded_ndcg,
    hashing_average_precision,
    precision_at_k,
    r_precision,
    recall_at_k,
    reciprocal_rank,
)
from cuihop.measures.judged_rankings import JudgedRanking
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.nn_iou import ConceptOverlap, RelatedConcept, concept_overlap, iou, nn_iou, related

__all__ = [
    "ConceptOverlap",
    "JudgedRanking",
    "MatchCounts",
    "Measure",
    "RelatedConcept",
    "average_precision",
    "bipartite_matching",
    "bpref",
    "code_error",
    "concept_f1",
    "concept_overlap",
    "dcg",
    "graded_ndcg",
    "hashing_average_precision",
    "iou",
    "irma_error",
    "match_counts",
    "measures_named",
    "ndcg_at_k",
    "nn_f1",
    "nn_iou",
    "nn_precision",
    "nn_recall",
    "precision_at_k",
    "r_precision",
    "recall_at_k",
    "reciprocal_rank",
    "related",
    "span_counts",
]
