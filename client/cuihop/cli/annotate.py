"""``cuihop annotate``: concepts of texts by the names of the graph."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from cuihop.annotated_texts.bulk import AnnotationAccount, annotate_texts, unfinished_path
from cuihop.annotated_texts.documents import DocumentRows
from cuihop.annotated_texts.reading import Format, open_texts
from cuihop.annotated_texts.text_tables import Header
from cuihop.annotated_texts.writing import SPANS_ENDINGS, SpansFormat, spans_form_of
from cuihop.annotation.mentions import Annotation
from cuihop.annotation.options import CONTEXTS, AnnotationOptions, Context, Disambiguation
from cuihop.answer_fields import annotation_fields, with_release
from cuihop.cli.command_files import CSV, FileForm
from cuihop.cli.evaluation_options import file_option
from cuihop.cli.graph_option import GraphOption, opened_graph
from cuihop.cli.output import JsonOption, console, note, print_json, print_table, progress
from cuihop.cli.run_options import ThreadsOption
from cuihop.errors import InputError
from cuihop.files.input_file import STANDARD_INPUT
from cuihop.files.text_lines import counted, decoded_lines
from cuihop.graph import ConceptGraph
from cuihop.notebooks.table import Table
from cuihop.resources.resources import Resources

_MOST_STOPPED = 100_000
_SPANS = FileForm("mentions", tuple(SPANS_ENDINGS))


@dataclass(frozen=True, kw_only=True)
class _TextOptions:
    """Texts to read, and files to write."""

    texts: Annotated[
        Path | None,
        typer.Argument(
            help="Texts: CSV, TSV, JSON Lines, Parquet, plain lines, PubTator, BRAT or BioC JSON; - for stdin.",
            show_default=False,
        ),
    ] = None
    text: Annotated[str | None, typer.Option("--text", help="A single text, in place of a file.")] = None
    output: Annotated[
        Path | None, file_option("--output", "-o", help="File for the concepts, ID and CUIs; - for stdout."), CSV
    ] = None
    spans: Annotated[
        Path | None, file_option("--spans", help="File for all mentions; of BRAT a new folder."), _SPANS
    ] = None
    spans_format: Annotated[
        SpansFormat | None,
        file_option("--spans-format", help="Format of the mentions.", show_default="by the ending"),
    ] = None
    format: Annotated[
        Format | None, file_option("--format", help="Format of the texts.", show_default="recognised")
    ] = None
    id_column: Annotated[
        str | None,
        file_option(
            "--id-column", show_default="id, image, pmid, …; or the first of two", help="Column of the identifiers."
        ),
    ] = None
    text_column: Annotated[
        str | None,
        file_option(
            "--text-column", show_default="caption, text, …; or the second of two", help="Column of the texts."
        ),
    ] = None
    header: Annotated[Header, file_option("--header", help="Header of CSV: recognised, present or absent.")] = "auto"
    json: JsonOption = False

    def __post_init__(self) -> None:
        if (self.texts is None) == (self.text is None):
            raise typer.BadParameter("give a file of texts, or --text TEXT")
        of_files = (self.output, self.spans, self.format, self.id_column, self.text_column)
        if self.text is not None and any(value is not None for value in of_files):
            raise typer.BadParameter("--output, --spans, --format and columns go with a file of texts")


_name_option = partial(typer.Option, rich_help_panel="Names")
_mention_option = partial(typer.Option, rich_help_panel="Mentions")


@dataclass(frozen=True, kw_only=True)
class _MentionOptions:
    """Names that match, and mentions that are kept."""

    semantic_type: Annotated[
        list[str] | None,
        _name_option(
            "--semantic-type", show_default="all",
            help="Semantic type or group, by code or name; MEDCON for its types. Repeatable.",
        ),
    ] = None  # fmt: skip
    sab: Annotated[
        list[str] | None,
        _name_option("--sab", help="Vocabulary whose names match. Repeatable.", show_default="all"),
    ] = None
    stop: Annotated[
        Path | None,
        _name_option("--stop", help="File of names and identifiers that never match, one in each line."),
    ] = None
    general: Annotated[bool, _name_option("--general", help="Match names that are too general as well.")] = False
    correct_spelling: Annotated[
        bool, _name_option("--correct-spelling", help="Match a word that no name has as the nearest one.")
    ] = False
    longest: Annotated[
        bool, _mention_option("--longest/--all", help="The longest match at each place, or every match.")
    ] = True
    disambiguate: Annotated[
        Disambiguation,
        _mention_option(
            "--disambiguate",
            help="Choice among several concepts: by rank of the name, or by hops to the other concepts of the text.",
        ),
    ] = "rank"
    candidates: Annotated[bool, _mention_option("--candidates", help="List all concepts of ambiguous mentions.")] = (
        False
    )
    leave_out: Annotated[
        list[str] | None,
        _mention_option(
            "--leave-out", show_default="none",
            help=f"Context whose mentions are left out: {', '.join(CONTEXTS)}. Repeatable.",
        ),
    ] = None  # fmt: skip

    def read(self) -> AnnotationOptions:
        """The options, with the names of the file of ``--stop``."""
        return AnnotationOptions(
            longest=self.longest, candidates=self.candidates, disambiguate=self.disambiguate,
            semantic_types=tuple(self.semantic_type or ()), sabs=tuple(self.sab or ()),
            leave_out=cast(tuple[Context, ...], tuple(self.leave_out or ())), stop=_stopped(self.stop),
            general=self.general, correct_spelling=self.correct_spelling,
        )  # fmt: skip


def annotate(
    source: _TextOptions, graph: GraphOption, mentions: _MentionOptions, threads: ThreadsOption = None
) -> None:
    """Find the concepts of texts by the names of the graph: the file that cuihop evaluate --concepts reads.

    An interrupted run goes on where it stopped: OUTPUT.unfinished.
    """
    options = mentions.read()
    with opened_graph(graph) as opened:
        if source.texts is None:
            _print_mentions(opened, opened.annotate(str(source.text), options), source.json)
            return
        if source.output is None:
            raise typer.BadParameter("a file of texts needs --output FILE, or --output - for standard output")
        rows = open_texts(
            source.texts, form=source.format, id_column=source.id_column, text_column=source.text_column,
            header=source.header,
        )  # fmt: skip
        spans_form = None if source.spans is None else spans_form_of(source.spans, source.spans_format)
        files = _Files(source.output, source.spans, spans_form)
        _annotate_file(opened, rows, files, options, threads, source.json)


@dataclass(frozen=True)
class _Files:
    """Files to write: concepts, and mentions in a format."""

    concepts: Path
    spans: Path | None
    spans_form: SpansFormat | None

    @property
    def to_stdout(self) -> bool:
        return str(self.concepts) == STANDARD_INPUT


def _annotate_file(
    graph: ConceptGraph, rows: DocumentRows, files: _Files, options: AnnotationOptions, threads: int | None, json: bool
) -> None:
    if files.to_stdout and (json or files.spans is not None):
        raise typer.BadParameter("--json and --spans need --output FILE")
    try:
        with progress() as bar:
            task = bar.add_task("texts", total=None)
            label = {True: "bytes of texts", False: "texts"}

            def report(done: int, size: int) -> None:
                bar.update(task, description=label[bool(size)], completed=done, total=size or None)

            account = annotate_texts(
                rows, graph, sys.stdout.buffer if files.to_stdout else files.concepts, spans=files.spans,
                spans_form=files.spans_form or "csv", options=options, resources=Resources(threads, progress=report),
            )  # fmt: skip
    except BaseException:
        left = unfinished_path(files.concepts)
        if left.exists():
            note(f"finished texts are in {left}; the same command goes on from there")
        raise
    sys.stdout.flush()
    _print_account(graph, account, files, options, json)


def _print_account(
    graph: ConceptGraph, account: AnnotationAccount, files: _Files, options: AnnotationOptions, json: bool
) -> None:
    if account.warning is not None:
        note(f"warning: {account.warning}")
    if json:
        fields = {
            **account.fields(),
            "options": dataclasses.asdict(options),
            "inputs": {"texts": account.summary},
            "output": str(files.concepts),
            "spans": None if files.spans is None else str(files.spans),
        }
        print_json(with_release(graph.release, fields))
        return
    changed = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != field.default
    }
    lines = [
        account.summary,
        f"{counted(account.mentions, 'mention')} of {counted(account.concepts, 'concept')}; "
        f"{counted(account.without_concepts, 'text')} without a concept",
    ]
    if account.left_out_by_context is not None and options.leave_out:
        lines.append(f"{counted(account.left_out_by_context, 'mention')} left out by context")
    if account.ambiguous is not None:
        lines.append(f"{counted(account.ambiguous, 'ambiguous mention')}")
    if account.resumed:
        lines.append(f"{counted(account.resumed, 'text')} finished by the run before")
    lines.append(
        "options: " + (", ".join(f"{name} {_value_text(value)}" for name, value in changed.items()) or "as by default")
    )
    lines.append(f"release {graph.release.name}, digest {graph.release.digest[:12]}")
    for line in lines:
        note(line)
    for name, path in (("Concepts", files.concepts), ("Mentions", files.spans)):
        if path is not None and str(path) != STANDARD_INPUT:
            console().print(f"{name}: {path}")


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return "; ".join(value[:5]) + (f" and {len(value) - 5:,} more" if len(value) > 5 else "")
    return {True: "yes", False: "no"}.get(value, str(value))


def _print_mentions(graph: ConceptGraph, annotation: Annotation, json: bool) -> None:
    if json:
        print_json(with_release(graph.release, annotation_fields(annotation)))
        return
    if not annotation:
        note("no name of the graph stands in this text")
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
    used = [place for place in range(len(columns)) if any(row[place] for row in rows)]
    print_table(Table([columns[n] for n in used], [[row[n] for n in used] for row in rows]))


def _stopped(path: Path | None) -> tuple[str, ...]:
    """Names and identifiers of a file, one in each line.

    Raises:
        InputError: it cannot be read, holds none, or more than a stop list may.
    """
    if path is None:
        return ()
    found = tuple(dict.fromkeys(filter(None, map(str.strip, decoded_lines(path)))))
    if not 0 < len(found) <= _MOST_STOPPED:
        raise InputError(
            "not a stop list", file=path, found=counted(len(found), "name"),
            expected=f"1 to {_MOST_STOPPED:,} names or identifiers, one in each line",
        )  # fmt: skip
    return found
