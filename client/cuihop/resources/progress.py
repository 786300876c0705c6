"""Progress of long work, and its interruption between two blocks: at a deadline, or when the result is not needed.

Compiled code cannot be interrupted, so long operations are divided into blocks of some tenths of a second, and between
blocks call `check_interruption`. The check is a value of the context (`contextvars`) that the work runs in, so no
operation of `ConceptGraph` needs a parameter for it. `cuihop.resources.cores` passes it on to the threads it starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int], None]
"""Callback with the number of finished items and of all items, called in the calling thread."""

StepProgress = Callable[[str, int, int], None]
"""Callback with the current step or file, the amount done and the total, called in the calling thread."""

_SECONDS = 0.1  # of a compiled call
_FIRST_ITEMS = 64  # of a compiled call whose items may each take long

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("cuihop_interruption", default=None)


@contextmanager
def interrupted_by(check: Callable[[], None]) -> Iterator[None]:
    """Make long work in this block call ``check`` between its parts, in several threads; it raises to stop the work.

    A check of a block around this one is called as well.
    """
    outer = _CHECK.get()

    def both() -> None:
        if outer is not None:
            outer()
        check()

    token = _CHECK.set(both)
    try:
        yield
    finally:
        _CHECK.reset(token)


def check_interruption() -> None:
    """Call the check of the context, if there is one; it raises to stop the work."""
    check = _CHECK.get()
    if check is not None:
        check()


def timed_slices(first: int, last: int) -> Iterator[slice]:
    """The items from ``first`` to ``last`` in slices that take about a tenth of a second each, and a check after each.

    For items of which nobody knows before whether one takes a microsecond or ten milliseconds, such as a search.
    """
    items = _FIRST_ITEMS
    while first < last:
        begun = time.monotonic()
        yield slice(first, min(first + items, last))
        spent = time.monotonic() - begun
        first += items
        items = max(1, min(2 * items, int(items * _SECONDS / max(spent, 1e-9))))
        check_interruption()
