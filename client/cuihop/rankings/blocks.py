"""Rankings that are computed on request, a block of queries at a time, and need never be held in memory as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from cuihop.files.content_digest import content_digest
from cuihop.rankings.ranking import QueryImage, Ranking
from cuihop.resources.arrays import Float64, Int32, Int64, bounds_of
from cuihop.resources.block_work import BlockStore
from cuihop.resources.checkpoint import open_checkpoint
from cuihop.resources.cores import checked_threads
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.optional_packages import versions
from cuihop.resources.resources import Resources

BYTES_OF_A_BLOCK = 24  # of one image in the ranking of one query, while its block is ranked and judged


class NearestRows(Protocol):
    """Search for the images nearest to some queries; from several threads at once.

    Attributes:
        step: queries of a block, whatever the memory and the threads.
        threads: number that there is memory for.
    """

    step: int
    threads: int

    def rows(self, block: slice) -> Int32:
        """Indices in the corpus, nearest first: int32, shape (queries of the block, count); -1 beyond the end."""
        ...


@dataclass(frozen=True, eq=False)
class RankingInBlocks:
    """A ranking of every query, computed block by block; on each request the same.

    Attributes:
        queries, corpus: the images, in the order of their files.
        lengths: int64, shape (queries,): number of images retrieved for each query.
        source: origin of the vectors. form: their shape, for the summary.
        content: digests and options that the order depends on in addition to the names, for a checkpoint.
        memory: the budget of blocks and results. results: bytes for each query that it has set apart.
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

    def blocks(self, indices: Int64 | None = None) -> Sequence[slice]:
        """Places of the queries of each block; of all, or of some, ascending."""
        step, total = self.nearest.step, len(self.queries)
        if indices is None:
            return [slice(first, min(first + step, total)) for first in range(0, total, step)]
        ends = np.flatnonzero(np.diff(indices, append=-1) != 1) + 1  # of each run of neighbours
        runs = zip(indices[np.concatenate([[0], ends[:-1]])].tolist(), indices[ends - 1].tolist(), strict=True)
        return [slice(at, min(at + step, last + 1)) for first, last in runs for at in range(first, last + 1, step)]

    def ranking_of(self, block: slice) -> Ranking:
        """The ranking of some queries, held in memory."""
        rows = self.nearest.rows(block)
        return Ranking.from_lists(
            rows[rows >= 0], self.lengths[block], self.queries[block], self.corpus, self.source, self.form,
            self.query_image,
        )  # fmt: skip

    def list_of(self, query: str) -> tuple[str, ...]:
        """The images retrieved for one of the queries, best first; only its block is computed."""
        index = self.queries.index(query)
        return self.ranking_of(next(block for block in self.blocks() if index < block.stop))[query]

    def fill(self, blocks: BlockStore, searches: VectorBlocks, resources: Resources) -> None:
        """Compute the blocks that are not finished; see `BlockStore.fill`."""
        from threadpoolctl import threadpool_limits

        # Threads of products of matrices together with those of the blocks would wait for each other.
        with threadpool_limits(max(1, checked_threads(resources.threads) // searches.threads), user_api="blas"):
            blocks.fill(searches, progress=resources.progress, cluster=resources.cluster)

    def take_results(self, memory: MemoryBudget, size: int) -> None:
        """Count bytes of results in, beyond those that are set apart already."""
        memory.take("rankings", max(0, size - self.results * len(self.queries)))

    def whole(self, resources: Resources = Resources()) -> Ranking:
        """All of it, held in memory, which was allowed when the ranking was read; or the queries of the resources.

        Raises:
            LimitExceeded: it does not fit the memory allowed.
            InputError, OutputError: as `cuihop.evaluate`, of the checkpoint.
        """
        checkpoint = resources.checkpoint
        lengths = self.lengths
        if resources.places is not None:
            lengths = np.zeros_like(lengths)
            lengths[resources.places] = self.lengths[resources.places]
        total = int(lengths.sum())
        self.take_results(self.memory.copy(), total * bytes_of_rank(in_checkpoint=checkpoint is not None))
        ends = bounds_of(lengths)
        rows = np.full(total, -1, dtype=np.int32)

        def put(indices: Int64, values: Float64) -> None:
            images = values.astype(np.int32)
            rows[ends[indices[0]] : ends[indices[-1] + 1]] = images[images >= 0]

        job = {"work": "ranking", **self.depends} if checkpoint is not None else {}
        with open_checkpoint(checkpoint, job, keep=resources.keep_checkpoint) as saved:
            blocks = BlockStore(put, len(self.queries), positions=resources.places, saved=saved)
            if not blocks.complete:
                self.fill(blocks, VectorBlocks.of(self, resources), resources)
        ranking = Ranking.from_lists(
            rows, lengths, self.queries, self.corpus, self.source, self.form, self.query_image
        )  # fmt: skip
        return ranking.computed("" if checkpoint is None else self.digest, resources.places)


@dataclass(frozen=True, eq=False)
class VectorBlocks:
    """Searches for the nearest images, in blocks of queries: a `cuihop.resources.block_work.BlockWork`.

    ``threads``: number that there is memory for.
    """

    ranking: RankingInBlocks
    slices: Sequence[slice]
    threads: int

    @classmethod
    def of(cls, ranking: RankingInBlocks, resources: Resources, *others: Any) -> Self:
        """The blocks of a ranking that the resources are for; without what only a checkpoint needs."""
        slices = ranking.blocks(resources.places)
        threads = max(1, min(resources.block_threads, ranking.nearest.threads, len(slices)))
        return cls(replace(ranking, content=dict), slices, threads, *others)

    def __len__(self) -> int:
        return len(self.slices)

    def places(self, number: int) -> Int64:
        """Places of the queries of a block."""
        return np.arange(self.slices[number].start, self.slices[number].stop)

    def values(self, number: int) -> Float64:
        """Indices in the corpus, nearest first; -1 beyond the end."""
        return self.ranking.nearest.rows(self.slices[number]).astype(np.float64)


def bytes_of_rank(*, in_checkpoint: bool) -> int:
    """Bytes of one image of a ranking; with its finished block, while that is read from a checkpoint."""
    return 12 if in_checkpoint else 4
