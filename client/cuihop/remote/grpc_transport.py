"""The gRPC transport: channel, messages and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path as FilePath
from typing import Any, Literal, TypeVar, get_args

import grpc
import numpy as np
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from cuihop.adapter_rules import checked_pack
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import InputError
from cuihop.graph import (
    MATCHES,
    Concept,
    Definition,
    Direction,
    DistancePack,
    Neighbour,
    Path,
    Release,
    Resolution,
    SearchHit,
    Step,
)
from cuihop.identifiers import Identifiers
from cuihop.remote.activation import ACTIVATION_HEADER, NewestSeen
from cuihop.remote.annotation_messages import annotations_of_message, options_message
from cuihop.remote.failures import (
    NEEDS_TLS,
    NOT_RUNNING,
    AttemptFailed,
    FaultyIdentifier,
    Problem,
    failure_of,
    no_encryption,
    refusal,
    unavailable,
)
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.similarity_messages import (
    CONTENTS,
    MEASURES,
    facts_of_message,
    pair_of_message,
    placement_of_message,
    values_of_message,
)
from cuihop.remote.statuses import ERROR_DOMAIN
from cuihop.remote.transport import (
    CentreNeighbours,
    PairBlock,
    PairDistances,
    PairValues,
    Request,
    Response,
    ServiceInfo,
    ServiceLimits,
    SetPair,
)
from cuihop.resources.arrays import bounds_of
from cuihop.similarity.hierarchy import HierarchyFacts, PairSimilarity, Placement
from cuihop.similarity.options import InformationContent, SimilarityOptions
from cuihop_api.v1 import concept_graph_pb2 as messages
from cuihop_api.v1.concept_graph_pb2_grpc import ConceptGraphServiceStub

T = TypeVar("T")
Reply = TypeVar("Reply")

_LARGEST_MESSAGE = 256 << 20  # bytes
# Only the words of gRPC say why there is no connection.
_TLS_SIGNS = ("handshake", "certificate", "erification check failed", "WRONG_VERSION_NUMBER")
_CONNECTION_SIGNS = ("failed to connect", "errors resolving", "DNS resolution", "connection attempt")

_CLOSED = "the graph was closed during the request"

_DIRECTIONS: dict[Direction, messages.Direction.ValueType] = {
    "any": messages.DIRECTION_ANY,
    "up": messages.DIRECTION_UP,
    "down": messages.DIRECTION_DOWN,
    "vertical": messages.DIRECTION_VERTICAL,
}
_RELATIONS: dict[messages.Relation.ValueType, Literal["parent", "child"]] = {
    messages.RELATION_PARENT: "parent",
    messages.RELATION_CHILD: "child",
}
_MATCHES = {messages.MatchKind.Value(f"MATCH_KIND_{kind.upper()}"): kind for kind in MATCHES}
_STATUSES = {
    messages.RESOLUTION_STATUS_CURRENT: "current",
    messages.RESOLUTION_STATUS_MERGED: "merged",
    messages.RESOLUTION_STATUS_RETIRED: "retired",
    messages.RESOLUTION_STATUS_UNKNOWN: "unknown",
    messages.RESOLUTION_STATUS_INVALID: "invalid",
}


class GrpcTransport:
    """One channel to a service. Safe to share between threads.

    Args:
        settings: of the connection.

    Raises:
        InputError: a file of TLS cannot be read.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self.seen = NewestSeen()
        self._channel = _channel(settings)
        self._stub = ConceptGraphServiceStub(self._channel)

    def close(self) -> None:
        """Close the channel. Harmless twice."""
        self._channel.close()

    # Requests

    def service_info(self, request: Request) -> Response[ServiceInfo]:
        """See `Transport.service_info`."""

        def parse(reply: messages.GetReleaseResponse) -> Response[ServiceInfo]:
            release, limits = reply.release, reply.limits
            info = ServiceInfo(
                release=Release(
                    name=release.name,
                    digest=release.digest,
                    relations=tuple(release.relations),
                    sabs=tuple(release.sabs),
                    identifiers=_kind(release.identifiers),
                    concepts=release.concepts,
                    edges=release.edges,
                    source=release.source,
                ),
                indexed=reply.indexed,
                limits=ServiceLimits(**{field.name: getattr(limits, field.name) for field in fields(ServiceLimits)}),
                names=reply.names,
                service_version=reply.service_version,
            )
            return Response(info, release.digest)

        message = messages.GetReleaseRequest(within_sabs=request.within_sabs)
        return self._send(self._stub.GetRelease, message, request, parse)

    def distances(
        self, block: PairBlock, direction: Direction, max_hops: int | None, request: Request
    ) -> Response[PairDistances]:
        """See `Transport.distances`."""
        message = messages.DistancesRequest(bounds=_bounds(direction, max_hops, request))
        if block.numbers is not None:
            message.packed.a.extend(block.numbers[::2].tolist())
            message.packed.b.extend(block.numbers[1::2].tolist())
        else:
            message.pairs.extend(_concept_pairs(block.cuis))

        def parse(reply: messages.DistancesResponse) -> Response[PairDistances]:
            hops = np.array(reply.hops, dtype=np.uint32).astype(np.int32)
            _same_length(hops, block, "distances")
            reached = np.ones(len(hops), dtype=np.bool_)
            reached[np.array(reply.unreached, dtype=np.int64)] = False
            return Response(PairDistances(hops, reached), reply.provenance.release_digest, dict(reply.merged))

        return self._send(self._stub.Distances, message, request, parse)

    def path(
        self, a: str, b: str, direction: Direction, max_hops: int | None, which: int, request: Request
    ) -> Response[Path | None]:
        """See `Transport.path`."""

        def parse(reply: messages.PathResponse) -> Response[Path | None]:
            merged, path = dict(reply.merged), None
            if reply.HasField("path"):
                steps = tuple(Step(s.cui, _RELATIONS[s.relation], tuple(s.sabs)) for s in reply.path.steps)
                path = Path(reply.path.start, steps, direction, merged, reply.path.total, reply.path.which)
            return Response(path, reply.provenance.release_digest, merged)

        message = messages.PathRequest(a=a, b=b, bounds=_bounds(direction, max_hops, request), which=which)
        return self._send(self._stub.Path, message, request, parse)

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None, direction: Direction, limit: int | None, request: Request
    ) -> Response[list[CentreNeighbours]]:
        """See `Transport.neighbourhoods`."""

        def parse(reply: messages.NeighbourhoodResponse) -> Response[list[CentreNeighbours]]:
            _same_length(reply.neighbourhoods, cuis, "neighbourhoods")
            found = [
                CentreNeighbours(hood.cui, tuple(map(Neighbour, *_pairs(hood.neighbours, hood.hops))), hood.total)
                for hood in reply.neighbourhoods
            ]
            return Response(found, reply.provenance.release_digest, dict(reply.merged))

        message = messages.NeighbourhoodRequest(
            cuis=cuis, hops=hops, direction=_DIRECTIONS[direction], limit=limit, within_sabs=request.within_sabs
        )
        return self._send(self._stub.Neighbourhood, message, request, parse)

    def pack(self, cuis: Sequence[str], hops: int, direction: Direction, request: Request) -> Response[DistancePack]:
        """See `Transport.pack`."""

        def parse(parts: Iterable[messages.GetDistancePackResponse]) -> Response[DistancePack]:
            replies = list(parts)
            first = replies[0]  # an empty stream is an error
            lengths = np.concatenate([np.array(part.row_lengths, dtype=np.int64) for part in replies])
            columns = np.concatenate([np.array(part.columns, dtype=np.uint32) for part in replies]).astype(np.int32)
            levels = np.concatenate([np.frombuffer(part.hops, dtype=np.uint8) for part in replies])
            digest = first.provenance.release_digest
            used = tuple(first.cuis)
            pack = DistancePack(
                used, bounds_of(lengths), columns, levels, bound=hops, direction=direction, digest=digest
            )
            checked_pack(pack, len(cuis))
            return Response(pack, digest, {old: new for old, new in zip(cuis, used, strict=True) if old != new})

        message = messages.GetDistancePackRequest(
            cuis=cuis, hops=hops, direction=_DIRECTIONS[direction], within_sabs=request.within_sabs
        )
        return self._send(self._stub.GetDistancePack, message, request, parse)

    def concepts(self, cuis: Sequence[str], request: Request, *, names_only: bool) -> Response[list[Concept]]:
        """See `Transport.concepts`."""

        def parse(reply: messages.GetConceptResponse) -> Response[list[Concept]]:
            _same_length(reply.concepts, cuis, "concepts")
            found = [
                Concept(
                    cui=concept.cui,
                    name=concept.name if concept.HasField("name") else None,
                    synonyms=tuple(concept.synonyms),
                    semantic_types=tuple((kind.tui, kind.name) for kind in concept.semantic_types),
                    parents=concept.parents,
                    children=concept.children,
                    definitions=tuple(Definition(d.sab, d.text) for d in concept.definitions),
                    sabs=tuple(concept.sabs),
                )
                for concept in reply.concepts
            ]
            return Response(found, reply.provenance.release_digest, dict(reply.merged))

        message = messages.GetConceptRequest(cuis=cuis, names_only=names_only, within_sabs=request.within_sabs)
        return self._send(self._stub.GetConcept, message, request, parse)

    def resolve(self, cuis: Sequence[str], request: Request) -> Response[list[Resolution]]:
        """See `Transport.resolve`."""

        def parse(reply: messages.ResolveResponse) -> Response[list[Resolution]]:
            _same_length(reply.resolutions, cuis, "resolutions")
            found = [
                Resolution(
                    requested=resolution.requested,
                    status=_STATUSES[resolution.status],  # type: ignore[arg-type]
                    cui=resolution.cui if resolution.HasField("cui") else None,
                    candidates=_candidates(resolution.candidates),
                )
                for resolution in reply.resolutions
            ]
            return Response(found, reply.provenance.release_digest)

        return self._send(self._stub.Resolve, messages.ResolveRequest(cuis=cuis), request, parse)

    def search(self, text: str, limit: int, request: Request) -> Response[list[SearchHit]]:
        """See `Transport.search`."""

        def parse(reply: messages.SearchResponse) -> Response[list[SearchHit]]:
            return Response([_hit(hit) for hit in reply.hits], reply.provenance.release_digest)

        return self._send(self._stub.Search, messages.SearchRequest(text=text, limit=limit), request, parse)

    def annotate(self, texts: Sequence[str], options: AnnotationOptions, request: Request) -> Response[Annotations]:
        """See `Transport.annotate`. A stream of one request: docs/decisions/0005-remote-batches.md."""

        def parse(replies: Iterable[messages.AnnotateResponse]) -> Response[Annotations]:
            (reply,) = replies
            return Response(annotations_of_message(reply, texts), reply.provenance.release_digest)

        def annotate(message: messages.AnnotateRequest, **options: Any) -> Iterable[messages.AnnotateResponse]:
            return self._stub.Annotate(iter([message]), **options)

        message = messages.AnnotateRequest(texts=texts, options=options_message(options))
        return self._send(annotate, message, request, parse)

    # Similarity

    def similarities(self, ends: Sequence[str], options: SimilarityOptions, request: Request) -> Response[PairValues]:
        """See `Transport.similarities`."""
        message = messages.SimilaritiesRequest(
            pairs=_concept_pairs(ends),
            measure=MEASURES[options.measure],
            ic=CONTENTS[options.ic],
            within_sabs=request.within_sabs,
        )
        return self._similarities(message, len(message.pairs), request)

    def set_similarities(
        self, sets: Sequence[SetPair], options: SimilarityOptions, request: Request
    ) -> Response[PairValues]:
        """See `Transport.set_similarities`."""
        pairs = [messages.ConceptSetPair(a=messages.ConceptSet(cuis=a), b=messages.ConceptSet(cuis=b)) for a, b in sets]
        message = messages.SimilaritiesRequest(
            sets=pairs, measure=MEASURES[options.measure], ic=CONTENTS[options.ic], within_sabs=request.within_sabs
        )
        return self._similarities(message, len(sets), request)

    def _similarities(
        self, message: messages.SimilaritiesRequest, count: int, request: Request
    ) -> Response[PairValues]:
        def parse(reply: messages.SimilaritiesResponse) -> Response[PairValues]:
            _same_length(reply.similarities, range(count), "similarities")
            return Response(values_of_message(reply), reply.provenance.release_digest, dict(reply.merged))

        return self._send(self._stub.Similarities, message, request, parse)

    def pair_similarities(
        self, ends: Sequence[str], ic: InformationContent, request: Request
    ) -> Response[list[PairSimilarity]]:
        """See `Transport.pair_similarities`."""
        message = messages.PairSimilaritiesRequest(
            pairs=_concept_pairs(ends), ic=CONTENTS[ic], within_sabs=request.within_sabs
        )

        def parse(reply: messages.PairSimilaritiesResponse) -> Response[list[PairSimilarity]]:
            _same_length(reply.pairs, message.pairs, "pairs")
            return Response(
                list(map(pair_of_message, reply.pairs)), reply.provenance.release_digest, dict(reply.merged)
            )

        return self._send(self._stub.PairSimilarities, message, request, parse)

    def placements(self, cuis: Sequence[str], ic: InformationContent, request: Request) -> Response[list[Placement]]:
        """See `Transport.placements`."""

        def parse(reply: messages.PlacementsResponse) -> Response[list[Placement]]:
            _same_length(reply.placements, cuis, "placements")
            found = list(map(placement_of_message, reply.placements))
            return Response(found, reply.provenance.release_digest, dict(reply.merged))

        message = messages.PlacementsRequest(cuis=cuis, ic=CONTENTS[ic], within_sabs=request.within_sabs)
        return self._send(self._stub.Placements, message, request, parse)

    def hierarchy_facts(self, request: Request) -> Response[HierarchyFacts]:
        """See `Transport.hierarchy_facts`."""

        def parse(reply: messages.GetHierarchyResponse) -> Response[HierarchyFacts]:
            return Response(facts_of_message(reply.hierarchy), reply.provenance.release_digest)

        message = messages.GetHierarchyRequest(within_sabs=request.within_sabs)
        return self._send(self._stub.GetHierarchy, message, request, parse)

    # Calls

    def _send(
        self, method: Callable[..., Reply], message: Message, request: Request, parse: Callable[[Reply], Response[T]]
    ) -> Response[T]:
        """The parsed reply, or stream of replies, of a method of the stub."""
        metadata = tuple(request.headers(self._settings.key, self.seen).items())
        options: Any = {"timeout": request.timeout, "metadata": metadata}
        try:
            try:
                reply: Any
                call: Any
                if isinstance(method, grpc.UnaryUnaryMultiCallable):
                    reply, call = method.with_call(message, **options)
                else:
                    reply = call = method(message, **options)  # a stream
            except ValueError as error:  # from a closed channel
                raise unavailable(self._settings.address, _CLOSED) from error
            parsed = parse(reply)
            self._note(call)
            return parsed
        except grpc.RpcError as error:
            self._note(error)
            raise _failure(error, self._settings, request) from error
        except (KeyError, ValueError, IndexError) as error:
            problem = f"not the answer of a cuihop service: {error} (request {request.request_id})"
            raise unavailable(self._settings.address, problem) from error

    def _note(self, call: Any) -> None:
        """Note the activation in the metadata at the end of a call."""
        for name, value in call.trailing_metadata() or ():
            if name == ACTIVATION_HEADER:
                self.seen.note(value)


