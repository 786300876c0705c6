"""Operations on many bytes at once: single processor instructions that numba has no expression for.

Each function has a plain Python form, for tests and for runs without numba, and a form of a few instructions of
LLVM for compiled code. Both read bytes in little-endian order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Bool, UInt8

LANES = 64
"""Bytes that `ones_where` and `beyond_ascii` take."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_BITS = np.uint64(64)
_EIGHT = np.uint64(8)


def ones_where(buffer: UInt8, at: int, byte: int) -> np.uint64:
    """A number whose bit k is set where ``buffer[at + k]`` is the byte. Reads 64 bytes."""
    return _ones(buffer[at : at + LANES] == byte)


def beyond_ascii(buffer: UInt8, at: int) -> np.uint64:
    """A number whose bit k is set where ``buffer[at + k]`` is not ASCII. Reads 64 bytes."""
    return _ones(buffer[at : at + LANES] >= 128)


def eight_bytes(buffer: UInt8, at: int) -> np.uint64:
    """The number whose lowest byte is ``buffer[at]``. Reads 8 bytes."""
    return np.uint64(int.from_bytes(buffer[at : at + 8].tobytes(), "little"))


def lowest_one(number: np.uint64) -> int:
    """Position of the lowest set bit; 64 where none is set."""
    value = int(number)
    return (value & -value).bit_length() - 1 if value else 64


def count_ones(number: np.uint64) -> int:
    """Number of set bits."""
    return int(number).bit_count()


def _ones(flags: Bool) -> np.uint64:
    return np.uint64(sum(1 << k for k in np.flatnonzero(flags).tolist()))


@compiled
def first_bytes(buffer: UInt8, at: int, count: int) -> np.uint64:
    """The number whose lowest byte is ``buffer[at]``, of ``count`` bytes, 1 to 8. Reads nothing behind the buffer."""
    if at + 8 <= buffer.size:
        return eight_bytes(buffer, at) & (_ALL >> (_BITS - _EIGHT * np.uint64(count)))
    number = np.uint64(0)
    for k in range(count):
        number |= np.uint64(buffer[at + k]) << np.uint64(8 * k)
    return number


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, kind: ir.Type) -> Any:
    """Address of ``buffer[at]``, as a pointer to the type."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    pointer = builder.gep(array.data, [arguments[1]])
    return builder.bitcast(pointer, kind.as_pointer())


def _bits_of(builder: Any, flags: Any) -> Any:
    return builder.bitcast(flags, ir.IntType(LANES))


_BYTES = ir.VectorType(ir.IntType(8), LANES)
_instruction: Callable[[Callable[..., Any]], Any] = intrinsic  # which has types of a function that is not called


@_instruction
def _ones_where(typing: Any, buffer: Any, at: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = builder.load(_pointer(context, builder, signature, arguments, _BYTES), align=1)
        one = builder.trunc(arguments[2], ir.IntType(8))
        lane = builder.insert_element(ir.Constant(_BYTES, ir.Undefined), one, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
        all_lanes = builder.shuffle_vector(lane, ir.Constant(_BYTES, ir.Undefined), zeros)
        return _bits_of(builder, builder.icmp_unsigned("==", block, all_lanes))

    return types.uint64(buffer, types.intp, types.intp), generate


@_instruction
def _beyond_ascii(typing: Any, buffer: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = builder.load(_pointer(context, builder, signature, arguments, _BYTES), align=1)
        return _bits_of(builder, builder.icmp_signed("<", block, ir.Constant(_BYTES, None)))

    return types.uint64(buffer, types.intp), generate


@_instruction
def _eight_bytes(typing: Any, buffer: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, arguments, ir.IntType(64)), align=1)

    return types.uint64(buffer, types.intp), generate


@_instruction
def _lowest_one(typing: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.intp(types.uint64), generate


@_instruction
def _count_ones(typing: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.intp(types.uint64), generate


# In compiled code, the instruction stands for the function. numba asks for the same names of arguments in all, and
# for a plain function (ruff: an unnecessary lambda).
# ruff: noqa: PLW0108
overload(ones_where)(lambda buffer, at, byte: lambda buffer, at, byte: _ones_where(buffer, at, byte))
overload(beyond_ascii)(lambda buffer, at: lambda buffer, at: _beyond_ascii(buffer, at))
overload(eight_bytes)(lambda buffer, at: lambda buffer, at: _eight_bytes(buffer, at))
overload(lowest_one)(lambda number: lambda number: _lowest_one(number))
overload(count_ones)(lambda number: lambda number: _count_ones(number))
