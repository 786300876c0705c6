"""Synthetic UMLS releases of any size, generated from a seed, with all peculiarities of real ones.

A hierarchy with several parents, hubs, cycles and self-loops; rows that mirror each other and rows that do not;
suppressed rows; rows of other relations; names in three languages. Every number comes from a counter through
SplitMix64 (Steele, Lea, Flood 2014), so a seed gives the same bytes on every machine. Rows are generated for some
concepts at a time: the hierarchy is in memory, about 40 bytes for each concept, and the rows are not.

::

    python -m cuihop_tools.synthetic_release FOLDER --concepts 1000000 --rows 20000000 --seed 1

Beyond ten million concepts, identifiers have eight digits: ``--identifiers any`` loads them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cuihop.resources.arrays import Int32, Int64, UInt8, UInt64, ascending
from cuihop_tools import synthetic_rows as kernels
from cuihop_tools.synthetic_rows import RELAS, RELS, SUPPRESS

_HUBS = 6
_ROWS_AN_EDGE = 2.55  # isa and inverse_isa rows for each distinct edge, over all vocabularies
_ISA_SHARE = 0.445
_LARGEST_CUI = 9_999_999
_MOST_CONCEPTS = 50_000_000
_ROWS_A_PART = 1 << 23


@dataclass(frozen=True)
class SyntheticRelease:
    """Size and seed of a release.

    Attributes:
        concepts: CUIs, 20 to 50,000,000. Beyond 9,999,998, identifiers have eight digits.
        rows: MRREL rows, at least 100.
        seed: seed of the generator.
        names: MRCONSO rows, at least one for each concept; ``None`` is five for each.
    """

    concepts: int
    rows: int
    seed: int = 1
    names: int | None = None

    def __post_init__(self) -> None:
        if not 20 <= self.concepts <= _MOST_CONCEPTS:
            raise ValueError(f"concepts: 20 to {_MOST_CONCEPTS}")
        if self.rows < 100:
            raise ValueError("rows: at least 100")
        if self.names is not None and self.names < self.concepts:
            raise ValueError("names: at least one for each concept")

    @property
    def digits(self) -> int:
        """Digits of an identifier, after the C."""
        return 7 if self.concepts < _LARGEST_CUI else 8

    @property
    def scale_bits(self) -> int:
        """Bits of a random number that is scaled to a range."""
        return 24 if self.digits == 7 else 32


@dataclass(frozen=True, eq=False)
class SyntheticTables:
    """Columns of MRREL, or of its rows for some concepts. Concepts are numbered in the order of their CUIs.

    Attributes:
        numbers: int32, shape (concepts,); the digits of each CUI.
        first_row: number of the first row in the file.
        cui1, cui2: int32, shape (rows,); concepts.
        rel, rela, sab, suppress: uint8, shape (rows,); positions in `RELS`, `RELAS`, `SABS`, `SUPPRESS`.
    """

    release: SyntheticRelease
    numbers: Int32
    first_row: int
    cui1: Int32
    cui2: Int32
    rel: UInt8
    rela: UInt8
    sab: UInt8
    suppress: UInt8

    def pairs(self, *relations: str, include_suppressed: bool = False) -> Int64:
        """Edges as numbers, child times 2^32 plus parent, distinct, ascending: see `SyntheticRows.edges`."""
        child_second = np.zeros(len(self.rel), dtype=bool)
        child_first = np.zeros(len(self.rel), dtype=bool)
        if "isa" in relations:
            child_second |= self.rela == RELAS.index("isa")
            child_first |= self.rela == RELAS.index("inverse_isa")
        if "par-chd" in relations:
            child_second |= self.rel == RELS.index("CHD")
            child_first |= self.rel == RELS.index("PAR")
        if "rb-rn" in relations:
            child_second |= self.rel == RELS.index("RN")
            child_first |= self.rel == RELS.index("RB")
        counts = (self.cui1 != self.cui2) & (include_suppressed | (self.suppress == SUPPRESS.index("N")))
        child_second &= counts
        child_first &= counts
        return ascending(
            np.concatenate(
                [
                    self.cui2[child_second].astype(np.int64) << 32 | self.cui1[child_second],
                    self.cui1[child_first].astype(np.int64) << 32 | self.cui2[child_first],
                ]
            )
        )

    def edges(self, *relations: str, include_suppressed: bool = False) -> Int32:
        """Expected is_a edges: see `SyntheticRows.edges`."""
        return _as_edges(self.pairs(*relations, include_suppressed=include_suppressed), self.numbers)


class SyntheticRows:
    """The rows of MRREL, generated for some concepts at a time.

    Args:
        release: size and seed.

    Attributes:
        numbers: int32, shape (concepts,); the digits of each CUI, ascending.
    """

    def __init__(self, release: SyntheticRelease) -> None:
        concepts, seed, bits = release.concepts, release.seed, release.scale_bits
        self.release = release
        step = (10**release.digits - 2) // concepts
        numbers = _below(random_numbers(seed, 10, concepts), step, 24)
        numbers += 1 + np.arange(concepts, dtype=np.int64) * step
        self.numbers: Int32 = numbers.astype(np.int32)
        del numbers
        # The position of a concept in the hierarchy is independent of its CUI.
        self._place: Int32 = np.argsort(random_numbers(seed, 11, concepts), kind="stable").astype(np.int32)
        child, parent = _is_a(release)
        self._child, self._parent = self._place[child], self._place[parent]
        del child, parent
        self._loops: Int32 = self._place[_below(random_numbers(seed, 14, 2 + release.rows // 50_000), concepts, bits)]
        most = int(release.rows * 0.3)
        sides = [kernels.count_statements(len(self._child), seed, side) for side in range(2)]
        self._sides = [min(most, count) for count in sides]

    def parts(self, rows: int = _ROWS_A_PART) -> Iterator[SyntheticTables]:
        """The columns in the order of the file, about ``rows`` rows at a time."""
        concepts = self.release.concepts
        size = -(-concepts * rows // self.release.rows)
        row = 0
        for first in range(0, concepts, size):
            part = self._part(first, min(first + size, concepts), row)
            row += len(part.rel)
            yield part

    def edges(self, *relations: str, include_suppressed: bool = False) -> Int32:
        """Expected is_a edges of a load: digits of child and parent, int32, shape (edges, 2), ascending.

        Args:
            relations: ``isa``, ``par-chd``, ``rb-rn``, or several.
            include_suppressed: use suppressed rows too.
        """
        parts = [part.pairs(*relations, include_suppressed=include_suppressed) for part in self.parts()]
        return _as_edges(ascending(np.concatenate(parts)), self.numbers)

    def _part(self, first: int, last: int, row: int) -> SyntheticTables:
        """The rows whose first concept is ``first`` up to ``last``, sorted by it as in UMLS."""
        release = self.release
        others = release.rows - sum(self._sides) - len(self._loops)
        loops = np.flatnonzero((self._loops >= first) & (self._loops < last))
        room = 1 << 16
        while True:
            cuis, columns = np.empty((2, room), dtype=np.int32), np.empty((4, room), dtype=np.uint8)
            count = 0
            for side, most in enumerate(self._sides):
                count = kernels.statement_rows(
                    self._child, self._parent, release.seed, side, most, first, last, cuis, columns, count
                )
            count = kernels.loop_rows(self._loops, release.seed, loops, cuis, columns, count)
            count = kernels.other_rows(
                self._place, release.seed, others, release.scale_bits, first, last, cuis, columns, count
            )
            if count <= room:
                break
            room = count
        order = kernels.by_concept(cuis[0, :count], first, last)
        rel, rela, sab, suppress = (column[order] for column in columns)
        return SyntheticTables(release, self.numbers, row, cuis[0][order], cuis[1][order], rel, rela, sab, suppress)


def _as_edges(pairs: Int64, numbers: Int32) -> Int32:
    edges = np.empty((len(pairs), 2), dtype=np.int32)
    edges[:, 0] = numbers[pairs >> 32]
    edges[:, 1] = numbers[pairs & 0xFFFFFFFF]
    return edges


def random_numbers(seed: int, stream: int, count: int, first: int = 0) -> UInt64:
    """``count`` 64-bit numbers from number ``first`` on: SplitMix64 of a counter that starts by seed and stream."""
    numbers = np.empty(count, dtype=np.uint64)
    kernels.fill(seed, stream, first, numbers)
    return numbers


def _below(numbers: UInt64, bound: int | Int64, bits: int) -> Int64:
    """Each number scaled to the range from 0 up to its bound, exclusive, by its highest bits."""
    scaled = (numbers >> np.uint64(64 - bits)).astype(np.int64)
    scaled *= bound
    scaled >>= bits
    return scaled


def _is_a(release: SyntheticRelease) -> tuple[Int64, Int64]:
    """(child, parent) of the hierarchy, perhaps repeated. Every parent precedes its children, except in cycles."""
    concepts, seed, bits = release.concepts, release.seed, release.scale_bits
    count = int(release.rows * _ISA_SHARE / _ROWS_AN_EDGE)
    children = np.concatenate(
        [
            np.arange(1, min(concepts, count + 1), dtype=np.int64),
            1 + _below(random_numbers(seed, 1, max(0, count + 1 - concepts)), concepts - 1, bits),
        ]
    )
    random = random_numbers(seed, 2, len(children))
    parents = _below(random, children, bits)
    to_hub = (random & np.uint64(63)) < 2
    del random
    parents[to_hub] = np.minimum(_below(random_numbers(seed, 3, int(to_hub.sum())), _HUBS, bits), children[to_hub] - 1)
    # Cycles of two: an edge the other way round. Cycles of three: from a grandparent to its grandchild.
    some = 2 + len(children) // 40_000
    at = _below(random_numbers(seed, 4, some), len(children), bits)
    first_parent = parents[: concepts - 1]
    grand = at[(parents[at] > 0) & (parents[at] <= len(first_parent))]
    return (
        np.concatenate([children, parents[at[: some // 2]], first_parent[parents[grand] - 1]]),
        np.concatenate([parents, children[at[: some // 2]], children[grand]]),
    )


def tables(release: SyntheticRelease) -> SyntheticTables:
    """All columns of the release's MRREL at once, sorted by CUI1 as in UMLS."""
    return next(SyntheticRows(release).parts(release.rows))


