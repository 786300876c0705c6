"""A question is asked again where it failed for a passing reason."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from cuihop.remote.problems import Failed

__all__ = ["answered"]

T = TypeVar("T")

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0


def answered(
    attempt: Callable[[], T],
    seconds: float,
    *,
    opening: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """What the attempt gives, made again after pauses that grow and vary, so that clients do not come back in step.

    All questions only read, so asking one again is safe.

    Args:
        attempt: raises `Failed`.
        seconds: no attempt begins later than this after the first.
        opening: whether nothing was ever answered: an address where nobody listens is then told at once.
        clock, sleep: of `time`.

    Raises:
        CuihopError: the error of the last attempt.
    """
    ends = clock() + seconds
    pause = _FIRST_PAUSE
    while True:
        try:
            return attempt()
        except Failed as failed:
            wait = random.uniform(pause / 2, pause)  # noqa: S311 - no secret
            if failed.retry_after is not None and failed.retry_after >= 0:  # neither nonsense nor no number
                wait += failed.retry_after
            if not failed.retry or (opening and failed.connection) or clock() + wait > ends:
                raise failed.error from failed.__cause__
        sleep(wait)
        pause = min(2 * pause, _LONGEST_PAUSE)
