"""``cuihop score-annotations``: predicted annotations of texts against the true ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cuihop.annotated_texts.identifier_map import IdentifierMap
from cuihop.annotated_texts.reading import read_documents
from cuihop.annotated_texts.score_tables import (
    NearMiss,
    Score,
    TypeScore,
    false_positives_by_hops,
    hops_table,
    miss_table,
    near_misses,
    score_table,
    scores_of,
    type_scores,
    type_table,
)
from cuihop.annotated_texts.scoring import AnnotationScores, TextCollection, score_annotations
from cuihop.cli.command_files import CSV, FileUse
from cuihop.cli.evaluation_options import (
    CardsOption,
    IntervalOptions,
    ReportOption,
    file_option,
    measure_option,
)
from cuihop.cli.graph_option import ConstantNearnessOptions, NamesOption, OptionalGraphOptions
from cuihop.cli.output import JsonOption, note, path_text, print_json, print_table, write_and_show
from cuihop.cli.run_options import ThreadsOption
from cuihop.cli.scored_systems import ScoredSystems, first_rows, predictions_named
from cuihop.comparison.comparison import Comparison
from cuihop.errors import InvalidCui
from cuihop.graph import ConceptGraph
from cuihop.notebooks.table import Table

_VALUES = "Values of each text"


@dataclass(frozen=True, kw_only=True)
class _Options:
    identifiers: Annotated[
        Path | None,
        file_option(
            "--map", help="Concepts of the identifiers in GOLD, such as MeSH: two columns, identifier and concept."
        ),
    ] = None
    leave_out_unmapped: Annotated[
        bool,
        measure_option(
            "--leave-out-unmapped",
            help="Leave out true mentions whose identifier is neither in the map nor in the graph.",
        ),
    ] = False
    names: NamesOption = None


@dataclass(frozen=True, kw_only=True)
class _OutputOptions:
    per_document: Annotated[
        Path | None, file_option("--per-document", help="File for the values of each text, as CSV."), CSV
    ] = None
    report: ReportOption = None
    cards: CardsOption = None
    rows: Annotated[int, typer.Option("--rows", min=0, help="Rows of near misses, and of semantic types.")] = 10
    json: JsonOption = False


def score_annotated_texts(
    gold: Annotated[
        Path,
        typer.Argument(
            help="True annotations: PubTator, BRAT, BioC JSON, or a table of mentions or concepts.", show_default=False
        ),
    ],
    predicted: Annotated[
        list[str],
        typer.Argument(
            metavar="PREDICTED", show_default=False,
            help="Predicted annotations of the same texts, each FILE or NAME=FILE, in any of these formats.",
        ),
        FileUse.READS,
    ],
    graph: OptionalGraphOptions,
    near: ConstantNearnessOptions,
    intervals: IntervalOptions,
    options: _Options,
    outputs: _OutputOptions,
    threads: ThreadsOption = None,
) -> None:  # fmt: skip
    """Score predicted mentions and concepts of texts: precision, recall, F1, and nn-F1 with the near misses.

    Several predictions are ranked, and compared as by cuihop compare.
    """
    files = predictions_named(predicted, "PREDICTED")
    truth = TextCollection.of(read_documents(gold), str(gold))
    mapping = None if options.identifiers is None else IdentifierMap.read(options.identifiers)
    results: dict[str, _Result] = {}
    of_tests = intervals.of_tests(threads)
    with graph.opened(options.names) as opened, _advised_on_map(mapping):
        for name, path in files.items():
            found = score_annotations(
                truth, TextCollection.of(read_documents(path), str(path)), opened,
                nearness=near.nearness, identifiers=mapping, leave_out_unmapped=options.leave_out_unmapped,
            )  # fmt: skip
            scores = scores_of(found, **of_tests)
            results[name] = _Result.of(found, scores, opened)
    systems = ScoredSystems.of({name: result.found for name, result in results.items()}, **of_tests)
    tables = list(_tables(results, systems.comparison, intervals.confidence, outputs.rows))

    def show(written: Mapping[str, Path]) -> None:
        if outputs.json:
            print_json({
                "systems": [{"system": name, **result.fields(outputs.rows)} for name, result in results.items()],
                **systems.fields(),
                "per_document": path_text(written.get(_VALUES)),
            })  # fmt: skip
            return
        for place, table in enumerate(tables):
            print_table(table, table.caption if place and systems.comparison is None else None)
        systems.print_account(written)

    files_of_values = (_VALUES, outputs.per_document)
    write_and_show(systems.outputs(files_of_values, tables, report=outputs.report, cards=outputs.cards), show)


@dataclass(frozen=True)
class _Result:
    """The scores of one prediction; without a graph nothing is known of near misses and types."""

    found: AnnotationScores
    scores: Sequence[Score]
    misses: Sequence[NearMiss] = ()
    by_hops: Mapping[str, int] | None = None
    types: Sequence[TypeScore] = ()

    @classmethod
    def of(cls, found: AnnotationScores, scores: Sequence[Score], graph: ConceptGraph | None) -> _Result:
        if graph is None:
            return cls(found, scores)
        types = type_scores(found, graph)
        has_types = any(row.tui for row in types)
        by_hops = false_positives_by_hops(found)
        return cls(found, scores, near_misses(found, graph), by_hops, types if has_types else ())

    def fields(self, rows: int) -> dict[str, Any]:
        """Everything but the values of each text, ready for JSON."""
        return {
            "scores": [asdict(score) for score in self.scores],
            "near_misses": [asdict(miss) for miss in self.misses[:rows]],
            "false_positives_by_hops": None if self.by_hops is None else dict(self.by_hops),
            "semantic_types": [asdict(row) for row in self.types[:rows]],
            **self.found.summary(),
        }


@contextmanager
def _advised_on_map(mapping: IdentifierMap | None) -> Iterator[None]:
    """Advise ``--map`` where identifiers are not those of the graph."""
    try:
        yield
    except InvalidCui:
        if mapping is None:
            note("--map FILE gives the concepts of identifiers of another vocabulary")
        raise


def _tables(
    results: Mapping[str, _Result], comparison: Comparison | None, confidence: float, rows: int
) -> Iterator[Table]:
    """The scores; then the differences of several predictions, or the near misses of one."""
    yield score_table({name: result.scores for name, result in results.items()}, confidence)
    if comparison is not None:
        yield comparison.table()
        return
    (result,) = results.values()
    if result.by_hops is not None:
        yield hops_table(result.by_hops)
    yield from first_rows(miss_table(result.misses), rows)
    yield from first_rows(type_table(result.types), rows)
