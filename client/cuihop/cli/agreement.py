"""``cuihop agreement``: distances and similarities of a graph against human scores of pairs of terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cuihop.agreement.agreement import MEASURES, agreement
from cuihop.agreement.result import Agreement
from cuihop.agreement.scored_pairs import ScoredPairs
from cuihop.cli.command_files import CSV
from cuihop.cli.evaluation_options import IntervalOptions, file_option
from cuihop.cli.graph_option import GraphOptions
from cuihop.cli.information_content import ContentOptions
from cuihop.cli.output import (
    JsonOption,
    Output,
    console,
    path_text,
    print_json,
    print_table,
    print_written,
    write_and_show,
)
from cuihop.collection.concept_names import ConceptSynonyms
from cuihop.files.written_files import write_whole
from cuihop.notebooks.table import Table
from cuihop.similarity.options import SimilarityOptions

_PAIRS, _TERMS = "Values of each pair", "Terms without a concept"


@dataclass(frozen=True, kw_only=True)
class _OutputOptions:
    per_pair: Annotated[
        Path | None, file_option("--per-pair", help="File for concepts and values of each pair, as CSV."), CSV
    ] = None
    unmapped: Annotated[
        Path | None, file_option("--unmapped", help="File for the terms without a concept, as CSV."), CSV
    ] = None
    json: JsonOption = False


def agreement_with_people(
    gold: Annotated[
        list[Path],
        typer.Argument(
            help="Pairs of terms with their scores: CSV or TSV with two terms, or CUIs, and a score.",
            show_default=False,
        ),
    ],
    graph: GraphOptions,
    content_options: ContentOptions,
    intervals: IntervalOptions,
    outputs: _OutputOptions,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure", "-m", show_default=False,
            help=f"Measure, also repeated: {', '.join(MEASURES)}. All by default. Differences are from the first.",
        ),
    ] = None,
    names: Annotated[
        Path | None,
        file_option(
            "--names", show_default=False,
            help="Further names of concepts: two columns of CSV or TSV, CUI and name; a concept may have several.",
        ),
    ] = None,
    score_column: Annotated[
        str | None,
        file_option(
            "--score-column", show_default=False,
            help="Name of the column of scores, or without a header its number, where there are several.",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Print how well distances and similarities agree with people: Spearman's and Pearson's correlation with intervals.

    Terms are mapped to concepts by the names of the graph. Of several concepts of a term the best pair counts.
    """
    files = {str(path): ScoredPairs.read(path, score_column=score_column) for path in gold}
    further = None if names is None else ConceptSynonyms.read(names)
    with graph.opened() as opened:
        content = content_options.content(opened)
        options = SimilarityOptions(ic=content.ic, counts=content.counts)
        found = {
            name: agreement(
                pairs, opened, measure or MEASURES, options=options, names=further, resamples=intervals.resamples,
                confidence=intervals.confidence, seed=intervals.seed,
            )
            for name, pairs in files.items()
        }  # fmt: skip
    inputs = [*([] if further is None else [further.account]), *([content.counts_account] if content.counts else [])]

    def show(written: Mapping[str, Path]) -> None:
        if outputs.json:
            print_json({
                "agreements": [each.summary() for each in found.values()],
                "inputs": inputs,
                "per_pair": path_text(written.get(_PAIRS)),
                "unmapped": path_text(written.get(_TERMS)),
            })  # fmt: skip
            return
        for each in found.values():
            _print(each)
        for line in inputs:
            console().print(line)
        print_written(written)

    pairs = {name: each.per_pair() for name, each in found.items()}
    terms = {name: Table(("term",), [(term,) for term in each.mapped.unmapped]) for name, each in found.items()}
    files_to_write: list[Output] = [
        (_PAIRS, outputs.per_pair, lambda path: write_whole(path, _stacked(found, pairs).csv())),
        (_TERMS, outputs.unmapped, lambda path: write_whole(path, _stacked(found, terms).csv())),
    ]
    write_and_show(files_to_write, show)


def _stacked(found: Mapping[str, Agreement], tables: Mapping[str, Table]) -> Table:
    """The rows of the tables of all files, under the name of each."""
    first = next(iter(tables.values()))
    return Table(("file", *first.columns), [(name, *row) for name in found for row in tables[name].rows])


def _print(each: Agreement) -> None:
    table = each.table()
    print_table(table, table.caption)
    if each.differences:
        differences = each.differences_table()
        print_table(differences, differences.caption)
    for line in each.account():
        console().print(line)
