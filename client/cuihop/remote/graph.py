"""The graph of a cuihop service: a `ConceptGraph` over gRPC or HTTP."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np

from cuihop.adapter_rules import checked_sabs, name_within
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.annotation.texts import blocks_of_texts, checked_texts, text_too_long
from cuihop.errors import ConceptError, GraphUnavailable, InvalidCui, LimitExceeded, RateLimited, ReleaseMismatch
from cuihop.graph import (
    CodeLookup,
    Concept,
    ConceptGraph,
    Direction,
    DistancePack,
    Distances,
    MapLookup,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
    ShortestPaths,
    resolved,
)
from cuihop.identifiers import EXPECTED, is_identifier, written_as_code
from cuihop.operations.answers import PathsAnswer, SearchAnswer
from cuihop.operations.requests import (
    AnnotateRequest,
    CodeMapsRequest,
    CodesRequest,
    ConceptsRequest,
    DistancesRequest,
    GraphRequest,
    NeighbourhoodsRequest,
    PackRequest,
    PathRequest,
    PathsRequest,
    ResolutionsRequest,
    SearchRequest,
)
from cuihop.operations.table import (
    ANNOTATE,
    CODE_MAPS,
    CODES,
    CONCEPTS,
    DISTANCES,
    NEIGHBOURHOODS,
    PACK,
    PATH,
    PATHS,
    RELEASE,
    RESOLUTIONS,
    SEARCH,
    Operation,
)
from cuihop.remote.activation import NewestSeen
from cuihop.remote.failures import with_retries
from cuihop.remote.hierarchy import RemoteHierarchy
from cuihop.remote.packs import cui_numbers, joined_pack, pack_subsets
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.transport import PairBlock, Request, Response, ServiceInfo, Transport, slices, within_limit
from cuihop.resources.optional_packages import installed_by
from cuihop.similarity.hierarchy import Hierarchy
from cuihop.snapshot.string_table import folded_query

__all__ = ["RemoteGraph"]

T = TypeVar("T")
Q = TypeVar("Q")
A = TypeVar("A")

_MOST_HOPS = 2**31 - 2  # longer than any path
_ALWAYS_COMPLETE = 2  # identifiers: any error names both
# Small enough that a lost block is soon repeated, and that several threads of the service share a batch.
_PAIRS_A_BLOCK = 8_192
_CENTRES_A_BLOCK = 128
_CONCEPTS_A_BLOCK = 2_000
_IDENTIFIERS_A_BLOCK = 10_000
_TEXTS_A_BLOCK = 2_000
_CHARACTERS_A_BLOCK = 250_000


class RemoteGraph(ConceptGraph):
    """A `ConceptGraph` on a cuihop service, with the answers and the errors of the snapshot that it serves.

    The graph belongs to the release that was served when it was opened. Every response is checked against it: when the
    service changes to another release, requests raise `ReleaseMismatch` until `refresh` accepts the new one.

    Batches are sent in blocks within the limits of the service, several at a time, and answered as one. A request
    beyond its limits that cannot be divided is `LimitExceeded`, names that the key may not see are `NotAllowed`, and an
    operation that a service of an earlier version does not have is `GraphUnavailable`. The service neither logs nor
    keeps texts. The graph may be shared between threads. After a fork the child opens connections of its own. A pickled
    graph is opened again at its address when it is unpickled, with the key of the environment there, and must find the
    same release.

    Args:
        settings: of the connection.

    Raises:
        GraphUnavailable: no service of cuihop can be reached there.
        NotAuthenticated, NotAllowed: it does not accept the key.
        InputError: a file of TLS cannot be read.
        ModuleNotFoundError: the extra ``remote`` is not installed; the message names it.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self._unrestricted: RemoteGraph | None = None
        self._within_sabs: tuple[str, ...] = ()
        self._closed = False
        self._connection = _Connection(settings)
        try:
            self._service = self._service_info(opening=True)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, address: str) -> RemoteGraph:
        """Connect with key and certificates of the environment: see `RemoteSettings.from_environment`."""
        return cls(RemoteSettings.from_environment(address))

    def __repr__(self) -> str:
        r = self.release
        return (
            f"<RemoteGraph {self._settings.address!r} {r.name!r}: {r.concepts:,} concepts, {r.edges:,} edges, "
            f"digest {r.digest[:12]}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        if self._unrestricted is not None:
            return RemoteGraph.within, (self._unrestricted, self._within_sabs)
        # The key stays here.
        return _reopened, (dataclasses.replace(self._settings, key=None), self.release.digest)

    @property
    def release(self) -> Release:
        """The served release, the source of every answer."""
        return self._service.release

    @property
    def service(self) -> ServiceInfo:
        """Release, limits and version of the service, as of the opening or the last `refresh`."""
        return self._service

    def within(self, sabs: Sequence[str]) -> RemoteGraph:
        """See `ConceptGraph.within`. The service restricts its graph when it is first requested.

        Raises:
            InputError: as `ConceptGraph.within`.
            ReleaseMismatch: the service has changed to another release.
            GraphUnavailable: the service is of a version that does not restrict its graph.
        """
        unrestricted = self._unrestricted or self
        restricted = object.__new__(RemoteGraph)
        restricted._settings, restricted._unrestricted = self._settings, unrestricted
        restricted._within_sabs = checked_sabs(sabs, self.release)
        restricted._service = restricted._service_info(opening=False)
        if (serves := unrestricted._service_info(opening=False).release).digest != unrestricted.release.digest:
            raise self._other_release(unrestricted.release, serves.digest)
        if restricted.release.name != name_within(unrestricted.release, restricted._within_sabs):
            raise GraphUnavailable(
                f"{self._settings.address}: this service is cuihop {self._service.service_version}, which does not "
                "restrict its graph to vocabularies. Its owner can update it; a snapshot needs no service."
            )
        return restricted

    def refresh(self) -> Release:
        """Accept the release that the service serves now, and return it."""
        if self._unrestricted is not None:
            self._unrestricted.refresh()
        self._service = self._service_info(opening=False)
        return self._service.release

    def close(self) -> None:
        """Close the connections. Harmless twice."""
        if self._unrestricted is not None:
            self._unrestricted.close()
            return
        self._closed = True
        self._connection.close()

    # Requests

    def _own_connection(self) -> _Connection:
        if self._unrestricted is not None:
            return self._unrestricted._own_connection()
        if self._closed:
            raise GraphUnavailable(f"{self._settings.address}: the graph is closed")
        if not self._connection.own:
            # Connections inherited by a fork belong to the parent: shared, they would mix up the responses.
            self._connection = _Connection(self._settings, inherited=self._connection)
        return self._connection

    def _service_info(self, *, opening: bool) -> ServiceInfo:
        return ServiceInfo.of(self._send(RELEASE, GraphRequest(), opening=opening).value)

    def _send(self, operation: Operation[Q, A], question: Q, *, opening: bool = False) -> Response[A]:
        request = Request(self._settings.timeout)
        sent: Any = question
        if self._within_sabs:
            sent = dataclasses.replace(sent, within_sabs=self._within_sabs)

        def attempt() -> Response[A]:
            return self._own_connection().transport.send(operation, sent, request)

        return with_retries(attempt, self._settings.retry_time, opening=opening)

    def send(self, service: ServiceInfo, operation: Operation[Q, A], question: Q) -> Response[Any]:
        """The response to one request, checked to be of the expected release."""
        response = self._send(operation, question)
        if response.digest != service.release.digest:
            raise self._other_release(service.release, response.digest)
        return response

    def _other_release(self, expected: Release, digest: str) -> ReleaseMismatch:
        return ReleaseMismatch(
            f"{self._settings.address}: the service has changed to the release with digest {digest}; "
            f"this graph was opened on {expected.name} with digest {expected.digest}. "
            "Open it again, or call refresh(), and begin again: answers of two releases do not go together."
        )

    def _send_all(self, requests: Sequence[Callable[[], T]]) -> list[T]:
        """The answers to several requests, in their order; ``in_flight`` of the settings bounds the concurrency.

        Separate calls, not one stream: docs/decisions/0005-remote-batches.md.
        """
        if len(requests) <= 1:
            return [request() for request in requests]
        threads = self._own_connection().threads
        futures = [threads.submit(request) for request in requests]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()

    def send_blocks(
        self, service: ServiceInfo, operation: Operation[Q, A], items: Sequence[str], blocks: Iterable[Q]
    ) -> tuple[list[A], dict[str, str]]:
        """The answers to the blocks of a batch, and all replaced identifiers in the order of the batch.

        Args:
            service: description of the service when the batch was begun.
            operation: of each block.
            items: the identifiers of the batch.
            blocks: requests about some of them each.

        Raises:
            ConceptRetired, ConceptNotFound: names every identifier at fault, in whichever block.
        """
        with self._complete_faults(service, items):
            responses = self._send_all([partial(self.send, service, operation, block) for block in blocks])
        merged = {old: new for response in responses for old, new in response.merged.items()}
        if merged:
            merged = {cui: merged[cui] for cui in dict.fromkeys(items) if cui in merged}
        return [response.value for response in responses], merged

    @contextmanager
    def _complete_faults(self, service: ServiceInfo, items: Sequence[str]) -> Iterator[None]:
        """Name every identifier at fault: the error of a block has its own only, and gRPC has room for some."""
        try:
            yield
        except ConceptError:
            if len(items) > _ALWAYS_COMPLETE:
                resolved(self._resolutions(service, list(dict.fromkeys(items))), service.release)
            raise

    # Identifiers

    def _resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        return self._resolutions(self._service, cuis)

    def _resolutions(self, service: ServiceInfo, cuis: Sequence[str]) -> list[Resolution]:
        if self._unrestricted is not None:
            return self._unrestricted.resolve(cuis)
        kind = service.release.identifiers
        possible = [cui for cui in dict.fromkeys(cuis) if is_identifier(cui, kind) or written_as_code(cui)]
        size = within_limit(_IDENTIFIERS_A_BLOCK, service.limits.concepts)
        questions = [ResolutionsRequest(possible[block]) for block in slices(possible, size)]
        blocks, _ = self.send_blocks(service, RESOLUTIONS, possible, questions)
        resolutions = dict(zip(possible, (r for block in blocks for r in block.resolutions), strict=True))
        return [resolutions[cui] if cui in resolutions else Resolution(cui, "invalid") for cui in cuis]

    def check_identifiers(self, service: ServiceInfo, cuis: Sequence[str]) -> None:
        """Refuse texts that cannot be identifiers, before anything is sent."""
        kind = service.release.identifiers
        if invalid := [cui for cui in dict.fromkeys(cuis) if not (is_identifier(cui, kind) or written_as_code(cui))]:
            raise InvalidCui(invalid, expected=EXPECTED[kind])

    # Distances and paths

    def _distances(self, ends: Sequence[str], direction: Direction, bound: int | None) -> Distances:
        service = self._service
        numbers = cui_numbers(ends) if service.release.identifiers == "cui" else None
        if numbers is None:
            self.check_identifiers(service, ends)

        def question(block: slice) -> DistancesRequest:
            pairs = PairBlock(ends[block], None if numbers is None else numbers[block])
            return DistancesRequest(pairs, direction, _wire(bound))

        size = within_limit(_PAIRS_A_BLOCK, service.limits.pairs)
        blocks, merged = self.send_blocks(service, DISTANCES, ends, map(question, slices(ends, 2 * size)))
        hops = np.concatenate([np.empty(0, dtype=np.int32), *(block.hops.numbers for block in blocks)])
        reached = np.concatenate([np.empty(0, dtype=np.bool_), *(block.hops.defined for block in blocks)])
        return Distances(hops, reached, direction, bound, merged)

    def _path(self, a: str, b: str, direction: Direction, bound: int | None, which: int) -> Path | None:
        service = self._service
        self.check_identifiers(service, (a, b))
        path: Path | None = self.send(service, PATH, PathRequest(a, b, direction, _wire(bound), which)).value
        return path

    def _paths(
        self, a: str, b: str, direction: Direction, bound: int | None, limit: int | None
    ) -> ShortestPaths | None:
        service = self._service
        self.check_identifiers(service, (a, b))
        response = self.send(service, PATHS, PathsRequest(a, b, direction, _wire(bound), _wire(limit)))
        answer: PathsAnswer = response.value
        if answer.hops is None:
            return None
        graph = answer.total, answer.concepts, answer.edges, answer.truncated
        return ShortestPaths(*graph, direction, response.merged)

    # Neighbourhoods

    def _neighbours(
        self, cuis: Sequence[str], direction: Direction, bound: int | None, limit: int | None
    ) -> list[Neighbourhood]:
        service = self._service
        self.check_identifiers(service, cuis)

        def question(block: slice) -> NeighbourhoodsRequest:
            return NeighbourhoodsRequest(cuis[block], _wire(bound), direction, _wire(limit))

        # The service bounds the neighbours of all centres together; their number is unknown beforehand.
        size = within_limit(_CENTRES_A_BLOCK, service.limits.concepts)
        while True:
            try:
                blocks, merged = self.send_blocks(service, NEIGHBOURHOODS, cuis, map(question, slices(cuis, size)))
                break
            except LimitExceeded:
                if size == 1 or len(cuis) <= 1:
                    raise
                size = max(1, min(size, len(cuis)) // 4)
        hoods = [hood for block in blocks for hood in block.neighbourhoods]
        return [
            Neighbourhood(
                cui=hood.cui,
                neighbours=hood.neighbours,
                total=hood.total,
                hops=bound,
                direction=direction,
                merged={cui: merged[cui]} if cui in merged else {},
            )
            for cui, hood in zip(cuis, hoods, strict=True)
        ]

    def _pack(self, cuis: Sequence[str], direction: Direction, bound: int) -> DistancePack:
        service = self._service
        self.check_identifiers(service, cuis)
        if not cuis:
            nothing = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
            return DistancePack((), np.zeros(1, dtype=np.int64), *nothing, bound, direction, service.release.digest)

        def send(subset: Sequence[str]) -> Response[DistancePack]:
            return self.send(service, PACK, PackRequest(subset, bound, direction))

        limit = service.limits.pack_concepts
        with self._complete_faults(service, cuis):
            if not 1 < limit < len(cuis):
                return send(cuis).value
            subsets = pack_subsets(len(cuis), limit)
            responses = self._send_all(
                [partial(send, [cuis[index] for index in subset.tolist()]) for subset in subsets]
            )
        return joined_pack(subsets, [response.value for response in responses], len(cuis))

    # Names

    def _names(self, cuis: Sequence[str]) -> list[str | None]:
        if self._unrestricted is not None:
            return self._unrestricted.names(cuis)
        return [concept.name for concept in self._records(cuis, names_only=True)]

    def _concepts(self, cuis: Sequence[str], codes: bool) -> list[Concept]:
        records = self._records(cuis, names_only=False)
        return records if codes else [dataclasses.replace(record, codes=()) for record in records]

    def _records(self, cuis: Sequence[str], *, names_only: bool) -> list[Concept]:
        service = self._service
        self.check_identifiers(service, cuis)

        size = within_limit(_CONCEPTS_A_BLOCK, service.limits.concepts)
        questions = [ConceptsRequest(cuis[block], names_only) for block in slices(cuis, size)]
        blocks, _ = self.send_blocks(service, CONCEPTS, cuis, questions)
        return [concept for block in blocks for concept in block.concepts]

    def _codes(self, identifiers: Sequence[str], sabs: Sequence[str]) -> list[CodeLookup]:
        return self._lookups(CODES, lambda block: CodesRequest(block, tuple(sabs)), identifiers)

    def _code_maps(self, identifiers: Sequence[str]) -> list[MapLookup]:
        return self._lookups(CODE_MAPS, CodeMapsRequest, identifiers)

    def _lookups(
        self, operation: Operation[Q, Any], request: Callable[[Sequence[str]], Q], identifiers: Sequence[str]
    ) -> list[Any]:
        service = self._service
        sendable = [text.encode("utf-8", "replace").decode() for text in identifiers]

        def send(block: slice) -> Sequence[Any]:
            answer: Any = self.send(service, operation, request(sendable[block])).value
            return answer.lookups  # type: ignore[no-any-return]

        size = within_limit(_CONCEPTS_A_BLOCK, service.limits.concepts)
        blocks = [slice(first, min(first + size, len(sendable))) for first in range(0, max(1, len(sendable)), size)]
        answers = self._send_all([partial(_sent_in_halves, send, block) for block in blocks])
        lookups = [lookup for halves in answers for half in halves for lookup in half]
        return [
            lookup if lookup.requested == text else dataclasses.replace(lookup, requested=text)
            for lookup, text in zip(lookups, identifiers, strict=True)
        ]

    def _search(self, text: str, limit: int | None) -> list[SearchHit]:
        folded_query(text)  # refuses a text without words, before anything is sent
        sendable = text.encode("utf-8", "replace").decode()
        answer: SearchAnswer = self.send(self._service, SEARCH, SearchRequest(sendable, _wire(limit) or 0)).value
        return list(answer.hits)

    @property
    def hierarchy(self) -> Hierarchy:
        """See `ConceptGraph.hierarchy`. Computed by the service."""
        return RemoteHierarchy(self._service, self)

    def _annotate_many(self, texts: Sequence[str], options: AnnotationOptions) -> Annotations:
        service = self._service
        limits = service.limits
        if not limits.texts:
            raise GraphUnavailable(
                f"{self._settings.address}: this service is cuihop {service.service_version}, which does not annotate "
                "texts. Its owner can update it; a snapshot annotates without a service."
            )
        for index, text in enumerate(checked_texts(texts)):
            if len(text) > limits.text_characters:
                raise text_too_long(index, len(text), limits.text_characters)
        sendable = [text.encode("utf-8", "replace").decode() for text in texts]  # half a character is one of these, too

        def send(block: slice) -> Annotations:
            answer: Annotations = self.send(service, ANNOTATE, AnnotateRequest(sendable[block], options)).value
            return answer

        size = within_limit(_TEXTS_A_BLOCK, limits.texts), within_limit(_CHARACTERS_A_BLOCK, limits.characters)
        blocks = blocks_of_texts(sendable, *size)
        answers = self._send_all([partial(_sent_in_halves, send, block) for block in blocks])
        return dataclasses.replace(Annotations.joined([half for halves in answers for half in halves]), texts=texts)


def _sent_in_halves(send: Callable[[slice], A], block: slice) -> list[A]:
    """The answers to a block, which is halved as often as the service refuses it.

    The service bounds the codes or mentions in an answer, whose number is unknown beforehand.
    """
    try:
        return [send(block)]
    except RateLimited:
        raise
    except LimitExceeded:
        if block.stop - block.start <= 1:
            raise
        middle = (block.start + block.stop) // 2
        halves = slice(block.start, middle), slice(middle, block.stop)
        return [answer for half in halves for answer in _sent_in_halves(send, half)]


class _Connection:
    """The transport of one process, and the threads that wait for its blocks.

    Args:
        settings: of the connection.
        inherited: the parent's connection after a fork. It is held and never closed: closing it would end the parent's.
    """

    def __init__(self, settings: RemoteSettings, inherited: _Connection | None = None) -> None:
        self._process = os.getpid()
        self._inherited = inherited
        self.transport = _new_transport(settings)
        if inherited is not None:
            self.transport.seen = NewestSeen(inherited.transport.seen.activation)
        self.threads = ThreadPoolExecutor(settings.in_flight, thread_name_prefix="cuihop-remote")

    @property
    def own(self) -> bool:
        """True in the process that opened it."""
        return os.getpid() == self._process

    def close(self) -> None:
        """Close it, in the process that opened it."""
        if self.own:
            self.threads.shutdown(wait=False, cancel_futures=True)
            self.transport.close()


def _new_transport(settings: RemoteSettings) -> Transport:
    with installed_by("cuihop[remote]"):
        if settings.scheme.startswith("grpc"):
            from cuihop.remote.grpc_transport import GrpcTransport

            return GrpcTransport(settings)
        from cuihop.remote.http_transport import HttpTransport

        return HttpTransport(settings)


def _reopened(settings: RemoteSettings, digest: str) -> RemoteGraph:
    """The graph of a pickle, opened again."""
    others = {
        f.name: getattr(settings, f.name) for f in dataclasses.fields(settings) if f.name not in {"address", "key"}
    }
    graph = RemoteGraph(RemoteSettings.from_environment(settings.address, **others))
    if graph.release.digest != digest:
        digest_now = graph.release.digest
        graph.close()
        raise ReleaseMismatch(f"{settings.address}: the pickled graph was of digest {digest}; now found {digest_now}")
    return graph


def _wire(number: int | None) -> int | None:
    """The bound for the wire, within 31 bits."""
    return None if number is None else min(number, _MOST_HOPS)
