"""Conversion between the messages of the contract and the values of the core; and its errors as statuses of gRPC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import grpc
import numpy as np
from google.protobuf import any_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from cuihop.errors import ConceptError, ConceptRetired, CuihopError, InputError, InvalidCui, RateLimited, ReleaseBehind
from cuihop.graph import (
    MATCHES,
    Direction,
    DistancePack,
    Distances,
    Neighbourhood,
    Path,
    Release,
    Resolution,
    SearchHit,
)
from cuihop.measures.near_weight import IntrinsicContent, Weight
from cuihop.measures.nn_iou import ConceptOverlap
from cuihop.measures.resolution import Unknown
from cuihop.remote.statuses import ERROR_DOMAIN, status_of
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_service.keyed_pairs import KeyedPairs
from cuihop_service.limits import Limits
from cuihop_service.request_context import Answer, Cancelled, RelevanceRow

_DIRECTIONS: dict[int, Direction] = {
    pb.DIRECTION_UNSPECIFIED: "any",
    pb.DIRECTION_ANY: "any",
    pb.DIRECTION_UP: "up",
    pb.DIRECTION_DOWN: "down",
    pb.DIRECTION_VERTICAL: "vertical",
}
_TIERS = {"cache": pb.TIER_CACHE, "index": pb.TIER_INDEX, "cypher": pb.TIER_CYPHER}
_RELATIONS = {"parent": pb.RELATION_PARENT, "child": pb.RELATION_CHILD}
_MATCHES = {kind: pb.MatchKind.Value(f"MATCH_KIND_{kind.upper()}") for kind in MATCHES}
_SIDES = {"A": pb.RelatedConcept.SIDE_A, "B": pb.RelatedConcept.SIDE_B}
_STATUSES = {
    "current": pb.RESOLUTION_STATUS_CURRENT,
    "merged": pb.RESOLUTION_STATUS_MERGED,
    "retired": pb.RESOLUTION_STATUS_RETIRED,
    "unknown": pb.RESOLUTION_STATUS_UNKNOWN,
    "invalid": pb.RESOLUTION_STATUS_INVALID,
}
_UNKNOWN: dict[int, Unknown] = {
    pb.UNKNOWN_CONCEPTS_UNSPECIFIED: "error",
    pb.UNKNOWN_CONCEPTS_ERROR: "error",
    pb.UNKNOWN_CONCEPTS_ISOLATED: "isolated",
    pb.UNKNOWN_CONCEPTS_DROP: "drop",
}
_WEIGHTS: dict[int, Weight] = {
    pb.NEAR_WEIGHT_UNSPECIFIED: "constant",
    pb.NEAR_WEIGHT_CONSTANT: "constant",
    pb.NEAR_WEIGHT_HOPS: "hops",
    pb.NEAR_WEIGHT_LIN: "Lin",
    pb.NEAR_WEIGHT_WU_PALMER: "Wu-Palmer",
}
_CONTENTS: dict[int, IntrinsicContent] = {
    pb.INFORMATION_CONTENT_UNSPECIFIED: "Sanchez",
    pb.INFORMATION_CONTENT_SANCHEZ: "Sanchez",
    pb.INFORMATION_CONTENT_SECO: "Seco",
}
_LARGEST_CUI = 9_999_999
_FAULTS_LISTED = 1_000
_HEADER_BYTES = 4_000  # with details, below the 8 KiB that HTTP/2 peers accept by default
_NO_CANDIDATES: Mapping[str, Sequence[tuple[str, str]]] = {}
_PACK_ENTRIES = 500_000  # in one message: about two megabytes


# Requests


def optional(message: Any, field: str) -> Any:
    """The value of an optional field; None where it is unset."""
    return getattr(message, field) if message.HasField(field) else None


def way(direction: int) -> Direction:
    """The direction.

    Raises:
        InputError: a number without a meaning in the contract.
    """
    try:
        return _DIRECTIONS[direction]
    except KeyError:
        raise InputError(
            "unknown direction", column="direction", found=str(direction), expected="a value of cuihop_api.v1.Direction"
        ) from None


def bounds(message: pb.SearchBounds) -> dict[str, Any]:
    """Direction and bound as the core takes them."""
    return {"direction": way(message.direction), "max_hops": optional(message, "max_hops")}


def pairs_of(request: pb.DistancesRequest, limits: Limits, identifiers: str) -> Sequence[tuple[str, str]]:
    """The pairs of a batch.

    Raises:
        InputError: both forms at once, packed columns of two lengths, or numbers that no CUI has.
        LimitExceeded: too many.
    """
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
    starts, ends = np.array(packed.a, dtype=np.uint32), np.array(packed.b, dtype=np.uint32)
    largest = max(int(numbers.max(initial=0)) for numbers in (starts, ends))
    if largest > _LARGEST_CUI:
        raise InputError("no CUI has this number", column="packed", found=str(largest), expected="at most 9999999")
    return KeyedPairs.of_cuis(starts, ends)


def rule(message: pb.RelevanceRule) -> dict[str, Any]:
    """The relevance rule, as the core takes it.

    Raises:
        InputError: an enumeration's number without meaning.
    """
    if message.unknown not in _UNKNOWN:
        raise InputError("unknown way to treat unknown concepts", column="unknown", found=str(message.unknown))
    if message.weight not in _WEIGHTS:
        raise InputError(
            "not a weight of near concepts", column="weight", found=str(message.weight),
            expected="a value of cuihop_api.v1.NearWeight",
        )  # fmt: skip
    if message.ic not in _CONTENTS:
        raise InputError(
            "not an intrinsic information content", column="ic", found=str(message.ic),
            expected="INFORMATION_CONTENT_SANCHEZ or INFORMATION_CONTENT_SECO",
        )  # fmt: skip
    n = optional(message, "n")
    return {
        "n": 1 if n is None else n,
        "lam": optional(message, "lambda"),
        "direction": way(message.direction),
        "unknown": _UNKNOWN[message.unknown],
        "weight": _WEIGHTS[message.weight],
        "ic": _CONTENTS[message.ic],
    }


# Answers


def provenance(answer: Answer[Any]) -> pb.Provenance:
    """Origin of an answer."""
    return pb.Provenance(release_digest=answer.digest, tier=_TIERS[answer.tier], from_cache=answer.from_cache)


def distances_message(answer: Answer[Distances]) -> pb.DistancesResponse:
    """The answer to a batch."""
    found = answer.value
    return pb.DistancesResponse(
        hops=(found.hops * found.reached).tolist(),
        unreached=np.flatnonzero(~found.reached).tolist(),
        merged=answer.merged,
        provenance=provenance(answer),
    )


def path_message(answer: Answer[tuple[Path | None, Sequence[str | None]]]) -> pb.PathResponse:
    """A path with names."""
    path, names = answer.value
    message = pb.PathResponse(merged=answer.merged, provenance=provenance(answer))
    if path is not None:
        message.path.start, message.path.total, message.path.which = path.start, path.total, path.which
        if names[0] is not None:
            message.path.start_name = names[0]
        message.path.steps.extend(
            pb.Step(cui=step.cui, relation=_RELATIONS[step.relation], sabs=step.sabs, name=name)
            for step, name in zip(path.steps, names[1:], strict=True)
        )
        message.path.SetInParent()
    return message


def hit_message(hit: SearchHit) -> pb.SearchHit:
    """A hit of a search."""
    return pb.SearchHit(cui=hit.cui, name=hit.name, matched=hit.matched, kind=_MATCHES[hit.kind])


def neighbourhood_message(answer: Answer[list[Neighbourhood]]) -> pb.NeighbourhoodResponse:
    """The concepts around each centre."""
    return pb.NeighbourhoodResponse(
        neighbourhoods=[
            pb.ConceptNeighbourhood(
                cui=found.cui,
                neighbours=[n.cui for n in found],
                hops=[n.hops for n in found],
                total=found.total,
            )
            for found in answer.value
        ],
        merged=answer.merged,
        provenance=provenance(answer),
    )


def overlap_message(answer: Answer[ConceptOverlap]) -> pb.SetRelevanceResponse:
    """Overlap of two sets, with its reasons."""
    overlap = answer.value
    return pb.SetRelevanceResponse(
        iou=overlap.iou,
        nn_iou=overlap.nn_iou,
        shared=sorted(overlap.shared),
        related=[
            pb.RelatedConcept(
                cui=r.cui,
                side=_SIDES[r.side],
                witnesses=[w.cui for w in r.witnesses],
                hops=[w.hops for w in r.witnesses],
                similarity=r.similarity,
            )
            for r in overlap.related
        ],
        union=len(overlap.A | overlap.B),
        isolated=sorted(overlap.resolved.isolated),
        dropped=sorted(overlap.resolved.dropped),
        merged=answer.merged,
        provenance=provenance(answer),
    )


def row_message(answer: Answer[RelevanceRow]) -> pb.RelevancesResponse:
    """The relevance of one set to each of many."""
    row = answer.value
    return pb.RelevancesResponse(
        iou=row.iou, nn_iou=row.nn_iou, isolated=row.isolated, dropped=row.dropped, merged=answer.merged,
        provenance=provenance(answer),
    )  # fmt: skip


def resolution_message(resolution: Resolution) -> pb.Resolution:
    """Resolution of an identifier."""
    return pb.Resolution(
        requested=resolution.requested,
        status=_STATUSES[resolution.status],
        cui=resolution.cui,
        candidates=[pb.Candidate(relation=relation, cui=cui) for relation, cui in resolution.candidates],
    )


def pack_messages(answer: Answer[DistancePack]) -> Iterator[pb.GetDistancePackResponse]:
    """A pack in parts of whole rows. There is always a first message."""
    pack = answer.value
    message = pb.GetDistancePackResponse(cuis=pack.cuis, provenance=provenance(answer))
    first, rows = 0, len(pack.cuis)
    while True:
        begin = int(pack.indptr[first])
        last = max(first + 1, int(np.searchsorted(pack.indptr, begin + _PACK_ENTRIES, side="right")) - 1)
        last = min(last, rows)
        part = slice(begin, int(pack.indptr[last]))
        message.row_lengths.extend(np.diff(pack.indptr[first : last + 1]).tolist())
        message.columns.extend(pack.indices[part].tolist())
        message.hops = pack.hops[part].tobytes()
        yield message
        if last >= rows:
            return
        first, message = last, pb.GetDistancePackResponse()


def release_message(release: Release) -> pb.Release:
    """The loaded release."""
    return pb.Release(**{field.name: getattr(release, field.name) for field in pb.Release.DESCRIPTOR.fields})


def limits_message(limits: Limits) -> pb.Limits:
    """Limits of the service."""
    return pb.Limits(**{field.name: getattr(limits, field.name) for field in pb.Limits.DESCRIPTOR.fields})


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
    if isinstance(error, RateLimited | ReleaseBehind):
        wait = Duration()
        wait.FromNanoseconds(int(error.retry_after * 1e9))
        details.append(error_details_pb2.RetryInfo(retry_delay=wait))
    if isinstance(error, ConceptError):
        faults = _faults_message(error)
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


def _faults_message(error: ConceptError) -> pb.ConceptFault:
    """The identifiers at fault."""
    status, candidates = "invalid" if isinstance(error, InvalidCui) else "unknown", _NO_CANDIDATES
    if isinstance(error, ConceptRetired):
        status, candidates = "retired", error.candidates
    return pb.ConceptFault(
        faults=[
            pb.ConceptFault.Fault(
                cui=cui,
                status=_STATUSES[status],
                candidates=[pb.Candidate(relation=relation, cui=c) for relation, c in candidates.get(cui, ())],
            )
            for cui in error.cuis[:_FAULTS_LISTED]
        ],
        total=len(error.cuis),
    )
