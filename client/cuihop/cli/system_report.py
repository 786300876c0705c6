"""Reports of systems that one command scores on the same queries: tables, JSON, files and notes; ranked systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import typer

from cuihop.annotated_texts.nearest_concepts import MatchedConcepts
from cuihop.annotated_texts.score_tables import (
    false_positives_by_hops,
    hops_table,
    miss_table,
    near_misses,
    type_scores,
    type_table,
)
from cuihop.cli.compared_systems import named_files, write_cards
from cuihop.cli.evaluation_options import PlotOptions, TablesOptions
from cuihop.cli.output import Output, print_json, print_lines, print_table, write_and_show
from cuihop.collection.labels import Labels
from cuihop.comparison.comparison import compare, is_error
from cuihop.comparison.score_card import ScoreCard, system_name
from cuihop.comparison.system_groups import (
    best_and_worst,
    system_group_table,
    system_groups,
    system_ranks,
    values_of_systems,
)
from cuihop.evaluation.groups import GroupMean, group_means, group_table
from cuihop.evaluation.means import number_text, relevance_name
from cuihop.evaluation.result import MeasuredQueries
from cuihop.files.text_lines import counted
from cuihop.graph import ConceptGraph
from cuihop.measures import measures_named
from cuihop.notebooks.table import Table, write_tables


def predictions_named(texts: Sequence[str], argument: str) -> dict[str, Path]:
    """Name of each system → its file, from NAME=FILE, or from FILE alone, which gives its own name."""
    files: dict[str, Path] = {}
    for stated_name, path in named_files(texts, argument):
        name = stated_name or system_name(path.name)
        if name in files:
            raise typer.BadParameter(f"two predictions are called {name!r}; NAME=FILE renames one")
        files[name] = path
    return files


class SystemReport:
    """Scores of one system or several, collected from the results, and their comparison.

    ``rows`` bounds long tables; ``tests`` are resamples, confidence, seed and threads, as of `compare`.
    """

    def __init__(self, results: Mapping[str, MeasuredQueries], rows: int, tests: Mapping[str, Any]) -> None:
        self._results, self._rows, self._tests = results, rows, tests
        self._cards = {name: ScoreCard.of(values, name) for name, values in results.items()}
        self._comparison = compare(self._cards, **tests) if len(results) > 1 else None
        self._fields: dict[str, dict[str, Any]] = {name: {"system": name} for name in results}
        self._tables: list[Table] = []
        self._details: list[Table] = []  # of a single system

    def add(
        self, field: str, rows: Mapping[str, Sequence[Any]],
        table: Callable[[Mapping[str, Sequence[Any]]], Table],
    ) -> None:  # fmt: skip
        """Add a table of all systems; ``rows``, dataclasses of each system, are the ``field`` of JSON."""
        for name, fields in self._fields.items():
            fields[field] = [asdict(row) for row in rows[name]]
        if any(rows.values()):
            self._tables.append(table(rows))

    def add_groups(self, labels: Labels | None, by: Sequence[str] | None) -> None:
        """Add the means over the queries of each value of some labels, a table for each label and system."""
        for name, result in self._results.items():
            groups = [group_means(result, labels, label, **self._tests) for label in by or ()]
            self._fields[name]["by"] = [asdict(mean) for means in groups for mean in means]
            for means in groups:
                table = group_table(means, self._tests["confidence"])
                caption = table.caption if self._comparison is None else f"{name}: {table.caption}"
                self._tables.append(replace(table, caption=caption))

    def add_details(
        self, field: str, rows: Mapping[str, Sequence[Any]], table: Callable[[Sequence[Any]], Table]
    ) -> None:
        """Add the first rows of each system to JSON, and those of a single system to the tables; arguments as `add`."""
        for name, fields in self._fields.items():
            fields[field] = [asdict(row) for row in rows[name][: self._rows]]
            self._details += _first_rows(table(rows[name]), self._rows)

    def add_matches(
        self, matches: Mapping[str, MatchedConcepts | None], graph: ConceptGraph | None, things: str, *, types: bool
    ) -> None:
        """Add near misses, hops of false positives, and semantic types; without a graph nothing is matched.

        ``matches`` has the concepts of each system, ``None`` if there are none; ``things`` are the queries: images, …
        """
        matched = {name: each for name, each in matches.items() if each is not None} if graph is not None else {}
        hops = {name: false_positives_by_hops(each) for name, each in matched.items()}
        self._details += map(hops_table, hops.values())
        misses = {name: near_misses(matched[name], graph) if graph and name in matched else [] for name in matches}
        self.add_details("near_misses", misses, lambda rows: miss_table(rows, things))
        for name, fields in self._fields.items():
            if things == "images":
                fields["near_misses"] = [
                    {"images" if key == "texts" else key: value for key, value in miss.items()}
                    for miss in fields["near_misses"]
                ]
            fields["false_positives_by_hops"] = hops.get(name)
        if types:
            scores = {name: type_scores(matched[name], graph) if graph and name in matched else [] for name in matches}
            typed = {name: rows if any(row.tui for row in rows) else [] for name, rows in scores.items()}
            self.add_details("semantic_types", typed, lambda rows: type_table(rows, things))

    def write(
        self, values: tuple[str, str, Path | None], outputs: TablesOptions, *, json: bool,
        inputs: Mapping[str, str] | None = None, verbose: bool = True,
    ) -> None:  # fmt: skip
        """Write the requested files, and print the report.

        Args:
            values: title, name in JSON, and path of the values of each query; those of several systems side by side.
            outputs: files; a figure is of the differences, or for one system of the spread of its values.
            inputs: name of each further input → a line on it; a command without any has no such field.
            verbose: without, of the details only some near misses are printed, and no usual treatment.
        """
        comparison = self._comparison
        tables = [*self._tables, *(self._details if comparison is None else [comparison.table()])]
        brief = [table for table in tables if verbose or table.name != "hops"]
        result = comparison or next(iter(self._results.values()))
        title, field, path = values

        def show(written: Mapping[str, str]) -> None:
            if json:
                tests = {"differences": [], "holm": None} if comparison is None else comparison.summary()
                print_json({
                    "systems": [{**self._fields[name], **each.summary()} for name, each in self._results.items()],
                    **{name: tests[name] for name in ("differences", "holm")},
                    **({} if inputs is None else {"inputs": inputs}),
                    field: written.get(title),
                })  # fmt: skip
                return
            for index, table in enumerate(brief):
                print_table(table, table.caption if index and table.name != "differences" else None)
            notes = {name: each.account(brief=not verbose) for name, each in self._results.items()}
            of_tests = [] if comparison is None else comparison.notes_on_tests(not verbose)
            print_lines([*(inputs or {}).values(), *of_tests, *joint_notes(notes)], written)

        files: list[Output] = [
            (title, path, result.to_csv),
            ("Tables", outputs.report, lambda path: write_tables(path, tables)),
            ("Score cards", outputs.cards, lambda path: write_cards(path, self._cards)),
            ("Figure", outputs.plot if isinstance(outputs, PlotOptions) else None, result.plot),
        ]
        write_and_show(files, show)


def joint_notes(notes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines that all systems have in common; then those of one of them, each with its name."""
    shared = [line for line in next(iter(notes.values()), []) if all(line in lines for lines in notes.values())]
    yield from shared
    for name, lines in notes.items():
        yield from (line if line.startswith(f"{name}: ") else f"{name}: {line}" for line in lines if line not in shared)


