"""Errors of the core as statuses of gRPC, with their details."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf import any_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from cuihop.errors import ConceptError, ConceptRetired, CuihopError, InputError, InvalidCui, RateLimited
from cuihop.remote.statuses import ERROR_DOMAIN, status_of
from cuihop_service.grpc_api.messages import faults_message
from cuihop_service.request_context import Cancelled

__all__ = ["grpc_status_of"]

_HEADER_BYTES = 4_000  # with details, below the 8 KiB that HTTP/2 peers accept by default


def grpc_status_of(error: CuihopError, request_id: str = "") -> Any:
    """The status of an error: a `grpc.Status` for ``abort_with_status``."""
    if isinstance(error, Cancelled):
        return rpc_status.to_status(status_pb2.Status(code=grpc.StatusCode.CANCELLED.value[0], message=str(error)))
    status = status_of(error)
    code: int = getattr(grpc.StatusCode, status.grpc).value[0]
    message = str(error)
    info = error_details_pb2.ErrorInfo(reason=status.reason, domain=ERROR_DOMAIN)
    if request_id:
        info.metadata["request_id"] = request_id
    details: list[Message] = [info]
    if isinstance(error, InputError):
        for name, value in (
            ("problem", error.problem),
            ("field", error.column),
            ("found", error.found),
            ("expected", error.expected),
            ("advice", error.advice),
        ):
            if value is not None:
                info.metadata[name] = str(value)
        field = error_details_pb2.BadRequest.FieldViolation(field=str(error.column or ""), description=message)
        details.append(error_details_pb2.BadRequest(field_violations=[field]))
    if isinstance(error, RateLimited):
        wait = Duration()
        wait.FromNanoseconds(int(error.retry_after * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=wait))
    if isinstance(error, ConceptError):
        kind = "invalid" if isinstance(error, InvalidCui) else "unknown"
        if isinstance(error, ConceptRetired):
            faults = faults_message(error.cuis, "retired", error.candidates)
        else:
            faults = faults_message(error.cuis, kind, {})
        listed = len(faults.faults)
        while faults.ByteSize() > _HEADER_BYTES and listed > 1:  # the total still has their number
            listed //= 2
            del faults.faults[listed:]
        details.append(faults)
    packed = []
    for detail in details:
        box = any_pb2.Any()
        box.Pack(detail)
        packed.append(box)
    return rpc_status.to_status(status_pb2.Status(code=code, message=message, details=packed))
