"""``cuihop pool``: the first documents of several runs together, and a file for judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cuihop.cli.command_files import CSV, QRELS
from cuihop.cli.evaluation_options import OrderOptions, file_option
from cuihop.cli.output import (
    JsonOption,
    console,
    note,
    path_text,
    print_json,
    print_table,
    print_written,
    write_and_show,
)
from cuihop.errors import first_few
from cuihop.files.text_lines import counted
from cuihop.rankings.document_ranking import DocumentRanking
from cuihop.rankings.pooling import pooled
from cuihop.rankings.reading import read_run

RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN", show_default=False, help="TREC runs; CSV or Parquet (query, document, score or rank)."
    ),
]


def runs_read(paths: Sequence[Path], depth: int | None, order: OrderOptions) -> list[DocumentRanking]:
    """The runs, each with all its queries; refuses a file that is given twice."""
    for place, path in enumerate(paths):
        if any(path.resolve() == other.resolve() for other in paths[:place]):
            raise typer.BadParameter(f"{path} is given twice")
    return [read_run(path, None, depth=depth, ties=order.ties, order=order.order) for path in paths]


def pool(
    runs: RunsArgument,
    order: OrderOptions,
    depth: Annotated[int, typer.Option("--depth", min=1, help="Documents taken of each run for each query.")] = 35,
    output: Annotated[
        Path | None,
        file_option("--output", "-o", help="File for query, document and number of runs that found it, as CSV."),
        CSV,
    ] = None,
    judge: Annotated[
        Path | None,
        file_option("--judge", help="File for judges: TREC qrels by document name, each grade -1 until it is judged."),
        QRELS,
    ] = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Pool the first documents of several runs for judges of relevance, as campaigns do."""
    read = runs_read(runs, depth, order)
    found = pooled(read, depth)
    sizes = found.sizes
    if found.incomplete:
        queries = counted(len(found.incomplete), "query", "queries")
        note(f"{queries} with fewer than {found.runs:,} runs: {first_few(found.incomplete)}")

    def show(written: Mapping[str, Path]) -> None:
        if json:
            print_json({
                "depth": depth, **asdict(order), "runs": [ranking.account for ranking in read],
                "queries": len(sizes), "sizes": sizes, "queried": dict(found.queried), "minimum": min(sizes.values()),
                "mean": found.mean_size, "maximum": max(sizes.values()),
                "output": path_text(written.get("Pool")), "judge": path_text(written.get("File for judges")),
            })  # fmt: skip
            return
        print_table(found.table())
        console().print(
            f"{counted(found.runs, 'run')}, depth {depth:,}, {counted(len(sizes), 'query', 'queries')}: pools of "
            f"{min(sizes.values()):,} to {max(sizes.values()):,} documents, mean {found.mean_size:,.1f}, "
            f"{sum(sizes.values()):,} to judge"
        )
        for ranking in read:
            console().print(ranking.account)
        print_written(written)

    write_and_show([("Pool", output, found.to_csv), ("File for judges", judge, found.to_qrels)], show)
