"""How many cores there are to work with, and work spread over them."""

from __future__ import annotations

import contextvars
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from cuihop.errors import InputError
from cuihop.resources.interruption import check_interruption

__all__ = ["checked_threads", "cores", "in_order", "in_threads"]

T = TypeVar("T")

_AHEAD = 4  # so many results a thread wait for the loop, and no more: they take memory


def cores() -> int:
    """The cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def checked_threads(threads: int | None) -> int:
    """How many threads to use; ``None`` is as many as the process has cores."""
    if threads is None:
        return cores()
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError("not a number of threads", column="threads", found=repr(threads), expected="1 or more")
    return threads


def in_order(call: Callable[[int], T], parts: Iterable[int], threads: int | None = None) -> Iterator[T]:
    """What the call gives for each part, in their order, on all cores or so many where there are several parts.

    Before each part, and in its thread, `cuihop.resources.interruption` may stop the work. Whatever ends the loop
    over it early, an error or an interrupt, waits only for the parts that are under way.
    """
    parts = list(parts)
    count = min(len(parts), checked_threads(threads))

    def checked(part: int) -> T:
        check_interruption()
        return call(part)

    if count <= 1:
        yield from map(checked, parts)
        return
    with ThreadPoolExecutor(count) as pool:
        futures: deque[Future[T]] = deque()
        try:
            for part in parts:
                futures.append(pool.submit(contextvars.copy_context().run, checked, part))
                if len(futures) > _AHEAD * count:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def in_threads(call: Callable[[int], None], parts: Iterable[int], threads: int | None = None) -> None:
    """Call for each part: see `in_order`."""
    for _ in in_order(call, parts, threads):
        pass
