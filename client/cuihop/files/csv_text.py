"""Tables as CSV."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from cuihop.files.written_files import replaced_file

__all__ = ["csv_text", "write_csv"]


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    r"""A table, a line for each row. Floating-point numbers are in full, ``None`` is an empty field.

    >>> csv_text(["a", "b"], [[0.1, None], ["x,y", 2]])
    'a,b\n0.1,\n"x,y",2\n'
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def write_csv(path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a table as CSV, whole or not at all.

    Raises:
        OutputError: the disk is full, or the folder cannot be written.
    """
    raw = csv_text(header, rows).encode()
    with replaced_file(Path(path), expected_bytes=len(raw)) as file:
        file.write(raw)
