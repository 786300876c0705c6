"""The HTTP application of one worker."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from threading import Lock
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

import cuihop
from cuihop.errors import CuihopError
from cuihop.files.text_lines import shortened
from cuihop.operations.table import DISTANCES
from cuihop_service.admission import Admission
from cuihop_service.core import ConceptService
from cuihop_service.http_api.fhir_route import Outcomes
from cuihop_service.http_api.middleware import (
    FHIR_PATH,
    AllowedHosts,
    AnswerHeaders,
    AuthenticateFirst,
    BodyLimits,
    Turns,
    compressing,
)
from cuihop_service.http_api.openapi import SERVERS, completed
from cuihop_service.http_api.operation_route import OperationRoute, PlainBatches
from cuihop_service.http_api.problems import (
    fault_response,
    input_error,
    other_response,
    problem_response,
)
from cuihop_service.http_api.quick_distance import QuickDistance
from cuihop_service.http_api.responder import Responder, request_id_of, request_info
from cuihop_service.http_api.routes import ANNOTATE_PATH, routes
from cuihop_service.observe.metrics import Metrics

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]", "testserver")
"""Names of this machine, which a page elsewhere cannot make a browser send."""

DOCS_PATH = "/docs"
"""Path of the page about the operations, among the files of the explorer."""

_DESCRIPTION = (
    "Exact hop distances between concepts over the is_a graph of one release, and the relevance measures built on "
    "them. Every answer names the digest of its release and the tier that gave it. Errors are problem documents "
    "(RFC 9457). Credentials: an API key or a token as `Authorization: Bearer …`."
)


def application(
    core: ConceptService,
    admission: Admission,
    *,
    more_routes: Sequence[BaseRoute] = (),
    hosts: Sequence[str] = ("*",),
) -> FastAPI:
    """The application."""
    responder = Responder(core, admission)
    app = _Documented(
        title="cuihop",
        version=cuihop.__version__,
        description=_DESCRIPTION,
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        openapi_url="/openapi.json",
        servers=SERVERS,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # its spans would show the concepts in URLs
    )
    app.state.responder = responder
    operations = routes()
    batches = next(r for r in operations if isinstance(r, OperationRoute) and r.name == DISTANCES.name)
    app.router.routes.extend(operations)

    @app.get("/health/live", include_in_schema=False)
    async def live() -> Response:
        return _json({"status": "alive", "service": f"cuihop {cuihop.__version__}"}, 200)

    @app.get("/health/ready", include_in_schema=False)
    async def ready() -> Response:
        holder = core.holder
        served = holder.current
        readiness = {
            "status": holder.state,
            "release": None
            if served is None
            else {
                "name": served.release.name,
                "digest": served.digest,
                "activation": None if holder.activation is None else str(holder.activation),
            },
            "indexed": holder.indexed,
            "trouble": holder.troubles,
        }
        return _json(readiness, 200 if holder.state in ("ready", "degraded") else 503)

    @app.exception_handler(CuihopError)
    async def refused(request: Request, error: CuihopError) -> Response:
        return problem_response(error, request_id_of(request))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        private = request.scope["path"] == ANNOTATE_PATH
        body = getattr(request.scope.get("route"), "body_field", None)
        model = None if body is None else body.field_info.annotation
        return problem_response(input_error(error.errors(), model, private=private), request_id_of(request))

    @app.exception_handler(HTTPException)
    async def not_served(request: Request, error: HTTPException) -> Response:
        if isinstance(error.__cause__, CuihopError):  # raised while the framework read the body
            return problem_response(error.__cause__, request_id_of(request))
        reason = {404: "NO_SUCH_ROUTE", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "HTTP_ERROR")
        headers = dict(error.headers or {})
        detail = str(error.detail)
        if error.status_code in (404, 405):
            detail = await _not_served(app, request, headers.get("Allow") or headers.get("allow"))
        return other_response(error.status_code, reason, detail, request_id_of(request), headers)

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> Response:
        return fault_response(request_id_of(request))

    app.router.routes.extend(more_routes)
    app.add_middleware(compressing)
    app.add_middleware(Turns, core=core, admission=admission, batches=PlainBatches(batches))
    app.add_middleware(BodyLimits, most=core.limits.message_bytes)
    app.add_middleware(AuthenticateFirst, admission=admission)
    if "*" not in hosts:
        app.add_middleware(AllowedHosts, hosts=hosts)
    if any(getattr(route, "path", None) == FHIR_PATH for route in more_routes):
        app.add_middleware(Outcomes)
    app.add_middleware(AnswerHeaders)
    app.quick = QuickDistance(super(_Documented, app).__call__, responder, hosts)
    return app


def metrics_route(metrics: Metrics) -> Route:
    """``/metrics``, for `more_routes` of the application.

    It is a route of the service, not a port of its own: one port less to guard, the same TLS, and every worker reports
    the metrics of all. If authentication is configured, a scraper needs a key with the scope ``metrics``. It does
    not queue behind other requests: a service that is too busy to answer is the one whose metrics are needed.
    """

    async def report(request: Request) -> Response:
        info = request_info(request, "metrics", scope="metrics", quick=True)
        await request.app.state.responder.admission.answer(info, lambda context: None)
        text, media_type = await run_in_threadpool(metrics.text, request.headers.get("accept", ""))
        return Response(text, headers={"Cache-Control": "no-store", "Content-Type": media_type})

    return Route("/metrics", report, methods=["GET"])


class _Documented(FastAPI):
    """A FastAPI application whose OpenAPI document shows errors as they are sent, with the short way before it."""

    quick: QuickDistance
    _documenting = Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.quick(scope, receive, send)

    def setup(self) -> None:
        async def document(request: Request) -> Response:
            return JSONResponse(await run_in_threadpool(self.openapi))

        self.add_route(self.openapi_url or "", document, include_in_schema=False)

    def openapi(self) -> dict[str, Any]:
        """The document. Its making takes a third of a second: other requests would wait in the event loop."""
        with self._documenting:
            if self.openapi_schema is None:
                self.openapi_schema = completed(super().openapi())
            return self.openapi_schema


async def _not_served(app: FastAPI, request: Request, allowed: str | None) -> str:
    """The words for a path or a method that the service does not have, with the nearest path and the documentation."""
    path, paths = shortened(request.scope["path"]), list((await run_in_threadpool(app.openapi))["paths"])
    text = f"{path} takes {allowed}." if allowed else f"nothing is at {path}."
    if near := [] if allowed else get_close_matches(path, paths, 1, 0.8):
        text += f" Did you mean {near[0]}?"
    documented = any(getattr(route, "path", None) == DOCS_PATH for route in app.router.routes)
    return f"{text} See {DOCS_PATH} and /openapi.json." if documented else f"{text} See /openapi.json."


def _json(fields: object, status: int) -> Response:
    return Response(orjson.dumps(fields), status, {"Cache-Control": "no-store"}, "application/json")
