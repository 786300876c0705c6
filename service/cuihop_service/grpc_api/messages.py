"""Conversion between the messages of the contract and the values of the core; and its errors as statuses of gRPC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import grpc
import numpy as np
from google.protobuf import any_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from cuihop.errors import ConceptError, CuihopError, InputError, RateLimited, ReleaseBehind
from cuihop.operations.answers import PackAnswer
from cuihop.remote.statuses import ERROR_DOMAIN, error_fields, faults_of, status_of
from cuihop.remote.wire import message_of, message_with
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_service.keyed_pairs import KeyedPairs
from cuihop_service.limits import Limits
from cuihop_service.request_context import Answer, Cancelled

M = TypeVar("M", bound=Message)

_TIERS = {"cache": pb.TIER_CACHE, "index": pb.TIER_INDEX, "cypher": pb.TIER_CYPHER}
_LARGEST_CUI = 9_999_999
_FAULTS_LISTED = 1_000
_HEADER_BYTES = 4_000  # with details, below the 8 KiB that HTTP/2 peers accept by default
_PACK_ENTRIES = 500_000  # in one message: about two megabytes


# Requests


def pairs_of(request: pb.DistancesRequest, limits: Limits, identifiers: str) -> Sequence[tuple[str, str]]:
    """The pairs of a batch; `InputError` for two forms at once or no CUIs, `LimitExceeded` for too many."""
    if not request.HasField("packed"):
        limits.check("pairs", len(request.pairs))
        return [(pair.a, pair.b) for pair in request.pairs]
    packed = request.packed
    if request.pairs:
        raise InputError("two forms of pairs", column="packed", found="pairs and packed", expected="one of them")
    if len(packed.a) != len(packed.b):
        raise InputError(
            "packed columns of two lengths", column="packed", found=f"{len(packed.a):,} and {len(packed.b):,}"
        )
    limits.check("pairs", len(packed.a))
    if identifiers != "cui":
        raise InputError("this release holds identifiers that are no CUIs", column="packed", expected="pairs")
    numbers = np.empty((len(packed.a), 2), dtype=np.uint32)
    numbers[:, 0], numbers[:, 1] = np.asarray(packed.a), np.asarray(packed.b)
    largest = numbers.max(initial=0)
    if largest > _LARGEST_CUI:
        raise InputError("no CUI has this number", column="packed", found=str(largest), expected="at most 9999999")
    return KeyedPairs.of_cuis(numbers)


# Answers


def provenance(answer: Answer[Any]) -> pb.Provenance:
    """Origin of an answer."""
    return pb.Provenance(release_digest=answer.digest, tier=_TIERS[answer.tier], from_cache=answer.from_cache)


def answer_message(kind: type[M], answer: Answer[Any]) -> M:
    """The message of an answer."""
    others: dict[str, Any] = {}
    if "merged" in kind.DESCRIPTOR.fields_by_name:
        others["merged"] = answer.merged or None
    if answer.codes:
        others["codes"] = codes_of(answer)
    return message_of(kind, answer.value, provenance=provenance(answer), **others)


def codes_of(answer: Answer[Any]) -> list[pb.SourceCode]:
    """The codes of its concepts, if they were requested."""
    return [message_of(pb.SourceCode, code) for code in answer.codes or ()]


def pack_messages(answer: Answer[PackAnswer]) -> Iterator[pb.GetDistancePackResponse]:
    """A pack in messages of complete rows. There is always a first message."""
    pack = answer.value
    message = pb.GetDistancePackResponse(cuis=pack.cuis, provenance=provenance(answer))
    first, rows = 0, len(pack.cuis)
    while True:
        begin = int(pack.indptr[first])
        last = max(first + 1, int(np.searchsorted(pack.indptr, begin + _PACK_ENTRIES, side="right")) - 1)
        last = min(last, rows)
        entries = slice(begin, int(pack.indptr[last]))
        message.row_lengths.extend(np.diff(pack.indptr[first : last + 1]).tolist())
        message.columns.extend(pack.indices[entries].tolist())
        message.hops = pack.hops[entries].tobytes()
        yield message
        if last >= rows:
            return
        first, message = last, pb.GetDistancePackResponse()


# Errors


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
        for name, value in error_fields(error).items():
            if value is not None and name not in {"reason", "detail"}:
                info.metadata[name] = str(value)
        field = error_details_pb2.BadRequest.FieldViolation(field=str(error.column or ""), description=message)
        details.append(error_details_pb2.BadRequest(field_violations=[field]))
    if isinstance(error, RateLimited | ReleaseBehind):
        wait = Duration()
        wait.FromNanoseconds(int(error.retry_after * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=wait))
    if isinstance(error, ConceptError):
        kind = pb.ConceptFault.Fault
        listed = min(len(error.cuis), _FAULTS_LISTED)
        faults = pb.ConceptFault(
            faults=[message_with(kind, **fault) for fault in islice(faults_of(error), listed)], total=len(error.cuis)
        )
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
