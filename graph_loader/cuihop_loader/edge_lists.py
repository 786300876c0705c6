"""Edge lists: tables of a child and its parent in each row, in CSV, TSV or Parquet."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from cuihop.errors import InputError, first_few
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.input_file import InputFile
from cuihop.files.records import cause_of_columns
from cuihop.files.text_lines import delimiter_of, quoted
from cuihop.identifiers import EXPECTED, MISSING_VALUES, are_identifiers, is_identifier
from cuihop_loader.sources import SourceFile
from cuihop_loader.term_files import TermFile, TermReading, TermRows

_SPELLINGS: Mapping[str, Sequence[str]] = {
    "child": ("child", "child_id", "subject_id"),
    "parent": ("parent", "parent_id", "object_id"),
    "child name": ("child_name", "name", "child_label", "subject_label"),
    "parent name": ("parent_name", "parent_label", "object_label"),
    "source": ("source", "sab"),
    "predicate": ("predicate_id", "predicate", "relation", "relationship"),
}
"""Names of each column, in lower case; child and parent are required. ``…_id`` and ``…_label`` are those of SSSOM."""

_KGX_NODES: Mapping[str, Sequence[str]] = {**dict.fromkeys(_SPELLINGS, ()), "child": ("id",), "child name": ("name",)}
_KGX_EDGES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(_SPELLINGS, ()), "child": ("subject",), "parent": ("object",), "predicate": ("predicate",)
}  # fmt: skip
"""Columns of the two files of KGX (``docs/kgx_format.md`` of biolink/kgx), whose identifiers are CURIEs."""
_KGX_OTHERS = frozenset({"id", "category", "knowledge_level", "agent_type"})  # required, and of no use here
_KGX_SOURCES = ("knowledge_source", "primary_knowledge_source")
_CUI_IN_KGX = re.compile(r"UMLS:(?=C[0-9]{7}$)", re.IGNORECASE)

_IS_A = frozenset({"", "isa", "subclassof", "broader", "broadmatch"})
"""Predicates whose rows count, in lower case, without the prefix or the beginning of their IRI."""

_PREFIX = re.compile(r".*[:#/]|[ _>-]")
_EXPECTED = "a header with the columns child and parent"
_COMPRESSED = re.compile(r"\.(?:gz|zst)$")

_Columns: TypeAlias = list[list[str]]
"""The texts of some rows, column by column in the order of `_SPELLINGS`."""


class EdgeListFile(TermFile):
    """A file of an edge list. The rows of one child need not be neighbours.

    Attributes:
        ontology: the source of rows that name none: the file's name in capitals.
    """

    last_line_ends = False

    def __init__(self, file: SourceFile, reading: TermReading) -> None:
        super().__init__(file, reading)
        self._in_parquet = file.parts[0].name.lower().endswith(".parquet")
        self._header: Sequence[str] = ()
        self._positions: Sequence[int | None] = ()
        self._delimiter = ","
        self._identifiers: set[str] = set()  # those that are well formed
        self._others: Counter[str] = Counter()  # rows left out, by predicate
        self._is_a = _is_a
        self._in_kgx = False

    @property
    def line_ends(self) -> str:
        """``LF``, ``CRLF`` or ``mixed``, of the lines read so far; empty for Parquet."""
        return "" if self._in_parquet else super().line_ends

    def terms(self) -> Iterator[TermRows]:
        """See `cuihop_loader.term_files.TermFile`. A parent without a row of its own is a term too."""
        children: set[str] = set()
        parents: dict[str, None] = {}
        names: dict[tuple[str, str, str], None] = {}  # of parents
        read = False
        for columns in self._table_columns() if self._in_parquet else self._text_columns():
            read = True
            child, parent, name, parent_name, source, _ = columns
            children.update(child)
            parents.update(dict.fromkeys(parent))
            self.parentless += parent.count("")
            if any(parent_name):
                names.update(dict.fromkeys(zip(parent, parent_name, source, strict=True)))
            yield TermRows(child, parent, name, source)
        if self._others:
            predicates = [f"{count:,} {predicate}" for predicate, count in self._others.most_common()]
            self.skipped["other predicate"] = self._others.total()
            self.warnings.append(
                f"{self.file}: rows whose {self._name_of('predicate')} is not is_a, left out: {first_few(predicates)}"
            )
        if not read and not self.bad and not self.skipped:
            raise self.lacks("rows", f"{_EXPECTED}, and rows under it")
        of_names = [(*row, "") for row in names if all(row[:2])]
        of_names += [(parent, "", "", "") for parent in parents if parent and parent not in children]
        if of_names:
            of_parents, texts, sources, none = (list(column) for column in zip(*of_names, strict=True))
            yield TermRows(of_parents, none, texts, sources)

    def _text_columns(self) -> Iterator[_Columns]:
        """Columns of a text, block by block."""
        for block, terminated in self.blocks():
            raw = block if self._header else self._after_header(block, terminated=terminated)
            if raw is None:
                continue
            columns = self._split(raw) if terminated else None
            if columns is None:
                columns = self._checked(self._texts_of(self.lines_of(raw, terminated=terminated)))
            if columns[0]:
                yield columns
        if not self._header:
            self._read_header("")

    def _after_header(self, block: bytes, *, terminated: bool) -> bytes | None:
        """Read the header, and return the rest of the block; ``None`` where nothing is left of it."""
        rest: bytes | None = block
        while rest is not None and not self._header:
            first, more, rest = rest.partition(b"\n") if b"\n" in rest else (rest, b"", None)
            for line in self.lines_of(first, terminated=terminated or bool(more)):
                if line.strip() and not line.startswith(b"#"):
                    self._read_header(line.decode())
        return rest

    def _read_header(self, text: str) -> None:
        in_tabs = _COMPRESSED.sub("", self.file.parts[0].name.lower()).endswith(".tsv")
        self._delimiter = "\t" if in_tabs else delimiter_of(text)
        self._choose(self._unquoted(text) or [], self.lines or None)

    def _split(self, raw: bytes) -> _Columns | None:
        """Columns of a block in which no line needs a second look, else ``None``: far faster than line by line."""
        lines = raw.count(b"\n") + 1
        crlf = raw.endswith(b"\r") and raw.count(b"\r\n") == lines - 1
        try:
            text = raw[:-1].decode().replace("\r\n", "\n") if crlf else raw.decode()
        except UnicodeDecodeError:
            return None
        if '"' in text or "\0" in text or "\r" in text:
            return None
        fields = text.replace("\n", f"{self._delimiter}\0{self._delimiter}").split(self._delimiter)
        width = len(self._header)
        if len(fields) != (width + 1) * lines - 1 or fields[width :: width + 1].count("\0") != lines - 1:
            return None
        columns = self._sound([None if n is None else fields[n :: width + 1] for n in self._positions], lines)
        if columns is not None:
            self.lines += lines
            self._crlf += lines if crlf else 0
        return columns

    def _texts_of(self, lines: Iterator[bytes]) -> Iterator[tuple[int, bytes, Sequence[str]]]:
        """Number, content and texts of each line that is not empty; lines of another width are rejected."""
        width = len(self._header)
        texts_of = itemgetter(*(width if position is None else position for position in self._positions))
        for raw in lines:
            text = raw.decode()
            fields = text.split(self._delimiter) if '"' not in text else self._unquoted(text)
            if fields is None or not text.strip():
                continue
            if len(fields) == width:
                yield self.lines, raw, texts_of([*fields, ""])
            else:
                actual = f"{len(fields)} in {quoted(text)}"
                column = min(len(fields), width) + 1
                self.reject(self.lines, column, "wrong number of columns", raw, f"{width}, as in the header", actual)

    def _unquoted(self, text: str) -> list[str] | None:
        """The fields of a line in which some are quoted; ``None`` for a line that was rejected."""
        try:
            return next(csv.reader([text], strict=True, delimiter=self._delimiter), [])
        except csv.Error as error:
            column = text.index('"') + 1 if '"' in text else 1
            expected = "quotes closed in the line in which they open, and doubled inside"
            self.reject(self.lines, column, f"not CSV: {error}", text.encode(), expected)
            return None

    def _table_columns(self) -> Iterator[_Columns]:
        """Columns of a Parquet file, batch by batch."""
        table = ArrowTable.of(InputFile(self.file.parts[0].path))
        self._choose(table.names, None)
        for first, batch in table.batches():
            texts_of_columns = [
                None if position is None else _texts(table, first, batch, position) for position in self._positions
            ]
            columns = self._sound(texts_of_columns, batch.num_rows)
            if columns is None:
                rows = zip(*(column or [""] * batch.num_rows for column in texts_of_columns), strict=True)
                columns = self._checked((n, "\t".join(texts).encode(), texts) for n, texts in enumerate(rows, first))
            if columns[0]:
                yield columns
            self._show_progress(self.file.size)

    def _sound(self, texts_of_columns: Sequence[list[str] | None], rows: int) -> _Columns | None:
        """The columns if each row of them counts, else ``None``. A column that the file lacks is empty."""
        none = [""] * rows
        columns = [none if column is None else list(map(str.strip, column)) for column in texts_of_columns]
        if self._in_kgx and rows:
            columns = list(map(list, zip(*map(_without_prefixes, zip(*columns, strict=True)), strict=True)))
        child, parent, *_, predicate = columns
        ends = set(child)
        if self._is_a is _is_subclass:
            ends.update(parent)
        if "" in ends or not all(map(self._is_a, set(predicate))):
            return None
        new = ends.union(parent) - self._identifiers - {""}
        if not (are_identifiers(new) and MISSING_VALUES.isdisjoint(map(str.lower, new))):
            return None
        self._identifiers |= new
        return columns

    def _checked(self, rows: Iterable[tuple[int, bytes, Sequence[str]]]) -> _Columns:
        """Columns of the rows that count, each checked by itself: its number, its content and its texts."""
        columns: _Columns = [[] for _ in _SPELLINGS]
        for number, raw, texts_of_columns in rows:
            texts: Sequence[str] = [text.strip() for text in texts_of_columns]
            texts = _without_prefixes(texts) if self._in_kgx else texts
            child, parent, *_, predicate = texts
            if not self._is_a(predicate):
                self._others[predicate] += 1
                continue
            if not self._is_valid(child, "child", number, raw) or (
                (parent or self._is_a is _is_subclass) and not self._is_valid(parent, "parent", number, raw)
            ):
                continue
            for column, text in zip(columns, texts, strict=True):
                column.append(text)
        return columns

    def _choose(self, names: Sequence[str], line: int | None) -> None:
        """Choose the columns by their names.

        Raises:
            InputError: child or parent are absent, or there are two columns for one purpose.
        """
        plain = [name.strip().lower() for name in names]
        usual = _SPELLINGS
        none = {*plain}.isdisjoint((*_SPELLINGS["child"], *_SPELLINGS["parent"]))
        if none and {"subject", "predicate", "object"} <= {*plain}:
            source = next((name for name in _KGX_SOURCES if name in plain), "")
            usual, self._in_kgx, self._is_a = {**_KGX_EDGES, "source": (source,)}, True, _is_subclass
        elif none and {"id", "category"} <= {*plain}:
            usual, self._in_kgx = _KGX_NODES, True
        columns_of = {
            purpose: [n for n, name in enumerate(plain) if name in spellings] for purpose, spellings in usual.items()
        }
        for purpose, positions in columns_of.items():
            spellings = " or ".join(_SPELLINGS[purpose])
            problem, expected, hint = f"two columns for the {purpose}", f"one: {spellings}", None
            if not positions and usual[purpose] and purpose in ("child", "parent"):
                problem = f"no column of the {purpose}"
                expected = f"{_EXPECTED}; for the {purpose}: {spellings}"
                hint = cause_of_columns(names, 2, self._delimiter)
            elif len(positions) < 2:
                continue
            header = quoted(", ".join(names))
            raise InputError(problem, file=str(self.file), line=line, found=header, expected=expected, advice=hint)
        self._header = names
        self._positions = [positions[0] if positions else None for positions in columns_of.values()]
        others = [name.strip() or "(no name)" for n, name in enumerate(names) if n not in self._positions]
        others = [name for name in others if not (self._in_kgx and name.lower() in _KGX_OTHERS)]
        if others:
            self.warnings.append(f"{self.file}: columns that are not read: {first_few(others)}")

    def _name_of(self, purpose: str) -> str:
        return self._header[self._positions[list(_SPELLINGS).index(purpose)] or 0].strip()

    def _is_valid(self, text: str, purpose: str, number: int, raw: bytes) -> bool:
        """True for an identifier; any other text rejects the row."""
        missing = text.lower() in MISSING_VALUES
        if is_identifier(text, "any") and not missing:
            return True
        problem = "a missing value in place of an identifier" if missing else "not an identifier"
        column = self._name_of(purpose)
        self.reject(
            None if self._in_parquet else number,
            f"{column}, row {number:,}" if self._in_parquet else column,
            problem if text else "an identifier is missing",
            raw,
            "an identifier, or an empty parent" if missing else EXPECTED["any"],
            quoted(text),
        )
        return False


def _is_a(predicate: str) -> bool:
    """True for a predicate that leads from a child to its parent, with any prefix."""
    return _PREFIX.sub("", predicate.lower()) in _IS_A


def _is_subclass(predicate: str) -> bool:
    """True for ``biolink:subclass_of`` and ``rdfs:subClassOf``, or the end of their IRI."""
    return _PREFIX.sub("", predicate.lower()) == "subclassof"


def _without_prefixes(texts: Sequence[str]) -> Sequence[str]:
    """A row of KGX with its CUIs as such, and the name of its source."""
    child, parent, *names, source, predicate = texts
    ends = (_CUI_IN_KGX.sub("", end) for end in (child, parent))
    return *ends, *names, source.removeprefix("infores:"), predicate


def _texts(table: ArrowTable, first: int, batch: Any, column: int) -> list[str]:
    texts, codes = table.texts(first, batch, column, null="")
    return [texts[code] for code in codes.tolist()]
