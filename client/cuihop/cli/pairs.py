"""Files of pairs: two columns in, and behind them the columns of the answers."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import typer

from cuihop.adapter_rules import of_code
from cuihop.answer_fields import with_release
from cuihop.cli.graph_option import Header, PairsOptions, note_merged
from cuihop.cli.output import console, note, print_json, progress
from cuihop.collection.tables import Schema
from cuihop.errors import InputError
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.records import Records, RowErrors, cause_of_columns
from cuihop.files.text_lines import counted, csv_records, decoded, joined, json_object, quoted, raw_lines
from cuihop.files.written_files import replaced_file
from cuihop.graph import ConceptGraph, Distances
from cuihop.identifiers import as_read, codes_of, identifier_fault, looks_like_identifier
from cuihop.resources.arrays import UInt8, UInt64

ByKeys = Callable[[UInt64], Distances | None]

_BLOCK = 50_000
_LINE = 18  # two identifiers of 8 characters, what is between them, and the end of the line
_EXPECTED = "two tab-separated columns of identifiers"
_CALL_THEM = "Of more than two columns, call them a and b."
_SCHEMA = Schema((("a", "cui1"), ("b", "cui2")), "a and b", _EXPECTED, _CALL_THEM)
_SEPARATORS = {"\t": "", ",": "commas", ";": "semicolons"}
"""Between the columns, the first that the first line has; with its name in the summary."""


@dataclass(frozen=True)
class PairAnswers:
    """Answers to a block of pairs.

    Attributes:
        texts: the further columns of each pair, separated by tabs. answered: number of pairs with a path, or a value.
        merged: retired identifier → successor that it was taken for.
    """

    texts: Sequence[str]
    answered: int
    merged: Mapping[str, str]


@dataclass(frozen=True)
class PairColumns:
    """The columns behind the pairs of a file.

    Attributes:
        names: for a file with a header. answers: of a block of pairs that the graph holds.
        by_keys: the distances of a block of pairs as `SnapshotGraph.distances_of_keys` takes them, if these are the
            answers; ``None`` if one is not current.
    """

    names: Sequence[str]
    answers: Callable[[Sequence[tuple[str, str]]], PairAnswers]
    by_keys: ByKeys | None = None


@dataclass
class PairsDone:
    """Summary of the rows of a file.

    Attributes:
        pairs: rows with usable identifiers. answered: those with a path, or a value. rejected: faulty rows, skipped.
        merged: retired identifier → successor. lower: occurrences in lower case, which are read in upper case.
        form: how the file was read, if not as plain tabs. by_name: its columns were selected by name.
    """

    pairs: int = 0
    answered: int = 0
    rejected: int = 0
    header: str | None = None
    merged: dict[str, str] = field(default_factory=dict)
    lower: int = 0
    source: str = ""
    form: str = ""
    by_name: bool = False

    @property
    def summary(self) -> str:
        """Summary of the parsed file, in one line."""
        header = "no header" if self.header is None else f"header {quoted(self.header)}"
        lower = f", {self.lower:,} in lower case read in upper case" if self.lower else ""
        form = f", {self.form}" if self.form else ""
        return f"{self.source}: {counted(self.pairs, 'pair')}, {header}{lower}{form}"


def answers_of_file(
    source: Readable,
    graph: ConceptGraph,
    output: BinaryIO,
    columns: PairColumns,
    *,
    rejects: BinaryIO | None = None,
    header: Header = "auto",
    block: int = _BLOCK,
    progress: Callable[[int], None] = lambda _: None,
) -> PairsDone:
    """Write the answer to every pair of a file, in its order, in columns separated by tabs.

    Args:
        source: a file, a pipe, or ``-`` for standard input: two columns separated by a tab, a comma or ``;``, JSON
            Lines, Parquet or Arrow. In a larger table they are called ``a`` and ``b``, or ``cui1`` and ``cui2``.
        graph: resolves the identifiers. output: receives the rows with their further columns.
        columns: these.
        rejects: receives faulty rows (line number, reason, row); without it the first fault is an `InputError`.
        header: ``auto`` takes the first line for a header if neither field is an identifier of the graph, or a CUI by
            its form.
        block: pairs answered at once. progress: called with the bytes of each finished block.
    """
    file = opened_input(source)
    rows = _Pairs(file, graph, header)
    done = PairsDone(source=file.name, form=rows.form, by_name=rows.by_name)
    if rows.header is not None:
        done.header = "\t".join(rows.header)
        output.write(("\t".join((done.header, *columns.names)) + "\n").encode())
    while numbered := list(itertools.islice(rows.numbered, block)):
        plain = None
        if columns.by_keys is not None and codes_of.get() is None:
            plain = _plain_answers(rows.eight_bytes(numbered), columns.by_keys)
        if plain is not None:
            lines, answered = plain
            output.write(lines)
            done.pairs += len(numbered)
            done.answered += answered
            progress(len(numbered) * _LINE)
            continue
        read: list[tuple[int, bytes, tuple[str, str]]] = []
        problems: list[tuple[int, bytes, InputError]] = []
        pairs = rows.pairs(numbered)
        for index, (row, raw) in enumerate(numbered):
            try:
                pair = pairs[index] if pairs else rows.pair(row, raw)
                identifiers = as_read(pair[0]), as_read(pair[1])
                if identifiers != pair:
                    done.lower += sum(r == t.upper() != t for r, t in zip(identifiers, pair, strict=True))
                read.append((row, raw, identifiers))
            except InputError as error:
                problems.append((row, raw, error))
        resolved = graph.resolve(list(dict.fromkeys(cui for _, _, pair in read for cui in pair)))
        unusable = {r.requested: r for r in resolved if r.cui is None}
        concept_of = {r.requested: r.cui for r in resolved if r.status == "code" and r.cui is not None}
        usable = [] if unusable else [pair for _, _, pair in read]
        for row, raw, pair in read if unusable else ():
            column = next((column for column, cui in enumerate(pair) if cui in unusable), None)
            if column is None:
                usable.append(pair)
                continue
            cui = pair[column]
            form = identifier_fault(cui, graph.release.identifiers)
            resolution = unusable[cui]
            concepts = ", ".join(cui for _, cui in resolution.candidates) if of_code(resolution.candidates) else ""
            problem = rows.problem(
                _STATUS[resolution.status] if form is None else form.problem, row, column,
                f"{quoted(cui)} ({concepts})" if concepts else quoted(cui),
                f"a concept of release {graph.release.name}", "--on-bad-row skip answers the others",
            )  # fmt: skip
            problems.append((row, raw, problem))
        for row, raw, problem in sorted(problems, key=lambda each: each[0]):
            if rejects is None:
                raise problem
            rejects.write(f"{row}\t{problem.problem}: {problem.found}\t".encode() + raw + b"\n")
        answer = columns.answers([(concept_of.get(a, a), concept_of.get(b, b)) for a, b in usable])
        output.write("".join(f"{a}\t{b}\t{t}\n" for (a, b), t in zip(usable, answer.texts, strict=True)).encode())
        done.pairs += len(usable)
        done.answered += answer.answered
        done.rejected += len(problems)
        done.merged.update({**concept_of, **answer.merged})
        progress(sum(len(raw) + 1 for _, raw in numbered))
    return done


def _plain_answers(identifiers: UInt8 | None, by_keys: ByKeys) -> tuple[bytes, int] | None:
    """The rows of a block with their distances, and the number of paths; ``None`` if one needs more care.

    ``identifiers`` is as `_Pairs.eight_bytes` returns it.
    """
    distances = None if identifiers is None else by_keys(identifiers.view(">u8").astype(np.uint64).ravel())
    if identifiers is None or distances is None:
        return None
    hops = np.where(distances.reached, distances.hops + 1, 0)
    texts = np.array([b"\n", *(b"%d\n" % number for number in range(hops.max()))])
    lines = np.full((len(hops), _LINE + texts.itemsize), ord("\t"), dtype=np.uint8)
    lines[:, :8], lines[:, 9:17] = identifiers[:, :8], identifiers[:, 8:]
    lines[:, _LINE:] = texts.view(np.uint8).reshape(len(texts), -1)[hops]
    return bytes(lines[lines != 0]), int(distances.reached.sum())


_STATUS = {
    "unknown": "unknown concept",
    "retired": "retired concept without an exact successor",
    "several": "code of several concepts",
    "invalid": "not an identifier",
}


class _Pairs:
    """The rows of a file in any form, not parsed yet: a faulty one may be set aside.

    Attributes:
        numbered: number and bytes of each row. header: names of the two columns, if the file has them.
        by_name: the columns were selected by their names. form: how the file is read, if not as plain tabs.
        problem: makes the error about a row.
    """

    def __init__(self, file: InputFile, graph: ConceptGraph, header: Header) -> None:
        self.numbered: Iterator[tuple[int, bytes]]
        self.header: tuple[str, ...] | None = None
        self.by_name, self.form, self.problem = False, file.compression, RowErrors(file.name)
        self._width, self._columns, self._delimiter = 2, (0, 1), "\t"
        self._keys: Sequence[str] = ()
        self._source = file.name
        if file.form == "table":
            records = Records.of(file, _EXPECTED)
            self._select(records)
            rows = records.texts(self._columns)
            self._columns, self._width = (0, 1), 2
            self.numbered = ((row, "\t".join(pair).encode()) for row, pair in rows)
            return
        lines = enumerate(map(methodcaller("rstrip", b"\r\n"), raw_lines(file)), start=1)
        line, raw = next(lines, (0, b""))
        if not line:
            raise InputError("the file is empty", file=file.name, expected=_EXPECTED)
        self.numbered = itertools.chain([(line, raw)], lines)
        if raw.lstrip().startswith(b"{"):
            self._keys = list(json_object(decoded(raw, file.name, line), file.name, line))
            self._select(Records(self._keys, file.name, "JSON Lines", line, in_json=True))
            return
        self._delimiter = next((mark for mark in _SEPARATORS if mark.encode() in raw), "\t")
        self.form = joined(self.form, _SEPARATORS[self._delimiter])
        try:
            names = self._fields(line, raw)
        except InputError:
            if header == "yes":
                raise
            return
        if header != "no" and _SCHEMA.in_header(names):
            self._select(Records(names, file.name, line=line, delimiter=self._delimiter))
        elif header == "yes" or (header == "auto" and _is_header(names, graph)):
            self.header = tuple(names)
        if self.header is not None:
            self.numbered = lines

    def _select(self, records: Records) -> None:
        """Select two columns by their names."""
        table = _SCHEMA.table(records)
        self._columns, self._width = table.columns, len(records.names)
        self.header = tuple(records.names[column] for column in self._columns)
        self.problem = table.error
        self.by_name = True
        self.form = joined(self.form, table.form)

    def pairs(self, block: Sequence[tuple[int, bytes]]) -> list[tuple[str, str]]:
        """The identifiers of many rows at once; empty if a row has to be parsed by itself."""
        text = b"\n".join(raw for _, raw in block)
        if self._keys or self._width != 2 or self._columns != (0, 1) or b'"' in text or b"\0" in text:
            return []
        try:
            rows = (line.split(self._delimiter) for line in text.decode().split("\n"))
            return [(a.strip(), b.strip()) for a, b in rows]
        except ValueError:  # not UTF-8, or another number of columns
            return []

    def eight_bytes(self, block: Sequence[tuple[int, bytes]]) -> UInt8 | None:
        """The identifiers of many rows, uint8, shape (rows, 16), if each row has two of 8 characters, capital letters.

        ``None`` if a row differs, even by white space or quotes.
        """
        text = b"\n".join([raw for _, raw in block])
        if self._keys or self._width != 2 or self._columns != (0, 1) or len(text) != len(block) * _LINE - 1:
            return None
        rows = np.frombuffer(text + b"\n", dtype=np.uint8).reshape(-1, _LINE)
        identifiers = np.concatenate((rows[:, :8], rows[:, 9:17]), axis=1)
        plain = (identifiers > ord(" ")) & (identifiers < ord("a")) & (identifiers != ord('"'))
        plain &= identifiers != ord(self._delimiter)
        between = (rows[:, 8] == ord(self._delimiter)).all() and (rows[:, 17] == ord("\n")).all()
        return identifiers if between and plain.all() else None

    def pair(self, row: int, raw: bytes) -> tuple[str, str]:
        """The identifiers of a row; refuses one that is not UTF-8, has other columns, or a value that is no text."""
        fields = self._fields(row, raw)
        if len(fields) != self._width:
            raise InputError(
                "wrong number of columns", file=self.problem.source, line=row,
                found=f"{len(fields)} in {quoted(raw.decode())}",
                expected="2, separated by one tab" if self._width == 2 else f"{self._width}, as in the header",
                advice=cause_of_columns(fields, self._width, self._delimiter)
                or (_CALL_THEM if len(fields) > self._width == 2 else None),
            )  # fmt: skip
        a, b = fields[self._columns[0]], fields[self._columns[1]]
        if self._keys:
            for column, value in enumerate((a, b)):
                if not isinstance(value, str):
                    raise self.problem("not a text", row, column, quoted(repr(value)), "an identifier")
        return a.strip(), b.strip()

    def _fields(self, row: int, raw: bytes) -> list[Any]:
        text = decoded(raw, self._source, row)
        if self._keys:
            values = json_object(text, self._source, row)
            return [values.get(key) for key in self._keys]
        if '"' not in text:
            return text.split(self._delimiter)
        return next(csv_records([text], self._source, _EXPECTED, self._delimiter, row))[1]


def _is_header(fields: Sequence[str], graph: ConceptGraph) -> bool:
    if len(fields) != 2 or any(looks_like_identifier(field.strip()) for field in fields):
        return False
    if any(fault is not None and fault.problem != "not an identifier" for fault in map(identifier_fault, fields)):
        return False  # a list, or identifiers with another separator
    return all(r.status in {"unknown", "invalid"} for r in graph.resolve([as_read(field) for field in fields]))


def rejected_rows(options: PairsOptions, output: Path | None, option: str = "--output") -> Path | None:
    """The file for skipped rows, next to the output if it is not stated; ``None`` where an invalid row is an error."""
    if options.on_bad_row != "skip":
        return None
    if options.rejects is not None:
        return options.rejects
    if output is None:
        raise typer.BadParameter(f"--on-bad-row skip needs --rejects, or {option}")
    return output.with_name(output.name + ".rejects")


def note_rows(done: PairsDone, options: PairsOptions, rejects: Path | None) -> None:
    """Note how the rows of a file were read."""
    note_merged(done.merged)
    note(done.summary)
    if done.header is not None and options.header == "auto" and not done.by_name:
        note(f"line 1 was taken for a header: {done.header!r}; --header no reads it as a pair")
    if done.rejected:
        note(f"{done.rejected:,} invalid rows were skipped, and are in {rejects}")


def print_answers_of_file(
    graph: ConceptGraph,
    options: PairsOptions,
    columns: PairColumns,
    outcome: tuple[str, str],
    *,
    block: int = _BLOCK,
) -> None:
    """Answer the pairs of a file, and print the summary.

    ``outcome`` has the fields of JSON for the numbers of pairs with and without an answer; the others are as in
    `answers_of_file`.
    """
    pairs, output = options.pairs, options.output
    if pairs is None:
        raise ValueError("no file of pairs")
    if options.json and output is None:
        raise typer.BadParameter("--json with --pairs needs --output")
    rejects = rejected_rows(options, output)
    file = InputFile(pairs)
    plain = file.mapped_from is not None and file.form == "text" and not file.compression
    with contextlib.ExitStack() as stack:
        written: BinaryIO = sys.stdout.buffer if output is None else stack.enter_context(replaced_file(output))
        aside = None if rejects is None else stack.enter_context(replaced_file(rejects))
        bar = stack.enter_context(progress())
        task = bar.add_task("bytes of pairs", total=pairs.stat().st_size if plain else None)
        done = answers_of_file(
            file, graph, written, columns, rejects=aside, header=options.header, block=block,
            progress=lambda size: bar.advance(task, size),
        )  # fmt: skip
    sys.stdout.flush()
    note_rows(done, options, rejects)
    answered, unanswered = outcome
    if options.json:
        fields = {
            "pairs": done.pairs, answered: done.answered, unanswered: done.pairs - done.answered,
            "rejected": done.rejected, "inputs": {"pairs": done.summary}, "output": str(output),
        }  # fmt: skip
        print_json(with_release(graph.release, fields, done.merged))
    elif output is not None:
        without = {"no_path": "a path"}.get(unanswered, "a value")
        console().print(f"{done.pairs:,} pairs, {done.pairs - done.answered:,} of them without {without}: {output}")
