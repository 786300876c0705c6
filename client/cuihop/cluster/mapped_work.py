r"""A work as one file that the processes of a cluster map: its arrays are in memory once a machine.

The file, all numbers little-endian::

    MAGIC     16 bytes   "cuihop work 001\n"
    uint64    length of the pickle
    uint64    n, the number of arrays
    2 n × uint64         offset and length of each array
    pickle               of the work, protocol 5, without its arrays
    arrays               each from a multiple of 64 bytes on

A process reads the file once to compare its SHA-256 with the one that came with the task: nothing else is unpickled.
The mapping is copy-on-write, and nothing writes. Read-only arrays have another type for numba, and so other machine
code: a mapped array runs that of one process, which is compiled already.

A task of a worker is some blocks of it, computed in all threads of the worker.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import pickle
import socket
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from cuihop.errors import ClusterError, CuihopError, output_errors
from cuihop.files.written_files import check_output_folder, scratch_file
from cuihop.resources.arrays import Float64
from cuihop.resources.block_work import BlockWork
from cuihop.resources.cores import in_order
from cuihop.resources.optional_packages import versions

MAGIC = b"cuihop work 001\n"
_HEAD = struct.Struct("<16sQQ")
_ALIGNED = 64
_OPENED_AT_MOST = 2

_opened: OrderedDict[str, BlockWork] = OrderedDict()
_opening = threading.Lock()

PACKAGES = ("cuihop", "numpy", "numba")
"""Packages that the bits of a result depend on."""
_one_task = threading.Lock()  # Dask starts one task a thread, and a task uses all threads


@dataclass(frozen=True, slots=True)
class MappedWork:
    """The file of a work, by its absolute path, bytes and SHA-256; it travels with each task."""

    path: str
    size: int
    digest: str

    def open(self) -> BlockWork:
        """The work, its arrays mapped; of the last few in this process, the same object.

        A file that is not visible here, or another one, is a `ClusterError` that names this machine and the path.
        """
        with _opening:
            if self.digest not in _opened:
                _opened[self.digest] = self._mapped()
                while len(_opened) > _OPENED_AT_MOST:
                    _opened.popitem(last=False)
            _opened.move_to_end(self.digest)
            return _opened[self.digest]

    def _mapped(self) -> BlockWork:
        try:
            with Path(self.path).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if size == self.size else b""
        except OSError as error:
            raise self._unseen(error.strerror or str(error)) from None
        if len(content) != self.size:
            raise self._unseen(f"{size:,} bytes instead of {self.size:,}")
        view = memoryview(content)
        _, length, count = _HEAD.unpack_from(view)
        begin = _HEAD.size + 16 * count
        head = bytes(view[: begin + length])  # what is unpickled is what is hashed, even if the file changes meanwhile
        digest = hashlib.sha256(head)
        digest.update(view[len(head) :])
        if digest.hexdigest() != self.digest:
            raise self._unseen("another file, by its SHA-256")
        extents = struct.unpack_from(f"<{2 * count}Q", head, _HEAD.size)
        arrays = [view[at : at + size] for at, size in zip(extents[::2], extents[1::2], strict=True)]
        return cast(BlockWork, pickle.loads(head[begin:], buffers=arrays))  # noqa: S301 – by its SHA-256 it is ours

    def _unseen(self, problem: str) -> ClusterError:
        return ClusterError(
            f"{self.path}: not readable on {socket.gethostname()}: {problem}. "
            "Every machine of the cluster must see the cluster folder under this path."
        )


@contextlib.contextmanager
def written_work(job: BlockWork, folder: Path) -> Iterator[MappedWork]:
    """Write a work to a new file, readable by its owner only, in a folder; removed when the block ends."""
    check_output_folder(folder)
    with output_errors(f"{folder}: not a folder for the cluster"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.ExitStack() as until_the_end:
        path, file = until_the_end.enter_context(scratch_file(folder.absolute() / "cuihop-work"))
        with output_errors(f"{folder}: the work cannot be written"):
            size, digest = _write(job, file)
            os.fsync(file.fileno())
        yield MappedWork(str(path), size, digest)


def _write(job: BlockWork, file: BinaryIO) -> tuple[int, str]:
    """Write all of it; return the number of bytes and their SHA-256."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(job, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    at = _HEAD.size + 16 * len(arrays) + len(pickled)
    extents = []
    for array in arrays:
        at += -at % _ALIGNED
        extents += [at, array.nbytes]
        at += array.nbytes
    head = _HEAD.pack(MAGIC, len(pickled), len(arrays)) + struct.pack(f"<{len(extents)}Q", *extents) + pickled
    digest, written = hashlib.sha256(), 0
    for chunk in (memoryview(head), *arrays):
        for raw in (bytes(-written % _ALIGNED), chunk):
            file.write(raw)
            digest.update(raw)
            written += len(raw)
    file.flush()
    return written, digest.hexdigest()


@dataclass(frozen=True, slots=True)
class ComputedBlocks:
    """The values of each block of a task, as `BlockWork.values`, and the seconds that they took."""

    seconds: float
    values: Sequence[Float64]


@cache
def arithmetic() -> Mapping[str, str]:
    """Versions that the bits of a result depend on, and a digest of logarithms, which depend on the processor."""
    logarithms = hashlib.sha256(np.log2(np.arange(2.0, 4098.0)).tobytes()).hexdigest()[:12]
    installed = versions(*PACKAGES)
    return {**{package: installed[package] for package in PACKAGES}, "logarithms": logarithms}


def compute(mapped: MappedWork, expected: Mapping[str, str], numbers: Sequence[int]) -> ComputedBlocks | CuihopError:
    """Compute blocks in the threads of this Dask worker, one call at a time; ``expected`` is the client's `arithmetic`.

    An error of cuihop is returned and not raised, so that Dask does not try again.
    """
    from distributed import get_worker
    from threadpoolctl import threadpool_limits

    available = get_worker().state.nthreads
    with _one_task:
        try:
            _compare(expected)
            begin = time.perf_counter()
            job = mapped.open()
            threads = max(1, min(available, job.threads))
            with threadpool_limits(max(1, available // threads), user_api="blas"):
                values = list(in_order(job.values, numbers, threads))
        except CuihopError as error:
            return _portable(error)
        return ComputedBlocks(time.perf_counter() - begin, values)


def _compare(expected: Mapping[str, str]) -> None:
    for name, here in arithmetic().items():
        if here != expected[name]:
            hint = ""
            if name == "logarithms":
                hint = ". Its processor has other instructions: see NPY_DISABLE_CPU_FEATURES of NumPy"
            raise ClusterError(
                f"the worker on {socket.gethostname()} would not compute the same bits: it has {name} {here}, "
                f"and this process {expected[name]}{hint}"
            )


def _portable(error: CuihopError) -> CuihopError:
    """The error, or its text where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 – made here
    except Exception:  # the constructor of an error may take other arguments than its text
        return ClusterError(str(error))
    return error
