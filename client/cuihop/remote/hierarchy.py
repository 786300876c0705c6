"""The hierarchy of a cuihop service."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from cuihop.errors import InputError
from cuihop.graph import checked_identifiers, ends_of_pairs
from cuihop.remote.transport import PairValues, Request, Response, ServiceInfo, SetPair, Transport
from cuihop.similarity.hierarchy import Hierarchy, HierarchyFacts, PairSimilarity, Placement, Similarities
from cuihop.similarity.options import InformationContent, SimilarityOptions

T = TypeVar("T")

_PAIRS_A_BLOCK = 8_192
_DETAILED_PAIRS_A_BLOCK = 500
_CONCEPTS_A_BLOCK = 2_000
_SETS_A_BLOCK = 1_000
_COMPARISONS_A_BLOCK = 500_000


class Connection(Protocol):
    """The requests of a remote graph, checked to be answered from its release."""

    def check_identifiers(self, service: ServiceInfo, cuis: Sequence[str]) -> None:
        """Refuse texts that cannot be identifiers, before anything is sent."""

    def send(self, service: ServiceInfo, send: Callable[[Transport, Request], Response[T]]) -> Response[T]:
        """The response to one request."""

    def send_blocks(
        self,
        service: ServiceInfo,
        items: Sequence[str],
        size: int,
        send: Callable[[Transport, slice, Request], Response[T]],
    ) -> tuple[list[T], dict[str, str]]:
        """The responses to blocks of identifiers, and all replaced identifiers."""

    def send_parts(
        self, service: ServiceInfo, items: Sequence[str], sends: Sequence[Callable[[Transport, Request], Response[T]]]
    ) -> tuple[list[T], dict[str, str]]:
        """The responses to several requests about these identifiers together, and all replaced identifiers."""


def without_counts(options: SimilarityOptions) -> SimilarityOptions:
    """Options for a service, which has counts of its own.

    Raises:
        InputError: options with counts.
    """
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

    Args:
        service: description of the service.
        connection: sends the requests.
    """

    def __init__(self, service: ServiceInfo, connection: Connection) -> None:
        self._service = service
        self._connection = connection

    def facts(self) -> HierarchyFacts:
        """See `Hierarchy.facts`."""
        return self._connection.send(self._service, lambda t, request: t.hierarchy_facts(request)).value

    def placements(
        self, cuis: Sequence[str], *, ic: InformationContent = "Sanchez", counts: Mapping[str, float] | None = None
    ) -> list[Placement]:
        """See `Hierarchy.placements`."""
        used = without_counts(SimilarityOptions(ic=ic, counts=counts or {})).ic
        self._connection.check_identifiers(self._service, checked_identifiers(cuis))
        size = self._within(_CONCEPTS_A_BLOCK, self._service.limits.concepts)
        blocks, _ = self._connection.send_blocks(
            self._service, cuis, size, lambda t, part, request: t.placements(cuis[part], used, request)
        )
        return [place for block in blocks for place in block]

    def pairs(
        self,
        pairs: Iterable[tuple[str, str]],
        *,
        ic: InformationContent = "Sanchez",
        counts: Mapping[str, float] | None = None,
    ) -> list[PairSimilarity]:
        """See `Hierarchy.pairs`."""
        used = without_counts(SimilarityOptions(ic=ic, counts=counts or {})).ic
        ends = ends_of_pairs(pairs)
        self._connection.check_identifiers(self._service, ends)
        size = self._within(_DETAILED_PAIRS_A_BLOCK, self._service.limits.concepts // 2)
        blocks, _ = self._connection.send_blocks(
            self._service, ends, 2 * size, lambda t, part, request: t.pair_similarities(ends[part], used, request)
        )
        return [pair for block in blocks for pair in block]

    def similarities(self, pairs: Iterable[tuple[str, str]], options: SimilarityOptions | None = None) -> Similarities:
        """See `Hierarchy.similarities`."""
        used = without_counts(options or SimilarityOptions())
        ends = ends_of_pairs(pairs)
        self._connection.check_identifiers(self._service, ends)
        size = self._within(_PAIRS_A_BLOCK, self._service.limits.pairs)
        blocks, merged = self._connection.send_blocks(
            self._service, ends, 2 * size, lambda t, part, request: t.similarities(ends[part], used, request)
        )
        return _joined(blocks, used, merged)

    def set_similarities(
        self, pairs: Iterable[tuple[Collection[str], Collection[str]]], options: SimilarityOptions | None = None
    ) -> Similarities:
        """See `Hierarchy.set_similarities`."""
        used = without_counts(options or SimilarityOptions())
        sets = [(list(checked_identifiers(list(a))), list(checked_identifiers(list(b)))) for a, b in pairs]
        every = list(dict.fromkeys(cui for pair in sets for concepts in pair for cui in concepts))
        self._connection.check_identifiers(self._service, every)
        blocks, merged = self._connection.send_parts(
            self._service, every, [partial(_send_sets, part, used) for part in self._parts(sets)]
        )
        return _joined(blocks, used, merged)

    def _parts(self, sets: Sequence[SetPair]) -> Iterator[list[SetPair]]:
        """Pairs of sets in parts within the limits."""
        limits = self._service.limits
        most = self._within(_SETS_A_BLOCK, limits.sets)
        room = self._within(_COMPARISONS_A_BLOCK, limits.comparisons)
        part: list[SetPair] = []
        taken = 0
        for a, b in sets:
            needed = len(a) * len(b)
            if part and (len(part) >= most or taken + needed > room):
                yield part
                part, taken = [], 0
            part.append((a, b))
            taken += needed
        if part:
            yield part

    @staticmethod
    def _within(size: int, limit: int) -> int:
        """The size of a block within the limit of the service; a limit of 0 is none."""
        return min(size, limit) if limit > 0 else size


def _send_sets(
    part: Sequence[SetPair], options: SimilarityOptions, transport: Transport, request: Request
) -> Response[PairValues]:
    return transport.set_similarities(part, options, request)


def _joined(blocks: Sequence[PairValues], options: SimilarityOptions, merged: Mapping[str, str]) -> Similarities:
    values = np.concatenate([np.empty(0), *(block.values for block in blocks)])
    defined = np.concatenate([np.empty(0, dtype=np.bool_), *(block.defined for block in blocks)])
    return Similarities(values, defined, options, merged)
