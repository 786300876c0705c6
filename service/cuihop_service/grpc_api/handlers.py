"""The RPCs of the contract: from a message to a call of the core, and from its answer to a message."""
# ruff: noqa: N802, D102 - the names are the contract's, which documents each

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypeVar
from urllib.parse import unquote

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from cuihop.errors import CuihopError
from cuihop.operations.requests import AnnotateRequest, DistancesRequest
from cuihop.operations.table import ANNOTATE, DISTANCES, OPERATIONS, PACK, Operation
from cuihop.remote.activation import ACTIVATION_HEADER
from cuihop.remote.annotation_messages import columns_message
from cuihop.remote.wire import message_class, message_of, value_of_request
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_service.admission import SMALL, Admission, RequestInfo, no_turn
from cuihop_service.callers import Scope
from cuihop_service.core import ConceptService
from cuihop_service.grpc_api import messages
from cuihop_service.grpc_api.guarded_handlers import Context
from cuihop_service.grpc_api.messages import grpc_status_of
from cuihop_service.request_context import FAULT, RequestContext

T = TypeVar("T")

_log = logging.getLogger("cuihop.service")

_RECORDED = {operation.rpc: operation.recorded for operation in OPERATIONS} | {"StreamDistances": "stream_distances"}
"""The name of each RPC in the audit and in metrics, as over HTTP."""


