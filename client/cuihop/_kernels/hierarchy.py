"""The hierarchy of a graph: cycles as one node, numbers of ancestors and descendants, and common ancestors of pairs.

Arguments that recur: ``up_indptr`` int32 (nodes + 1,) and ``up_indices`` int32 (edges,): the parents of each node. A
parent has a smaller number than its child. ``mark`` int32 (nodes,), ``hops_of`` int32 (nodes,) and ``queue`` int32
(nodes,) are scratch of one call at a time; those of a pair are ``scratch``: ``marks`` and ``hops``, shape (2, nodes),
and ``queue``. `Tables` are plain tuples, which a call from Python takes faster than named ones.
"""

from __future__ import annotations

import numpy as np

from cuihop._kernels.jit import compiled
from cuihop._kernels.similarity import (
    LEACOCK_CHODOROW,
    LIN,
    PATH_LCS,
    RESNIK,
    SIM_GIC,
    SIM_UI,
    WU_PALMER,
    jiang_conrath,
    leacock_chodorow,
    lin,
    path_similarity,
    ratio,
    wu_palmer,
)
from cuihop.resources.arrays import Float64, Int32, Int64

Tables = tuple[Int32, Int32, Int32, Float64, Int32, bool, int]
"""``up_indptr``, ``up_indices``; depth and information content of each node; its first concept, which decides between
equals; true where there is a virtual root, a common ancestor too, of depth 1 and content 0; the largest depth D."""

Scratch = tuple[Int32, Int32, Int32]

NONE = -1
"""In place of a node: only the virtual root is a common ancestor."""

UNRELATED = -1.0
"""In place of the information content of the virtual root, which is 0."""


@compiled
def strong_components(up_indptr: Int32, up_indices: Int32) -> tuple[Int32, int]:
    """The strongly connected component of each concept, and their number (Tarjan 1972).

    A component is numbered when all components above it are: parents have smaller numbers than their children.
    """
    concepts = up_indptr.size - 1
    component = np.full(concepts, -1, dtype=np.int32)
    visited = np.zeros(concepts, dtype=np.int32)  # the order of visits, from 1
    lowest = np.zeros(concepts, dtype=np.int32)
    edge_of = up_indptr[:-1].copy()
    open_concepts = np.empty(concepts, dtype=np.int32)
    chain = np.empty(concepts, dtype=np.int32)
    opened = 0
    visits = 0
    components = 0
    for start in range(concepts):
        if visited[start]:
            continue
        length = 1
        chain[0] = start
        visits += 1
        visited[start] = visits
        lowest[start] = visits
        open_concepts[opened] = start
        opened += 1
        while length:
            concept = chain[length - 1]
            if edge_of[concept] < up_indptr[concept + 1]:
                parent = up_indices[edge_of[concept]]
                edge_of[concept] += 1
                if not visited[parent]:
                    visits += 1
                    visited[parent] = visits
                    lowest[parent] = visits
                    open_concepts[opened] = parent
                    opened += 1
                    chain[length] = parent
                    length += 1
                elif component[parent] < 0 and visited[parent] < lowest[concept]:
                    lowest[concept] = visited[parent]
                continue
            length -= 1
            if length and lowest[concept] < lowest[chain[length - 1]]:
                lowest[chain[length - 1]] = lowest[concept]
            if lowest[concept] == visited[concept]:
                while True:
                    opened -= 1
                    member = open_concepts[opened]
                    component[member] = components
                    if member == concept:
                        break
                components += 1
    return component, components


@compiled
def depths(up_indptr: Int32, up_indices: Int32, root_depth: int) -> tuple[Int32, Int32, Int32]:
    """Longest and shortest depth of each node, and its height in hops."""
    nodes = up_indptr.size - 1
    longest = np.full(nodes, root_depth, dtype=np.int32)
    shortest = np.full(nodes, root_depth, dtype=np.int32)
    height = np.zeros(nodes, dtype=np.int32)
    for node in range(nodes):
        for edge in range(up_indptr[node], up_indptr[node + 1]):
            parent = up_indices[edge]
            longest[node] = max(longest[node], longest[parent] + 1)
            if edge == up_indptr[node] or shortest[parent] + 1 < shortest[node]:
                shortest[node] = shortest[parent] + 1
    for node in range(nodes - 1, -1, -1):
        for edge in range(up_indptr[node], up_indptr[node + 1]):
            parent = up_indices[edge]
            height[parent] = max(height[parent], height[node] + 1)
    return longest, shortest, height


