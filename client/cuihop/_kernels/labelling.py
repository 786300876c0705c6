"""2-hop labels built level by level: pruned landmark labelling, grown from all concepts at once.

The labels are those of Akiba, Iwata and Yoshida, "Fast exact shortest-path distance queries on large networks by pruned
landmark labeling", SIGMOD 2013: a concept's label holds a hub where the hub is the first, in a fixed order, of all
concepts on all their shortest paths. They are computed as in Li et al., "Scaling distance labeling on small-world
networks", SIGMOD 2019: the hubs at distance d are among those of neighbours at d - 1, so the concepts of one
level are independent of one another, and a hub's own label is short and in cache.

Concepts are numbered by their rank: 0 comes first in that order. See `cuihop._kernels.labels` for the arrays.
"""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled, prefetch, signed
from cuihop._kernels.labels import BASE, BEGIN, ENDS, LEVELS, MIDDLE, NARROW, RECORD, ROOTS, UNREACHED, least_sum
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8, UInt16, UInt32, UInt64

DEEPEST = 250
"""The largest distance that labels can hold: a byte, less reserved values."""

_AHEAD, _SOON = 8, 4  # candidates ahead: their records, their labels
_SEEN = np.uint8(254)  # examined for this concept, and left out


@compiled
def ranked_rows(indptr: Int32, indices: Int32, bearers: Int32, rank_bits: Int32) -> tuple[Int64, Int32]:
    """Edges among the concepts with labels, by rank; each row ascending."""
    ends = np.zeros(bearers.size + 1, dtype=np.int64)
    columns = np.empty(indices.size, dtype=np.int32)
    filled = 0
    for rank in range(bearers.size):
        concept = bearers[rank]
        begin = filled
        for edge in range(indptr[concept], indptr[concept + 1]):
            other = rank_bits[indices[edge]]
            if not other & 1:
                columns[filled] = other >> 1
                filled += 1
        columns[begin:filled].sort()
        ends[rank + 1] = filled
    return ends, columns[:filled].copy()


@compiled
def from_first_ranks(indptr: Int64, indices: Int32, first: Int32, hops: Int32, queue: Int32) -> None:
    """The first rank of each rank's component, and the hops to it; ``first`` is filled with -1 before."""
    for rank in range(first.size):
        if first[rank] >= 0:
            continue
        first[rank] = rank
        hops[rank] = 0
        queue[0] = rank
        i, tail = 0, 1
        while i < tail:
            here = queue[i]
            i += 1
            for edge in range(indptr[here], indptr[here + 1]):
                other = indices[edge]
                if first[other] < 0:
                    first[other] = rank
                    hops[other] = hops[here] + 1
                    queue[tail] = other
                    tail += 1


@compiled
def select_roots(first: Int32, hops: Int32, most: int, is_root: Bool, bits: UInt64, records: UInt16) -> None:
    """Select the first ranks of each component, at most ``most`` and near its first, as roots; give each a bit."""
    roots = np.zeros(first.size, dtype=np.int32)
    for rank in range(first.size):
        root = roots[first[rank]]
        if root < most and hops[rank] <= MIDDLE:
            is_root[rank] = True
            bits[rank] = np.uint64(1) << np.uint64(root)
            _set_root(records, rank, root, MIDDLE - hops[rank])
            roots[first[rank]] += 1


@compiled
def spread_roots(
    indptr: Int64,
    indices: Int32,
    first: int,
    last: int,
    level: int,
    hops: Int32,
    seen: UInt64,
    newest: UInt64,
    reached: UInt64,
    records: UInt16,
) -> bool:
    """Find the roots at ``level`` hops of the ranks ``first`` up to ``last``, and write them into the records.

    ``seen`` and ``newest`` are bits of the roots at fewer hops and at one less; ``reached`` receives those found.
    ``hops`` are those to the first rank of the component. True where some were found.
    """
    some = False
    for rank in range(first, last):
        bits = np.uint64(0)
        for edge in range(indptr[rank], indptr[rank + 1]):
            bits |= newest[indices[edge]]
        bits &= ~seen[rank]
        reached[rank] = bits
        if bits:
            some = True
            for root in range(ROOTS):
                if bits >> np.uint64(root) & np.uint64(1):
                    _set_root(records, rank, root, level - hops[rank] + MIDDLE)
    return some


