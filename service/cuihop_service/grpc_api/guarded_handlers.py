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
from cuihop_service.grpc_api.messages import grpc_status_of

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]

Begin: TypeAlias = Callable[[str, Context], Awaitable[Any]]
"""Called with the name of an RPC and its context, before its message is read. Its result replaces the context for the
handler. It ends the call of a caller who is refused."""

MESSAGE_SECONDS = 30.0
"""For the message of a call without a stream."""

PAUSE_SECONDS = 300.0
"""Between two messages of a stream."""


class GuardedRegistration:
    """A server's stand-in for generated code: registers guarded handlers in the place of the given ones.

    Args:
        begin: called before a message is read; None for services open to strangers.
    """

    def __init__(self, server: grpc.aio.Server, begin: Begin | None = None) -> None:
        self._server = server
        self._begin = begin or _anybody

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Ignore these: the same handlers come once more by their names."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Register these handlers, guarded."""
        guarded = {name: _guarded(name, handler, self._begin) for name, handler in handlers.items()}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, guarded),))


def _guarded(name: str, handler: Any, begin: Begin) -> Any:
    """The handler of one RPC. All are registered as taking a stream: one that is not begins with its message unread."""
    parse = handler.request_deserializer
    seconds = PAUSE_SECONDS if handler.request_streaming else MESSAGE_SECONDS

    async def first(context: Context) -> Any:
        try:
            message = await _message(context, parse, seconds)
            if message is None:
                raise InputError("no message came", column="message", found="nothing", expected="one")
            return message
        except CuihopError as error:
            await context.abort_with_status(grpc_status_of(error))
            raise

    async def one_for_one(_: object, context: Context) -> Any:
        begun = await begin(name, context)
        return await handler.unary_unary(await first(context), begun)

    async def many_for_one(_: object, context: Context) -> AsyncIterator[Any]:
        begun = await begin(name, context)
        answers = handler.unary_stream(await first(context), begun)
        if inspect.isawaitable(answers):  # the handler writes its answers itself
            await answers
            return
        async for answer in answers:
            yield answer

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
    """The messages of a call as they come: see `_message`."""
    while (message := await _message(context, parse, seconds)) is not None:
        yield message


async def _message(context: Context, parse: Callable[[bytes], Any], seconds: float) -> Any:
    """The next message of a call, None after the last; `InputError` for other bytes, `QueryTimedOut` for none in time.

    It is read from the context, which takes less than gRPC's iterator.
    """
    try:
        async with asyncio.timeout(seconds):
            piece: Any = await context.read()
    except TimeoutError:
        raise QueryTimedOut(f"no message came for {seconds:g} s") from None
    if piece is grpc.aio.EOF:
        return None
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
