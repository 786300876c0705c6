"""Computations over many queries in blocks: in threads here, or in the processes of a cluster, with a checkpoint."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Protocol

import numpy as np

from cuihop.resources.arrays import Float64, Int64
from cuihop.resources.checkpoint import Checkpoint, FinishedBlock
from cuihop.resources.cores import in_order
from cuihop.resources.progress import Progress


class BlockWork(Protocol):
    """Blocks of queries, each computed alone: the same numbers in whatever thread, process and order.

    A work can be pickled: it holds arrays and numbers, so that other processes map its arrays from a file.
    """

    @property
    def threads(self) -> int:
        """Number of blocks that there is memory for at once."""
        ...

    def __len__(self) -> int:
        """Number of blocks."""
        ...

    def places(self, number: int) -> Int64:
        """Positions of the queries of a block among all queries: int64, shape (queries of the block,)."""
        ...

    def values(self, number: int) -> Float64:
        """Compute a block, from several threads at once: float64, shape (queries of the block, values of each)."""
        ...


class Cluster(Protocol):
    """Processes of one or several machines that compute blocks. See `cuihop.cluster.open_cluster`."""

    @property
    def threads(self) -> int:
        """Threads of the process with the most of them."""
        ...

    def results(self, job: BlockWork, numbers: Sequence[int]) -> Generator[tuple[int, Float64], None, None]:
        """Each of the blocks with its values, in any order, whatever dies on the way. Closed, it ends the work.

        A `ClusterError` says that no process is left, or that a block fails again and again.
        """
        ...


class BlockStore:
    """The values of queries, filled in block by block.

    Args:
        store: called with positions, int64, shape (queries,), and values, float64, shape (queries, values of each);
            from several threads at once.
        positions: int64: positions of the queries to compute. queries: the number of all queries, with or without.
        saved: the checkpoint; its finished blocks are stored at once. part: the part of its job.
    """

    def __init__(
        self,
        store: Callable[[Int64, Float64], None],
        queries: int,
        *,
        positions: Int64 | None = None,
        saved: Checkpoint | None = None,
        part: int = 0,
    ) -> None:
        self._store, self._saved, self._part = store, saved, part
        self._missing = np.zeros(queries, dtype=np.bool_)
        self._missing[slice(None) if positions is None else positions] = True
        self._total = int(self._missing.sum())
        for block in () if saved is None else saved.taken(part):
            store(block.queries, block.values)
            self._missing[block.queries] = False

    @property
    def complete(self) -> bool:
        """True where nothing is left to compute: the work need not be prepared."""
        return not self._missing.any()

    @property
    def left(self) -> Int64 | None:
        """Positions of the queries to compute, int64, ascending; ``None`` where these are all queries."""
        return None if self._missing.all() else np.flatnonzero(self._missing)

    def fill(self, job: BlockWork, *, progress: Progress | None = None, cluster: Cluster | None = None) -> None:
        """Compute the blocks that are not finished. An interrupt stops after those that are under way.

        The blocks of the job hold every query that is left; without a cluster, threads of this process compute them.

        Raises:
            OutputError: the checkpoint cannot be written. ClusterError: as `Cluster.results`.
        """
        left = [number for number in range(len(job)) if self._missing[job.places(number)].any()]
        finished = self._total - sum(len(job.places(number)) for number in left)
        if progress is not None and finished > 0:
            progress(finished, self._total)

        def received(number: int, values: Float64) -> int:
            positions = job.places(number)
            self._store(positions, values)
            if self._saved is not None:
                self._saved.add(FinishedBlock(self._part, number, positions, values))
            return len(positions)

        with contextlib.ExitStack() as until_the_end:
            if cluster is None:
                counts = in_order(lambda number: received(number, job.values(number)), left, job.threads)
            else:
                results = until_the_end.enter_context(contextlib.closing(cluster.results(job, left)))
                counts = (received(number, values) for number, values in results)
            for queries in counts:
                finished += queries
                if progress is not None:
                    progress(finished, self._total)
