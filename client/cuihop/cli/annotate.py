"""``cuihop annotate``: concepts of texts by the names of the graph."""

from __future__ import annotations

import dataclasses
import sys
from functools import partial
from pathlib import Path
from typing import Any, cast

import typer

from cuihop.annotated_texts.bulk import AnnotationSummary, annotate_texts, unfinished_path
from cuihop.annotated_texts.documents import DocumentRows
from cuihop.annotated_texts.reading import Format, open_texts
from cuihop.annotated_texts.tables import Header
from cuihop.annotated_texts.writing import SPANS_ENDINGS, SpansFormat, spans_form_of
from cuihop.annotation.mentions import Annotation
from cuihop.annotation.options import CONTEXTS, AnnotationOptions, Context, Disambiguation
from cuihop.answer_fields import fields_of, with_release
from cuihop.cli.command_files import CSV, FileForm
from cuihop.cli.graph_option import AddressOptions
from cuihop.cli.option_groups import JsonOptions, argument, file_option, option, option_group
from cuihop.cli.output import console, note, print_json, print_table, progress
from cuihop.cli.run_options import ThreadsOptions
from cuihop.errors import InputError
from cuihop.files.input_file import STANDARD_INPUT
from cuihop.files.text_lines import counted, decoded_lines
from cuihop.graph import ConceptGraph
from cuihop.notebooks.table import Table
from cuihop.operations.answers import AnnotationRow
from cuihop.resources.resources import Resources

_MOST_STOPPED = 100_000
_SPANS = FileForm("mentions", tuple(SPANS_ENDINGS))


@option_group
class _TextOptions(JsonOptions):
    """Texts to read, and files to write."""

    texts: Path | None = argument(
        "Texts: CSV, TSV, JSON Lines, Parquet, plain lines, PubTator, BRAT or BioC JSON; - for stdin.", default=None
    )
    text: str | None = option("A single text, instead of a file.")
    output: Path = file_option(
        "File for the concepts: columns ID, CUIs.",
        "-o",
        default=Path(STANDARD_INPUT),
        shown="standard output",
        mark=CSV,
    )
    spans: Path | None = file_option("File for all mentions; for BRAT, a new folder.", mark=_SPANS)
    spans_format: SpansFormat | None = file_option("Format of the mentions.", shown="by the ending")
    format: Format | None = file_option("Format of the texts.", shown="recognised")
    id_column: str | None = file_option("Column of the identifiers.", shown="id, image, pmid, …; or the first of two")
    text_column: str | None = file_option("Column of the texts.", shown="caption, text, …; or the second of two")
    header: Header = file_option("Header in the first line of CSV: detected, present or absent.", default="auto")

    def __post_init__(self) -> None:
        if (self.texts is None) == (self.text is None):
            raise typer.BadParameter("give a file of texts, or --text TEXT")
        of_files = (self.spans, self.format, self.id_column, self.text_column)
        for_files = self.output != Path(STANDARD_INPUT) or any(value is not None for value in of_files)
        if self.text is not None and for_files:
            raise typer.BadParameter("--output, --spans, --format and columns go with a file of texts")


_name_option = partial(option, panel="Names")
_mention_option = partial(option, panel="Mentions")


@option_group
class _MentionOptions:
    """Names that match, and mentions that are kept."""

    semantic_type: list[str] | None = _name_option(
        "Only concepts of this semantic type or group (code or name, or MEDCON). May be repeated.", shown="all"
    )
    sab: list[str] | None = _name_option("Only names from this vocabulary. May be repeated.", shown="all")
    stop: Path | None = _name_option("File of names and identifiers that must not match, one per line.")
    general: bool = _name_option("Also match the names that are left out as too general.", "--general", default=False)
    correct_spelling: bool = _name_option("Correct words that occur in no name.", "--correct-spelling", default=False)
    longest: bool = _mention_option("Longest match at each position, or every match.", "--longest/--all", default=True)
    disambiguate: Disambiguation = _mention_option(
        "Choose among several concepts by the rank of the name, or by the hops to the other concepts of the text.",
        default="rank",
    )
    candidates: bool = _mention_option("List all concepts of ambiguous mentions.", "--candidates", default=False)
    leave_out: list[str] | None = _mention_option(
        f"Leave out mentions in this context: {', '.join(CONTEXTS)}. May be repeated. None by default, as "
        "research abstracts lose by it; the explorer leaves out all three of captions.",
        shown="none",
    )

    def read(self) -> AnnotationOptions:
        """The options, with the names of the file of ``--stop``."""
        return AnnotationOptions(
            longest=self.longest, candidates=self.candidates, disambiguate=self.disambiguate,
            semantic_types=tuple(self.semantic_type or ()), sabs=tuple(self.sab or ()),
            leave_out=cast(tuple[Context, ...], tuple(self.leave_out or ())), stop=_stopped(self.stop),
            general=self.general, correct_spelling=self.correct_spelling,
        )  # fmt: skip


