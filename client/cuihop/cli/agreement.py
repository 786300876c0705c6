"""``cuihop measures agreement``: distances and similarities of a graph against human scores of pairs of terms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cuihop.agreement.agreement import MEASURES, agreement
from cuihop.agreement.result import Agreement
from cuihop.agreement.scored_pairs import ScoredPairs
from cuihop.cli.all_similarities import ContentOptions
from cuihop.cli.command_files import CSV
from cuihop.cli.evaluation_options import IntervalOptions
from cuihop.cli.graph_option import GraphOptions
from cuihop.cli.option_groups import JsonOptions, argument, file_option, option, option_group
from cuihop.cli.output import Output, print_json, print_lines, print_table, write_and_show
from cuihop.collection.concept_tables import ConceptSynonyms
from cuihop.files.written_files import write_whole
from cuihop.notebooks.table import Table
from cuihop.similarity.options import SimilarityOptions

_PAIRS, _TERMS = "Values of each pair", "Terms without a concept"


@option_group
class _Options:
    """Pairs of terms, their measures and names."""

    gold: list[Path] = argument("Pairs of terms with their scores: CSV or TSV with two terms, or CUIs, and a score.")
    measure: list[str] | None = option(
        f"Measure: {', '.join(MEASURES)}. All by default. May be repeated; differences are relative to the first.", "-m"
    )
    names: Path | None = file_option(
        "Further names of concepts: two columns of CSV or TSV, CUI and name; a concept may have several."
    )
    score_column: str | None = file_option("Column of scores, if there are several: its name or its number.")


@option_group
class _OutputOptions(JsonOptions):
    output: Path | None = file_option("File for concepts and values of each pair, as CSV.", "-o", mark=CSV)
    unmapped: Path | None = file_option("File for the terms without a concept, as CSV.", mark=CSV)


def agreement_with_people(
    options: _Options,
    graph: GraphOptions,
    content_options: ContentOptions,
    intervals: IntervalOptions,
    outputs: _OutputOptions,
) -> None:
    """Correlate distances and similarities with scores by people, by Spearman and Pearson, with intervals.

    Terms are mapped to concepts by the names of the graph. The best pair counts if a term has several concepts.
    """
    files = {str(path): ScoredPairs.read(path, score_column=options.score_column) for path in options.gold}
    further = None if options.names is None else ConceptSynonyms.read(options.names)
    with graph.opened() as opened:
        content = content_options.content(opened)
        similarity = SimilarityOptions(ic=content.ic, counts=content.counts)
        agreements = {
            name: agreement(
                pairs, opened, options.measure or MEASURES, options=similarity, names=further,
                resamples=intervals.resamples, confidence=intervals.confidence, seed=intervals.seed,
            )
            for name, pairs in files.items()
        }  # fmt: skip
    inputs = [*([] if further is None else [further.account]), *([content.counts_summary] if content.counts else [])]

    def show(written: Mapping[str, str]) -> None:
        if outputs.json:
            print_json({
                "agreements": [each.summary() for each in agreements.values()],
                "inputs": inputs,
                "per_pair": written.get(_PAIRS),
                "unmapped": written.get(_TERMS),
            })  # fmt: skip
            return
        for each in agreements.values():
            tables = [each.table(), *([each.differences_table()] if each.differences else [])]
            for table in tables:
                print_table(table, table.caption)
            print_lines(each.account())
        print_lines(inputs, written)

    pairs = {name: each.per_pair() for name, each in agreements.items()}
    terms = {name: Table(("term",), [(term,) for term in each.mapped.unmapped]) for name, each in agreements.items()}
    files_to_write: list[Output] = [
        (_PAIRS, outputs.output, lambda path: write_whole(path, _stacked(agreements, pairs).csv())),
        (_TERMS, outputs.unmapped, lambda path: write_whole(path, _stacked(agreements, terms).csv())),
    ]
    write_and_show(files_to_write, show)


def _stacked(agreements: Mapping[str, Agreement], tables: Mapping[str, Table]) -> Table:
    """The rows of the tables of all files, under the name of each."""
    first = next(iter(tables.values()))
    return Table(("file", *first.columns), [(name, *row) for name in agreements for row in tables[name].rows])
