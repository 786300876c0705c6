"""RPC handlers that authenticate a caller before they read a message, and refuse bytes that are no message.

gRPC's own handlers read and parse a message before its sender is authenticated, and report bytes that cannot be
parsed as a fault of the server, with a stack trace in the log. These take the bytes themselves.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from cuihop.errors import CuihopError, InputError, QueryTimedOut
from cuihop_service.admission import no_turn
from cuihop_service.grpc_api.messages import grpc_status_of

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]

Begin: TypeAlias = Callable[[str, Context], Awaitable[Any]]
"""Called with the name of an RPC and its context, before its message is read. Its result replaces the context for the
handler. It ends the call of a caller who is refused."""

Turn: TypeAlias = Callable[[Any, int], Awaitable[Callable[[], None]]]
"""Called with the result of `Begin` and the size of a message, before that is parsed. Its result ends the turn."""

MESSAGE_SECONDS = 30.0
"""For the message of a call without a stream."""

PAUSE_SECONDS = 300.0
"""Between two messages of a stream."""


class GuardedRegistration:
    """A server's stand-in for generated code: registers guarded handlers in the place of the given ones.

    Args:
        begin: called before a message is read; None for services open to strangers.
        turn: called before a message is parsed that is alone in its call; None for services of small messages.
    """

    def __init__(self, server: grpc.aio.Server, begin: Begin | None = None, turn: Turn | None = None) -> None:
        self._server = server
        self._guards = begin or _anybody, turn or _at_once

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Ignore these: the same handlers come once more by their names."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Register these handlers, guarded."""
        guarded = {name: _guarded(name, handler, *self._guards) for name, handler in handlers.items()}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, guarded),))


def _guarded(name: str, handler: Any, begin: Begin, turn: Turn) -> Any:
    """The handler of one RPC. All are registered as taking a stream: one that is not begins with its message unread."""
    parse = handler.request_deserializer
    seconds = PAUSE_SECONDS if handler.request_streaming else MESSAGE_SECONDS

    async def first(context: Context, begun: Any) -> tuple[Any, Callable[[], None]]:
        leave = no_turn
        try:
            piece = await _piece(context, seconds)
            if piece is None:
                raise InputError("no message came", column="message", found="nothing", expected="one")
            leave = await turn(begun, len(piece))
            return _parsed(piece, parse), leave
        except CuihopError as error:
            leave()
            await context.abort_with_status(grpc_status_of(error))
            raise

    async def one_for_one(_: object, context: Context) -> Any:
        begun = await begin(name, context)
        message, leave = await first(context, begun)
        try:
            return await handler.unary_unary(message, begun)
        finally:
            leave()

    async def many_for_one(_: object, context: Context) -> AsyncIterator[Any]:
        begun = await begin(name, context)
        message, leave = await first(context, begun)
        try:
            answers = handler.unary_stream(message, begun)
            if inspect.isawaitable(answers):  # the handler writes its answers itself
                await answers
                return
            async for answer in answers:
                leave()
                yield answer
        finally:
            leave()

    async def many_for_many(_: object, context: Context) -> AsyncIterator[Any]:
        begun = await begin(name, context)
        try:
            async for answer in handler.stream_stream(_messages(context, parse, seconds), begun):
                yield answer
        except CuihopError as error:
            await context.abort_with_status(grpc_status_of(error))

    if handler.unary_unary is not None:
        return grpc.stream_unary_rpc_method_handler(one_for_one, None, handler.response_serializer)
    answers = many_for_one if handler.unary_stream is not None else many_for_many
    return grpc.stream_stream_rpc_method_handler(answers, None, handler.response_serializer)


async def _messages(context: Context, parse: Callable[[bytes], Any], seconds: float) -> AsyncIterator[Any]:
    """The messages of a call as they come: see `_piece` and `_parsed`."""
    while (piece := await _piece(context, seconds)) is not None:
        yield _parsed(piece, parse)


async def _piece(context: Context, seconds: float) -> bytes | None:
    """The next message of a call, None after the last; `QueryTimedOut` for none in time.

    It is read from the context, which takes less than gRPC's iterator.
    """
    try:
        async with asyncio.timeout(seconds):
            piece: Any = await context.read()
    except TimeoutError:
        raise QueryTimedOut(f"no message came for {seconds:g} s") from None
    return None if piece is grpc.aio.EOF else piece


def _parsed(piece: bytes, parse: Callable[[bytes], Any]) -> Any:
    """The message; `InputError` for other bytes."""
    try:
        return parse(piece)
    except DecodeError:
        raise InputError(
            "not a message of the contract",
            column="message",
            found=f"{len(piece):,} bytes",
            expected="the message of this call, as the .proto has it",
        ) from None


async def _anybody(name: str, context: Context) -> Context:
    """The context itself."""
    return context


async def _at_once(begun: object, size: int) -> Callable[[], None]:
    """No turn, and no wait."""
    return no_turn