def write(folder: Path, release: SyntheticRelease, *, zstd: bool = False) -> SyntheticRows:
    """Write MRREL, MRCONSO, MRSTY, MRRANK, MRSAB and MRCUI into the folder; return the rows of MRREL.

    Args:
        folder: an existing folder.
        release: size and seed.
        zstd: compress the large files.
    """
    from cuihop_tools.synthetic_files import write_files

    rows = SyntheticRows(release)
    write_files(folder, rows, zstd=zstd)
    return rows


def main() -> None:
    """The command line: see the module."""
    parser = argparse.ArgumentParser(
        prog="cuihop_tools.synthetic_release", description="Write a synthetic UMLS release."
    )
    parser.add_argument("folder", type=Path, help="where the files go; made if it does not exist")
    parser.add_argument("--concepts", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=200_000, help="rows of MRREL")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--names", type=int, help="rows of MRCONSO; five for each concept if not given")
    parser.add_argument("--zstd", action="store_true", help="compress the large files")
    arguments = parser.parse_args()
    try:
        release = SyntheticRelease(arguments.concepts, arguments.rows, arguments.seed, arguments.names)
    except ValueError as error:
        parser.error(str(error))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write(arguments.folder, release, zstd=arguments.zstd)


if __name__ == "__main__":
    main()
