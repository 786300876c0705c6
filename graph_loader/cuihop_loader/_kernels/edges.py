"""Conversion of MRREL rows to is_a edges, and the longest path over edges.

An edge row is one number of 64 bits, so that sorting numbers sorts edges::

    bits 63…38  child     code of the identifier
    bits 37…12  parent
    bits 11…1   vocabulary
    bit  0      0: the row names the parent first (isa, CHD, RN), 1: the child first (inverse_isa, PAR, RB)
"""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, signed
from cuihop.resources.arrays import Int32, Int64, UInt8, UInt64
from cuihop_loader._kernels.interning import cui_code, empty_sets, with_member, with_room
from cuihop_loader._kernels.words import eight_bytes

RELATION_NAMES = ("isa", "inverse_isa", "CHD", "PAR", "RN", "RB")
"""Relations of a row, by their bits in a kind, from the lowest; the first of each two names the parent first."""

PARENT_FIRST, CHILD_FIRST = 0b010101, 0b101010

CHILD_SHIFT, PARENT_SHIFT, SAB_SHIFT = 38, 12, 1
CODE_MASK, SAB_MASK = (1 << 26) - 1, (1 << 11) - 1

_CHILD_SHIFT, _PARENT_SHIFT, _SAB_SHIFT = np.uint64(CHILD_SHIFT), np.uint64(PARENT_SHIFT), np.uint64(SAB_SHIFT)
_SAB_MASK = np.uint64(SAB_MASK)
_CHILD_IN_KEY = np.uint64(CHILD_SHIFT - PARENT_SHIFT)
_BUCKET_SHIFT = np.uint64(CHILD_SHIFT + 17)
BUCKETS = 1 << 64 - CHILD_SHIFT - 17
"""A bucket has some hundred thousand of a release's eight million rows, which fit into the cache of a core."""

COLUMNS = ("CUI1", "REL", "CUI2", "RELA", "SAB", "SUPPRESS")
CUI1, REL, CUI2, RELA, SAB, SUPPRESS = range(6)

_ONE = np.uint64(1)


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


# A field has no bar inside, so with the bar behind it a match of the beginning is a match of the field.
_ISA, _CHD, _PAR, _RN, _RB = (_word(text) for text in (b"isa|", b"CHD|", b"PAR|", b"RN|", b"RB|"))
_INVERSE = _word(b"inverse_")
_FOUR, _THREE = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFF)


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
    requested: int,
    with_suppressed: bool,
    selected: Int32,
    kinds: UInt8,
    codes: Int32,
    seen: Int64,
    left_out: Int64,
) -> tuple[int, int]:
    """Choose the rows with a wanted relation that are not suppressed.

    Returns their number, and that of those with an identifier that is no CUI.

    Args:
        spans: begin and end of each of `COLUMNS`.
        requested: the kinds that count, as bits.
        selected, kinds: out, of each chosen row its number, and the wanted bits of its kind.
        codes: out, shape (2, rows): 1 + the digits of CUI1 and CUI2; 0 if one is no CUI.
        seen: accumulates the rows of each kind that are not left out as suppressed, wanted or not.
        left_out: accumulates the rows with other relations, and the suppressed ones among the rest.
    """
    count = others = 0
    for row in range(spans.shape[0]):
        kind = _kind(buffer, spans[row, 2 * REL], spans[row, 2 * RELA])
        if kind == 0:
            left_out[0] += 1
            continue
        at = spans[row, 2 * SUPPRESS]
        active = with_suppressed or (spans[row, 2 * SUPPRESS + 1] - at == 1 and buffer[at] == 78)
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
            first = cui_code(buffer, spans[row, 2 * CUI1], spans[row, 2 * CUI1 + 1])
            second = cui_code(buffer, spans[row, 2 * CUI2], spans[row, 2 * CUI2 + 1])
            codes[0, count], codes[1, count] = first, second
            others += first == 0 or second == 0
            count += 1
    return count, others


