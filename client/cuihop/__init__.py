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

_HOMES = {
    "ConceptGraph": "cuihop.graph",
    "CuihopError": "cuihop.errors",
    "Direction": "cuihop.graph",
    "Evaluation": "cuihop.evaluation.whole_collection",
    "Explanation": "cuihop.explanation.pair",
    "ImageConcepts": "cuihop.evaluation.image_concepts",
    "Ranking": "cuihop.evaluation.rankings",
    "Release": "cuihop.graph",
    "SnapshotGraph": "cuihop.snapshot",
    "concept_set": "cuihop.identifiers",
    "connect": "cuihop.connection",
    "cui_at_k": "cuihop.measures",
    "draw": "cuihop.graph_pictures",
    "embedding_ranking": "cuihop.evaluation.ranking_in_memory",
    "evaluate": "cuihop.evaluation.whole_collection",
    "explain_pair": "cuihop.explanation.pair",
    "explain_query": "cuihop.explanation.query",
    "iou": "cuihop.measures",
    "neighbour_ranking": "cuihop.evaluation.ranking_in_memory",
    "nn_cui_at_k": "cuihop.measures",
    "nn_iou": "cuihop.measures",
    "random_ranking": "cuihop.evaluation.baselines",
    "read_ranking": "cuihop.evaluation.rankings",
    "scored_ranking": "cuihop.evaluation.ranking_in_memory",
    "top_k": "cuihop.evaluation.baselines",
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
