"""Rankings that are computed on request, a block of queries at a time, and need never be held whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from cuihop.files.content_digest import content_digest
from cuihop.rankings.ranking import QueryImage, Ranking
from cuihop.resources.arrays import bounds_of
from cuihop.resources.block_work import BlockStore
from cuihop.resources.checkpoint import open_checkpoint
from cuihop.resources.cores import checked_threads
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.resources import Resources
from cuihop.resources.versions import versions

BYTES_OF_A_BLOCK = 24  # of one image in the ranking of one query, while its block is ranked and judged
RESULTS_OF_BLOCKS = 1024  # bytes for each query: values of many measures, or some hundred images

_DEFAULT = Resources()

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


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

    def blocks(self, places: Int64 | None = None) -> Sequence[slice]:
        """Places of the queries of each block; of all, or of some, ascending."""
        step, total = self.nearest.step, len(self.queries)
        if places is None:
            return [slice(first, min(first + step, total)) for first in range(0, total, step)]
        ends = np.flatnonzero(np.diff(places, append=-1) != 1) + 1  # of each run of neighbours
        runs = zip(places[np.concatenate([[0], ends[:-1]])].tolist(), places[ends - 1].tolist(), strict=True)
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
        place = self.queries.index(query)
        return self.ranking_of(next(block for block in self.blocks() if place < block.stop))[query]

    def fill(self, blocks: BlockStore, work: VectorBlocks, resources: Resources) -> None:
        """Compute the blocks that are not finished; see `BlockStore.fill`."""
        from threadpoolctl import threadpool_limits

        # Threads of products of matrices beside those of the blocks would wait for each other.
        with threadpool_limits(max(1, checked_threads(resources.threads) // work.threads), user_api="blas"):
            blocks.fill(work, progress=resources.progress, cluster=resources.cluster)

    def take_results(self, memory: MemoryBudget, size: int) -> None:
        """Count bytes of results in, beyond those that are set apart already.

        Raises:
            LimitExceeded: there is not enough.
        """
        memory.take("rankings", max(0, size - self.results * len(self.queries)))

    def whole(self, resources: Resources = _DEFAULT) -> Ranking:
        """All of it, held in memory.

        Args:
            resources: threads, progress and checkpoint. The memory was allowed when the ranking was read. Where it is
                for some queries, the others have no ranking.

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

        def put(places: Int64, values: Float64) -> None:
            found = values.astype(np.int32)
            rows[ends[places[0]] : ends[places[-1] + 1]] = found[found >= 0]

        job = {"work": "ranking", **self.depends} if checkpoint is not None else {}
        with open_checkpoint(checkpoint, job, keep=resources.keep_checkpoint) as saved:
            blocks = BlockStore(put, len(self.queries), places=resources.places, saved=saved)
            if not blocks.complete:
                self.fill(blocks, VectorBlocks.of(self, resources), resources)
        ranking = Ranking.from_lists(
            rows, lengths, self.queries, self.corpus, self.source, self.form, self.query_image
        )  # fmt: skip
        return ranking.computed("" if checkpoint is None else self.digest, resources.places)


@dataclass(frozen=True, eq=False)
class VectorBlocks:
    """Searches for the nearest images, in blocks of queries: a `cuihop.resources.block_work.BlockWork`.

    Attributes:
        ranking: the ranking. slices: the queries of each block. threads: number that there is memory for.
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
        """Places in the corpus, nearest first; -1 beyond the end."""
        return self.ranking.nearest.rows(self.slices[number]).astype(np.float64)


def bytes_of_rank(*, in_checkpoint: bool) -> int:
    """Bytes of one image of a ranking; with its finished block, while that is read from a checkpoint."""
    return 12 if in_checkpoint else 4