@compiled
def pack(
    first: Int32, second: Int32, sabs: Int32, sab_codes: Int32, kinds: UInt8, edges: UInt64, loops: Int32, seen: Int64,
    sab_rows: Int64,
) -> tuple[int, int]:  # fmt: skip
    """Pack rows into edge rows; return the number of edges, and of rows with one concept twice.

    Args:
        first, second: codes of CUI1 and CUI2.
        sabs: the vocabulary of each row, a position in ``sab_codes``, whose numbers are common to all blocks.
        edges: out, at most two for each row (a row can contradict itself).
        loops: out, the code of each row with one concept twice.
        seen: accumulates the rows of each kind, ``sab_rows`` those of each common number of a vocabulary; both without
            rows with one concept twice.
    """
    n_edges = 0
    n_loops = 0
    for i in range(first.size):
        if first[i] == second[i]:
            loops[n_loops] = first[i]
            n_loops += 1
            continue
        a, b = np.uint64(first[i]), np.uint64(second[i])
        code = sab_codes[sabs[i]]
        sab_rows[code] += 1
        sab = np.uint64(code) << _SAB_SHIFT
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
def group(rows: UInt64, sabs: int) -> tuple[Int32, Int32, Int32, Int32, int]:
    """Group ascending edge rows into edges, each with its set of vocabularies, of which there are ``sabs``.

    Returns the codes of the children and of the parents, the number of each edge's set, the sets of more than one
    vocabulary (see `interning.with_member`), and the number of edges asserted in both notations.
    """
    # Without branches, which would be predicted badly: the vocabularies of each edge, and its first among them.
    members, firsts = np.empty(rows.size, dtype=np.int32), np.empty(rows.size + 1, dtype=np.int32)
    keys, notations = np.empty(rows.size, dtype=np.uint64), np.zeros(rows.size, dtype=np.uint8)
    edge = member = -1
    before = ~rows[0] if rows.size else np.uint64(0)
    for i in range(rows.size):
        row = rows[i]
        edge += (row ^ before) >> _PARENT_SHIFT != 0
        member += (row ^ before) >> _SAB_SHIFT != 0
        firsts[edge + 1] = member + 1
        keys[edge] = row >> _PARENT_SHIFT
        notations[edge] |= _ONE << (row & _ONE)
        members[member] = signed((row >> _SAB_SHIFT) & _SAB_MASK)
        before = row
    firsts[0] = 0
    edges = edge + 1
    children, parents = np.empty(edges, dtype=np.int32), np.empty(edges, dtype=np.int32)
    of_edges = np.empty(edges, dtype=np.int32)
    sets, table = empty_sets(sabs)
    n_sets = sabs
    mirrored = 0
    for edge in range(edges):
        children[edge] = signed(keys[edge] >> _CHILD_IN_KEY)
        parents[edge] = signed(keys[edge]) & CODE_MASK
        mirrored += notations[edge] == 3
        number = signed(members[firsts[edge]])
        for i in range(firsts[edge] + 1, firsts[edge + 1]):
            if n_sets == sets.shape[0]:
                sets, table = with_room(sets, n_sets)
            number = with_member(number, members[i], sets, n_sets, table)
            n_sets = max(n_sets, number + 1)
        of_edges[edge] = number
    return children, parents, of_edges, sets[sabs:n_sets], mirrored


@compiled
def by_first_occurrence(of_edges: Int32, numbers: Int32, counts: Int32) -> int:
    """Number sets by their first edge, in place, and return how many occur.

    ``numbers``: the new number of each set, -1 before the first call. ``counts``: out, the edges of each.
    """
    count = 0
    for edge in range(of_edges.size):
        number = numbers[of_edges[edge]]
        if number < 0:
            number = numbers[of_edges[edge]] = count
            counts[count] = 0
            count += 1
        of_edges[edge] = number
        counts[number] += 1
    return count


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
