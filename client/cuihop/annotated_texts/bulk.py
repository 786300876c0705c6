"""Concepts of many texts, on all cores and block by block, into files that are continued after an interrupt."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import xxhash

from cuihop.annotated_texts.documents import AnnotatedDocument, DocumentRows
from cuihop.annotated_texts.unfinished import FinishedPart, UnfinishedFiles
from cuihop.annotated_texts.writing import (
    CONCEPTS_HEADER,
    SPANS_HEADERS,
    SpansFormat,
    concept_rows,
    span_rows,
    unfold_brat,
)
from cuihop.annotation.options import AnnotationOptions
from cuihop.errors import InputError, OutputError
from cuihop.files.text_lines import counted, quoted
from cuihop.files.written_files import put_in_place, replaced_folder
from cuihop.graph import ConceptGraph
from cuihop.resources.arrays import Float64
from cuihop.resources.cores import in_order
from cuihop.resources.optional_packages import versions
from cuihop.resources.resources import Resources

_SUMS = ("texts", "empty", "without_concepts", "mentions", "left_out_by_context", "ambiguous")
"""Sums over blocks; one that the graph does not count is NaN."""


@dataclass(frozen=True)
class AnnotationSummary:
    """Summary of a run.

    Attributes:
        source: the input. form: how it was read. text_column: of the texts in a table; empty without.
        texts: those annotated; repeated: those left out, since an equal one with their identifier stands before.
        empty: texts of nothing but white space. without_concepts: texts without a concept, empty ones included.
        mentions: those written. concepts: distinct ones in all of them.
        left_out_by_context: mentions left out; ``None`` if the graph does not count them.
        ambiguous: mentions with several candidates; ``None`` unless candidates are requested.
        resumed: texts that an interrupted run had finished.
    """

    source: str
    form: str
    texts: int
    repeated: int
    empty: int
    without_concepts: int
    mentions: int
    concepts: int
    left_out_by_context: int | None
    ambiguous: int | None
    resumed: int = 0
    text_column: str = ""

    def fields(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        return {name: value for name, value in asdict(self).items() if name not in ("source", "form", "text_column")}

    @property
    def warning(self) -> str | None:
        """A line on the column that was read as text, if no name of the graph stands in any text."""
        if self.mentions or self.left_out_by_context:
            return None
        read, hint = f"all of {self.form}", ""
        if self.text_column:
            read, hint = f"column {quoted(self.text_column)}", ". --text-column NAME selects another"
        return f"no name of the graph stands in any text; read as text: {read}{hint}"

    @property
    def of_input(self) -> str:
        """Summary of the parsed input, in one line."""
        repeated = f", {self.repeated:,} repeated and left out" if self.repeated else ""
        return f"{self.source}: {counted(self.texts, 'text')}, {self.empty:,} empty{repeated}, {self.form}"


@dataclass(frozen=True, eq=False)
class _Block:
    """A block of texts, numbered from 0, and the digest of all texts up to its end."""

    number: int
    documents: Sequence[AnnotatedDocument]
    digest: int


@dataclass(frozen=True, eq=False)
class _Done:
    """An annotated block: what is written to each file, its sums, and its concepts."""

    block: _Block
    contents: Sequence[bytes]
    sums: Float64
    concepts: frozenset[str]


@dataclass(frozen=True, eq=False)
class _Job:
    graph: ConceptGraph
    options: AnnotationOptions
    spans_form: SpansFormat | None

    def __call__(self, block: _Block) -> _Done:
        identifiers = [document.identifier for document in block.documents]
        texts = [document.text or "" for document in block.documents]
        annotations = self.graph.annotate_many(texts, self.options)
        first = block.number == 0
        contents = [(CONCEPTS_HEADER if first else b"") + concept_rows(identifiers, annotations)]
        if self.spans_form is not None:
            head = SPANS_HEADERS[self.spans_form] if first else b""
            contents.append(head + span_rows(self.spans_form, identifiers, annotations))
        cuis = annotations.vocabulary.cuis
        ambiguous = np.nan
        if self.options.candidates:
            ambiguous = 0 if annotations.candidates is None else int((np.diff(annotations.candidates[0]) > 1).sum())
        sums = (
            len(texts), sum(not text or text.isspace() for text in texts),
            int((np.diff(annotations.indptr) == 0).sum()), len(annotations.terms),
            np.nan if annotations.left_out is None else annotations.left_out, ambiguous,
        )  # fmt: skip
        concepts = frozenset(cuis[term] for term in np.unique(annotations.terms).tolist())
        return _Done(block, contents, np.array(sums, dtype=np.float64), concepts)

    def depends(self, rows: DocumentRows, spans: Path | None) -> Mapping[str, Any]:
        """Everything that the output depends on, but for the texts, as values of JSON."""
        options = {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self.options).items()
        }
        return {
            "work": "annotate",
            "version of cuihop": versions("cuihop")["cuihop"],
            "release digest": self.graph.release.digest,
            "options": options,
            "spans": spans and [spans.name, self.spans_form],
            "form of the texts": rows.form,
        }


def unfinished_path(concepts: Path) -> Path:
    """The file of finished blocks that an interrupted run leaves next to its output."""
    return concepts.with_name(f"{concepts.name}.unfinished")


def annotate_texts(
    rows: DocumentRows,
    graph: ConceptGraph,
    concepts: Path | BinaryIO,
    *,
    spans: Path | None = None,
    spans_form: SpansFormat = "csv",
    options: AnnotationOptions | None = None,
    resources: Resources | None = None,
) -> AnnotationSummary:
    """Write the concepts of each text, in the order of the input.

    The file is written atomically. An interrupted run leaves ``CONCEPTS.unfinished`` and
    ``CONCEPTS.unfinished-part``, from which the same call resumes, with the same output to the last byte.

    Args:
        rows: the texts; see `cuihop.annotated_texts.reading.open_texts`.
        graph: its names are looked for.
        concepts: file of ``ID,CUIs``, as ``cuihop evaluate --concepts`` reads it; or a stream, which is not continued
            and goes without spans.
        spans: file of all mentions, or with ``spans_form="brat"`` a new folder.
        spans_form: see `cuihop.annotated_texts.writing.SPANS_FORMATS`.
        options: see `AnnotationOptions`.
        resources: threads, and progress: called with bytes read and of all, or with texts and 0 where the size of the
            input is unknown.

    Raises:
        InputError: as `DocumentRows.blocks`, `span_rows` and `ConceptGraph.annotate_many`; the input holds no text; the
            unfinished files are of another job or other texts.
        OutputError: a file cannot be written.
    """
    job = _Job(graph, options or AnnotationOptions(), None if spans is None else spans_form)
    resources = resources or Resources()
    graph.annotate_many([""], job.options)  # refuses options before any file is made
    if not isinstance(concepts, Path):
        return _to_stream(job, rows, concepts, resources)
    if spans is not None and spans_form == "brat" and spans.exists():
        raise OutputError(f"{spans}: not written: it exists already, and BRAT needs a new folder")
    paths = [concepts] if spans is None else [concepts, spans]
    with UnfinishedFiles(paths, job.depends(rows, spans), len(_SUMS)) as files:
        before = files.finished
        cuis = _concepts_in(files.parts[0]) if before.blocks else set()
        for done, state in _annotated(job, rows, before, files.path, resources):
            files.add(done.contents, state)
            cuis |= done.concepts
        _put(files, paths, job.spans_form)
        return _summary(rows, files.finished, cuis, before)


def _to_stream(job: _Job, rows: DocumentRows, stream: BinaryIO, resources: Resources) -> AnnotationSummary:
    if job.spans_form is not None:
        raise InputError("spans go with a file of concepts", column="spans", expected="concepts in a file")
    state = before = FinishedPart(0, 0, np.zeros(len(_SUMS)))
    cuis = set[str]()
    for done, after in _annotated(job, rows, before, Path(), resources):
        stream.write(done.contents[0])
        cuis |= done.concepts
        state = after
    return _summary(rows, state, cuis, before)


def _annotated(
    job: _Job, rows: DocumentRows, before: FinishedPart, unfinished: Path, resources: Resources
) -> Iterator[tuple[_Done, FinishedPart]]:
    """The annotated blocks in order, each with the state after it; those before an error of the input come first.

    Raises:
        InputError: the input holds no text, or as `_blocks`.
    """
    state, input_error = before, None

    def before_error() -> Iterator[_Block]:
        nonlocal input_error
        try:
            yield from _blocks(rows, before, unfinished)
        except InputError as error:
            input_error = error

    for done in in_order(job, before_error(), resources.threads):
        state = FinishedPart(done.block.number + 1, done.block.digest, state.counts + done.sums)
        yield done, state
        if resources.progress is not None:
            resources.progress(*(rows.progress() or (int(state.counts[0]), 0)))
    if input_error is not None:
        raise input_error
    if not state.blocks:
        raise InputError("the input holds no text", file=rows.source, found=rows.form, expected="one text or more")


def _blocks(rows: DocumentRows, before: FinishedPart, unfinished: Path) -> Iterator[_Block]:
    """The blocks after those that an earlier run finished.

    Raises:
        InputError: the texts of the finished blocks are others now.
    """
    running = xxhash.xxh3_64()
    number = -1
    for number, documents in enumerate(rows.blocks()):
        for document in documents:
            for text in (document.identifier, document.text or ""):
                raw = text.encode()
                running.update(len(raw).to_bytes(8, "little"))
                running.update(raw)
        if number == before.blocks - 1 and running.intdigest() != before.digest:
            raise _changed(rows, unfinished)
        if number >= before.blocks:
            yield _Block(number, documents, running.intdigest())
    if number < before.blocks - 1:
        raise _changed(rows, unfinished)


def _changed(rows: DocumentRows, unfinished: Path) -> InputError:
    return InputError(
        "the texts are not those of the unfinished run", file=rows.source,
        advice=f"Give those, or delete {unfinished}, and the same command starts again.",
    )  # fmt: skip


def _put(files: UnfinishedFiles, paths: Sequence[Path], spans_form: SpansFormat | None) -> None:
    """Let each file take its place, that of concepts last."""
    for part, path in reversed(list(zip(files.parts, paths, strict=True))):
        if spans_form != "brat" or path == paths[0]:
            put_in_place(part, path)
            continue
        try:
            with part.open("rb") as lines, replaced_folder(path) as folder:
                unfold_brat(lines, folder)
        except OSError as error:
            raise OutputError(f"{path}: not written: {error.filename2 or ''} {error.strerror or error}") from error
    files.remove()


def _concepts_in(path: Path) -> set[str]:
    """Distinct concepts of finished blocks."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        return {cui for _, listed in rows for cui in listed.split(";") if cui}


def _summary(rows: DocumentRows, state: FinishedPart, concepts: set[str], before: FinishedPart) -> AnnotationSummary:
    sums: dict[str, Any] = {
        name: None if np.isnan(value) else int(value) for name, value in zip(_SUMS, state.counts, strict=True)
    }
    return AnnotationSummary(
        source=rows.source, form=rows.form, repeated=rows.repeated, concepts=len(concepts),
        resumed=int(before.counts[0]), text_column=rows.text_column, **sums,
    )  # fmt: skip
