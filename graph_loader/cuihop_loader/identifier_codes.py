"""Codes of identifiers while files are read, and the concepts of the graph by their codes.

The code of a CUI is made of its digits; each other identifier gets a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from cuihop.errors import LimitExceeded
from cuihop.identifiers import EXPECTED, MAX_LENGTH
from cuihop.resources.arrays import Bool, Int32
from cuihop.resources.progress import StepProgress
from cuihop.snapshot.name_index_builder import ordered_texts
from cuihop.snapshot.string_table import StringTable
from cuihop_loader._kernels import interning
from cuihop_loader.options import LoadOptions
from cuihop_loader.rejected_rows import RejectedRows, excerpt
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import SourceFile

Result = TypeVar("Result")
Number = TypeVar("Number", bound=np.generic)

CODE_BITS = 26
"""Codes are below 2 to the power of this."""

_CUIS = 10_000_000
_FIRST_OTHERS = 1 << 10
_SAMPLES = 5
_NO_TEXTS = StringTable.of([])


@dataclass(frozen=True, eq=False)
class IdentifierColumn:
    """Identifiers of one column in some rows of a block.

    Attributes:
        codes: int32; 1 + the digits of a CUI, 0 for an empty field, ``-1 - k`` for the other identifier number k.
        invalid: mask of the malformed ones among them.
    """

    codes: Int32
    others: StringTable = _NO_TEXTS
    invalid: Bool = field(default_factory=lambda: np.empty(0, dtype=np.bool_))

    def is_invalid(self) -> Bool:
        """Mask of the rows with a malformed identifier."""
        if not len(self.others):
            return np.zeros(len(self.codes), dtype=np.bool_)
        answer: Bool = np.r_[self.invalid, False][np.where(self.codes < 0, -1 - self.codes, -1)]
        return answer

    def at(self, rows: npt.NDArray[np.integer]) -> IdentifierColumn:
        """The same column in fewer rows."""
        codes = self.codes[rows]
        if not (codes < 0).any():
            return IdentifierColumn(codes)
        return IdentifierColumn(codes, self.others, self.invalid)


class NotCuis(NamedTuple):
    """Rows of a block left out because an identifier is not a CUI: their number, and some of the identifiers."""

    rows: int = 0
    identifiers: tuple[str, ...] = ()


def identifier_column(
    rows: Rows, column: int, name: str, selected: Int32, *, may_be_empty: bool = False
) -> IdentifierColumn:
    """Read identifiers. ``column`` counts the wanted columns, ``name`` is for messages.

    A row with a malformed identifier becomes one of the block's bad rows; its code is that of an invalid identifier.
    """
    codes = np.empty(len(selected), dtype=np.int32)
    if not interning.cui_codes(rows.buffer, rows.spans, 2 * column, selected, codes):
        return IdentifierColumn(codes)
    where = np.flatnonzero(codes == 0).astype(np.int32)
    numbers, spans = rows.interned_spans(column, column, selected[where])
    codes[where] = -1 - numbers
    others = StringTable(*interning.copied(rows.buffer, spans))
    invalid = interning.not_opaque(others.offsets, others.blob, MAX_LENGTH)
    if may_be_empty and len(empty := np.flatnonzero(spans[:, 0] == spans[:, 1])):
        codes[codes == -1 - empty[0]] = 0
        invalid[empty] = False
    answer = IdentifierColumn(codes, others, invalid)
    if invalid.any():
        refused = {bad.row for bad in rows.bad_rows}
        for i in np.flatnonzero(answer.is_invalid()).tolist():
            if int(rows.positions[selected[i]]) not in refused:
                raw = rows.raw(int(selected[i]), column)
                actual = excerpt(raw) if raw else "nothing"
                rows.refuse(int(selected[i]), name, "not an identifier", actual, EXPECTED["any"])
    return answer


class IdentifierCodes:
    """Register of codes: 0 is no identifier, 1 + the digits is a CUI, and larger codes are other identifiers.

    Codes of CUIs sort as the CUIs do. For one thread only.

    Attributes:
        skipped: rows left out because an identifier is not a CUI, by role of the file.
        samples: a few of these identifiers.
    """

    def __init__(self) -> None:
        self._others = 0
        self._offsets = np.zeros(_FIRST_OTHERS + 1, dtype=np.int64)
        self._blob = np.empty(8 * _FIRST_OTHERS, dtype=np.uint8)
        self._table = np.full(2 * _FIRST_OTHERS, -1, dtype=np.int32)
        self.skipped: dict[str, int] = {}
        self.samples: list[str] = []

    @property
    def count(self) -> int:
        """Exclusive upper bound of the codes."""
        return 1 + _CUIS + self._others

    def codes(self, column: IdentifierColumn) -> Int32:
        """The codes of a column, other identifiers included.

        Raises:
            LimitExceeded: more other identifiers than codes.
        """
        new = column.others
        if not len(new):
            return column.codes
        self._reserve(len(new), len(new.blob))
        numbers = np.empty(len(new), dtype=np.int32)
        self._others = interning.register(
            new.offsets, new.blob, self._offsets, self._blob, self._others, self._table, numbers
        )
        if self.count > 1 << CODE_BITS:
            raise LimitExceeded(f"more than {(1 << CODE_BITS) - _CUIS - 1:,} identifiers that are not CUIs")
        codes = column.codes.copy()
        other = np.flatnonzero(codes < 0)
        codes[other] = 1 + _CUIS + numbers[-1 - codes[other]]
        return codes

    def leave_out(self, scanner: RowScanner[Result], not_cuis: NotCuis, others: Mapping[str, int]) -> None:
        """Count rows of a file that are left out because an identifier is not a CUI, and others by reason."""
        for reason, rows in others.items():
            scanner.skip(reason, rows)
        if not_cuis.rows:
            scanner.skip("identifier is not a CUI", not_cuis.rows)
            self.skipped[scanner.role] = self.skipped.get(scanner.role, 0) + not_cuis.rows
            for other in not_cuis.identifiers:
                if len(self.samples) < _SAMPLES and other not in self.samples:
                    self.samples.append(other)

    def identifiers(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.bytes_]:
        """The identifiers of the codes, dtype ``S``, 8 bytes wide or as wide as the longest."""
        other = np.flatnonzero(codes > _CUIS)
        numbers = codes[other].astype(np.int64) - _CUIS - 1
        width = max(8, int((self._offsets[numbers + 1] - self._offsets[numbers]).max(initial=0)))
        digits = np.zeros((len(codes), width), dtype=np.uint8)
        digits[:, 0] = ord("C")
        left = codes.astype(np.int32) - 1
        for column in range(7, 0, -1):
            left, digit = np.divmod(left, 10)
            digits[:, column] = digit + ord("0")
        digits[codes == 0] = 0
        interning.in_columns(self._offsets, self._blob, numbers, other, digits)
        return digits.view(f"S{width}").reshape(-1)

    def in_order(self, codes: npt.NDArray[np.integer]) -> tuple[npt.NDArray[np.bytes_], Int32]:
        """Distinct ascending codes as identifiers in the order of their bytes, and the position of each code in it."""
        identifiers = self.identifiers(codes)
        ranks = np.arange(len(codes), dtype=np.int32)
        if not len(codes) or codes[-1] <= _CUIS:
            return identifiers, ranks
        width = identifiers.dtype.itemsize
        order = ordered_texts(StringTable(np.arange(len(codes) + 1) * width, identifiers.view(np.uint8)))
        ranks[order] = np.arange(len(codes), dtype=np.int32)
        return identifiers[order], ranks

    def _reserve(self, texts: int, size: int) -> None:
        """Make room for more identifiers in the register."""
        if self._others + texts >= len(self._offsets):
            self._offsets = _longer(self._offsets, self._others + 1, texts)
        filled = int(self._offsets[self._others])
        if filled + size > len(self._blob):
            self._blob = _longer(self._blob, filled, size)
        if 2 * (self._others + texts) > len(self._table):
            size = 1 << (4 * (self._others + texts) - 1).bit_length()
            self._table = np.full(size, -1, dtype=np.int32)
            interning.enter_texts(self._offsets, self._blob, self._others, self._table)


def _longer(array: npt.NDArray[Number], filled: int, more: int) -> npt.NDArray[Number]:
    longer = np.empty(filled + max(filled, more), dtype=array.dtype)
    longer[:filled] = array[:filled]
    return longer


def vocabulary_codes(sabs: Iterable[bytes], codes: dict[bytes, int], most: int, role: str) -> Int32:
    """The number of each vocabulary, by first occurrence; new ones are added to ``codes``.

    Raises:
        LimitExceeded: the file of this role has more than ``most``.
    """
    answer = []
    for sab in sabs:
        code = codes.setdefault(sab, len(codes))
        if code >= most:
            raise LimitExceeded(f"more than {most:,} vocabularies (SAB) in {role}")
        answer.append(code)
    return np.array(answer, dtype=np.int32)


def members_of(number: int, sets: Sequence[tuple[int, int]]) -> Iterator[int]:
    """The members of a set, the last one first: see `cuihop_loader._kernels.interning`."""
    while number >= 0:
        number, member = sets[number]
        yield member


class ConceptSet:
    """Concepts so far: a mask of their codes."""

    def __init__(self) -> None:
        self.present = np.zeros(1 << 24, dtype=np.bool_)

    def add(self, codes: npt.NDArray[np.integer]) -> None:
        """Add concepts."""
        if len(codes):
            largest = int(codes.max())
            if largest >= len(self.present):
                wider = np.zeros(2 * largest, dtype=np.bool_)
                wider[: len(self.present)] = self.present
                self.present = wider
            self.present[codes] = True


class ConceptNumbers:
    """The concepts of the graph in the order of their identifiers, which are of dtype ``S``."""

    def __init__(self, concepts: ConceptSet, codes: IdentifierCodes) -> None:
        present = np.flatnonzero(concepts.present).astype(np.int32)
        self.identifiers, numbers = codes.in_order(present)
        self._places = np.full(codes.count, -1, dtype=np.int32)
        self._places[present] = numbers

    def __len__(self) -> int:
        return len(self.identifiers)

    def of(self, codes: npt.NDArray[np.integer]) -> Int32:
        """The number of each code's concept; -1 for a code without a concept in the graph."""
        numbers: Int32 = self._places[codes]
        return numbers


