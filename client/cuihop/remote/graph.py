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

from cuihop.adapter_rules import checked_pack_bound, checked_sabs, name_within
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.annotation.texts import blocks_of_texts, checked_texts, text_too_long
from cuihop.errors import ConceptError, GraphUnavailable, InvalidCui, LimitExceeded, RateLimited, ReleaseMismatch
from cuihop.graph import (
    Concept,
    ConceptGraph,
    Direction,
    DistancePack,
    Distances,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
    checked_direction,
    checked_hops,
    checked_identifiers,
    checked_which,
    ends_of_pairs,
    resolved,
)
from cuihop.identifiers import EXPECTED, is_identifier
from cuihop.remote.activation import NewestSeen
from cuihop.remote.failures import with_retries
from cuihop.remote.hierarchy import RemoteHierarchy
from cuihop.remote.packs import cui_numbers, joined_pack, pack_parts
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.transport import (
    CentreNeighbours,
    PairBlock,
    PairDistances,
    Request,
    Response,
    ServiceInfo,
    Transport,
)
from cuihop.resources.optional_packages import installed_by
from cuihop.similarity.hierarchy import Hierarchy
from cuihop.snapshot.string_table import folded_query

__all__ = ["RemoteGraph"]

T = TypeVar("T")

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

    Batches are sent in blocks within the limits of the service, several at a time, and answered as one. The graph may
    be shared between threads. After a fork the child opens connections of its own. A pickled graph is opened again at
    its address when it is unpickled, with the key of the environment there, and must find the same release.

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
        self._whole: RemoteGraph | None = None
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
        if self._whole is not None:
            return RemoteGraph.within, (self._whole, self._within_sabs)
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
        whole = self._whole or self
        restricted = object.__new__(RemoteGraph)
        restricted._settings, restricted._whole = self._settings, whole
        restricted._within_sabs = checked_sabs(sabs, self.release)
        restricted._service = restricted._service_info(opening=False)
        if (serves := whole._service_info(opening=False).release).digest != whole.release.digest:
            raise self._other_release(whole.release, serves.digest)
        if restricted.release.name != name_within(whole.release, restricted._within_sabs):
            raise GraphUnavailable(
                f"{self._settings.address}: this service is cuihop {self._service.service_version}, which does not "
                "restrict its graph to vocabularies. Its owner can update it; a snapshot needs no service."
            )
        return restricted

    def refresh(self) -> Release:
        """Accept the release that the service serves now, and return it."""
        if self._whole is not None:
            self._whole.refresh()
        self._service = self._service_info(opening=False)
        return self._service.release

    def close(self) -> None:
        """Close the connections. Harmless twice."""
        if self._whole is not None:
            self._whole.close()
            return
        self._closed = True
        self._connection.close()

    # Requests

    def _own_connection(self) -> _Connection:
        if self._whole is not None:
            return self._whole._own_connection()
        if self._closed:
            raise GraphUnavailable(f"{self._settings.address}: the graph is closed")
        if not self._connection.own:
            # Connections inherited by a fork belong to the parent: shared, they would mix up the responses.
            self._connection = _Connection(self._settings, inherited=self._connection)
        return self._connection

    def _transport(self) -> Transport:
        return self._own_connection().transport

    def _request(self) -> Request:
        return Request(self._settings.timeout, self._within_sabs)

    def _service_info(self, *, opening: bool) -> ServiceInfo:
        request = self._request()
        retry_time = self._settings.retry_time
        return with_retries(lambda: self._transport().service_info(request), retry_time, opening=opening).value

    def send(self, service: ServiceInfo, send: Callable[[Transport, Request], Response[T]]) -> Response[T]:
        """The response to one request, checked to be of the expected release."""
        request = self._request()
        response = with_retries(lambda: send(self._transport(), request), self._settings.retry_time)
        if response.digest != service.release.digest:
            raise self._other_release(service.release, response.digest)
        return response

    def _other_release(self, expected: Release, digest: str) -> ReleaseMismatch:
        return ReleaseMismatch(
            f"{self._settings.address}: the service has changed to the release with digest {digest}; "
            f"this graph was opened on {expected.name} with digest {expected.digest}. "
            "Open it again, or call refresh(), and begin anew: answers of two releases do not go together."
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
        self,
        service: ServiceInfo,
        items: Sequence[str],
        size: int,
        send: Callable[[Transport, slice, Request], Response[T]],
    ) -> tuple[list[T], dict[str, str]]:
        """The responses to the blocks of a batch, and all replaced identifiers in the order of the batch.

        Args:
            service: description of the service when the batch was begun.
            items: identifiers; a block is a slice of them.
            size: of a block.
            send: requests one block.

        Raises:
            ConceptRetired, ConceptNotFound: names every identifier at fault, in whichever block.
        """
        parts = [slice(first, first + size) for first in range(0, len(items), size)]
        return self.send_parts(service, items, [partial(_send_block, send, part) for part in parts])

    def send_parts(
        self, service: ServiceInfo, items: Sequence[str], sends: Sequence[Callable[[Transport, Request], Response[T]]]
    ) -> tuple[list[T], dict[str, str]]:
        """The responses to several requests about some identifiers together: see `send_blocks`."""
        with self._complete_faults(service, items):
            responses = self._send_all([partial(self.send, service, send) for send in sends])
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
                resolved(self._resolve(service, list(dict.fromkeys(items))), service.release)
            raise

    # Identifiers

    def resolve(self, cuis: Sequence[str]) -> list[Resolution]:
        """See `ConceptGraph.resolve`."""
        return self._resolve(self._service, cuis)

    def _resolve(self, service: ServiceInfo, cuis: Sequence[str]) -> list[Resolution]:
        if self._whole is not None:
            return self._whole.resolve(cuis)
        kind = service.release.identifiers
        possible = [cui for cui in dict.fromkeys(checked_identifiers(cuis)) if is_identifier(cui, kind)]
        size = _within(_IDENTIFIERS_A_BLOCK, service.limits.concepts)
        blocks, _ = self.send_blocks(
            service, possible, size, lambda transport, part, request: transport.resolve(possible[part], request)
        )
        resolutions = dict(zip(possible, (resolution for block in blocks for resolution in block), strict=True))
        return [resolutions[cui] if cui in resolutions else Resolution(cui, "invalid") for cui in cuis]

    def check_identifiers(self, service: ServiceInfo, cuis: Sequence[str]) -> None:
        """Refuse texts that cannot be identifiers, before anything is sent."""
        kind = service.release.identifiers
        if invalid := [cui for cui in dict.fromkeys(checked_identifiers(cuis)) if not is_identifier(cui, kind)]:
            raise InvalidCui(invalid, expected=EXPECTED[kind])

    # Distances and paths

    def distances(
        self, pairs: Iterable[tuple[str, str]], *, direction: Direction = "any", max_hops: int | None = None
    ) -> Distances:
        """See `ConceptGraph.distances`."""
        direction = checked_direction(direction)
        bound = checked_hops(max_hops)
        service = self._service
        ends = ends_of_pairs(pairs)
        numbers = cui_numbers(ends) if service.release.identifiers == "cui" else None
        if numbers is None:
            self.check_identifiers(service, ends)

        def send(transport: Transport, part: slice, request: Request) -> Response[PairDistances]:
            block = PairBlock(ends[part], None if numbers is None else numbers[part])
            return transport.distances(block, direction, _wire(bound), request)

        size = _within(_PAIRS_A_BLOCK, service.limits.pairs)
        blocks, merged = self.send_blocks(service, ends, 2 * size, send)
        hops = np.concatenate([np.empty(0, dtype=np.int32), *(block.hops for block in blocks)])
        reached = np.concatenate([np.empty(0, dtype=np.bool_), *(block.reached for block in blocks)])
        return Distances(hops, reached, direction, bound, merged)

    def path(
        self, a: str, b: str, *, direction: Direction = "any", max_hops: int | None = None, which: int = 1
    ) -> Path | None:
        """See `ConceptGraph.path`."""
        direction = checked_direction(direction)
        bound, rank = checked_hops(max_hops), checked_which(which)
        service = self._service
        self.check_identifiers(service, (a, b))
        return self.send(service, lambda t, request: t.path(a, b, direction, _wire(bound), rank, request)).value

    # Neighbourhoods

    def neighbours(
        self,
        cuis: Sequence[str],
        *,
        hops: int | None = 1,
        direction: Direction = "any",
        limit: int | None = None,
    ) -> list[Neighbourhood]:
        """See `ConceptGraph.neighbours`.

        Raises:
            LimitExceeded: one concept has more neighbours than the service gives.
        """
        direction = checked_direction(direction)
        bound = checked_hops(hops, "hops")
        most = checked_hops(limit, "limit")
        service = self._service
        self.check_identifiers(service, cuis)

        def send(transport: Transport, part: slice, request: Request) -> Response[list[CentreNeighbours]]:
            return transport.neighbourhoods(cuis[part], _wire(bound), direction, _wire(most), request)

        # The service bounds the neighbours of all centres together; their number is unknown beforehand.
        size = _within(_CENTRES_A_BLOCK, service.limits.concepts)
        while True:
            try:
                blocks, merged = self.send_blocks(service, cuis, size, send)
                break
            except LimitExceeded:
                if size == 1 or len(cuis) <= 1:
                    raise
                size = max(1, min(size, len(cuis)) // 4)
        hoods = [hood for block in blocks for hood in block]
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

    def pack(self, cuis: Sequence[str], *, hops: int, direction: Direction = "any") -> DistancePack:
        """See `ConceptGraph.pack`. One request, or one for each part where the service packs fewer concepts at once."""
        direction = checked_direction(direction)
        bound = checked_pack_bound(hops)
        service = self._service
        self.check_identifiers(service, cuis)
        if not cuis:
            nothing = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
            return DistancePack((), np.zeros(1, dtype=np.int64), *nothing, bound, direction, service.release.digest)

        def send(part: Sequence[str]) -> Response[DistancePack]:
            return self.send(service, lambda transport, request: transport.pack(part, bound, direction, request))

        limit = service.limits.pack_concepts
        with self._complete_faults(service, cuis):
            if not 1 < limit < len(cuis):
                return send(cuis).value
            parts = pack_parts(len(cuis), limit)
            responses = self._send_all([partial(send, [cuis[place] for place in part.tolist()]) for part in parts])
        return joined_pack(parts, [response.value for response in responses], len(cuis))

    # Names

    def names(self, cuis: Sequence[str]) -> list[str | None]:
        """See `ConceptGraph.names`. ``None`` also where the key may not see names."""
        if self._whole is not None:
            return self._whole.names(cuis)
        return [concept.name for concept in self._concepts(cuis, names_only=True)]

    def concepts(self, cuis: Sequence[str]) -> list[Concept]:
        """See `ConceptGraph.concepts`. Without names where the key may not see them."""
        return self._concepts(cuis, names_only=False)

    def _concepts(self, cuis: Sequence[str], *, names_only: bool) -> list[Concept]:
        service = self._service
        self.check_identifiers(service, cuis)

        def send(transport: Transport, part: slice, request: Request) -> Response[list[Concept]]:
            return transport.concepts(cuis[part], request, names_only=names_only)

        blocks, _ = self.send_blocks(service, cuis, _within(_CONCEPTS_A_BLOCK, service.limits.concepts), send)
        return [concept for block in blocks for concept in block]

    def search(self, text: str, *, limit: int = 10) -> list[SearchHit]:
        """See `ConceptGraph.search`.

        Raises:
            NotAllowed: the key may not see names.
        """
        if self._whole is not None:
            return self._whole.search(text, limit=limit)
        most = checked_hops(limit, "limit")
        folded_query(text)  # refuses a text without words, before anything is sent
        sendable = text.encode("utf-8", "replace").decode()
        return self.send(self._service, lambda t, request: t.search(sendable, _wire(most) or 0, request)).value

    @property
    def hierarchy(self) -> Hierarchy:
        """See `ConceptGraph.hierarchy`. Computed by the service."""
        return RemoteHierarchy(self._service, self)

    def annotate_many(self, texts: Sequence[str], options: AnnotationOptions | None = None) -> Annotations:
        """See `ConceptGraph.annotate_many`. The texts go to the service, which neither logs nor keeps them.

        Raises:
            NotAllowed: the key may not see names.
            LimitExceeded: a text is longer than the service accepts.
            GraphUnavailable: the service is of a version that does not annotate; no text is sent.
        """
        if self._whole is not None:
            return self._whole.annotate_many(texts, options)
        service, used = self._service, options or AnnotationOptions()
        limits = service.limits
        if not limits.texts:
            raise GraphUnavailable(
                f"{self._settings.address}: this service is cuihop {service.service_version}, which does not annotate "
                "texts. Its owner can update it; a snapshot annotates without a service."
            )
        for place, text in enumerate(checked_texts(texts)):
            if len(text) > limits.text_characters:
                raise text_too_long(place, len(text), limits.text_characters)
        sendable = [text.encode("utf-8", "replace").decode() for text in texts]  # half a character is one of these, too

        def send(part: slice) -> Annotations:
            block = sendable[part]
            try:
                return self.send(service, lambda transport, request: transport.annotate(block, used, request)).value
            except RateLimited:
                raise
            except LimitExceeded:  # the service bounds the mentions of all texts; their number is unknown beforehand
                if len(block) <= 1:
                    raise
                middle = (part.start + part.stop) // 2
                halves = slice(part.start, middle), slice(middle, part.stop)
                return Annotations.joined([send(half) for half in halves])

        size = _within(_TEXTS_A_BLOCK, limits.texts), _within(_CHARACTERS_A_BLOCK, limits.characters)
        blocks = self._send_all([partial(send, part) for part in blocks_of_texts(sendable, *size)])
        return dataclasses.replace(Annotations.joined(blocks), texts=texts)


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
    """The graph of a pickle, opened anew."""
    others = {
        f.name: getattr(settings, f.name) for f in dataclasses.fields(settings) if f.name not in {"address", "key"}
    }
    graph = RemoteGraph(RemoteSettings.from_environment(settings.address, **others))
    if graph.release.digest != digest:
        found = graph.release.digest
        graph.close()
        raise ReleaseMismatch(f"{settings.address}: the pickled graph was of digest {digest}; now found {found}")
    return graph


def _send_block(
    send: Callable[[Transport, slice, Request], Response[T]], part: slice, transport: Transport, request: Request
) -> Response[T]:
    return send(transport, part, request)


def _within(size: int, limit: int) -> int:
    """The size of a block within the service's limit; a limit of 0 is none."""
    return min(size, limit) if limit > 0 else size


def _wire(number: int | None) -> int | None:
    """The bound for the wire, within 31 bits."""
    return None if number is None else min(number, _MOST_HOPS)
