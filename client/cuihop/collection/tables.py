"""Tables of two columns, a key and a value, by one schema for each; and mappings that are read from inputs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from cuihop.errors import InputError
from cuihop.files.records import Records, RowErrors, cause_of_columns
from cuihop.files.text_lines import joined, quoted

Value_co = TypeVar("Value_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns of a key and a value, such as images and their concepts.

    A table of two columns holds them in this order. In a larger one each has one of its usual names, in upper or
    lower case.

    Attributes:
        usual: the usual names of both columns, in lower case. contents: of both, for errors.
        expected: the form of a text. hint: for a table that leaves the choice open. row: noun of what a row holds.
        is_data: recognises data in place of the header of CSV of two columns; without it CSV has a header.
        headless: names of the columns of CSV without a header.
        first, second: names of the columns that the caller requests; ``None`` leaves the choice to the table.
    """

    usual: tuple[Sequence[str], Sequence[str]]
    contents: str
    expected: str
    hint: str | None = None
    row: str = "row"
    is_data: Callable[[Sequence[str]], bool] | None = None
    headless: tuple[str, str] = ("1", "2")
    first: str | None = None
    second: str | None = None

    def naming(self, first: str | None, second: str | None) -> Schema:
        """The schema of columns with these names."""
        return dataclasses.replace(self, first=first, second=second)

    @property
    def named(self) -> bool:
        """True if the caller names a column."""
        return (self.first, self.second) != (None, None)

    def in_header(self, names: Iterable[str]) -> bool:
        """True for the header of a larger table that has usual names of both columns."""
        plain = [name.strip().strip('"').lower() for name in names]
        return len(plain) > 2 and not any(set(plain).isdisjoint(usual) for usual in self.usual)

    def table(self, records: Records) -> KeyedTable:
        """The columns of a table; refuses one that lacks a column, has it twice, or leaves the choice open."""
        if records.in_csv and len(records.names) == 2 and self.is_data is not None and self.is_data(records.names):
            records = records.without_header(self.headless)
        names = records.names
        plain = [name.strip().lower() for name in names]
        first, second = self.first, self.second
        by_name = records.in_json or len(names) != 2  # the keys of an object have no order
        if by_name and first is None and not any(not name or name.startswith("unnamed:") for name in plain):
            first = next((name for name in self.usual[0] if name in plain), None)
        if by_name and second is None and first is not None:
            second = next((name for name in self.usual[1] if name in plain), None)
        key, value = (None if name is None else records.column(name) for name in (first, second))
        if len(names) == 2:
            free = [index for index in (0, 1) if index not in (key, value)]
            key = free.pop(0) if key is None else key
            value = free.pop(0) if value is None else value
        if key is None or value is None:
            raise records.error(
                "wrong number of columns", f"{len(names)} in {quoted(records.header)}",
                self.expected if records.line is not None and not self.named else f"two: {self.contents}",
                cause_of_columns(names, 2, records.delimiter) or (self.hint if len(names) > 2 else None),
            )  # fmt: skip
        if key == value:
            raise records.error(f"one column for {self.contents}", quoted(names[key]), "two columns")
        return KeyedTable(records, self, (key, value))


@dataclass(frozen=True, eq=False)
class KeyedTable:
    """A table, and the indices of its columns of keys and values."""

    records: Records
    schema: Schema
    columns: tuple[int, int]

    @cached_property
    def error(self) -> RowErrors:
        """Errors about rows; column 0 is that of the keys, column 1 that of the values."""
        return self.records.row_errors(self.columns)

    @property
    def form(self) -> str:
        """Form of the table, with the columns read and those left out unless it has two in the usual order."""
        names, (key, value) = self.records.names, self.columns
        if (key, value, len(names)) == (0, 1, 2):
            return self.records.form
        others = [name for index, name in enumerate(names) if index not in self.columns]
        left = f", without {', '.join(others)}" if others else ""
        return joined(self.records.form, f"columns {names[key]} and {names[value]}{left}")

    def texts(
        self, problem: str = "not a text", needed: Collection[int] = (), *, strip: bool = True
    ) -> Iterator[tuple[int, list[str]]]:
        """Number of each row, and the texts of both columns: see `Records.texts`."""
        return self.records.texts(self.columns, problem, needed, strip=strip)

    def empty(self) -> InputError:
        """The error about a table without rows."""
        return self.error.empty(self.schema.row, self.schema.expected)


@dataclass(frozen=True, eq=False, repr=False)
class ReadMapping(Mapping[str, Value_co]):
    """A mapping that was read from a source; ``form`` says how, if not as usual."""

    entries: Mapping[str, Value_co]
    source: str = "memory"
    form: str = ""

    def __getitem__(self, key: str) -> Value_co:
        return self.entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.account}>"

    @property
    def account(self) -> str:
        """Summary of the parsed input, in one line."""
        return f"{self.source}: {joined(*self._facts(), self.form)}"

    def _facts(self) -> tuple[str, ...]:
        """Counts for the summary."""
        raise NotImplementedError


def amount(value: object) -> float | None:
    """A finite number, 0 or more; ``None`` for any other value."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number < math.inf and "_" not in str(value) else None
