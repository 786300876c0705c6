"""Rankings of a collection by gains between its distinct concept sets: images with equal sets share all their gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuihop.relevance.concept_sets import ConceptSets
from cuihop.relevance.image_collection import ImageCollection
from cuihop.resources.checkpoint import Checkpoint, FinishedBlock
from cuihop.resources.cores import checked_threads, in_order
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.progress import Progress
from cuihop.snapshot.string_table import bounds_of

__all__ = ["Gains", "RankingWork", "rank_by_gain"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

Gains = Callable[[int, int], Float64]
"""From the first and the last query set of a block (the last left out) to float64, shape (block, corpus sets).

A gain that cannot be among the largest may be given as -1."""

_SETS_A_BLOCK = 32
_BYTES_AN_IMAGE = 40  # of one query: gains of all images, those above 0, and their order


@dataclass(frozen=True, eq=False)
class RankingWork:
    """Resources of a ranking by gain, opened; no place in it depends on them.

    Attributes:
        memory: its allowance. threads: at most; ``None`` is one for each core.
        progress: called after each block with the number of finished queries and of all queries.
        saved: the finished blocks.
    """

    memory: MemoryBudget
    threads: int | None = None
    progress: Progress | None = None
    saved: Checkpoint | None = None


def rank_by_gain(
    images: ImageCollection,
    queries: ConceptSets,
    corpus: ConceptSets,
    depth: int,
    gains: Gains,
    *,
    bytes_a_pair: int,
    bytes_a_thread: int,
    work: RankingWork,
) -> Int32:
    """The images of the largest gain for each query, itself left out: gain descending, then name ascending.

    Args:
        images: the collection; queries, corpus: its sets.
        depth: number of images, at most that of the corpus.
        gains: called for each block, from several threads at once.
        bytes_a_pair: memory of gains for a query set and a corpus set. bytes_a_thread: their other memory.
        work: the resources.

    Returns:
        int32, shape (queries, depth): places in the corpus; -1 where it has fewer.

    Raises:
        LimitExceeded: the memory allowed is not enough for one thread.
    """
    names = images.corpus_names
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int32)
    set_of = corpus.of[by_name]
    askers = np.argsort(queries.of, kind="stable")
    ends = bounds_of(np.bincount(queries.of, minlength=len(queries)))
    largest = min(depth + 1, len(names))  # one more: the query may be among them
    rows = np.full((len(images.query_names), depth), -1, dtype=np.int32)
    a_thread = bytes_a_thread + _SETS_A_BLOCK * len(corpus) * bytes_a_pair + len(names) * _BYTES_AN_IMAGE
    work.memory.take("gains of a block", a_thread)
    threads = min(checked_threads(work.threads), 1 + work.memory.left // a_thread)
    done = set()
    for finished in [] if work.saved is None else work.saved.finished:
        rows[finished.queries] = finished.values.astype(np.int32)
        done.add(finished.number)

    def block(number: int) -> int:
        first = number * _SETS_A_BLOCK
        last = min(first + _SETS_A_BLOCK, len(queries))
        if number in done:
            return int(ends[last])
        for offset, of_sets in enumerate(gains(first, last)):
            of_images = of_sets[set_of]
            some = of_images[of_images > 0]  # most gains may be 0: equal values are slow to partition
            least = np.partition(some, len(some) - largest)[len(some) - largest] if len(some) > largest else 0.0
            candidates = np.flatnonzero(of_images >= least)
            best = by_name[candidates[np.argsort(-of_images[candidates], kind="stable")[:largest]]]
            for query in askers[ends[first + offset] : ends[first + offset + 1]]:
                others = best[best != images.own_rows[query]][:depth]
                rows[query, : len(others)] = others
        if work.saved is not None:
            here = askers[ends[first] : ends[last]]
            work.saved.add(FinishedBlock(0, number, here, rows[here].astype(np.float64)))
        return int(ends[last])

    images.own_rows  # noqa: B018 - computed once, before threads need it
    for ranked in in_order(block, range(-(-len(queries) // _SETS_A_BLOCK)), threads):
        if work.progress is not None:
            work.progress(ranked, len(rows))
    return rows
