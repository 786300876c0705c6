"""``/mcp``: tools for language-model agents, over the streamable HTTP of the Model Context Protocol.

The SDK parses the protocol; authentication, limits, rates and audit are those of every other request. No state is held
between two requests, so that any worker or replica may answer the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from cuihop.errors import InputError, LimitExceeded
from cuihop_service.http_api.middleware import AGENTS_PATH
from cuihop_service.http_api.problems import other_response
from cuihop_service.http_api.responder import Responder, request_id_of, until_gone
from cuihop_service.request_context import RequestContext
from cuihop_service.request_graph import RequestGraph

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from cuihop.agents.arguments import Arguments
    from cuihop.agents.tools import AgentTool

_TRANSPORT = "mcp"
_ADMITTED = "cuihop_admitted"  # key of the ASGI scope: True once the request is admitted, or was refused by that
_REASONS = {403: "NOT_ALLOWED", 413: "LIMIT_EXCEEDED"}
_CALL = "tools/call"
_OPERATIONS = {"concept": "get_concept", "compare": "set_relevance"}
"""Tool → operation of the audit and of the metrics, where that has another name."""
_MOST_BYTES = 1 << 20  # of a message: far more than the arguments of any tool, and parsed in the event loop


def agent_routes(responder: Responder) -> list[BaseRoute]:
    """The route of the tools. The SDK is imported with the first request, if no worker did before."""
    return [Route(AGENTS_PATH, _AgentEndpoint(responder), methods=["POST"])]


class _AgentEndpoint:
    """The ASGI application of the route."""

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
            await self._admit(request, lambda context: None)
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
        answer = _Answer(request, send)
        async with manager.run():
            await manager.handle_request(scope, _replayed(body, receive), answer.send)
        if not scope.get(_ADMITTED):  # a call that the SDK refused, or of no tool: nothing has been sent yet
            with suppress(_Refused):
                await self._admit(request, _refuse)
        await answer.finish()

    async def _admit(self, request: Request, job: Callable[[RequestContext], None]) -> None:
        """Admit a message that is no call of a tool."""
        request.scope[_ADMITTED] = True
        info = self._responder.request_info(request, "agent_session", quick=True, content=dict)
        info.transport = _TRANSPORT
        await self._responder.admission.answer(info, job)

    def _new_server(self) -> Server[Any]:
        from cuihop.agents.server import agent_server  # not in the event loop

        return agent_server(self._run)

    async def _run(self, tool: AgentTool, arguments: Arguments, request: Request) -> dict[str, Any]:
        """The answer of a tool, admitted like any other request."""
        from cuihop.agents.arguments import CompareArguments

        def job(context: RequestContext) -> dict[str, Any]:
            if isinstance(arguments, CompareArguments):
                self._core.check_sets(arguments.a, arguments.b)
            with self._core.lent(context) as served:
                graph = RequestGraph(self._core, served, context)
                return tool.answer(graph, arguments, names=self._core.sees_names(context.caller))

        info = self._responder.request_info(
            request,
            _OPERATIONS.get(tool.name, tool.name),
            size=arguments.size,
            scope="names" if tool.names_only else "read",
            content=lambda: arguments.audited,
        )
        info.transport = _TRANSPORT
        request.scope[_ADMITTED] = True
        return await until_gone(request, self._responder.admission.answer(info, job))


def _is_call(body: bytes) -> bool:
    """True for a call of a tool; any other message, and one that cannot be parsed, is none."""
    try:
        message = orjson.loads(body)
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("method") == _CALL


class _Refused(InputError):
    """A call that reached no tool."""


def _refuse(context: RequestContext) -> None:
    raise _Refused("the call reached no tool")


class _Answer:
    """The SDK's answer, with the identifier of the request. It waits for the admission of the request."""

    def __init__(self, request: Request, send: Send) -> None:
        self._request = request
        self._send = send
        self._held: list[Message] = []
        self._plain = False

    async def send(self, message: Message) -> None:
        """Send a message of the answer, or hold it: see `finish`."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = request_id_of(self._request)
            self._plain = message["status"] >= 400 and "json" not in headers.get("content-type", "")
            hold = self._plain or not self._request.scope.get(_ADMITTED)
        else:
            hold = bool(self._held)
        if hold:
            self._held.append(message)
        else:
            await self._send(message)

    async def finish(self) -> None:
        """Send what was held. An error in plain text becomes a problem document, as all others are."""
        if not self._held:
            return
        start, *others = self._held
        if self._plain:
            detail = b"".join(message.get("body", b"") for message in others).decode("utf-8", "replace")
            reason, identifier = _REASONS.get(start["status"], "INVALID_INPUT"), request_id_of(self._request)
            response = other_response(start["status"], reason, detail, identifier, {"X-Request-Id": identifier})
            await response(self._request.scope, self._request.receive, self._send)
            return
        for message in self._held:
            await self._send(message)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A receiver of a body that has been read, and then of the end of the connection."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return left.pop() if left else await receive()

    return next_message
