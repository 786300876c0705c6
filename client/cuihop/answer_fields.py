"""Fields of answers in JSON: one table for the command line (``--json``), for HTTP, and for the remote client.

The attributes of a value are its fields: `fields_of` writes them, and `value_of` reads them. The other functions give
the plain dictionary of one answer. Release, retired identifiers and names that only one of the two adds stand beside
these fields, never instead of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from cuihop.annotation.mentions import Annotation
from cuihop.graph import (
    CommonAncestor,
    Direction,
    Distances,
    Neighbourhood,
    Path,
    Release,
    SearchHit,
)
from cuihop.similarity.hierarchy import HierarchyFacts, PairSimilarity, Similarities
from cuihop.similarity.options import InformationContent, SimilarityMeasure

if TYPE_CHECKING:
    from cuihop.measures.nn_iou import ConceptOverlap

T = TypeVar("T")

_PAIRS = {"semantic_types": ("tui", "name"), "candidates": ("relation", "cui")}
"""Attributes that hold pairs, and the fields of a pair. Candidates of a mention are values with fields of their own."""


def fields_of(value: Any) -> dict[str, Any]:
    """Fields of a dataclass: its attributes, with an object for each pair and each dataclass in a tuple.

    >>> from cuihop.graph import Resolution
    >>> fields_of(Resolution("C0000011", "retired", candidates=(("RB", "C0000012"),)))["candidates"]
    [{'relation': 'RB', 'cui': 'C0000012'}]
    """
    return {name: _written(name, getattr(value, name)) for name in _readers(value.__class__)}


def value_of(kind: Callable[..., T], document: Any) -> T:
    """A dataclass from its fields, each checked against the type of the attribute.

    Raises:
        KeyError: a field is missing that has no default.
        ValueError: a field is not of its type.
    """
    if type(document) is not dict:
        raise ValueError("no JSON object")
    members = {}
    for name, (expected, read, optional) in _readers(kind).items():
        if optional and name not in document:
            continue
        value = document[name]
        members[name] = value if type(value) is expected else read(value)
    return kind(**members)


def _written(name: str, value: Any) -> Any:
    if type(value) is tuple and value and is_dataclass(value[0]):
        return [fields_of(item) for item in value]
    if is_dataclass(value):
        return fields_of(value)
    if name in _PAIRS:
        return [dict(zip(_PAIRS[name], pair, strict=True)) for pair in value]
    return value


@cache
def _readers(kind: Any) -> dict[str, tuple[Any, Callable[[Any], Any], bool]]:
    """Attribute of a dataclass → its type, the function that reads its field, and true if it has a default."""
    types = get_type_hints(kind)
    return {
        f.name: (types[f.name], _reader(f.name, types[f.name]), (f.default, f.default_factory) != (MISSING, MISSING))
        for f in fields(kind)
    }


def _reader(name: str, expected: Any) -> Callable[[Any], Any]:
    """The function of a field that checks it against the type of its attribute."""
    origin, arguments = get_origin(expected), get_args(expected)
    if origin is UnionType:
        read = _reader(name, arguments[0])
        return lambda value: None if value is None else read(value)
    if origin is tuple and arguments[-1] is ...:
        read = _reader(name, arguments[0])
        return lambda value: tuple(map(read, _of_type(list, name, value)))
    if origin is tuple:
        return lambda value: tuple(_of_type(str, part, value[part]) for part in _PAIRS[name])
    if origin is Mapping:
        read_key, read_value = _reader(name, arguments[0]), _reader(name, arguments[1])
        return lambda value: {read_key(k): read_value(v) for k, v in _of_type(dict, name, value).items()}
    if origin is Literal:
        return lambda value: _one_of(arguments, name, value)
    if expected is float:
        return lambda value: float(value) if type(value) is int else _of_type(float, name, value)
    return partial(_of_type, expected, name) if expected in {str, int} else partial(value_of, expected)


def _of_type(expected: type[T], name: str, value: Any) -> T:
    if type(value) is not expected:
        raise ValueError(f"{name} is not as expected")
    return value


def _one_of(expected: tuple[Any, ...], name: str, value: Any) -> Any:
    if value not in expected:
        raise ValueError(f"{name} of the kind {value!r}")
    return value


def with_release(
    release: Release, fields: Mapping[str, Any], merged: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """An answer of the command line: its fields, retired identifiers with their successors, and the release.

    ``release`` is the digest, as over HTTP.
    """
    return {**fields, "merged": dict(merged or {}), "release": release.digest, "release_name": release.name}


def distance_fields(hops: int | None, a: str, b: str, direction: Direction, max_hops: int | None) -> dict[str, Any]:
    """The distance of one pair; ``hops`` is null where no path lies within the bound."""
    return {"a": a, "b": b, "hops": hops, "direction": direction, "max_hops": max_hops}


def distances_fields(distances: Distances) -> dict[str, Any]:
    """The distances of a batch; an array where every pair has a path."""
    return {
        "hops": distances.hops if distances.reached.all() else distances.to_list(),
        "direction": distances.direction,
        "max_hops": distances.max_hops,
    }


def path_fields(
    path: Path | None, names: Sequence[str | None], a: str, b: str, direction: Direction, max_hops: int | None
) -> dict[str, Any]:
    """A path with the names of its concepts, and the number of shortest paths; ``path`` is null where there is none."""
    concepts: list[dict[str, Any]] | None = None
    if path is not None:
        concepts = [{"cui": path.start, "name": names[0]}]
        concepts += [
            {"cui": step.cui, "name": name, "relation": step.relation, "sabs": step.sabs}
            for step, name in zip(path.steps, names[1:], strict=True)
        ]
    hops, total, which = (None, 0, None) if path is None else (path.hops, path.total, path.which)
    return {**distance_fields(hops, a, b, direction, max_hops), "path": concepts, "total": total, "which": which}


def neighbourhood_fields(hood: Neighbourhood) -> dict[str, Any]:
    """The concepts around one centre, nearest first."""
    return {
        "cui": hood.cui,
        "neighbours": [{"cui": neighbour.cui, "hops": neighbour.hops} for neighbour in hood],
        "total": hood.total,
        "truncated": hood.truncated,
    }


def common_ancestors_fields(
    ancestors: Sequence[CommonAncestor], names: Sequence[str | None], a: str, b: str, limit: int
) -> dict[str, Any]:
    """The concepts above two concepts, nearest first, with the names of those within the limit."""
    return {
        "a": a,
        "b": b,
        "total": len(ancestors),
        "truncated": len(ancestors) > limit,
        "common_ancestors": [
            {"cui": ancestor.cui, "name": name, "hops_a": ancestor.hops_a, "hops_b": ancestor.hops_b}
            for ancestor, name in zip(ancestors[:limit], names, strict=True)
        ],
    }


def search_fields(hits: Sequence[SearchHit]) -> dict[str, Any]:
    """Concepts found by name, best first."""
    return {"hits": [fields_of(hit) for hit in hits]}


def annotation_fields(annotation: Annotation) -> dict[str, Any]:
    """The mentions of one text, by position. The text itself is left out; each mention has its own part of it."""
    return {"mentions": [fields_of(mention) for mention in annotation]}


def relevance_fields(overlap: ConceptOverlap) -> dict[str, Any]:
    """IoU and nn-IoU of two concept sets A and B, with the near concepts of each side and their witnesses."""
    return {
        "iou": overlap.iou,
        "nn_iou": overlap.nn_iou,
        "shared": sorted(overlap.shared),
        "related": [
            {
                "cui": concept.cui,
                "side": concept.side,
                "witnesses": [{"cui": witness.cui, "hops": witness.hops} for witness in concept.witnesses],
                "similarity": concept.similarity,
            }
            for concept in overlap.related
        ],
        "union": len(overlap.A | overlap.B),
        "isolated": sorted(overlap.resolved.isolated),
        "dropped": sorted(overlap.resolved.dropped),
        "n": overlap.n,
        "lambda": overlap.lam,
        "weight": overlap.weight,
        "ic": overlap.ic,
        "direction": overlap.direction,
    }


def similarity_fields(
    pair: PairSimilarity, facts: HierarchyFacts, measures: Collection[SimilarityMeasure] | None = None
) -> dict[str, Any]:
    """Two concepts by these measures, or by every one, with their places, common ancestors and the hierarchy."""
    values = {m: value for m, value in pair.values.items() if measures is None or m in measures}
    return {**fields_of(pair), "values": values, "hierarchy": fields_of(facts)}


def similarities_fields(similarities: Similarities) -> dict[str, Any]:
    """The similarities of a batch of pairs, or of sets; null where there is no value."""
    options = similarities.options
    return {"similarities": similarities.to_list(), "measure": options.measure, "ic": options.ic}


def set_similarity_fields(
    a: Collection[str],
    b: Collection[str],
    values: Mapping[SimilarityMeasure, float | None],
    ic: InformationContent,
    facts: HierarchyFacts,
) -> dict[str, Any]:
    """Two sets of concepts by some measures."""
    return {"a": sorted(a), "b": sorted(b), "values": dict(values), "ic": ic, "hierarchy": fields_of(facts)}
