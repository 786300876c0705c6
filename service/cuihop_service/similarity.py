"""Similarity in the release that is served now, independent of any transport."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

import numpy as np

from cuihop.adapter_rules import replaced
from cuihop.collection.concept_tables import ConceptCounts
from cuihop.errors import GraphUnavailable, InputError
from cuihop.graph import resolved
from cuihop.similarity.hierarchy import (
    Hierarchy,
    HierarchyFacts,
    PairSimilarity,
    Placement,
    Similarities,
    SimilarityScale,
)
from cuihop.similarity.options import InformationContent, SimilarityMeasure, SimilarityOptions
from cuihop.snapshot.graph import SnapshotGraph
from cuihop_service.graph_holder import Lease, ServedGraph
from cuihop_service.limits import Limits
from cuihop_service.request_context import Answer, RequestContext

_log = logging.getLogger("cuihop.service")

_PAIRS = 4096  # between two looks at the clock: some hundredths of a second
_DETAILED_PAIRS = 64
_SETS = 64
_RELEASES = 4  # with their restrictions to vocabularies

T = TypeVar("T")

SetPair: TypeAlias = tuple[Sequence[str], Sequence[str]]


class CorpusCounts:
    """Counts of a corpus, given by the operator, for the release that is served."""

    def __init__(self, counts: ConceptCounts) -> None:
        self._counts = counts
        self._lock = threading.Lock()
        self._used: dict[str, dict[str, float]] = {}

    def used_in(self, graph: SnapshotGraph) -> dict[str, float]:
        """The counts of the concepts that the release holds, or an `InputError` if it holds none of them."""
        with self._lock:
            digest = graph.release.digest
            if digest not in self._used:
                used, summary = self._counts.used_in(graph)
                _log.info("information content of a corpus: %s", summary)
                while len(self._used) >= _RELEASES:
                    self._used.pop(next(iter(self._used)))
                self._used[digest] = used
            return self._used[digest]


def index_of(served: ServedGraph, task: str = "similarity is computed") -> SnapshotGraph:
    """The release in memory, which such a task needs: the database would be read into memory whole.

    Raises:
        GraphUnavailable: there is none.
    """
    if served.index is None:
        raise GraphUnavailable(
            f"{task} from an index in memory, and this service has none, or not yet: see the setting index"
        )
    return served.index


class SimilarityService:
    """Similarity of concepts and sets, and placements in the hierarchy; only with the release in memory.

    Every method may be called from several threads at once, and answers from one release. All raise the errors of
    `cuihop.similarity.hierarchy.Hierarchy`, and `LimitExceeded`, `GraphUnavailable`, `QueryTimedOut` and `Cancelled`.
    """

    def __init__(
        self, lent: Callable[[RequestContext], Lease], limits: Limits, corpus: CorpusCounts | None = None
    ) -> None:
        self._lend = lent
        self._limits = limits
        self._corpus = corpus

    def hierarchy(self, *, context: RequestContext) -> Answer[HierarchyFacts]:
        """The hierarchy as a whole."""
        with self._lent(context) as (served, index):
            return _answer(served, index.hierarchy.facts(), {})

    def similarity_scale(self, ic: InformationContent, *, context: RequestContext) -> Answer[SimilarityScale]:
        """The distribution of each measure over random pairs: see `SnapshotHierarchy.scale`."""
        with self._lent(context) as (served, index):
            return _answer(served, index.hierarchy.scale(self._options("Lin", ic, index)), {})

    def placements(
        self, cuis: Sequence[str], ic: InformationContent, *, context: RequestContext
    ) -> Answer[list[Placement]]:
        """The placement of each concept."""
        self._limits.check_identifiers(cuis, "concepts")
        with self._lent(context) as (served, index):
            placements = index.hierarchy.placements(cuis, ic=ic, counts=self._options("Lin", ic, index).counts)
            return _answer(served, placements, replaced(index.resolve(cuis)))

    def pair_similarities(
        self, pairs: Sequence[tuple[str, str]], ic: InformationContent, *, context: RequestContext
    ) -> Answer[list[PairSimilarity]]:
        """Each pair by every measure."""
        ends = [cui for pair in pairs for cui in pair]
        self._limits.check_identifiers(ends, "concepts")
        with self._lent(context) as (served, index):
            resolved(index.resolve(list(dict.fromkeys(ends))), index.release)  # all identifiers at fault in one error
            counts, hierarchy = self._options("Lin", ic, index).counts, index.hierarchy
            similarities: list[PairSimilarity] = []
            for chunk in context.chunks(pairs, _DETAILED_PAIRS):
                similarities += hierarchy.pairs(chunk, ic=ic, counts=counts)
            merged = {old: new for pair in similarities for old, new in pair.merged.items()}
            return _answer(served, similarities, merged)

    def similarity(
        self, a: str, b: str, ic: InformationContent, *, context: RequestContext
    ) -> Answer[tuple[PairSimilarity, HierarchyFacts]]:
        """One pair by every measure, and the hierarchy as a whole."""
        self._limits.check_identifiers((a, b))
        with self._lent(context) as (served, index):
            hierarchy: Hierarchy = index.hierarchy
            pair = hierarchy.pair(a, b, ic=ic, counts=self._options("Lin", ic, index).counts)
            return _answer(served, (pair, hierarchy.facts()), pair.merged)

    def similarities(
        self,
        pairs: Sequence[tuple[str, str]] = (),
        sets: Sequence[SetPair] = (),
        *,
        measure: SimilarityMeasure,
        ic: InformationContent,
        context: RequestContext,
    ) -> Answer[Similarities]:
        """The similarity of each pair of concepts or, if there are any, of each pair of sets.

        Raises:
            InputError: both pairs and sets.
        """
        if pairs and sets:
            raise InputError("pairs and sets", column="sets", found="both", expected="one of them")
        sides = [concepts for pair in sets for concepts in pair] or [[cui for pair in pairs for cui in pair]]
        if sets:
            self._limits.check("sets", len(sets))
            for concepts in sides:
                self._limits.check("set_concepts", len(concepts))
            self._limits.check("comparisons", sum(len(a) * len(b) for a, b in sets))
        self._limits.check("pairs", len(pairs))
        every = list(dict.fromkeys(cui for concepts in sides for cui in concepts))
        self._limits.check_identifiers(every)
        with self._lent(context) as (served, index):
            resolved(index.resolve(every), index.release)  # all identifiers at fault in one error
            options, hierarchy = self._options(measure, ic, index), index.hierarchy
            chunks = [hierarchy.set_similarities(chunk, options) for chunk in context.chunks(sets, _SETS)]
            chunks += [hierarchy.similarities(chunk, options) for chunk in context.chunks(pairs, _PAIRS)]
            return _joined(served, chunks, options)

    @contextmanager
    def _lent(self, context: RequestContext) -> Iterator[tuple[ServedGraph, SnapshotGraph]]:
        context.check()
        with self._lend(context) as served:
            yield served, index_of(served)

    def _options(self, measure: SimilarityMeasure, ic: InformationContent, index: SnapshotGraph) -> SimilarityOptions:
        """The options of a request, with the counts of the service."""
        if ic != "corpus":
            return SimilarityOptions(measure, ic)
        if self._corpus is None:
            raise InputError(
                "this service has no counts of a corpus", column="ic", found="corpus", expected="Sanchez or Seco",
                advice="Its owner can give them by the setting information_content_counts; a snapshot takes your own.",
            )  # fmt: skip
        return SimilarityOptions(measure, ic, self._corpus.used_in(index))


def _answer(served: ServedGraph, value: T, merged: Mapping[str, str]) -> Answer[T]:
    return Answer(value, served.digest, "index", merged)


def _joined(served: ServedGraph, chunks: Sequence[Similarities], options: SimilarityOptions) -> Answer[Similarities]:
    merged = {old: new for chunk in chunks for old, new in chunk.merged.items()}
    values = np.concatenate([np.empty(0), *(chunk.values for chunk in chunks)])
    defined = np.concatenate([np.empty(0, dtype=np.bool_), *(chunk.defined for chunk in chunks)])
    return _answer(served, Similarities(values, defined, options, merged), merged)
