"""Parts of a snapshot that follow from its names: built at a load, and here for a snapshot of an earlier version."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuihop.errors import DamageWarning, InputError, OlderSnapshot, OutputError
from cuihop.files.written_files import check_output
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import SNAPSHOT
from cuihop.snapshot.name_index import name_search, with_name_index
from cuihop.snapshot.term_table import term_table, with_term_table


@dataclass(frozen=True)
class NamePart:
    """A part: ``check`` warns where it is missing or damaged, ``added`` builds it again."""

    name: str
    check: Callable[[Sections], object]
    added: Callable[[Sections], Sections]


NAME_PARTS: Sequence[NamePart] = (
    NamePart("index of names", name_search, with_name_index),
    NamePart("table of names", term_table, with_term_table),
)
"""The index of names, for search, and the table of names, for annotation."""


def add_name_parts(path: Path, *, force: bool, progress: Callable[[str], None]) -> list[NamePart]:
    """Build the parts that a snapshot file lacks or has damaged, or all by ``force``, and return them.

    If there are any, the file is replaced atomically. The digest stays, and what lies next to the file stays valid. A
    process that has mapped the file keeps the old one.

    Raises:
        SnapshotError: another kind of file, or a damaged one.
        InputError: it has no names.
        OutputError: it cannot be replaced, or somebody else has replaced it meanwhile.
    """
    identity = _identity(path)
    sections = Sections.open(path, SNAPSHOT)
    if sections.length("name_offsets") == 1:
        raise InputError("the graph has no names", file=path, expected="a release loaded with its names")
    check_output(path)
    progress("checking")
    parts = [part for part in NAME_PARTS if force or not _is_sound(part, sections)]
    for part in parts:
        progress(part.name)
        sections = part.added(sections)
    if parts:
        progress("writing")
        if _identity(path) != identity:
            raise OutputError(f"{path}: not written: it was replaced while its names were read. Run the command again")
        sections.save(path)
    return parts


def _is_sound(part: NamePart, sections: Sections) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamageWarning)
        warnings.simplefilter("error", OlderSnapshot)
        try:
            part.check(sections)
        except (DamageWarning, OlderSnapshot):
            return False
    return True


def _identity(path: Path) -> tuple[int, ...] | None:
    """Device, number, size and time of a file; ``None`` if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
