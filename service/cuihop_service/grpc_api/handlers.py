"""The RPCs of the contract: from a message to a call of the core, and from its answer to a message."""
# ruff: noqa: N802, D102 - the names are the contract's, which documents each

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import unquote

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

import cuihop
from cuihop.errors import CuihopError, InputError
from cuihop.remote.activation import ACTIVATION_HEADER
from cuihop.remote.annotation_messages import columns_message, options_of_message
from cuihop.remote.similarity_messages import (
    content_of,
    facts_message,
    measure_of,
    pair_message,
    placement_message,
    similarities_message,
)
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_service.admission import Admission, RequestInfo
from cuihop_service.callers import Scope
from cuihop_service.core import ConceptService
from cuihop_service.grpc_api import messages
from cuihop_service.grpc_api.guarded_handlers import Context
from cuihop_service.grpc_api.messages import grpc_status_of
from cuihop_service.request_context import FAULT, RequestContext

T = TypeVar("T")

_log = logging.getLogger("cuihop.service")

_OPERATIONS = {
    "Distance": "distance",
    "Distances": "distances",
    "StreamDistances": "stream_distances",
    "Path": "path",
    "Neighbourhood": "neighbourhood",
    "SetRelevance": "set_relevance",
    "Relevances": "relevances",
    "Similarities": "similarities",
    "PairSimilarities": "pair_similarities",
    "Placements": "placements",
    "GetHierarchy": "get_hierarchy",
    "Search": "search",
    "Annotate": "annotate",
    "GetConcept": "get_concept",
    "Resolve": "resolve",
    "GetDistancePack": "pack",
    "GetRelease": "get_release",
}
"""The name of each RPC among the operations, as over HTTP."""


@dataclass(slots=True)
class Rpc:
    """One call on its way.

    Attributes:
        context: gRPC's own.
        head: the request as far as its metadata goes; the rest comes with the message.
    """

    context: Context
    head: RequestInfo

    async def ended_by(self, error: CuihopError) -> None:
        """End the call with the status of an error."""
        status = grpc_status_of(error, self.head.request_id)
        await self.context.abort_with_status(
            status._replace(trailing_metadata=(*status.trailing_metadata, *self.activation))
        )

    @property
    def activation(self) -> Sequence[tuple[str, str]]:
        """The activation of the release that the call is answered from, as metadata."""
        served = self.head.session.served
        return () if served is None else ((ACTIVATION_HEADER, str(served)),)


