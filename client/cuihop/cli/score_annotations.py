"""``cuihop score-annotations``: predicted annotations of texts against the true ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
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
    FILES_PANEL,
    MEASURES_PANEL,
    CardsOption,
    ConfidenceOption,
    HopsOption,
    OptionalGraphOption,
    ReportOption,
    ResamplesOption,
    SeedOption,
    ThreadsOption,
)
from cuihop.cli.graph_option import (
    DirectionOption,
    GraphSource,
    LambdaOption,
    NamesOption,
    WithinSabOption,
    opened_graph,
)
from cuihop.cli.output import JsonOption, note, path_text, print_json, print_table, write_and_show
from cuihop.cli.scored_systems import ScoredSystems, first_rows, predictions_named
from cuihop.comparison.comparison import Comparison
from cuihop.errors import InvalidCui
from cuihop.graph import ConceptGraph
from cuihop.measures.nearness import Nearness
from cuihop.notebooks.table import Table

_VALUES = "Values of each text"


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
    graph: OptionalGraphOption = None,
    within_sab: WithinSabOption = None,
    identifiers: Annotated[
        Path | None,
        typer.Option(
            "--map", rich_help_panel=FILES_PANEL,
            help="Concepts of the identifiers in GOLD, such as MeSH: two columns, identifier and concept.",
        ),
    ] = None,
    per_document: Annotated[
        Path | None,
        typer.Option("--per-document", rich_help_panel=FILES_PANEL, help="File for the values of each text, as CSV."),
        CSV,
    ] = None,
    report: ReportOption = None,
    cards: CardsOption = None,
    hops: HopsOption = 1,
    lam: LambdaOption = 0.5,
    direction: DirectionOption = "any",
    leave_out_unmapped: Annotated[
        bool,
        typer.Option(
            "--leave-out-unmapped", rich_help_panel=MEASURES_PANEL,
            help="Leave out true mentions whose identifier is neither in the map nor in the graph.",
        ),
    ] = False,
    names: NamesOption = None,
    rows: Annotated[
        int, typer.Option("--rows", min=0, help="Rows of near misses, and of semantic types.")
    ] = 10,
    resamples: ResamplesOption = 10_000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Score predicted mentions and concepts of texts: precision, recall, F1, and nn-F1 with the near misses.

    Several predictions are ranked, and compared as by cuihop compare.
    """
    chosen = GraphSource.optional(graph, within_sab)
    files = predictions_named(predicted, "PREDICTED")
    truth = TextCollection.of(read_documents(gold), str(gold))
    mapping = None if identifiers is None else IdentifierMap.read(identifiers)
    results: dict[str, _Result] = {}
    with nullcontext() if chosen is None else opened_graph(chosen, names) as opened, _advised_on_map(mapping):
        for name, path in files.items():
            found = score_annotations(
                truth, TextCollection.of(read_documents(path), str(path)), opened,
                nearness=Nearness(hops, lam, direction, "isolated"), identifiers=mapping,
                leave_out_unmapped=leave_out_unmapped,
            )  # fmt: skip
            scores = scores_of(found, confidence=confidence, resamples=resamples, seed=seed, threads=threads)
            results[name] = _Result.of(found, scores, opened)
    systems = ScoredSystems.of(
        {name: result.found for name, result in results.items()},
        resamples=resamples, confidence=confidence, seed=seed, threads=threads,
    )  # fmt: skip
    tables = list(_tables(results, systems.comparison, confidence, rows))

    def show(written: Mapping[str, Path]) -> None:
        if json:
            print_json({
                "systems": [{"system": name, **result.fields(rows)} for name, result in results.items()],
                **systems.fields(),
                "per_document": path_text(written.get(_VALUES)),
            })  # fmt: skip
            return
        for place, table in enumerate(tables):
            print_table(table, table.caption if place and systems.comparison is None else None)
        systems.print_account(written)

    write_and_show(systems.outputs((_VALUES, per_document), tables, report=report, cards=cards), show)


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
