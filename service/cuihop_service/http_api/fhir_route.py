"""``/fhir``: codes and subsumption as FHIR R4 asks for them, read only.

Keys, scopes, limits, rates and audit are those of every other request. Errors leave the application as problem
documents, and `Outcomes` makes resources of them.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote

import orjson
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cuihop.errors import AccessError, ConceptError, InputError, LimitExceeded
from cuihop.files.text_lines import quoted
from cuihop.operations.invalid_values import in_json
from cuihop_service.http_api.fhir_operations import LOOKUP, METADATA, SUBSUMES, VALIDATE_CODE, CodeSystems
from cuihop_service.http_api.fhir_values import (
    Issue,
    Kind,
    Resource,
    checked_fields,
    checked_list,
    checked_resource,
    outcome,
    outcome_of_problem,
    values_of_query,
    values_of_resource,
)
from cuihop_service.http_api.middleware import FHIR_PATH
from cuihop_service.http_api.operation_route import parsed
from cuihop_service.http_api.problems import PROBLEM, problem
from cuihop_service.http_api.responder import Responder, request_id_of, until_gone
from cuihop_service.request_context import RequestContext
from cuihop_service.request_graph import RequestGraph

FHIR_JSON = "application/fhir+json"
_JSON = "application/json"
_MEDIA_TYPES: Mapping[str, str] = {
    "*/*": FHIR_JSON, "application/*": FHIR_JSON, FHIR_JSON: FHIR_JSON, "json": FHIR_JSON, _JSON: _JSON,
}  # fmt: skip
_VERSIONS = ("4.0", "4.0.1")
_COMMON = ("_format", "_pretty")
_BATCH = "fhir_batch"

_Items: TypeAlias = Sequence[tuple[str, str]]
_Answer: TypeAlias = Callable[[CodeSystems, _Items, Any], Resource]
"""From the code systems, a query string and a resource that was sent to the resource of the answer."""


@dataclass(frozen=True)
class _Operation:
    """An operation: its name in the audit and in metrics, its parameters, and the function that answers."""

    recorded: str
    kinds: Mapping[str, Kind]
    answer: Callable[[CodeSystems, Mapping[str, Any]], Resource]
    methods: tuple[str, ...] = ("GET", "POST")

    def resource(self, systems: CodeSystems, items: _Items, sent: Any = None) -> Resource:
        """The answer to a query string, or to a resource."""
        return self.answer(systems, self.values(items, sent))

    def values(self, items: _Items, sent: Any = None) -> Mapping[str, Any]:
        """The parameters of a query string, or of a resource; a query string beside that holds nothing."""
        if sent is None:
            return values_of_query(items, self.kinds)
        values_of_query(items, {})
        return values_of_resource(sent, self.kinds)


_OPERATIONS: Mapping[str, _Operation] = {
    "metadata": _Operation("fhir_metadata", METADATA, CodeSystems.metadata, ("GET",)),
    "CodeSystem/$lookup": _Operation("fhir_lookup", LOOKUP, CodeSystems.lookup),
    "CodeSystem/$subsumes": _Operation("fhir_subsumes", SUBSUMES, CodeSystems.subsumes),
    "CodeSystem/$validate-code": _Operation("fhir_validate_code", VALIDATE_CODE, CodeSystems.validate_code),
}


def fhir_routes(responder: Responder) -> list[BaseRoute]:
    """The routes, for `more_routes` of the application."""

    def route(path: str, recorded: str, methods: tuple[str, ...], resource: _Answer) -> Route:
        async def endpoint(request: Request) -> Response:
            return await _answered(responder, request, recorded, resource)

        return Route(FHIR_PATH + path, endpoint, methods=[*methods])

    return [
        *(route(f"/{path}", each.recorded, each.methods, each.resource) for path, each in _OPERATIONS.items()),
        *(route(path, _BATCH, ("POST",), _batch) for path in ("", "/")),
    ]


def _batch(systems: CodeSystems, items: _Items, sent: Any = None) -> Resource:
    """The answers to a Bundle of operations, each of which has a status of its own."""
    values_of_query(items, {})
    bundle = checked_resource(sent, "Bundle", ("type", "entry", "identifier", "timestamp"))
    if bundle.get("type") != "batch":
        kind = in_json(bundle.get("type"))
        raise Issue("not done here", "not-supported", column="Bundle.type", found=kind, expected="batch")
    entries = checked_list(bundle.get("entry", []), "entry")
    systems.core.limits.check("concepts", len(entries))
    systems.read_ahead(map(_readable, entries))
    answers = [_entry(systems, each) for each in entries]
    return {"resourceType": "Bundle", "type": "batch-response", **({"entry": answers} if answers else {})}


def _entry(systems: CodeSystems, entry: Any) -> Resource:
    """The answer to an entry of a batch. An error that would meet the other entries too ends the batch."""
    systems.context.check()
    try:
        operation, values = _request_of(entry)
        answer = operation.answer(systems, values)
    except Issue as error:
        return _refused(error.http, outcome(error.issue, str(error), systems.request_id))
    except (AccessError, ConceptError, InputError, LimitExceeded) as error:
        document = problem(error, systems.request_id)
        return _refused(document["status"], outcome_of_problem(document))
    return {"resource": answer, "response": {"status": _status(200)}}


def _request_of(entry: Any) -> tuple[_Operation, Mapping[str, Any]]:
    """The operation of an entry, and its parameters."""
    fields = checked_fields(entry, "entry", ("fullUrl", "link", "request", "resource"))
    request = checked_fields(fields.get("request"), "entry.request", ("method", "url"))
    method, url = request.get("method"), request.get("url")
    path, _, query = url.partition("?") if isinstance(url, str) else ("", "", "")
    operation = _OPERATIONS.get(unquote(path).removeprefix("/"))
    if operation is None or method not in operation.methods:
        raise Issue(
            "no such operation", "not-supported", 404, column="entry.request",
            found=quoted(f"{method} {path}"), expected="GET or POST of " + ", ".join([*_OPERATIONS][1:]),
        )  # fmt: skip
    sent = (fields.get("resource") or {}) if method == "POST" else None
    return operation, operation.values(parse_qsl(query, keep_blank_values=True), sent)


def _readable(entry: Any) -> Mapping[str, Any]:
    """The parameters of an entry; none of one that will be refused."""
    try:
        return _request_of(entry)[1]
    except InputError:
        return {}


def _refused(status: int, refusal: Resource) -> Resource:
    return {"response": {"status": _status(status), "outcome": refusal}}


def _status(code: int) -> str:
    return f"{code} {HTTPStatus(code).phrase}"


async def _answered(responder: Responder, request: Request, recorded: str, resource: _Answer) -> Response:
    """The response with a resource, once the request is admitted."""
    items = [item for item in request.query_params.multi_items() if item[0] not in _COMMON]
    body = await request.body() if request.method == "POST" else None
    content = {} if body is None else _recorded(body)
    entries = content.get("entry") if recorded == _BATCH else None
    request_id = request_id_of(request)

    def job(context: RequestContext) -> tuple[bytes, str]:
        media_type = _media_type(request)
        sent = None if body is None else _parsed(request, body)
        with responder.core.lent(context) as served:
            systems = CodeSystems(responder.core, RequestGraph(responder.core, served, context), request_id)
            option = orjson.OPT_INDENT_2 if request.query_params.get("_pretty") == "true" else 0
            return orjson.dumps(resource(systems, items, sent), option=option), media_type

    info = responder.request_info(
        request, recorded, content=None if body is None else lambda: content,
        size=len(entries) if isinstance(entries, list) and entries else 1,
    )  # fmt: skip
    headers = {"Cache-Control": "no-store", "X-Request-Id": request_id}
    try:
        answer, media_type = await until_gone(request, responder.admission.answer(info, job))
    except Issue as error:
        return Response(orjson.dumps(outcome(error.issue, str(error), request_id)), error.http, headers, FHIR_JSON)
    return Response(answer, headers=headers, media_type=media_type)


def _media_type(request: Request) -> str:
    """The media type of the answer, by ``_format``, which goes before ``Accept``."""
    text = request.query_params.get("_format")
    accepted = request.headers.get("accept", "*/*") if text is None else text.replace(" ", "+")
    for each in accepted.lower().split(","):
        media_type, *options = [part.strip() for part in each.split(";")]
        version = [option.partition("=")[2].strip('"') for option in options if option.startswith("fhirversion=")]
        if media_type in _MEDIA_TYPES and (not version or version[0] in _VERSIONS):
            return _MEDIA_TYPES[media_type]
    raise Issue(
        "no answer in such a form", "not-supported", 406, column="Accept" if text is None else "_format",
        found=quoted(accepted), expected=f"{FHIR_JSON} or {_JSON}, of FHIR {_VERSIONS[0]}",
    )  # fmt: skip


def _parsed(request: Request, body: bytes) -> Any:
    """The resource of a body."""
    sent = request.headers.get("content-type", "")
    if sent.partition(";")[0].strip().lower() not in (FHIR_JSON, _JSON):
        expected = f"{FHIR_JSON} or {_JSON}"
        raise Issue("not read", "not-supported", 415, column="Content-Type", found=quoted(sent), expected=expected)
    try:
        return parsed(body) or {}
    except (ValueError, RecursionError) as error:
        raise Issue("the body is not JSON", "structure", column="body", found=quoted(str(error))) from None


def _recorded(body: bytes) -> Mapping[str, Any]:
    """A body for the audit; empty if it is no object."""
    try:
        content = orjson.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


class Outcomes:
    """Makes an OperationOutcome of each problem document that answers a request below the path of FHIR."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] != "http" or not f"{scope['path']}/".startswith(f"{FHIR_PATH}/"):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        pieces: list[bytes] = []

        async def sending(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                if MutableHeaders(raw=message["headers"]).get("content-type") == PROBLEM:
                    start = message
                    return
            elif start is not None:
                pieces.append(message.get("body", b""))
                if message.get("more_body"):
                    return
                headers, document = MutableHeaders(raw=start["headers"]), b"".join(pieces)
                if headers.get("content-encoding") == "gzip":
                    document = gzip.decompress(document)
                    del headers["content-encoding"]
                body = orjson.dumps(outcome_of_problem(orjson.loads(document)))
                headers["content-type"], headers["content-length"] = FHIR_JSON, str(len(body))
                await send(start)
                message = {**message, "body": body}
            await send(message)

        await self._app(scope, receive, sending)
