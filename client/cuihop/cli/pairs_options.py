"""Options of the commands that answer a file of pairs, and the run over it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from cuihop.answer_fields import with_release
from cuihop.cli.command_files import REJECTS, TSV
from cuihop.cli.graph_option import note_merged, note_upper_case
from cuihop.cli.output import console, note, print_json, progress
from cuihop.cli.pairs_file import Header, OnBadRow, PairAnswers, answers_of_file
from cuihop.files.input_file import InputFile
from cuihop.files.written_files import replaced_file
from cuihop.graph import ConceptGraph
from cuihop.identifiers import in_upper_case


@dataclass(frozen=True, kw_only=True)
class PairsOptions:
    """The files of a run over pairs."""

    pairs: Annotated[
        Path | None, typer.Option("--pairs", help="Pairs: two columns of TSV, CSV, JSON Lines or Parquet; - for stdin.")
    ] = None
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the answers to --pairs."), TSV] = None
    header: Annotated[
        Header, typer.Option("--header", help="Header in the first line: recognised, present or absent.")
    ] = "auto"
    on_bad_row: Annotated[
        OnBadRow, typer.Option("--on-bad-row", help="Stop at a faulty row, or set it aside and go on.")
    ] = "error"
    rejects: Annotated[
        Path | None, typer.Option("--rejects", help="File for faulty rows; OUTPUT.rejects by default."), REJECTS
    ] = None

    def check(self, a: str | None, b: str | None) -> None:
        """Refuse a single pair with a file, neither of them, or options of a file without one."""
        if (self.pairs is not None and (a or b)) or (self.pairs is None and not (a and b)):
            raise typer.BadParameter("give two identifiers, or --pairs FILE")
        if self.pairs is None and (self.output is not None or self.rejects is not None):
            raise typer.BadParameter("--output and --rejects go with --pairs")


def upper_case_pair(a: str | None, b: str | None) -> tuple[str, str]:
    """Two identifiers, CUIs in upper case, with a note about those that were not."""
    given = str(a), str(b)
    note_upper_case({cui: in_upper_case(cui) for cui in given if cui != in_upper_case(cui)})
    return in_upper_case(given[0]), in_upper_case(given[1])


def print_answers_of_file(
    graph: ConceptGraph,
    files: PairsOptions,
    columns: Sequence[str],
    answers: Callable[[Sequence[tuple[str, str]]], PairAnswers],
    outcome: tuple[str, str],
    *,
    json: bool,
    block: int | None = None,
) -> None:
    """Answer the pairs of a file, and print the account.

    Args:
        graph: resolves identifiers.
        files: of pairs and answers.
        columns: names of the further columns. answers: these columns of some pairs.
        outcome: fields of JSON for the numbers of pairs with and without an answer, such as ``reached, no_path``.
        json: print the account as JSON.
        block: pairs answered at once, where an answer holds much.
    """
    pairs, output, rejects = files.pairs, files.output, files.rejects
    if pairs is None:
        raise ValueError("no file of pairs")
    if json and output is None:
        raise typer.BadParameter("--json with --pairs needs --output")
    if files.on_bad_row == "skip" and rejects is None:
        if output is None:
            raise typer.BadParameter("--on-bad-row skip needs --rejects, or --output")
        rejects = output.with_name(output.name + ".rejects")
    file = InputFile(pairs)
    plain = file.mapped_from is not None and file.form == "text" and not file.compression
    with contextlib.ExitStack() as stack:
        written: BinaryIO = sys.stdout.buffer if output is None else stack.enter_context(replaced_file(output))
        skips = files.on_bad_row == "skip" and rejects is not None
        aside = stack.enter_context(replaced_file(rejects)) if skips and rejects is not None else None
        bar = stack.enter_context(progress())
        task = bar.add_task("bytes of pairs", total=pairs.stat().st_size if plain else None)
        done = answers_of_file(
            file, graph, written, columns, answers, rejects=aside, header=files.header,
            progress=lambda size: bar.advance(task, size), **({} if block is None else {"block": block}),
        )  # fmt: skip
    sys.stdout.flush()
    note_merged(done.merged)
    note(done.summary)
    if done.header is not None and files.header == "auto" and not done.by_name:
        note(f"line 1 was taken for a header: {done.header!r}; --header no reads it as a pair")
    if done.rejected:
        note(f"{done.rejected:,} faulty rows were set aside in {rejects}")
    found, missing = outcome
    if json:
        fields = {
            "pairs": done.pairs,
            found: done.found,
            missing: done.pairs - done.found,
            "rejected": done.rejected,
            "inputs": {"pairs": done.summary},
            "output": str(output),
        }
        print_json(with_release(graph.release, fields, done.merged))
    elif output is not None:
        without = {"no_path": "a path"}.get(missing, "a value")
        console().print(f"{done.pairs:,} pairs, {done.pairs - done.found:,} of them without {without}: {output}")
