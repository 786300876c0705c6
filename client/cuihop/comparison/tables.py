"""The tables of a comparison of systems, for a paper: in Markdown or in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cuihop.comparison.comparison import Comparison
from cuihop.files.written_files import replaced_file
from cuihop.notebooks.table import Table

__all__ = ["comparison_tables", "write_tables"]


def comparison_tables(found: Comparison) -> list[Table]:
    """The means of the systems, and their differences."""
    return [
        Table.of("means", "Means of each system over the queries that it was scored on.", found.means()),
        Table.of("differences", f"Differences of means. {' '.join(map(_sentence, found.account()))}", found.table()),
    ]


def _sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:]}."


def write_tables(path: Path, tables: Sequence[Table]) -> None:
    """Write the tables in one file, whole or not at all: LaTeX where its name ends with .tex, else Markdown.

    Raises:
        OutputError: the disk is full, or the folder cannot be written.
    """
    text = "\n".join(table.latex() if path.suffix == ".tex" else table.markdown() for table in tables)
    raw = text.encode()
    with replaced_file(path, expected_bytes=len(raw)) as file:
        file.write(raw)
