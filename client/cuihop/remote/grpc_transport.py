"""The gRPC transport: channel, messages and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, TypeVar

import grpc
import numpy as np
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from cuihop.errors import InputError
from cuihop.operations.answers import PackAnswer, ReleaseAnswer
from cuihop.operations.requests import DistancesRequest
from cuihop.operations.table import ANNOTATE, PACK, Operation
from cuihop.remote.activation import ACTIVATION_HEADER, NewestSeen
from cuihop.remote.annotation_messages import annotations_of_message
from cuihop.remote.failures import (
    NEEDS_TLS,
    NOT_RUNNING,
    AttemptFailed,
    FaultyIdentifier,
    Problem,
    failure_of,
    no_encryption,
    refusal,
    unavailable,
)
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.statuses import ERROR_DOMAIN
from cuihop.remote.transport import PairBlock, Request, Response, repeated, response_of
from cuihop.remote.wire import message_class, message_of, value_of_message
from cuihop.resources.arrays import bounds_of
from cuihop_api.v1 import concept_graph_pb2 as messages
from cuihop_api.v1.concept_graph_pb2_grpc import ConceptGraphServiceStub

Q = TypeVar("Q")
A = TypeVar("A")

_LARGEST_MESSAGE = 256 << 20  # bytes
# Only the words of gRPC say why there is no connection.
_TLS_SIGNS = ("handshake", "certificate", "erification check failed", "WRONG_VERSION_NUMBER")
_CONNECTION_SIGNS = ("failed to connect", "errors resolving", "DNS resolution", "connection attempt")

_CLOSED = "the graph was closed during the request"


class GrpcTransport:
    """One channel to a service. Safe to share between threads."""

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self.seen = NewestSeen()
        self._channel = _channel(settings)
        self._stub = ConceptGraphServiceStub(self._channel)

    def close(self) -> None:
        """Close the channel. Harmless twice."""
        self._channel.close()

    def send(self, operation: Operation[Q, A], question: Q, request: Request) -> Response[A]:
        """See `Transport.send`."""
        metadata = tuple(request.headers(self._settings.key, self.seen).items())
        options: Any = {"timeout": request.timeout, "metadata": metadata}
        method, message = getattr(self._stub, operation.rpc), _message(operation, question)
        try:
            try:
                reply: Any
                call: Any
                if isinstance(method, grpc.UnaryUnaryMultiCallable):
                    reply, call = method.with_call(message, **options)
                elif isinstance(method, grpc.UnaryStreamMultiCallable):
                    reply = call = method(message, **options)
                else:  # a stream of one request: docs/decisions/0005-remote-batches.md
                    reply = call = method(iter([message]), **options)
            except ValueError as error:  # from a closed channel
                raise unavailable(self._settings.address, _CLOSED) from error
            response: Response[A] = _READERS.get(operation, _response)(operation, question, reply)
            self._note(call)
            return response
        except grpc.RpcError as error:
            self._note(error)
            raise _failure(error, self._settings, request) from error
        except (KeyError, ValueError, IndexError) as error:
            problem = f"not the answer of a cuihop service: {error} (request {request.request_id})"
            raise unavailable(self._settings.address, problem) from error

    def _note(self, call: Any) -> None:
        """Note the activation in the metadata at the end of a call."""
        for name, value in call.trailing_metadata() or ():
            if name == ACTIVATION_HEADER:
                self.seen.note(value)


# Messages


def _message(operation: Operation[Q, A], question: Q) -> Message:
    """The message of a question; pairs of CUIs as numbers."""
    kind = message_class(operation.rpc)
    if isinstance(question, DistancesRequest) and isinstance(question.pairs, PairBlock):
        numbers = question.pairs.numbers
        if numbers is not None:
            packed = messages.PackedPairs(a=numbers[::2].tolist(), b=numbers[1::2].tolist())
            return message_of(kind, replace(question, pairs=()), packed=packed)
    return message_of(kind, question)


def _response(operation: Operation[Any, Any], question: Any, reply: Any) -> Response[Any]:
    """The answer in a message; attributes that it does not have are those of the question."""
    answer = value_of_message(operation.answer, reply, **repeated(operation, question))
    if isinstance(answer, ReleaseAnswer):
        return Response(answer, answer.digest)
    merged = dict(reply.merged) if "merged" in reply.DESCRIPTOR.fields_by_name else {}
    return response_of(operation, question, answer, reply.provenance.release_digest, merged)


def _pack(operation: Operation[Any, Any], question: Any, replies: Iterable[Any]) -> Response[Any]:
    """The pack in a stream of some rows each."""
    received = list(replies)
    first = received[0]  # an empty stream is an error
    lengths = np.concatenate([np.array(reply.row_lengths, dtype=np.int64) for reply in received])
    columns = np.concatenate([np.array(reply.columns, dtype=np.uint32) for reply in received]).astype(np.int32)
    hops = np.concatenate([np.frombuffer(reply.hops, dtype=np.uint8) for reply in received])
    answer = PackAnswer(tuple(first.cuis), bounds_of(lengths), columns, hops, question.hops, question.direction)
    merged = {old: new for old, new in zip(question.cuis, answer.cuis, strict=True) if old != new}
    return response_of(operation, question, answer, first.provenance.release_digest, merged)


def _annotations(operation: Operation[Any, Any], question: Any, replies: Iterable[Any]) -> Response[Any]:
    (reply,) = replies
    return Response(annotations_of_message(reply, question.texts), reply.provenance.release_digest)


_READERS: Mapping[Operation[Any, Any], Callable[[Operation[Any, Any], Any, Any], Response[Any]]] = {
    PACK: _pack,
    ANNOTATE: _annotations,
}
"""Answers that are streams."""


# The channel


def _channel(settings: RemoteSettings) -> grpc.Channel:
    """The channel to the service, with TLS if the address says so. It connects with the first call.

    Raises:
        InputError: a file of TLS cannot be read.
    """
    options: list[tuple[str, int | str]] = [
        ("grpc.enable_retries", 0),  # cuihop.remote.failures.with_retries alone decides
        ("grpc.min_reconnect_backoff_ms", int(1000 * settings.connect_timeout)),  # the time that connecting may take
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2_000),
        ("grpc.max_receive_message_length", _LARGEST_MESSAGE),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", 64 << 10),  # errors with many identifiers at fault
        ("grpc.absolute_max_metadata_size", 128 << 10),
        ("grpc.keepalive_time_ms", 30_000),  # notices a connection that a firewall dropped
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.use_local_subchannel_pool", 1),  # close() closes
    ]
    if settings.loopback:
        options.append(("grpc.enable_http_proxy", 0))
    target = f"dns:///{settings.authority}"
    compression = grpc.Compression.NoCompression if settings.loopback else grpc.Compression.Gzip
    if not settings.encrypted:
        return grpc.insecure_channel(target, options, compression)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=_bytes(settings.ca_file),
        private_key=_bytes(settings.client_key),
        certificate_chain=_bytes(settings.client_cert),
    )
    return grpc.secure_channel(target, credentials, options, compression)


def _bytes(file: FilePath | None) -> bytes | None:
    if file is None:
        return None
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError("cannot be read", file=file, found=error.strerror or str(error)) from None


# Failures


def _failure(error: grpc.RpcError, settings: RemoteSettings, request: Request) -> AttemptFailed:
    """The failure of a call, reported by the service or by something before it."""
    code, details = error.code(), error.details() or ""
    if (problem := _problem(error)) is not None:
        return failure_of(problem, code.name, request.request_id)
    address = settings.address
    reason = (details.strip().splitlines() or ["no reason given"])[0].rpartition("last error: ")[2]
    if code is grpc.StatusCode.UNAVAILABLE:
        if settings.encrypted and any(sign in details for sign in _TLS_SIGNS):
            return no_encryption(address, reason)
        if "http1.x server" in details:
            return unavailable(address, f"not gRPC: {reason}; perhaps http://{settings.authority}")
        connection = any(sign in details for sign in _CONNECTION_SIGNS)
        advice = NEEDS_TLS if "Socket closed" in reason and not settings.encrypted else NOT_RUNNING
        return unavailable(address, f"cannot be reached: {reason}. {advice}", retry=True, connection=connection)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return refusal(address, code.name, f"no answer within {request.timeout:g} s (request {request.request_id})")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return unavailable(address, f"a server, but not of this version of cuihop: {reason}")
    if code is grpc.StatusCode.CANCELLED:
        if "Channel closed" in details:
            return unavailable(address, _CLOSED)
        # A proxy in front of a replica that stops, with a call sent a moment too late: every operation only reads.
        return unavailable(address, "the service, or a proxy in front of it, gave the call up", retry=True)
    return refusal(address, code.name, f"{code.name}: {reason} (request {request.request_id})")


def _problem(error: grpc.RpcError) -> Problem | None:
    """The problem that a cuihop service reports; ``None`` for an error from anything else."""
    try:
        status = rpc_status.from_call(error)  # type: ignore[arg-type]  # every error of a call is one
    except (ValueError, DecodeError):
        return None
    info, faults, retry_after = error_details_pb2.ErrorInfo(), messages.ConceptFault(), None
    for detail in () if status is None else status.details:
        with suppress(DecodeError):
            detail.Unpack(info)
            detail.Unpack(faults)
            if detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
                delay = error_details_pb2.RetryInfo.FromString(detail.value).retry_delay
                retry_after = delay.seconds + delay.nanos / 1e9
    if status is None or info.domain != ERROR_DOMAIN:
        return None
    if retry_after is None and (seconds := info.metadata.get("retry_after")):
        with suppress(ValueError):
            retry_after = float(seconds)
    return Problem(
        reason=info.reason,
        message=status.message,
        faults=[value_of_message(FaultyIdentifier, fault) for fault in faults.faults],
        parts=dict(info.metadata),
        retry_after=retry_after,
    )
