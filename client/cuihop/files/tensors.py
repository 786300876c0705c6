"""Arrays of other libraries as NumPy arrays: tensors of torch, and whatever speaks DLPack or ``__array__``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError

__all__ = ["numpy_array"]

_NUMBERS = "biuf"
_EXPECTED = "numbers: a NumPy array, a tensor, or whatever has __dlpack__ or __array__"


def numpy_array(values: object, name: str) -> npt.NDArray[Any]:
    """The array as NumPy sees it, without a copy where memory can be shared. No tensor library is imported.

    A tensor of torch may require gradients and lie on a device: it is detached, and copied to the processor's memory.
    bfloat16, which NumPy does not have, becomes float32, which holds its values. A sparse matrix becomes a dense one.

    Args:
        values: of any shape.
        name: what messages call it.

    Returns:
        Truth values, whole numbers or floating point. It may be read-only.

    Raises:
        InputError: it holds no numbers, or lies where it cannot be reached.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError("values are masked", column=name, found="a masked array", expected="a number in every place")
    try:
        for step in ("detach", "cpu", "toarray"):  # the first two of torch, the last of SciPy
            if callable(method := getattr(values, step, None)) and not isinstance(values, np.ndarray):
                values = method()
        # What torch does not hand over by DLPack (bool: up to 2.0), in types that it does.
        widen = {"torch.bfloat16": "float", "torch.bool": "byte"}.get(str(getattr(values, "dtype", "")))
        if widen is not None:
            values = getattr(values, widen)()
        found = _exchanged(values)
        if found.dtype.kind == "V" and found.dtype.names is None:  # the bfloat16 of ml_dtypes, which JAX uses
            found = found.astype(np.float32)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"not an array that can be read: {error}", column=name, found=type(values).__name__, expected=_EXPECTED,
            advice="An array on a device has to be copied to the processor's memory first.",
        ) from error  # fmt: skip
    if found.dtype.kind not in _NUMBERS:
        raise InputError("not numbers", column=name, found=f"dtype {found.dtype}", expected=_EXPECTED)
    return found


def _exchanged(values: object) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return np.asarray(values)
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError):
        if not hasattr(values, "__array__"):
            raise
        return np.asarray(values)
