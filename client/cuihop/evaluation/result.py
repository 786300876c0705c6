"""What an evaluation found: values per query, means, and counts of everything that was out of the ordinary."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.evaluation.means import MeanQueries, mean_columns, mean_of
from cuihop.evaluation.relevance_names import relevance_name
from cuihop.files.csv_text import write_csv
from cuihop.graph import Release
from cuihop.measures.measure import Measure
from cuihop.notebooks.table import html_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = [
    "EmptyIdeal",
    "Evaluation",
    "EvaluationCounts",
    "IdentifierCount",
    "MeasuredQueries",
    "Missing",
]

EmptyIdeal: TypeAlias = Literal["zero", "skip"]
"""A judged query for which no other image gains anything: scored 0, or left out of table and mean."""

Missing: TypeAlias = Literal["error", "zero", "skip"]
"""A query without a ranking: an error, scored 0, or left out of table and mean."""

_SHOWN = 5


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
        unknown, retired: identifiers that were kept as isolated concepts: not in the graph; retired without an exact
            successor in it.
        merged: retired identifiers that were taken for their successors; successors: which.
        repeated: how many times a concept stood again in the list of an image.
        fused: how many concepts images lost because two of their identifiers are one concept.
        self_retrieved: queries that stood in their own ranking, and were left out of it.
        missing: queries without a ranking, scored 0 or skipped.
        short: queries with fewer images in their ranking than the largest K asks and the corpus has.
        empty_ideal: for each gain, the queries for which no other image gains anything: IDCG is 0.
        nothing_relevant: by whom relevance is judged → the judged queries for which nothing is relevant.
        unjudged: by whom relevance is judged → the queries that are not: without a label, or without a judgement. They
            leave the mean.
        unlabelled: labels → how many images lack one of them.
        judged_elsewhere: judgements that are not of one of the queries and an image of the corpus.
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
    merged: IdentifierCount
    successors: Mapping[str, str]
    repeated: int
    fused: int
    self_retrieved: int
    missing: tuple[str, ...]
    short: int
    empty_ideal: Mapping[str, tuple[str, ...]]
    nothing_relevant: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unjudged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unlabelled: Mapping[str, int] = field(default_factory=dict)
    judged_elsewhere: int = 0


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MeasuredQueries:
    """Values of each query, their means, and what they depend on.

    Attributes:
        measures: what was measured.
        queries: the queries in the order of their file.
        values: float64, shape (queries, measures); NaN for a query that was skipped or is not judged.
        counts: what went in.
        release: of the graph; ``None`` where none was needed.
        parameters: everything that the values depend on beside the files and the release.
        versions: of the software.
        inputs: what each input is → how it was read, in one line.
    """

    measures: tuple[Measure, ...]
    queries: tuple[str, ...]
    values: npt.NDArray[np.float64]
    counts: Any
    release: Release | None
    parameters: Mapping[str, Any]
    versions: Mapping[str, str]
    inputs: Mapping[str, str] = field(default_factory=dict)

    def mean(self, measure: Measure | str) -> float:
        """The mean over the queries that have a value; NaN where none has.

        Raises:
            KeyError: it was not measured.
        """
        names = [str(m) for m in self.measures]
        if str(measure) not in names:
            raise KeyError(str(measure))
        mean = mean_of(self.values[:, names.index(str(measure))])
        return math.nan if mean is None else mean

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of each measure by its name; ``None`` where no query has a value."""
        return {str(measure): mean_of(column) for measure, column in zip(self.measures, self.values.T, strict=True)}

    @property
    def mean_queries(self) -> dict[str, MeanQueries]:
        """The queries behind the mean of each measure, by its name."""
        left_out = set(self.counts.missing) if self.parameters.get("missing") == "skip" else set()
        found = {}
        for place, measure in enumerate(self.measures):
            scored = int((~np.isnan(self.values[:, place])).sum())
            others = (sum(query not in left_out for query in some) for some in self._unscored(measure, place))
            found[str(measure)] = MeanQueries(scored, *others)
        return found

    def _unscored(self, measure: Measure, place: int) -> tuple[Sequence[str], Sequence[str]]:
        """The judged queries without anything relevant under a measure, and those that it cannot judge."""
        return [self.queries[query] for query in np.flatnonzero(np.isnan(self.values[:, place]))], ()

    def table(self) -> list[tuple[str, ...]]:
        """The means for people, as texts: a header, then for each measure its mean and the queries behind it."""
        means = ["none" if mean is None else f"{mean:.4f}" for mean in self.means.values()]
        beside = mean_columns([[each] for each in self.mean_queries.values()], self.parameters.get("empty_ideal"))
        columns = [("measure", list(self.means)), ("mean", means), *beside]
        return list(zip(*([title, *cells] for title, cells in columns), strict=True))

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {'none' if mean is None else f'{mean:.4f}'}" for name, mean in self.means.items())
        return f"<{type(self).__name__} of {len(self.queries):,} queries: {means}>"

    def _repr_html_(self) -> str:
        header, *rows = self.table()
        return html_table(header, rows)

    def _account(self) -> Iterator[tuple[str, Any]]:
        """Columns that tell more of each query than its name."""
        return iter(())

    def _columns(self) -> Iterator[tuple[str, Any]]:
        yield "query", list(self.queries)
        yield from self._account()
        for place, measure in enumerate(self.measures):
            yield str(measure), self.values[:, place]

    def to_pandas(self) -> pd.DataFrame:
        """One row for each query, in the order of their file; the columns are those of `to_csv`."""
        import pandas as pd

        return pd.DataFrame(dict(self._columns()))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row for each query, whole or not at all.

        Columns: query, what the evaluation tells of each, and each measure by its name. A value that was skipped is an
        empty field. Numbers are written so that reading them gives the same float64.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        names, columns = zip(*self._columns(), strict=True)
        write_csv(path, names, zip(*([_field(value) for value in column] for column in columns), strict=True))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """How the values are spread under each measure, as a figure; written to ``path`` (.svg, .png, .pdf) if given.

        Raises:
            ModuleNotFoundError: matplotlib is not installed; says what to do.
            InputError: another suffix. OutputError: the file cannot be written.
        """
        from cuihop.notebooks.picture_file import written_if_asked
        from cuihop.notebooks.result_figures import evaluation_figure

        return written_if_asked(evaluation_figure([str(measure) for measure in self.measures], self.values), path)

    def summary(self) -> dict[str, Any]:
        """Means, counts, release, parameters and versions as plain values, ready for JSON."""
        counts = dataclasses.asdict(self.counts)
        for name, count in counts.items():
            if isinstance(count, dict) and isinstance(getattr(self.counts, name), IdentifierCount):
                counts[name] = {"distinct": len(count["identifiers"]), **count}
        return {
            "means": self.means,
            "mean_queries": {name: dataclasses.asdict(behind) for name, behind in self.mean_queries.items()},
            "counts": counts,
            "release": None if self.release is None else dataclasses.asdict(self.release),
            "parameters": dict(self.parameters),
            "versions": dict(self.versions),
            "inputs": dict(self.inputs),
        }

    def to_json(self) -> str:
        """The `summary` as JSON."""
        return json.dumps(self.summary(), indent=2, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Evaluation(MeasuredQueries):
    """The result of `cuihop.evaluate`.

    Attributes:
        best_gains: for each gain, the largest of any other image, float64, shape (queries,).
        concepts, unknown_concepts, retrieved: int64, shape (queries,): concepts of the query after retired
            identifiers were replaced, how many of them the graph does not hold, and images of its ranking that were
            looked at (at most the largest K).
    """

    counts: EvaluationCounts
    best_gains: Mapping[str, npt.NDArray[np.float64]]
    concepts: npt.NDArray[np.int64]
    unknown_concepts: npt.NDArray[np.int64]
    retrieved: npt.NDArray[np.int64]

    def _account(self) -> Iterator[tuple[str, Any]]:
        yield "concepts", self.concepts
        yield "unknown_concepts", self.unknown_concepts
        yield "retrieved", self.retrieved
        for gain, best in self.best_gains.items():
            yield f"best {gain}", best

    def _unscored(self, measure: Measure, place: int) -> tuple[Sequence[str], Sequence[str]]:
        name = relevance_name(measure)
        if measure.kind == "concepts":
            return self.counts.empty_ideal[name], ()
        return self.counts.nothing_relevant[name], self.counts.unjudged[name]


Way = TypeVar("Way", bound=str)


def checked_way(name: str, value: Way, allowed: Any) -> Way:
    """A parameter that is one of some words, or an `InputError`."""
    if value not in get_args(allowed):
        raise InputError("no such way", column=name, found=repr(value), expected=" or ".join(get_args(allowed)))
    return value


def missing_rankings(queries: Sequence[str], source: str = "memory") -> InputError:
    """The error about queries without a ranking."""
    more = f" and {len(queries) - _SHOWN:,} more" if len(queries) > _SHOWN else ""
    return InputError(
        "queries without a ranking",
        file=None if source == "memory" else source,
        found=f"{len(queries):,}: {', '.join(queries[:_SHOWN])}{more}",
        expected="a ranking for every query",
        advice="missing='zero' (--missing zero) scores them 0; skip leaves them out.",
    )


def _field(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(float(value))
    return str(value)
