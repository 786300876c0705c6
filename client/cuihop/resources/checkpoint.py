r"""Finished blocks of a long job in a file, so that an interrupted job goes on where it was.

The file, all numbers little-endian::

    MAGIC     16 bytes   "cuihop blocks 1\n"
    record    uint64     length of the content in bytes
              uint64     XXH3-64 of the content
              content    the first: JSON, what the numbers depend on; each other: a block
    block     int64      the part of the job that it belongs to
              int64      its number
              int64      n, how many queries it has
              n int64    their places
              float64    the values, as many for each query as the job says; gains are stored to the last bit

A record is appended when its block is finished. Whatever a crash leaves torn at the end fails its checksum or its
length, and is cut off when the job goes on.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import struct
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from cuihop.errors import InputError, OutputError
from cuihop.files.text_lines import quoted

__all__ = ["Checkpoint", "FinishedBlock", "open_checkpoint"]

MAGIC = b"cuihop blocks 1\n"
_RECORD = struct.Struct("<QQ")
_BLOCK = struct.Struct("<qqq")
_ADVICE = "Give another file, or delete this one to begin anew."


@dataclass(frozen=True, eq=False)
class FinishedBlock:
    """A block that needs no work any more.

    Attributes:
        part, number: the part of the job, and the number of the block in it.
        queries: int64, shape (queries,): their places.
        values: float64, shape (queries, values of each).
    """

    part: int
    number: int
    queries: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


class Checkpoint:
    """The file of one job, open for appending; a context manager.

    Args:
        path: the file; made where there is none.
        depends: everything that the numbers depend on, as values of JSON. A file of other values is refused.

    Raises:
        InputError: the file is no checkpoint, belongs to a job of other inputs, or another process has it open.
        OutputError: it cannot be written.
    """

    def __init__(self, path: str | Path, depends: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.finished: list[FinishedBlock] = []
        self._lock = threading.Lock()
        self._failure: OSError | None = None
        header = json.dumps(depends, ensure_ascii=False).encode()
        with self._writing():
            self._file = self._opened()
        try:
            self._lock_file()
            end = self._read(json.loads(header))
            with self._writing():
                self._file.seek(end)
                self._file.truncate()
                if end == 0:
                    self._write(MAGIC)
                    self._append(header)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def of_part(self, part: int) -> list[FinishedBlock]:
        """The finished blocks of a part of the job."""
        return [block for block in self.finished if block.part == part]

    def add(self, block: FinishedBlock) -> None:
        """Append a finished block; from any thread.

        Raises:
            OutputError: the disk is full. What was appended before stays good.
        """
        content = _BLOCK.pack(block.part, block.number, len(block.queries))
        content += block.queries.astype("<i8").tobytes() + block.values.astype("<f8").tobytes()
        with self._lock, self._writing():
            self._append(content)

    def remove(self) -> None:
        """Delete the file: the job is finished."""
        self.path.unlink(missing_ok=True)

    def _opened(self) -> FileIO:
        opened = FileIO(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o666), "r+")
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            opened.close()
            raise OSError(errno.EINVAL, "a device or a pipe, and not a file")
        return opened

    def _lock_file(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows keeps no such locks
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise InputError("another process works on this checkpoint", file=self.path, advice=_ADVICE) from None

    def _append(self, content: bytes) -> None:
        self._write(_RECORD.pack(len(content), xxhash.xxh3_64_intdigest(content)) + content)

    def _write(self, raw: bytes) -> None:
        """To the operating system at once: what stands there survives the end of this process."""
        if self._failure is not None:  # a part of a block may stand at the end: nothing may follow it
            raise self._failure
        self._failure = OSError(errno.EINTR, "writing a block was interrupted")
        rest = memoryview(raw)
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError as error:
            self._failure = error
            raise
        self._failure = None

    def _read(self, depends: Mapping[str, Any]) -> int:
        """Take over what is there. Returns where the good part ends."""
        size = os.fstat(self._file.fileno()).st_size
        if not MAGIC.startswith(self._file.read(len(MAGIC))):
            raise InputError(
                "not a checkpoint", file=self.path, expected="a file that --checkpoint wrote, or none", advice=_ADVICE
            )
        records = self._records(size)
        header = next(records, None)
        if header is None:
            return 0
        try:
            found = json.loads(header)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._damaged("its first record")
        self._compare(found, depends)
        end = self._file.tell()
        for content in records:
            self.finished.append(self._block(content))
            end = self._file.tell()
        return end

    def _block(self, content: bytes) -> FinishedBlock:
        """A block whose checksum is right: its numbers may still be those of another program."""
        if len(content) < _BLOCK.size:
            raise self._damaged("a block")
        part, number, queries = _BLOCK.unpack_from(content)
        rest = len(content) - _BLOCK.size - 8 * queries
        if queries < 0 or rest < 0 or rest % (8 * queries or 8) or (rest and not queries):
            raise self._damaged("a block")
        places = np.frombuffer(content, dtype="<i8", count=queries, offset=_BLOCK.size)
        if (places < 0).any() or len(set(places.tolist())) < queries:
            raise self._damaged("a block")
        values = np.frombuffer(content, dtype="<f8", offset=_BLOCK.size + places.nbytes)
        width = values.size // queries if queries else 0
        return FinishedBlock(part, number, places.astype(np.int64), values.reshape(queries, width).astype(np.float64))

    def _damaged(self, what: str) -> InputError:
        return InputError("not a checkpoint", file=self.path, found=f"{what} that is none", advice=_ADVICE)

    def _records(self, size: int) -> Iterator[bytes]:
        while True:
            head = self._file.read(_RECORD.size)
            if len(head) < _RECORD.size:
                return
            length, checksum = _RECORD.unpack(head)
            if length > size - self._file.tell():
                return
            content = self._file.read(length)
            if xxhash.xxh3_64_intdigest(content) != checksum:
                return
            yield content

    def _compare(self, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        for name in dict.fromkeys((*expected, *found)):
            if found.get(name) != expected.get(name):
                raise InputError(
                    "the checkpoint belongs to a job of other inputs",
                    file=self.path,
                    column=name,
                    found=quoted(json.dumps(found.get(name), ensure_ascii=False)),
                    expected=quoted(json.dumps(expected.get(name), ensure_ascii=False)),
                    advice=_ADVICE,
                )

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"{self.path}: the checkpoint cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def open_checkpoint(
    path: str | Path | None, depends: Mapping[str, Any], *, keep: bool = False
) -> Iterator[Checkpoint | None]:
    """The checkpoint at a path, if one is given; removed when the work ends well, unless it is to be kept.

    Raises:
        InputError, OutputError: as `Checkpoint`.
    """
    if path is None:
        yield None
        return
    with Checkpoint(path, depends) as opened:
        yield opened
        if not keep:
            opened.remove()
