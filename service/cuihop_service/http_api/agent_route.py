"""``/mcp``: tools for language-model agents, over the streamable HTTP of the Model Context Protocol.

The SDK parses the protocol; authentication, limits, rates and audit are those of every other request. No state is held
between two requests, so that any worker or replica may answer the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from cuihop.errors import LimitExceeded
from cuihop_service.http_api.middleware import AGENTS_PATH
from cuihop_service.http_api.responder import Responder, request_id_of, until_gone
from cuihop_service.request_context import RequestContext
from cuihop_service.request_graph import RequestGraph

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from cuihop.agents.arguments import Arguments
    from cuihop.agents.tools import AgentTool

__all__ = ["agent_routes"]

_TRANSPORT = "mcp"
_CALL = "tools/call"
_OPERATIONS = {
    "search": "search",
    "annotate": "annotate",
    "concept": "get_concept",
    "distances": "distances",
    "path": "path",
    "neighbourhood": "neighbourhood",
    "common_ancestors": "common_ancestors",
    "similarity": "similarity",
    "compare": "set_relevance",
}
"""Tool → operation of the audit and of the metrics."""
_MOST_BYTES = 1 << 20  # of a message: far more than the arguments of any tool, and parsed in the event loop


def agent_routes(responder: Responder) -> list[BaseRoute]:
    """The route, for `more_routes` of the application. The SDK is imported with the first request.

    Args:
        responder: of the service.
    """
    return [Route(AGENTS_PATH, _AgentEndpoint(responder), methods=["POST"])]


class _AgentEndpoint:
    """The ASGI application of the route.

    Args:
        responder: of the service.
    """

    def __init__(self, responder: Responder) -> None:
        self._core = responder.core
        self._responder = responder
        self._most_bytes = min(_MOST_BYTES, responder.core.limits.message_bytes)
        self._server: Server[Any] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        request = Request(scope, receive)
        body = await request.body()
        if len(body) > self._most_bytes:
            raise LimitExceeded(f"the body is too large; {AGENTS_PATH} allows {self._most_bytes:,} bytes")
        if not _is_call(body):  # a call is admitted as the operation that it is
            info = self._responder.request_info(request, "agent_session", quick=True, content=dict)
            info.transport = _TRANSPORT
            await self._responder.admission.answer(info, lambda context: None)
        if self._server is None:
            self._server = await run_in_threadpool(self._new_server)
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        host = request.headers.get("host", "")  # the middleware has checked it
        manager = StreamableHTTPSessionManager(
            self._server,  # a manager for each request: it holds no state, and nothing has to be started or stopped
            json_response=True,
            stateless=True,
            security_settings=TransportSecuritySettings(
                allowed_hosts=[host], allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https")]
            ),
            max_request_body_size=self._most_bytes,
        )
        async with manager.run():
            await manager.handle_request(scope, _replayed(body, receive), _identified(request, send))

    def _new_server(self) -> Server[Any]:
        import mcp.server.streamable_http_manager  # noqa: F401 - not in the event loop

        from cuihop.agents.server import agent_server

        return agent_server(self._run)

    async def _run(self, tool: AgentTool, arguments: Arguments, request: Request) -> dict[str, Any]:
        """The answer of a tool, admitted like any other request."""
        from cuihop.agents.arguments import CompareArguments

        def work(context: RequestContext) -> dict[str, Any]:
            if isinstance(arguments, CompareArguments):
                self._core.check_sets(arguments.a, arguments.b)
            with self._core.lent(context) as served:
                graph = RequestGraph(self._core, served, context)
                return tool.answer(graph, arguments, names=self._core.sees_names(context.caller))

        info = self._responder.request_info(
            request,
            _OPERATIONS[tool.name],
            size=arguments.size,
            scope="names" if tool.names_only else "read",
            content=lambda: arguments.audited,
        )
        info.transport = _TRANSPORT
        return await until_gone(request, self._responder.admission.answer(info, work))


def _is_call(body: bytes) -> bool:
    """True for a call of a tool; any other message, and one that cannot be parsed, is none."""
    try:
        message = orjson.loads(body)
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("method") == _CALL


def _identified(request: Request, send: Send) -> Send:
    """A sender that adds the identifier of the request to the headers of its answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["X-Request-Id"] = request_id_of(request)
        await send(message)

    return sending


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A receiver of a body that has been read, and then of the end of the connection."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return left.pop() if left else await receive()

    return next_message
