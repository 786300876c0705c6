"""Structure of a graph: components, cycles, depth and hubs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.resources.optional_packages import installed_by
from cuihop_loader.arrays import ascending, bounds

__all__ = ["Structure", "structure"]

Int32 = npt.NDArray[np.int32]

_EXAMPLES = 5
_HUBS = 10


@dataclass(frozen=True, eq=False)
class Structure:
    """See `cuihop_loader.report.LoadReport`; concepts are numbered as in the graph.

    Attributes:
        cycles: the members of each strongly connected component of more than one concept, largest first, then by
            their first member; members ascend.
        weak_components, giant_component, isolated, depth: numbers; a component has two concepts or more.
        hubs: pairs of concept and number of children, most children first.
    """

    cycles: list[Int32]
    weak_components: int
    giant_component: int
    isolated: int
    depth: int
    hubs: list[tuple[int, int]]


def structure(concepts: int, children: Int32, parents: Int32) -> Structure:
    """Structure of a graph of ``concepts`` concepts and distinct edges, ascending by (child, parent)."""
    with installed_by("cuihop[loader]"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

    from cuihop_loader._kernels.edges import longest_path

    n_children = np.bincount(parents, minlength=concepts)
    n_parents = np.bincount(children, minlength=concepts)
    up = csr_array((np.ones(len(children), dtype=np.int8), parents, bounds(n_parents)), shape=(concepts, concepts))
    weak, of_weak = connected_components(up, directed=True, connection="weak")
    strong, of_strong = connected_components(up, directed=True, connection="strong")

    between = of_strong[children] != of_strong[parents]
    edges = ascending(of_strong[children[between]].astype(np.int64) << 32 | of_strong[parents[between]])
    indptr = bounds(np.bincount(edges >> 32, minlength=strong))
    depth = longest_path(indptr, (edges & 0xFFFFFFFF).astype(np.int32))

    isolated = int(np.count_nonzero(n_children + n_parents == 0))
    most = np.argsort(-n_children, kind="stable")[:_HUBS].tolist()
    return Structure(
        cycles=_members(of_strong, strong),
        weak_components=weak - isolated,
        giant_component=int(np.bincount(of_weak).max(initial=0)),
        isolated=isolated,
        depth=int(depth),
        hubs=[(place, int(n_children[place])) for place in most if n_children[place]],
    )


def _members(component: Int32, count: int) -> list[Int32]:
    """Members of each component of more than one concept."""
    sizes = np.bincount(component, minlength=count)
    inside = np.flatnonzero(sizes[component] > 1).astype(np.int32)
    inside = inside[np.argsort(component[inside], kind="stable")]
    ends = np.flatnonzero(np.diff(component[inside])) + 1
    groups = np.split(inside, ends) if len(inside) else []
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))