# Messages


def _hit(hit: messages.SearchHit) -> SearchHit:
    """A hit; one of a service of an earlier version has no kind."""
    name = hit.name if hit.HasField("name") else None
    return SearchHit(hit.cui, name, hit.matched, _MATCHES.get(hit.kind, "words"))


def _concept_pairs(ends: Sequence[str]) -> list[messages.ConceptPair]:
    return [messages.ConceptPair(a=a, b=b) for a, b in zip(ends[::2], ends[1::2], strict=True)]


def _bounds(direction: Direction, max_hops: int | None, request: Request) -> messages.SearchBounds:
    return messages.SearchBounds(direction=_DIRECTIONS[direction], max_hops=max_hops, within_sabs=request.within_sabs)


def _kind(identifiers: str) -> Identifiers:
    if identifiers not in get_args(Identifiers):
        raise ValueError(f"identifiers of the kind {identifiers!r}")
    return identifiers  # type: ignore[return-value]


def _pairs(cuis: Sequence[str], hops: Sequence[int]) -> tuple[Sequence[str], Sequence[int]]:
    if len(cuis) != len(hops):
        raise ValueError("neighbours and hops do not fit together")
    return cuis, hops


def _same_length(items: object, expected: object, noun: str) -> None:
    if len(items) != len(expected):  # type: ignore[arg-type]
        raise ValueError(f"{len(items):,} {noun} for {len(expected):,}")  # type: ignore[arg-type]


