"""MRCONSO: the codes of vocabularies for the concepts of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cuihop.resources.arrays import Int32, UInt8, UInt16, UInt32, bounds_of
from cuihop.snapshot.source_codes import CodeRows
from cuihop.snapshot.string_table import StringTable
from cuihop_loader._kernels import codes, interning
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
        scui, code = int(extents[3]), int(extents[4])
        of_codes = np.ascontiguousarray(rows.spans[selected, code : code + 2])
        offsets, blob = interning.copied(rows.buffer, of_codes)
        others = codes.source_concepts(rows.buffer, rows.spans, scui, code, selected)
        source_offsets, source_blob = interning.copied(rows.buffer, others)
        return cls(
            selected, grades[:count].copy(), sabs[term_types[selected]].astype(np.uint16), list(sab_names),
            np.diff(offsets).astype(np.int32), blob, np.diff(source_offsets).astype(np.int32), source_blob, without,
        )  # fmt: skip


@dataclass(eq=False)
class ReadCodes:
    """The codes of the blocks so far.

    Attributes:
        without: number of rows without a code.
    """

    without: int = 0
    _blocks: list[tuple[Int32, BlockCodes]] = field(default_factory=list)

    def add(self, concepts: Int32, block: BlockCodes) -> None:
        """Add the codes of a block; ``concepts`` has the code of the identifier in each of its rows."""
        self.without += block.without
        self._blocks.append((concepts[block.selected], replace(block, selected=block.selected[:0].copy())))

    def rows(self, numbers: ConceptNumbers) -> CodeRows:
        """The codes of all blocks, by the numbers of their concepts. Frees the blocks."""
        sab_names: dict[bytes, int] = {}
        sabs = [np.empty(0, dtype=np.uint16)]
        for _, block in self._blocks:
            common = [sab_names.setdefault(name, len(sab_names)) for name in block.sab_names]
            sabs.append(np.array(common, dtype=np.uint16)[block.sabs])
        blocks, self._blocks = self._blocks, []
        none = np.empty(0, dtype=np.uint8)
        return CodeRows(
            owners=numbers.of(np.concatenate([np.empty(0, dtype=np.int32), *(owners for owners, _ in blocks)])),
            grades=np.concatenate([np.empty(0, dtype=np.uint32), *(block.grades for _, block in blocks)]),
            sabs=np.concatenate(sabs),
            sab_names=[name.decode() for name in sab_names],
            codes=StringTable(
                bounds_of(np.concatenate([none, *(block.lengths for _, block in blocks)])),
                np.concatenate([none, *(block.blob for _, block in blocks)]),
            ),
            source_concepts=StringTable(
                bounds_of(np.concatenate([none, *(block.source_lengths for _, block in blocks)])),
                np.concatenate([none, *(block.source_blob for _, block in blocks)]),
            ),
        )
