"""Parsers of the service's JSON. Another shape than the contract's is a `ValueError` or a `KeyError`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from cuihop.answer_fields import value_of
from cuihop.graph import Concept, Direction, DistancePack, Path, Release, Resolution, SearchHit, Step
from cuihop.remote.failures import FaultyIdentifier, Problem
from cuihop.remote.packs import checked_pack
from cuihop.remote.transport import CentreNeighbours, PairDistances, Response, ServiceInfo, ServiceLimits

__all__ = [
    "Body",
    "body",
    "concepts",
    "hits",
    "neighbourhoods",
    "pack",
    "pair_distances",
    "path",
    "problem",
    "resolutions",
    "service_info",
]

Body: TypeAlias = dict[str, Any]
T = TypeVar("T")


def body(content: bytes) -> Body:
    """Parse a JSON object."""
    parsed = json.loads(content.decode("utf-8"))
    if not isinstance(parsed, dict):
        raise ValueError("no JSON object")
    return parsed


def problem(content: bytes, retry_after: float | None) -> Problem | None:
    """Parse a problem that a cuihop service reports; ``None`` for the document of another server.

    Args:
        content: a problem document of RFC 9457.
        retry_after: seconds, from the header.
    """
    try:
        document = body(content)
        reason = _member(document, "reason", str)
        faults = [value_of(FaultyIdentifier, fault) for fault in document.get("faults") or ()]
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    seconds = document.get("retry_after")
    return Problem(
        reason=reason,
        message=str(document.get("detail") or document.get("title") or reason),
        faults=faults,
        parts={
            name: str(document[name])
            for name in ("problem", "field", "found", "expected", "advice", "file", "line")
            if document.get(name) is not None
        },
        retry_after=float(seconds) if isinstance(seconds, int | float) else retry_after,
    )


def service_info(document: Body) -> Response[ServiceInfo]:
    """Parse the description of a service."""
    limits = value_of(ServiceLimits, document["limits"])
    release = value_of(Release, document)
    info = ServiceInfo(
        release=release,
        indexed=_member(document, "indexed", bool),
        limits=limits,
        names=_member(document, "names", bool),
        service_version=_member(document, "service_version", str),
    )
    return Response(info, release.digest)


def pair_distances(document: Body, pairs: int) -> Response[PairDistances]:
    """Parse the distances of a number of pairs."""
    hops = _members(document, "hops", pairs)
    reached = np.array([found is not None for found in hops], dtype=np.bool_)
    numbers = _numbers([0 if found is None else found for found in hops], np.int32)
    return _response(PairDistances(numbers, reached), document)


def path(document: Body, direction: Direction) -> Response[Path | None]:
    """Parse a path, or its absence."""
    places = document["path"]
    if places is None:
        return _response(None, document)
    steps = tuple(value_of(Step, place) for place in places[1:])
    return _response(Path(_member(places[0], "cui", str), steps, direction, _merged(document)), document)


def neighbourhoods(document: Body, centres: int) -> Response[list[CentreNeighbours]]:
    """Parse the neighbourhoods of a number of centres."""
    hoods = _members(document, "neighbourhoods", centres)
    return _response([value_of(CentreNeighbours, hood) for hood in hoods], document)


def pack(document: Body, cuis: Sequence[str], bound: int, direction: Direction) -> Response[DistancePack]:
    """Parse the distance pack of the requested concepts."""
    used = _texts(document, "cuis")
    indptr = _numbers(_member(document, "indptr", list), np.int64)
    indices = _numbers(_member(document, "indices", list), np.int32)
    hops = _numbers(_member(document, "hops", list), np.uint8)
    answer = _response(None, document)
    found = DistancePack(used, indptr, indices, hops, bound=bound, direction=direction, digest=answer.digest)
    checked_pack(found, len(cuis))
    return Response(found, answer.digest, answer.merged)


def concepts(document: Body, count: int) -> Response[list[Concept]]:
    """Parse the records of a number of concepts."""
    return _response([value_of(Concept, row) for row in _members(document, "concepts", count)], document)


def resolutions(document: Body, count: int) -> Response[list[Resolution]]:
    """Parse the resolutions of a number of identifiers."""
    return _response([value_of(Resolution, row) for row in _members(document, "resolutions", count)], document)


def hits(document: Body) -> Response[list[SearchHit]]:
    """Parse the hits of a search."""
    return _response([value_of(SearchHit, hit) for hit in _member(document, "hits", list)], document)


def _response(value: T, document: Body) -> Response[T]:
    return Response(value, _member(document, "release", str), _merged(document))


def _merged(document: Body) -> dict[str, str]:
    merged = document.get("merged") or {}
    if not isinstance(merged, dict) or not all(isinstance(new, str) for new in merged.values()):
        raise ValueError("merged is not as expected")
    return merged


def _member(document: Any, name: str, kind: type[T]) -> T:
    """The member of this name, checked to be of this type."""
    if not isinstance(document, dict):
        raise ValueError("no JSON object")
    value = document[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} is not as expected")
    return value


def _members(document: Body, name: str, count: int) -> list[Any]:
    """The list of this name, checked to be of this length."""
    members = _member(document, name, list)
    if len(members) != count:
        raise ValueError(f"{len(members):,} {name} for {count:,}")
    return members


def _texts(document: Any, name: str) -> tuple[str, ...]:
    values = _member(document, name, list)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is not as expected")
    return tuple(values)


def _numbers(values: list[Any], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Whole numbers, 0 or more, checked against the range of the type."""
    found = np.array(values, dtype=None if values else np.int64)
    if found.ndim != 1 or found.dtype.kind != "i":
        raise ValueError("numbers are not as expected")
    if len(found) and (found.min() < 0 or found.max() > np.iinfo(kind).max):  # type: ignore[type-var]
        raise ValueError("a number is out of its range")
    return found.astype(kind)