def _candidates(candidates: Iterable[messages.Candidate]) -> tuple[tuple[str, str], ...]:
    """Pairs of UMLS relation and concept."""
    return tuple((candidate.relation, candidate.cui) for candidate in candidates)


# The channel


def _channel(settings: RemoteSettings) -> grpc.Channel:
    """The channel to the service, with TLS if the address says so. It connects with the first call.

    Raises:
        InputError: a file of TLS cannot be read.
    """
    options: list[tuple[str, int | str]] = [
        ("grpc.enable_retries", 0),  # cuihop.remote.failures.with_retries alone decides
        ("grpc.min_reconnect_backoff_ms", int(1000 * settings.connect_timeout)),  # the time that connecting may take
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2_000),
        ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", 64 << 10),  # errors with many identifiers at fault
        ("grpc.absolute_max_metadata_size", 128 << 10),
        ("grpc.keepalive_time_ms", 30_000),  # notices a connection that a firewall dropped
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.use_local_subchannel_pool", 1),  # close() closes
    ]
    if settings.loopback:
        options.append(("grpc.enable_http_proxy", 0))
    target = f"dns:///{settings.authority}"
    compression = grpc.Compression.NoCompression if settings.loopback else grpc.Compression.Gzip
    if not settings.encrypted:
        return grpc.insecure_channel(target, options, compression)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=_bytes(settings.ca_file),
        private_key=_bytes(settings.client_key),
        certificate_chain=_bytes(settings.client_cert),
    )
    return grpc.secure_channel(target, credentials, options, compression)


