"""The measures, one in each module: concept overlap of two images, and the quality of a ranking.

Definitions, edge cases and values to check by hand: docs/measures.md.
"""

from cuihop.measures.cui_at_k import cui_at_k
from cuihop.measures.dcg import dcg
from cuihop.measures.iou import iou
from cuihop.measures.measure import Measure, measures_named
from cuihop.measures.ndcg import ndcg_at_k
from cuihop.measures.nn_cui_at_k import nn_cui_at_k
from cuihop.measures.nn_iou import ConceptOverlap, RelatedConcept, concept_overlap, nn_iou, related

__all__ = [
    "ConceptOverlap",
    "Measure",
    "RelatedConcept",
    "concept_overlap",
    "cui_at_k",
    "dcg",
    "iou",
    "measures_named",
    "ndcg_at_k",
    "nn_cui_at_k",
    "nn_iou",
    "related",
]
