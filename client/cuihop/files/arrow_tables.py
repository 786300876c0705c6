"""Tables in Parquet, Arrow and Feather files, and in memory through Arrow's C stream interface, in record batches.

pyarrow reads them: the extra ``parquet``. Rows count from 1.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError, installation
from cuihop.files.input_file import ARROW, ARROW_STREAM, PARQUET, InputFile
from cuihop.files.text_lines import COLUMN_NAMES, quoted, standard_names

_ROWS_A_BATCH = 1 << 16
_MISSING = f"Parquet, Arrow and Feather files and tables need pyarrow: {installation('cuihop[parquet]')}"
_TEXT = "text"


class ArrowStream(Protocol):
    """A table in memory that gives its rows through Arrow's C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows."""


def is_table_object(value: object) -> TypeGuard[ArrowStream]:
    """Recognise an object with Arrow's C stream interface, as tables of pyarrow and polars have."""
    return hasattr(value, "__arrow_c_stream__")


@dataclass(frozen=True, eq=False)
class ArrowTable:
    """A table whose rows are read batch by batch.

    Attributes:
        source: name of the file, or type of the object.
        form: Parquet or Arrow; empty for an object.
    """

    source: str
    names: tuple[str, ...]
    form: str
    _given: Any

    @classmethod
    def of(cls, source: object) -> ArrowTable:
        """From a file, or an object with ``__arrow_c_stream__``.

        Raises:
            InputError: the file is absent, not one of these formats, or incomplete.
            ModuleNotFoundError: pyarrow is not installed; the message names the extra.
        """
        pyarrow = _pyarrow()
        if not isinstance(source, InputFile):
            table = pyarrow.table(source)
            return cls(type(source).__name__, tuple(table.column_names), "", table)
        form = "Parquet" if source.first_bytes.startswith(PARQUET) else "Arrow"
        with _opened(source) as (schema, _):
            return cls(source.name, tuple(schema.names), form, source)

    def batches(self) -> Iterator[tuple[int, Any]]:
        """Batches of rows, each with the number of its first row.

        Raises:
            InputError: the file is damaged.
        """
        first = 1
        with contextlib.ExitStack() as stack:
            if not isinstance(self._given, InputFile):
                batches = iter(self._given.to_batches(max_chunksize=_ROWS_A_BATCH))
            else:
                _, batches = stack.enter_context(_opened(self._given))
            for batch in batches:
                yield first, batch
                first += batch.num_rows

    def column(self, name: str) -> int:
        """Index of the column with this name, or one of its names in `COLUMN_NAMES`, in upper or lower case.

        Raises:
            InputError: there is none, or more than one.
        """
        matches = [index for index, each in enumerate(standard_names(self.names)) if each == name]
        if len(matches) != 1:
            raise InputError(
                "no such column" if not matches else "a column stands twice", file=self.source,
                column=name, found=quoted(", ".join(self.names)),
                expected=f"one column named {' or '.join(COLUMN_NAMES.get(name, [name]))}",
            )  # fmt: skip
        return matches[0]

    def problem(
        self, what: str, row: int, index: int | None, value: str, expected: str, hint: str | None = None
    ) -> InputError:
        """An error about a value: file, row and column."""
        column = f"row {row:,}" if index is None else f"{self.names[index]}, row {row:,}"
        return InputError(what, file=self.source, column=column, found=value, expected=expected, advice=hint)

    def texts(self, first: int, batch: Any, column: int, *, null: str | None = None) -> tuple[list[str], Any]:
        """Each different text of a column once, and for each row which of them it is, int64.

        Args:
            first: number of the batch's first row.
            null: what a missing value stands for; without it, there must be none.

        Raises:
            InputError: the column holds no texts, or a value is missing.
        """
        pyarrow = _pyarrow()
        values = self._checked(batch.column(column), first, column, null)
        if not pyarrow.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        texts = values.dictionary.to_pylist()
        codes = values.indices.fill_null(len(texts)) if values.null_count else values.indices
        return [*texts, null or ""], codes.to_numpy(zero_copy_only=False).astype(np.int64)

    def _checked(self, values: Any, first: int, column: int, null: str | None) -> Any:
        pyarrow = _pyarrow()
        types = pyarrow.types
        kind = values.type.value_type if types.is_dictionary(values.type) else values.type
        if types.is_null(kind):
            values, kind = values.cast(pyarrow.string()), pyarrow.string()
        if types.is_string_view(kind):
            values, kind = values.cast(pyarrow.large_string()), pyarrow.large_string()
        if not (types.is_string(kind) or types.is_large_string(kind)):
            raise self.problem("wrong type of column", first, column, str(values.type), _TEXT)
        if types.is_dictionary(values.type) and values.dictionary.null_count:
            values = values.cast(kind)
        if null is None and values.null_count:
            row = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
            raise self.problem("a value is missing", first + row, column, "null", _TEXT)
        return values

    def lists(self, first: int, batch: Any, column: int) -> Iterator[Sequence[str | None] | None]:
        """For each row the texts of a list, or of a text with ``;`` between them; ``None`` if the value is missing.

        Raises:
            InputError: the column holds neither.
        """
        types = _pyarrow().types
        values = batch.column(column)
        kind = values.type
        lists = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view)
        if any(is_list(kind) for is_list in (*lists, types.is_large_list_view)):
            item = kind.value_type.value_type if types.is_dictionary(kind.value_type) else kind.value_type
            text = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
            if not any(is_text(item) for is_text in text):
                raise self.problem("wrong type of column", first, column, str(kind), "text, or lists of text")
            yield from values.to_pylist()
            return
        texts, codes = self.texts(first, batch, column, null="")
        listed = [[part.strip() for part in text.split(";")] if text.strip() else [] for text in texts]
        for code in codes.tolist():
            yield listed[code]

    def numbers(self, first: int, batch: Any, column: int) -> npt.NDArray[np.float64]:
        """The finite numbers of a column.

        Raises:
            InputError: the column holds no numbers, or a value is missing, NaN or infinite.
        """
        types = _pyarrow().types
        values = batch.column(column)
        if not (types.is_integer(values.type) or types.is_floating(values.type)):
            raise self.problem("wrong type of column", first, column, str(values.type), "numbers")
        if values.null_count:
            row = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
            raise self.problem("a value is missing", first + row, column, "null", "a finite number")
        numbers: npt.NDArray[np.float64] = values.to_numpy(zero_copy_only=False).astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if len(wrong):
            row = int(wrong[0])
            raise self.problem("not a finite number", first + row, column, str(numbers[row]), "a finite number")
        return numbers


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.types
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_MISSING, name=error.name) from None
    return pyarrow


