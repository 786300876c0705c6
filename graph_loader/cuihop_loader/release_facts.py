"""MRRANK and MRSAB: the ranks of names, and the vocabularies and versions of a release."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cuihop.resources.progress import StepProgress
from cuihop_loader.concept_names import Ranks
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.report import FileReport
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import SourceFile

__all__ = ["Vocabularies", "read_ranks", "read_vocabularies"]

_RELEASE = re.compile(r"\d{4}[A-Z]{2}|\d{6}")


@dataclass(frozen=True)
class Vocabularies:
    """Content of MRSAB for the current vocabularies.

    Attributes:
        versions: of each vocabulary (SAB).
        languages: of each vocabulary (LAT).
        release: name of the release; ``None`` if the file has none.
        report: of the file.
    """

    versions: Mapping[str, str]
    languages: Mapping[str, str]
    release: str | None
    report: FileReport


def read_ranks(file: SourceFile, rejected: RejectedRows, progress: StepProgress | None) -> tuple[Ranks, FileReport]:
    """Read MRRANK: the rank of each vocabulary, term type and SUPPRESS; the highest gives the preferred name.

    Raises:
        InputError: the file or a row of it is malformed.
    """

    def work(rows: Rows) -> dict[tuple[bytes, bytes], int]:
        ranks = {}
        for row in range(len(rows)):
            rank = rows.raw(row, 0)
            if not rank.isdigit():
                rows.refuse(row, "RANK", "not a rank", repr(rank.decode()), "digits")
                continue
            ranks[rows.raw(row, 1) + b"|" + rows.raw(row, 2), rows.raw(row, 3)] = int(rank)
        return ranks

    scanner = RowScanner(file, ("RANK", "SAB", "TTY", "SUPPRESS"), work, rejected, progress)
    ranks: dict[tuple[bytes, bytes], int] = {}
    for found in scanner:
        ranks.update(found)
    return ranks, scanner.report


def read_vocabularies(file: SourceFile, rejected: RejectedRows, progress: StepProgress | None) -> Vocabularies:
    """Read MRSAB.

    The release is that of the newest current vocabulary (IMETA): the Metathesaurus' own vocabularies come with
    every release.

    Raises:
        InputError: the file or a row of it is malformed.
    """

    def work(rows: Rows) -> list[tuple[str, str, str, bool, str]]:
        return [
            (rows.text(row, 0), rows.text(row, 1), rows.text(row, 2), rows.raw(row, 3) == b"Y", rows.text(row, 4))
            for row in range(len(rows))
        ]

    scanner = RowScanner(file, ("RSAB", "SVER", "IMETA", "CURVER", "LAT"), work, rejected, progress)
    versions: dict[str, str] = {}
    languages: dict[str, str] = {}
    releases: set[str] = set()
    for found in scanner:
        current = [row for row in found if row[3]]
        scanner.skip("not the current version", len(found) - len(current))
        versions.update((sab, version) for sab, version, *_ in current)
        languages.update((sab, language) for sab, _, _, _, language in current)
        releases.update(release for _, _, release, *_ in current if _RELEASE.fullmatch(release))
    return Vocabularies(versions, languages, max(releases, default=None), scanner.report)
