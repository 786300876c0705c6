"""Options of `evaluate` and `top_k` by their single names, for tests that vary one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from cuihop.collection.dataset import Dataset
from cuihop.evaluation.evaluate import evaluate, evaluate_each
from cuihop.evaluation.result import Evaluation
from cuihop.measures.nearness import Nearness
from cuihop.resources.resources import Resources

__all__ = ["FLAT", "evaluate_each_flat", "evaluate_flat", "grouped"]

_GROUPS = {"nearness": Nearness, "resources": Resources}
_DATA = ("corpus", "qrels", "labels")
FLAT = {*_DATA, *(field.name for group in _GROUPS.values() for field in dataclasses.fields(group) if field.init)}
"""The names that stand in a value of their own."""


def grouped(options: Mapping[str, Any]) -> dict[str, Any]:
    """n, λ and the like as `Nearness`, threads and the like as `Resources`; the others as they are."""
    found = {name: value for name, value in options.items() if name not in FLAT}
    for name, group in _GROUPS.items():
        given = {field.name for field in dataclasses.fields(group) if field.init} & options.keys()
        if given:
            found[name] = group(**{field: options[field] for field in given})
    return found


def _data(queries: Any, options: Mapping[str, Any]) -> Dataset:
    return Dataset(queries, **{name: options[name] for name in _DATA if name in options})


def evaluate_flat(queries: object, ranking: Any, graph: Any = None, **options: Any) -> Evaluation:
    """`evaluate` with flat options."""
    return evaluate(_data(queries, options), ranking, graph, **grouped(options))


def evaluate_each_flat(queries: object, rankings: Any, graph: Any = None, **options: Any) -> dict[str, Evaluation]:
    """`evaluate_each` with flat options."""
    return evaluate_each(_data(queries, options), rankings, graph, **grouped(options))
