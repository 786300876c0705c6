"""Conversion of MRREL rows to is_a edges, and the longest path over edges.

An edge row is one number of 64 bits, so that sorting numbers sorts edges::

    bits 63…38  child     code of the identifier
    bits 37…12  parent
    bits 11…1   vocabulary
    bit  0      0: the row names the parent first (isa, CHD, RN), 1: the child first (inverse_isa, PAR, RB)
"""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt16, UInt64
from cuihop_loader._kernels.interning import same_values
from cuihop_loader._kernels.words import eight_bytes

RELATION_NAMES = ("isa", "inverse_isa", "CHD", "PAR", "RN", "RB")
"""Relations of a row, by their bits in a kind, from the lowest; the first of each two names the parent first."""

PARENT_FIRST, CHILD_FIRST = 0b010101, 0b101010

CHILD_SHIFT, PARENT_SHIFT, SAB_SHIFT = 38, 12, 1
CODE_MASK, SAB_MASK = (1 << 26) - 1, (1 << 11) - 1

_CHILD_SHIFT, _PARENT_SHIFT, _SAB_SHIFT = np.uint64(CHILD_SHIFT), np.uint64(PARENT_SHIFT), np.uint64(SAB_SHIFT)
_SAB_MASK = np.uint64(SAB_MASK)
_CHILD_IN_KEY = np.uint64(CHILD_SHIFT - PARENT_SHIFT)
_BUCKET_SHIFT = np.uint64(CHILD_SHIFT + 15)
BUCKETS = 1 << 64 - CHILD_SHIFT - 15
"""A bucket has some ten thousand of a release's eight million rows, which fit into the cache while they are sorted."""

SETS, MIRRORED = range(2)

_PRIME, _FOLD, _LOW_HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


# A field has no bar inside, so with the bar behind it a match of the beginning is a match of the field.
_ISA, _CHD, _PAR, _RN, _RB, _N = (_word(text) for text in (b"isa|", b"CHD|", b"PAR|", b"RN|", b"RB|", b"N|"))
_INVERSE = _word(b"inverse_")
_FOUR, _THREE, _TWO = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFF), np.uint64(0xFFFF)


@compiled
def _kind(buffer: UInt8, rel: int, rela: int) -> int:
    """The kind of a row, by the positions of its REL and RELA; the row is long enough to read beyond both."""
    kind = 0
    word = eight_bytes(buffer, rela)
    if word & _FOUR == _ISA:
        kind = 1
    elif word == _INVERSE and eight_bytes(buffer, rela + 8) & _FOUR == _ISA:
        kind = 2
    word = eight_bytes(buffer, rel)
    if word & _FOUR == _CHD:
        kind |= 4
    elif word & _FOUR == _PAR:
        kind |= 8
    elif word & _THREE == _RN:
        kind |= 16
    elif word & _THREE == _RB:
        kind |= 32
    return kind


@compiled
def select(
    buffer: UInt8,
    spans: Int32,
    rel: int,
    rela: int,
    suppress: int,
    requested: int,
    with_suppressed: bool,
    selected: Int32,
    kinds: UInt8,
    seen: Int64,
    left_out: Int64,
) -> int:
    """Choose the rows with a wanted relation that are not suppressed, and return their number.

    Args:
        rel, rela, suppress: columns of ``spans`` with the begin of each; the end follows.
        requested: the kinds that count, as bits.
        selected, kinds: out, of each chosen row its number, and the wanted bits of its kind.
        seen: accumulates the rows of each kind that are not left out as suppressed, wanted or not.
        left_out: accumulates the rows with other relations, and the suppressed ones among the rest.
    """
    count = 0
    for row in range(spans.shape[0]):
        kind = _kind(buffer, spans[row, rel], spans[row, rela])
        if kind == 0:
            left_out[0] += 1
            continue
        at = spans[row, suppress]
        active = with_suppressed or (spans[row, suppress + 1] - at == 1 and buffer[at] == 78)
        if active:
            for bit in range(6):
                seen[bit] += (kind >> bit) & 1
        kind &= requested
        if kind == 0:
            left_out[0] += 1
        elif not active:
            left_out[1] += 1
        else:
            selected[count] = row
            kinds[count] = kind
            count += 1
    return count


