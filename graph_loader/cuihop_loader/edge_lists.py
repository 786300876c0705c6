"""Edge lists: tables of a child and its parent in each row, in CSV, TSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from cuihop.errors import InputError, LimitExceeded, first_few
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.input_file import InputFile
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.text_lines import delimiter_of, quoted
from cuihop.identifiers import EXPECTED, MISSING_VALUES, is_identifier
from cuihop.resources.progress import StepProgress
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.sources import EDGE_LIST, SourceFile
from cuihop_loader.term_lines import TextTermFile
from cuihop_loader.terms import Term

__all__ = ["EdgeListFile"]

_SPELLINGS: Mapping[str, Sequence[str]] = {
    "child": ("child", "child_id", "subject_id"),
    "parent": ("parent", "parent_id", "object_id"),
    "child name": ("child_name", "name", "child_label", "subject_label"),
    "parent name": ("parent_name", "parent_label", "object_label"),
    "source": ("source", "sab"),
    "predicate": ("predicate_id",),
}
"""Names of each column, in lower case; child and parent are required. ``…_id`` and ``…_label`` are those of SSSOM."""

_IS_A = frozenset({"", "rdfs:subclassof", "skos:broader", "skos:broadmatch"})
_EXPECTED = "a header with the columns child and parent"
_MOST_SOURCES = 2048


class EdgeListFile(TextTermFile):
    """A `cuihop_loader.terms.TermFile` of an edge list. The rows of one child need not be neighbours.

    Attributes:
        ontology: the source of rows that name none: the file's name in capitals.
    """

    role = EDGE_LIST
    last_line_ends = False

    def __init__(self, file: SourceFile, rejected: RejectedRows, progress: StepProgress | None) -> None:
        super().__init__(file, rejected, progress)
        self._in_parquet = file.parts[0].name.lower().endswith(".parquet")
        self._columns: dict[str, str] = {}  # the name in the header of each that is there
        self._row = b""

    @property
    def line_ends(self) -> str:
        """``LF``, ``CRLF`` or ``mixed``, of the lines read so far; empty for Parquet."""
        return "" if self._in_parquet else super().line_ends

    def terms(self) -> Iterator[Term]:
        """See `cuihop_loader.terms.TermFile`. A parent without a row of its own is a term too."""
        children: set[str] = set()
        parents: dict[str, str] = {}  # and the last name of each
        sources: set[str] = set()
        line = 0
        for line, texts in self._table_rows() if self._in_parquet else self._text_rows():
            child, parent, name, parent_name, source, predicate = texts
            if child not in children and not (child in parents or self._valid(child, "child", line)):
                continue
            if parent and parent not in parents and not (parent in children or self._valid(parent, "parent", line)):
                continue
            if predicate.lower() not in _IS_A:
                self.skipped["other predicate"] += 1
                continue
            children.add(child)
            if source not in sources:
                sources.add(source)
                if len(sources) > _MOST_SOURCES:
                    raise LimitExceeded(f"more than {_MOST_SOURCES:,} vocabularies (SAB) in {self.file}")
            if not parent:
                self.parentless += 1
            elif parents.setdefault(parent, "") != parent_name and parent_name:
                parents[parent] = parent_name
                yield Term(parent, line, name=parent_name, sab=source or None)
            yield Term(child, line, name=name or None, parents=[parent] if parent else [], sab=source or None)
        if not line:
            raise InputError("no rows in the file", file=str(self.file), expected=f"{_EXPECTED}, and rows under it")
        yield from (Term(parent, line) for parent, name in parents.items() if not name and parent not in children)

    def _text_rows(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Number of each line of a text below the header, and its texts in the order of `_SPELLINGS`."""
        lines = self.text_lines()
        header = next((line.decode() for line in lines if line.strip() and not line.startswith(b"#")), "")
        in_tabs = self.file.parts[0].name.lower().removesuffix(".gz").endswith(".tsv")
        delimiter = "\t" if in_tabs else delimiter_of(header)
        names = self._fields(header, delimiter, self.lines) or []
        places = self._places(names, self.lines, cause_of_columns(names, 2, delimiter))
        texts_of = itemgetter(*(len(names) if place is None else place for place in places))
        for raw in lines:
            text = raw.decode()
            fields = text.split(delimiter) if '"' not in text else self._fields(text, delimiter, self.lines)
            if fields is None or not text.strip():
                continue
            if len(fields) != len(names):
                self.reject(
                    self.lines, min(len(fields), len(names)) + 1, "wrong number of columns", raw,
                    f"{len(names)}, as in the header", f"{len(fields)} in {quoted(text)}",
                )  # fmt: skip
                continue
            fields.append("")
            self._row = raw
            yield self.lines, tuple(map(str.strip, texts_of(fields)))

    def _fields(self, text: str, delimiter: str, line: int) -> list[str] | None:
        """The fields of a line in which some are quoted; ``None`` for a line that was rejected."""
        try:
            return next(csv.reader([text], strict=True, delimiter=delimiter), [])
        except csv.Error as error:
            expected = "quotes closed in the line in which they open, and doubled inside"
            self.reject(line, text.index('"') + 1 if '"' in text else 1, f"not CSV: {error}", text.encode(), expected)
            return None

    def _table_rows(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Number of each row of a Parquet file, and its texts in the order of `_SPELLINGS`."""
        table = ArrowTable.of(InputFile(self.file.parts[0].path))
        places = self._places(table.names, None, None)
        for first, batch in table.batches():
            columns = []
            for place in places:
                if place is None:
                    columns.append([""] * batch.num_rows)
                else:
                    texts, codes = table.texts(first, batch, place, null="")
                    texts = [text.strip() for text in texts]
                    columns.append([texts[code] for code in codes.tolist()])
            for row, texts_of_row in enumerate(zip(*columns, strict=True), start=first):
                self._row = "\t".join(texts_of_row).encode()
                yield row, texts_of_row
            self.bytes = self.file.size
            if self._progress is not None:
                self._progress(str(self.file), self.bytes, self.file.size)

    def _places(self, names: Sequence[str], line: int | None, cause: str | None) -> list[int | None]:
        """The place of each column of `_SPELLINGS`; ``None`` for one that the file lacks.

        Raises:
            InputError: child or parent are absent, or there are two columns for one purpose.
        """
        plain = [name.strip().lower() for name in names]
        found = {
            purpose: [n for n, name in enumerate(plain) if name in spellings]
            for purpose, spellings in _SPELLINGS.items()
        }
        header = quoted(", ".join(names))
        for purpose, places in found.items():
            if len(places) > 1:
                raise InputError(
                    f"two columns for the {purpose}", file=str(self.file), line=line, found=header,
                    expected=f"one of {', '.join(_SPELLINGS[purpose])}",
                )  # fmt: skip
            if not places and purpose in ("child", "parent"):
                raise InputError(
                    f"no column of the {purpose}", file=str(self.file), line=line, found=header,
                    expected=f"{_EXPECTED}; for the {purpose}: {' or '.join(_SPELLINGS[purpose])}", advice=cause,
                )  # fmt: skip
        used = {places[0] for places in found.values() if places}
        others = [name.strip() or "(no name)" for n, name in enumerate(names) if n not in used]
        if others:
            self.warnings.append(f"{self.file}: columns that are not read: {first_few(others)}")
        self._columns = {purpose: names[places[0]].strip() for purpose, places in found.items() if places}
        return [places[0] if places else None for places in found.values()]

    def _valid(self, text: str, purpose: str, line: int) -> bool:
        """True for an identifier; any other text rejects the row."""
        missing = text.lower() in MISSING_VALUES
        if is_identifier(text, "any") and not missing:
            return True
        problem = "a missing value in place of an identifier" if missing else "not an identifier"
        self.reject(
            None if self._in_parquet else line,
            f"{self._columns[purpose]}, row {line:,}" if self._in_parquet else self._columns[purpose],
            problem if text else "an identifier is missing",
            self._row,
            "an identifier, or an empty parent" if missing else EXPECTED["any"],
            quoted(text),
        )
        return False
