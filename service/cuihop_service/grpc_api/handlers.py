"""The RPCs of the contract: each turns its message into a question for the core, and the answer into a message."""
# ruff: noqa: N802, D102 - the names are the contract's, which says what each does

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar
from urllib.parse import unquote

import grpc.aio
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

import cuihop
from cuihop.errors import CuihopError
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_service.callers import Scope
from cuihop_service.calls import Call
from cuihop_service.core import ConceptService
from cuihop_service.front import Asked, Front
from cuihop_service.grpc_api import messages
from cuihop_service.grpc_api.errors import grpc_status_of

__all__ = ["ConceptGraphHandlers"]

T = TypeVar("T")
Context = grpc.aio.ServicerContext[Any, Any]


class ConceptGraphHandlers(pb_grpc.ConceptGraphServiceServicer):
    """The service of the contract.

    Args:
        core: who answers.
        front: what every question passes.
    """

    def __init__(self, core: ConceptService, front: Front) -> None:
        self._core = core
        self._front = front

    async def _answer(
        self,
        context: Context,
        request: Message,
        operation: str,
        work: Callable[[Call], T],
        *,
        size: int = 1,
        scope: Scope = "read",
        quick: bool = False,
    ) -> T:
        """The answer; an error ends the call with its status."""
        headers = {key: value for key, value in (context.invocation_metadata() or ()) if isinstance(value, str)}
        request_id = headers.get("x-request-id", "")[:128] or uuid.uuid4().hex
        asked = Asked(
            operation=operation,
            transport="grpc",
            credentials=headers.get("authorization"),
            request_id=request_id,
            seconds=context.time_remaining(),
            size=size,
            scope=scope,
            quick=quick,
            trace=headers.get("traceparent"),
            subject=_subject(context),
            peer=_peer(context),
            question=lambda: MessageToDict(request, preserving_proto_field_name=True),
        )
        try:
            return await self._front.answer(asked, work)
        except CuihopError as error:
            await context.abort_with_status(grpc_status_of(error, request_id))
            raise

    async def Distance(self, request: pb.DistanceRequest, context: Context) -> pb.DistanceResponse:
        answer = await self._answer(
            context,
            request,
            "distance",
            lambda call: self._core.distance(request.a, request.b, **messages.bounds(request.bounds), call=call),
            quick=self._core.is_quick(),
        )
        return pb.DistanceResponse(hops=answer.value, merged=answer.merged, provenance=messages.provenance(answer))

    async def Distances(self, request: pb.DistancesRequest, context: Context) -> pb.DistancesResponse:
        return await self._batch(request, context, "distances")

    async def _batch(self, request: pb.DistancesRequest, context: Context, operation: str) -> pb.DistancesResponse:
        core = self._core
        size = len(request.packed.a) or len(request.pairs)

        def work(call: Call) -> pb.DistancesResponse:
            bounds = messages.bounds(request.bounds)
            with core.holder.lent() as served:
                pairs = messages.asked_pairs(request, core.limits, served.release.identifiers)
            call.answer = core.distances(pairs, **bounds, call=call)
            return messages.distances_message(call.answer)

        return await self._answer(context, request, operation, work, size=size, quick=core.is_quick(size))

    async def StreamDistances(
        self, request_iterator: AsyncIterator[pb.StreamDistancesRequest], context: Context
    ) -> AsyncIterator[pb.StreamDistancesResponse]:
        async for request in request_iterator:
            batch = await self._batch(request.batch, context, "stream_distances")
            yield pb.StreamDistancesResponse(sequence=request.sequence, batch=batch)

    async def Path(self, request: pb.PathRequest, context: Context) -> pb.PathResponse:
        answer = await self._answer(
            context,
            request,
            "path",
            lambda call: self._core.path(request.a, request.b, **messages.bounds(request.bounds), call=call),
        )
        return messages.path_message(answer)

    async def Neighbourhood(self, request: pb.NeighbourhoodRequest, context: Context) -> pb.NeighbourhoodResponse:
        def work(call: Call) -> pb.NeighbourhoodResponse:
            call.answer = self._core.neighbourhoods(
                list(request.cuis),
                hops=messages.optional(request, "hops"),
                direction=messages.way(request.direction),
                limit=messages.optional(request, "limit"),
                call=call,
            )
            return messages.neighbourhood_message(call.answer)

        return await self._answer(context, request, "neighbourhood", work, size=len(request.cuis))

    async def SetRelevance(self, request: pb.SetRelevanceRequest, context: Context) -> pb.SetRelevanceResponse:
        answer = await self._answer(
            context,
            request,
            "set_relevance",
            lambda call: self._core.set_relevance(
                list(request.a.cuis), list(request.b.cuis), **messages.rule(request.rule), call=call
            ),
            size=len(request.a.cuis) + len(request.b.cuis),
        )
        return messages.overlap_message(answer)

    async def Relevances(self, request: pb.RelevancesRequest, context: Context) -> pb.RelevancesResponse:
        answer = await self._answer(
            context,
            request,
            "relevances",
            lambda call: self._core.relevances(
                list(request.query.cuis),
                [list(concepts.cuis) for concepts in request.corpus],
                **messages.rule(request.rule),
                call=call,
            ),
            size=len(request.corpus),
        )
        return messages.row_message(answer)

    async def Search(self, request: pb.SearchRequest, context: Context) -> pb.SearchResponse:
        answer = await self._answer(
            context,
            request,
            "search",
            lambda call: self._core.search(request.text, limit=messages.optional(request, "limit"), call=call),
            scope="names",
        )
        return pb.SearchResponse(
            hits=[pb.SearchHit(cui=hit.cui, name=hit.name, matched=hit.matched) for hit in answer.value],
            provenance=messages.provenance(answer),
        )

    async def GetConcept(self, request: pb.GetConceptRequest, context: Context) -> pb.GetConceptResponse:
        answer = await self._answer(
            context,
            request,
            "get_concept",
            lambda call: self._core.concepts(list(request.cuis), names_only=request.names_only, call=call),
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
                    definitions=[pb.Definition(sab=told.sab, text=told.text) for told in concept.definitions],
                    sabs=concept.sabs,
                )
                for concept in answer.value.concepts
            ],
            names_hidden=answer.value.names_hidden,
            merged=answer.merged,
            provenance=messages.provenance(answer),
        )

    async def Resolve(self, request: pb.ResolveRequest, context: Context) -> pb.ResolveResponse:
        answer = await self._answer(
            context,
            request,
            "resolve",
            lambda call: self._core.resolve(list(request.cuis), call=call),
            size=len(request.cuis),
        )
        return pb.ResolveResponse(
            resolutions=[messages.resolution_message(resolution) for resolution in answer.value],
            provenance=messages.provenance(answer),
        )

    async def GetDistancePack(
        self, request: pb.GetDistancePackRequest, context: Context
    ) -> AsyncIterator[pb.GetDistancePackResponse]:
        answer = await self._answer(
            context,
            request,
            "pack",
            lambda call: self._core.pack(
                list(request.cuis), hops=request.hops, direction=messages.way(request.direction), call=call
            ),
            size=len(request.cuis),
        )
        for message in messages.pack_messages(answer):
            yield message

    async def GetRelease(self, request: pb.GetReleaseRequest, context: Context) -> pb.GetReleaseResponse:
        core = self._core

        def work(call: Call) -> pb.GetReleaseResponse:
            with core.holder.lent() as served:
                return pb.GetReleaseResponse(
                    release=messages.release_message(served.release),
                    indexed=served.index is not None,
                    limits=messages.limits_message(core.limits),
                    names=core.sees_names(call.caller),
                    service_version=cuihop.__version__,
                )

        return await self._answer(context, request, "get_release", work, quick=True)


def _subject(context: Context) -> str | None:
    """The name in the certificate that the caller has shown, its common name first; None without one."""
    shown = context.auth_context()
    for kind in ("x509_common_name", "x509_subject_alternative_name"):
        for name in shown.get(kind, ()):
            if name:  # a certificate without a common name has an empty one here
                return name.decode("utf-8", "replace")
    return None


def _peer(context: Context) -> str | None:
    """The address that the call came from, without its port."""
    kind, _, address = unquote(context.peer()).partition(":")
    return address.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else None
