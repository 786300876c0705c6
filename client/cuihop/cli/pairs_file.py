"""Files of pairs: two columns in, and behind them the columns of the answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

from cuihop.collection.columns import Columns
from cuihop.errors import InputError
from cuihop.files.input_file import InputFile, Readable, opened_input
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.records import Records, RowFault
from cuihop.files.text_lines import counted, csv_records, decoded, json_object, quoted, raw_lines
from cuihop.graph import ConceptGraph
from cuihop.identifiers import identifier_fault, in_upper_case, looks_like_identifier

Header = Literal["auto", "yes", "no"]
OnBadRow = Literal["error", "skip"]

_BLOCK = 50_000
_EXPECTED = "two tab-separated columns of identifiers"
_CALL_THEM = "Of more than two columns, call them a and b."
_COLUMNS = Columns(usual=(("a", "cui1"), ("b", "cui2")), contents="a and b", expected=_EXPECTED, advice=_CALL_THEM)
_SEPARATORS = {"\t": "", ",": "commas", ";": "semicolons"}
"""Between the columns, the first that the first line has; with the name in the account."""


@dataclass(frozen=True)
class PairAnswers:
    """Answers to some pairs.

    Attributes:
        texts: the further columns of each pair, separated by tabs.
        found: number of pairs with a path, or a value.
        merged: retired identifier → successor that it was taken for.
    """

    texts: Sequence[str]
    found: int
    merged: Mapping[str, str]


@dataclass
class PairsDone:
    """Summary of the rows of a file.

    Attributes:
        pairs: rows with an answer. found: those with a path, or a value.
        rejected: rows skipped because of a fault.
        header: the header, if the file has one.
        merged: retired identifier → successor that it was taken for.
        lower: occurrences of identifiers in lower case, which are read in upper case.
        source: the file. form: how it was read, if not as plain tabs. by_name: its columns were chosen by their names.
    """

    pairs: int = 0
    found: int = 0
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
    columns: Sequence[str],
    answers: Callable[[Sequence[tuple[str, str]]], PairAnswers],
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
        graph: resolves the identifiers.
        output: receives the rows with their further columns.
        columns: names of these, for a file with a header.
        answers: of some pairs that the graph holds.
        rejects: receives faulty rows (line number, reason, row); without it the first fault is an error.
        header: ``auto`` takes the first line for a header if neither field is an identifier of the graph, or a CUI by
            its form.
        block: pairs answered at once.
        progress: called with the bytes of each finished block.

    Raises:
        InputError: the file cannot be read, or a row is faulty and ``rejects`` is not given.
    """
    file = opened_input(source)
    rows = _Pairs(file, graph, header)
    done = PairsDone(source=file.name, form=rows.form, by_name=rows.by_name)
    if rows.header is not None:
        done.header = "\t".join(rows.header)
        output.write(("\t".join((done.header, *columns)) + "\n").encode())
    while numbered := list(itertools.islice(rows.numbered, block)):
        read: list[tuple[int, bytes, tuple[str, str]]] = []
        faults: list[tuple[int, bytes, InputError]] = []
        pairs = rows.pairs(numbered)
        for place, (row, raw) in enumerate(numbered):
            try:
                pair = pairs[place] if pairs else rows.pair(row, raw)
                upper = in_upper_case(pair[0]), in_upper_case(pair[1])
                if upper != pair:
                    done.lower += (upper[0] != pair[0]) + (upper[1] != pair[1])
                read.append((row, raw, upper))
            except InputError as error:
                faults.append((row, raw, error))
        resolved = graph.resolve(list({cui for _, _, pair in read for cui in pair}))
        unusable = {r.requested: r.status for r in resolved if r.cui is None}
        usable = [] if unusable else [pair for _, _, pair in read]
        for row, raw, pair in read if unusable else ():
            column = next((column for column, cui in enumerate(pair) if cui in unusable), None)
            if column is None:
                usable.append(pair)
                continue
            cui = pair[column]
            form = identifier_fault(cui, graph.release.identifiers)
            fault = rows.fault(
                _STATUS[unusable[cui]] if form is None else form.problem, row, column, quoted(cui),
                f"a concept of release {graph.release.name}", "--on-bad-row skip answers the others",
            )  # fmt: skip
            faults.append((row, raw, fault))
        for row, raw, fault in sorted(faults, key=lambda fault: fault[0]):
            if rejects is None:
                raise fault
            rejects.write(f"{row}\t{fault.problem}: {fault.found}\t".encode() + raw + b"\n")
        answered = answers(usable)
        output.write("".join(f"{a}\t{b}\t{t}\n" for (a, b), t in zip(usable, answered.texts, strict=True)).encode())
        done.pairs += len(usable)
        done.found += answered.found
        done.rejected += len(faults)
        done.merged.update(answered.merged)
        progress(sum(len(raw) + 1 for _, raw in numbered))
    return done


_STATUS = {
    "unknown": "unknown concept",
    "retired": "retired concept without an exact successor",
    "invalid": "not an identifier",
}


