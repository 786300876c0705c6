"""What the JSON of a service tells. Whatever has another shape than agreed is a `ValueError` or a `KeyError`."""

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
from cuihop.remote.packs import checked_pack
from cuihop.remote.port import Answered, Around, HopsOfPairs, Limits, Served
from cuihop.remote.problems import Fault, Problem

__all__ = ["Body", "around", "body", "concepts", "hits", "hops_of_pairs", "pack", "path", "problem", "resolutions"]

Body: TypeAlias = dict[str, Any]
T = TypeVar("T")

_STATUSES = ("current", "merged", "retired", "unknown", "invalid")


def body(content: bytes) -> Body:
    """The object that the bytes are."""
    told = json.loads(content.decode("utf-8"))
    if not isinstance(told, dict):
        raise ValueError("no JSON object")
    return told


def problem(content: bytes, retry_after: float | None) -> Problem | None:
    """What a cuihop service told of a failure; ``None`` where another one failed.

    Args:
        content: a problem document of RFC 9457.
        retry_after: seconds, from the header.
    """
    try:
        told = body(content)
        reason = _of(told, "reason", str)
        faults = [
            Fault(_of(fault, "cui", str), _candidates(fault.get("candidates") or ()))
            for fault in told.get("faults") or ()
        ]
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    seconds = told.get("retry_after")
    return Problem(
        reason=reason,
        message=str(told.get("detail") or told.get("title") or reason),
        faults=faults,
        parts={
            name: str(told[name])
            for name in ("problem", "field", "found", "expected", "advice", "file", "line")
            if told.get(name) is not None
        },
        retry_after=float(seconds) if isinstance(seconds, int | float) else retry_after,
    )


def served(told: Body) -> Answered[Served]:
    """What is served."""
    limits = _of(told, "limits", dict)
    identifiers = _of(told, "identifiers", str)
    if identifiers not in get_args(Identifiers):
        raise ValueError(f"identifiers of the kind {identifiers!r}")
    release = Release(
        name=_of(told, "name", str),
        digest=_of(told, "digest", str),
        relations=_texts(told, "relations"),
        sabs=_texts(told, "sabs"),
        identifiers=identifiers,  # type: ignore[arg-type]
        concepts=_of(told, "concepts", int),
        edges=_of(told, "edges", int),
        source=_of(told, "source", str),
    )
    asked = ("pairs", "concepts", "neighbours", "pack_concepts")
    found = Served(
        release=release,
        indexed=_of(told, "indexed", bool),
        limits=Limits(*(_of(limits, name, int) for name in asked)),
        names=_of(told, "names", bool),
        service_version=_of(told, "service_version", str),
    )
    return Answered(found, release.digest)


def hops_of_pairs(told: Body, pairs: int) -> Answered[HopsOfPairs]:
    """The distances of so many pairs."""
    hops = _of(told, "hops", list)
    _same_length(hops, pairs, "distances")
    reached = np.array([found is not None for found in hops], dtype=np.bool_)
    numbers = _numbers([0 if found is None else found for found in hops], np.int32)
    return _answered(HopsOfPairs(numbers, reached), told)


def path(told: Body, direction: Direction) -> Answered[Path | None]:
    """A path, or none."""
    places = told["path"]
    if places is None:
        return _answered(None, told)
    steps = tuple(
        Step(_of(place, "cui", str), _relation(_of(place, "relation", str)), _texts(place, "sabs"))
        for place in places[1:]
    )
    return _answered(Path(_of(places[0], "cui", str), steps, direction, _merged(told)), told)


def around(told: Body, centres: int) -> Answered[list[Around]]:
    """The neighbourhoods of so many centres."""
    hoods = _of(told, "neighbourhoods", list)
    _same_length(hoods, centres, "neighbourhoods")
    found = [
        Around(
            _of(hood, "cui", str),
            tuple(Neighbour(_of(n, "cui", str), _of(n, "hops", int)) for n in _of(hood, "neighbours", list)),
            _of(hood, "total", int),
        )
        for hood in hoods
    ]
    return _answered(found, told)


