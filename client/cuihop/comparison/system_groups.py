"""Systems by their labels, such as group and medium: ranks, best and worst of each group, spread of its means."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cuihop.collection.image_rows import cause_of_strange_name
from cuihop.collection.labels import Labels
from cuihop.errors import InputError, first_few
from cuihop.evaluation.groups import GroupMean
from cuihop.evaluation.means import number_text, span_of
from cuihop.files.text_lines import quoted
from cuihop.notebooks.table import Table

__all__ = [
    "SystemGroup",
    "best_and_worst",
    "query_group_table",
    "system_group_table",
    "system_groups",
    "system_ranks",
    "values_of_systems",
]

Means = Mapping[str, Mapping[str, float | None]]
"""System → measure → mean; ``None`` if no query has a value."""


@dataclass(frozen=True, slots=True)
class SystemGroup:
    """The means of the systems of one group, under one measure (ImageCLEFmed 2007, Table 7).

    Attributes:
        label: its name. value: empty for the systems without one.
        systems: number of systems. best_rank, worst_rank: of its systems among all, by the measure that ranks them.
        measure: its name. minimum, maximum, mean, median: of the systems' means; ``None`` if none has one.
    """

    label: str
    value: str
    systems: int
    best_rank: int | None
    worst_rank: int | None
    measure: str
    minimum: float | None
    maximum: float | None
    mean: float | None
    median: float | None


def values_of_systems(labels: Labels, by: str, systems: Iterable[str]) -> dict[str, str]:
    """System → its value of a label; empty without one.

    Raises:
        InputError: there is no such label, or a system has no row.
    """
    if by not in labels.columns:
        expected = " or ".join(map(quoted, labels.columns))
        raise InputError("no such label of systems", file=labels.source, found=quoted(by), expected=expected)
    column, systems = labels.columns[by], list(systems)
    if absent := [system for system in systems if system not in column]:
        raise InputError(
            "systems without a row of labels", file=labels.source, found=f"{len(absent):,}: {first_few(absent)}",
            expected="a row for every system", advice=cause_of_strange_name(absent[0], column),
        )  # fmt: skip
    return {system: column[system] for system in systems}


def system_ranks(means: Means, measure: str, *, error: bool) -> dict[str, int]:
    """Rank of each system from 1, best first; equal means share the better rank. Systems without a mean are left out.

    Args:
        means: of all systems. measure: that ranks them. error: smaller is better.

    >>> system_ranks({"a": {"AP": 0.5}, "b": {"AP": 0.7}, "c": {"AP": 0.5}}, "AP", error=False)
    {'b': 1, 'a': 2, 'c': 2}
    """
    keys = {system: value if error else -value for system, of in means.items() if (value := of[measure]) is not None}
    best_first = sorted(keys, key=keys.__getitem__)
    values = [keys[system] for system in best_first]
    return {system: values.index(keys[system]) + 1 for system in best_first}


def best_and_worst(ranks: Mapping[str, int], values: Mapping[str, str], best: int, worst: int) -> list[str]:
    """The best and the worst systems of each group, best first: no group fills a table.

    Args:
        ranks: of `system_ranks`, best first. values: of `values_of_systems`. best, worst: numbers of each group.
    """
    groups: dict[str, list[str]] = {}
    for system in ranks:
        groups.setdefault(values[system], []).append(system)
    listed = {system for of in groups.values() for system in (*of[:best], *of[len(of) - min(worst, len(of)) :])}
    return [system for system in ranks if system in listed]


def system_groups(means: Means, values: Mapping[str, str], ranks: Mapping[str, int], label: str) -> list[SystemGroup]:
    """The spread of the systems' means for each group and measure; groups by name, systems without a value last.

    Args:
        means: of all systems. values: of `values_of_systems`. ranks: of `system_ranks`. label: its name.
    """
    groups = []
    measures = next(iter(means.values()), {})
    for value in sorted(set(values.values()), key=lambda each: (not each, each)):
        systems = [system for system in means if values[system] == value]
        group_ranks = [ranks[system] for system in systems if system in ranks]
        for measure in measures:
            values_of_group = [each for system in systems if (each := means[system][measure]) is not None]
            spread: Iterable[float | None] = (None, None, None, None)
            if values_of_group:
                mean = math.fsum(values_of_group) / len(values_of_group)
                spread = (min(values_of_group), max(values_of_group), mean, statistics.median(values_of_group))
            ends = min(group_ranks, default=None), max(group_ranks, default=None)
            groups.append(SystemGroup(label, value, len(systems), *ends, measure, *spread))
    return groups


def system_group_table(groups: Sequence[SystemGroup]) -> Table:
    """A row for each measure and group.

    Args:
        groups: of one label.
    """
    label = groups[0].label
    measures = list(dict.fromkeys(group.measure for group in groups))
    rows = [
        (g.measure, g.value or "none", f"{g.systems:,}",
         *("none" if rank is None else f"{rank:,}" for rank in (g.best_rank, g.worst_rank)),
         *map(number_text, (g.minimum, g.maximum, g.mean, g.median)))
        for measure in measures for g in groups if g.measure == measure
    ]  # fmt: skip
    titles = ("measure", label, "systems", "best rank", "worst rank", "min", "max", "mean", "median")
    return Table(titles, rows, f"by_{label}", f"Systems by {label}.")


def query_group_table(means: Mapping[str, Sequence[GroupMean]], confidence: float) -> Table:
    """A row for each measure, value of a label of the queries, and system.

    Args:
        means: system → its means of `group_means`, of one label. confidence: of their intervals.
    """
    first = next(iter(means.values()))
    rows = [
        (g.measure, g.value or "none", system, f"{g.queries:,}", number_text(g.mean), span_of(g.low, g.high))
        for index in range(len(first))
        for system, groups in means.items()
        for g in [groups[index]]
    ]
    titles = ("measure", first[0].label, "system", "queries", "mean", f"{100 * confidence:.4g}% interval")
    return Table(titles, rows, f"by_{first[0].label}", f"Means by {first[0].label} of the queries.")
