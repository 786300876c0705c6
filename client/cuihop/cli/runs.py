"""``cuihop runs pool`` and ``fuse``: the first documents of several runs together, and several runs as one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from cuihop.adapters.ranx import Method, Normalisation, fused, interpreted
from cuihop.cli.command_files import CSV, QRELS, RUN
from cuihop.cli.evaluation_options import ColumnOrderOptions, TiesOptions
from cuihop.cli.option_groups import JsonOptions, argument, file_option, option, option_group
from cuihop.cli.output import console, note, print_json, print_lines, print_table, write_and_show
from cuihop.errors import first_few
from cuihop.files.text_lines import counted
from cuihop.rankings.document_ranking import DocumentRanking
from cuihop.rankings.pooling import pooled
from cuihop.rankings.reading import read_run
from cuihop.resources.optional_packages import RANX


@option_group
class _RunsOptions(JsonOptions, ColumnOrderOptions, TiesOptions):
    runs: list[Path] = argument("TREC runs; CSV or Parquet (query, document, score or rank).", metavar="RUN")

    def read(self, depth: int | None) -> list[DocumentRanking]:
        """The runs, each with all its queries; refuses a file that is given twice."""
        for index, path in enumerate(self.runs):
            if any(path.resolve() == other.resolve() for other in self.runs[:index]):
                raise typer.BadParameter(f"{path} is given twice")
        return [read_run(path, None, depth=depth, ties=self.ties, order=self.order) for path in self.runs]


@option_group
class _PoolOptions(_RunsOptions):
    depth: int = option("Documents to take from each run for each query.", default=35, min=1)
    output: Path | None = file_option("File for query, document and number of runs with it, as CSV.", "-o", mark=CSV)
    judge: Path | None = file_option(
        'File for the judges: TREC qrels in the order of document names, with grade -1 for "not judged yet".',
        mark=QRELS,
    )


@option_group
class _FuseOptions(_RunsOptions):
    output: Path = option("File for the fused run, in TREC format.", "-o", required=True, mark=RUN)
    method: Method = option("By ranks: rrf, isr. By scores: combsum, combmnz, combmin, combmax.", default="rrf")
    normalisation: Normalisation = option(
        "Normalisation of the scores of each run and query; methods by rank need none.", default="min-max"
    )
    rrf_k: int = option("k of rrf: rank r gets 1 / (k + r).", default=60, min=1)
    depth: int | None = option("Documents to write for each query.", min=1, shown="all")


def pool(options: _PoolOptions) -> None:
    """Pool the first documents of several runs, to be judged for relevance."""
    depth, read = options.depth, options.read(options.depth)
    pooling = pooled(read, depth)
    sizes = pooling.sizes
    if pooling.incomplete:
        queries = counted(len(pooling.incomplete), "query", "queries")
        note(f"{queries} with fewer than {pooling.runs:,} runs: {first_few(pooling.incomplete)}")

    def show(written: Mapping[str, str]) -> None:
        if options.json:
            print_json({
                "depth": depth, "ties": options.ties, "order": options.order, "runs": [each.account for each in read],
                "queries": len(sizes), "sizes": sizes, "queried": dict(pooling.queried), "minimum": min(sizes.values()),
                "mean": pooling.mean_size, "maximum": max(sizes.values()),
                "output": written.get("Pool"), "judge": written.get("File for judges"),
            })  # fmt: skip
            return
        print_table(pooling.table())
        console().print(
            f"{counted(pooling.runs, 'run')}, depth {depth:,}, {counted(len(sizes), 'query', 'queries')}: pools of "
            f"{min(sizes.values()):,} to {max(sizes.values()):,} documents, mean {pooling.mean_size:,.1f}, "
            f"{sum(sizes.values()):,} to judge"
        )
        print_lines([ranking.account for ranking in read], written)

    write_and_show(
        [("Pool", options.output, pooling.to_csv), ("File for judges", options.judge, pooling.to_qrels)], show
    )


def fuse_runs(options: _FuseOptions) -> None:
    """Combine several runs of the same queries into one, by their ranks or their scores."""
    RANX.check()
    read = options.read(None)
    with interpreted():
        run = fused(read, options.method, normalisation=options.normalisation, k=options.rrf_k, depth=options.depth)
    run.to_run(options.output)
    inputs = [ranking.account for ranking in read]
    if options.json:
        print_json({
            "method": options.method, "account": run.account, "runs": inputs, "ties": options.ties,
            "order": options.order, "queries": len(run.scores), "output": str(options.output),
        })  # fmt: skip
        return
    print_lines([run.account, *inputs], {"Fused run": str(options.output)})
