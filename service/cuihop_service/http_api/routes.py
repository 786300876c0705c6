"""The operations under ``/v1``, documented for OpenAPI."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import orjson
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.answer_fields import fields_of
from cuihop.errors import CuihopError, InputError
from cuihop.operations.answers import AnnotationRow, PackAnswer
from cuihop.operations.invalid_values import expectation, in_json
from cuihop.operations.requests import StreamedRequest
from cuihop.operations.table import ANNOTATE, DISTANCES, OPERATIONS, PACK, RELEASE, Operation
from cuihop.resources.progress import check_interruption
from cuihop_service.http_api.models import AnswerBody, answer_model, body_model, query_parameters
from cuihop_service.http_api.operation_route import OperationRoute
from cuihop_service.http_api.problems import problem, problem_responses
from cuihop_service.http_api.responder import CALLER, Responder, request_id_of, written
from cuihop_service.request_context import Answer, RequestContext

_PREFIX = "/v1"

ANNOTATE_PATH = _PREFIX + ANNOTATE.path
"""The one route whose errors show nothing of the body but options: it holds texts of patients."""

NDJSON = "application/x-ndjson"

ReleaseParameter = Annotated[
    str | None,
    Query(
        description="Digest of the release to answer from. With it the answer may be cached for ever; if another "
        "release is served, the request fails.",
        pattern="^[0-9a-f]{64}$",
    ),
]

_FIRST_LINE_SECONDS = 1.0
_NUMBERS_A_CHUNK = 1 << 20

_BATCH = body_model(StreamedRequest)

_PROBLEMS = problem_responses(
    {
        400: "A parameter or an identifier is not as expected.",
        401: "No key or token, or one that is not valid.",
        403: "The key lacks a scope.",
        404: "A concept is unknown.",
        409: "Another release is served.",
        410: "A concept is retired without one exact successor.",
        413: "The request is larger than the service allows.",
        429: "Too many requests; see Retry-After.",
        503: "The store cannot be reached, or this replica still serves an older release than the caller has seen: "
        "try again.",
        504: "The answer took longer than allowed.",
    }
)


_STREAM: Mapping[str, Any] = {
    "methods": ["POST"],
    "operation_id": "stream_distances",
    "tags": [DISTANCES.group],
    "response_class": Response,
    "responses": {200: {"content": {NDJSON: {}}, "description": "One answer a line, in order."}},
    "openapi_extra": {
        "requestBody": {
            "required": False,
            "description": "One batch a line; no line has no answer.",
            "content": {NDJSON: {"schema": _BATCH.model_json_schema()}},
        }
    },
}
"""The route of a stream of batches, as the document has it."""


@cache
def routes() -> Sequence[Any]:
    """The routes of the operations, for any application."""
    router = APIRouter(prefix=_PREFIX, responses=_PROBLEMS, route_class=OperationRoute)

    async def stream_distances(request: Request) -> Response:
        """Batches without end: a line is answered before the next one is read. An error ends the stream.

        A fault of the first line, or of the credentials, is the status of the answer, unless that line takes longer
        than a second to come.
        """
        responder: Responder = request.app.state.responder
        await responder.admission.allowed(responder.request_info(request, "stream_distances"))
        lines = _streamed(responder, request)
        first = asyncio.ensure_future(anext(lines, None))
        await asyncio.wait({first}, timeout=_FIRST_LINE_SECONDS)
        if first.done():
            first.result()  # an error is the whole answer
        headers = {"Cache-Control": "no-store", "Content-Encoding": "identity"}  # packing would hold lines back
        return _Stream(_written(responder, request, first, lines), headers)

    async def release(request: Request, within_sabs: tuple[str, ...] = ()) -> Response:
        responder: Responder = request.app.state.responder
        within = responder.core.within(within_sabs)
        info = responder.request_info(request, RELEASE.recorded, quick=not within_sabs)
        body = await responder.admission.answer(
            info, lambda context: orjson.dumps(fields_of(within.release(context=context)))
        )
        headers = {"Cache-Control": "private, no-cache", "X-Request-Id": info.request_id}
        return Response(body, headers=headers, media_type="application/json")

    for operation in OPERATIONS:
        is_release = operation is RELEASE
        endpoint: Any = release if is_release else _endpoint(operation)
        endpoint.__signature__ = _signature(operation)
        router.add_api_route(
            operation.path,
            endpoint,
            methods=[operation.method],
            name=operation.name,
            operation_id=operation.name,
            description=operation.text,
            response_model=answer_model(
                operation.answer, BaseModel if is_release else AnswerBody, coded=operation.coded is not None
            ),
            tags=[operation.group],
        )
        if operation is DISTANCES:
            router.add_api_route("/distances/stream", stream_distances, **_STREAM)
    return router.routes


def _signature(operation: Operation[Any, Any]) -> inspect.Signature:
    """The parameters of an operation, as the framework reads and documents them."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("request", keyword, annotation=Request)]
    if operation.method == "GET":
        parameters += query_parameters(operation.request)
        if operation is not RELEASE:
            parameters.append(inspect.Parameter("release", keyword, default=None, annotation=ReleaseParameter))
    else:
        kind: Any = operation.request
        parameters.append(inspect.Parameter("body", keyword, annotation=body_model(kind)))
    return inspect.Signature(parameters)