def pack(told: Body, cuis: Sequence[str], bound: int, direction: Direction) -> Answered[DistancePack]:
    """A distance pack of the concepts asked for."""
    used = _texts(told, "cuis")
    indptr = _numbers(_of(told, "indptr", list), np.int64)
    indices = _numbers(_of(told, "indices", list), np.int32)
    hops = _numbers(_of(told, "hops", list), np.uint8)
    answer = _answered(None, told)
    found = DistancePack(used, indptr, indices, hops, bound=bound, direction=direction, digest=answer.digest)
    checked_pack(found, len(cuis))
    return Answered(found, answer.digest, answer.merged)


def concepts(told: Body, asked: int, names_only: bool) -> Answered[list[Concept]]:
    """What is known of so many concepts."""
    known = _of(told, "concepts", list)
    _same_length(known, asked, "concepts")
    found = []
    for concept in known:
        cui, name = _of(concept, "cui", str), _text_or_none(concept, "name")
        if names_only:
            found.append(Concept(cui, name, (), (), 0, 0))
            continue
        types = tuple((_of(t, "tui", str), _of(t, "name", str)) for t in _of(concept, "semantic_types", list))
        counts = _of(concept, "parents", int), _of(concept, "children", int)
        defined = _of(concept, "definitions", list) if "definitions" in concept else ()  # an earlier service tells none
        definitions = tuple(Definition(_of(d, "sab", str), _of(d, "text", str)) for d in defined)
        sabs = _texts(concept, "sabs") if "sabs" in concept else ()  # likewise
        found.append(Concept(cui, name, _texts(concept, "synonyms"), types, *counts, definitions, sabs))
    return _answered(found, told)


def resolutions(told: Body, asked: int) -> Answered[list[Resolution]]:
    """What became of so many identifiers."""
    rows = _of(told, "resolutions", list)
    _same_length(rows, asked, "resolutions")
    found = []
    for row in rows:
        status = _of(row, "status", str)
        if status not in _STATUSES:
            raise ValueError(f"a resolution {status!r}")
        cui, candidates = _text_or_none(row, "cui"), _candidates(row.get("candidates") or ())
        found.append(Resolution(_of(row, "asked", str), status, cui, candidates))  # type: ignore[arg-type]
    return _answered(found, told)


def hits(told: Body) -> Answered[list[SearchHit]]:
    """Concepts found by name."""
    found = [
        SearchHit(_of(hit, "cui", str), _text_or_none(hit, "name"), _of(hit, "matched", str))
        for hit in _of(told, "hits", list)
    ]
    return _answered(found, told)


def _answered(value: T, told: Body) -> Answered[T]:
    return Answered(value, _of(told, "release", str), _merged(told))


def _merged(told: Body) -> dict[str, str]:
    merged = told.get("merged") or {}
    if not isinstance(merged, dict) or not all(isinstance(new, str) for new in merged.values()):
        raise ValueError("merged is not as expected")
    return merged


def _of(told: Any, name: str, kind: type[T]) -> T:
    """A member of that kind."""
    if not isinstance(told, dict):
        raise ValueError("no JSON object")
    value = told[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} is not as expected")
    return value


def _texts(told: Any, name: str) -> tuple[str, ...]:
    values = _of(told, name, list)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is not as expected")
    return tuple(values)


def _text_or_none(told: Body, name: str) -> str | None:
    return None if told.get(name) is None else _of(told, name, str)


def _candidates(told: Any) -> tuple[tuple[str, str], ...]:
    return tuple((_of(candidate, "relation", str), _of(candidate, "cui", str)) for candidate in told)


def _relation(told: str) -> Any:
    if told not in {"parent", "child"}:
        raise ValueError(f"a relation {told!r}")
    return told


def _numbers(told: list[Any], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Whole numbers from 0 on that the kind can hold."""
    found = np.array(told, dtype=None if told else np.int64)
    if found.ndim != 1 or found.dtype.kind != "i":
        raise ValueError("numbers are not as expected")
    if len(found) and (found.min() < 0 or found.max() > np.iinfo(kind).max):  # type: ignore[type-var]
        raise ValueError("a number is out of its range")
    return found.astype(kind)


def _same_length(found: Any, asked: int, what: str) -> None:
    if len(found) != asked:
        raise ValueError(f"{len(found):,} {what} for {asked:,}")