@dataclass(frozen=True, eq=False)
class ReleaseReading:
    """Common to the files of a release while they are read.

    Attributes:
        only_cuis: rows with other identifiers are left out.
        scanners: of the files so far, by role.
    """

    options: LoadOptions
    codes: IdentifierCodes
    rejected: RejectedRows
    progress: StepProgress
    only_cuis: bool
    scanners: dict[str, RowScanner[Any]] = field(default_factory=dict)

    def scanner(self, file: SourceFile, columns: Sequence[str], task: Callable[[Rows], Result]) -> RowScanner[Result]:
        """The scanner of one file."""
        scanner = self.scanners[file.role] = RowScanner(file, columns, task, self.rejected, self.progress)
        return scanner

    def usable_rows(self, *columns: IdentifierColumn) -> tuple[Bool, NotCuis]:
        """Mask of the rows with well-formed identifiers in all columns; and the rows of other identifiers left out."""
        usable = ~np.logical_or.reduce([column.is_invalid() for column in columns])
        if not self.only_cuis or not any(len(column.others) for column in columns):
            return usable, NotCuis()
        others = usable & np.logical_or.reduce([column.codes < 0 for column in columns])
        identifiers = (  # twice as many as are shown: some may be there already
            column.others[number]
            for column in columns
            for number in np.flatnonzero(~column.invalid)[: 2 * _SAMPLES].tolist()
        )
        return usable & ~others, NotCuis(int(np.count_nonzero(others)), tuple(identifiers))
