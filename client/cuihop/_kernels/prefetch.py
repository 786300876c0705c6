"""Prefetching: memory requested before it is read, so that several reads wait together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.ir as llvm
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic, overload

_READ, _KEEP, _DATA = 0, 2, 1  # arguments of llvm.prefetch, see LLVM's reference


def prefetch(array: npt.NDArray[Any], place: int) -> None:
    """Fetch the cache line of an element of a contiguous array. A hint, without effect where it is not compiled."""


def _generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    byte = llvm.IntType(8).as_pointer()
    number = llvm.IntType(32)
    hint = builder.module.declare_intrinsic(
        "llvm.prefetch", [byte], llvm.FunctionType(llvm.VoidType(), [byte, number, number, number])
    )
    element = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
    builder.call(hint, [element, *(number(value) for value in (_READ, _KEEP, _DATA))])
    return context.get_dummy_value()


def _typed(context: Any, array: Any, place: Any) -> Any:
    return types.void(array, types.int64), _generated


_fetch: Any = intrinsic(_typed)


def _compiled(array: Any, place: Any) -> Callable[..., None]:
    def call(array: Any, place: Any) -> None:  # numba compares the two signatures, annotations and all
        _fetch(array, place)

    return call


overload(prefetch, inline="always")(_compiled)
