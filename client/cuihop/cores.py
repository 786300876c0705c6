"""How many cores there are to work with, and work spread over them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from cuihop.errors import InputError

__all__ = ["checked_threads", "cores", "in_threads"]


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


def in_threads(call: Callable[[int], None], parts: range, threads: int | None = None) -> None:
    """Call for each part, where there are several on all cores, or so many. Stops at the first error or interrupt."""
    count = min(len(parts), cores() if threads is None else threads)
    if count <= 1:
        for part in parts:
            call(part)
        return
    with ThreadPoolExecutor(max_workers=count) as pool:
        futures = [pool.submit(call, part) for part in parts]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