def _endpoint(operation: Operation[Any, Any]) -> Callable[..., Awaitable[Response]]:
    """The function of a route: a request to the core, and its answer as JSON."""
    names = [field.name for field in fields(operation.request)]
    write = _WRITERS.get(operation, fields_of)

    async def endpoint(
        *, request: Request, body: Any = None, release: str | None = None, **parameters: Any
    ) -> Response:
        values = parameters if body is None else {name: getattr(body, name) for name in names}
        within: Responder = request.app.state.responder.within(values.get("within_sabs", ()))
        size = operation.size_of(body)

        def answer(context: RequestContext) -> Answer[Any]:
            if operation is ANNOTATE:
                values["options"] = AnnotationOptions(**dict(body.options))
            return within.core.answer(operation, operation.request(**values), context)

        return await within.answer(
            request,
            operation.recorded,
            answer,
            write,
            size=size,
            scope=operation.scope,
            quick=operation.quick and within.core.is_quick(size),
            release=release,
            content=(lambda: {"options": body.options.model_dump()}) if operation is ANNOTATE else None,
        )

    return endpoint


def _pack_fields(pack: PackAnswer) -> dict[str, Any]:
    """All distances among a list of concepts, in compressed rows."""
    return {**fields_of(pack), "indices": _in_chunks(pack.indices), "hops": _in_chunks(pack.hops)}


def _in_chunks(numbers: npt.NDArray[np.integer]) -> orjson.Fragment:
    """Numbers as a JSON list, written chunk by chunk: millions at once would stop all other threads for a second."""
    chunks = []
    for first in range(0, len(numbers), _NUMBERS_A_CHUNK):
        check_interruption()
        chunk = np.ascontiguousarray(numbers[first : first + _NUMBERS_A_CHUNK])
        chunks.append(orjson.dumps(chunk, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1])
    return orjson.Fragment(b"[" + b",".join(chunks) + b"]")


def _annotations_fields(annotations: Annotations) -> dict[str, Any]:
    """The mentions of each text."""
    rows = []
    for annotation in annotations:
        check_interruption()
        rows.append(fields_of(AnnotationRow(annotation.mentions)))
    return {"annotations": rows}


_WRITERS: Mapping[Operation[Any, Any], Callable[[Any], Mapping[str, Any]]] = {
    PACK: _pack_fields,
    ANNOTATE: _annotations_fields,
}
"""Answers that are long, written so that the request can be interrupted."""


class _Stream(Response):
    """Pieces as they come. Starlette's own stream would listen for the caller's end, and take the body's pieces."""

    media_type = NDJSON

    def __init__(self, pieces: AsyncIterator[bytes], headers: Mapping[str, str]) -> None:
        super().__init__(headers={**headers, "Content-Type": NDJSON})
        self._pieces = pieces
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _streamed(responder: Responder, request: Request) -> AsyncIterator[bytes]:
    """One answer for each line. The next line is taken when the answer before has been handed on."""
    number = 0
    async for line in _lines(request, responder.core.limits.message_bytes):
        number += 1
        yield await _streamed_answer(responder, request, line, number)


async def _written(
    responder: Responder, request: Request, first: Awaitable[bytes | None], others: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """The answers as they come; an error is the last line."""
    try:
        answer = await first
        while answer is not None:
            yield answer
            answer = await anext(others, None)
    except CuihopError as error:
        yield orjson.dumps(problem(error, request_id_of(request))) + b"\n"


async def _streamed_answer(responder: Responder, request: Request, line: bytes, number: int) -> bytes:
    try:
        batch: Any = _BATCH.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            "not a batch",
            line=number,
            column=f"field {'.'.join(map(str, first['loc']))}" if first["loc"] else None,
            found=in_json(first.get("input")),
            expected=expectation(first),
        ) from None
    core, size = responder.core.within(batch.within_sabs), len(batch.pairs)

    def job(context: RequestContext) -> bytes:
        answer = context.answer = core.answer(DISTANCES, batch, context)
        activation = None if context.session.served is None else str(context.session.served)
        origin = {"sequence": batch.sequence, "activation": activation}
        return written(answer, {**origin, **fields_of(answer.value)}) + b"\n"

    request.scope.pop(CALLER, None)  # a key may be revoked while its stream goes on
    info = responder.request_info(
        request, "stream_distances", size=size, quick=core.is_quick(size), content=lambda: orjson.loads(line)
    )
    return await responder.admission.answer(info, job)


async def _lines(request: Request, longest: int) -> AsyncIterator[bytes]:
    """The lines of a body that may never end; empty ones are left out."""
    rest = b""
    async for piece in request.stream():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
        if len(rest) > longest:
            raise InputError("a line is too long", column="body", expected=f"at most {longest:,} bytes")
    if rest.strip():
        yield rest
