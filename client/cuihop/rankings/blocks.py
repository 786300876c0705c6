"""Rankings that are computed on request, a block of queries at a time, and need never be held whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cuihop.files.content_digest import content_digest
from cuihop.rankings.ranking import QueryImage, Ranking
from cuihop.resources.checkpoint import FinishedBlock, open_checkpoint
from cuihop.resources.cores import checked_threads, in_order
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.progress import Progress
from cuihop.resources.resources import Resources
from cuihop.resources.versions import versions
from cuihop.snapshot.string_table import bounds_of

__all__ = ["BYTES_OF_A_BLOCK", "RESULTS_OF_BLOCKS", "NearestRows", "RankingInBlocks", "bytes_of_rank"]

BYTES_OF_A_BLOCK = 24  # of one image in the ranking of one query, while its block is ranked and judged
RESULTS_OF_BLOCKS = 1024  # bytes for each query: values of many measures, or some hundred images

_DEFAULT = Resources()

T = TypeVar("T")

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


class NearestRows(Protocol):
    """Search for the images nearest to some queries; from several threads at once.

    Attributes:
        step: queries of a block, whatever the memory and the threads.
        threads: number that there is memory for.
    """

    step: int
    threads: int

    def rows(self, block: slice) -> Int32:
        """Places in the corpus, nearest first: int32, shape (queries of the block, wanted); -1 beyond the end."""
        ...


@dataclass(frozen=True, eq=False)
class RankingInBlocks:
    """A ranking of every query, computed block by block; on each request the same.

    Attributes:
        queries, corpus: the images, in the order of their files.
        nearest: the search.
        lengths: int64, shape (queries,): number of images retrieved for each query.
        source: origin of the vectors.
        content: digests and options that the order depends on beside the names, for a checkpoint.
        memory: the account that blocks and results are taken from. results: bytes for each query that it has set apart.
        form: shape of the vectors, for the account.
        query_image: treatment of a query in its own list.
    """

    queries: tuple[str, ...]
    corpus: tuple[str, ...]
    nearest: NearestRows
    lengths: Int64
    source: str
    content: Callable[[], Mapping[str, Any]]
    memory: MemoryBudget
    results: int
    form: str = ""
    query_image: QueryImage = "exclude"

    def __repr__(self) -> str:
        return f"<RankingInBlocks {self.account}>"

    @property
    def account(self) -> str:
        """Summary of the parsed vectors, in one line."""
        return f"{self.source}: {self.form}"

    @cached_property
    def depends(self) -> Mapping[str, Any]:
        """Everything that the order depends on, as values of JSON."""
        installed = versions("cuihop", "numpy", "numba")
        return {
            **{f"version of {name}": installed[name] for name in ("cuihop", "numpy", "numba")},
            "order of images": content_digest([self.queries, self.corpus]),
            **self.content(),
            "queries of a block": self.nearest.step,
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that the order depends on."""
        return content_digest(dict(self.depends))

    @property
    def blocks(self) -> Sequence[slice]:
        """Places of the queries of each block."""
        step, total = self.nearest.step, len(self.queries)
        return [slice(first, min(first + step, total)) for first in range(0, total, step)]

    def ranking_of(self, block: slice) -> Ranking:
        """The ranking of some queries, held in memory."""
        rows = self.nearest.rows(block)
        return Ranking.from_lists(
            rows[rows >= 0], self.lengths[block], self.queries[block], self.corpus, self.source, self.form,
            self.query_image,
        )  # fmt: skip

    def list_of(self, query: str) -> tuple[str, ...]:
        """The images retrieved for one of the queries, best first; only its block is computed."""
        place = self.queries.index(query)
        return self.ranking_of(next(block for block in self.blocks if place < block.stop))[query]

    def in_order(
        self,
        call: Callable[[int, slice], T],
        *,
        done: Collection[int] = frozenset(),
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[T]:
        """Results of the call for each number and block that is not done, on all cores that there is memory for."""
        from threadpoolctl import threadpool_limits

        blocks = self.blocks
        finished = sum(blocks[number].stop - blocks[number].start for number in done)
        if progress is not None and done:
            progress(finished, len(self.queries))
        left = [number for number in range(len(blocks)) if number not in done]
        allowed = checked_threads(threads)
        count = max(1, min(allowed, self.nearest.threads, len(left)))
        # Threads of products of matrices beside those of the blocks would wait for each other.
        with threadpool_limits(max(1, allowed // count), user_api="blas"):
            for number, found in zip(left, in_order(lambda n: call(n, blocks[n]), left, count), strict=True):
                finished += blocks[number].stop - blocks[number].start
                if progress is not None:
                    progress(finished, len(self.queries))
                yield found

    def take_results(self, memory: MemoryBudget, size: int) -> None:
        """Count bytes of results in, beyond those that are set apart already.

        Raises:
            LimitExceeded: there is not enough.
        """
        memory.take("rankings", max(0, size - self.results * len(self.queries)))

    def whole(self, resources: Resources = _DEFAULT) -> Ranking:
        """All of it, held in memory.

        Args:
            resources: threads, progress and checkpoint. The memory was allowed when the ranking was read.

        Raises:
            LimitExceeded: it does not fit the memory allowed.
            InputError, OutputError: as `cuihop.evaluate`, of the checkpoint.
        """
        checkpoint = resources.checkpoint
        total = int(self.lengths.sum())
        self.take_results(self.memory.copy(), total * bytes_of_rank(in_checkpoint=checkpoint is not None))
        ends = bounds_of(self.lengths)
        rows = np.empty(total, dtype=np.int32)

        def put(block: slice, found: Int32) -> None:
            rows[ends[block.start] : ends[block.stop]] = found[found >= 0]

        job = {"work": "ranking", **self.depends} if checkpoint is not None else {}
        with open_checkpoint(checkpoint, job, keep=resources.keep_checkpoint) as saved:
            done = set()
            while saved is not None and saved.finished:
                finished = saved.finished.pop()
                put(self.blocks[finished.number], finished.values.astype(np.int32))
                done.add(finished.number)

            def make(number: int, block: slice) -> None:
                found = self.nearest.rows(block)
                put(block, found)
                if saved is not None:
                    places = np.arange(block.start, block.stop)
                    saved.add(FinishedBlock(0, number, places, found.astype(np.float64)))

            for _ in self.in_order(make, done=done, threads=resources.threads, progress=resources.progress):
                pass
        return Ranking.from_lists(
            rows, self.lengths, self.queries, self.corpus, self.source, self.form, self.query_image
        )


def bytes_of_rank(*, in_checkpoint: bool) -> int:
    """Bytes of one image of a ranking; with its finished block, while that is read from a checkpoint."""
    return 12 if in_checkpoint else 4
