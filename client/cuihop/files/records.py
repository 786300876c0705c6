"""Header and records of a table in CSV, JSON Lines, Parquet or Arrow, with errors that name their place."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias

from cuihop.errors import InputError
from cuihop.files.arrow_tables import ArrowTable
from cuihop.files.input_file import InputFile
from cuihop.files.likely_causes import cause_of_columns
from cuihop.files.text_lines import DELIMITERS, csv_records, decoded_lines, delimiter_of, first_line, json_rows, quoted

Unit: TypeAlias = Literal["line", "row"]


@dataclass(frozen=True)
class RowFault:
    """Makes errors about the rows of an input.

    Attributes:
        source: name of the file, or type of the object. columns: numbers, from 1, or names of the columns in question.
        unit: of the rows: lines of a text, or rows of a table.
    """

    source: str | None
    columns: Sequence[int | str] = (1, 2)
    unit: Unit = "line"

    def __call__(
        self, problem: str, row: int, column: int, found: str, expected: str, advice: str | None = None
    ) -> InputError:
        """The error about a row, and the column at this place in `columns`."""
        line, name = None, self.columns[column]
        if self.unit == "line":
            line = row
        else:
            name = f"{name}, row {row:,}"
        return InputError(
            problem, file=self.source, line=line, column=name, found=found, expected=expected, advice=advice
        )

    def empty(self, thing: str, expected: str, found: str | None = None) -> InputError:
        """The error about an input without rows."""
        holder = "file" if self.unit == "line" else "table"
        return InputError(f"the {holder} holds no {thing}", file=self.source, found=found, expected=expected)


@dataclass(frozen=True, eq=False)
class Records:
    """A table in any form: the names of its columns, then its records, which are read once.

    Attributes:
        names: of the columns: the first record of CSV, or the keys of the first object. None in an empty text.
        source: name of the file, or type of the object.
        form: compression, and what is not plain CSV.
        line: of the header in a text.
        delimiter: between the columns of CSV. in_json: JSON Lines. table: a Parquet or Arrow file, or an object.
        rest: the records, but of a table.
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
        given: object,
        expected: str,
        text: tuple[str, Iterator[str]] | None = None,
        delimiter_in: Callable[[str], str] = delimiter_of,
    ) -> Records:
        """From an open file, or an object with ``__arrow_c_stream__``.

        Args:
            given: the input. expected: columns, for errors.
            text: the first line of a text and all its lines, where these were looked at already.
            delimiter_in: the delimiter of CSV by its first line.

        Raises:
            InputError: it is not text in UTF-8, not CSV or not JSON Lines; a file of a table is damaged.
            ModuleNotFoundError: pyarrow is needed, and not installed.
        """
        if not isinstance(given, InputFile) or given.form == "table":
            table = ArrowTable.of(given)
            return cls(table.names, table.source, table.form, table=table)
        first, lines = text or first_line(decoded_lines(given))
        in_json, delimiter = first.lstrip().startswith("{"), delimiter_in(first)
        rest = csv_records(lines, given.name, expected, delimiter)
        if in_json:
            rest = json_rows(enumerate(lines, start=1), given.name)
        line, names = next((record for record in rest if in_json or any(map(str.strip, record[1]))), (1, ()))
        form = ", ".join(filter(None, (given.compression, "JSON Lines" if in_json else DELIMITERS[delimiter])))
        return cls(names, given.name, form, line, delimiter, in_json, rest=rest)

    @property
    def unit(self) -> Unit:
        """Unit of the rows."""
        return "line" if self.line is not None else "row"

    def fault(self, problem: str, found: str | None, expected: str, advice: str | None = None) -> InputError:
        """An error about the columns."""
        return InputError(problem, file=self.source, line=self.line, found=found, expected=expected, advice=advice)

    def row_fault(self, places: Sequence[int]) -> RowFault:
        """Errors about these columns: named, or in CSV numbered."""
        by_number = self.line is not None and not self.in_json
        return RowFault(self.source, [n + 1 if by_number else self.names[n] for n in places], self.unit)

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
        """Line and fields of each record of a text; of JSON Lines the values.

        Raises:
            InputError: a record has more fields than the header, or fewer.
        """
        width = len(self.names)
        for line, fields in self.rest:
            if len(fields) != width:
                raise self.wrong_width(line, fields)
            yield line, fields

    def texts(
        self,
        places: Sequence[int],
        problem: str = "not a text",
        needed: Collection[int] = (),
        *,
        strip: bool = True,
    ) -> Iterator[tuple[int, list[str]]]:
        """Number of each row, and the texts of some columns without white space around them; a missing one is empty.

        Args:
            places: of the columns. problem: a value of JSON that is no text. needed: columns of a table without nulls.
            strip: leave out white space around the texts.

        Raises:
            InputError: a value is no text; or as `rows`.
        """
        if self.table is None:
            fault = self.row_fault(places)
            for line, fields in self.rows():
                values = [fields[place] for place in places]
                if self.in_json:
                    for column, value in enumerate(values):
                        if not isinstance(value, str | None):
                            raise fault(problem, line, column, quoted(repr(value)), "a text or null")
                    values = [value or "" for value in values]
                yield line, [value.strip() for value in values] if strip else values
            return
        for first, batch in self.table.batches():
            columns = [self.table.texts(first, batch, n, null=None if n in needed else "") for n in places]
            texts = [
                [names[code].strip() if strip else names[code] for code in codes.tolist()] for names, codes in columns
            ]
            yield from enumerate(map(list, zip(*texts, strict=True)), start=first)
