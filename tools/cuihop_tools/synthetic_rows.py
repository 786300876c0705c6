"""Rows of a synthetic MRREL, drawn by counters: any row follows from the seed and its number."""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, signed
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt64

RELS = ("CHD", "PAR", "RN", "RB", "SIB", "RO", "RQ", "SY")
RELAS = ("", "isa", "inverse_isa", "has_location", "part_of", "same_as")
SABS = tuple(f"SYN{i:02d}" for i in range(40))
SUPPRESS = ("N", "O", "Y", "E")
LANGUAGES = ("ENG", "SPA", "FRE")
TERM_TYPES = ("PT", "FN", "SY", "AB")

REL, RELA, SAB, SUPPRESSED = range(4)
"""Rows of the array of columns."""

_N_SABS = len(SABS)
_OTHER_RELS = np.array([RELS.index(r) for r in ("SIB", "SIB", "SIB", "RO", "RO", "RQ", "SY", "SY", "CHD", "PAR")])
_OTHER_RELAS = np.array([RELAS.index(r) for r in ("", "", "", "has_location", "part_of", "", "same_as", "", "", "")])
_GOLDEN = 0x9E3779B97F4A7C15
_STEP, _FIRST, _SECOND = np.uint64(_GOLDEN), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@compiled
def start_of(seed: int, stream: int) -> np.uint64:
    """The counter of a stream before its first number."""
    return np.uint64(seed) * _STEP + (np.uint64(stream) << np.uint64(40))


@compiled
def number(start: np.uint64, index: int) -> np.uint64:
    """One number of a stream."""
    z = start + (np.uint64(index) + np.uint64(1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@compiled
def fill(seed: int, stream: int, first: int, numbers: UInt64) -> None:
    """Numbers of a stream from number ``first`` on."""
    start = start_of(seed, stream)
    for i in range(numbers.size):
        numbers[i] = number(start, first + i)


@compiled
def _asserted(start: np.uint64, edge: int) -> int:
    """Number of times that an edge is stated."""
    return 2 if number(start, edge) % np.uint64(16) >= np.uint64(11) else 1


@compiled
def count_statements(edges: int, seed: int, side: int) -> int:
    """Number of statements of the edges in one way of writing: 0 with the parent first, 1 with the child first."""
    repeats, random = start_of(seed, 12), start_of(seed, 13)
    statement = 0
    count = 0
    for edge in range(edges):
        for _ in range(_asserted(repeats, edge)):
            count += number(random, statement) % np.uint64(20) != np.uint64(1 - side)
            statement += 1
    return count


@compiled
def statement_rows(
    child: Int32, parent: Int32, seed: int, side: int, most: int, first: int, last: int,
    cuis: Int32, columns: UInt8, filled: int,
) -> int:  # fmt: skip
    """Add the rows of the is_a statements whose first concept is ``first`` up to ``last``.

    Args:
        child, parent: the edges.
        seed: of the release.
        side: see `count_statements`.
        most: number of statements written in this way.
        first, last: see above.
        cuis, columns: out: CUI1 and CUI2; REL, RELA, SAB and SUPPRESS. Rows beyond their length are only counted.
        filled: number of rows before.

    Returns:
        the number of rows, counted ones included.
    """
    repeats, random = start_of(seed, 12), start_of(seed, 13)
    statement = -1
    written = 0
    for edge in range(child.size):
        for _ in range(_asserted(repeats, edge)):
            statement += 1
            r = number(random, statement)
            if r % np.uint64(20) == np.uint64(1 - side):
                continue
            if written == most:
                return filled
            written += 1
            one = parent[edge] if side == 0 else child[edge]
            if not first <= one < last:
                continue
            if filled < columns.shape[1]:
                cuis[0, filled] = one
                cuis[1, filled] = child[edge] if side == 0 else parent[edge]
                narrower = (r >> np.uint64(8)) % np.uint64(7) == 0  # RN and RB in place of CHD and PAR
                columns[REL, filled] = side + 2 if narrower else side
                columns[RELA, filled] = 1 + side
                columns[SAB, filled] = (r >> np.uint64(16)) % np.uint64(_N_SABS)
                columns[SUPPRESSED, filled] = (r >> np.uint64(32)) % np.uint64(50) == 0
            filled += 1
    return filled


@compiled
def loop_rows(loops: Int32, seed: int, chosen: Int64, cuis: Int32, columns: UInt8, filled: int) -> int:
    """Add the chosen rows with one concept twice: see `statement_rows`."""
    random = start_of(seed, 13)
    for which in chosen:
        if filled < columns.shape[1]:
            cuis[0, filled] = cuis[1, filled] = loops[which]
            columns[REL, filled], columns[RELA, filled] = 0, 1
            columns[SAB, filled] = (number(random, which) >> np.uint64(16)) % np.uint64(_N_SABS)
            columns[SUPPRESSED, filled] = 0
        filled += 1
    return filled


@compiled
def _below(random: np.uint64, bound: int, bits: int) -> int:
    return int((signed(random >> np.uint64(64 - bits)) * bound) >> bits)


@compiled
def other_rows(
    position: Int32, seed: int, rows: int, bits: int, first: int, last: int, cuis: Int32, columns: UInt8, filled: int
) -> int:
    """Add the rows of other relations: see `statement_rows`."""
    random, right = start_of(seed, 15), start_of(seed, 16)
    for row in range(rows):
        r = number(random, row)
        one = position[_below(r, position.size, bits)]
        if not first <= one < last:
            continue
        if filled < columns.shape[1]:
            cuis[0, filled] = one
            same = r % np.uint64(5) == 0
            cuis[1, filled] = one if same else position[_below(number(right, row), position.size, bits)]
            kind = signed((r >> np.uint64(8)) % np.uint64(10))
            columns[REL, filled] = _OTHER_RELS[kind]
            columns[RELA, filled] = _OTHER_RELAS[kind]
            columns[SAB, filled] = (r >> np.uint64(16)) % np.uint64(_N_SABS)
            suppressed = (r >> np.uint64(32)) % np.uint64(12) == 0
            columns[SUPPRESSED, filled] = 1 + (r >> np.uint64(36)) % np.uint64(3) if suppressed else np.uint64(0)
        filled += 1
    return filled


@compiled
def by_concept(cui1: Int32, first: int, last: int) -> Int64:
    """Rows in the order of their first concept, those of one concept in their own order."""
    ends = np.zeros(last - first + 1, dtype=np.int64)
    for row in range(cui1.size):
        ends[cui1[row] - first + 1] += 1
    for concept in range(last - first):
        ends[concept + 1] += ends[concept]
    order = np.empty(cui1.size, dtype=np.int64)
    for row in range(cui1.size):
        order[ends[cui1[row] - first]] = row
        ends[cui1[row] - first] += 1
    return order
