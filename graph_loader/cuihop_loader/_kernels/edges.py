"""From MRREL rows to is_a edges.

An edge row is one number of 64 bits, so that sorting numbers sorts edges::

    bits 63…38  child     code of the identifier
    bits 37…12  parent
    bits 11…1   vocabulary
    bit  0      0: the row names the parent first (isa, CHD, RN), 1: the child first (inverse_isa, PAR, RB)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop._kernels.jit import compiled

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

RELATION_NAMES = ("isa", "inverse_isa", "CHD", "PAR", "RN", "RB")
"""What a row can say, and its bit in a kind, from the lowest: the first of each two names the parent first."""

PARENT_FIRST, CHILD_FIRST = 0b010101, 0b101010
SUPPRESSED = 1 << len(RELATION_NAMES)

CHILD_SHIFT, PARENT_SHIFT, SAB_SHIFT = 38, 12, 1
CODE_MASK, SAB_MASK = (1 << 26) - 1, (1 << 11) - 1

_CHILD_SHIFT, _PARENT_SHIFT, _SAB_SHIFT = np.uint64(CHILD_SHIFT), np.uint64(PARENT_SHIFT), np.uint64(SAB_SHIFT)
_SAB_MASK = np.uint64(SAB_MASK)
_SAB_IN_PLACE = np.uint64(SAB_MASK << SAB_SHIFT)
_ONE = np.uint64(1)


@compiled
def _kind(buffer: UInt8, rel: int, rel_length: int, rela: int, rela_length: int) -> int:
    kind = 0
    if rela_length == 3:
        if buffer[rela] == 105 and buffer[rela + 1] == 115 and buffer[rela + 2] == 97:
            kind = 1
    elif rela_length == 11 and buffer[rela + 7] == 95 and buffer[rela] == 105:
        same = True
        for i, byte in enumerate((105, 110, 118, 101, 114, 115, 101, 95, 105, 115, 97)):
            same &= buffer[rela + i] == byte
        if same:
            kind = 2
    if rel_length == 3:
        a, b, c = buffer[rel], buffer[rel + 1], buffer[rel + 2]
        if a == 67 and b == 72 and c == 68:
            kind |= 4
        elif a == 80 and b == 65 and c == 82:
            kind |= 8
    elif rel_length == 2 and buffer[rel] == 82:
        if buffer[rel + 1] == 78:
            kind |= 16
        elif buffer[rel + 1] == 66:
            kind |= 32
    return kind


@compiled
def select(
    buffer: UInt8,
    spans: Int32,
    rel: int,
    rela: int,
    suppress: int,
    wanted: int,
    with_suppressed: bool,
    chosen: Int32,
    kinds: UInt8,
    seen: Int64,
    left_out: Int64,
) -> int:
    """The rows with a wanted relation that are not suppressed.

    Args:
        buffer, spans: the block.
        rel, rela, suppress: where a row of ``spans`` holds the begin of each; the end follows.
        wanted: the kinds that count, as bits.
        with_suppressed: whether suppressed rows count.
        chosen: out, numbers of the rows.
        kinds: out, what each chosen row says, wanted kinds only.
        seen: adds up the rows of each kind that are not left out as suppressed, wanted or not.
        left_out: adds up the rows with other relations, and the suppressed ones among the rest.

    Returns:
        how many rows are chosen.
    """
    count = 0
    for row in range(spans.shape[0]):
        begin = spans[row, rel]
        length = spans[row, rel + 1] - begin
        kind = _kind(buffer, begin, length, spans[row, rela], spans[row, rela + 1] - spans[row, rela])
        if kind == 0:
            left_out[0] += 1
            continue
        at = spans[row, suppress]
        active = with_suppressed or (spans[row, suppress + 1] - at == 1 and buffer[at] == 78)
        if active:
            for bit in range(6):
                seen[bit] += (kind >> bit) & 1
        kind &= wanted
        if kind == 0:
            left_out[0] += 1
        elif not active:
            left_out[1] += 1
        else:
            chosen[count] = row
            kinds[count] = kind
            count += 1
    return count


@compiled
def pack(
    first: Int32, second: Int32, sabs: Int32, sab_codes: Int32, kinds: UInt8, edges: UInt64, loops: Int32, seen: Int64
) -> tuple[int, int]:
    """Rows to edges.

    Args:
        first, second: codes of CUI1 and CUI2.
        sabs: the vocabulary of each row, a place in ``sab_codes``.
        sab_codes: the number by which all blocks know the vocabulary.
        kinds: what each row says.
        edges: out, at most two for each row (a row can contradict itself).
        loops: out, the code of each row with one concept twice.
        seen: adds up the rows of each kind, rows with one concept twice left out.

    Returns:
        the number of edges, and of rows with one concept twice.
    """
    n_edges = 0
    n_loops = 0
    for i in range(first.size):
        if first[i] == second[i]:
            loops[n_loops] = first[i]
            n_loops += 1
            continue
        a, b = np.uint64(first[i]), np.uint64(second[i])
        sab = np.uint64(sab_codes[sabs[i]]) << _SAB_SHIFT
        for bit in range(6):
            seen[bit] += (kinds[i] >> bit) & 1
        if kinds[i] & PARENT_FIRST:
            edges[n_edges] = (b << _CHILD_SHIFT) | (a << _PARENT_SHIFT) | sab
            n_edges += 1
        if kinds[i] & CHILD_FIRST:
            edges[n_edges] = (a << _CHILD_SHIFT) | (b << _PARENT_SHIFT) | sab | _ONE
            n_edges += 1
    return n_edges, n_loops


@compiled
def renumber_sabs(edges: UInt64, places: Int32) -> None:
    """Give each vocabulary another number, in place."""
    for i in range(edges.size):
        sab = (edges[i] >> _SAB_SHIFT) & _SAB_MASK
        edges[i] = (edges[i] & ~_SAB_IN_PLACE) | (np.uint64(places[sab]) << _SAB_SHIFT)


@compiled
def distinct(edges: UInt64) -> tuple[int, int]:
    """How many edges there are among ascending edge rows, and how many (edge, vocabulary) pairs."""
    n_edges = 0
    n_sabs = 0
    for i in range(edges.size):
        if i == 0 or edges[i] >> _PARENT_SHIFT != edges[i - 1] >> _PARENT_SHIFT:
            n_edges += 1
            n_sabs += 1
        elif edges[i] >> _SAB_SHIFT != edges[i - 1] >> _SAB_SHIFT:
            n_sabs += 1
    return n_edges, n_sabs


@compiled
def group(edges: UInt64, children: Int32, parents: Int32, sabs: npt.NDArray[np.uint16], spans: Int32) -> int:
    """The distinct edges among ascending edge rows.

    Args:
        edges: the rows.
        children, parents: out, codes.
        sabs: out, the vocabularies of each edge, ascending, one edge after the other.
        spans: out, where the vocabularies of each edge begin and end, in bytes of ``sabs``.

    Returns:
        how many edges are asserted both ways of writing.
    """
    n_edges = 0
    n_sabs = 0
    mirrored = 0
    ways = 0
    for i in range(edges.size):
        row = edges[i]
        new = i == 0 or row >> _PARENT_SHIFT != edges[i - 1] >> _PARENT_SHIFT
        if new:
            children[n_edges] = np.int64(row >> _CHILD_SHIFT)
            parents[n_edges] = np.int64(row >> _PARENT_SHIFT) & CODE_MASK
            spans[n_edges, 0] = 2 * n_sabs
            n_edges += 1
            mirrored += ways == 3
            ways = 0
        ways |= 2 if row & _ONE else 1
        if new or row >> _SAB_SHIFT != edges[i - 1] >> _SAB_SHIFT:
            sabs[n_sabs] = (row >> _SAB_SHIFT) & _SAB_MASK
            n_sabs += 1
        spans[n_edges - 1, 1] = 2 * n_sabs
    return mirrored + (ways == 3)
