"""Synthetic UMLS releases of any size, generated from a seed, with all peculiarities of real ones.

A hierarchy with several parents, hubs, cycles and self-loops; rows that mirror each other and rows that do not;
suppressed rows; rows of other relations; names in three languages. Every number comes from a counter through
SplitMix64 (Steele, Lea, Flood 2014), so a seed gives the same bytes on every machine.

::

    python -m cuihop_tools.synthetic_release FOLDER --concepts 1000000 --rows 20000000 --seed 1
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuihop_loader.arrays import ascending

__all__ = ["SyntheticRelease", "SyntheticTables", "tables", "write"]

Int32 = npt.NDArray[np.int32]
UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]

RELS = ("CHD", "PAR", "RN", "RB", "SIB", "RO", "RQ", "SY")
RELAS = ("", "isa", "inverse_isa", "has_location", "part_of", "same_as")
SABS = tuple(f"SYN{i:02d}" for i in range(40))
SUPPRESS = ("N", "O", "Y", "E")
LANGUAGES = ("ENG", "SPA", "FRE")
TERM_TYPES = ("PT", "FN", "SY", "AB")

_HUBS = 6
_ROWS_AN_EDGE = 2.55  # isa and inverse_isa rows for each distinct edge, over all vocabularies
_ISA_SHARE = 0.445
_LARGEST_CUI = 9_999_999


@dataclass(frozen=True)
class SyntheticRelease:
    """Size and seed of a release.

    Attributes:
        concepts: CUIs, 20 to 9,999,998.
        rows: MRREL rows, at least 100.
        seed: seed of the generator.
        names: MRCONSO rows, at least one for each concept; ``None`` is five for each.
    """

    concepts: int
    rows: int
    seed: int = 1
    names: int | None = None

    def __post_init__(self) -> None:
        if not 20 <= self.concepts < _LARGEST_CUI:
            raise ValueError(f"concepts: 20 to {_LARGEST_CUI - 1}")
        if self.rows < 100:
            raise ValueError("rows: at least 100")
        if self.names is not None and self.names < self.concepts:
            raise ValueError("names: at least one for each concept")


@dataclass(frozen=True, eq=False)
class SyntheticTables:
    """Columns of MRREL. Concepts are numbered in the order of their CUIs.

    Attributes:
        numbers: int32, shape (concepts,); the digits of each CUI.
        cui1, cui2: int32, shape (rows,); concepts.
        rel, rela, sab, suppress: uint8, shape (rows,); positions in `RELS`, `RELAS`, `SABS`, `SUPPRESS`.
    """

    release: SyntheticRelease
    numbers: Int32
    cui1: Int32
    cui2: Int32
    rel: UInt8
    rela: UInt8
    sab: UInt8
    suppress: UInt8

    def edges(self, *relations: str, include_suppressed: bool = False) -> Int32:
        """Expected is_a edges of a load: digits of child and parent, int32, shape (edges, 2), ascending.

        Args:
            relations: ``isa``, ``par-chd``, ``rb-rn``, or several.
            include_suppressed: use suppressed rows too.
        """
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
        pairs = np.concatenate(
            [
                self.cui2[child_second].astype(np.int64) << 32 | self.cui1[child_second],
                self.cui1[child_first].astype(np.int64) << 32 | self.cui2[child_first],
            ]
        )
        distinct = ascending(pairs)
        return np.stack([self.numbers[distinct >> 32], self.numbers[distinct & 0xFFFFFFFF]], axis=1)


def random_numbers(seed: int, stream: int, count: int) -> UInt64:
    """``count`` 64-bit numbers: SplitMix64 of a counter that starts at a value given by seed and stream."""
    start = np.uint64((seed * 0x9E3779B97F4A7C15 + (stream << 40)) % (1 << 64))
    z = np.arange(1, count + 1, dtype=np.uint64)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z += start
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def _below(numbers: UInt64, bound: int | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Each number scaled to the range from 0 up to its bound, exclusive."""
    return ((numbers >> np.uint64(40)).astype(np.int64) * bound) >> 24


