"""Tables of the systems of a campaign: ranked, by labels of systems, and by labels of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from cuihop.collection.labels import Labels
from cuihop.comparison.comparison import is_error
from cuihop.comparison.score_card import ScoreCard
from cuihop.comparison.system_groups import (
    best_and_worst,
    query_group_table,
    system_group_table,
    system_groups,
    system_ranks,
    values_of_systems,
)
from cuihop.evaluation.groups import GroupMean, group_means
from cuihop.evaluation.means import number_text, relevance_name
from cuihop.files.text_lines import counted
from cuihop.measures import measures_named
from cuihop.notebooks.table import Table


@dataclass(frozen=True, eq=False)
class SystemLabels:
    """The labels of the systems, and those whose values are summarised: ``--systems`` and ``--by-system``."""

    labels: Labels | None
    by: Sequence[str]

    @classmethod
    def read(cls, systems: Path | None, by: Sequence[str] | None) -> SystemLabels:
        """Read the file; refuses ``--by-system`` without it."""
        if by and systems is None:
            raise typer.BadParameter("--by-system needs labels of the systems: --systems FILE")
        return cls(None if systems is None else Labels.read(systems), by or ())

    @property
    def account(self) -> list[str]:
        """A line on the file."""
        if self.labels is None:
            return []
        return [f"{self.labels.source}: {counted(len(self.labels.images), 'system')}, {', '.join(self.labels.columns)}"]

    def values(self, label: str, systems: Sequence[str]) -> dict[str, str]:
        """System → its value of a label."""
        return {} if self.labels is None else values_of_systems(self.labels, label, systems)


@dataclass(frozen=True, eq=False)
class RankedSystems:
    """Systems in the order of their means under the first measure, best first.

    Attributes:
        means: system → measure → mean. labels: of the systems.
        error: smaller means are better.
        best, worst: numbers of systems to list of each group of the first ``--by-system``; ``None`` lists all.
        found: system → documents that are relevant, as the first measure takes it, and retrieved; where they were
            counted.
    """

    means: Mapping[str, Mapping[str, float | None]]
    labels: SystemLabels
    error: bool
    best: int | None = None
    worst: int | None = None
    found: Mapping[str, int] | None = None

    @classmethod
    def of(
        cls, cards: Mapping[str, ScoreCard], measures: Sequence[str], by_rank: Mapping[str, Mapping[str, float | None]],
        labels: SystemLabels, best: int | None, worst: int | None,
    ) -> RankedSystems:  # fmt: skip
        """From score cards.

        Args:
            cards: of the systems. measures: their names. by_rank: system → measure → its mean by the rank column.
            labels, best, worst: as in the attributes.
        """
        means = {
            name: {m: card.means[m] for m in measures}
            | {f"{m} by rank": mean for m, mean in by_rank.get(name, {}).items()}
            for name, card in cards.items()
        }
        relevance = relevance_name(measures_named(measures[0])[0])
        counts = {name: card.counts.get("relevance", {}).get(relevance) for name, card in cards.items()}
        found = {name: count["relevant_retrieved"] for name, count in counts.items() if count}
        whole = found if len(found) == len(cards) else None
        return cls(means, labels, is_error(measures[0]), best, worst, whole)

    def __post_init__(self) -> None:
        """Refuse best and worst of each group without groups."""
        if (self.best, self.worst) != (None, None) and not self.labels.by:
            raise typer.BadParameter("--best and --worst are of each group: --by-system LABEL gives the groups")

    @property
    def ranks(self) -> dict[str, int]:
        """Rank of each system."""
        return system_ranks(self.means, next(iter(next(iter(self.means.values())))), error=self.error)

    def _listed(self) -> list[str]:
        ranks = self.ranks
        if (self.best, self.worst) == (None, None):
            return [*ranks, *(system for system in self.means if system not in ranks)]
        values = self.labels.values(self.labels.by[0], list(self.means))
        return best_and_worst(ranks, values, self.best or 0, self.worst or 0)

    def table(self) -> Table:
        """A row for each system: rank, labels, relevant documents retrieved, and means."""
        ranks, listed = self.ranks, self._listed()
        columns = {} if self.labels.labels is None else self.labels.labels.columns
        labels = {label: self.labels.values(label, list(self.means)) for label in columns}
        rows = [
            [system, f"{ranks[system]:,}" if system in ranks else "none", *(of[system] for of in labels.values()),
             *([] if self.found is None else [f"{self.found[system]:,}"]),
             *map(number_text, self.means[system].values())]
            for system in listed
        ]  # fmt: skip
        relevant = [] if self.found is None else ["relevant"]
        titles = ("system", "rank", *labels, *relevant, *next(iter(self.means.values())))
        left = f", {len(listed):,} of {len(self.means):,}" if len(listed) < len(self.means) else ""
        return Table(titles, rows, "systems", f"Systems by {titles[2 + len(labels) + len(relevant)]}{left}.")

    def tables(self) -> list[Table]:
        """The systems, and one table for each label of ``--by-system``."""
        return [self.table(), *(system_group_table(groups) for groups in self._groups())]

    def _groups(self) -> list[Any]:
        ranks, systems = self.ranks, list(self.means)
        return [system_groups(self.means, self.labels.values(by, systems), ranks, by) for by in self.labels.by]

    def fields(self) -> dict[str, Any]:
        """The tables, ready for JSON."""
        ranks = self.ranks
        ranked = [
            {"system": system, "rank": ranks.get(system), "means": self.means[system],
             "relevant_retrieved": None if self.found is None else self.found[system]}
            for system in self._listed()
        ]  # fmt: skip
        return {"ranked": ranked, "by_system": [asdict(group) for groups in self._groups() for group in groups]}


@dataclass(frozen=True, eq=False)
class QueryGroups:
    """Means by labels of the queries, of every system: ``--by``.

    Attributes:
        means: label → system → its means. confidence: of their intervals.
    """

    means: Mapping[str, Mapping[str, Sequence[GroupMean]]]
    confidence: float

    @classmethod
    def of(
        cls, cards: Mapping[str, ScoreCard], measures: Sequence[str], labels: Labels | None, by: Sequence[str] | None,
        *, resamples: int, confidence: float, seed: int, threads: int | None,
    ) -> QueryGroups:  # fmt: skip
        """From score cards; arguments as in `group_means`."""
        found: dict[str, dict[str, list[GroupMean]]] = {}
        for label in by or ():
            found[label] = {
                name: [
                    each
                    for each in group_means(
                        card.measured(), labels, label, confidence=confidence, resamples=resamples, seed=seed,
                        threads=threads,
                    )
                    if each.measure in measures
                ]
                for name, card in cards.items()
            }  # fmt: skip
        return cls(found, confidence)

    def tables(self) -> list[Table]:
        """One for each label."""
        return [query_group_table(of, self.confidence) for of in self.means.values()]

    def fields(self) -> dict[str, Any]:
        """The means, ready for JSON."""
        return {
            "by": [
                {"system": system, **asdict(each)}
                for of in self.means.values()
                for system, some in of.items()
                for each in some
            ]
        }
