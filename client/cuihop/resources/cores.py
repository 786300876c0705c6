"""The cores of the process, and work spread over them."""

from __future__ import annotations

import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from cuihop.errors import InputError
from cuihop.resources.progress import check_interruption, interrupted_by

P = TypeVar("P")
T = TypeVar("T")

_AHEAD = 4  # results of each thread that wait for the loop at most, for they take memory


def cores() -> int:
    """Number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def checked_threads(threads: int | None) -> int:
    """The number of threads to use; ``None`` is one for each core of the process."""
    if threads is None:
        return cores()
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError("not a number of threads", column="threads", found=repr(threads), expected="1 or more")
    return threads


def in_order(call: Callable[[P], T], items: Iterable[P], threads: int | None = None) -> Iterator[T]:
    """Results of a call for each part, in order, computed on all cores or in ``threads`` threads.

    Parts are taken from their iterator in the calling thread, some ahead of the results. Before each part, and in its
    thread, `cuihop.resources.progress` may stop the work. An error or an interrupt that ends the loop early waits
    only for the parts under way, which end at their next check.
    """
    count = checked_threads(threads)
    if isinstance(items, Sized):
        count = min(len(items), count)

    if count <= 1:
        for item in items:
            check_interruption()
            yield call(item)
        return
    ended = threading.Event()
    with ThreadPoolExecutor(count) as pool:
        futures: deque[Future[T]] = deque()
        try:
            for item in items:
                futures.append(pool.submit(contextvars.copy_context().run, _until, ended, call, item))
                if len(futures) > _AHEAD * count:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        except BaseException:
            ended.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def in_threads(call: Callable[[int], None], items: Iterable[int], threads: int | None = None) -> None:
    """Call for each part: see `in_order`."""
    for _ in in_order(call, items, threads):
        pass


def _until(ended: threading.Event, call: Callable[..., T], *arguments: object) -> T:
    """Call, and stop the work at its next check after the end of what it is for."""

    def check() -> None:
        if ended.is_set():
            raise CancelledError

    with interrupted_by(check):
        check_interruption()
        return call(*arguments)


@contextmanager
def meanwhile(call: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Call in another thread while the block runs, which gets a function that waits for the result.

    An error or interrupt in either ends the other at its next check: see `cuihop.resources.progress`.
    """
    left = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            future = pool.submit(contextvars.copy_context().run, _until, left, call)

            def check_call() -> None:
                if future.done():
                    future.result()

            with interrupted_by(check_call):
                yield future.result
        finally:
            left.set()
