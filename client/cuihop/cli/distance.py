"""``cuihop distance``: one pair, or a file of pairs."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from cuihop.answer_fields import distance_fields, with_release
from cuihop.cli.command_files import FileUse
from cuihop.cli.graph_option import (
    DirectionOption,
    GraphOption,
    GraphSource,
    MaxHopsOption,
    WithinSabOption,
    note_merged,
    note_upper_case,
    opened_graph,
)
from cuihop.cli.output import JsonOption, console, hops_text, note, print_json, progress
from cuihop.cli.pairs_file import Header, OnBadRow, distances_of_file
from cuihop.files.input_file import InputFile
from cuihop.files.text_lines import direction_text
from cuihop.files.written_files import replaced_file
from cuihop.graph import ConceptGraph, Direction
from cuihop.identifiers import in_upper_case

__all__ = ["distance"]


def distance(
    a: Annotated[str | None, typer.Argument(help="Identifier of a concept.", show_default=False)] = None,
    b: Annotated[str | None, typer.Argument(help="Identifier of another concept.", show_default=False)] = None,
    *,
    graph: GraphOption,
    within_sab: WithinSabOption = None,
    pairs: Annotated[
        Path | None, typer.Option("--pairs", help="Pairs: two columns of TSV, CSV, JSON Lines or Parquet; - for stdin.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the answers to --pairs."), FileUse.WRITES
    ] = None,
    header: Annotated[
        Header, typer.Option("--header", help="Header in the first line: recognised, present or absent.")
    ] = "auto",
    on_bad_row: Annotated[
        OnBadRow, typer.Option("--on-bad-row", help="Stop at a faulty row, or set it aside and go on.")
    ] = "error",
    rejects: Annotated[
        Path | None, typer.Option("--rejects", help="File for faulty rows; OUTPUT.rejects by default."), FileUse.WRITES
    ] = None,
    direction: DirectionOption = "any",
    max_hops: MaxHopsOption = None,
    json: JsonOption = False,
) -> None:
    """Print the distance in hops between two concepts, or for every pair of a file."""
    if (a is None or b is None) == (pairs is None) or (pairs is not None and a is not None):
        raise typer.BadParameter("give two identifiers, or --pairs FILE")
    with opened_graph(GraphSource(graph, within_sab)) as opened:
        if pairs is not None:
            _of_file(opened, pairs, output, header, on_bad_row, rejects, direction, max_hops, json)
            return
        if output is not None or rejects is not None:
            raise typer.BadParameter("--output and --rejects go with --pairs")
        upper = {cui: in_upper_case(cui) for cui in map(str, (a, b)) if cui != in_upper_case(cui)}
        note_upper_case(upper)
        a, b = upper.get(str(a), str(a)), upper.get(str(b), str(b))
        answer = opened.distances([(a, b)], direction=direction, max_hops=max_hops)
        hops = answer[0]
        if json:
            print_json(with_release(opened.release, distance_fields(hops, a, b, direction, max_hops), answer.merged))
            return
        note_merged(answer.merged)
        name_a, name_b = (f" {name}" if name else "" for name in opened.names([a, b]))
        console().print(
            f"{hops_text(hops, max_hops)} between {a}{name_a} and {b}{name_b} ({direction_text(direction)})"
        )


def _of_file(
    graph: ConceptGraph,
    pairs: Path,
    output: Path | None,
    header: Header,
    on_bad_row: OnBadRow,
    rejects: Path | None,
    direction: Direction,
    max_hops: int | None,
    json: bool,
) -> None:
    if json and output is None:
        raise typer.BadParameter("--json with --pairs needs --output")
    if on_bad_row == "skip" and rejects is None:
        if output is None:
            raise typer.BadParameter("--on-bad-row skip needs --rejects, or --output")
        rejects = output.with_name(output.name + ".rejects")
    file = InputFile(pairs)
    plain = file.mapped_from is not None and file.form == "text" and not file.compression
    with contextlib.ExitStack() as stack:
        answers: BinaryIO = sys.stdout.buffer if output is None else stack.enter_context(replaced_file(output))
        aside = stack.enter_context(replaced_file(rejects)) if on_bad_row == "skip" and rejects is not None else None
        bar = stack.enter_context(progress())
        task = bar.add_task("bytes of pairs", total=pairs.stat().st_size if plain else None)
        done = distances_of_file(
            file, graph, answers, rejects=aside, header=header, direction=direction, max_hops=max_hops,
            progress=lambda size: bar.advance(task, size),
        )  # fmt: skip
    sys.stdout.flush()
    note_merged(done.merged)
    note(done.summary)
    if done.header is not None and header == "auto" and not done.by_name:
        note(f"line 1 was taken for a header: {done.header!r}; --header no reads it as a pair")
    if done.rejected:
        note(f"{done.rejected:,} faulty rows were set aside in {rejects}")
    if json:
        fields = {
            "pairs": done.pairs,
            "reached": done.reached,
            "no_path": done.pairs - done.reached,
            "rejected": done.rejected,
            "inputs": {"pairs": done.summary},
            "output": str(output),
        }
        print_json(with_release(graph.release, fields, done.merged))
    elif output is not None:
        console().print(f"{done.pairs:,} pairs, {done.pairs - done.reached:,} of them without a path: {output}")
