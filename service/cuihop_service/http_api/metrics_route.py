"""``/metrics``.

It is a route of the service, not a port of its own: one port less to guard, the same TLS, and every worker reports the
metrics of all. Where authentication is configured, a scraper needs a key with the scope ``metrics``. It does not queue
behind other requests: a service that is too busy to answer is the one whose metrics are needed.
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cuihop_service.admission import Admission
from cuihop_service.http_api.responder import request_info
from cuihop_service.observe.metrics import Metrics
from cuihop_service.request_context import RequestContext

__all__ = ["metrics_route"]


def metrics_route(metrics: Metrics) -> Route:
    """The route.

    Args:
        metrics: to report.
    """

    async def report(request: Request) -> Response:
        admission: Admission = request.app.state.admission
        info = request_info(request, "metrics", scope="metrics", quick=True)
        await admission.answer(info, _admitted)
        text, media_type = await run_in_threadpool(metrics.text, request.headers.get("accept", ""))
        return Response(text, headers={"Cache-Control": "no-store", "Content-Type": media_type})

    return Route("/metrics", report, methods=["GET"])


def _admitted(context: RequestContext) -> None:
    """Do nothing: only the admission counts."""
