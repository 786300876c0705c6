"""Arrays: their types, bounds of rows of different lengths, and numbers of which some are missing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from cuihop.errors import LimitExceeded

Bool = npt.NDArray[np.bool_]
UInt8 = npt.NDArray[np.uint8]
UInt16 = npt.NDArray[np.uint16]
UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

Integer = TypeVar("Integer", bound=np.integer)
Number = TypeVar("Number", int, float)

_SHOWN = 10


def bounds_of(lengths: npt.ArrayLike, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """Bounds of rows in compressed form, shape (rows + 1,): row i lies from ``bounds[i]`` up to ``bounds[i + 1]``.

    A sum beyond the type is a `LimitExceeded`.

    >>> bounds_of([2, 0, 1]).tolist()
    [0, 2, 2, 3]
    """
    lengths = np.asarray(lengths)
    if (total := int(lengths.sum(dtype=np.int64))) > (most := np.iinfo(dtype).max):
        raise LimitExceeded(f"a table of {total:,} values, and it holds at most {most:,}. Load fewer vocabularies")
    bounds = np.zeros(len(lengths) + 1, dtype=dtype)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def ascending(numbers: npt.NDArray[Integer]) -> npt.NDArray[Integer]:
    """Distinct values, ascending. Many times faster than `numpy.unique`, which since numpy 2.3 hashes them first.

    >>> ascending(np.array([3, 1, 3, 2])).tolist()
    [1, 2, 3]
    """
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only view of an array: mapped arrays are read-only, and code is compiled for that type alone."""
    view = array.view()
    view.flags.writeable = False
    return view


class NumbersOrNone(Sequence[Number | None]):
    """A sequence of numbers, or ``None`` in place of a missing one, on two arrays."""

    @property
    @abstractmethod
    def _arrays(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """The numbers, and true for each that is present; shape (length,)."""

    def __len__(self) -> int:
        return len(self._arrays[0])

    def __repr__(self) -> str:
        first = ", ".join(map(str, self[:_SHOWN]))
        more = f", … {len(self) - _SHOWN:,} more" if len(self) > _SHOWN else ""
        return f"{type(self).__name__}([{first}{more}])"

    @overload
    def __getitem__(self, index: int) -> Number | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[Number | None]: ...
    def __getitem__(self, index: int | slice) -> Number | list[Number | None] | None:
        numbers, present = self._arrays
        if isinstance(index, slice):
            return _as_list(numbers[index], present[index])
        return numbers[index].item() if present[index] else None

    def __iter__(self) -> Iterator[Number | None]:
        return iter(self.to_list())

    def to_list(self) -> list[Number | None]:
        """The numbers as plain Python values."""
        return _as_list(*self._arrays)


def _as_list(numbers: npt.NDArray[Any], present: npt.NDArray[np.bool_]) -> list[Any]:
    if present.all():
        return list(numbers.tolist())
    return [number if there else None for number, there in zip(numbers.tolist(), present.tolist(), strict=True)]