@contextlib.contextmanager
def _opened(file: InputFile) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Schema and batches of a file."""
    pyarrow = _pyarrow()
    try:
        head = file.first_bytes[: len(ARROW)]
        path = file.mapped_from
        content = None if path is not None else pyarrow.BufferReader(file.content())
        with contextlib.ExitStack() as stack:
            if head.startswith(PARQUET):
                from pyarrow.parquet import ParquetFile

                parquet = stack.enter_context(ParquetFile(path if content is None else content, memory_map=True))
                yield parquet.schema_arrow, parquet.iter_batches(batch_size=_ROWS_A_BATCH)
            elif head == ARROW or head.startswith(ARROW_STREAM):
                raw = stack.enter_context(pyarrow.memory_map(str(path)) if content is None else content)
                if head == ARROW:
                    opened = stack.enter_context(pyarrow.ipc.open_file(raw))
                    batches = map(opened.get_batch, range(opened.num_record_batches))
                else:
                    opened = stack.enter_context(pyarrow.ipc.open_stream(raw))
                    batches = iter(opened)
                yield opened.schema, (batch for whole in batches for batch in _cut(whole))
            else:
                raise InputError(
                    "not a Parquet, Arrow or Feather file", file=file.name, found=repr(head),
                    expected="one of them, whole",
                )  # fmt: skip
    except pyarrow.ArrowNotImplementedError as error:
        raise InputError(f"beyond what this version of pyarrow reads: {error}", file=file.name) from None
    except pyarrow.ArrowException as error:
        raise InputError(f"damaged, or not whole: {error}", file=file.name, expected="a whole file") from None
    except OSError as error:
        raise InputError(f"damaged, or cannot be read: {error}", file=file.name, expected="a whole file") from error


def _cut(batch: Any) -> Iterator[Any]:
    for first in range(0, batch.num_rows, _ROWS_A_BATCH):
        yield batch.slice(first, _ROWS_A_BATCH)
