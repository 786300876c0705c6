"""Similarity of sets of concepts: overlap of their ancestors, and best-match averages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from cuihop.resources.arrays import Float64, Int32, Int64
from cuihop.resources.cores import in_threads
from cuihop.resources.progress import timed_slices

_PAIRS_A_CALL = 1024  # of a thread
_CELLS_A_BLOCK = 1 << 20  # bounds the memory of best-match averages: 30 MB


@dataclass(frozen=True, eq=False)
class SetPairs:
    """Pairs of sets of numbered concepts.

    Attributes:
        bounds: int64, shape (2 * pairs + 1,): the position of each set in ``members``. Sets 2i and 2i + 1 are pair i.
        members: int32: the concepts of each set, ascending, each once.
    """

    bounds: Int64
    members: Int32

    def __len__(self) -> int:
        return len(self.bounds) // 2

    @property
    def sizes(self) -> Int64:
        """The number of concepts of each set: int64, shape (2 * pairs,)."""
        return np.diff(self.bounds)

    @classmethod
    def of(
        cls, sets: Sequence[Collection[str]], numbers: Callable[[Sequence[str]], tuple[Int32, dict[str, str]]]
    ) -> tuple[SetPairs, dict[str, str]]:
        """Pairs of sets of identifiers, and retired ones with their successors.

        Args:
            sets: sets 2i and 2i + 1 are pair i.
            numbers: the number of each identifier, and successors of retired ones; raises as the graph does.
        """
        members, merged = numbers([cui for each in sets for cui in each])
        owners = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
        keys = np.unique(owners << 32 | members)
        bounds = np.searchsorted(keys >> 32, np.arange(len(sets) + 1))
        return cls(bounds, (keys & 0xFFFFFFFF).astype(np.int32)), merged


def ancestor_overlaps(
    sets: SetPairs, node_of: Int32, up_indptr: Int32, up_indices: Int32, weight: Float64
) -> Float64:  # fmt: skip
    """Weight of the common ancestors of two sets over that of all their ancestors.

    Args:
        node_of: int32, shape (concepts,): the node of each concept.
        up_indptr, up_indices: int32: the parents of each node, compressed rows.
        weight: float64, shape (nodes,), of each ancestor. All 1: simUI. Information content: simGIC.

    Returns:
        Float64, shape (pairs,). 0 where one set is empty; NaN where both are, or where a weight is infinite.
    """
    from cuihop._kernels import all_similarities as kernel

    values = np.empty(len(sets), dtype=np.float64)
    members, nodes = node_of[sets.members], len(up_indptr) - 1
    inner = np.repeat(np.arange(len(sets.sizes)), sets.sizes)
    members = members[np.lexsort((members, inner))]

    def answer(begin: int) -> None:
        for pairs in timed_slices(begin, min(begin + _PAIRS_A_CALL, len(sets))):
            kernel.ancestor_overlaps(
                up_indptr, up_indices, weight, sets.bounds[2 * pairs.start : 2 * pairs.stop + 1], members,
                np.zeros((2, nodes), dtype=np.int32), np.empty(nodes, dtype=np.int32), values[pairs],
            )  # fmt: skip

    in_threads(answer, range(0, len(sets), _PAIRS_A_CALL))
    return values


def best_match_averages(sets: SetPairs, similarities: Callable[[Int32], Float64], *, distance: bool) -> Float64:
    """The mean of two means: of the best value of each concept of A among those of B, and the other way round.

    Args:
        similarities: of numbered concepts listed as start, end, start, end, …; NaN for no value.
        distance: the best value is the least.

    Returns:
        Float64, shape (pairs,). If one set is empty: 0 of a similarity, NaN of a distance. NaN where both are, and
        where a concept has no value.
    """
    best_of = np.minimum if distance else np.maximum
    sizes, first = sets.sizes, sets.bounds[:-1]
    best = np.full(len(sets.members), np.inf if distance else -np.inf)
    a_sizes, b_sizes = sizes[::2], sizes[1::2]
    rows = np.repeat(first[::2], a_sizes) + _positions(a_sizes)
    widths, starts = np.repeat(b_sizes, a_sizes), np.repeat(first[1::2], a_sizes)
    rows, widths, starts = (each[widths > 0] for each in (rows, widths, starts))
    ends = np.cumsum(widths)
    begin = 0
    while begin < len(rows):
        limit = (ends[begin - 1] if begin else 0) + _CELLS_A_BLOCK
        end = max(begin + 1, int(np.searchsorted(ends, limit, side="right")))
        chunk = slice(begin, end)
        row = np.repeat(rows[chunk], widths[chunk])
        column = np.repeat(starts[chunk], widths[chunk]) + _positions(widths[chunk])
        values = _of_distinct(np.stack((sets.members[row], sets.members[column]), axis=1), similarities)
        with np.errstate(invalid="ignore"):  # NaN stays NaN
            best_of.at(best, row, values)
            best_of.at(best, column, values)
        begin = end
    both = np.minimum(a_sizes, b_sizes) > 0
    averages = np.where((np.maximum(a_sizes, b_sizes) > 0) & (not distance), 0.0, np.nan)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    filled = np.repeat(np.repeat(both, 2), sizes)
    sums = np.bincount(owner[filled], weights=best[filled], minlength=len(sizes))
    means = sums[np.repeat(both, 2)] / sizes[np.repeat(both, 2)]
    averages[both] = (means[::2] + means[1::2]) / 2
    return averages


def _of_distinct(pairs: Int32, similarities: Callable[[Int32], Float64]) -> Float64:
    """The similarity of each pair of numbers; each distinct one is computed once, the smaller number first."""
    ordered = np.sort(pairs, axis=1).astype(np.int64)
    distinct, inverse = np.unique(ordered[:, 0] << 32 | ordered[:, 1], return_inverse=True)
    ends = np.stack((distinct >> 32, distinct & 0xFFFFFFFF), axis=1).astype(np.int32)
    return similarities(np.ascontiguousarray(ends.ravel()))[inverse]


def _positions(sizes: Int64) -> Int64:
    """0, 1, … within each row of these sizes."""
    positions: Int64 = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return positions
