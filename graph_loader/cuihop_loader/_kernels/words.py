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
from numba.core import cgutils
from numba.extending import intrinsic, overload

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Bool, Int32, UInt8

LANES = 64
"""Bytes that `ones_where` and `beyond_ascii` take."""

_WRITTEN = 32
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


def copy_bytes(source: UInt8, begin: int, end: int, out: UInt8, at: int) -> None:
    """Copy ``source[begin:end]`` to ``out[at:]``."""
    out[at : at + end - begin] = source[begin:end]


def first_ones(number: np.uint64, base: int, positions: Int32, at: int) -> int:
    """Write ``base`` plus the position of each set bit to ``positions[at:]``, up to the 32nd; return 32.

    All 32 change in any case. Without an instruction of the processor for this, nothing is written, and it returns 0.
    """
    ones = np.flatnonzero([int(number) >> k & 1 for k in range(64)])[:_WRITTEN]
    positions[at : at + len(ones)] = base + ones
    return _WRITTEN


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
_helpers: Any = cgutils
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


@_instruction
def _copy_bytes(typing: Any, source: Any, begin: Any, end: Any, out: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, from_ = (context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (3, 0))
        count = builder.sub(arguments[2], arguments[1])
        _helpers.raw_memcpy(builder, builder.gep(to, [arguments[4]]), builder.gep(from_, [arguments[1]]), count, 1)
        return context.get_dummy_value()

    return types.void(source, types.intp, types.intp, out, types.intp), generate


@_instruction
def _first_ones(typing: Any, ones: Any, base: Any, positions: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if "+avx512vbmi2" not in context.codegen()._tm_features:
            return ir.Constant(ir.IntType(64), 0)
        bits, number = ir.VectorType(ir.IntType(1), LANES), ir.IntType(32)
        numbers = ir.VectorType(number, LANES // 4)
        compress = _helpers.get_or_insert_function(
            builder.module, ir.FunctionType(_BYTES, [_BYTES, _BYTES, bits]), "llvm.x86.avx512.mask.compress.v64i8"
        )
        lanes = ir.Constant(_BYTES, list(range(LANES)))
        in_front = builder.call(compress, [lanes, lanes, builder.bitcast(arguments[0], bits)])
        first = builder.insert_element(
            ir.Constant(numbers, ir.Undefined),
            builder.trunc(arguments[1], ir.IntType(32)),
            ir.Constant(ir.IntType(32), 0),
        )
        bases = builder.shuffle_vector(first, first, ir.Constant(numbers, None))
        array = context.make_array(signature.args[2])(context, builder, arguments[2])
        for begin in range(0, _WRITTEN, LANES // 4):
            some = ir.Constant(numbers, list(range(begin, begin + LANES // 4)))
            values = builder.zext(builder.shuffle_vector(in_front, in_front, some), numbers)
            to = builder.gep(array.data, [builder.add(arguments[3], ir.Constant(ir.IntType(64), begin))])
            builder.store(builder.add(values, bases), builder.bitcast(to, numbers.as_pointer()), align=4)
        return ir.Constant(ir.IntType(64), _WRITTEN)

    return types.intp(types.uint64, types.intp, positions, types.intp), generate


# In compiled code, the instruction stands for the function. numba asks for the same names of arguments in all, and
# for a plain function (ruff: an unnecessary lambda).
# ruff: noqa: PLW0108
overload(ones_where)(lambda buffer, at, byte: lambda buffer, at, byte: _ones_where(buffer, at, byte))
overload(beyond_ascii)(lambda buffer, at: lambda buffer, at: _beyond_ascii(buffer, at))
overload(eight_bytes)(lambda buffer, at: lambda buffer, at: _eight_bytes(buffer, at))
overload(lowest_one)(lambda number: lambda number: _lowest_one(number))
overload(count_ones)(lambda number: lambda number: _count_ones(number))
overload(copy_bytes)(lambda source, begin, end, out, at:
    lambda source, begin, end, out, at: _copy_bytes(source, begin, end, out, at))  # fmt: skip
overload(first_ones)(lambda number, base, positions, at:
    lambda number, base, positions, at: _first_ones(number, base, positions, at))  # fmt: skip
