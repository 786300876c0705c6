"""The measures, one in each module: concept overlap of two images, and the quality of a ranking.

Definitions, edge cases and values to check by hand: docs/measures.md. Names: `cuihop.measures.registry`.
"""

from cuihop.measures.average_precision import average_precision
from cuihop.measures.bipartite_matching import bipartite_matching
from cuihop.measures.bpref import bpref
from cuihop.measures.code_error_rate import code_error
from cuihop.measures.concept_f1 import concept_f1
from cuihop.measures.dcg import dcg
from cuihop.measures.graded_ndcg import graded_ndcg
from cuihop.measures.hashing_average_precision import hashing_average_precision
from cuihop.measures.iou import iou
from cuihop.measures.irma_error import irma_error
from cuihop.measures.judged_rankings import JudgedRanking
from cuihop.measures.match_counts import MatchCounts
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.ndcg import ndcg_at_k
from cuihop.measures.nn_f1 import match_counts, nn_f1, nn_precision, nn_recall
from cuihop.measures.nn_iou import ConceptOverlap, RelatedConcept, concept_overlap, nn_iou, related
from cuihop.measures.precision import precision_at_k
from cuihop.measures.r_precision import r_precision
from cuihop.measures.recall import recall_at_k
from cuihop.measures.reciprocal_rank import reciprocal_rank
from cuihop.measures.span_f1 import span_counts

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
