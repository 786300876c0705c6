"""The resources of a long computation, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cuihop.resources.arrays import Int64
from cuihop.resources.block_work import Cluster
from cuihop.resources.cores import checked_threads
from cuihop.resources.memory_budget import DEFAULT_MEMORY, MemoryBudget
from cuihop.resources.progress import Progress

__all__ = ["Resources"]


@dataclass(frozen=True, slots=True)
class Resources:
    """Threads, memory, progress and checkpoint of a long computation. No result depends on them.

    Attributes:
        threads: number of threads; ``None`` is one for each core of the process, and of a process of the cluster.
        memory: allowance in addition to the inputs: bytes, or a text such as ``500MB``.
        progress: callback with the number of finished queries and of all queries.
        checkpoint: file of finished blocks. If it exists, from an interrupted run on the same inputs, its blocks are
            not computed again. Removed at the end.
        keep_checkpoint: keep that file at the end.
        places: the places of the queries to compute, those of a shard; ``None`` is all. The others have no values.
        cluster: processes that compute the blocks, from `cuihop.cluster.open_cluster`, each with that memory; ``None``
            is threads of this process.

    >>> Resources(memory="500MB").budget().allowed
    500000000
    """

    threads: int | None = None
    memory: int | str = DEFAULT_MEMORY
    progress: Progress | None = None
    checkpoint: str | Path | None = None
    keep_checkpoint: bool = False
    places: Int64 | None = None
    cluster: Cluster | None = None

    @property
    def block_threads(self) -> int:
        """Number of blocks that one process computes at once, if there is memory for them.

        Raises:
            InputError: `threads` is not a number of threads.
        """
        if self.threads is None and self.cluster is not None:
            return self.cluster.threads
        return checked_threads(self.threads)

    def budget(self) -> MemoryBudget:
        """A fresh account of the memory allowed.

        Raises:
            InputError: `memory` is not an amount.
        """
        return MemoryBudget.of(self.memory)
