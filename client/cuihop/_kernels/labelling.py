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

from cuihop._kernels.jit import compiled
from cuihop._kernels.labels import UNREACHED
from cuihop.resources.arrays import Bool, Int32, Int64, UInt8, UInt32, UInt64

DEEPEST = 250
"""The largest distance that labels can hold: a byte, less reserved values."""

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
def from_root(
    indptr: Int64,
    indices: Int32,
    root: int,
    neighbours: Int32,
    hops: UInt8,
    nearer: UInt64,
    as_far: UInt64,
    queue: Int32,
) -> bool:
    """Hops from a root to all ranks, and positions of the selected neighbours relative to it (bit i: the i-th of them).

    ``hops`` (ranks,), ``nearer`` and ``as_far`` (ranks,) are filled. False where a path is longer than `DEEPEST`.
    """
    hops.fill(UNREACHED)
    nearer.fill(0)
    as_far.fill(0)
    hops[root] = 0
    queue[0] = root
    for i in range(neighbours.size):
        hops[neighbours[i]] = 1
        nearer[neighbours[i]] = np.uint64(1) << np.uint64(i)
        queue[1 + i] = neighbours[i]
    low, high, tail = 0, 1, 1 + neighbours.size
    level = 0
    while low < high:
        if level > DEEPEST:
            return False
        for i in range(low, high):
            rank = queue[i]
            for edge in range(indptr[rank], indptr[rank + 1]):
                other = indices[edge]
                if hops[other] == level and level > 0:
                    as_far[rank] |= nearer[other]
        for i in range(low, high):
            rank = queue[i]
            for edge in range(indptr[rank], indptr[rank + 1]):
                other = indices[edge]
                if hops[other] == UNREACHED:
                    hops[other] = level + 1
                    queue[tail] = other
                    tail += 1
                if hops[other] == level + 1:
                    nearer[other] |= nearer[rank]
                    as_far[other] |= as_far[rank]
        low, high = high, tail
        level += 1
    for rank in range(hops.size):
        as_far[rank] &= ~nearer[rank]
    return True


@compiled
def _by_roots(root_hops: UInt8, root_sets: UInt64, a: int, b: int, bound: int) -> bool:
    """Look for a path within the bound through the roots and their selected neighbours."""
    for root in range(root_hops.shape[1]):
        hops = int(root_hops[a, root]) + int(root_hops[b, root])
        if hops <= bound:
            return True
        if hops <= bound + 2:
            both = root_sets[a, root, 0] & root_sets[b, root, 0]
            one = (root_sets[a, root, 0] & root_sets[b, root, 1]) | (root_sets[a, root, 1] & root_sets[b, root, 0])
            if both or (one and hops == bound + 1):
                return True
    return False


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
    root_hops: UInt8,
    root_sets: UInt64,
    hops_to: UInt8,
    seen: Int32,
    hubs: Int32,
    counts: Int32,
) -> tuple[int, int]:
    """Find the hubs at ``level`` hops of the ranks ``first`` up to ``last``.

    Args:
        indptr, indices: the edges by rank.
        is_root: shape (ranks,): roots and their selected neighbours, which have no label and are no hubs.
        label_indptr, label: the labels so far, by ascending hops; ``newest`` of each are at ``level - 1``.
        root_hops, root_sets: see `cuihop._kernels.labels`.
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
        for edge in range(indptr[rank], indptr[rank + 1]):
            other = indices[edge]
            end = label_indptr[other + 1]
            for j in range(end - newest[other], end):
                hub = int(label[j] >> np.uint32(8))
                if hub >= rank:
                    break  # they ascend
                if hops_to[hub] != UNREACHED:
                    continue
                hops_to[hub] = _SEEN
                seen[looked] = hub
                looked += 1
                if _by_roots(root_hops, root_sets, rank, hub, level):
                    continue
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
def sort_labels(indptr: Int64, label: UInt32, first: int, last: int) -> None:
    """Sort the labels of the ranks ``first`` up to ``last`` by hub."""
    for rank in range(first, last):
        label[indptr[rank] : indptr[rank + 1]].sort()