class ConceptGraphHandlers:
    """The service of the contract. Its handlers get an `Rpc` in the place of gRPC's context: see `begin`.

    Args:
        core: the operations.
        admission: of every request.
    """

    def __init__(self, core: ConceptService, admission: Admission) -> None:
        self._core = core
        self._admission = admission

    async def begin(self, name: str, context: Context) -> Rpc:
        """Authenticate the caller before the message is read. A call that is refused ends here."""
        headers = {key: value for key, value in (context.invocation_metadata() or ()) if isinstance(value, str)}
        head = RequestInfo(
            operation=_OPERATIONS[name],
            transport="grpc",
            credentials=headers.get("authorization"),
            request_id=headers.get("x-request-id", "")[:128] or uuid.uuid4().hex,
            trace=headers.get("traceparent"),
            subject=_subject(context),
            peer=_peer(context),
        )
        rpc = Rpc(context, head)
        try:
            head.session.read(headers.get(ACTIVATION_HEADER))
            head.caller = await self._admission.identified(head)
        except CuihopError as error:
            await rpc.ended_by(error)
            raise
        return rpc

    async def _answer(
        self,
        rpc: Rpc,
        request: Message,
        work: Callable[[RequestContext], T],
        *,
        size: int = 1,
        scope: Scope = "read",
        quick: bool = False,
        audited: Message | None = None,
    ) -> T:
        """The answer; an error ends the call with its status. The audit has ``audited``, by default the request."""
        info = rpc.head
        info.seconds, info.size, info.scope, info.quick = rpc.context.time_remaining(), size, scope, quick
        content = request if audited is None else audited
        info.content = lambda: MessageToDict(content, preserving_proto_field_name=True)
        try:
            answer = await self._admission.answer(info, work)
            rpc.context.set_trailing_metadata(tuple(rpc.activation))
            return answer
        except CuihopError as error:
            await rpc.ended_by(error)
            raise
        except Exception:
            _log.exception("a fault")  # gRPC itself would send the message
            await rpc.ended_by(CuihopError(FAULT))
            raise

    async def Distance(self, request: pb.DistanceRequest, rpc: Rpc) -> pb.DistanceResponse:
        core = self._core.within(request.bounds.within_sabs)
        answer = await self._answer(
            rpc,
            request,
            lambda context: core.distance(request.a, request.b, **messages.bounds(request.bounds), context=context),
            quick=core.is_quick(),
        )
        return pb.DistanceResponse(hops=answer.value, merged=answer.merged, provenance=messages.provenance(answer))

    async def Distances(self, request: pb.DistancesRequest, rpc: Rpc) -> pb.DistancesResponse:
        return await self._batch(request, rpc)

    async def _batch(self, request: pb.DistancesRequest, rpc: Rpc) -> pb.DistancesResponse:
        core = self._core.within(request.bounds.within_sabs)
        size = len(request.packed.a) or len(request.pairs)

        def work(context: RequestContext) -> pb.DistancesResponse:
            bounds = messages.bounds(request.bounds)
            with core.lent(context) as served:
                pairs = messages.pairs_of(request, core.limits, served.release.identifiers)
            context.answer = core.distances(pairs, **bounds, context=context)
            return messages.distances_message(context.answer)

        return await self._answer(rpc, request, work, size=size, quick=core.is_quick(size))

    async def StreamDistances(
        self, request_iterator: AsyncIterator[pb.StreamDistancesRequest], rpc: Rpc
    ) -> AsyncIterator[pb.StreamDistancesResponse]:
        async for request in request_iterator:
            rpc.head = replace(rpc.head, caller=None)  # a key may be revoked while its stream goes on
            batch = await self._batch(request.batch, rpc)
            batch.provenance.activation = str(rpc.head.session.served or "")
            yield pb.StreamDistancesResponse(sequence=request.sequence, batch=batch)

    async def Path(self, request: pb.PathRequest, rpc: Rpc) -> pb.PathResponse:
        which = messages.optional(request, "which")
        rank = 1 if which is None else which
        answer = await self._answer(
            rpc,
            request,
            lambda context: self._core.within(request.bounds.within_sabs).path(
                request.a, request.b, **messages.bounds(request.bounds), which=rank, context=context
            ),
        )
        return messages.path_message(answer)

    async def Neighbourhood(self, request: pb.NeighbourhoodRequest, rpc: Rpc) -> pb.NeighbourhoodResponse:
        def work(context: RequestContext) -> pb.NeighbourhoodResponse:
            context.answer = self._core.within(request.within_sabs).neighbourhoods(
                list(request.cuis),
                hops=messages.optional(request, "hops"),
                direction=messages.way(request.direction),
                limit=messages.optional(request, "limit"),
                context=context,
            )
            return messages.neighbourhood_message(context.answer)

        return await self._answer(rpc, request, work, size=len(request.cuis))

    async def SetRelevance(self, request: pb.SetRelevanceRequest, rpc: Rpc) -> pb.SetRelevanceResponse:
        answer = await self._answer(
            rpc,
            request,
            lambda context: self._core.within(request.rule.within_sabs).set_relevance(
                list(request.a.cuis), list(request.b.cuis), **messages.rule(request.rule), context=context
            ),
            size=len(request.a.cuis) + len(request.b.cuis),
        )
        return messages.overlap_message(answer)

    async def Relevances(self, request: pb.RelevancesRequest, rpc: Rpc) -> pb.RelevancesResponse:
        answer = await self._answer(
            rpc,
            request,
            lambda context: self._core.within(request.rule.within_sabs).relevances(
                list(request.query.cuis),
                [list(concepts.cuis) for concepts in request.corpus],
                **messages.rule(request.rule),
                context=context,
            ),
            size=len(request.corpus),
        )
        return messages.row_message(answer)

    async def Similarities(self, request: pb.SimilaritiesRequest, rpc: Rpc) -> pb.SimilaritiesResponse:
        def work(context: RequestContext) -> pb.SimilaritiesResponse:
            measure, ic = measure_of(request.measure), content_of(request.ic)
            similarity = self._core.within(request.within_sabs).similarity
            if request.sets:
                if request.pairs:
                    raise InputError("pairs and sets", column="sets", found="both", expected="one of them")
                sets = [(pair.a.cuis, pair.b.cuis) for pair in request.sets]
                answer = similarity.set_similarities(sets, measure, ic, context=context)
            else:
                pairs = [(pair.a, pair.b) for pair in request.pairs]
                answer = similarity.similarities(pairs, measure, ic, context=context)
            context.answer = answer
            message = similarities_message(answer.value)
            message.provenance.CopyFrom(messages.provenance(answer))
            return message

        return await self._answer(rpc, request, work, size=len(request.pairs) + len(request.sets))

    async def PairSimilarities(self, request: pb.PairSimilaritiesRequest, rpc: Rpc) -> pb.PairSimilaritiesResponse:
        def work(context: RequestContext) -> pb.PairSimilaritiesResponse:
            pairs = [(pair.a, pair.b) for pair in request.pairs]
            similarity = self._core.within(request.within_sabs).similarity
            answer = context.answer = similarity.pairs(pairs, content_of(request.ic), context=context)
            return pb.PairSimilaritiesResponse(
                pairs=map(pair_message, answer.value), merged=answer.merged, provenance=messages.provenance(answer)
            )

        return await self._answer(rpc, request, work, size=len(request.pairs))

    async def Placements(self, request: pb.PlacementsRequest, rpc: Rpc) -> pb.PlacementsResponse:
        answer = await self._answer(
            rpc,
            request,
            lambda context: self._core.within(request.within_sabs).similarity.placements(
                list(request.cuis), content_of(request.ic), context=context
            ),
            size=len(request.cuis),
        )
        return pb.PlacementsResponse(
            placements=map(placement_message, answer.value),
            merged=answer.merged,
            provenance=messages.provenance(answer),
        )

    async def GetHierarchy(self, request: pb.GetHierarchyRequest, rpc: Rpc) -> pb.GetHierarchyResponse:
        answer = await self._answer(
            rpc, request, lambda context: self._core.within(request.within_sabs).similarity.facts(context=context)
        )
        return pb.GetHierarchyResponse(hierarchy=facts_message(answer.value), provenance=messages.provenance(answer))

    async def Search(self, request: pb.SearchRequest, rpc: Rpc) -> pb.SearchResponse:
        answer = await self._answer(
            rpc,
            request,
            lambda context: self._core.search(request.text, limit=messages.optional(request, "limit"), context=context),
            scope="names",
        )
        return pb.SearchResponse(
            hits=[messages.hit_message(hit) for hit in answer.value],
            provenance=messages.provenance(answer),
        )

    async def Annotate(
        self, request_iterator: AsyncIterator[pb.AnnotateRequest], rpc: Rpc
    ) -> AsyncIterator[pb.AnnotateResponse]:
        async for request in request_iterator:
            rpc.head = replace(rpc.head, caller=None)  # a key may be revoked while its stream goes on
            answer = await self._annotated(request, rpc)
            answer.provenance.activation = str(rpc.head.session.served or "")
            yield answer

    async def _annotated(self, request: pb.AnnotateRequest, rpc: Rpc) -> pb.AnnotateResponse:
        def work(context: RequestContext) -> pb.AnnotateResponse:
            options = options_of_message(request.options)
            answer = context.answer = self._core.annotate(list(request.texts), options, context=context)
            message = columns_message(answer.value)
            message.sequence = request.sequence
            message.provenance.CopyFrom(messages.provenance(answer))
            return message

        without_texts = pb.AnnotateRequest(sequence=request.sequence, options=request.options)
        return await self._answer(rpc, request, work, size=len(request.texts), scope="names", audited=without_texts)

    async def GetConcept(self, request: pb.GetConceptRequest, rpc: Rpc) -> pb.GetConceptResponse:
        answer = await self._answer(
            rpc,
            request,
            lambda context: self._core.within(request.within_sabs).concepts(
                list(request.cuis), names_only=request.names_only, context=context
            ),
            size=len(request.cuis),
        )
        return pb.GetConceptResponse(
            concepts=[
                pb.Concept(
                    cui=concept.cui,
                    name=concept.name,
                    synonyms=concept.synonyms,
                    semantic_types=[pb.SemanticType(tui=tui, name=name) for tui, name in concept.semantic_types],
                    parents=concept.parents,
                    children=concept.children,
                    definitions=[pb.Definition(sab=d.sab, text=d.text) for d in concept.definitions],
                    sabs=concept.sabs,
                )
                for concept in answer.value.concepts
            ],
            names_hidden=answer.value.names_hidden,
            merged=answer.merged,
            provenance=messages.provenance(answer),
        )

    async def Resolve(self, request: pb.ResolveRequest, rpc: Rpc) -> pb.ResolveResponse:
        answer = await self._answer(
            rpc,
            request,
            lambda context: self._core.resolve(list(request.cuis), context=context),
            size=len(request.cuis),
        )
        return pb.ResolveResponse(
            resolutions=[messages.resolution_message(resolution) for resolution in answer.value],
            provenance=messages.provenance(answer),
        )

    async def GetDistancePack(
        self, request: pb.GetDistancePackRequest, rpc: Rpc
    ) -> AsyncIterator[pb.GetDistancePackResponse]:
        answer = await self._answer(
            rpc,
            request,
            lambda context: self._core.within(request.within_sabs).pack(
                list(request.cuis), hops=request.hops, direction=messages.way(request.direction), context=context
            ),
            size=len(request.cuis),
        )
        for message in messages.pack_messages(answer):
            yield message

    async def GetRelease(self, request: pb.GetReleaseRequest, rpc: Rpc) -> pb.GetReleaseResponse:
        core = self._core.within(request.within_sabs)

        def work(context: RequestContext) -> pb.GetReleaseResponse:
            with core.lent(context) as served:
                return pb.GetReleaseResponse(
                    release=messages.release_message(served.release),
                    indexed=served.index is not None,
                    limits=messages.limits_message(core.limits),
                    names=core.sees_names(context.caller),
                    service_version=cuihop.__version__,
                )

        return await self._answer(rpc, request, work, quick=not request.within_sabs)


def _subject(context: Context) -> str | None:
    """The name in the caller's certificate, its common name first; None without one."""
    properties = context.auth_context()
    for kind in ("x509_common_name", "x509_subject_alternative_name"):
        for name in properties.get(kind, ()):
            if name:  # a certificate without a common name has an empty one here
                return name.decode("utf-8", "replace")
    return None


def _peer(context: Context) -> str | None:
    """The address that the call came from, without its port."""
    kind, _, address = unquote(context.peer()).partition(":")
    return address.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else None