@compiled
def relatives(
    up_indptr: Int32,
    up_indices: Int32,
    height: Int32,
    begin: int,
    end: int,
    ancestors: Int32,
    descendants: Int32,
    leaves: Int32,
    mark: Int32,
    queue: Int32,
) -> None:
    """Ancestors of the nodes from ``begin`` to ``end``, and what these add to descendants and leaves of all nodes.

    The node itself is included in all three. ``mark`` holds no number from ``begin`` to ``end``.
    """
    for node in range(begin, end):
        is_leaf = height[node] == 0
        filled = ancestors_of(up_indptr, up_indices, node, mark, queue, node)
        ancestors[node] = filled
        for i in range(filled):
            descendants[queue[i]] += 1
            leaves[queue[i]] += is_leaf


@compiled
def ancestors_of(up_indptr: Int32, up_indices: Int32, node: int, mark: Int32, queue: Int32, stamp: int) -> int:
    """Fill the queue with a node and its ancestors, and return their number."""
    mark[node] = stamp
    queue[0] = node
    return _climb(up_indptr, up_indices, mark, queue, stamp, 1)


@compiled
def ancestors_of_all(up_indptr: Int32, up_indices: Int32, nodes: Int32, mark: Int32, queue: Int32, stamp: int) -> int:
    """Fill the queue with the nodes and all their ancestors, each once, and return their number."""
    filled = 0
    for node in nodes:
        if mark[node] != stamp:
            mark[node] = stamp
            queue[filled] = node
            filled += 1
    return _climb(up_indptr, up_indices, mark, queue, stamp, filled)


@compiled
def _climb(up_indptr: Int32, up_indices: Int32, mark: Int32, queue: Int32, stamp: int, filled: int) -> int:
    """Add the ancestors of the nodes in the queue to it, breadth first, and return the number of all."""
    at = 0
    while at < filled:
        for edge in range(up_indptr[queue[at]], up_indptr[queue[at] + 1]):
            parent = up_indices[edge]
            if mark[parent] != stamp:
                mark[parent] = stamp
                queue[filled] = parent
                filled += 1
        at += 1
    return filled


@compiled
def occurrences(up_indptr: Int32, up_indices: Int32, counts: Float64) -> Float64:
    """The sum of the counts of each node and of all its descendants, each once."""
    nodes = up_indptr.size - 1
    sums = np.zeros(nodes, dtype=np.float64)
    mark = np.full(nodes, -1, dtype=np.int32)
    queue = np.empty(nodes, dtype=np.int32)
    for node in range(nodes):
        if counts[node] != 0.0:
            for i in range(ancestors_of(up_indptr, up_indices, node, mark, queue, node)):
                sums[queue[i]] += counts[node]
    return sums


@compiled
def _up(
    up_indptr: Int32, up_indices: Int32, node: int, mark: Int32, hops_of: Int32, queue: Int32, stamp: int
) -> tuple[int, int]:
    """Queue a node and its ancestors breadth first, with their hops; their number, and the hops to the virtual root."""
    mark[node] = stamp
    hops_of[node] = 0
    queue[0] = node
    filled = 1
    at = 0
    to_root = -1
    while at < filled:
        here = queue[at]
        if to_root < 0 and up_indptr[here] == up_indptr[here + 1]:
            to_root = hops_of[here] + 1
        for edge in range(up_indptr[here], up_indptr[here + 1]):
            parent = up_indices[edge]
            if mark[parent] != stamp:
                mark[parent] = stamp
                hops_of[parent] = hops_of[here] + 1
                queue[filled] = parent
                filled += 1
        at += 1
    return filled, to_root


@compiled
def common(tables: Tables, x: int, y: int, scratch: Scratch, stamp: int, ancestors: Int64, sums: Float64) -> None:
    """The common ancestors of two nodes, summed up.

    Args:
        scratch: ``marks`` holds only other values than ``stamp``.
        ancestors: receives 9 numbers: the deepest common ancestor with its hops from x and y; the nearest with its
            hops; the most informative with its hops. `NONE` is the virtual root.
        sums: receives 4: the number of common ancestors and of united ones, and the sums of their content.
    """
    if x > y:  # so that the sums have the same bits in both orders
        common(tables, y, x, scratch, stamp, ancestors, sums)
        for index in (1, 4, 7):
            ancestors[index], ancestors[index + 1] = ancestors[index + 1], ancestors[index]
        return
    up_indptr, up_indices, depth, ic, first, virtual_root, _ = tables
    marks, hops, queue = scratch
    of_x, root_from_x = _up(up_indptr, up_indices, x, marks[0], hops[0], queue, stamp)
    united_ic = 0.0
    for i in range(of_x):
        united_ic += ic[queue[i]]
    of_y, root_from_y = _up(up_indptr, up_indices, y, marks[1], hops[1], queue, stamp)
    shared = 0
    shared_ic = 0.0
    deepest = nearest = informative = NONE
    for i in range(of_y):
        node = queue[i]
        if marks[0, node] != stamp:
            united_ic += ic[node]
            continue
        shared += 1
        shared_ic += ic[node]
        if deepest == NONE or _before(depth[node], depth[deepest], node, deepest, hops, first):
            deepest = node
        if nearest == NONE or _before(0, 0, node, nearest, hops, first):
            nearest = node
        if informative == NONE or _before(ic[node], ic[informative], node, informative, hops, first):
            informative = node
    if virtual_root and (nearest == NONE or root_from_x + root_from_y < hops[0, nearest] + hops[1, nearest]):
        nearest = NONE
    for index, node in enumerate((deepest, nearest, informative)):
        ancestors[3 * index] = node
        ancestors[3 * index + 1] = root_from_x if node == NONE else hops[0, node]
        ancestors[3 * index + 2] = root_from_y if node == NONE else hops[1, node]
    sums[0] = shared
    sums[1] = of_x + of_y - shared
    sums[2] = shared_ic
    sums[3] = united_ic