@compiled
def _set_root(records: UInt16, rank: int, root: int, number: int) -> None:
    """Write one of the numbers of 4 bits at the begin of a record, which is `NO_ROOT` before."""
    shift = root % 4 * 4
    records[rank, root // 4] = np.uint16(signed(records[rank, root // 4]) & ~(15 << shift) | number << shift)


@compiled
def next_level(
    indptr: Int64,
    indices: Int32,
    first: int,
    last: int,
    level: int,
    is_root: Bool,
    label_indptr: Int64,
    label: UInt32,
    newest: Int32,
    records: UInt16,
    hops_to: UInt8,
    seen: Int32,
    hubs: Int32,
    counts: Int32,
) -> tuple[int, int]:
    """Find the hubs at ``level`` hops of the ranks ``first`` up to ``last``.

    Args:
        indptr, indices: the edges by rank.
        is_root: shape (ranks,): roots, which have no label and are no hubs.
        label_indptr, label: the labels so far, by ascending hops; ``newest`` of each are at ``level - 1``.
        records: see `cuihop._kernels.labels`; of a rank's own, only the roots are read.
        hops_to, seen: scratch of one thread, shape (ranks,); ``hops_to`` is filled with `UNREACHED`, and is left so.
        hubs, counts: receive the hubs, rank by rank, each ascending, and their number for each rank.

    Returns:
        The rank before which it stopped because ``hubs`` might have overflowed, or ``last``; and the number of hubs.
    """
    filled = 0
    for rank in range(first, last):
        candidates = 0
        if not is_root[rank]:
            for edge in range(indptr[rank], indptr[rank + 1]):
                candidates += newest[indices[edge]]
        if filled + candidates > hubs.size:
            return rank, filled
        counts[rank - first] = 0
        if candidates == 0:
            continue
        for i in range(label_indptr[rank], label_indptr[rank + 1]):
            hops_to[label[i] >> np.uint32(8)] = label[i] & np.uint32(255)
        begin = filled
        looked = 0
        within = level + 2 * MIDDLE - signed(records[rank, BASE])
        for edge in range(indptr[rank], indptr[rank + 1]):
            other = indices[edge]
            end = label_indptr[other + 1]
            for j in range(end - newest[other], end):
                hub = int(label[j] >> np.uint32(8))
                if hub >= rank:
                    break  # they ascend
                if hops_to[hub] != UNREACHED:
                    continue
                if j + _AHEAD < end:
                    prefetch(records, int(label[j + _AHEAD] >> np.uint32(8)) * RECORD)
                hops_to[hub] = _SEEN
                seen[looked] = hub
                looked += 1
                if least_sum(records, rank, hub) > within - signed(records[hub, BASE]):
                    hubs[filled] = hub
                    filled += 1
                    prefetch(label_indptr, hub)
        candidates, filled = filled, begin
        for candidate in range(begin, candidates):
            hub = hubs[candidate]
            prefetch(label, label_indptr[hubs[min(candidate + _SOON, candidates - 1)]])
            shorter = False
            for i in range(label_indptr[hub], label_indptr[hub + 1]):
                entry = label[i]
                if int(hops_to[entry >> np.uint32(8)]) + int(entry & np.uint32(255)) <= level:
                    shorter = True
                    break
            if not shorter:
                hubs[filled] = hub
                filled += 1
        hubs[begin:filled].sort()
        counts[rank - first] = filled - begin
        for i in range(looked):
            hops_to[seen[i]] = UNREACHED
        for i in range(label_indptr[rank], label_indptr[rank + 1]):
            hops_to[label[i] >> np.uint32(8)] = UNREACHED
    return last, filled


@compiled
def widen(
    label: UInt32, old_indptr: Int64, new_indptr: Int64, first: int, last: int, hubs: Int32, counts: Int32, level: int
) -> None:
    """Move the labels of the ranks ``first`` up to ``last`` to their new positions, and append the hubs.

    Works in place from the back, so the blocks of ranks must come in descending order.
    """
    end = hubs.size
    for rank in range(last - 1, first - 1, -1):
        target = new_indptr[rank + 1] - 1
        count = counts[rank - first]
        for i in range(end - 1, end - count - 1, -1):
            label[target] = np.uint32(hubs[i]) << np.uint32(8) | np.uint32(level)
            target -= 1
        end -= count
        for i in range(old_indptr[rank + 1] - 1, old_indptr[rank] - 1, -1):
            label[target] = label[i]
            target -= 1


@compiled
def words_of_labels(indptr: Int64, label: UInt32, ends: Int64) -> int:
    """Write the end of the words of each label into ``ends``, from 0; return the most words of one."""
    most = 0
    ends[0] = 0
    for rank in range(indptr.size - 1):
        count = 0
        for i in range(indptr[rank], indptr[rank + 1]):
            count += 1 if _is_narrow(label[i]) else 2
        most = max(most, count)
        ends[rank + 1] = ends[rank] + count
    return most


@compiled
def write_words(indptr: Int64, label: UInt32, ends: Int64, words: UInt16, records: UInt16) -> None:
    """Write the labels as words, and where they are into the records.

    ``words`` may be the memory of ``label``: no label begins later than it did.
    """
    for rank in range(indptr.size - 1):
        entries = label[indptr[rank] : indptr[rank + 1]].copy()
        begin = word = ends[rank]
        for part in range(3):
            records[rank, BEGIN + part] = np.uint16(begin >> 16 * part & 0xFFFF)
        level = 0
        for entry in entries:
            while level < min(entry & np.uint32(255), LEVELS):
                records[rank, ENDS + level] = word - begin
                level += 1
            if _is_narrow(entry):
                words[word] = np.uint16(entry >> np.uint32(8))
                word += 1
        for reached in range(level, LEVELS):
            records[rank, ENDS + reached] = word - begin
        entries.sort()
        for entry in entries:
            if not _is_narrow(entry):
                words[word] = np.uint16(entry >> np.uint32(8) & np.uint32(0xFFFF))
                words[word + 1] = np.uint16(entry >> np.uint32(24) << np.uint32(8) | entry & np.uint32(255))
                word += 2
        records[rank, ENDS + LEVELS] = word - begin


@compiled
def _is_narrow(entry: int) -> bool:
    return bool(entry >> np.uint32(8) < np.uint32(NARROW) and entry & np.uint32(255) < np.uint32(LEVELS))
