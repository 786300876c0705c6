"""Test vectors of the measures by concepts: verification of this installation, and of values computed elsewhere."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, isnan
from pathlib import Path
from typing import Any, TypeAlias

from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.tables import Schema
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.records import Records
from cuihop.files.text_lines import quoted, whole_text
from cuihop.measures.bipartite_matching import bipartite_matching
from cuihop.measures.f1 import nn_f1, nn_precision, nn_recall
from cuihop.measures.nearness import Nearness
from cuihop.measures.nn_iou import iou, nn_iou
from cuihop.measures.resolution import resolved_concepts
from cuihop.rankings.in_memory import scored_ranking
from cuihop.snapshot.graph import SnapshotGraph

__all__ = ["Difference", "TestVectors", "installed_vectors", "read_values"]

FORMAT = 1
FILE_NAME = "vectors.json"
LARGEST_FILE = 1 << 28
"""Bytes of a file of test vectors or of values."""

_EXPECTED = "test vectors as docs/test-vectors/README.md describes them"
_VALUES = Schema((("id",), ("value",)), "case and value", "two columns: id and value")

Value: TypeAlias = float | None
"""A value; ``None`` where a query, or every query, is left out."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that is not the expected one.

    Attributes:
        case: identifier of the value. way: of its computation.
        expected, found: the two values.
    """

    case: str
    way: str
    expected: Value
    found: Value


def installed_vectors() -> Path:
    """The test vectors of this installation."""
    packaged = Path(__file__).parents[1] / "test_vectors"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "docs" / "test-vectors"


@dataclass(frozen=True, eq=False)
class TestVectors:
    """Graphs, collections, and the values of measures on them.

    Attributes:
        graphs: name → edges, concepts, and retired identifiers.
        collections: name → graph, images and scored ranking.
        cases: measure, parameters and value of each case.
        tolerance: largest difference of two values that count as equal.
        source: the file.
    """

    __test__ = False  # no class of tests

    graphs: Mapping[str, Mapping[str, Any]]
    collections: Mapping[str, Mapping[str, Any]]
    cases: tuple[Mapping[str, Any], ...]
    tolerance: float
    source: str

    @classmethod
    def read(cls, path: Readable) -> TestVectors:
        """Read a file of test vectors, or the one in a folder.

        Raises:
            InputError: it is none, of another format, or without a field.
        """
        if isinstance(path, str | Path) and Path(path).is_dir():
            path = Path(path) / FILE_NAME
        file = opened_input(path)
        content = _json(file, _EXPECTED)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            version = content.get("format") if isinstance(content, dict) else type(content).__name__
            raise InputError(
                "not test vectors of this format", file=file.name, column="format", found=quoted(repr(version)),
                expected=f"{FORMAT}",
            )  # fmt: skip
        try:
            vectors = cls(
                content["graphs"], content["collections"], tuple(content["cases"]), float(content["tolerance"]),
                file.name,
            )  # fmt: skip
            if not isinstance(vectors.graphs, dict) or not isinstance(vectors.collections, dict):
                raise TypeError("graphs and collections by name")
            vectors.expected  # noqa: B018 - computed once, and every case is looked at
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _fault(error, "not test vectors", file.name) from None
        return vectors

    @cached_property
    def expected(self) -> dict[str, Value]:
        """Identifier of each value → the value. That of a query has the query after that of its case."""
        values: dict[str, Value] = {}
        for case in self.cases:
            values[case["id"]] = case["value"]
            values |= {f"{case['id']}/{query}": value for query, value in case.get("queries", {}).items()}
        return values

    @property
    def measures(self) -> dict[str, int]:
        """Measure → number of its cases, cut-offs together."""
        counts: dict[str, int] = {}
        for case in self.cases:
            name = case["measure"].partition("@")[0]
            counts[name] = counts.get(name, 0) + 1
        return counts

    def verify(self) -> list[Difference]:
        """Compute every case with this installation: one pair of sets, collections, and rankings.

        Raises:
            InputError: a case cannot be computed; names it.
        """
        differences: list[Difference] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about sets that the graph hardly holds, which stand here on purpose
            installation = _Installation(self)
            for case in self.cases:
                try:
                    differences += self._differences(installation.values(case))
                except (KeyError, TypeError, AttributeError) as error:
                    raise _fault(error, f"a case that cannot be computed, {quoted(case['id'])}", self.source) from None
        return differences

    def compare(self, values: Mapping[str, Value], way: str) -> list[Difference]:
        """Compare values that were computed elsewhere.

        Raises:
            InputError: a value of no case.
        """
        strange = next((name for name in values if name not in self.expected), None)
        if strange is not None:
            raise InputError(
                "a value of no case", file=way, found=quoted(strange), expected=f"identifiers of {self.source}"
            )
        return list(self._differences((way, name, value) for name, value in values.items()))

    def _differences(self, computed: Iterable[tuple[str, str, Value]]) -> Iterator[Difference]:
        """The values, each with its way and identifier, that are not as expected."""
        for way, name, value in computed:
            expected = self.expected[name]
            equal = expected is value if expected is None or value is None else abs(expected - value) <= self.tolerance
            if not equal:
                yield Difference(name, way, expected, value)


class _Installation:
    """The values of cases by the functions of one pair, and by whole evaluations."""

    def __init__(self, vectors: TestVectors) -> None:
        self._graphs = {name: _graph(graph) for name, graph in vectors.graphs.items()}
        self._collections = vectors.collections

    def values(self, case: Mapping[str, Any]) -> Iterator[tuple[str, str, Value]]:
        """Way of the computation, identifier and value."""
        if "collection" in case:
            yield from self._of_ranking(case)
            return
        nearness = _nearness(case)
        yield "one pair", case["id"], self._of_pair(case, nearness)
        if case["measure"] in ("IoU", "nn-IoU"):
            yield "collection", case["id"], self._of_collection(case, nearness)

    def _of_pair(self, case: Mapping[str, Any], nearness: Nearness) -> float:
        graph, a, b = self._graphs[case["graph"]], case["A"], case["B"]
        common: dict[str, Any] = {"direction": nearness.direction, "unknown": nearness.unknown}
        if case["measure"] == "BM":
            return bipartite_matching(a, b, graph, **common)
        if case["measure"] == "IoU":
            return iou(*(resolved_concepts(side, graph, nearness.unknown).concepts(side) for side in (a, b)))
        near: dict[str, Any] = {**common, "n": nearness.n, "lam": nearness.lam}
        if case["measure"] == "nn-IoU":
            return nn_iou(a, b, graph, **near, weight=nearness.weight, ic=nearness.ic)
        measures = {"nn-precision": nn_precision, "nn-recall": nn_recall, "nn-F1": nn_f1}
        return measures[case["measure"]](a, b, graph, **near)

    def _of_collection(self, case: Mapping[str, Any], nearness: Nearness) -> float:
        """The gain of the only image of a corpus."""
        query, corpus = (_images({side: case[side]}) for side in ("A", "B"))
        measure = "CUI@1" if case["measure"] == "IoU" else "nn-CUI@1"
        evaluation = evaluate(Dataset(query, corpus), {"A": ["B"]}, self._graphs[case["graph"]], measures=measure,
                         nearness=nearness)  # fmt: skip
        return float(evaluation.best_gains[case["measure"]][0])

    def _of_ranking(self, case: Mapping[str, Any]) -> Iterator[tuple[str, str, Value]]:
        collection = self._collections[case["collection"]]
        queries = _images(collection["queries"])
        corpus = None if collection["corpus"] is None else _images(collection["corpus"])
        scores = {query: dict(listed) for query, listed in collection["ranking"].items()}
        ranking = scored_ranking(scores, collection["queries"], collection["corpus"])
        evaluation = evaluate(
            Dataset(queries, corpus), ranking, self._graphs[collection["graph"]],
            measures=case["measure"], nearness=_nearness(case), empty_ideal=case["empty_ideal"],
        )  # fmt: skip
        yield "evaluation", case["id"], evaluation.means[case["measure"]]
        for query, value in zip(evaluation.queries, evaluation.values[:, 0].tolist(), strict=True):
            yield "evaluation", f"{case['id']}/{query}", None if isnan(value) else value


def _graph(fields: Mapping[str, Any]) -> SnapshotGraph:
    retired = [(old, "SY", successor) for old, successor in fields.get("successors", {}).items()]
    retired += [(old, "DEL", "") for old in fields.get("deleted", ())]
    edges = [(child, parent) for child, parent in fields["edges"]]
    return SnapshotGraph.of(edges, concepts=fields["concepts"], retired=retired, identifiers="cui")


def _images(images: Mapping[str, list[str]]) -> ImageConcepts:
    """The images, which may hold nothing that the graph knows."""
    return ImageConcepts({name: frozenset(concepts) for name, concepts in images.items()}, derived=True)


def _nearness(case: Mapping[str, Any]) -> Nearness:
    of = {"n": 0, "lambda": 0.0, "weight": "constant", "ic": "Sanchez", **case}
    return Nearness(*(of[name] for name in ("n", "lambda", "direction", "unknown", "weight", "ic")))


def read_values(path: Readable) -> dict[str, Value]:
    """Read values by case: a JSON object, or two columns, id and value; empty or null where there is none.

    Raises:
        InputError: a value is no number, or a case stands twice; names the line.
    """
    file = opened_input(path)
    expected = "a JSON object, case → number; or two columns: id and value"
    if file.name.lower().endswith(".json"):
        content = _json(file, expected)
        if not isinstance(content, dict):
            raise InputError("not values by case", file=file.name, found=type(content).__name__, expected=expected)
        for name, value in content.items():
            if isinstance(value, bool) or not (value is None or (isinstance(value, int | float) and isfinite(value))):
                raise InputError(
                    "not a number", file=file.name, column=quoted(name), found=quoted(repr(value)), expected="a number"
                )
        return content
    table = _VALUES.table(Records.of(file, expected))
    values = dict[str, Value]()
    for line, (name, text) in table.texts():
        if name in values:
            raise table.error("a case stands twice", line, 0, quoted(name), "each case once")
        try:
            values[name] = float(text) if text else None
            if not isfinite(values[name] or 0.0):
                raise ValueError
        except ValueError:
            raise table.error("not a number", line, 1, quoted(text), "a finite number") from None
    return values


def _fault(error: Exception, problem: str, source: str) -> InputError:
    """The error about content that is not as expected."""
    if isinstance(error, KeyError):
        missing = str(error.args[0])
        return InputError(f"{problem}: a field is missing", file=source, column=missing, found="nothing",
                          expected=_EXPECTED)  # fmt: skip
    return InputError(problem, file=source, found=quoted(str(error)), expected=_EXPECTED)


def _json(file: InputFile, expected: str) -> Any:
    try:
        return json.loads(whole_text(file, LARGEST_FILE))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", file=file.name, expected=expected) from None
