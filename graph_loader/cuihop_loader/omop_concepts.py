"""CONCEPT, CONCEPT_SYNONYM and VOCABULARY of OMOP: which concepts are kept, and their names, types and vocabularies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8, UInt16, bounds_of
from cuihop.snapshot.string_table import StringTable
from cuihop_loader._kernels import interning
from cuihop_loader.concept_names import NameRows
from cuihop_loader.identifier_codes import ConceptNumbers, ReleaseReading, vocabulary_codes
from cuihop_loader.rejected_rows import excerpt
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import SourceFile

KEPT, NON_STANDARD, INVALID = range(3)
"""Standing of a concept: standard or classification; another valid one; one with an invalid_reason."""

_COLUMNS = (
    "concept_id", "concept_name", "domain_id", "vocabulary_id", "concept_class_id", "standard_concept", "concept_code",
    "invalid_reason",
)  # fmt: skip
_ID, _NAME, _DOMAIN, _, _CLASS, _STANDARD, _CODE, _INVALID = range(8)
_MOST_VOCABULARIES = 1 << 16
_RELEASE = "None"  # the vocabulary whose version is that of the release
_SHORTEST = 8  # bytes of an identifier in a table


def whole_numbers(rows: Rows, column: int, selected: Int32) -> Int64:
    """The numbers in a column of the selected rows; -1 for any other text."""
    numbers = np.empty(len(selected), dtype=np.int64)
    interning.whole_numbers(rows.buffer, rows.spans, 2 * column, selected, numbers)
    return numbers


def refuse(rows: Rows, wrong: npt.NDArray[np.integer], column: int, field: tuple[str, str, str]) -> None:
    """Refuse the wrong rows, each once. ``field``: name of the column, the problem and what is expected."""
    refused = {bad.row for bad in rows.bad_rows}
    name, problem, expected = field
    for row in wrong.tolist():
        if int(rows.positions[row]) not in refused:
            rows.refuse(row, name, problem, excerpt(rows.raw(row, column)), expected)


def letters(rows: Rows, column: int, name: str, allowed: str) -> tuple[UInt8, Bool]:
    """The letter in a column of each row, 0 for nothing; and true for another text, whose row is refused."""
    begin, end = rows.spans[:, 2 * column], rows.spans[:, 2 * column + 1]
    of_rows = np.where(end > begin, rows.buffer[begin], 0).astype(np.uint8)
    wrong = (end - begin > 1) | ~np.isin(of_rows, [0, *allowed.encode()])
    refuse(rows, np.flatnonzero(wrong), column, (name, "unknown value", f"{' or '.join(allowed)}, or nothing"))
    return of_rows, wrong


def concept_rows(rows: Rows, column: int, name: str, selected: Int32, concepts: Concepts) -> Int32:
    """The row of CONCEPT that each selected row refers to, -1 for none; such a row is refused."""
    of_rows = concepts.rows_of(whole_numbers(rows, column, selected))
    refuse(rows, selected[of_rows < 0], column, (name, "no such concept", "a concept_id of CONCEPT"))
    return of_rows


def _texts(rows: Rows, column: int, selected: Int32) -> tuple[Int32, UInt8]:
    """The texts in a column of the selected rows: their lengths, and they one after the other."""
    spans = np.ascontiguousarray(rows.spans[selected, 2 * column : 2 * column + 2])
    offsets, blob = interning.copied(rows.buffer, spans)
    return np.diff(offsets).astype(np.int32), blob


class _Block(NamedTuple):
    """The usable rows of a block of CONCEPT: the names are those of the kept ones, at their positions in it."""

    ids: Int64
    positions: Int32
    standing: UInt8
    kinds: Int32
    kind_names: Sequence[bytes]
    codes: tuple[Int32, UInt8]
    named: Int32
    names: tuple[Int32, UInt8]


class Concepts:
    """The rows of CONCEPT, in the order of the file.

    Attributes:
        ids: concept_id. order: the rows by it. standing: `KEPT`, `NON_STANDARD` or `INVALID`. codes: concept_code.
        kinds: positions in ``types``, pairs of domain and concept class.
        vocabularies: positions in ``vocabulary_names``.
        ranks: position of each concept in ``texts``: the empty text, then every concept_id as text, ascending.
        numbers: the numbers of the kept ones in the graph, by their rows.
        names: of the kept ones, block by block: rows, lengths, and texts.
    """

    def __init__(self, blocks: Sequence[_Block], kinds: Sequence[bytes], scanner: RowScanner[Any]) -> None:
        self.scanner = scanner
        self.ids = np.concatenate([block.ids for block in blocks])
        self.standing = np.concatenate([block.standing for block in blocks])
        self.kinds = np.concatenate([block.kinds for block in blocks])
        lengths, texts = (np.concatenate(of_blocks) for of_blocks in zip(*(b.codes for b in blocks), strict=True))
        self.codes = StringTable(bounds_of(lengths), texts)
        fields = [kind.split(b"\t") for kind in kinds]
        self.types = [(domain.decode(), concept_class.decode()) for domain, _, concept_class in fields]
        numbers: dict[bytes, int] = {}
        of_kinds = vocabulary_codes([sab for _, sab, _ in fields], numbers, _MOST_VOCABULARIES, scanner.role)
        self.vocabularies: UInt16 = of_kinds.astype(np.uint16)[self.kinds]
        self.vocabulary_names = [name.decode() for name in numbers]
        firsts = bounds_of([len(block.ids) for block in blocks], np.int32)[:-1]
        self.names = [(first + block.named, *block.names) for first, block in zip(firsts, blocks, strict=True)]
        self.order = np.argsort(self.ids, kind="stable").astype(np.int32)
        self._ascending = self.ids[self.order]
        # With zeros behind them to the width of the longest, numbers are in the order of texts.
        digits = np.searchsorted(10 ** np.arange(1, 18, dtype=np.int64), self._ascending, side="right") + 1
        by_text = self.order[np.argsort(self._ascending * 10 ** (digits.max() - digits), kind="stable")]
        self.ranks = np.empty_like(self.order)
        self.ranks[by_text] = np.arange(1, len(by_text) + 1, dtype=np.int32)
        self.texts = np.zeros(len(by_text) + 1, dtype=f"S{max(int(digits.max()), _SHORTEST)}")
        self.texts[1:] = self.ids[by_text].astype(self.texts.dtype)
        standard = by_text[self.standing[by_text] == KEPT]
        self.numbers = _Numbers(self.texts[self.ranks[standard]], standard, len(self.ids))

    def rows_of(self, ids: Int64) -> Int32:
        """The row of each concept; -1 for an unknown one."""
        at = np.minimum(np.searchsorted(self._ascending, ids), len(self._ascending) - 1)
        rows: Int32 = np.where(self._ascending[at] == ids, self.order[at], np.int32(-1))
        return rows


class _Numbers(ConceptNumbers):
    """The kept concepts, by their rows in CONCEPT."""

    def __init__(self, identifiers: npt.NDArray[np.bytes_], rows: Int32, total: int) -> None:
        self.identifiers = identifiers
        self._places = np.full(total, -1, dtype=np.int32)
        self._places[rows] = np.arange(len(rows), dtype=np.int32)


def read_concepts(file: SourceFile, reading: ReleaseReading) -> Concepts:
    """Read CONCEPT.

    Raises:
        InputError: the file or a row of it is malformed, two rows have one concept_id, or no concept is kept.
        LimitExceeded: more than 65,536 vocabularies.
    """

    def task(rows: Rows) -> _Block:
        ids = whole_numbers(rows, _ID, rows.all)
        refuse(rows, np.flatnonzero(ids < 0), _ID, ("concept_id", "not a concept_id", "up to 18 digits"))
        standard, unknown = letters(rows, _STANDARD, "standard_concept", "SC")
        invalid, other = letters(rows, _INVALID, "invalid_reason", "DU")
        usable = np.flatnonzero((ids >= 0) & ~unknown & ~other).astype(np.int32)
        standing = np.where(invalid > 0, INVALID, np.where(standard > 0, KEPT, NON_STANDARD)).astype(np.uint8)[usable]
        kinds, kind_names = rows.interned(_DOMAIN, _CLASS, usable)  # three adjacent columns: one text
        named = np.flatnonzero(standing == KEPT).astype(np.int32)
        return _Block(
            ids[usable], rows.positions[usable], standing, kinds, kind_names, _texts(rows, _CODE, usable),
            named, _texts(rows, _NAME, usable[named]),
        )  # fmt: skip

    scanner = reading.scanner(file, _COLUMNS, task)
    blocks, lines = [], []
    kinds: dict[bytes, int] = {}
    for block in scanner:
        common = np.array([kinds.setdefault(kind, len(kinds)) for kind in block.kind_names], dtype=np.int32)
        block.kinds[:] = common[block.kinds]
        blocks.append(block)
        lines.append(scanner.first_line + block.positions)
    counts = np.bincount(np.concatenate([block.standing for block in blocks]), minlength=3).tolist()
    if not counts[KEPT]:
        raise InputError(
            "no standard concept", file=str(file), found=f"{sum(counts):,} concepts",
            expected="some whose standard_concept is S or C, without an invalid_reason",
        )  # fmt: skip
    scanner.skip("invalid", counts[INVALID])
    scanner.skip("non-standard", counts[NON_STANDARD])
    concepts = Concepts(blocks, list(kinds), scanner)
    again = np.flatnonzero(np.diff(concepts.ids[concepts.order]) == 0) + 1
    if len(again):
        at = again[np.argmin(concepts.order[again])]
        row, first = int(concepts.order[at]), int(concepts.order[at - 1])
        line_of = np.concatenate(lines)
        raise InputError(
            "two concepts with one concept_id", file=str(file), line=int(line_of[row]), column="concept_id",
            found=f"{concepts.ids[row]}, as in line {line_of[first]:,}", expected="each concept once",
        )  # fmt: skip
    return concepts


def read_names(file: SourceFile | None, concepts: Concepts, reading: ReleaseReading) -> NameRows:
    """The names of the kept concepts: concept_name, then those in CONCEPT_SYNONYM, of any language.

    Raises:
        InputError: the file or a row of it is malformed.
    """

    def task(rows: Rows) -> tuple[Int32, tuple[Int32, UInt8], int]:
        of_rows = concept_rows(rows, 0, "concept_id", rows.all, concepts)
        usable = np.flatnonzero((of_rows >= 0) & (concepts.standing[of_rows] == KEPT)).astype(np.int32)
        return of_rows[usable], _texts(rows, 1, usable), int(np.count_nonzero(of_rows >= 0)) - len(usable)

    scanner, names = concepts.scanner, list(concepts.names)
    if file is not None:
        scanner = reading.scanner(file, ("concept_id", "concept_synonym_name"), task)
        for of_block, texts, left_out in scanner:
            names.append((of_block, *texts))
            scanner.skip("concept is not kept", left_out)
    of_rows, of_lengths, blobs = zip(*names, strict=True)
    rows, lengths = np.concatenate(of_rows), np.concatenate(of_lengths)
    grades = np.ones(len(rows), dtype=np.uint32)
    grades[: len(concepts.numbers)] = 0
    named = lengths > 0
    scanner.skip("no text", int(np.count_nonzero(grades[~named])))
    rows = rows[named]
    return NameRows(
        codes=rows,
        grades=grades[named],
        sabs=concepts.vocabularies[rows],
        lengths=lengths[named],
        blob=bytearray(b"".join(blobs)),
        sab_names=[name.encode() for name in concepts.vocabulary_names],
        suppressed=0,
        active=len(rows),
        scanner=scanner,
        source_codes=None,
    )


def read_versions(file: SourceFile, reading: ReleaseReading) -> tuple[dict[str, str], str | None]:
    """Read VOCABULARY: the version of each vocabulary that has one, and that of the release.

    Raises:
        InputError: the file or a row of it is malformed.
    """

    def task(rows: Rows) -> list[tuple[str, str]]:
        return [(rows.raw(row, 0).decode(), rows.raw(row, 1).decode()) for row in range(len(rows))]

    scanner = reading.scanner(file, ("vocabulary_id", "vocabulary_version"), task)
    versions = {sab: version for block in scanner for sab, version in block if version}
    return versions, versions.get(_RELEASE)
