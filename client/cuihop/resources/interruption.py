"""Stopping long work between two blocks of it: at a deadline, or where nobody waits for the result.

Compiled code cannot be interrupted, so long operations are cut into blocks of some tenths of a second, and between
two blocks call `check_interruption`. The check is a value of the context (`contextvars`) that the work runs in, so no
operation of `ConceptGraph` needs a parameter for it. `cuihop.resources.cores` passes it on to the threads it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["check_interruption", "interrupted_by"]

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("cuihop_interruption", default=None)


@contextmanager
def interrupted_by(check: Callable[[], None]) -> Iterator[None]:
    """Have long work in this block call ``check`` between its parts.

    Args:
        check: raises where the work is to stop; called from several threads.
    """
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def check_interruption() -> None:
    """Call the check of the context, which raises where the work is to stop. No check: nothing."""
    check = _CHECK.get()
    if check is not None:
        check()