@compiled
def _before(value: float, best: float, node: int, other: int, hops: Int32, first: Int32) -> bool:
    """The greater value; of equal ones the fewest hops, then the first identifier."""
    if value != best:
        return value > best
    far = hops[0, node] + hops[1, node]
    near = hops[0, other] + hops[1, other]
    return bool(far < near if far != near else first[node] < first[other])


@compiled
def value_of(measure: int, tables: Tables, ancestors: Int64, sums: Float64, x: int, y: int) -> float:
    """The value of a measure for a pair, from the result of `common`; NaN where it has none."""
    _, _, depth, ic, _, _, largest_depth = tables
    if measure == PATH_LCS:
        return path_similarity(ancestors[4] + ancestors[5])
    if measure == LEACOCK_CHODOROW:
        return leacock_chodorow(ancestors[4] + ancestors[5], largest_depth)
    if measure == WU_PALMER:
        return wu_palmer(ancestors[1] + ancestors[2], 1 if ancestors[0] == NONE else depth[ancestors[0]])
    if measure == SIM_UI:
        return ratio(sums[0], sums[1], True)
    if measure == SIM_GIC:
        return ratio(sums[2], sums[3], sums[0] > 0) if np.isfinite(sums[3]) else np.nan
    return value_by_content(measure, ic[x], ic[y], UNRELATED if ancestors[6] == NONE else ic[ancestors[6]])


@compiled
def value_by_content(measure: int, ic_x: float, ic_y: float, ic_mica: float) -> float:
    """The value of Resnik, Lin or Jiang-Conrath; NaN where one that the formula names has no information content."""
    shared = max(ic_mica, 0.0)
    if measure == RESNIK:
        return shared if np.isfinite(shared) else np.nan
    if not (np.isfinite(ic_x) and np.isfinite(ic_y)):
        return np.nan
    if measure == LIN:
        return lin(ic_x, ic_y, shared, ic_mica >= 0.0)
    return jiang_conrath(ic_x, ic_y, shared)


@compiled
def similarity(measure: int, tables: Tables, x: int, y: int, scratch: Scratch, stamp: int) -> float:
    """The value of a measure for two nodes; NaN for none."""
    ancestors = np.empty(9, dtype=np.int64)
    sums = np.empty(4, dtype=np.float64)
    common(tables, x, y, scratch, stamp, ancestors, sums)
    return value_of(measure, tables, ancestors, sums, x, y)


@compiled
def similarities(
    measure: int, tables: Tables, starts: Int32, ends: Int32, scratch: Scratch, stamp: int, values: Float64
) -> None:
    """The value of a measure for each pair of nodes; NaN for none. Pair i takes the stamp ``stamp + i``."""
    for i in range(starts.size):
        values[i] = similarity(measure, tables, starts[i], ends[i], scratch, stamp + i)


@compiled
def lowest(up_indptr: Int32, up_indices: Int32, of_y: int, marks: Int32, queue: Int32, stamp: int, nodes: Int32) -> int:
    """The common ancestors without another below them, from the state that `common` leaves, into ``nodes``.

    Returns their number. ``of_y``: number of ancestors of y in the queue.
    """
    filled = 0
    for i in range(of_y):
        node = queue[i]
        if marks[0, node] == stamp:
            nodes[filled] = node
            filled += 1
    for i in range(filled):  # the parents of a common ancestor are common ancestors, and not lowest
        for edge in range(up_indptr[nodes[i]], up_indptr[nodes[i] + 1]):
            marks[0, up_indices[edge]] = stamp - 1
    count = 0
    for i in range(filled):
        if marks[0, nodes[i]] == stamp:
            nodes[count] = nodes[i]
            count += 1
    return count
