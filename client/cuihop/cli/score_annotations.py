"""``cuihop score annotations``: predicted annotations of texts against the true ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuihop.annotated_texts.mention_identifiers import IdentifierMap
from cuihop.annotated_texts.reading import read_documents
from cuihop.annotated_texts.score_tables import score_table, scores_of
from cuihop.annotated_texts.scoring import TextCollection, score_annotations
from cuihop.cli.command_files import CSV, FileUse
from cuihop.cli.evaluation_options import IntervalOptions, TablesOptions
from cuihop.cli.graph_option import NamesOptions, OptionalEdgeOptions
from cuihop.cli.nearness_options import ConstantNearnessOptions
from cuihop.cli.option_groups import JsonOptions, argument, file_option, measure_option, option, option_group
from cuihop.cli.output import note
from cuihop.cli.run_options import ThreadsOptions
from cuihop.cli.system_report import SystemReport, predictions_named
from cuihop.errors import InvalidCui


@option_group
class _Options(NamesOptions):
    """Annotations, and the concepts of their identifiers."""

    gold: Path = argument("True annotations: PubTator, BRAT, BioC JSON, or a table of mentions or concepts.")
    predicted: list[str] = argument(
        "Predicted annotations of the same texts, each FILE or NAME=FILE, in any of these formats.",
        metavar="PREDICTED", mark=FileUse.READS,
    )  # fmt: skip
    identifiers: Path | None = file_option(
        "Concepts of the identifiers in GOLD, such as MeSH: two columns, identifier and concept.", "--map"
    )
    leave_out_unmapped: bool = measure_option(
        "Leave out true mentions whose identifier is neither in the map nor in the graph.",
        "--leave-out-unmapped", default=False,
    )  # fmt: skip


@option_group
class _OutputOptions(JsonOptions, TablesOptions):
    output: Path | None = file_option("File for the values of each text, as CSV.", "-o", mark=CSV)
    rows: int = option("Rows of each table of details, such as near misses.", default=10, min=0)


def score_annotated_texts(
    options: _Options,
    graph: OptionalEdgeOptions,
    near: ConstantNearnessOptions,
    intervals: IntervalOptions,
    outputs: _OutputOptions,
    run: ThreadsOptions,
) -> None:
    """Score predicted mentions and concepts of texts: precision, recall, F1, and nn-F1 with the near misses.

    Several predictions are ranked, and compared as in cuihop compare.
    """
    files = predictions_named(options.predicted, "PREDICTED")
    truth = TextCollection.of(read_documents(options.gold), str(options.gold))
    mapping = None if options.identifiers is None else IdentifierMap.read(options.identifiers)
    of_tests = intervals.of_tests(run.threads)
    with graph.opened(options.names) as opened, _advised_on_map(mapping):
        results = {
            name: score_annotations(
                truth, TextCollection.of(read_documents(path), str(path)), opened,
                nearness=near.nearness, identifiers=mapping, leave_out_unmapped=options.leave_out_unmapped,
            )
            for name, path in files.items()
        }  # fmt: skip
        report = SystemReport(results, outputs.rows, of_tests)
        scores = {name: scores_of(each, **of_tests) for name, each in results.items()}
        report.add("scores", scores, lambda rows: score_table(rows, intervals.confidence))
        report.add_matches(results, opened, "texts", types=True)
    report.write(("Values of each text", "per_document", outputs.output), outputs, json=outputs.json)


@contextmanager
def _advised_on_map(mapping: IdentifierMap | None) -> Iterator[None]:
    """Advise ``--map`` if identifiers are not those of the graph."""
    try:
        yield
    except InvalidCui:
        if mapping is None:
            note("--map FILE gives the concepts of identifiers of another vocabulary")
        raise
