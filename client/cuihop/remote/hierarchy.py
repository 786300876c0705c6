"""The hierarchy of a cuihop service."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cuihop.errors import InputError
from cuihop.operations.answers import HierarchyAnswer, SimilaritiesAnswer
from cuihop.operations.requests import (
    GraphRequest,
    PairSimilaritiesRequest,
    PlacementsRequest,
    SimilaritiesRequest,
)
from cuihop.operations.table import HIERARCHY, PAIR_SIMILARITIES, PLACEMENTS, SIMILARITIES
from cuihop.remote.transport import PairBlock, ServiceInfo, slices, within_limit
from cuihop.similarity.hierarchy import Hierarchy, HierarchyFacts, PairSimilarity, Placement, Similarities
from cuihop.similarity.options import SimilarityOptions

if TYPE_CHECKING:
    from cuihop.remote.graph import RemoteGraph

SetPair: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""Two sets of identifiers."""

_PAIRS_A_BLOCK = 8_192
_DETAILED_PAIRS_A_BLOCK = 500
_CONCEPTS_A_BLOCK = 2_000
_SETS_A_BLOCK = 1_000
_COMPARISONS_A_BLOCK = 500_000


def without_counts(options: SimilarityOptions) -> SimilarityOptions:
    """Options for a service, or an `InputError` for options with counts: the service has its own."""
    if options.counts:
        raise InputError(
            "counts are not sent to a service", column="counts", found=f"{len(options.counts):,} concepts",
            expected="none: corpus is of the counts that its owner gave it",
            advice="Open a snapshot for counts of your own.",
        )  # fmt: skip
    return options


class RemoteHierarchy(Hierarchy):
    """The hierarchy of the release that a service serves. Batches are sent in blocks within its limits.

    The information content ``corpus`` is of the service's own counts; counts of the caller are refused.
    """

    def __init__(self, service: ServiceInfo, graph: RemoteGraph) -> None:
        self._service = service
        self._graph = graph

    def facts(self) -> HierarchyFacts:
        """See `Hierarchy.facts`."""
        answer: HierarchyAnswer = self._graph.send(self._service, HIERARCHY, GraphRequest()).value
        return answer.hierarchy

    def _placements(self, cuis: Sequence[str], options: SimilarityOptions) -> list[Placement]:
        ic = without_counts(options).ic
        self._graph.check_identifiers(self._service, cuis)
        size = within_limit(_CONCEPTS_A_BLOCK, self._service.limits.concepts)
        questions = [PlacementsRequest(cuis[block], ic) for block in slices(cuis, size)]
        blocks, _ = self._graph.send_blocks(self._service, PLACEMENTS, cuis, questions)
        return [placement for block in blocks for placement in block.placements]

    def _pairs(self, ends: Sequence[str], options: SimilarityOptions) -> list[PairSimilarity]:
        ic = without_counts(options).ic
        self._graph.check_identifiers(self._service, ends)
        size = within_limit(_DETAILED_PAIRS_A_BLOCK, self._service.limits.concepts // 2)
        questions = [PairSimilaritiesRequest(PairBlock(ends[block]), ic) for block in slices(ends, 2 * size)]
        blocks, _ = self._graph.send_blocks(self._service, PAIR_SIMILARITIES, ends, questions)
        return [pair for block in blocks for pair in block.pairs]

    def _similarities(self, ends: Sequence[str], options: SimilarityOptions) -> Similarities:
        without_counts(options)
        self._graph.check_identifiers(self._service, ends)
        size = within_limit(_PAIRS_A_BLOCK, self._service.limits.pairs)
        pairs = [PairBlock(ends[block]) for block in slices(ends, 2 * size)]
        questions = [SimilaritiesRequest(pairs=block, measure=options.measure, ic=options.ic) for block in pairs]
        blocks, merged = self._graph.send_blocks(self._service, SIMILARITIES, ends, questions)
        return _joined(blocks, options, merged)

    def _set_similarities(self, sets: Sequence[Collection[str]], options: SimilarityOptions) -> Similarities:
        without_counts(options)
        pairs = list(zip(map(list, sets[::2]), map(list, sets[1::2]), strict=True))
        every = list(dict.fromkeys(cui for concepts in sets for cui in concepts))
        self._graph.check_identifiers(self._service, every)
        questions = [
            SimilaritiesRequest(sets=chunk, measure=options.measure, ic=options.ic) for chunk in self._chunks(pairs)
        ]
        blocks, merged = self._graph.send_blocks(self._service, SIMILARITIES, every, questions)
        return _joined(blocks, options, merged)

    def _chunks(self, sets: Sequence[SetPair]) -> Iterator[list[SetPair]]:
        """Pairs of sets in chunks within the limits."""
        limits = self._service.limits
        most = within_limit(_SETS_A_BLOCK, limits.sets)
        room = within_limit(_COMPARISONS_A_BLOCK, limits.comparisons)
        chunk: list[SetPair] = []
        comparisons = 0
        for a, b in sets:
            needed = len(a) * len(b)
            if chunk and (len(chunk) >= most or comparisons + needed > room):
                yield chunk
                chunk, comparisons = [], 0
            chunk.append((a, b))
            comparisons += needed
        if chunk:
            yield chunk


def _joined(
    blocks: Sequence[SimilaritiesAnswer], options: SimilarityOptions, merged: Mapping[str, str]
) -> Similarities:
    columns = [block.similarities for block in blocks]
    values = np.concatenate([np.empty(0), *(column.numbers for column in columns)])
    defined = np.concatenate([np.empty(0, dtype=np.bool_), *(column.defined for column in columns)])
    return Similarities(values, defined, options, merged)