def _is_a(release: SyntheticRelease) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(child, parent) of the hierarchy, perhaps repeated. Every parent precedes its children, except in cycles."""
    concepts, seed = release.concepts, release.seed
    count = int(release.rows * _ISA_SHARE / _ROWS_AN_EDGE)
    children = np.concatenate(
        [
            np.arange(1, min(concepts, count + 1), dtype=np.int64),
            1 + _below(random_numbers(seed, 1, max(0, count + 1 - concepts)), concepts - 1),
        ]
    )
    random = random_numbers(seed, 2, len(children))
    parents = _below(random, children)
    to_hub = (random & np.uint64(63)) < 2
    parents[to_hub] = np.minimum(_below(random_numbers(seed, 3, int(to_hub.sum())), _HUBS), children[to_hub] - 1)
    # Cycles of two: an edge the other way round. Cycles of three: from a grandparent to its grandchild.
    some = 2 + len(children) // 40_000
    at = _below(random_numbers(seed, 4, some), len(children))
    first_parent = parents[: concepts - 1]
    grand = at[(parents[at] > 0) & (parents[at] <= len(first_parent))]
    return (
        np.concatenate([children, parents[at[: some // 2]], first_parent[parents[grand] - 1]]),
        np.concatenate([parents, children[at[: some // 2]], children[grand]]),
    )


def tables(release: SyntheticRelease) -> SyntheticTables:
    """Columns of the release's MRREL, sorted by CUI1 as in UMLS."""
    concepts, seed = release.concepts, release.seed
    step = (_LARGEST_CUI - 1) // concepts
    numbers = 1 + np.arange(concepts, dtype=np.int64) * step + _below(random_numbers(seed, 10, concepts), step)
    # The position of a concept in the hierarchy is independent of its CUI.
    place = np.argsort(random_numbers(seed, 11, concepts), kind="stable")

    child, parent = _is_a(release)
    asserted = 1 + (random_numbers(seed, 12, len(child)) % np.uint64(16) >= 11).astype(np.int64)
    child, parent = np.repeat(child, asserted), np.repeat(parent, asserted)
    random = random_numbers(seed, 13, len(child))
    ways = random % np.uint64(20)  # 0: isa only, 1: inverse_isa only, else both
    narrower = (random >> np.uint64(8)) % np.uint64(7) == 0  # RN and RB in place of CHD and PAR
    vocabulary = ((random >> np.uint64(16)) % np.uint64(len(SABS))).astype(np.uint8)
    suppressed = np.where((random >> np.uint64(32)) % np.uint64(50) == 0, 1, 0).astype(np.uint8)
    down, up = np.flatnonzero(ways != 1), np.flatnonzero(ways != 0)
    down, up = down[: int(release.rows * 0.3)], up[: int(release.rows * 0.3)]

    loops = _below(random_numbers(seed, 14, 2 + release.rows // 50_000), concepts)
    others = release.rows - len(down) - len(up) - len(loops)
    random = random_numbers(seed, 15, others)
    left = _below(random, concepts)
    right = np.where(random % np.uint64(5) == 0, left, _below(random_numbers(seed, 16, others), concepts))
    kind = ((random >> np.uint64(8)) % np.uint64(10)).astype(np.int64)
    cui1 = np.concatenate([parent[down], child[up], loops, left])
    cui2 = np.concatenate([child[down], parent[up], loops, right])
    rel = np.concatenate(
        [
            np.where(narrower[down], RELS.index("RN"), RELS.index("CHD")),
            np.where(narrower[up], RELS.index("RB"), RELS.index("PAR")),
            np.full(len(loops), RELS.index("CHD")),
            np.array([RELS.index(r) for r in ("SIB", "SIB", "SIB", "RO", "RO", "RQ", "SY", "SY", "CHD", "PAR")])[kind],
        ]
    ).astype(np.uint8)
    rela = np.concatenate(
        [
            np.full(len(down), RELAS.index("isa")),
            np.full(len(up), RELAS.index("inverse_isa")),
            np.full(len(loops), RELAS.index("isa")),
            np.array([RELAS.index(r) for r in ("", "", "", "has_location", "part_of", "", "same_as", "", "", "")])[
                kind
            ],
        ]
    ).astype(np.uint8)
    sab = np.concatenate(
        [vocabulary[down], vocabulary[up], vocabulary[: len(loops)], (random >> np.uint64(16)) % np.uint64(len(SABS))]
    ).astype(np.uint8)
    suppress = np.concatenate(
        [
            suppressed[down],
            suppressed[up],
            np.zeros(len(loops)),
            np.where((random >> np.uint64(32)) % np.uint64(12) == 0, 1 + (random >> np.uint64(36)) % np.uint64(3), 0),
        ]
    ).astype(np.uint8)
    cui1, cui2 = place[cui1].astype(np.int32), place[cui2].astype(np.int32)
    order = np.argsort(cui1, kind="stable")
    return SyntheticTables(
        release,
        numbers.astype(np.int32),
        *(column[order] for column in (cui1, cui2)),
        *(column[order] for column in (rel, rela, sab, suppress)),
    )


def write(folder: Path, release: SyntheticRelease) -> SyntheticTables:
    """Write MRREL, MRCONSO, MRSTY, MRRANK, MRSAB and MRCUI into the folder; return the columns of MRREL."""
    from cuihop_tools.synthetic_files import write_files

    columns = tables(release)
    write_files(folder, columns)
    return columns


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
    arguments = parser.parse_args()
    try:
        release = SyntheticRelease(arguments.concepts, arguments.rows, arguments.seed, arguments.names)
    except ValueError as error:
        parser.error(str(error))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write(arguments.folder, release)


if __name__ == "__main__":
    main()