@compiled
def pack(
    first: Int32, second: Int32, sabs: Int32, sab_codes: Int32, kinds: UInt8, edges: UInt64, loops: Int32, seen: Int64
) -> tuple[int, int]:
    """Pack rows into edge rows; return the number of edges, and of rows with one concept twice.

    Args:
        first, second: codes of CUI1 and CUI2.
        sabs: the vocabulary of each row, a position in ``sab_codes``, whose numbers are common to all blocks.
        edges: out, at most two for each row (a row can contradict itself).
        loops: out, the code of each row with one concept twice.
        seen: accumulates the rows of each kind, without rows with one concept twice.
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
def count_buckets(rows: UInt64, counts: Int64) -> None:
    """Count the edge rows of each bucket; a bucket holds neighbouring children."""
    for i in range(rows.size):
        counts[np.int64(rows[i] >> _BUCKET_SHIFT)] += 1


@compiled
def into_buckets(rows: UInt64, ends: Int64, out: UInt64) -> None:
    """Write edge rows into their buckets. ``ends``: the next position of each bucket, advanced."""
    for i in range(rows.size):
        bucket = np.int64(rows[i] >> _BUCKET_SHIFT)
        out[ends[bucket]] = rows[i]
        ends[bucket] += 1


@compiled
def distinct(rows: UInt64) -> int:
    """Move the distinct ones of ascending edge rows to the front, and return their number."""
    count = 0
    for i in range(rows.size):
        if count == 0 or rows[i] != rows[count - 1]:
            rows[count] = rows[i]
            count += 1
    return count


@compiled
def group(
    rows: UInt64, begin: int, edge: int, children: Int32, parents: Int32, sets: Int32,
    sabs: UInt16, spans: Int32, table: Int32, state: Int64,
) -> tuple[int, int]:  # fmt: skip
    """Group ascending distinct edge rows from ``begin`` on into edges, each with its set of vocabularies.

    Returns the row and edge to continue with. Rows remain where ``sabs``, ``spans`` or ``table`` is too small.

    Args:
        begin, edge: the row to begin with, the first of an edge, and the number of that edge.
        children, parents: out, codes.
        sets: out, for each edge the number of its set of vocabularies, by first occurrence.
        sabs: out, the vocabularies of each set, ascending, one set after the other.
        spans: out, begin and end of each set in ``sabs``, and the number of its edges.
        table: hash table of the numbers of the sets, -1 where free; its size a power of two.
        state: the number of sets, and of edges asserted in both notations; both are continued.
    """
    mask = table.size - 1
    count = state[SETS]
    i = begin
    while i < rows.size:
        first = spans[count - 1, 1] if count else 0
        if 2 * count >= table.size or count >= spans.shape[0] or first + SAB_MASK + 1 > sabs.size:
            break
        key = rows[i] >> _PARENT_SHIFT
        notations = 0
        last = first
        while i < rows.size and rows[i] >> _PARENT_SHIFT == key:
            row = rows[i]
            sab = (row >> _SAB_SHIFT) & _SAB_MASK
            notations |= 2 if row & _ONE else 1
            if last == first or sab != sabs[last - 1]:
                sabs[last] = sab
                last += 1
            i += 1
        children[edge] = np.int64(key >> _CHILD_IN_KEY)
        parents[edge] = np.int64(key) & CODE_MASK
        state[MIRRORED] += notations == 3
        slot = _hash(sabs, first, last) & mask
        while True:
            number = table[slot]
            if number < 0:
                table[slot] = count
                sets[edge] = count
                spans[count, 0] = first
                spans[count, 1] = last
                spans[count, 2] = 1
                count += 1
                break
            if same_values(sabs, first, last, sabs, spans[number, 0], spans[number, 1]):
                sets[edge] = number
                spans[number, 2] += 1
                break
            slot = (slot + 1) & mask
        edge += 1
    state[SETS] = count
    return i, edge


@compiled
def enter_sets(sabs: UInt16, spans: Int32, count: int, table: Int32) -> None:
    """Enter distinct sets into an empty table: see `group`."""
    mask = table.size - 1
    for number in range(count):
        slot = _hash(sabs, spans[number, 0], spans[number, 1]) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number


@compiled
def _hash(numbers: UInt16, begin: int, end: int) -> int:
    h = np.uint64(0)
    for k in range(begin, end):
        h = (h ^ np.uint64(numbers[k])) * _PRIME
        h ^= h >> _FOLD
    return int(h & _LOW_HALF)


@compiled
def longest_path(indptr: Int32, indices: Int32) -> int:
    """Edges on the longest path of a graph without cycles, in compressed rows (Kahn 1962: topological order)."""
    nodes = indptr.size - 1
    waiting = np.zeros(nodes, dtype=np.int32)  # edges into the node from unfinished nodes
    for edge in range(indices.size):
        waiting[indices[edge]] += 1
    level = np.zeros(nodes, dtype=np.int32)
    queue = np.empty(nodes, dtype=np.int32)
    tail = 0
    for node in range(nodes):
        if waiting[node] == 0:
            queue[tail] = node
            tail += 1
    longest = 0
    head = 0
    while head < tail:
        node = queue[head]
        head += 1
        for edge in range(indptr[node], indptr[node + 1]):
            other = indices[edge]
            level[other] = max(level[other], level[node] + 1)
            waiting[other] -= 1
            if waiting[other] == 0:
                longest = max(longest, level[other])
                queue[tail] = other
                tail += 1
    return longest
