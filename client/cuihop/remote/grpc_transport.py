"""The service over gRPC."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, get_args

import grpc
import numpy as np
from google.protobuf.message import Message

from cuihop.graph import (
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
from cuihop.remote.grpc_channel import opened_channel
from cuihop.remote.grpc_failures import candidates_of, grpc_failure
from cuihop.remote.packs import checked_pack
from cuihop.remote.port import Answered, Around, Call, HopsOfPairs, Limits, PairBlock, Served
from cuihop.remote.problems import unavailable
from cuihop.remote.settings import RemoteSettings
from cuihop_api.v1 import concept_graph_pb2 as messages
from cuihop_api.v1.concept_graph_pb2_grpc import ConceptGraphServiceStub

__all__ = ["GrpcTransport"]

T = TypeVar("T")
Answer = TypeVar("Answer")

_DIRECTIONS: dict[Direction, messages.Direction.ValueType] = {
    "any": messages.DIRECTION_ANY,
    "up": messages.DIRECTION_UP,
    "down": messages.DIRECTION_DOWN,
}
_RELATIONS = {messages.RELATION_PARENT: "parent", messages.RELATION_CHILD: "child"}
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
        settings: where and how.

    Raises:
        InputError: a file of TLS cannot be read.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self._channel = opened_channel(settings)
        self._stub = ConceptGraphServiceStub(self._channel)

    def close(self) -> None:
        """Give the connection back. Harmless twice."""
        self._channel.close()

    # Answers

    def served(self, call: Call) -> Answered[Served]:
        """See `Transport.served`."""

        def told(answer: messages.GetReleaseResponse) -> Answered[Served]:
            release, limits = answer.release, answer.limits
            served = Served(
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
                indexed=answer.indexed,
                limits=Limits(limits.pairs, limits.concepts, limits.neighbours, limits.pack_concepts),
                names=answer.names,
                service_version=answer.service_version,
            )
            return Answered(served, release.digest)

        return self._one(self._stub.GetRelease, messages.GetReleaseRequest(), call, told)

    def distances(
        self, block: PairBlock, direction: Direction, max_hops: int | None, call: Call
    ) -> Answered[HopsOfPairs]:
        """See `Transport.distances`."""
        request = messages.DistancesRequest(bounds=_bounds(direction, max_hops))
        if block.numbers is not None:
            request.packed.a.extend(block.numbers[::2].tolist())
            request.packed.b.extend(block.numbers[1::2].tolist())
        else:
            ends = zip(block.cuis[::2], block.cuis[1::2], strict=True)
            request.pairs.extend(messages.ConceptPair(a=a, b=b) for a, b in ends)

        def told(answer: messages.DistancesResponse) -> Answered[HopsOfPairs]:
            hops = np.array(answer.hops, dtype=np.uint32).astype(np.int32)
            _same_length(hops, block, "distances")
            reached = np.ones(len(hops), dtype=np.bool_)
            reached[np.array(answer.unreached, dtype=np.int64)] = False
            return Answered(HopsOfPairs(hops, reached), answer.provenance.release_digest, dict(answer.merged))

        return self._one(self._stub.Distances, request, call, told)

    def path(self, a: str, b: str, direction: Direction, max_hops: int | None, call: Call) -> Answered[Path | None]:
        """See `Transport.path`."""

        def told(answer: messages.PathResponse) -> Answered[Path | None]:
            merged, path = dict(answer.merged), None
            if answer.HasField("path"):
                steps = tuple(
                    Step(step.cui, "parent" if _RELATIONS[step.relation] == "parent" else "child", tuple(step.sabs))
                    for step in answer.path.steps
                )
                path = Path(answer.path.start, steps, direction, merged)
            return Answered(path, answer.provenance.release_digest, merged)

        request = messages.PathRequest(a=a, b=b, bounds=_bounds(direction, max_hops))
        return self._one(self._stub.Path, request, call, told)

    def neighbourhoods(
        self, cuis: Sequence[str], hops: int | None, direction: Direction, limit: int | None, call: Call
    ) -> Answered[list[Around]]:
        """See `Transport.neighbourhoods`."""

        def told(answer: messages.NeighbourhoodResponse) -> Answered[list[Around]]:
            _same_length(answer.neighbourhoods, cuis, "neighbourhoods")
            found = [
                Around(hood.cui, tuple(map(Neighbour, *_pairs(hood.neighbours, hood.hops))), hood.total)
                for hood in answer.neighbourhoods
            ]
            return Answered(found, answer.provenance.release_digest, dict(answer.merged))

        request = messages.NeighbourhoodRequest(cuis=cuis, hops=hops, direction=_DIRECTIONS[direction], limit=limit)
        return self._one(self._stub.Neighbourhood, request, call, told)

    def pack(self, cuis: Sequence[str], hops: int, direction: Direction, call: Call) -> Answered[DistancePack]:
        """See `Transport.pack`."""

        def told(parts: Iterable[messages.GetDistancePackResponse]) -> Answered[DistancePack]:
            answers = list(parts)
            first = answers[0]  # a stream that holds nothing is no answer
            lengths = np.concatenate([np.array(part.row_lengths, dtype=np.int64) for part in answers])
            columns = np.concatenate([np.array(part.columns, dtype=np.uint32) for part in answers]).astype(np.int32)
            levels = np.concatenate([np.frombuffer(part.hops, dtype=np.uint8) for part in answers])
            indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
            digest = first.provenance.release_digest
            used = tuple(first.cuis)
            pack = DistancePack(used, indptr, columns, levels, bound=hops, direction=direction, digest=digest)
            checked_pack(pack, len(cuis))
            return Answered(pack, digest, {old: new for old, new in zip(cuis, used, strict=True) if old != new})

        request = messages.GetDistancePackRequest(cuis=cuis, hops=hops, direction=_DIRECTIONS[direction])
        return self._one(self._stub.GetDistancePack, request, call, told)

    def concepts(self, cuis: Sequence[str], call: Call, *, names_only: bool) -> Answered[list[Concept]]:
        """See `Transport.concepts`."""

        def told(answer: messages.GetConceptResponse) -> Answered[list[Concept]]:
            _same_length(answer.concepts, cuis, "concepts")
            found = [
                Concept(
                    cui=concept.cui,
                    name=concept.name if concept.HasField("name") else None,
                    synonyms=tuple(concept.synonyms),
                    semantic_types=tuple((kind.tui, kind.name) for kind in concept.semantic_types),
                    parents=concept.parents,
                    children=concept.children,
                    definitions=tuple(Definition(told.sab, told.text) for told in concept.definitions),
                    sabs=tuple(concept.sabs),
                )
                for concept in answer.concepts
            ]
            return Answered(found, answer.provenance.release_digest, dict(answer.merged))

        return self._one(
            self._stub.GetConcept, messages.GetConceptRequest(cuis=cuis, names_only=names_only), call, told
        )

    def resolve(self, cuis: Sequence[str], call: Call) -> Answered[list[Resolution]]:
        """See `Transport.resolve`."""

        def told(answer: messages.ResolveResponse) -> Answered[list[Resolution]]:
            _same_length(answer.resolutions, cuis, "resolutions")
            found = [
                Resolution(
                    requested=resolution.asked,
                    status=_STATUSES[resolution.status],  # type: ignore[arg-type]
                    cui=resolution.cui if resolution.HasField("cui") else None,
                    candidates=candidates_of(resolution.candidates),
                )
                for resolution in answer.resolutions
            ]
            return Answered(found, answer.provenance.release_digest)

        return self._one(self._stub.Resolve, messages.ResolveRequest(cuis=cuis), call, told)

    def search(self, text: str, limit: int, call: Call) -> Answered[list[SearchHit]]:
        """See `Transport.search`."""

        def told(answer: messages.SearchResponse) -> Answered[list[SearchHit]]:
            hits = [SearchHit(hit.cui, hit.name if hit.HasField("name") else None, hit.matched) for hit in answer.hits]
            return Answered(hits, answer.provenance.release_digest)

        return self._one(self._stub.Search, messages.SearchRequest(text=text, limit=limit), call, told)

    # Calls

    def _one(
        self, method: Callable[..., Answer], request: Message, call: Call, told: Callable[[Answer], Answered[T]]
    ) -> Answered[T]:
        """What the method's answer, or stream of answers, tells."""
        metadata = tuple(call.headers(self._settings.key).items())
        try:
            try:
                answer = method(request, timeout=call.timeout, metadata=metadata)
            except ValueError as error:  # the way in which gRPC says so
                raise unavailable(self._settings.address, "the graph was closed while it was asked") from error
            return told(answer)
        except grpc.RpcError as error:
            raise grpc_failure(error, self._settings, call) from error
        except (KeyError, ValueError, IndexError) as error:
            told_wrong = f"the answer is none of a cuihop service: {error} (request {call.request_id})"
            raise unavailable(self._settings.address, told_wrong) from error


def _bounds(direction: Direction, max_hops: int | None) -> messages.SearchBounds:
    return messages.SearchBounds(direction=_DIRECTIONS[direction], max_hops=max_hops)


def _kind(told: str) -> Identifiers:
    if told not in get_args(Identifiers):
        raise ValueError(f"identifiers of the kind {told!r}")
    return told  # type: ignore[return-value]


def _pairs(cuis: Sequence[str], hops: Sequence[int]) -> tuple[Sequence[str], Sequence[int]]:
    if len(cuis) != len(hops):
        raise ValueError("neighbours and hops do not fit together")
    return cuis, hops


def _same_length(found: object, asked: object, what: str) -> None:
    if len(found) != len(asked):  # type: ignore[arg-type]
        raise ValueError(f"{len(found):,} {what} for {len(asked):,}")  # type: ignore[arg-type]
