"""What an evaluation found: values per query, means, and counts of everything that was out of the ordinary."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cuihop.graph import Release
from cuihop.measures.measure import Family, Measure
from cuihop.snapshot_format import replaced_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GAIN_NAMES", "Evaluation", "EvaluationCounts", "IdentifierCount"]

GAIN_NAMES: dict[Family, str] = {"nn-CUI": "nn-IoU", "CUI": "IoU"}
"""What a relevant image gains under each measure."""


@dataclass(frozen=True, slots=True)
class IdentifierCount:
    """Identifiers of one kind: which, and how many times images have one of them."""

    identifiers: tuple[str, ...] = ()
    occurrences: int = 0

    @property
    def distinct(self) -> int:
        """How many there are."""
        return len(self.identifiers)


@dataclass(frozen=True, slots=True)
class EvaluationCounts:
    """What went into an evaluation. Where queries and corpus are two collections, both are counted.

    Attributes:
        queries, corpus: images of each; queries_in_corpus: queries that the corpus holds under the same name.
        empty_queries, empty_corpus: images without a concept.
        identifiers: distinct identifiers; occurrences: each counted in every image that has it.
        unknown, retired, invalid: identifiers that were kept as isolated concepts: not in the graph; retired
            without an exact successor in it; no identifier of it by their form.
        merged: retired identifiers that were taken for their successors; successors: which.
        repeated: how many times a concept stood again in the list of an image.
        fused: how many concepts images lost because two of their identifiers are one concept.
        self_retrieved: queries that stood in their own ranking, and were left out of it.
        missing: queries without a ranking, scored 0.
        short: queries with fewer images in their ranking than the largest K asks and the corpus has.
        empty_ideal: for each gain, the queries for which no other image gains anything: IDCG is 0.
    """

    queries: int
    corpus: int
    queries_in_corpus: int
    empty_queries: int
    empty_corpus: int
    identifiers: int
    occurrences: int
    unknown: IdentifierCount
    retired: IdentifierCount
    invalid: IdentifierCount
    merged: IdentifierCount
    successors: Mapping[str, str]
    repeated: int
    fused: int
    self_retrieved: int
    missing: tuple[str, ...]
    short: int
    empty_ideal: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of `cuihop.evaluation.evaluate`.

    Attributes:
        measures: what was measured.
        queries: the query images in the order of their file.
        values: float64, shape (queries, measures): NDCG@K; NaN for a query that was skipped because its IDCG is 0.
        best_gains: for each gain, the largest of any other image, float64, shape (queries,).
        concepts, unknown_concepts, retrieved: int64, shape (queries,): concepts of the query after retired
            identifiers were replaced, how many of them the graph does not hold, and images of its ranking that were
            looked at (at most the largest K).
        counts: what went in.
        release: of the graph; ``None`` where none was needed.
        parameters: everything that the values depend on beside the files and the release.
        versions: of the software.
    """

    measures: tuple[Measure, ...]
    queries: tuple[str, ...]
    values: npt.NDArray[np.float64]
    best_gains: Mapping[str, npt.NDArray[np.float64]]
    concepts: npt.NDArray[np.int64]
    unknown_concepts: npt.NDArray[np.int64]
    retrieved: npt.NDArray[np.int64]
    counts: EvaluationCounts
    release: Release | None
    parameters: Mapping[str, Any]
    versions: Mapping[str, str]

    def mean(self, measure: Measure | str) -> float:
        """The mean over the queries that were not skipped; NaN where all were.

        Raises:
            KeyError: it was not measured.
        """
        names = [str(m) for m in self.measures]
        if str(measure) not in names:
            raise KeyError(str(measure))
        values = self.values[:, names.index(str(measure))]
        scored = values[~np.isnan(values)]
        return math.fsum(scored) / len(scored) if len(scored) else math.nan

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of each measure by its name; ``None`` where all queries were skipped."""
        found = {str(measure): self.mean(measure) for measure in self.measures}
        return {name: None if math.isnan(mean) else mean for name, mean in found.items()}

    def _columns(self) -> Iterator[tuple[str, Any]]:
        yield "query", list(self.queries)
        yield "concepts", self.concepts
        yield "unknown_concepts", self.unknown_concepts
        yield "retrieved", self.retrieved
        for gain, best in self.best_gains.items():
            yield f"best {gain}", best
        for place, measure in enumerate(self.measures):
            yield str(measure), self.values[:, place]

    def to_pandas(self) -> pd.DataFrame:
        """One row for each query, in the order of their file; the columns are those of `to_csv`."""
        import pandas as pd

        return pd.DataFrame(dict(self._columns()))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row for each query, whole or not at all.

        Columns: query, concepts, unknown_concepts, retrieved, the largest gain of any other image for each gain,
        and each measure by its name. A value that was skipped is an empty field. Numbers are written so that reading
        them gives the same float64.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        names, columns = zip(*self._columns(), strict=True)
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*([_field(value) for value in column] for column in columns), strict=True))
        raw = text.getvalue().encode()
        with replaced_file(Path(path), expected_bytes=len(raw)) as file:
            file.write(raw)

    def summary(self) -> dict[str, Any]:
        """Means, counts, release, parameters and versions as plain values, ready for JSON."""
        counts = dataclasses.asdict(self.counts)
        for kind in ("unknown", "retired", "invalid", "merged"):
            counts[kind] = {"distinct": getattr(self.counts, kind).distinct, **counts[kind]}
        return {
            "means": self.means,
            "counts": counts,
            "release": None if self.release is None else dataclasses.asdict(self.release),
            "parameters": dict(self.parameters),
            "versions": dict(self.versions),
        }

    def to_json(self) -> str:
        """The `summary` as JSON."""
        return json.dumps(self.summary(), indent=2, ensure_ascii=False, allow_nan=False)


def _field(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(float(value))
    return str(value)
