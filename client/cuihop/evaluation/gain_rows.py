"""Rankings of a collection by gains between its distinct concept sets: images with equal sets share all their gains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cuihop.cores import in_order
from cuihop.evaluation.concept_sets import ConceptSets
from cuihop.evaluation.image_collection import ImageCollection
from cuihop.evaluation.relevance_index import Progress

__all__ = ["Gains", "rows_by_gain"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

Gains = Callable[[int, int], Float64]
"""From the first and the last query set of a block (the last left out) to float64, shape (block, corpus sets).

What cannot be among the largest may be given as -1."""

_SETS_A_BLOCK = 32


def rows_by_gain(
    images: ImageCollection,
    queries: ConceptSets,
    corpus: ConceptSets,
    depth: int,
    gains: Gains,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Int32:
    """The images of the largest gain for each query, itself left out: gain descending, then name ascending.

    Args:
        images: the collection; queries, corpus: its sets.
        depth: how many images, at most as many as the corpus has.
        gains: called for each block, from several threads at once.
        threads: how many; without it, as many as the process has cores.
        progress: called after each block with the queries done and all queries.

    Returns:
        int32, shape (queries, depth): places in the corpus; -1 where it has fewer.
    """
    names = images.corpus_names
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int32)
    set_of = corpus.of[by_name]
    askers = np.argsort(queries.of, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(queries.of, minlength=len(queries)))])
    kept = min(depth + 1, len(names))  # one more: the query may be among them
    rows = np.full((len(images.query_names), depth), -1, dtype=np.int32)

    def block(first: int) -> int:
        last = min(first + _SETS_A_BLOCK, len(queries))
        for offset, of_sets in enumerate(gains(first, last)):
            of_images = of_sets[set_of]
            some = of_images[of_images > 0]  # most gains may be 0: equal values are slow to partition
            least = np.partition(some, len(some) - kept)[len(some) - kept] if len(some) > kept else 0.0
            candidates = np.flatnonzero(of_images >= least)
            best = by_name[candidates[np.argsort(-of_images[candidates], kind="stable")[:kept]]]
            for query in askers[ends[first + offset] : ends[first + offset + 1]]:
                others = best[best != images.own_rows[query]][:depth]
                rows[query, : len(others)] = others
        return int(ends[last])

    firsts = range(0, len(queries), _SETS_A_BLOCK)
    images.own_rows  # noqa: B018 - computed once, before threads ask for it
    for done in in_order(block, firsts, threads):
        if progress is not None:
            progress(done, len(rows))
    return rows
