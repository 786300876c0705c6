"""cuihop: hops between UMLS concepts, and the retrieval measures built on them.

>>> import cuihop
>>> graph = cuihop.SnapshotGraph.of([("C0042449", "C0005847")])
>>> graph.distance("C0042449", "C0005847")
1
>>> cuihop.nn_iou("C0042449", "C0005847", graph)
0.5
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuihop.collection.image_concepts import ImageConcepts
    from cuihop.connection import connect
    from cuihop.errors import CuihopError
    from cuihop.evaluation.at_k import cui_at_k, nn_cui_at_k
    from cuihop.evaluation.evaluate import evaluate
    from cuihop.evaluation.result import Evaluation
    from cuihop.explanation.graph_pictures import draw
    from cuihop.explanation.pair import Explanation, explain_pair
    from cuihop.explanation.query import explain_query
    from cuihop.graph import ConceptGraph, Direction, Release
    from cuihop.identifiers import concept_set
    from cuihop.measures import iou, nn_iou
    from cuihop.rankings.in_memory import embedding_ranking, neighbour_ranking, scored_ranking
    from cuihop.rankings.ranking import Ranking
    from cuihop.rankings.reading import read_ranking
    from cuihop.relevance.baselines import random_ranking, top_k
    from cuihop.snapshot.graph import SnapshotGraph

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

_HOMES = {
    "ConceptGraph": "cuihop.graph",
    "CuihopError": "cuihop.errors",
    "Direction": "cuihop.graph",
    "Evaluation": "cuihop.evaluation.evaluate",
    "Explanation": "cuihop.explanation.pair",
    "ImageConcepts": "cuihop.collection.image_concepts",
    "Ranking": "cuihop.rankings.ranking",
    "Release": "cuihop.graph",
    "SnapshotGraph": "cuihop.snapshot.graph",
    "concept_set": "cuihop.identifiers",
    "connect": "cuihop.connection",
    "cui_at_k": "cuihop.evaluation.at_k",
    "draw": "cuihop.explanation.graph_pictures",
    "embedding_ranking": "cuihop.rankings.in_memory",
    "evaluate": "cuihop.evaluation.evaluate",
    "explain_pair": "cuihop.explanation.pair",
    "explain_query": "cuihop.explanation.query",
    "iou": "cuihop.measures",
    "neighbour_ranking": "cuihop.rankings.in_memory",
    "nn_cui_at_k": "cuihop.evaluation.at_k",
    "nn_iou": "cuihop.measures",
    "random_ranking": "cuihop.relevance.baselines",
    "read_ranking": "cuihop.rankings.reading",
    "scored_ranking": "cuihop.rankings.in_memory",
    "top_k": "cuihop.relevance.baselines",
}
"""Name → module. A name is imported when it is first used: a distance needs a tenth of what an evaluation does."""


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _HOMES:
        value: object = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    try:
        return import_module(f"{__name__}.{name}")  # `import cuihop` gives its modules, too
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
