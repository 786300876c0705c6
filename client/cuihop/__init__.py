"""cuihop: hops between UMLS concepts, and the retrieval measures built on them.

>>> import cuihop
>>> graph = cuihop.SnapshotGraph.of([("C0042449", "C0005847")])
>>> graph.distance("C0042449", "C0005847")
1
>>> cuihop.nn_iou("C0042449", "C0005847", graph)
0.5
"""

from cuihop.connection import connect
from cuihop.errors import CuihopError
from cuihop.evaluation.baselines import random_ranking, top_k
from cuihop.evaluation.image_concepts import ImageConcepts
from cuihop.evaluation.ranking_in_memory import embedding_ranking, neighbour_ranking, scored_ranking
from cuihop.evaluation.rankings import Ranking, read_ranking
from cuihop.evaluation.whole_collection import Evaluation, evaluate
from cuihop.explanation.pair import Explanation, explain_pair
from cuihop.explanation.query import explain_query
from cuihop.graph import ConceptGraph, Direction, Release
from cuihop.graph_pictures import draw
from cuihop.identifiers import concept_set
from cuihop.measures import cui_at_k, iou, nn_cui_at_k, nn_iou
from cuihop.snapshot import SnapshotGraph

__all__ = [
    "ConceptGraph",
    "CuihopError",
    "Direction",
    "Evaluation",
    "Explanation",
    "ImageConcepts",
    "Ranking",
    "Release",
    "SnapshotGraph",
    "concept_set",
    "connect",
    "cui_at_k",
    "draw",
    "embedding_ranking",
    "evaluate",
    "explain_pair",
    "explain_query",
    "iou",
    "neighbour_ranking",
    "nn_cui_at_k",
    "nn_iou",
    "random_ranking",
    "read_ranking",
    "scored_ranking",
    "top_k",
]

__version__ = "0.1.0.dev0"