def _bytes(file: FilePath | None) -> bytes | None:
    if file is None:
        return None
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError("cannot be read", file=file, found=error.strerror or str(error)) from None


# Failures


def _failure(error: grpc.RpcError, settings: RemoteSettings, request: Request) -> AttemptFailed:
    """The failure of a call, reported by the service or by something before it."""
    code, details = error.code(), error.details() or ""
    if (problem := _problem(error)) is not None:
        return failure_of(problem, code.name, request.request_id)
    address = settings.address
    reason = (details.strip().splitlines() or ["no reason given"])[0].rpartition("last error: ")[2]
    if code is grpc.StatusCode.UNAVAILABLE:
        if settings.encrypted and any(sign in details for sign in _TLS_SIGNS):
            return no_encryption(address, reason)
        if "http1.x server" in details:
            return unavailable(address, f"not gRPC: {reason}; perhaps http://{settings.authority}")
        connection = any(sign in details for sign in _CONNECTION_SIGNS)
        advice = NEEDS_TLS if "Socket closed" in reason and not settings.encrypted else NOT_RUNNING
        return unavailable(address, f"cannot be reached: {reason}. {advice}", retry=True, connection=connection)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return refusal(address, code.name, f"no answer within {request.timeout:g} s (request {request.request_id})")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return unavailable(address, f"a server, but not of this version of cuihop: {reason}")
    if code is grpc.StatusCode.CANCELLED:
        if "Channel closed" in details:
            return unavailable(address, _CLOSED)
        # A proxy in front of a replica that stops, with a call sent a moment too late: every operation only reads.
        return unavailable(address, "the service, or a proxy in front of it, gave the call up", retry=True)
    return refusal(address, code.name, f"{code.name}: {reason} (request {request.request_id})")


def _problem(error: grpc.RpcError) -> Problem | None:
    """The problem that a cuihop service reports; ``None`` for an error from anything else."""
    try:
        status = rpc_status.from_call(error)  # type: ignore[arg-type]  # every error of a call is one
    except (ValueError, DecodeError):
        return None
    info, faults, retry_after = error_details_pb2.ErrorInfo(), messages.ConceptFault(), None
    for detail in () if status is None else status.details:
        with suppress(DecodeError):
            detail.Unpack(info)
            detail.Unpack(faults)
            if detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
                delay = error_details_pb2.RetryInfo.FromString(detail.value).retry_delay
                retry_after = delay.seconds + delay.nanos / 1e9
    if status is None or info.domain != ERROR_DOMAIN:
        return None
    if retry_after is None and (seconds := info.metadata.get("retry_after")):
        with suppress(ValueError):
            retry_after = float(seconds)
    return Problem(
        reason=info.reason,
        message=status.message,
        faults=[FaultyIdentifier(fault.cui, _candidates(fault.candidates)) for fault in faults.faults],
        parts=dict(info.metadata),
        retry_after=retry_after,
    )
