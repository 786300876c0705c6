"""Header and records of a table in CSV, JSON Lines, Parquet or Arrow, with errors that name the line or row."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias

from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.input_file import InputFile
from cuihop.files.text_lines import (
    DELIMITERS,
    csv_records,
    decoded_lines,
    delimiter_of,
    first_line,
    joined,
    json_rows,
    quoted,
)
from cuihop.identifiers import as_read, identifier_fault, looks_like_identifier

Unit: TypeAlias = Literal["line", "row"]

_SEPARATORS = {"\t": "a tab", "|": "'|'", ";": "';'", ",": "a comma"}


@dataclass(frozen=True)
class RowErrors:
    """Makes errors about the rows of an input.

    Attributes:
        source: name of the file, or type of the object. columns: numbers, from 1, or names of the columns in question.
        unit: of the rows: lines of a text, or rows of a table.
    """

    source: str | None
    columns: Sequence[int | str] = (1, 2)
    unit: Unit = "line"

    def __call__(
        self, problem: str, row: int, column: int, value: str, expected: str, hint: str | None = None
    ) -> InputError:
        """The error about a row, and one of `columns`."""
        line, name = None, self.columns[column]
        if self.unit == "line":
            line = row
        else:
            name = f"{name}, row {row:,}"
        return InputError(
            problem, file=self.source, line=line, column=name, found=value, expected=expected, advice=hint
        )

    def empty(self, thing: str, expected: str, value: str | None = None) -> InputError:
        """The error about an input without rows."""
        holder = "file" if self.unit == "line" else "table"
        return InputError(f"the {holder} holds no {thing}", file=self.source, found=value, expected=expected)

    def checked_identifier(self, text: str, row: int, column: int, hint: str | None = None) -> str:
        """The identifier in a field, a CUI in upper case.

        Raises:
            InputError: it is malformed.
        """
        if (problem := identifier_fault(text)) is not None:
            raise self(problem.problem, row, column, quoted(text), problem.expected, hint)
        return as_read(text)


@dataclass(frozen=True, eq=False)
class Records:
    """A table in any form: the names of its columns, then its records, which are read once.

    Attributes:
        names: of the columns: the first record of CSV, or the keys of the first object. None in an empty text.
        source: name of the file, or type of the object.
        form: compression, and what is not plain CSV.
        line: of the header in a text.
        delimiter: between the columns of CSV. in_json: JSON Lines. table: a Parquet or Arrow file, or an object.
        rest: the records of a text.
    """

    names: Sequence[str]
    source: str
    form: str = ""
    line: int | None = None
    delimiter: str = ","
    in_json: bool = False
    table: ArrowTable | None = None
    rest: Iterable[tuple[int, Sequence[Any]]] = ()

    @classmethod
    def of(
        cls,
        source: object,
        expected: str,
        text: tuple[str, Iterator[str]] | None = None,
        delimiter_in: Callable[[str], str] = delimiter_of,
    ) -> Records:
        """From an open file, or an object with ``__arrow_c_stream__``.

        Args:
            source: the input. expected: columns, for errors.
            text: the first line of a text and all its lines, if these are known already.
            delimiter_in: the delimiter of CSV by its first line.

        Raises:
            InputError: it is not text in UTF-8, not CSV or not JSON Lines; a file of a table is damaged.
            ModuleNotFoundError: pyarrow is needed, and not installed.
        """
        if not isinstance(source, InputFile) or source.form == "table":
            table = ArrowTable.of(source)
            return cls(table.names, table.source, table.form, table=table)
        first, lines = text or first_line(decoded_lines(source))
        in_json, delimiter = first.lstrip().startswith("{"), delimiter_in(first)
        rest = csv_records(lines, source.name, expected, delimiter)
        if in_json:
            rest = json_rows(enumerate(lines, start=1), source.name)
        line, names = next((record for record in rest if in_json or any(map(str.strip, record[1]))), (1, ()))
        form = joined(source.compression, "JSON Lines" if in_json else DELIMITERS[delimiter])
        return cls(names, source.name, form, line, delimiter, in_json, rest=rest)

    @property
    def unit(self) -> Unit:
        """Unit of the rows."""
        return "line" if self.line is not None else "row"

    @property
    def in_csv(self) -> bool:
        """True for CSV, of whatever delimiter."""
        return self.table is None and not self.in_json

    @property
    def header(self) -> str:
        """The names of the columns as they stand in CSV."""
        return self.delimiter.join(self.names)

    def error(self, problem: str, value: str | None, expected: str, hint: str | None = None) -> InputError:
        """An error about the columns."""
        return InputError(problem, file=self.source, line=self.line, found=value, expected=expected, advice=hint)

    def row_errors(self, columns: Sequence[int]) -> RowErrors:
        """Errors about these columns: named, or in CSV numbered."""
        by_number = self.line is not None and not self.in_json
        return RowErrors(self.source, [n + 1 if by_number else self.names[n] for n in columns], self.unit)

    def column(self, name: str) -> int:
        """Index of the column with this name, or else with this name in another case.

        Raises:
            InputError: there is none, or more than one.
        """
        names, name = [each.strip() for each in self.names], name.strip()
        matches = [index for index, each in enumerate(names) if each == name]
        matches = matches or [index for index, each in enumerate(names) if each.lower() == name.lower()]
        if len(matches) != 1:
            raise self.error(
                "a column stands twice" if matches else "no such column", quoted(", ".join(self.names)),
                f"one column named {name}",
            )  # fmt: skip
        return matches[0]

    def without_header(self, names: Sequence[str]) -> Records:
        """CSV whose first record holds data, with other names for its columns."""
        return dataclasses.replace(self, names=names, rest=chain([(self.line or 1, self.names)], self.rest))

    def wrong_width(self, line: int, fields: Sequence[str], expected: str | None = None) -> InputError:
        """The error about a record with more or fewer fields than the header; ``expected`` describes the columns."""
        width = len(self.names)
        return InputError(
            "wrong number of columns", file=self.source, line=line,
            found=f"{len(fields)} in {quoted(self.delimiter.join(fields))}",
            expected=expected or f"{width}, as in the header",
            advice=cause_of_columns(fields, width, self.delimiter),
        )  # fmt: skip

    def rows(self) -> Iterator[tuple[int, Sequence[Any]]]:
        """Line and fields of each record of a text; the values of JSON Lines.

        Raises:
            InputError: a record has more fields than the header, or fewer.
        """
        width = len(self.names)
        for line, fields in self.rest:
            if len(fields) != width:
                raise self.wrong_width(line, fields)
            yield line, fields

    def texts(
        self, columns: Sequence[int], problem: str = "not a text", needed: Collection[int] = (), *, strip: bool = True
    ) -> Iterator[tuple[int, list[str]]]:
        """Number of each row, and the texts of some columns without white space around them; a missing one is empty.

        Args:
            columns: their indices. problem: a value of JSON that is no text. needed: columns of a table without nulls.
            strip: leave out white space around the texts.

        Raises:
            InputError: a value is no text; or as `rows`.
        """
        if self.table is None:
            row_error = self.row_errors(columns)
            for line, fields in self.rows():
                values = [fields[index] for index in columns]
                if self.in_json:
                    for column, value in enumerate(values):
                        if not isinstance(value, str | None):
                            raise row_error(problem, line, column, quoted(repr(value)), "a text or null")
                    values = [value or "" for value in values]
                yield line, [value.strip() for value in values] if strip else values
            return
        for first, batch in self.table.batches():
            by_column = [self.table.texts(first, batch, n, null=None if n in needed else "") for n in columns]
            texts = [
                [names[code].strip() if strip else names[code] for code in codes.tolist()] for names, codes in by_column
            ]
            yield from enumerate(map(list, zip(*texts, strict=True)), start=first)


def cause_of_columns(fields: Sequence[str], expected: int, separator: str) -> str | None:
    """The likely reason for another number of columns than expected, in a line or a header.

    >>> cause_of_columns(["", "ID", "CUIs"], 2, ",")
    'The first column is an index: DataFrame.to_csv(FILE, index=False) leaves it out.'
    >>> cause_of_columns(["a|C0040405"], 2, ",")
    "The columns look separated by '|': separate them by a comma."
    """
    first = fields[0].strip() if fields else ""
    if len(fields) > expected and (not first or first.startswith("Unnamed:")):
        return "The first column is an index: DataFrame.to_csv(FILE, index=False) leaves it out."
    if len(fields) > expected and not any(field.strip() for field in fields[expected:]):
        return f"The line ends with {_named(separator)}: leave it out."
    listed = [field.strip(" []'\"") for field in fields[1:]]
    if len(fields) > expected and len(listed) > 1 and all(map(looks_like_identifier, listed)):
        if separator == ";":
            return "The columns look separated by ';' as the concepts are: quote the concepts, as in \"C1;C2\"."
        return f"The identifiers look separated by {_named(separator)}: separate them by ';'."
    if len(fields) < expected:
        for other, name in _SEPARATORS.items():
            if other != separator and any(other in field for field in fields):
                return f"The columns look separated by {name}: separate them by {_named(separator)}."
    return None


def _named(separator: str) -> str:
    return _SEPARATORS.get(separator, "blanks or tabs")
