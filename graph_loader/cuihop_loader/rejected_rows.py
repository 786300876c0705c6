"""Rows that break the layout, and their treatment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cuihop.errors import InputError
from cuihop.files.written_files import replaced_file
from cuihop_loader.options import LoadOptions

_HEADER = b"file\tline\tcolumn\tproblem\trow\n"
_SHOWN = 80


@dataclass(frozen=True)
class BadRow:
    """A row that breaks the layout.

    Attributes:
        column: the column's name, or its number from 1 where the layout has none.
        problem, found, expected: as in `InputError`.
        begin, end: extent of the row in the block, without its line end.
    """

    row: int
    column: str | int
    problem: str
    found: str
    expected: str
    begin: int
    end: int


class RejectedRows:
    """Collector of the bad rows of all files, which ends the load or counts them, as the options say."""

    def __init__(self, *, skip: bool, target: BinaryIO | None) -> None:
        self._skip = skip
        self._target = target
        self.count = 0

    def reject(self, file: str, line: int | None, bad: BadRow, row: bytes) -> None:
        """Count the row, and write it to the file of rejects if there is one. A row of a table has no line.

        Raises:
            InputError: a bad row is to end the load.
        """
        if not self._skip:
            raise InputError(
                bad.problem,
                file=file,
                line=line,
                column=bad.column,
                found=bad.found,
                expected=bad.expected,
                advice="To leave such rows out and count them: --on-bad-row skip",
            )
        self.count += 1
        if self._target is not None:
            text = row.decode("utf-8", errors="backslashreplace").encode()
            self._target.write(
                f"{file}\t{line or ''}\t{bad.column}\t{bad.problem}; found {bad.found}\t".encode() + text + b"\n"
            )


@contextlib.contextmanager
def rejected_rows(options: LoadOptions) -> Iterator[RejectedRows]:
    """The collector of a load's bad rows. A file of rejects appears when the block succeeds, and only then.

    Raises:
        OutputError: the file of rejects cannot be written.
    """
    skip = options.on_bad_row == "skip"
    if options.rejects is None:
        yield RejectedRows(skip=skip, target=None)
        return
    with replaced_file(Path(options.rejects)) as target:
        target.write(_HEADER)
        yield RejectedRows(skip=skip, target=target)


def excerpt(raw: bytes) -> str:
    """Text for a message, cut where it is long; bytes that are not UTF-8 are escaped."""
    text = raw.decode(errors="backslashreplace")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
