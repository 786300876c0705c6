"""A hierarchy of any size whose shape is that of real ones: most concepts are leaves, a few have thousands of children.

Releases from `cuihop_tools.synthetic_release` have random parents: right for testing a loader, wrong for timing
distances: their graphs are far more tangled. Here, as in the open vocabularies (UBERON, MeSH, MONDO, DOID projected on
UMLS: 73 % leaves, 38 % with one neighbour, 2.4 parents), only some concepts may have children, parents that have many
children get more, a further parent is often near the first, and six concepts are hubs. `shape` tells how far that goes.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from cuihop import SnapshotGraph
from cuihop.snapshot.writer import GraphTables, sections_of

Int32 = npt.NDArray[np.int32]

_HUBS = 6
_MAY_HAVE_CHILDREN = 0.3
_TO_A_HUB = 0.003
_AS_ANOTHER = 0.4
_NEAR_THE_FIRST = 0.95
_YOUNG = 0.3  # the parents of the rest come from the younger concepts, which makes the hierarchy deep
_MOST_CHILDREN = 35_000
_MOST_PARENTS = 24


@numba.njit(cache=True)
def _edges(concepts: int, parents_each: float, seed: int) -> tuple[Int32, Int32]:  # pragma: no cover - compiled
    """(child, parent), children ascending; every parent comes before its children."""
    np.random.seed(seed)
    room = int(concepts * parents_each) + _MOST_PARENTS + 2
    child, parent = np.empty(room, np.int32), np.empty(room, np.int32)
    begin = np.zeros(concepts + 1, np.int64)
    children = np.zeros(concepts, np.int32)
    may = np.random.random(concepts) < _MAY_HAVE_CHILDREN
    may[:_HUBS] = True
    newest = np.zeros((concepts, 4), np.int32)  # some children of each that may have children
    filled = 0
    for here in range(1, concepts):
        first = filled
        wanted = 1
        while wanted < _MOST_PARENTS and np.random.random() > 1.0 / parents_each:
            wanted += 1
        for number in range(wanted):
            for attempt in range(60):
                if filled + concepts - here >= room:
                    break
                if attempt == 0 and np.random.random() < _TO_A_HUB:
                    one = np.random.randint(0, min(here, _HUBS))
                elif number > 0 and filled > first and np.random.random() < _NEAR_THE_FIRST:
                    one = parent[first]
                    for _ in range(1 + np.random.randint(0, 2)):  # up to an ancestor, and down again or not
                        if one > 0:
                            one = parent[np.random.randint(begin[one], begin[one + 1])]
                    down = newest[one, np.random.randint(0, 4)]
                    if down > 0 and np.random.random() < 0.7:
                        one = down
                elif first > 0 and np.random.random() < _AS_ANOTHER:
                    one = parent[np.random.randint(0, first)]
                else:
                    one = np.random.randint(int(here * _YOUNG), here)
                most = _MOST_CHILDREN if one < _HUBS else _MOST_CHILDREN // 20
                if may[one] and children[one] < most and not np.any(parent[first:filled] == one):
                    child[filled], parent[filled] = here, one
                    children[one] += 1
                    filled += 1
                    break
        if filled == first:
            child[filled], parent[filled] = here, np.random.randint(0, min(here, _HUBS))
            children[parent[filled]] += 1
            filled += 1
        begin[here + 1] = filled
        if may[here]:
            for edge in range(first, filled):
                newest[parent[edge], np.random.randint(0, 4)] = here
    return child[:filled].copy(), parent[:filled].copy()


def made_hierarchy(concepts: int, *, parents_each: float = 3.44, seed: int = 1) -> SnapshotGraph:
    """The hierarchy, its CUIs in no order, and one more component of two concepts: C0000001 and C0000002."""
    child, parent = _edges(concepts, parents_each, seed)
    place = np.random.default_rng(seed).permutation(concepts).astype(np.int32) + 2
    child, parent = np.r_[np.int32(0), place[child]], np.r_[np.int32(1), place[parent]]
    order = np.lexsort((parent, child))
    tables = GraphTables(
        cuis=np.char.mod(b"C%07d", np.arange(1, concepts + 3)).astype("S8"),
        children=np.ascontiguousarray(child[order], dtype=np.int32),
        parents=np.ascontiguousarray(parent[order], dtype=np.int32),
    )
    return SnapshotGraph(sections_of(tables, name=f"hierarchy of {concepts:,}", relations=("isa",), identifiers="cui"))


def edges_of(graph: SnapshotGraph) -> Int32:
    """(child, parent) of every edge, as numbers, shape (edges, 2)."""
    indptr, parents = graph.sections["up_indptr"], graph.sections["up_indices"]
    children = np.repeat(np.arange(graph.release.concepts, dtype=np.int32), np.diff(indptr))
    return np.stack([children, parents], axis=1)


def shape(graph: SnapshotGraph) -> str:
    """What makes hierarchies alike or not, in one line."""
    down, up, around = (np.diff(graph.sections[f"{way}_indptr"]) for way in ("down", "up", "any"))
    hubs = ", ".join(f"{count:,}" for count in np.sort(down)[-3:].tolist())
    return (
        f"{graph.release.concepts:,} concepts, {graph.release.edges:,} edges, {(down == 0).mean():.0%} leaves, "
        f"{(around == 1).mean():.0%} with one neighbour, {up.mean():.1f} parents, most children {hubs}"
    )
