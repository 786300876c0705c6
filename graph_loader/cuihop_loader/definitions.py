"""MRDEF: definitions of concepts by vocabularies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.resources.progress import StepProgress
from cuihop.snapshot.string_table import StringTable
from cuihop_loader.identifier_codes import ConceptPlaces, IdentifierCodes, IdentifierColumn, identifier_column, interned
from cuihop_loader.options import LoadOptions
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.report import FileReport
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import SourceFile

__all__ = ["DefinitionRows", "Definitions", "definitions_of", "read_definitions"]

_WANTED = ("CUI", "SAB", "DEF", "SUPPRESS")
_CUI, _SAB, _DEF, _SUPPRESS = range(4)
_REASONS = ("suppressed", "other language", "no text")


@dataclass(frozen=True, eq=False)
class DefinitionRows:
    """The usable rows.

    Attributes:
        codes: int32, of the concept.
        texts: of each row its vocabulary, a bar, and the definition, adjacent as in the file.
        scanner: for the report.
    """

    codes: npt.NDArray[np.int32]
    texts: list[bytes]
    scanner: RowScanner[_Found]


@dataclass(frozen=True, eq=False)
class Definitions:
    """Definitions of each concept, as in `cuihop.snapshot.writer.GraphTables`."""

    texts: StringTable
    indptr: npt.NDArray[np.int32]
    report: FileReport


@dataclass(frozen=True, eq=False)
class _Found:
    concepts: IdentifierColumn
    texts: list[bytes]
    left_out: tuple[int, ...]
    not_cui: int
    not_cuis: tuple[bytes, ...]


class _Selection:
    """Processing of a block of MRDEF. Shared by threads, so it has no state that changes."""

    def __init__(self, options: LoadOptions, languages: Mapping[str, str], *, only_cuis: bool) -> None:
        self._with_suppressed = options.include_suppressed
        self._other_languages = {
            sab.encode() for sab, language in languages.items() if language and language not in options.languages
        }
        self._only_cuis = only_cuis

    def __call__(self, rows: Rows) -> _Found:
        concepts = identifier_column(rows, _CUI, "CUI", rows.all)
        usable = ~concepts.is_invalid()
        not_cui = 0
        not_cuis: tuple[bytes, ...] = ()
        if self._only_cuis and concepts.others:
            not_cui = int(np.count_nonzero(usable & (concepts.codes < 0)))
            not_cuis = concepts.usable_others()
            usable &= concepts.codes >= 0
            concepts = concepts.without_others()

        at, end = rows.spans[:, 2 * _SUPPRESS], rows.spans[:, 2 * _SUPPRESS + 1]
        suppressed = (end - at != 1) | (rows.buffer[at] != ord("N"))
        sabs, names = interned(rows, 2 * _SAB, 2 * _SAB + 1, rows.all)
        foreign = np.array([name in self._other_languages for name in names], dtype=np.bool_)
        left_out = []
        for reason in (
            np.zeros(len(rows), dtype=np.bool_) if self._with_suppressed else suppressed,
            foreign[sabs],
            rows.spans[:, 2 * _DEF] == rows.spans[:, 2 * _DEF + 1],
        ):
            left_out.append(int(np.count_nonzero(usable & reason)))
            usable &= ~reason
        usable_rows = np.flatnonzero(usable)
        # SAB and DEF are adjacent: one text "SAB|DEF".
        spans = rows.spans[usable_rows][:, [2 * _SAB, 2 * _DEF + 1]].tolist()
        texts = [rows.buffer[begin:end].tobytes() for begin, end in spans]
        return _Found(concepts.at(usable_rows), texts, tuple(left_out), not_cui, not_cuis)


def read_definitions(
    file: SourceFile,
    options: LoadOptions,
    languages: Mapping[str, str],
    codes: IdentifierCodes,
    rejected: RejectedRows,
    progress: StepProgress | None,
    *,
    only_cuis: bool,
) -> DefinitionRows:
    """Read MRDEF.

    Args:
        file, codes, rejected, progress, only_cuis: as for the other files.
        options: the languages, and the treatment of suppressed rows.
        languages: the language of each vocabulary, from MRSAB; vocabularies without one are used.

    Raises:
        InputError: the file or a row of it is malformed.
    """
    selection = _Selection(options, languages, only_cuis=only_cuis)
    scanner = RowScanner(file, _WANTED, selection, rejected, progress)
    found = [np.empty(0, dtype=np.int32)]
    texts: list[bytes] = []
    for block in scanner:
        found.append(codes.codes(block.concepts))
        texts += block.texts
        for reason, count in zip(_REASONS, block.left_out, strict=True):
            scanner.skip(reason, count)
        scanner.skip("identifier is not a CUI", block.not_cui)
        codes.leave_out("MRDEF", block.not_cui, block.not_cuis)
    return DefinitionRows(np.concatenate(found), texts, scanner)


def definitions_of(rows: DefinitionRows, concepts: ConceptPlaces) -> Definitions:
    """Distinct definitions of each concept, by vocabulary and text."""
    placed = list(zip(concepts.of(rows.codes).tolist(), rows.texts, strict=True))
    of_concepts = [row for row in placed if row[0] >= 0]
    distinct = sorted(set(of_concepts), key=lambda row: (row[0], *row[1].split(b"|", 1)))
    rows.scanner.skip("concept is in neither MRREL nor MRCONSO", len(placed) - len(of_concepts))
    rows.scanner.skip("same definition again", len(of_concepts) - len(distinct))
    counts = np.bincount(np.array([place for place, _ in distinct], dtype=np.int64), minlength=len(concepts))
    indptr = np.zeros(len(concepts) + 1, dtype=np.int32)
    np.cumsum(counts, out=indptr[1:])
    return Definitions(StringTable.of_bytes([text for _, text in distinct]), indptr, rows.scanner.report)
