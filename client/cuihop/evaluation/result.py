"""The result of an evaluation: values of each query, means, and counts of everything out of the ordinary."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError, first_few
from cuihop.evaluation.counts import (
    IdentifierCount,
    JudgedCounts,
    account_by_concepts,
    account_by_judgements,
    conditions_by_concepts,
    conditions_by_judgements,
)
from cuihop.evaluation.means import MeanQueries, mean_columns, mean_of, number_text, relevance_name
from cuihop.graph import Release
from cuihop.measures.measure import Measure
from cuihop.notebooks.figures import evaluation_figure, saved_figure
from cuihop.notebooks.table import Table, write_columns
from cuihop.resources.optional_packages import data_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Details", "EmptyIdeal", "Evaluation", "MeasuredQueries", "Missing", "missing_rankings"]

EmptyIdeal: TypeAlias = Literal["zero", "skip"]
"""A judged query for which no other image gains anything: scored 0, or left out of table and mean."""

Missing: TypeAlias = Literal["error", "zero", "skip"]
"""A query without a ranking: an error, scored 0, or left out of table and mean."""


@dataclass(frozen=True, slots=True)
class Details:
    """Counts, parameters and inputs of an evaluation.

    Attributes:
        counts: numbers of everything that went in, as a dataclass.
        parameters: everything that the values depend on, the files and the release apart.
        inputs: name of each input → summary of the parsed input, in one line.
    """

    counts: Any
    parameters: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class MeasuredQueries:
    """Values of each query, their means, and everything that they depend on.

    Attributes:
        measures: the measures.
        queries: the queries in the order of their file.
        values: float64, shape (queries, measures); NaN for a query that was skipped or is not judged.
        release: of the graph; ``None`` where none was needed.
        versions: of the software.
        details: counts, parameters and inputs; or a function that computes them when they are first read, since
            hashing judgements can take longer than measuring.
    """

    measures: tuple[Measure, ...]
    queries: tuple[str, ...]
    values: npt.NDArray[np.float64]
    release: Release | None
    versions: Mapping[str, str]
    details: Details | Callable[[], Details]

    @cached_property
    def _details(self) -> Details:
        return self.details() if callable(self.details) else self.details

    @property
    def counts(self) -> Any:
        """`Details.counts`."""
        return self._details.counts

    @property
    def parameters(self) -> Mapping[str, Any]:
        """`Details.parameters`."""
        return self._details.parameters

    @property
    def inputs(self) -> Mapping[str, str]:
        """`Details.inputs`."""
        return self._details.inputs

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
        return dict(self._means)

    @property
    def mean_queries(self) -> dict[str, MeanQueries]:
        """The queries behind the mean of each measure, by its name."""
        return dict(self._mean_queries)

    @cached_property
    def _means(self) -> dict[str, float | None]:
        return {str(measure): mean_of(column) for measure, column in zip(self.measures, self.values.T, strict=True)}

    @cached_property
    def _mean_queries(self) -> dict[str, MeanQueries]:
        behind = {}
        for column, measure in enumerate(self.measures):
            scored = int((~np.isnan(self.values[:, column])).sum())
            others = (len(self._scorable(queries)) for queries in self._unscored(measure, column))
            behind[str(measure)] = MeanQueries(scored, *others)
        return behind

    @cached_property
    def _skipped(self) -> frozenset[str]:
        """The queries that were skipped for want of a ranking."""
        return frozenset(self.counts.missing) if self.parameters.get("missing") == "skip" else frozenset()

    def _scorable(self, queries: Sequence[str]) -> Sequence[str]:
        """The given queries without those that were skipped for want of a ranking."""
        return [query for query in queries if query not in self._skipped]

    def _unscored(self, measure: Measure, column: int) -> tuple[Sequence[str], Sequence[str]]:
        """The judged queries without anything relevant under a measure, and the unjudged ones."""
        return [self.queries[query] for query in np.flatnonzero(np.isnan(self.values[:, column]))], ()

    def table(self) -> Table:
        """The mean of each measure, and the queries behind it."""
        means = list(map(number_text, self.means.values()))
        counts = mean_columns([[each] for each in self.mean_queries.values()], self.parameters.get("empty_ideal"))
        titles, columns = zip(("measure", list(self.means)), ("mean", means), *counts, strict=True)
        return Table(titles, list(zip(*columns, strict=True)), "means", "Means over the queries.")

    def account(self, *, brief: bool = False) -> list[str]:
        """A line on the reading of each input, one on the conditions, and lines on everything out of the ordinary.

        With ``brief``, of the inputs only those that `_ALWAYS` finds, and no usual treatment.
        """
        inputs = (line for line in self.inputs.values() if not brief or _ALWAYS.search(line))
        return [*inputs, *filter(None, [self.conditions()]), *self._notes(brief=brief)]

    def conditions(self) -> str:
        """The collection, the parameters and the release in one line; empty for a result that has no such line."""
        return ""

    def _notes(self, *, brief: bool) -> Iterator[str]:
        """Lines on everything out of the ordinary, and how it was treated."""
        return iter(())

    def __str__(self) -> str:
        return "\n".join([self.table().text(), *self.account()])

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {number_text(mean)}" for name, mean in self.means.items())
        return f"<{type(self).__name__} of {len(self.queries):,} queries: {means}>"

    def _repr_html_(self) -> str:
        return self.table().html()

    def _beside(self) -> Iterator[tuple[str, Any]]:
        """Columns between the name of each query and its values."""
        return iter(())

    def _columns(self) -> Iterator[tuple[str, Any]]:
        yield "query", self.queries
        yield from self._beside()
        for column, measure in enumerate(self.measures):
            yield str(measure), self.values[:, column]

    def to_pandas(self) -> pd.DataFrame:
        """One row for each query, in the order of their file; the columns are those of `to_csv`."""
        return data_frame(dict(self._columns()))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row for each query, atomically.

        Columns: query, counts and best gains where there are any, and each measure by its name. A skipped value
        is an empty field. Numbers are written so that reading them gives the same float64.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        write_columns(path, list(self._columns()))

    def to_latex(self) -> str:
        r"""The means in LaTeX; they need ``\usepackage{booktabs}``."""
        return self.table().latex()

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the spread of the values under each measure; written to ``path`` (.svg, .png, .pdf) if given.

        Raises:
            ModuleNotFoundError: matplotlib is not installed; the message gives the command.
            InputError: another suffix. OutputError: the file cannot be written.
        """
        return saved_figure(evaluation_figure([str(measure) for measure in self.measures], self.values), path)

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


