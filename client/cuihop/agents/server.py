"""The tools as a server of the official SDK, and their transport over standard input and output."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias, get_args

import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

import cuihop
from cuihop.agents.arguments import Arguments, checked_arguments
from cuihop.agents.bounded_answers import LEFT_OUT, json_text
from cuihop.agents.tools import TOOLS, AgentTool, Status
from cuihop.errors import CuihopError, InputError

Run: TypeAlias = Callable[[AgentTool, Arguments, Any], Awaitable[dict[str, Any]]]
"""Computes the answer of a tool to arguments, for an HTTP request (None over standard input)."""

_log = logging.getLogger("cuihop.agents")

_FAULT = "a fault in cuihop; please report it"

_INSTRUCTIONS = (
    "Exact hop distances between concepts (UMLS CUIs, identifiers of ontologies, or codes as SAB:CODE) over the is_a "
    "graph of a release. "
    "Find identifiers with search, or those of a text with annotate; do not guess them. A distance counts is_a hops. "
    "Cite release_name with every value. An answer has at most 20 rows a list; left_out counts the rest."
)

_OUTPUT = {
    "type": "object",
    "properties": {
        "status": {"enum": list(get_args(Status)), "description": "Kind of the answer; none of them is an error."},
        "names_hidden": {"type": "boolean", "description": "True where names, synonyms and definitions are left out."},
        "merged": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "Retired identifiers of the request and codes, and the concept that each was taken for.",
        },
        "release": {"type": "string", "description": "Digest of the release (SHA-256)."},
        "release_name": {"type": "string", "description": "Name of the release."},
        LEFT_OUT: {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"total": {"type": "integer"}, "shown": {"type": "integer"}},
                "required": ["total", "shown"],
            },
            "description": "Size of each list that is cut, and the number of its rows in the answer.",
        },
    },
    "required": ["status", "names_hidden", "merged", "release", "release_name", LEFT_OUT],
}
"""Fields of every answer. The others are those of ``--json`` and HTTP: see `cuihop.answer_fields`."""


def agent_server(run: Run) -> Server[Any]:
    """The server. It holds no state, and may serve several clients.

    An error that a caller can cause is a tool's result with ``isError`` and its message; anything else is a fault,
    whose message is logged and not sent.
    """
    listed = ListToolsResult(tools=[_described(tool) for tool in TOOLS.values()])
    schemas = {tool.name: tool.input_schema for tool in listed.tools}

    async def list_tools(context: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        return listed

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        try:
            tool = TOOLS.get(params.name)
            if tool is None:
                raise InputError("no such tool", found=repr(params.name[:100]), expected=" or ".join(TOOLS))
            arguments = checked_arguments(tool.arguments, tool.name, params.arguments)
            answer = await run(tool, arguments, context.request)
        except CuihopError as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        except Exception:
            _log.exception("the tool %s failed", params.name[:100])
            raise MCPError(INTERNAL_ERROR, _FAULT) from None  # the SDK would send the exception's own text
        return CallToolResult(content=[TextContent(text=json_text(answer))], structured_content=answer)

    return Server(
        "cuihop",
        version=cuihop.__version__,
        instructions=_INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_standard_streams(answer: Callable[[AgentTool, Arguments], dict[str, Any]]) -> None:
    """Answer the client at standard input and output until it closes the input. ``answer`` is called in threads."""

    async def run(tool: AgentTool, arguments: Arguments, _: Any) -> dict[str, Any]:
        return await anyio.to_thread.run_sync(partial(answer, tool, arguments), abandon_on_cancel=True)

    server = agent_server(run)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except* BrokenPipeError:  # the client has gone, as at the end of its input
        pass


def _described(tool: AgentTool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=_OUTPUT,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    )
