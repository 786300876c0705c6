"""``cuihop fuse``: several runs combined into one."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cuihop.adapters.fusion import Method, Normalisation, fused
from cuihop.cli.command_files import RUN
from cuihop.cli.evaluation_options import OrderOptions
from cuihop.cli.output import JsonOption, console, note, print_json
from cuihop.cli.pool import RunsArgument, runs_read
from cuihop.resources.optional_packages import RANX


def fuse_runs(
    runs: RunsArgument,
    order: OrderOptions,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File for the fused run, in the form of TREC.", show_default=False),
        RUN,
    ],
    method: Annotated[
        Method, typer.Option("--method", help="By ranks: rrf, isr. By scores: combsum, combmnz, combmin, combmax.")
    ] = "rrf",
    normalisation: Annotated[
        Normalisation,
        typer.Option("--normalisation", help="Of the scores of each run and query; methods by rank have none."),
    ] = "min-max",
    k: Annotated[int, typer.Option("--k", min=1, help="Of rrf: rank r gets 1 / (k + r).")] = 60,
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, help="Documents to write for each query.", show_default="all")
    ] = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Combine several runs of the same queries into one, by their ranks or their scores."""
    RANX.check()
    read = runs_read(runs, None, order)
    if sys.stderr.isatty():
        note("ranx compiles its code at every start; this takes about ten seconds")
    found = fused(read, method, normalisation=normalisation, k=k, depth=depth)
    found.to_run(output)
    inputs = [ranking.account for ranking in read]
    if json:
        print_json({"method": method, "account": found.account, "runs": inputs, **asdict(order),
                    "queries": len(found.scores), "output": str(output)})  # fmt: skip
        return
    screen = console()
    for line in (found.account, *inputs, f"Fused run: {output}"):
        screen.print(line)