class _Pairs:
    """The rows of a file in any form, not parsed yet: a faulty one may be set aside.

    Args:
        file: the input. graph: recognises identifiers. header: as in `answers_of_file`.

    Attributes:
        numbered: number and bytes of each row. header: names of the two columns, if the file has them.
        by_name: the columns were chosen by their names. form: how the file is read, if not as plain tabs.
        fault: makes the error about a row.
    """

    def __init__(self, file: InputFile, graph: ConceptGraph, header: Header) -> None:
        self.numbered: Iterator[tuple[int, bytes]]
        self.header: tuple[str, ...] | None = None
        self.by_name, self.form, self.fault = False, file.compression, RowFault(file.name)
        self._width, self._places, self._delimiter = 2, (0, 1), "\t"
        self._keys: Sequence[str] = ()
        self._source = file.name
        if file.form == "table":
            records = Records.of(file, _EXPECTED)
            self._choose(records)
            rows = records.texts(self._places)
            self._places, self._width = (0, 1), 2
            self.numbered = ((row, "\t".join(pair).encode()) for row, pair in rows)
            return
        lines = enumerate((line.rstrip(b"\r\n") for line in raw_lines(file)), start=1)
        line, raw = next(lines, (0, b""))
        if not line:
            raise InputError("the file is empty", file=file.name, expected=_EXPECTED)
        self.numbered = itertools.chain([(line, raw)], lines)
        if raw.lstrip().startswith(b"{"):
            self._keys = list(json_object(decoded(raw, file.name, line), file.name, line))
            self._choose(Records(self._keys, file.name, "JSON Lines", line, in_json=True))
            return
        self._delimiter = next((mark for mark in _SEPARATORS if mark.encode() in raw), "\t")
        self.form = ", ".join(filter(None, (self.form, _SEPARATORS[self._delimiter])))
        try:
            names = self._fields(line, raw)
        except InputError:
            if header == "yes":
                raise
            return
        if header != "no" and _COLUMNS.in_header(names):
            self._choose(Records(names, file.name, line=line, delimiter=self._delimiter))
        elif header == "yes" or (header == "auto" and _is_header(names, graph)):
            self.header = tuple(names)
        if self.header is not None:
            self.numbered = lines

    def _choose(self, records: Records) -> None:
        """Choose two columns by their names."""
        chosen = _COLUMNS.choose(records)
        self._places, self._width = (chosen.first, chosen.second), len(records.names)
        self.header = tuple(records.names[place] for place in self._places)
        self.fault = records.row_fault(self._places)
        self.by_name = True
        self.form = ", ".join(filter(None, (self.form, records.form, chosen.account)))

    def pairs(self, block: Sequence[tuple[int, bytes]]) -> list[tuple[str, str]]:
        """The identifiers of many rows at once; none where a row needs a look of its own."""
        text = b"\n".join(raw for _, raw in block)
        if self._keys or self._width != 2 or self._places != (0, 1) or b'"' in text or b"\0" in text:
            return []
        try:
            rows = (line.split(self._delimiter) for line in text.decode().split("\n"))
            return [(a.strip(), b.strip()) for a, b in rows]
        except ValueError:  # not UTF-8, or another number of columns
            return []

    def pair(self, row: int, raw: bytes) -> tuple[str, str]:
        """The identifiers of a row.

        Raises:
            InputError: it is not UTF-8, has other columns, or a value that is no text.
        """
        fields = self._fields(row, raw)
        if len(fields) != self._width:
            raise InputError(
                "wrong number of columns", file=self.fault.source, line=row,
                found=f"{len(fields)} in {quoted(raw.decode())}",
                expected="2, separated by one tab" if self._width == 2 else f"{self._width}, as in the header",
                advice=cause_of_columns(fields, self._width, self._delimiter)
                or (_CALL_THEM if len(fields) > self._width == 2 else None),
            )  # fmt: skip
        a, b = fields[self._places[0]], fields[self._places[1]]
        if self._keys:
            for column, value in enumerate((a, b)):
                if not isinstance(value, str):
                    raise self.fault("not a text", row, column, quoted(repr(value)), "an identifier")
        return a.strip(), b.strip()

    def _fields(self, row: int, raw: bytes) -> list[Any]:
        text = decoded(raw, self._source, row)
        if self._keys:
            found = json_object(text, self._source, row)
            return [found.get(key) for key in self._keys]
        if '"' not in text:
            return text.split(self._delimiter)
        return next(csv_records([text], self._source, _EXPECTED, self._delimiter, row))[1]


def _is_header(fields: Sequence[str], graph: ConceptGraph) -> bool:
    if len(fields) != 2 or any(looks_like_identifier(field.strip()) for field in fields):
        return False
    if any(fault is not None and fault.problem != "not an identifier" for fault in map(identifier_fault, fields)):
        return False  # a list, or identifiers with another separator
    return all(r.status in {"unknown", "invalid"} for r in graph.resolve(fields))
