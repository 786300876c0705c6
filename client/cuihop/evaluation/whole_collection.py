"""Evaluation of a ranking over a whole collection: nn-CUI@K and CUI@K of every query, exactly."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np

from cuihop.errors import InputError
from cuihop.evaluation.image_collection import ImageCollection
from cuihop.evaluation.rankings import Ranking
from cuihop.evaluation.relevance_index import Progress, Scores
from cuihop.evaluation.result import GAIN_NAMES, Evaluation, EvaluationCounts, IdentifierCount
from cuihop.graph import ConceptGraph, Direction, checked_direction
from cuihop.measures.dcg import cumulated_gains
from cuihop.measures.measure import FAMILIES, Measure, measures_named
from cuihop.measures.ndcg import normalised
from cuihop.measures.nn_iou import checked_lam, checked_n
from cuihop.measures.resolution import Unknown

__all__ = ["EmptyIdeal", "Evaluation", "Missing", "evaluate"]

EmptyIdeal: TypeAlias = Literal["zero", "skip"]
"""A query for which no other image gains anything: scored 0, or left out of table and mean."""

Missing: TypeAlias = Literal["error", "zero"]
"""A query without a ranking: an error, or scored 0."""

_SHOWN = 5


def evaluate(
    queries: object,
    ranking: Ranking | Mapping[str, Sequence[str]],
    graph: ConceptGraph | None,
    *,
    corpus: object = None,
    measures: str | Measure | Iterable[str | Measure] = "nn-CUI@5,10,30",
    n: int = 1,
    lam: float = 0.5,
    direction: Direction = "any",
    unknown: Unknown = "error",
    missing: Missing = "error",
    empty_ideal: EmptyIdeal = "zero",
    progress: Progress | None = None,
    threads: int | None = None,
) -> Evaluation:
    """Measure how well a ranking orders a corpus for each query.

    For each query, DCG@K of its ranking is divided by IDCG@K, the DCG of the K best images of the *whole* corpus; the
    query itself takes no part in either. The gain of an image is its nn-IoU (nn-CUI@K) or IoU (CUI@K) with the query.

    Args:
        queries: image → its concepts: what `ImageConcepts.read` gives, a mapping (``"C1;C2"`` or a collection of
            identifiers), or a DataFrame of two columns.
        ranking: what `read_ranking`, `top_k` or `random_ranking` gives, or query → images, best first.
        graph: who knows the distances, and which identifiers are retired. ``None`` will do for CUI@K: identifiers
            are then compared as they are.
        corpus: the images that can be retrieved, given as the queries are; the queries themselves without it.
        measures: names such as ``nn-CUI@5,10,30`` and ``CUI@10``.
        n, lam, direction: as in `cuihop.measures.nn_iou`; the first concept is the query's.
        unknown: ``isolated`` keeps identifiers that the graph cannot use as concepts near nothing but themselves,
            counted and listed.
        missing: what becomes of a query without a ranking.
        empty_ideal: what becomes of a query for which IDCG is 0; counted either way.
        progress: called with the queries done and all queries.
        threads: how many; without it, as many as the process has cores. The numbers do not depend on it.

    Raises:
        InvalidCui, ConceptRetired, ConceptNotFound: identifiers cannot be used, and ``unknown`` is ``error``.
        InputError: a parameter, an image or the ranking is not as expected.

    >>> from cuihop import SnapshotGraph
    >>> graph = SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670"])
    >>> images = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
    >>> ranking = {"vein": ["vessel", "head"], "vessel": ["head", "vein"], "head": ["vein", "vessel"]}
    >>> evaluate(images, ranking, graph, measures="nn-CUI@1").means
    {'nn-CUI@1': 0.3333333333333333}
    """
    wanted = measures_named(measures)
    n, lam, direction = checked_n(n), checked_lam(lam), checked_direction(direction)
    for name, value, allowed in (("missing", missing, Missing), ("empty_ideal", empty_ideal, EmptyIdeal)):
        if value not in get_args(allowed):
            raise InputError("no such way", column=name, found=repr(value), expected=" or ".join(get_args(allowed)))
    families = [family for family in FAMILIES if any(measure.family == family for measure in wanted)]
    near_count = "nn-CUI" in families
    if near_count and graph is None:
        raise InputError("nn-CUI@K needs a graph", column="graph", found="None", expected="a ConceptGraph")
    images = ImageCollection.of(queries, corpus, graph, unknown)
    ranking = _fitted(ranking, images)
    if ranking.missing and missing == "error":
        raise _missing_rankings(ranking.missing)
    depth = min(max(measure.k for measure in wanted), len(images.corpus))
    values = np.empty((len(images.queries), len(wanted)), dtype=np.float64)
    best = {family: np.empty(len(images.queries), dtype=np.float64) for family in families}
    empty = 0.0 if empty_ideal == "zero" else np.nan

    def receive(scores: Scores) -> None:
        for level, family in enumerate(families):
            gains, _ = scores.best_others(level, images.own_rows[scores.queries])
            best[family][scores.queries] = gains[:, 0]
            ideal, gained = cumulated_gains(gains), cumulated_gains(scores.asked_gains[level])
            for place, measure in enumerate(wanted):
                if measure.family == family:
                    last = min(measure.k, depth) - 1
                    values[scores.queries, place] = normalised(gained[:, last], ideal[:, last], empty=empty)

    images.index(graph, hops=n if near_count else 0, direction=direction).score(
        [lam if family == "nn-CUI" else 0.0 for family in families],
        depth + 1,
        partial(ranking.top, depth),
        receive,
        threads=threads,
        progress=progress,
    )
    isolated = images.resolved.isolated
    return Evaluation(
        measures=wanted,
        queries=images.query_names,
        values=values,
        best_gains={GAIN_NAMES[family]: best[family] for family in families},
        concepts=np.array([len(concepts) for concepts in images.query_sets], dtype=np.int64),
        unknown_concepts=np.array([len(concepts & isolated) for concepts in images.query_sets], dtype=np.int64),
        retrieved=np.minimum(ranking.lengths, depth),
        counts=_counts(
            images,
            ranking,
            depth,
            {
                GAIN_NAMES[family]: tuple(images.query_names[q] for q in np.flatnonzero(best[family] == 0.0).tolist())
                for family in families
            },
        ),
        release=None if graph is None else graph.release,
        parameters={
            "measures": [str(measure) for measure in wanted],
            "n": n,
            "lambda": lam,
            "direction": direction,
            "unknown": unknown,
            "missing": missing,
            "empty_ideal": empty_ideal,
            "ideal": "the best K of the whole corpus, the query left out",
            "queries": images.queries.source,
            "corpus": images.corpus.source,
            "ranking": ranking.source,
        },
        versions={
            "python": platform.python_version(),
            **{package: _version(package) for package in ("cuihop", "numpy", "numba")},
        },
    )


def _fitted(ranking: Ranking | Mapping[str, Sequence[str]], images: ImageCollection) -> Ranking:
    """The ranking of these very images, in their order."""
    queries, corpus = images.query_names, images.corpus_names
    if not isinstance(ranking, Mapping):
        raise InputError("not a ranking", found=type(ranking).__name__, expected="query → images of the corpus")
    if not isinstance(ranking, Ranking):
        return Ranking.of(ranking, queries, corpus)
    if (ranking.queries, ranking.corpus) == (queries, corpus):
        return ranking
    raise InputError(
        "the ranking is of other images, or of the same in another order",
        found=f"{len(ranking.queries):,} queries, {len(ranking.corpus):,} images in the corpus",
        expected=f"the {len(queries):,} queries and {len(corpus):,} images given, in their order",
        advice="dict(ranking) is matched by the names of the images.",
    )


def _missing_rankings(queries: Sequence[str]) -> InputError:
    more = f" and {len(queries) - _SHOWN:,} more" if len(queries) > _SHOWN else ""
    return InputError(
        "queries without a ranking",
        found=f"{len(queries):,}: {', '.join(queries[:_SHOWN])}{more}",
        expected="a ranking for every query",
        advice="missing='zero' (--missing zero) scores them 0.",
    )


def _counts(
    images: ImageCollection, ranking: Ranking, depth: int, empty_ideal: Mapping[str, tuple[str, ...]]
) -> EvaluationCounts:
    resolved = images.resolved
    occurrences = images.occurrences()

    def counted(identifiers: Iterable[str]) -> IdentifierCount:
        found = tuple(identifiers)
        return IdentifierCount(found, sum(occurrences[identifier] for identifier in found))

    collections = [(images.queries, images.query_sets)]
    if not images.one:
        collections.append((images.corpus, images.corpus_sets))
    total = occurrences.total()
    in_corpus = images.own_rows >= 0
    available = np.minimum(depth, len(images.corpus) - in_corpus)
    return EvaluationCounts(
        queries=len(images.queries),
        corpus=len(images.corpus),
        queries_in_corpus=int(in_corpus.sum()),
        empty_queries=sum(not concepts for concepts in images.query_sets),
        empty_corpus=sum(not concepts for concepts in images.corpus_sets),
        identifiers=len(occurrences),
        occurrences=total,
        unknown=counted(resolved.unknown),
        retired=counted(resolved.retired),
        invalid=counted(resolved.invalid),
        merged=counted(resolved.merged),
        successors=dict(resolved.merged),
        repeated=sum(concepts.repeated for concepts, _ in collections),
        fused=total - sum(len(concepts) for _, sets in collections for concepts in sets),
        self_retrieved=int(ranking.self_retrieved.sum()),
        missing=ranking.missing,
        short=int(((ranking.lengths < available) & ranking.listed).sum()),
        empty_ideal=dict(empty_ideal),
    )


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
