"""Similarity in the release that is served now, independent of any transport."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

import numpy as np

from cuihop.collection.concept_counts import ConceptCounts
from cuihop.errors import GraphUnavailable, InputError
from cuihop.graph import Resolution, resolved
from cuihop.similarity.hierarchy import Hierarchy, HierarchyFacts, PairSimilarity, Placement, Similarities
from cuihop.similarity.options import InformationContent, SimilarityMeasure, SimilarityOptions
from cuihop.snapshot.graph import SnapshotGraph
from cuihop_service.graph_holder import Loan, ServedGraph
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
    """Counts of a corpus, given by the operator, for the release that is served.

    Args:
        counts: as read.
    """

    def __init__(self, counts: ConceptCounts) -> None:
        self._counts = counts
        self._lock = threading.Lock()
        self._used: dict[str, dict[str, float]] = {}

    def used_in(self, graph: SnapshotGraph) -> dict[str, float]:
        """The counts of the concepts that the release holds.

        Raises:
            InputError: it holds none of them.
        """
        with self._lock:
            digest = graph.release.digest
            if digest not in self._used:
                used, account = self._counts.used_in(graph)
                _log.info("information content of a corpus: %s", account)
                while len(self._used) >= _RELEASES:
                    self._used.pop(next(iter(self._used)))
                self._used[digest] = used
            return self._used[digest]


def index_of(served: ServedGraph) -> SnapshotGraph:
    """The release in memory, which similarity needs: the database would be read into memory whole.

    Raises:
        GraphUnavailable: there is none.
    """
    if served.index is None:
        raise GraphUnavailable(
            "similarity is computed from an index in memory, and this service has none, or not yet: "
            "see the setting index"
        )
    return served.index


class SimilarityService:
    """Similarity of concepts and sets, and places in the hierarchy; only with the release in memory.

    Every method may be called from several threads at once, and answers from one release. All raise the errors of
    `cuihop.similarity.hierarchy.Hierarchy`, and `LimitExceeded`, `GraphUnavailable`, `QueryTimedOut` and `Cancelled`.

    Args:
        lent: lends the graph.
        limits: on the size of a request.
        corpus: counts for the information content ``corpus``; ``None`` refuses that.
    """

    def __init__(
        self, lent: Callable[[RequestContext], Loan], limits: Limits, corpus: CorpusCounts | None = None
    ) -> None:
        self._lend = lent
        self._limits = limits
        self._corpus = corpus

    def facts(self, *, context: RequestContext) -> Answer[HierarchyFacts]:
        """The hierarchy as a whole."""
        with self._lent(context) as (served, index):
            return _answer(served, index.hierarchy.facts(), {})

    def placements(
        self, cuis: Sequence[str], ic: InformationContent, *, context: RequestContext
    ) -> Answer[list[Placement]]:
        """The place of each concept."""
        self._limits.check("concepts", len(cuis))
        self._limits.check_identifiers(cuis)
        with self._lent(context) as (served, index):
            counts = self._options("Lin", ic, index).counts
            return _answer(served, index.hierarchy.placements(cuis, ic=ic, counts=counts), _merged(index, cuis))

    def pairs(
        self, pairs: Sequence[tuple[str, str]], ic: InformationContent, *, context: RequestContext
    ) -> Answer[list[PairSimilarity]]:
        """Each pair by every measure."""
        ends = [cui for pair in pairs for cui in pair]
        self._limits.check("concepts", len(ends))
        self._limits.check_identifiers(ends)
        with self._lent(context) as (served, index):
            resolved(index.resolve(list(dict.fromkeys(ends))), index.release)  # all identifiers at fault in one error
            counts, hierarchy = self._options("Lin", ic, index).counts, index.hierarchy
            found: list[PairSimilarity] = []
            for first in range(0, len(pairs), _DETAILED_PAIRS):
                context.check()
                found += hierarchy.pairs(pairs[first : first + _DETAILED_PAIRS], ic=ic, counts=counts)
            merged = {old: new for pair in found for old, new in pair.merged.items()}
            return _answer(served, found, merged)

    def pair(
        self, a: str, b: str, ic: InformationContent, *, context: RequestContext
    ) -> Answer[tuple[PairSimilarity, HierarchyFacts]]:
        """One pair by every measure, and the hierarchy as a whole."""
        self._limits.check_identifiers((a, b))
        with self._lent(context) as (served, index):
            hierarchy: Hierarchy = index.hierarchy
            found = hierarchy.pair(a, b, ic=ic, counts=self._options("Lin", ic, index).counts)
            return _answer(served, (found, hierarchy.facts()), found.merged)

    def similarities(
        self,
        pairs: Sequence[tuple[str, str]],
        measure: SimilarityMeasure,
        ic: InformationContent,
        *,
        context: RequestContext,
    ) -> Answer[Similarities]:
        """The similarity of each pair."""
        self._limits.check("pairs", len(pairs))
        ends = [cui for pair in pairs for cui in pair]
        self._limits.check_identifiers(ends)
        with self._lent(context) as (served, index):
            resolved(index.resolve(list(dict.fromkeys(ends))), index.release)
            options, hierarchy = self._options(measure, ic, index), index.hierarchy
            parts = []
            for first in range(0, len(pairs), _PAIRS):
                context.check()
                parts.append(hierarchy.similarities(pairs[first : first + _PAIRS], options))
            return _joined(served, parts, options)

    def set_similarities(
        self, sets: Sequence[SetPair], measure: SimilarityMeasure, ic: InformationContent, *, context: RequestContext
    ) -> Answer[Similarities]:
        """The similarity of each pair of sets."""
        self._limits.check("sets", len(sets))
        for concepts in (concepts for pair in sets for concepts in pair):
            self._limits.check("set_concepts", len(concepts))
            self._limits.check_identifiers(concepts)
        self._limits.check("comparisons", sum(len(a) * len(b) for a, b in sets))
        with self._lent(context) as (served, index):
            every = dict.fromkeys(cui for pair in sets for concepts in pair for cui in concepts)
            resolved(index.resolve(list(every)), index.release)
            options, hierarchy = self._options(measure, ic, index), index.hierarchy
            parts = []
            for first in range(0, len(sets), _SETS):
                context.check()
                parts.append(hierarchy.set_similarities(sets[first : first + _SETS], options))
            return _joined(served, parts, options)

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


def _merged(index: SnapshotGraph, cuis: Sequence[str]) -> dict[str, str]:
    resolutions: list[Resolution] = index.resolve(cuis)
    return {r.requested: r.cui for r in resolutions if r.status == "merged" and r.cui is not None}


def _joined(served: ServedGraph, parts: Sequence[Similarities], options: SimilarityOptions) -> Answer[Similarities]:
    merged = {old: new for part in parts for old, new in part.merged.items()}
    values = np.concatenate([np.empty(0), *(part.values for part in parts)])
    defined = np.concatenate([np.empty(0, dtype=np.bool_), *(part.defined for part in parts)])
    return _answer(served, Similarities(values, defined, options, merged), merged)
