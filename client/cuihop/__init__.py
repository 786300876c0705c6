"""cuihop: hops between UMLS concepts, and the retrieval measures built on them.

>>> import cuihop
>>> graph = cuihop.SnapshotGraph.of([("C0042449", "C0005847")])
>>> graph.distance("C0042449", "C0005847")
1
>>> cuihop.nn_iou("C0042449", "C0005847", graph)
0.5

The names of `__all__` are the public API, with what the subpackages of ``dir(cuihop)`` export: see
docs/reference/stability.md.
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
    from cuihop.comparison.comparison import Comparison, compare
    from cuihop.comparison.score_card import ScoreCard
    from cuihop.connection import connect, load
    from cuihop.errors import (
        AccessError,
        AmbiguousCode,
        ConceptError,
        ConceptNotFound,
        ConceptRetired,
        CuihopError,
        GraphError,
        GraphUnavailable,
        InputError,
        InvalidCui,
        LimitExceeded,
        ManyUnknownConcepts,
        NotAllowed,
        NotAuthenticated,
        OutputError,
        QueryTimedOut,
        RateLimited,
        ReleaseMismatch,
        SchemaMismatch,
        SnapshotError,
    )
    from cuihop.evaluation.evaluate import cui_at_k, evaluate, evaluate_each, nn_cui_at_k
    from cuihop.evaluation.result import Evaluation
    from cuihop.explanation.graph_pictures import draw
    from cuihop.explanation.pair import explain_pair
    from cuihop.explanation.query import explain_query
    from cuihop.graph import ConceptGraph, Direction, Release
    from cuihop.graph_wrapper import GraphWithNames
    from cuihop.measures import iou, nn_iou
    from cuihop.measures.nearness import Nearness
    from cuihop.rankings.ranking import Ranking
    from cuihop.rankings.reading import read_ranking
    from cuihop.relevance.baselines import random_ranking, top_k
    from cuihop.reports.report import html_report
    from cuihop.resources.resources import Resources
    from cuihop.snapshot.all_similarities import AllSimilarities
    from cuihop.snapshot.graph import SnapshotGraph
    from cuihop.snapshot.neighbour_dictionary import NeighbourDictionary

__all__ = [
    "AccessError", "AllSimilarities", "AmbiguousCode", "AnnotationOptions", "Comparison", "ConceptError",
    "ConceptGraph", "ConceptNotFound", "ConceptRetired", "CuihopError", "Dataset", "Direction", "Evaluation",
    "GraphError", "GraphUnavailable", "GraphWithNames", "ImageConcepts", "InputError", "InvalidCui", "Judgements",
    "Labels", "LimitExceeded", "ManyUnknownConcepts", "Nearness", "NeighbourDictionary", "NotAllowed",
    "NotAuthenticated", "OutputError", "QueryTimedOut", "Ranking", "RateLimited", "Release", "ReleaseMismatch",
    "Resources", "SchemaMismatch", "ScoreCard", "SnapshotError", "SnapshotGraph", "compare", "connect", "cui_at_k",
    "draw", "evaluate", "evaluate_each", "explain_pair", "explain_query", "html_report", "iou", "load", "nn_cui_at_k",
    "nn_iou", "random_ranking", "read_ranking", "top_k",
]  # fmt: skip

__version__ = "0.1.0.dev0"

_HOMES = {
    "annotation.options": "AnnotationOptions",
    "collection.dataset": "Dataset",
    "collection.image_concepts": "ImageConcepts",
    "collection.judgements": "Judgements",
    "collection.labels": "Labels",
    "comparison.comparison": "Comparison compare",
    "comparison.score_card": "ScoreCard",
    "connection": "connect load",
    "errors": (
        "AccessError AmbiguousCode ConceptError ConceptNotFound ConceptRetired CuihopError GraphError "
        "GraphUnavailable InputError InvalidCui LimitExceeded ManyUnknownConcepts NotAllowed NotAuthenticated "
        "OutputError QueryTimedOut RateLimited ReleaseMismatch SchemaMismatch SnapshotError"
    ),
    "evaluation.evaluate": "cui_at_k evaluate evaluate_each nn_cui_at_k",
    "evaluation.result": "Evaluation",
    "explanation.graph_pictures": "draw",
    "explanation.pair": "explain_pair",
    "explanation.query": "explain_query",
    "graph": "ConceptGraph Direction Release",
    "graph_wrapper": "GraphWithNames",
    "measures": "iou nn_iou",
    "measures.nearness": "Nearness",
    "rankings.ranking": "Ranking",
    "rankings.reading": "read_ranking",
    "relevance.baselines": "random_ranking top_k",
    "reports.report": "html_report",
    "resources.resources": "Resources",
    "snapshot.all_similarities": "AllSimilarities",
    "snapshot.graph": "SnapshotGraph",
    "snapshot.neighbour_dictionary": "NeighbourDictionary",
}
"""Module of the package → its public names. A name is imported at its first use: a distance needs a tenth of the
modules of an evaluation."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_SUBPACKAGES = (
    "adapters", "agreement", "annotated_texts", "captions", "cluster", "comparison", "errors", "evaluation",
    "explanation", "imageclef", "measures", "rankings", "relevance", "similarity",
)  # fmt: skip


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _HOME_OF:
        value: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value
    try:
        return import_module(f"{__name__}.{name}")  # `import cuihop` gives its modules, too
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBPACKAGES, "__version__"})
