"""MRCONSO: the codes of vocabularies for the concepts of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.resources.arrays import Int32, UInt8, UInt16, UInt32, bounds_of
from cuihop.snapshot.source_codes import CodeRows, code_sections
from cuihop.snapshot.string_table import StringTable
from cuihop_loader._kernels import codes
from cuihop_loader.identifier_codes import ConceptNumbers
from cuihop_loader.row_scanner import Rows

_NO_CODE = np.frombuffer(b"NOCODE", dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class BlockCodes:
    """The codes of a block, each once for adjacent rows of a concept.

    Attributes:
        selected: the rows. grades: of their atoms.
        sabs: number of each row's vocabulary. sab_names: by number.
        lengths, blob: the codes, one after the other. source_lengths, source_blob: SCUI, empty where it is the code.
        without: number of rows without a code.
    """

    selected: Int32
    grades: UInt32
    sabs: UInt16
    sab_names: Sequence[bytes]
    lengths: Int32
    blob: UInt8
    source_lengths: Int32
    source_blob: UInt8
    without: int

    @classmethod
    def of(
        cls,
        rows: Rows,
        columns: Sequence[int],
        concepts: Int32,
        term_types: Int32,
        names: Sequence[bytes],
        ranks: Int32,
    ) -> BlockCodes:
        """The codes of the rows of a block.

        Args:
            columns: TS, STT, ISPREF, SCUI, CODE and SUPPRESS among the located ones.
            concepts: of each row. term_types: number of each row's vocabulary and term type, ``names``, with ``ranks``.
        """
        sab_names: dict[bytes, int] = {}
        of_types = [sab_names.setdefault(name.partition(b"|")[0], len(sab_names)) for name in names]
        sabs = np.array(of_types, dtype=np.int32)
        extents = 2 * np.array(columns, dtype=np.int64)
        selected, grades = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.uint32)
        count, without = codes.distinct(
            rows.buffer, rows.spans, extents, _NO_CODE, concepts, term_types, sabs, ranks, selected, grades
        )
        selected = selected[:count].copy()
        texts = codes.texts(rows.buffer, rows.spans, int(extents[3]), int(extents[4]), selected)
        of_rows = sabs.astype(np.uint16)[term_types[selected]]
        return cls(selected, grades[:count].copy(), of_rows, list(sab_names), *texts, without)


@dataclass(eq=False)
class ReadCodes:
    """The codes of the blocks so far.

    Attributes:
        without: number of rows without a code.
    """

    without: int = 0
    _sab_names: list[Sequence[bytes]] = field(default_factory=list)
    _columns: tuple[list[npt.NDArray[Any]], ...] = field(default_factory=lambda: tuple([] for _ in range(7)))

    def add(self, concepts: Int32, block: BlockCodes) -> None:
        """Add the codes of a block; ``concepts`` has the code of the identifier in each of its rows."""
        self.without += block.without
        self._sab_names.append(block.sab_names)
        owners, texts = concepts[block.selected], (block.lengths, block.blob, block.source_lengths, block.source_blob)
        of_block: list[npt.NDArray[Any]] = [owners, block.grades, block.sabs, *texts]
        for column, values in zip(self._columns, of_block, strict=True):
            column.append(values)

    def sections(self, numbers: ConceptNumbers) -> tuple[dict[str, npt.NDArray[Any]], list[str]]:
        """The sections of the codes of all blocks: see `code_sections`. Releases each column when it is joined."""
        owners, grades, sabs, lengths, blob, source_lengths, source_blob = self._columns
        common: dict[bytes, int] = {}
        for index, names in enumerate(self._sab_names):
            of_block = [common.setdefault(name, len(common)) for name in names]
            sabs[index] = np.array(of_block, dtype=np.uint16)[sabs[index]]
        return code_sections(CodeRows(  # of which no other reference is kept
            owners=numbers.of(_joined(owners, np.int32)),
            grades=_joined(grades, np.uint32),
            sabs=_joined(sabs, np.uint16),
            sab_names=[name.decode() for name in common],
            codes=StringTable(bounds_of(_joined(lengths, np.int32)), _joined(blob, np.uint8)),
            source_concepts=StringTable(bounds_of(_joined(source_lengths, np.int32)), _joined(source_blob, np.uint8)),
        ), len(numbers))  # fmt: skip


def _joined(arrays: list[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """One array of all, which are released."""
    joined = np.concatenate([np.empty(0, dtype=dtype), *arrays])
    arrays.clear()
    return joined
