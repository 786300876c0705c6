"""The hierarchy of a snapshot as arrays: cycles as one node, depths, and numbers of relatives."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cuihop.resources.arrays import bounds_of
from cuihop.resources.cores import in_threads
from cuihop.similarity.hierarchy import HierarchyFacts
from cuihop.similarity.options import InformationContent
from cuihop.snapshot.file import Sections

Int32 = npt.NDArray[np.int32]
Float64 = npt.NDArray[np.float64]

_NODES_A_CALL = 256  # each with perhaps a hundred thousand ancestors; a compiled call cannot be interrupted


@dataclass(frozen=True, eq=False)
class HierarchyTables:
    """The hierarchy as arrays. A parent has a smaller number than its child.

    Attributes:
        node_of: int32, shape (concepts,): the node of each concept.
        member_indptr, members: int32: node → its concepts, ascending; compressed rows.
        up_indptr, up_indices: int32: node → its parents, ascending; compressed rows.
        depth, shortest_depth, height: int32, shape (nodes,), as in `Placement`.
        facts: the hierarchy as a whole.
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
    def _relatives(self) -> tuple[Int32, Int32, Int32]:
        """Ancestors, descendants and leaves of each node, on all cores; only some measures need them."""
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
        parts = list(pool) or [(ancestors, ancestors, ancestors, ancestors)]
        return ancestors, _sum(part[0] for part in parts), _sum(part[1] for part in parts)

    @property
    def ancestors(self) -> Int32:
        """Number of ancestors of each node, itself included: int32, shape (nodes,)."""
        return self._relatives[0]

    @property
    def descendants(self) -> Int32:
        """Number of descendants of each node, itself included: int32, shape (nodes,)."""
        return self._relatives[1]

    @property
    def leaves(self) -> Int32:
        """Number of leaves below each node, itself included where it is one: int32, shape (nodes,)."""
        return self._relatives[2]

    def information_content(self, ic: InformationContent, occurrences: Float64) -> Float64:
        """Information content of each node: see `cuihop.similarity.options.INFORMATION_CONTENTS`.

        Args:
            ic: which.
            occurrences: for ``corpus``, those of the concepts of each node. A node that does not occur, nor any of its
                descendants, has an infinite one.
        """
        from cuihop._kernels import hierarchy as kernel

        if ic == "Seco":
            nodes = self.facts.nodes
            content = 1.0 - np.log(self.descendants) / np.log(nodes) if nodes > 1 else np.zeros(nodes)
        elif ic == "Sanchez":
            content = np.log(self.facts.leaves + 1.0) - np.log(self.leaves / self.ancestors + 1.0)
        else:
            sums = kernel.occurrences(self.up_indptr, self.up_indices, occurrences)
            with np.errstate(divide="ignore"):
                content = np.log(occurrences.sum()) - np.log(sums)
        return np.maximum(content, 0.0)  # rounding may leave a root just below 0


def _sum(parts: Iterable[Int32]) -> Int32:
    total: Int32 = functools.reduce(np.add, parts)
    return total
