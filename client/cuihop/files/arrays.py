"""NumPy files whose rows are read on request; other forms of vectors, refused by name; arrays of other libraries."""

from __future__ import annotations

import hashlib
import io
import os
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.files.input_file import NUMPY, InputFile

__all__ = ["numpy_array"]

_ROWS_AT_ONCE = 1024
_NOT_WHOLE = (ValueError, EOFError, TypeError, OverflowError, SyntaxError, tokenize.TokenError, MemoryError)
_EXPECTED = "a file written by numpy.save"
_NUMBERS = "biuf"
_EXPECTED_NUMBERS = "numbers: a NumPy array, a tensor, or whatever has __dlpack__ or __array__"
_WRITE_IT = "Write the table with numpy.save(FILE.npy, array)."
_OTHERS = (
    (b"PK\x03\x04", ".npz", "an archive of NumPy arrays", "Save the one array: numpy.save(FILE.npy, archive[NAME])."),
    (b"PK\x03\x04", ".pt .pth .ckpt .bin", "tensors of PyTorch", "Save one: numpy.save(FILE.npy, tensor.numpy())."),
    (b"\x80", ".pt .pth .ckpt .bin .pkl .pickle", "a pickle, which could run any program", _WRITE_IT),
    (b"\x89HDF", ".h5 .hdf5 .hdf .mat", "an HDF5 file", _WRITE_IT),
)  # fmt: skip


class ArrayFile:
    """The table in a ``.npy`` file. Rows are read, not mapped: a file that shrinks meanwhile is an error, not a crash.

    Raises:
        InputError: it is no array of NumPy, is incomplete, or is one of Python objects.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            table = np.load(path, mmap_mode="r", allow_pickle=False)  # checks header and size; no page is looked at
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error
        except _NOT_WHOLE as error:
            raise InputError(f"not a whole NumPy array: {error}", file=path, advice=_WRITE_IT) from None
        if not isinstance(table, np.memmap):
            raise InputError("not a NumPy array", file=path, found=type(table).__name__, advice=_WRITE_IT)
        self.shape: tuple[int, ...] = table.shape
        self.dtype: np.dtype[Any] = table.dtype
        self._begin = int(table.offset)
        self._by_columns = bool(table.flags.f_contiguous and not table.flags.c_contiguous)
        del table
        self._file = path.open("rb", buffering=0)
        self._stamp = self._stamped()

    def __reduce__(self) -> tuple[Callable[..., ArrayFile], tuple[Any, ...]]:
        """By path and stamp: another process opens the same file, or gets an `InputError`."""
        return _reopened, (str(self.path.absolute()), self._stamp)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        first, last, _ = rows.indices(len(self))
        count, width = max(0, last - first), self.shape[1]
        if self._by_columns:
            block = np.empty((width, count), dtype=self.dtype)
            for column in range(width):
                self._read(block[column], (column * len(self) + first) * self.dtype.itemsize)
            block = block.T
        else:
            block = np.empty((count, width), dtype=self.dtype)
            self._read(block, first * width * self.dtype.itemsize)
        if self._stamped() != self._stamp:
            raise self._changed()
        return block

    def _read(self, into: npt.NDArray[Any], begin: int) -> None:
        rest = into.reshape(-1).view(np.uint8).data
        at = self._begin + begin
        while rest:
            try:
                raw = os.pread(self._file.fileno(), len(rest), at)
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror or error}", file=self.path) from error
            if not raw:
                raise self._changed()
            rest[: len(raw)] = raw
            rest = rest[len(raw) :]
            at += len(raw)

    def _stamped(self) -> tuple[int, int]:
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def _changed(self) -> InputError:
        return InputError(
            "the file was changed while it was read", file=self.path, advice="Begin again when it is whole."
        )

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def _reopened(path: str, stamp: tuple[int, int]) -> ArrayFile:
    file = ArrayFile(Path(path))
    if file._stamp != stamp:
        raise file._changed()
    return file


Rows: TypeAlias = npt.NDArray[Any] | ArrayFile
"""A table: an array, or one that stays in its file."""


def content_of_rows(table: Rows) -> str:
    """SHA-256 of shape, type and numbers, whatever file they came from and in which order of bytes and axes."""
    dtype = table.dtype.newbyteorder("<")
    digest = hashlib.sha256(f"{table.shape} {dtype.str}".encode())
    for first in range(0, len(table), _ROWS_AT_ONCE):
        digest.update(np.ascontiguousarray(table[first : first + _ROWS_AT_ONCE], dtype=dtype).view(np.uint8).data)
    return digest.hexdigest()


def is_array(file: InputFile) -> bool:
    """Recognise an array of NumPy by its first bytes.

    Raises:
        InputError: it is named ``.npy`` and is none, or holds vectors in a form that is not read.
    """
    if file.form == "array":
        return True
    head = file.first_bytes
    size = None if file.mapped_from is None else file.mapped_from.stat().st_size
    begins = head[8:10] == b'{"' and (size is None or int.from_bytes(head[:8], "little") < size)
    if file.suffix == ".safetensors" or begins:
        raise InputError(
            "not a NumPy array", file=file.name, found="a file of safetensors", expected=_EXPECTED,
            advice="Save the one tensor: numpy.save(FILE.npy, safetensors.numpy.load_file(FILE)[NAME]).",
        )  # fmt: skip
    for magic, suffixes, form, hint in _OTHERS:
        if head.startswith(magic) and file.suffix in (".npy", *suffixes.split()):
            raise InputError("not a NumPy array", file=file.name, found=form, expected=_EXPECTED, advice=hint)
    if file.suffix == ".npy":
        raise InputError("not a NumPy array", file=file.name, found=repr(head[: len(NUMPY)]), expected=_EXPECTED)
    return False


def array_in(file: InputFile) -> Rows:
    """The array of a file, whose rows stay there; that of a pipe, in memory.

    Raises:
        InputError: as `ArrayFile`; a pipe holds more than `cuihop.files.input_file.LARGEST_PIPE`.
    """
    if file.mapped_from is not None:
        return ArrayFile(file.mapped_from)
    try:
        table = np.load(io.BytesIO(file.content()), allow_pickle=False)
    except _NOT_WHOLE as error:
        raise InputError(f"not a whole NumPy array: {error}", file=file.name, advice=_WRITE_IT) from None
    return cast(npt.NDArray[Any], table)


def numpy_array(values: object, name: str) -> npt.NDArray[Any]:
    """The array as NumPy sees it, without a copy if memory can be shared. No tensor library is imported.

    A tensor of torch may require gradients and lie on a device: it is detached, and copied to the processor's memory.
    bfloat16, which NumPy does not have, becomes float32, which holds its values. A sparse matrix becomes a dense one.

    Args:
        values: of any shape.
        name: for messages.

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
        array = _exchanged(values)
        if array.dtype.kind == "V" and array.dtype.names is None:  # the bfloat16 of ml_dtypes, which JAX uses
            array = array.astype(np.float32)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"not an array that can be read: {error}", column=name, found=type(values).__name__,
            expected=_EXPECTED_NUMBERS, advice="An array on a device has to be copied to the processor's memory first.",
        ) from error  # fmt: skip
    if array.dtype.kind not in _NUMBERS:
        raise InputError("not numbers", column=name, found=f"dtype {array.dtype}", expected=_EXPECTED_NUMBERS)
    return array


def _exchanged(values: object) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return np.asarray(values)
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError):
        if not hasattr(values, "__array__"):
            raise
        return np.asarray(values)
