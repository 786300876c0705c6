"""Compilation to machine code: announced before it begins, and timed.

This module imports no compiler. The command line and the service name a listener; ``cuihop._kernels.jit`` reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_TEXT = "compiling, once after an install or an update (about 15 s)"

_listener: Callable[[str], None] | None = None
_seconds = 0.0
_begins: list[float] = []


def announce_compilation(listener: Callable[[str], None] | None) -> None:
    """Name the function that is called with a sentence, once, before the process compiles anything."""
    global _listener  # noqa: PLW0603
    _listener = listener


def seconds_of_compilation() -> float:
    """Seconds that this process has spent on compilation, or on waiting for another one that compiles the same."""
    if not _begins:  # as in nearly every request of a service
        return _seconds
    return _seconds + sum(time.perf_counter() - begin for begin in _begins[:1])  # another thread may end it meanwhile


def compilation_begins() -> None:
    """Announce the first compilation. Called under the compiler's lock; compilations may be nested."""
    global _listener
    listener, _listener = _listener, None
    if listener is not None:
        listener(_TEXT)
    _begins.append(time.perf_counter())


def compilation_ends() -> None:
    """Add the time since the outermost ``compilation_begins``."""
    global _seconds  # noqa: PLW0603
    if len(_begins) == 1:  # added before it ends: a thread that reads meanwhile never loses the time
        _seconds += time.perf_counter() - _begins[0]
    _begins.pop()