_ALWAYS = re.compile(
    r"; --order |a row for each query|set to 0|read in upper case|\b[1-9][\d,]* (captions?|pairs?) cut"
)
"""Words in the summary of an input whose form was inferred, that was changed, or contradicts itself."""

_LAST_DIGIT = 1e-4  # of a mean as it is printed


def _no_numbers() -> npt.NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Evaluation(MeasuredQueries):
    """The result of `cuihop.evaluate`.

    Its `counts` are `EvaluationCounts`, or `JudgedCounts` where the data hold no concepts.

    Attributes:
        retrieved: int64, shape (queries,): images of its ranking that were looked at (at most the largest K).
        best_gains: for each gain, the largest of any other image, float64, shape (queries,).
        concepts, unknown_concepts: int64, shape (queries,): concepts of the query after retired identifiers were
            replaced, and the number of them that the graph does not hold; shape (0,) where the data hold no concepts.
    """

    retrieved: npt.NDArray[np.int64]
    best_gains: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    concepts: npt.NDArray[np.int64] = field(default_factory=_no_numbers)
    unknown_concepts: npt.NDArray[np.int64] = field(default_factory=_no_numbers)

    def conditions(self) -> str:
        """The collection, the parameters and the release in one line."""
        if isinstance(self.counts, JudgedCounts):
            return conditions_by_judgements(self.counts)
        return " · ".join(conditions_by_concepts(self.counts, self.parameters, self.release))

    def _notes(self, *, brief: bool) -> Iterator[str]:
        if isinstance(self.counts, JudgedCounts):
            yield from account_by_judgements(self.counts, self.parameters, brief=brief)
        else:
            yield from account_by_concepts(self.counts, self.parameters, self.release, brief=brief)
        if not brief:
            yield from self._other_means()

    @property
    def means_by_empty_ideal(self) -> dict[str, dict[str, float | None]]:
        """The means under both treatments of queries without anything relevant: treatment → measure → mean.

        Those of the treatment of this evaluation are `means`.
        """
        rows = {query: row for row, query in enumerate(self.queries)}
        means: dict[str, dict[str, float | None]] = {"zero": {}, "skip": {}}
        for column, measure in enumerate(self.measures):
            without = [rows[query] for query in self._scorable(self._unscored(measure, column)[0])]
            for treatment, value in (("zero", 0.0), ("skip", math.nan)):
                values = self.values[:, column].copy()
                values[without] = value
                means[treatment][str(measure)] = mean_of(values)
        return means

    def _other_means(self) -> Iterator[str]:
        """Lines on means that the other treatment changes by more than their last digit."""
        used = str(self.parameters["empty_ideal"])
        other = self.means_by_empty_ideal["skip" if used == "zero" else "zero"]
        lines: dict[tuple[str, int], list[str]] = {}
        for measure in self.measures:
            name, here = str(measure), self.means[str(measure)]
            there = other[name]
            if here != there and (here is None or there is None or abs(here - there) > _LAST_DIGIT):
                key = relevance_name(measure), self.mean_queries[name].nothing_relevant
                lines.setdefault(key, []).append(f"{name} {number_text(there)}")
        for (relevance, queries), means in lines.items():
            treated = "without" if used == "zero" else "with 0 for"
            subject = "the query" if queries == 1 else f"the {queries:,} queries"
            yield f"{treated} {subject} without anything relevant by {relevance}: {', '.join(means)}"

    def summary(self) -> dict[str, Any]:
        """As in `MeasuredQueries`, and `means_by_empty_ideal`."""
        return {**super().summary(), "means_by_empty_ideal": self.means_by_empty_ideal}

    def worst(self, number: int = 10, measure: Measure | str | None = None) -> Table:
        """The queries with the smallest values of a measure: a row for each, with the values of all measures.

        Equal values keep the order of the queries. A query without a value is left out.

        Args:
            number: of queries, at most.
            measure: one that was measured; by default the first.

        Raises:
            InputError: it was not measured.
        """
        names = [str(each) for each in self.measures]
        by = names[0] if measure is None else str(measure)
        if by not in names:
            raise InputError("not measured", column="measure", found=by, expected=" or ".join(names))
        values = self.values[:, names.index(by)]
        worst = np.argsort(values, kind="stable")[: min(number, int((~np.isnan(values)).sum()))]
        rows = [(self.queries[row], *map(number_text, self.values[row].tolist())) for row in worst.tolist()]
        return Table(("query", *names), rows, "worst", f"Queries with the smallest {by}.")

    def _beside(self) -> Iterator[tuple[str, Any]]:
        if len(self.concepts):
            yield "concepts", self.concepts
            yield "unknown_concepts", self.unknown_concepts
        yield "retrieved", self.retrieved
        for gain, best in self.best_gains.items():
            yield f"best {gain}", best

    def _unscored(self, measure: Measure, column: int) -> tuple[Sequence[str], Sequence[str]]:
        name = relevance_name(measure)
        if measure.kind == "concepts":
            return self.counts.empty_ideal[name], ()
        return self.counts.nothing_relevant[name], self.counts.unjudged[name]


def missing_rankings(queries: Sequence[str], source: str = "memory") -> InputError:
    """The error about queries without a ranking."""
    return InputError(
        "queries without a ranking",
        file=None if source == "memory" else source,
        found=f"{len(queries):,}: {first_few(queries)}",
        expected="a ranking for every query",
        advice="missing='zero' (--missing zero) scores them 0; skip leaves them out.",
    )
