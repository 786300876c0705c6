"""The official client of the Model Context Protocol, over both transports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

if TYPE_CHECKING:
    from mcp.client.client import Client
    from mcp_types import CallToolResult

T = TypeVar("T")

MODES = ("auto", "legacy")
"""The protocol without a handshake (2026-07-28), and the one with (2025-11-25 and earlier)."""

Call = tuple[str, dict[str, Any]]
"""Name of a tool, and its arguments."""


def over_standard_streams(
    arguments: list[str], use: Callable[[Client], Coroutine[Any, Any, T]], *, mode: str = "auto"
) -> T:
    """The result of using a process ``cuihop service mcp`` with these arguments."""
    from mcp import StdioServerParameters, stdio_client
    from mcp.client.client import Client

    async def connected() -> T:
        parameters = StdioServerParameters(command=sys.executable, args=["-m", "cuihop", "service", "mcp", *arguments])
        # Its default is the stream that stood there at its import, which may be that of a command run in this process.
        async with Client(stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr), mode=mode) as client:
            return await use(client)

    return anyio.run(connected)


def over_http(
    address: str, use: Callable[[Client], Coroutine[Any, Any, T]], *, key: str | None = None, mode: str = "auto"
) -> T:
    """The result of using ``/mcp`` of a service."""
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async def connected() -> T:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        async with (
            create_mcp_http_client(headers) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
        ):
            return await use(client)

    return anyio.run(connected)


def calls(*requested: Call) -> Callable[[Client], Coroutine[Any, Any, list[CallToolResult]]]:
    """Use of a client: the results of several calls, each checked against the tool's schema by the client."""

    async def results(client: Client) -> list[CallToolResult]:
        await client.list_tools()
        return [await client.call_tool(name, arguments) for name, arguments in requested]

    return results


def answer(result: CallToolResult) -> dict[str, Any]:
    """The structured content of a result that is no error."""
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


def message(result: CallToolResult) -> str:
    """The message of a result that is an error."""
    assert result.is_error
    (block,) = result.content
    assert block.type == "text"
    return block.text