def annotate(source: _TextOptions, graph: AddressOptions, mentions: _MentionOptions, run: ThreadsOptions) -> None:
    """Find the concepts of texts by their names, and write them to a file for cuihop evaluate --concepts.

    An interrupted run resumes from OUTPUT.unfinished.
    """
    options = mentions.read()
    with graph.opened() as opened:
        if source.texts is None:
            _print_mentions(opened, opened.annotate(str(source.text), options), source.json)
            return
        rows = open_texts(
            source.texts, form=source.format, id_column=source.id_column, text_column=source.text_column,
            header=source.header,
        )  # fmt: skip
        _annotate_file(opened, rows, source, source.output, options, run.threads)


def _annotate_file(
    graph: ConceptGraph, rows: DocumentRows, source: _TextOptions, output: Path, options: AnnotationOptions,
    threads: int | None,
) -> None:  # fmt: skip
    spans_form = "csv" if source.spans is None else spans_form_of(source.spans, source.spans_format)
    to_stdout = str(output) == STANDARD_INPUT
    if to_stdout and (source.json or source.spans is not None):
        raise typer.BadParameter("--json and --spans need --output FILE")
    try:
        with progress() as bar:
            task = bar.add_task("texts", total=None)
            label = {True: "bytes of texts", False: "texts"}

            def report(done: int, size: int) -> None:
                bar.update(task, description=label[bool(size)], completed=done, total=size or None)

            summary = annotate_texts(
                rows, graph, sys.stdout.buffer if to_stdout else output, spans=source.spans, spans_form=spans_form,
                options=options, resources=Resources(threads, progress=report),
            )  # fmt: skip
    except BaseException:
        left = unfinished_path(output)
        if left.exists():
            note(f"finished texts are in {left}; the same command resumes from there")
        raise
    sys.stdout.flush()
    _print_summary(graph, summary, source, options)


def _print_summary(
    graph: ConceptGraph, summary: AnnotationSummary, source: _TextOptions, options: AnnotationOptions
) -> None:
    if summary.warning is not None:
        note(f"warning: {summary.warning}")
    if source.json:
        fields = {
            **summary.fields(),
            "options": dataclasses.asdict(options),
            "inputs": {"texts": summary.of_input},
            "output": str(source.output),
            "spans": None if source.spans is None else str(source.spans),
        }
        print_json(with_release(graph.release, fields))
        return
    changed = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != field.default
    }
    lines = [
        summary.of_input,
        f"{counted(summary.mentions, 'mention')} of {counted(summary.concepts, 'concept')}; "
        f"{counted(summary.without_concepts, 'text')} without a concept",
    ]
    if summary.left_out_by_context is not None and options.leave_out:
        lines.append(f"{counted(summary.left_out_by_context, 'mention')} left out by context")
    if summary.ambiguous is not None:
        lines.append(f"{counted(summary.ambiguous, 'ambiguous mention')}")
    if summary.resumed:
        lines.append(f"{counted(summary.resumed, 'text')} finished by the run before")
    lines.append(
        "options: " + (", ".join(f"{name} {_value_text(value)}" for name, value in changed.items()) or "as by default")
    )
    lines.append(f"release {graph.release.name}, digest {graph.release.digest[:12]}")
    for line in lines:
        note(line)
    for name, path in (("Concepts", source.output), ("Mentions", source.spans)):
        if path is not None and str(path) != STANDARD_INPUT:
            console().print(f"{name}: {path}")


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return "; ".join(value[:5]) + (f" and {len(value) - 5:,} more" if len(value) > 5 else "")
    return {True: "yes", False: "no"}.get(value, str(value))


def _print_mentions(graph: ConceptGraph, annotation: Annotation, json: bool) -> None:
    if json:
        print_json(with_release(graph.release, fields_of(AnnotationRow(annotation.mentions))))
        return
    if not annotation:
        note("no name of the graph occurs in this text")
        return
    rows = [
        (
            f"{mention.start}–{mention.end}", mention.text, mention.cui, mention.name or "(no name)",
            "" if mention.matched == mention.name else mention.matched, ", ".join(mention.sabs), mention.rule,
            ", ".join(mention.context), ", ".join(term.cui for term in mention.candidates),
        )
        for mention in annotation
    ]  # fmt: skip
    columns = (
        "characters", "text", "concept", "name", "matched", "vocabularies", "rule", "context", "candidates",
    )  # fmt: skip
    used = [column for column in range(len(columns)) if any(row[column] for row in rows)]
    print_table(Table([columns[n] for n in used], [[row[n] for n in used] for row in rows]))


def _stopped(path: Path | None) -> tuple[str, ...]:
    """Names and identifiers of a file, one in each line; refuses one without any, or with too many for a stop list."""
    if path is None:
        return ()
    names = tuple(dict.fromkeys(filter(None, map(str.strip, decoded_lines(path)))))
    if not 0 < len(names) <= _MOST_STOPPED:
        raise InputError(
            "not a stop list", file=path, found=counted(len(names), "name"),
            expected=f"1 to {_MOST_STOPPED:,} names or identifiers, one in each line",
        )  # fmt: skip
    return names
