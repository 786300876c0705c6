"""Compilation of functions to machine code."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np

__all__ = ["compiled", "signed"]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call; it runs without the interpreter lock.

    Machine code is cached on disk, beside the module or in the user's cache folder. Where neither can be written
    (a read-only installation, a full disk), each process compiles anew; so it does where the file cannot be read.
    """
    try:
        fast: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        fast = numba.njit(nogil=True, error_model="numpy")(function)
    cache: Any = getattr(fast, "_cache", None)  # None where numba is switched off (NUMBA_DISABLE_JIT)
    if hasattr(cache, "save_overload"):
        save = cache.save_overload

        def save_if_possible(*machine_code: object) -> None:
            with contextlib.suppress(OSError):
                save(*machine_code)

        cache.save_overload = save_if_possible
        load = cache.load_overload

        def load_if_possible(*signature: object) -> object:
            try:
                return load(*signature)
            except Exception:  # a truncated file, or one of another version: pickle raises whatever it likes
                with contextlib.suppress(OSError):
                    cache.flush()
                return None

        cache.load_overload = load_if_possible
    compile_now = getattr(fast, "compile", None)
    if compile_now is not None:
        fast.compile = _interrupted_after(compile_now)
    answer: Callable[P, R] = fast
    return answer


def _interrupted_after(work: Callable[P, R]) -> Callable[P, R]:
    """``work``, after which a Ctrl-C that came meanwhile takes effect.

    Within a compilation it would come up in a function that LLVM calls, where the exception is printed and ignored.
    """

    def uninterrupted(*args: P.args, **options: P.kwargs) -> R:
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(handler):
            return work(*args, **options)
        interrupts: list[tuple[int, FrameType | None]] = []
        signal.signal(signal.SIGINT, lambda *interrupt: interrupts.append(interrupt))
        try:
            return work(*args, **options)
        finally:
            signal.signal(signal.SIGINT, handler)
            for interrupt in interrupts[:1]:
                handler(*interrupt)

    return uninterrupted


@compiled
def signed(number: Any) -> Any:
    """An unsigned number as a signed one. Compiled ``int`` leaves it unsigned, and mixing the two gives a float."""
    return np.int64(number)
