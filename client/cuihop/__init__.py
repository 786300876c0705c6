"""cuihop: hops between UMLS concepts, and the retrieval measures built on them.

>>> import cuihop
>>> graph = cuihop.SnapshotGraph.of([("C0042449", "C0005847")])
>>> graph.distance("C0042449", "C0005847")
1
>>> cuihop.nn_iou("C0042449", "C0005847", graph)
0.5

The names of `__all__` are the front door. The rest is imported from a wing by its name: `cuihop.measures`,
`cuihop.rankings`, `cuihop.relevance`, `cuihop.evaluation`, `cuihop.cluster`, `cuihop.explanation`, `cuihop.adapters`,
`cuihop.errors`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuihop.annotation.options import AnnotationOptions
    from cuihop.collection.dataset import Dataset
    from cuihop.collection.image_concepts import ImageConcepts
    from cuihop.collection.judgements import Judgements
    from cuihop.collection.labels import Labels
    from cuihop.comparison.comparison import compare
    from cuihop.comparison.score_card import ScoreCard
    from cuihop.connection import connect
    from cuihop.errors import CuihopError
    from cuihop.evaluation.evaluate import cui_at_k, evaluate, evaluate_each, nn_cui_at_k
    from cuihop.explanation.graph_pictures import draw
    from cuihop.explanation.pair import explain_pair
    from cuihop.explanation.query import explain_query
    from cuihop.graph import ConceptGraph, Direction, Release
    from cuihop.graph_wrapper import GraphWithNames
    from cuihop.measures import iou, nn_iou
    from cuihop.measures.nearness import Nearness
    from cuihop.rankings.ranking import Ranking
    from cuihop.rankings.reading import read_ranking
    from cuihop.reports.report import html_report
    from cuihop.resources.resources import Resources
    from cuihop.snapshot.all_similarities import AllSimilarities
    from cuihop.snapshot.graph import SnapshotGraph
    from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

__all__ = [
    "AllSimilarities",
    "AnnotationOptions",
    "ConceptGraph",
    "CuihopError",
    "Dataset",
    "Direction",
    "GraphWithNames",
    "ImageConcepts",
    "Judgements",
    "Labels",
    "Nearness",
    "NeighbourDictionary",
    "Ranking",
    "Release",
    "Resources",
    "ScoreCard",
    "SnapshotGraph",
    "compare",
    "connect",
    "cui_at_k",
    "draw",
    "evaluate",
    "evaluate_each",
    "explain_pair",
    "explain_query",
    "html_report",
    "iou",
    "nn_cui_at_k",
    "nn_iou",
    "read_ranking",
]

__version__ = "0.1.0.dev0"

_HOMES = {
    "AllSimilarities": "snapshot.all_similarities",
    "AnnotationOptions": "annotation.options",
    "ConceptGraph": "graph",
    "CuihopError": "errors",
    "Dataset": "collection.dataset",
    "Direction": "graph",
    "GraphWithNames": "graph_wrapper",
    "ImageConcepts": "collection.image_concepts",
    "Judgements": "collection.judgements",
    "Labels": "collection.labels",
    "Nearness": "measures.nearness",
    "NeighbourDictionary": "snapshot.neighbour_dictionary",
    "Ranking": "rankings.ranking",
    "Release": "graph",
    "Resources": "resources.resources",
    "ScoreCard": "comparison.score_card",
    "SnapshotGraph": "snapshot.graph",
    "compare": "comparison.comparison",
    "connect": "connection",
    "cui_at_k": "evaluation.evaluate",
    "draw": "explanation.graph_pictures",
    "evaluate": "evaluation.evaluate",
    "evaluate_each": "evaluation.evaluate",
    "explain_pair": "explanation.pair",
    "explain_query": "explanation.query",
    "html_report": "reports.report",
    "iou": "measures",
    "nn_cui_at_k": "evaluation.evaluate",
    "nn_iou": "measures",
    "read_ranking": "rankings.reading",
}
"""Name → module of the package. A name is imported at its first use: a distance needs a tenth of the modules of an
evaluation."""


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _HOMES:
        value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
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
