"""Blocks of a work, computed as tasks of Dask's scheduler."""

from __future__ import annotations

import contextlib
import queue
import secrets
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cuihop.cluster.mapped_work import ComputedBlocks, arithmetic, compute, written_work
from cuihop.errors import ClusterError, CuihopError, first_few
from cuihop.resources.arrays import Float64
from cuihop.resources.block_work import BlockWork
from cuihop.resources.progress import check_interruption

Results: TypeAlias = Generator[tuple[int, Float64], None, None]
"""Numbers of blocks with their values."""

_SECONDS_OF_A_TASK = 2.0
_TASKS_AHEAD = 2  # for each worker: one is computed, one waits
_LOSSES = 3  # of one task: each is the end of several workers, by `distributed.scheduler.allowed-failures`
_TRIES = 2  # again, of a task that fails by an error that is not ours
_LOOK = 1.0  # seconds between two looks at the workers
_FETCH = 10.0  # seconds that the result of a task may travel before the workers are looked at


@dataclass(frozen=True, eq=False)
class DaskCluster:
    """The workers of a Dask cluster: a `cuihop.resources.block_work.Cluster`. Made by `open_cluster`.

    Attributes:
        client: the connection, a ``distributed.Client``. address: of the scheduler.
        folder: receives the works; every machine sees it under this path.
        wait: seconds that a job waits for a worker where none is left. threads: of the worker with the most of them.
    """

    client: Any
    address: str
    folder: Path
    wait: float
    threads: int
    account: str

    def results(self, job: BlockWork, numbers: Sequence[int]) -> Results:
        """Each of the blocks with its values, in the order in which they are finished, whatever worker dies.

        Raises:
            ClusterError: no worker is left, workers end again and again at the same blocks, or compute other bits.
            CuihopError: the error of a block.
        """
        if not numbers:
            return
        with written_work(job, self.folder) as mapped:
            tasks = _Tasks(self, deque(numbers), max(1, min(self.threads, job.threads)))
            try:
                while tasks.left or tasks.running:
                    tasks.submit(mapped)
                    for numbered in tasks.finished():
                        yield from numbered
            finally:
                tasks.cancel()


@dataclass(eq=False)
class _Tasks:
    """The tasks of a job: a few for each worker at a time, so that the end of one worker disturbs few of them."""

    cluster: DaskCluster
    left: deque[int]
    threads: int
    running: dict[Any, list[int]] = field(default_factory=dict)
    _done: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    _job: str = field(default_factory=lambda: f"cuihop-{secrets.token_hex(8)}")
    _submitted: int = 0
    _losses: dict[int, int] = field(default_factory=dict)
    _workers: int = 1
    _looked: float = 0.0
    _seen: float = field(default_factory=time.monotonic)
    _block_seconds: float = 0.0

    def submit(self, mapped: object) -> None:
        """Submit tasks until each worker has enough of them."""
        self._count_workers()
        while self.left and len(self.running) < _TASKS_AHEAD * self._workers:
            blocks, size = [self.left.popleft()], self._blocks_of_a_task()
            while self.left and len(blocks) < size and self._losses.keys().isdisjoint((blocks[0], self.left[0])):
                blocks.append(self.left.popleft())
            self._submit(mapped, blocks)

    def _submit(self, mapped: object, blocks: list[int]) -> None:
        with _scheduler_errors(self.cluster):
            future = self.cluster.client.submit(
                compute, mapped, arithmetic(), blocks, key=f"{self._job}-{self._submitted}", pure=False, retries=_TRIES
            )
        self._submitted += 1
        self.running[future] = blocks
        future.add_done_callback(self._done.put)

    def _blocks_of_a_task(self) -> int:
        """As many as take some seconds; fewer near the end, so that all workers end together. One for each thread."""
        size = 2 * self.threads
        if self._block_seconds > 0:
            size = round(_SECONDS_OF_A_TASK / self._block_seconds)
        share = -(-len(self.left) // (_TASKS_AHEAD * self._workers))
        return max(self.threads, min(size, share))

    def finished(self) -> Iterator[Results]:
        """The results of tasks that end within a second."""
        check_interruption()
        try:
            future = self._done.get(timeout=_LOOK)
        except queue.Empty:
            return
        blocks = self.running.pop(future, None)
        if blocks is not None:
            yield self._values(future, blocks)

    def _values(self, future: Any, blocks: list[int]) -> Results:
        from distributed import KilledWorker

        values, error = self._outcome(future)
        if isinstance(error, KilledWorker):
            self._again(blocks, str(error.last_worker.address))
            return
        if error is not None:
            raise ClusterError(f"{_named(blocks)} failed on a worker: {type(error).__name__}: {error}") from error
        if isinstance(values, CuihopError):
            raise values
        assert values is not None  # noqa: S101
        self._seen = time.monotonic()
        self._block_seconds = values.seconds / len(blocks)
        yield from zip(blocks, values.values, strict=True)

    def _outcome(self, future: Any) -> tuple[ComputedBlocks | CuihopError | None, BaseException | None]:
        """The result of a task, or its error. If its worker has ended since, it is computed once more meanwhile."""
        while True:
            check_interruption()
            with _scheduler_errors(self.cluster):
                if future.status == "error":
                    return None, future.exception()
                try:
                    return future.result(timeout=_FETCH), None
                except Exception as error:
                    if future.status == "error":
                        continue
                    if not isinstance(error, TimeoutError):
                        raise
            self._count_workers()

    def _again(self, blocks: list[int], worker: str) -> None:
        """Put the blocks of a task back whose workers ended. Each is a task of its own then: one may be the cause."""
        losses = self._losses[blocks[0]] = self._losses.get(blocks[0], 0) + 1
        if losses >= _LOSSES:
            # Dask counts the end of a worker against all that it held, and reports one after the other.
            often = {number for number, others in self._losses.items() if others >= losses - 1}
            raise ClusterError(
                f"{_any_of(sorted(often.union(blocks)))} could not be computed: one worker after the other ended, at "
                f"last {worker}. Their logs may say why, such as too little memory."
            )
        for number in blocks:
            self._losses[number] = losses
        self.left.extendleft(reversed(blocks))

    def _count_workers(self) -> None:
        """Look how many workers there are, once a second; a `ClusterError` if there was none for too long."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        with _scheduler_errors(self.cluster):
            workers = len(self.cluster.client.nthreads())
        self._looked = now
        self._workers = max(1, workers)
        if workers:
            self._seen = now
        elif now - self._seen > self.cluster.wait:
            raise ClusterError(f"no worker is left in the cluster, and none came within {self.cluster.wait:g} seconds")

    def cancel(self) -> None:
        """Take the tasks that are left from the scheduler."""
        if self.running and self.cluster.client.status == "running":
            with contextlib.suppress(Exception):  # a scheduler that is gone has no task left
                self.cluster.client.cancel(list(self.running), force=True)
        self.running.clear()


@contextlib.contextmanager
def _scheduler_errors(cluster: DaskCluster) -> Generator[None, None, None]:
    try:
        yield
    except (CancelledError, OSError, AttributeError) as error:  # AttributeError: of a client without a connection
        raise ClusterError(
            f"the scheduler {cluster.address} was lost. A run with a checkpoint resumes from there."
        ) from error


def _any_of(blocks: Sequence[int]) -> str:
    names = [f"{number:,}" for number in blocks]
    return f"block {names[0]}" if len(names) == 1 else f"one of the blocks {first_few(names)}"


def _named(blocks: Sequence[int]) -> str:
    return f"block {blocks[0]:,}" if len(blocks) == 1 else f"{len(blocks):,} blocks from block {blocks[0]:,} on"
