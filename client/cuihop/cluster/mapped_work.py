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
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from cuihop.errors import ClusterError, OutputError
from cuihop.files.written_files import check_output_folder, scratch_file
from cuihop.resources.block_work import BlockWork

MAGIC = b"cuihop work 001\n"
_HEAD = struct.Struct("<16sQQ")
_ALIGNED = 64
_OPENED_AT_MOST = 2

_opened: OrderedDict[str, BlockWork] = OrderedDict()
_opening = threading.Lock()


@dataclass(frozen=True, slots=True)
class MappedWork:
    """The file of a work; it travels with each task.

    Attributes:
        path: absolute. size: bytes. digest: SHA-256 of the content, in hexadecimal.
    """

    path: str
    size: int
    digest: str

    def open(self) -> BlockWork:
        """The work, its arrays mapped; of the last few in this process, the same object.

        Raises:
            ClusterError: the file is not visible here, or is another one; names this machine and the path.
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
        found = hashlib.sha256(head)
        found.update(view[len(head) :])
        if found.hexdigest() != self.digest:
            raise self._unseen("another file, by its SHA-256")
        places = struct.unpack_from(f"<{2 * count}Q", head, _HEAD.size)
        arrays = [view[at : at + size] for at, size in zip(places[::2], places[1::2], strict=True)]
        return cast(BlockWork, pickle.loads(head[begin:], buffers=arrays))  # noqa: S301 – by its SHA-256 it is ours

    def _unseen(self, problem: str) -> ClusterError:
        return ClusterError(
            f"{self.path}: not readable on {socket.gethostname()}: {problem}. "
            "Every machine of the cluster must see the cluster folder under this path."
        )


@contextlib.contextmanager
def written_work(work: BlockWork, folder: Path) -> Iterator[MappedWork]:
    """Write a work to a new file, readable by its owner only; removed when the block ends.

    Args:
        work: the work. folder: created where it is missing.

    Raises:
        OutputError: the folder cannot be written in, or the disk is full.
    """
    check_output_folder(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: not a folder for the cluster: {error.strerror or error}") from error
    with contextlib.ExitStack() as until_the_end:
        path, file = until_the_end.enter_context(scratch_file(folder.absolute() / "cuihop-work"))
        try:
            size, digest = _write(work, file)
            os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(f"{folder}: the work cannot be written: {error.strerror or error}") from error
        yield MappedWork(str(path), size, digest)


def _write(work: BlockWork, file: BinaryIO) -> tuple[int, str]:
    """Write all of it; return the number of bytes and their SHA-256."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(work, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    at = _HEAD.size + 16 * len(arrays) + len(pickled)
    places = []
    for array in arrays:
        at += -at % _ALIGNED
        places += [at, array.nbytes]
        at += array.nbytes
    head = _HEAD.pack(MAGIC, len(pickled), len(arrays)) + struct.pack(f"<{len(places)}Q", *places) + pickled
    found, written = hashlib.sha256(), 0
    for part in (memoryview(head), *arrays):
        for raw in (bytes(-written % _ALIGNED), part):
            file.write(raw)
            found.update(raw)
            written += len(raw)
    file.flush()
    return written, found.hexdigest()
