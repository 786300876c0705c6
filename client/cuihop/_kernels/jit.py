"""How a function becomes machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

__all__ = ["compiled"]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function compiled on its first call, without the interpreter lock while it runs.

    Machine code is kept on disk, beside the module or in the user's cache folder. Where neither can be written
    (a read-only installation), it is compiled in each process anew.
    """
    try:
        fast: Callable[P, R] = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        fast = numba.njit(nogil=True, error_model="numpy")(function)
    return fast
