"""What a failed gRPC call tells, as the failure of an attempt."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from cuihop.remote.port import Call
from cuihop.remote.problems import TLS_ADVICE, Failed, Fault, Problem, failure_of, refusal, unavailable
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.statuses import ERROR_DOMAIN
from cuihop_api.v1 import concept_graph_pb2 as messages

__all__ = ["candidates_of", "grpc_failure"]

# gRPC tells apart by words only why there is no connection.
_TLS_TROUBLE = ("handshake", "certificate", "erification check failed", "WRONG_VERSION_NUMBER")
_CONNECTION_TROUBLE = ("failed to connect", "errors resolving", "DNS resolution", "connection attempt")


def grpc_failure(error: grpc.RpcError, settings: RemoteSettings, call: Call) -> Failed:
    """What the end of a call tells: of the service, or of what lies before it."""
    code, details = error.code(), error.details() or ""
    if (problem := _problem(error)) is not None:
        return failure_of(problem, code.name, call.request_id)
    address = settings.address
    shown = (details.strip().splitlines() or ["no reason given"])[0].rpartition("last error: ")[2]
    if code is grpc.StatusCode.UNAVAILABLE:
        if settings.encrypted and any(sign in details for sign in _TLS_TROUBLE):
            return unavailable(address, f"no encrypted connection: {shown}. {TLS_ADVICE}", connection=True)
        if "http1.x server" in details:
            return unavailable(address, f"not gRPC: {shown}; perhaps http://{settings.authority}")
        reaching = any(sign in details for sign in _CONNECTION_TROUBLE)
        return unavailable(address, f"cannot be reached: {shown}", retry=True, connection=reaching)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return refusal(address, code.name, f"no answer within {call.timeout:g} s (request {call.request_id})")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return unavailable(address, f"a server, but not of this version of cuihop: {shown}")
    if code is grpc.StatusCode.CANCELLED:
        return unavailable(address, "the graph was closed while it was asked")
    return refusal(address, code.name, f"{code.name}: {shown} (request {call.request_id})")


def _problem(error: grpc.RpcError) -> Problem | None:
    """What a cuihop service told; ``None`` where it was none that failed."""
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
                told = error_details_pb2.RetryInfo.FromString(detail.value)
                retry_after = told.retry_delay.seconds + told.retry_delay.nanos / 1e9
    if status is None or info.domain != ERROR_DOMAIN:
        return None
    if retry_after is None and (seconds := info.metadata.get("retry_after")):
        with suppress(ValueError):
            retry_after = float(seconds)
    return Problem(
        reason=info.reason,
        message=status.message,
        faults=[Fault(fault.cui, candidates_of(fault.candidates)) for fault in faults.faults],
        parts=dict(info.metadata),
        retry_after=retry_after,
    )


def candidates_of(told: Iterable[messages.Candidate]) -> tuple[tuple[str, str], ...]:
    """Pairs of UMLS relation and concept."""
    return tuple((candidate.relation, candidate.cui) for candidate in told)
