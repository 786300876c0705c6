"""Parsers of the service's JSON. Another shape than the contract's is a `ValueError` or a `KeyError`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from cuihop.graph import (
    Concept,
    Definition,
    Direction,
    DistancePack,
    Neighbour,
    Path,
    Release,
    Resolution,
    SearchHit,
    Step,
)
from cuihop.identifiers import Identifiers
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

_STATUSES = ("current", "merged", "retired", "unknown", "invalid")


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
        faults = [
            FaultyIdentifier(_member(fault, "cui", str), _candidates(fault.get("candidates") or ()))
            for fault in document.get("faults") or ()
        ]
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
    limits = _member(document, "limits", dict)
    identifiers = _member(document, "identifiers", str)
    if identifiers not in get_args(Identifiers):
        raise ValueError(f"identifiers of the kind {identifiers!r}")
    release = Release(
        name=_member(document, "name", str),
        digest=_member(document, "digest", str),
        relations=_texts(document, "relations"),
        sabs=_texts(document, "sabs"),
        identifiers=identifiers,  # type: ignore[arg-type]
        concepts=_member(document, "concepts", int),
        edges=_member(document, "edges", int),
        source=_member(document, "source", str),
    )
    sizes = ("pairs", "concepts", "neighbours", "pack_concepts")
    info = ServiceInfo(
        release=release,
        indexed=_member(document, "indexed", bool),
        limits=ServiceLimits(*(_member(limits, size, int) for size in sizes)),
        names=_member(document, "names", bool),
        service_version=_member(document, "service_version", str),
    )
    return Response(info, release.digest)


def pair_distances(document: Body, pairs: int) -> Response[PairDistances]:
    """Parse the distances of a number of pairs."""
    hops = _member(document, "hops", list)
    _same_length(hops, pairs, "distances")
    reached = np.array([found is not None for found in hops], dtype=np.bool_)
    numbers = _numbers([0 if found is None else found for found in hops], np.int32)
    return _response(PairDistances(numbers, reached), document)


def path(document: Body, direction: Direction) -> Response[Path | None]:
    """Parse a path, or its absence."""
    places = document["path"]
    if places is None:
        return _response(None, document)
    steps = tuple(
        Step(_member(place, "cui", str), _relation(_member(place, "relation", str)), _texts(place, "sabs"))
        for place in places[1:]
    )
    return _response(Path(_member(places[0], "cui", str), steps, direction, _merged(document)), document)


def neighbourhoods(document: Body, centres: int) -> Response[list[CentreNeighbours]]:
    """Parse the neighbourhoods of a number of centres."""
    hoods = _member(document, "neighbourhoods", list)
    _same_length(hoods, centres, "neighbourhoods")
    found = [
        CentreNeighbours(
            _member(hood, "cui", str),
            tuple(
                Neighbour(_member(n, "cui", str), _member(n, "hops", int)) for n in _member(hood, "neighbours", list)
            ),
            _member(hood, "total", int),
        )
        for hood in hoods
    ]
    return _response(found, document)


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


def concepts(document: Body, count: int, names_only: bool) -> Response[list[Concept]]:
    """Parse the records of a number of concepts."""
    rows = _member(document, "concepts", list)
    _same_length(rows, count, "concepts")
    found = []
    for concept in rows:
        cui, name = _member(concept, "cui", str), _text_or_none(concept, "name")
        if names_only:
            found.append(Concept(cui, name, (), (), 0, 0))
            continue
        types = tuple(
            (_member(t, "tui", str), _member(t, "name", str)) for t in _member(concept, "semantic_types", list)
        )
        counts = _member(concept, "parents", int), _member(concept, "children", int)
        defined = (
            _member(concept, "definitions", list) if "definitions" in concept else ()
        )  # absent from an earlier service
        definitions = tuple(Definition(_member(d, "sab", str), _member(d, "text", str)) for d in defined)
        sabs = _texts(concept, "sabs") if "sabs" in concept else ()  # likewise
        found.append(Concept(cui, name, _texts(concept, "synonyms"), types, *counts, definitions, sabs))
    return _response(found, document)


def resolutions(document: Body, count: int) -> Response[list[Resolution]]:
    """Parse the resolutions of a number of identifiers."""
    rows = _member(document, "resolutions", list)
    _same_length(rows, count, "resolutions")
    found = []
    for row in rows:
        status = _member(row, "status", str)
        if status not in _STATUSES:
            raise ValueError(f"a resolution {status!r}")
        cui, candidates = _text_or_none(row, "cui"), _candidates(row.get("candidates") or ())
        found.append(Resolution(_member(row, "requested", str), status, cui, candidates))  # type: ignore[arg-type]
    return _response(found, document)


def hits(document: Body) -> Response[list[SearchHit]]:
    """Parse the hits of a search."""
    found = [
        SearchHit(_member(hit, "cui", str), _text_or_none(hit, "name"), _member(hit, "matched", str))
        for hit in _member(document, "hits", list)
    ]
    return _response(found, document)


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


def _texts(document: Any, name: str) -> tuple[str, ...]:
    values = _member(document, name, list)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is not as expected")
    return tuple(values)


def _text_or_none(document: Body, name: str) -> str | None:
    return None if document.get(name) is None else _member(document, name, str)


def _candidates(candidates: Any) -> tuple[tuple[str, str], ...]:
    return tuple((_member(candidate, "relation", str), _member(candidate, "cui", str)) for candidate in candidates)


def _relation(relation: str) -> Any:
    if relation not in {"parent", "child"}:
        raise ValueError(f"a relation {relation!r}")
    return relation


def _numbers(values: list[Any], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Whole numbers, 0 or more, checked against the range of the type."""
    found = np.array(values, dtype=None if values else np.int64)
    if found.ndim != 1 or found.dtype.kind != "i":
        raise ValueError("numbers are not as expected")
    if len(found) and (found.min() < 0 or found.max() > np.iinfo(kind).max):  # type: ignore[type-var]
        raise ValueError("a number is out of its range")
    return found.astype(kind)


def _same_length(items: list[Any], count: int, noun: str) -> None:
    if len(items) != count:
        raise ValueError(f"{len(items):,} {noun} for {count:,}")
