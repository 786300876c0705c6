"""The hierarchy of a snapshot as arrays: cycles as one node, depths, and numbers of relatives."""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cuihop.resources.arrays import Float64, Int32, bounds_of
from cuihop.resources.cores import in_threads
from cuihop.similarity.hierarchy import HierarchyFacts
from cuihop.similarity.options import InformationContent
from cuihop.snapshot.file import Sections

_NODES_A_CALL = 256  # each with perhaps a hundred thousand ancestors; a compiled call cannot be interrupted


@dataclass(frozen=True, eq=False)
class HierarchyTables:
    """The hierarchy as arrays. A parent has a smaller number than its child.

    Attributes:
        node_of: int32, shape (concepts,): the node of each concept.
        member_indptr, members: int32: node → its concepts, ascending; compressed rows.
        up_indptr, up_indices: int32: node → its parents, ascending; compressed rows.
        depth, shortest_depth, height: int32, shape (nodes,), as in `Placement`.
    """

    node_of: Int32
    member_indptr: Int32
    members: Int32
    up_indptr: Int32
    up_indices: Int32
    depth: Int32
    shortest_depth: Int32
    height: Int32
    facts: HierarchyFacts

    @property
    def first(self) -> Int32:
        """The first concept of each node."""
        return self.members[self.member_indptr[:-1]]

    @classmethod
    def of(cls, sections: Sections) -> HierarchyTables:
        """The hierarchy of the edges of a snapshot."""
        from cuihop._kernels import hierarchy as kernel

        up_indptr, up_indices = sections["up_indptr"], sections["up_indices"]
        node_of, nodes = kernel.strong_components(up_indptr, up_indices)
        member_indptr = bounds_of(np.bincount(node_of, minlength=nodes), np.int32)
        members = np.argsort(node_of, kind="stable").astype(np.int32)
        children = np.repeat(node_of, np.diff(up_indptr))
        parents = node_of[up_indices]
        between = children != parents
        edges = np.unique(children[between].astype(np.int64) << 32 | parents[between])
        indptr = bounds_of(np.bincount(edges >> 32, minlength=nodes), np.int32)
        indices = (edges & 0xFFFFFFFF).astype(np.int32)
        roots = int(np.count_nonzero(np.diff(indptr) == 0))
        root_depth = 2 if roots > 1 else 1
        depth, shortest, height = kernel.depths(indptr, indices, root_depth)
        sizes = np.diff(member_indptr)
        facts = HierarchyFacts(
            nodes=nodes,
            cycles=int(np.count_nonzero(sizes > 1)),
            concepts_in_cycles=int(sizes[sizes > 1].sum()),
            roots=roots,
            leaves=int(np.count_nonzero(height == 0)),
            depth=int(depth.max(initial=1)) - 1,
        )
        return cls(node_of, member_indptr, members, indptr, indices, depth, shortest, height, facts)

    @cached_property
    def relatives(self) -> tuple[Int32, Int32, Int32]:
        """Numbers of ancestors, descendants and leaves below each node, itself included: int32, shape (nodes,).

        They are counted on all cores, on first use: only some measures need them.
        """
        from cuihop._kernels import hierarchy as kernel

        nodes = self.facts.nodes
        ancestors = np.zeros(nodes, dtype=np.int32)
        pool: deque[tuple[Int32, Int32, Int32, Int32]] = deque()

        def count(begin: int) -> None:
            try:
                descendants, leaves, mark, queue = pool.pop()
            except IndexError:
                descendants, leaves, mark, queue = (np.full(nodes, start, dtype=np.int32) for start in (0, 0, -1, 0))
            kernel.relatives(
                self.up_indptr, self.up_indices, self.height, begin, min(begin + _NODES_A_CALL, nodes),
                ancestors, descendants, leaves, mark, queue,
            )  # fmt: skip
            pool.append((descendants, leaves, mark, queue))

        in_threads(count, range(0, nodes, _NODES_A_CALL))
        of_threads = list(pool) or [(ancestors, ancestors, ancestors, ancestors)]
        descendants, leaves = (functools.reduce(np.add, counts) for counts in list(zip(*of_threads, strict=True))[:2])
        return ancestors, descendants, leaves

    def information_content(self, ic: InformationContent, occurrences: Float64) -> Float64:
        """Information content of each node: see `cuihop.similarity.options.INFORMATION_CONTENTS`.

        Args:
            occurrences: for ``corpus``, those of the concepts of each node. A node that does not occur, nor any of its
                descendants, has an infinite one.
        """
        from cuihop._kernels import hierarchy as kernel

        if ic == "Seco":
            nodes = self.facts.nodes
            content = 1.0 - np.log(self.relatives[1]) / np.log(nodes) if nodes > 1 else np.zeros(nodes)
        elif ic == "Sanchez":
            ancestors, _, leaves = self.relatives
            content = np.log(self.facts.leaves + 1.0) - np.log(leaves / ancestors + 1.0)
        else:
            sums = kernel.occurrences(self.up_indptr, self.up_indices, occurrences)
            with np.errstate(divide="ignore"):
                content = np.log(occurrences.sum()) - np.log(sums)
        return np.maximum(content, 0.0)  # rounding may leave a root just below 0