def _first_rows(table: Table, rows: int) -> Iterator[Table]:
    """The table with its first rows, and a caption that says so; nothing of an empty table."""
    if len(table.rows) > rows > 0:
        caption = f"{table.caption} The first {rows:,} of {len(table.rows):,} rows."
        yield replace(table, rows=table.rows[:rows], caption=caption)
    elif table.rows and rows:
        yield table


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
        means: system → measure → mean. error: smaller means are better.
        best, worst: numbers of systems to list of each group of the first ``--by-system``; ``None`` lists all.
        relevant_retrieved: system → its relevant documents, as the first measure takes them, that it retrieved;
            ``None`` if they were not counted.
    """

    means: Mapping[str, Mapping[str, float | None]]
    labels: SystemLabels
    error: bool
    best: int | None = None
    worst: int | None = None
    relevant_retrieved: Mapping[str, int] | None = None

    @classmethod
    def of(
        cls, cards: Mapping[str, ScoreCard], measures: Sequence[str], by_rank: Mapping[str, Mapping[str, float | None]],
        labels: SystemLabels, best: int | None, worst: int | None,
    ) -> RankedSystems:  # fmt: skip
        """From score cards; ``by_rank``: system → measure → its mean by the rank column."""
        means = {
            name: {m: card.means[m] for m in measures}
            | {f"{m} by rank": mean for m, mean in by_rank.get(name, {}).items()}
            for name, card in cards.items()
        }
        relevance = relevance_name(measures_named(measures[0])[0])
        counts = {name: card.counts.get("relevance", {}).get(relevance) for name, card in cards.items()}
        retrieved = {name: count["relevant_retrieved"] for name, count in counts.items() if count}
        complete = retrieved if len(retrieved) == len(cards) else None
        return cls(means, labels, is_error(measures[0]), best, worst, complete)

    def __post_init__(self) -> None:
        """Refuse best and worst of each group without groups."""
        if (self.best, self.worst) != (None, None) and not self.labels.by:
            raise typer.BadParameter("--best-systems and --worst-systems need groups: add --by-system LABEL")

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
             *([] if self.relevant_retrieved is None else [f"{self.relevant_retrieved[system]:,}"]),
             *map(number_text, self.means[system].values())]
            for system in listed
        ]  # fmt: skip
        relevant = [] if self.relevant_retrieved is None else ["relevant"]
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
             "relevant_retrieved": None if self.relevant_retrieved is None else self.relevant_retrieved[system]}
            for system in self._listed()
        ]  # fmt: skip
        return {"ranked": ranked, "by_system": [asdict(group) for groups in self._groups() for group in groups]}


Groups: TypeAlias = Mapping[str, Mapping[str, Sequence[GroupMean]]]
"""Label → system → the means of its values."""


def groups_of_cards(
    cards: Mapping[str, ScoreCard], measures: Sequence[str], labels: Labels | None, by: Sequence[str] | None,
    tests: Mapping[str, Any],
) -> Groups:  # fmt: skip
    """Means by labels of the queries, of every system: ``--by``; arguments as in `group_means`."""
    return {
        label: {
            name: [mean for mean in group_means(card.measured(), labels, label, **tests) if mean.measure in measures]
            for name, card in cards.items()
        }
        for label in by or ()
    }


def group_fields(groups: Groups) -> list[dict[str, Any]]:
    """The means by label and system, ready for JSON."""
    return [
        {"system": system, **asdict(mean)}
        for systems in groups.values()
        for system, means in systems.items()
        for mean in means
    ]
