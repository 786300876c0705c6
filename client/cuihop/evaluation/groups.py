"""Means over the queries of each value of a label, such as modality or type of topic, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cuihop.collection.labels import Labels, LabelsLike
from cuihop.evaluation.means import mean_of, number_text, span_of
from cuihop.evaluation.resampling import checked_resampling, mean_interval
from cuihop.evaluation.result import MeasuredQueries
from cuihop.notebooks.table import Table

__all__ = ["GroupMean", "group_means", "group_table"]


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean of a measure over the queries that have one value of a label.

    Attributes:
        label: its name. value: empty for the queries without one.
        measure: its name.
        queries: number of queries that the mean is over. Weighted by it, the means of all values add up to the mean of
            all queries.
        mean: ``None`` where no query of the group has a value under the measure.
        low, high: confidence interval of the mean, by the bootstrap over the queries of the group.
    """

    label: str
    value: str
    measure: str
    queries: int
    mean: float | None
    low: float | None
    high: float | None


def group_means(
    evaluation: MeasuredQueries, labels: LabelsLike | None, by: str, *, confidence: float = 0.95,
    resamples: int = 10_000, seed: int = 0, threads: int | None = None,
) -> list[GroupMean]:  # fmt: skip
    """The mean of each measure over the queries of each value of a label.

    Measures stand in their order; the values of a label by number of queries, then by name, and queries without a
    value last. The intervals are those of `mean_interval`.

    Args:
        evaluation: of any kind.
        labels: labels of the queries, in any form of `Labels.of`.
        by: the name of the label.
        confidence: of the intervals. resamples: number of resamples. seed: the same gives the same.
        threads: number of threads; ``None`` is one for each core. The numbers do not depend on it.

    Raises:
        InputError: there is no such label, a query has no row of labels, or a parameter is out of its range.
    """
    checked_resampling(resamples, confidence, seed)
    table = Labels.of({} if labels is None else labels)
    table.codes([by])  # refuses a label that is not there
    table.rows(evaluation.queries)  # and queries without a row
    column = table.columns[by]
    values = np.array([column[query] for query in evaluation.queries])
    times = Counter(values.tolist())
    groups = [(value, values == value) for value in sorted(times, key=lambda each: (not each, -times[each], each))]
    means = []
    for column_index, measure in enumerate(map(str, evaluation.measures)):
        for value, here in groups:
            of_group = evaluation.values[here, column_index]
            scored = int((~np.isnan(of_group)).sum())
            interval = mean_interval(of_group, confidence=confidence, resamples=resamples, seed=seed, threads=threads)
            means.append(GroupMean(by, value, measure, scored, mean_of(of_group), *interval))
    return means


def group_table(means: Sequence[GroupMean], confidence: float = 0.95) -> Table:
    """A row for each measure and value of the label.

    Args:
        means: of one label. confidence: of their intervals.
    """
    label = means[0].label
    rows = [
        (each.measure, each.value or "none", f"{each.queries:,}", number_text(each.mean), span_of(each.low, each.high))
        for each in means
    ]
    titles = ("measure", label, "queries", "mean", f"{100 * confidence:.4g}% interval")
    return Table(titles, rows, f"by_{label}", f"Means by {label}.")
