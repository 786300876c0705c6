"""The distinct is_a edges, and the set of vocabularies behind each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["EdgeTable", "edge_table"]


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges, ascending by (child, parent), distinct.

    Attributes:
        children, parents: int32, codes of identifiers.
        sab_sets: for each edge the place of its vocabularies in `members`.
        members: sorted tuples of vocabularies.
        sab_edges: for each vocabulary that asserts an edge, how many.
        mirrored: edges that are asserted with the parent first and with the child first.
    """

    children: npt.NDArray[np.int32]
    parents: npt.NDArray[np.int32]
    sab_sets: npt.NDArray[np.integer]
    members: Sequence[tuple[str, ...]]
    sab_edges: dict[str, int]
    mirrored: int


def edge_table(rows: npt.NDArray[np.uint64], sabs: Sequence[str]) -> EdgeTable:
    """From edge rows, which are put into order in place.

    Args:
        rows: see `cuihop_loader._kernels.edges`; changed.
        sabs: the vocabularies by the numbers that the rows have.
    """
    from cuihop_loader._kernels import edges, interning

    order = np.argsort(np.array(sabs, dtype=np.str_)) if sabs else np.empty(0, dtype=np.int64)
    places = np.empty(len(sabs), dtype=np.int32)
    places[order] = np.arange(len(sabs))
    edges.renumber_sabs(rows, places)
    rows.sort()
    n_edges, n_pairs = edges.distinct(rows)
    children = np.empty(n_edges, dtype=np.int32)
    parents = np.empty(n_edges, dtype=np.int32)
    pairs = np.empty(n_pairs, dtype=np.uint16)
    spans = np.empty((n_edges, 2), dtype=np.int32)
    mirrored = edges.group(rows, children, parents, pairs, spans)

    table = np.full(1 << max(1, (2 * n_edges - 1).bit_length()), -1, dtype=np.int32)
    sets = np.empty(n_edges, dtype=np.int32)
    firsts = np.empty(n_edges, dtype=np.int32)
    count = interning.intern(pairs.view(np.uint8), spans, 0, 1, np.arange(n_edges, dtype=np.int32), table, sets, firsts)
    names = [sabs[int(place)] for place in order]
    members = [
        tuple(names[int(sab)] for sab in pairs[spans[edge, 0] // 2 : spans[edge, 1] // 2])
        for edge in firsts[:count].tolist()
    ]
    counted = np.bincount(pairs, minlength=len(sabs)).tolist()
    return EdgeTable(
        children=children,
        parents=parents,
        sab_sets=sets.astype(np.uint16) if count <= 1 << 16 else sets,
        members=members,
        sab_edges={sab: count for sab, count in zip(names, counted, strict=True) if count},
        mirrored=int(mirrored),
    )
