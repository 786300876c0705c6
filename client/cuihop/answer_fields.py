"""Fields of values in JSON: one table for the command line (``--json``), for HTTP, and for the remote client.

The attributes of a value are its fields: `fields_of` writes them, and `value_of` reads them. Release, retired
identifiers, and names that only one of the two adds, come in addition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from cuihop.graph import CommonAncestor, Release
from cuihop.operations.answers import Column, Gaps
from cuihop.similarity.hierarchy import HierarchyFacts, PairSimilarity
from cuihop.similarity.options import InformationContent, SimilarityMeasure

T = TypeVar("T")

PAIRS = {"semantic_types": ("tui", "name"), "candidates": ("relation", "cui")}
"""Attributes that hold pairs, and the fields of a pair. Candidates of a mention are values with fields of their own."""

NAMES = {"lam": "lambda"}
"""Attributes whose fields have other names."""


def fields_of(value: Any) -> dict[str, Any]:
    """Fields of a dataclass: its attributes, with an object for each pair and each dataclass in a tuple.

    >>> from cuihop.graph import Resolution
    >>> fields_of(Resolution("C0000011", "retired", candidates=(("RB", "C0000012"),)))["candidates"]
    [{'relation': 'RB', 'cui': 'C0000012'}]
    """
    kind = value.__class__
    written = {n: getattr(value, a) if write is _same else write(getattr(value, a)) for a, n, write in _writers(kind)}
    for name, other in _left_out(kind):
        if getattr(value, other) is None:
            del written[name]
    return written


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


@cache
def _writers(kind: Any) -> Sequence[tuple[str, str, Callable[[Any], Any]]]:
    """Attribute of a dataclass, its field, and the function that writes the field."""
    types = get_type_hints(kind)
    return [(f.name, NAMES.get(f.name, f.name), _writer(f.name, types[f.name])) for f in fields(kind)]


@cache
def _left_out(kind: Any) -> Sequence[tuple[str, str]]:
    """Fields that are left out if another attribute is None."""
    return [(f.name, f.metadata["unless"]) for f in fields(kind) if "unless" in f.metadata]


def _writer(name: str, kind: Any) -> Callable[[Any], Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union) and get_origin(arguments[0]) is tuple:
        write = _writer(name, arguments[0])
        return lambda value: None if value is None else write(value)
    if kind is Column:
        return _with_nulls
    if is_dataclass(kind):
        return fields_of
    if origin is tuple and is_dataclass(arguments[0]):
        return lambda values: [fields_of(value) for value in values]
    if origin is tuple and get_origin(arguments[0]) is tuple:
        return lambda pairs: [dict(zip(PAIRS[name], pair, strict=True)) for pair in pairs]
    return _same


def _same(value: T) -> T:
    return value


def _with_nulls(column: Column) -> Any:
    """A column as a list; as an array if it has no gap."""
    if column.defined.all():
        return column.numbers
    pairs = zip(column.numbers.tolist(), column.defined.tolist(), strict=True)
    return [number if defined else None for number, defined in pairs]


@cache
def _readers(kind: Any) -> dict[str, tuple[Any, Callable[[Any], Any], bool]]:
    """Attribute of a dataclass → its type, the function that reads its field, and true if it has a default."""
    types = get_type_hints(kind, include_extras=True)
    return {
        f.name: (types[f.name], _reader(f.name, types[f.name]), (f.default, f.default_factory) != (MISSING, MISSING))
        for f in fields(kind)
        if f.init
    }


def _reader(name: str, expected: Any) -> Callable[[Any], Any]:
    """The function of a field that checks it against the type of its attribute."""
    origin, arguments = get_origin(expected), get_args(expected)
    if origin is Annotated:
        note = arguments[1]
        return partial(_column, name, note.numbers) if isinstance(note, Gaps) else partial(_numbers, name, note)
    if origin in (UnionType, Union):
        read = _reader(name, arguments[0])
        return lambda value: None if value is None else read(value)
    if origin is tuple and arguments[-1] is ...:
        read = _reader(name, arguments[0])
        return lambda value: tuple(map(read, _of_type(list, name, value)))
    if origin is tuple:
        return lambda value: tuple(_of_type(str, member, value[member]) for member in PAIRS[name])
    if origin is Mapping:
        read_key, read_value = _reader(name, arguments[0]), _reader(name, arguments[1])
        return lambda value: {read_key(k): read_value(v) for k, v in _of_type(dict, name, value).items()}
    if origin is Literal:
        return lambda value: _one_of(arguments, name, value)
    if expected is float:
        return lambda value: float(value) if type(value) is int else _of_type(float, name, value)
    return partial(_of_type, expected, name) if expected in {str, int, bool} else partial(value_of, expected)


def _of_type(expected: type[T], name: str, value: Any) -> T:
    if type(value) is not expected:
        raise ValueError(f"{name} is not as expected")
    return value


def _one_of(expected: tuple[Any, ...], name: str, value: Any) -> Any:
    if value not in expected:
        raise ValueError(f"{name} of the kind {value!r}")
    return value


def _column(name: str, kind: type[int] | type[float], values: Any) -> Column:
    """A column from a list of numbers and nulls."""
    defined = np.array([value is not None for value in _of_type(list, name, values)], dtype=np.bool_)
    plain = [0 if value is None else value for value in values]
    if kind is int:
        return Column(_numbers(name, np.int32, plain), defined)
    if any(type(value) not in (float, int) for value in plain):
        raise ValueError(f"{name}: one is no number")
    return Column(np.array(plain, dtype=np.float64), defined)


def _numbers(name: str, kind: type[np.generic], values: Any) -> npt.NDArray[Any]:
    """Whole numbers, 0 or more, checked against the range of the type."""
    numbers = np.array(_of_type(list, name, values), dtype=None if values else np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind != "i":
        raise ValueError(f"{name}: numbers are not as expected")
    if len(numbers) and (numbers.min() < 0 or numbers.max() > np.iinfo(kind).max):  # type: ignore[type-var]
        raise ValueError(f"{name}: a number is out of its range")
    return numbers.astype(kind)


def with_release(
    release: Release, fields: Mapping[str, Any], merged: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """An answer of the command line: its fields, retired identifiers with their successors, and the release.

    ``release`` is the digest, as over HTTP.
    """
    return {**fields, "merged": dict(merged or {}), "release": release.digest, "release_name": release.name}


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


def similarity_fields(
    pair: PairSimilarity, facts: HierarchyFacts, measures: Collection[SimilarityMeasure] | None = None
) -> dict[str, Any]:
    """Two concepts by these measures, or by every one, with their places, common ancestors and the hierarchy."""
    values = {m: value for m, value in pair.values.items() if measures is None or m in measures}
    return {**fields_of(pair), "values": values, "hierarchy": fields_of(facts)}


def set_similarity_fields(
    a: Collection[str],
    b: Collection[str],
    values: Mapping[SimilarityMeasure, float | None],
    ic: InformationContent,
    facts: HierarchyFacts,
) -> dict[str, Any]:
    """Two sets of concepts by some measures."""
    return {"a": sorted(a), "b": sorted(b), "values": dict(values), "ic": ic, "hierarchy": fields_of(facts)}