@dataclass(slots=True)
class Rpc:
    """One call on its way, and its request as far as its metadata goes; the rest comes with the message."""

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
    """The service of the contract. Its handlers get an `Rpc` in the place of gRPC's context: see `begin`."""

    def __init__(self, core: ConceptService, admission: Admission) -> None:
        self._core = core
        self._admission = admission
        for operation in OPERATIONS:
            if operation.rpc and not hasattr(self, operation.rpc):
                setattr(
                    self, operation.rpc, partial(self._answered, operation, message_class(operation.rpc, answer=True))
                )

    async def begin(self, name: str, context: Context) -> Rpc:
        """Authenticate the caller before the message is read. A call that is refused ends here."""
        headers = {key: value for key, value in (context.invocation_metadata() or ()) if isinstance(value, str)}
        head = RequestInfo(
            operation=_RECORDED[name],
            transport="grpc",
            credentials=headers.get("authorization"),
            request_id=headers.get("x-request-id", "")[:128] or os.urandom(16).hex(),
            trace=headers.get("traceparent"),
            subject=_subject(context),
            peer=_address(context.peer()),
        )
        rpc = Rpc(context, head)
        try:
            head.session.read(headers.get(ACTIVATION_HEADER))
            head.caller = await self._admission.identified(head)
        except CuihopError as error:
            await rpc.ended_by(error)
            raise
        return rpc

    async def turn(self, rpc: Rpc, size: int) -> Callable[[], None]:
        """Let a large message wait for its turn, as over HTTP. A call whose time is over meanwhile ends here."""
        if size <= SMALL:
            return no_turn
        head = rpc.head
        head.seconds = rpc.context.time_remaining()
        if head.seconds is None:
            head.begun = time.monotonic()
        try:
            return await self._admission.turn_of(head, self._core.holder.indexed)
        except CuihopError as error:
            await rpc.ended_by(error)
            raise

    async def _answer(
        self,
        rpc: Rpc,
        request: Message,
        job: Callable[[RequestContext], T],
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
            answer = await self._admission.answer(info, job)
            rpc.context.set_trailing_metadata(tuple(rpc.activation))
            return answer
        except CuihopError as error:
            await rpc.ended_by(error)
            raise
        except Exception:
            _log.exception("a fault")  # gRPC itself would send the message
            await rpc.ended_by(CuihopError(FAULT))
            raise

    async def _answered(self, operation: Operation[Any, Any], kind: type[Message], request: Any, rpc: Rpc) -> Message:
        """The answer to a message, by the table of operations."""
        size = sum(len(_items(getattr(request, name))) for name in operation.size) if operation.size else 1
        core = self._core.within(_sabs_of(request))

        def answer(context: RequestContext) -> Message:
            question = value_of_request(operation.request, request)
            context.answer = core.answer(operation, question, context)
            return messages.answer_message(kind, context.answer)

        quick = operation.quick and core.is_quick(size)
        return await self._answer(rpc, request, answer, size=size, scope=operation.scope, quick=quick)

    async def Distances(self, request: pb.DistancesRequest, rpc: Rpc) -> pb.DistancesResponse:
        core = self._core.within(request.bounds.within_sabs)
        size = len(request.packed.a) or len(request.pairs)

        def job(context: RequestContext) -> pb.DistancesResponse:
            with core.lent(context) as served:
                pairs = messages.pairs_of(request, core.limits, served.release.identifiers)
            question = value_of_request(DistancesRequest, request, pairs=pairs)
            context.answer = core.answer(DISTANCES, question, context)
            return messages.answer_message(pb.DistancesResponse, context.answer)

        return await self._answer(rpc, request, job, size=size, quick=core.is_quick(size))

    async def StreamDistances(
        self, request_iterator: AsyncIterator[pb.StreamDistancesRequest], rpc: Rpc
    ) -> AsyncIterator[pb.StreamDistancesResponse]:
        async for request in request_iterator:
            rpc.head = replace(rpc.head, caller=None)  # a key may be revoked while its stream goes on
            batch = await self.Distances(request.batch, rpc)
            batch.provenance.activation = str(rpc.head.session.served or "")
            yield pb.StreamDistancesResponse(sequence=request.sequence, batch=batch)

    async def Annotate(
        self, request_iterator: AsyncIterator[pb.AnnotateRequest], rpc: Rpc
    ) -> AsyncIterator[pb.AnnotateResponse]:
        async for request in request_iterator:
            rpc.head = replace(rpc.head, caller=None)  # a key may be revoked while its stream goes on
            answer = await self._annotated(request, rpc)
            answer.provenance.activation = str(rpc.head.session.served or "")
            yield answer

    async def _annotated(self, request: pb.AnnotateRequest, rpc: Rpc) -> pb.AnnotateResponse:
        def job(context: RequestContext) -> pb.AnnotateResponse:
            question = value_of_request(AnnotateRequest, request)
            answer = context.answer = self._core.answer(ANNOTATE, question, context)
            message = columns_message(answer.value)
            message.sequence = request.sequence
            message.codes.extend(messages.codes_of(answer))
            message.provenance.CopyFrom(messages.provenance(answer))
            return message

        without_texts = pb.AnnotateRequest(
            sequence=request.sequence, options=request.options, code_sabs=request.code_sabs
        )
        return await self._answer(rpc, request, job, size=len(request.texts), scope="names", audited=without_texts)

    async def GetDistancePack(
        self, request: pb.GetDistancePackRequest, rpc: Rpc
    ) -> AsyncIterator[pb.GetDistancePackResponse]:
        core = self._core.within(request.within_sabs)
        answer = await self._answer(
            rpc,
            request,
            lambda context: core.answer(PACK, value_of_request(PACK.request, request), context),
            size=len(request.cuis),
        )
        for message in messages.pack_messages(answer):
            yield message

    async def GetRelease(self, request: pb.GetReleaseRequest, rpc: Rpc) -> pb.GetReleaseResponse:
        core = self._core.within(request.within_sabs)
        return await self._answer(
            rpc,
            request,
            lambda context: message_of(pb.GetReleaseResponse, core.release(context=context)),
            quick=not request.within_sabs,
        )


def _items(held: Any) -> Sequence[Any]:
    """The items of a field, or of the set in it."""
    return held.cuis if isinstance(held, pb.ConceptSet) else held


def _sabs_of(request: Any) -> Sequence[str]:
    """The restriction of a request, which may be in its bounds or in its rule."""
    for name in ("bounds", "rule"):
        if name in request.DESCRIPTOR.fields_by_name:
            request = getattr(request, name)
    return request.within_sabs if "within_sabs" in request.DESCRIPTOR.fields_by_name else ()


def _subject(context: Context) -> str | None:
    """The name in the caller's certificate, its common name first; None without one."""
    properties = context.auth_context()
    for kind in ("x509_common_name", "x509_subject_alternative_name"):
        for name in properties.get(kind, ()):
            if name:  # a certificate without a common name has an empty one here
                return name.decode("utf-8", "replace")
    return None


@lru_cache(1_000)
def _address(peer: str) -> str | None:
    """The address that a call came from, without its port, of gRPC's text for its connection."""
    kind, _, address = unquote(peer).partition(":")
    return address.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else None
