r"""Checkpoint files: finished blocks of a long job, from which an interrupted job resumes.

The file, all numbers little-endian::

    MAGIC     16 bytes   "cuihop blocks 1\n"
    record    uint64     length of the content in bytes
              uint64     XXH3-64 of the content
              content    the first: JSON, the inputs of the numbers; each other: a block
    block     int64      the part of the job
              int64      its number
              int64      n, the number of its queries
              n int64    positions of the queries
              float64    the values, equally many for each query; gains are stored to the last bit

A record is appended when its block is finished. A partial record that a crash leaves at the end fails its checksum or
its length, and is cut off when the job resumes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import struct
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from cuihop.errors import FileNotRemoved, InputError, output_errors
from cuihop.resources.arrays import Float64, Int64
from cuihop.resources.shard import ShardRecord, check_fields, locked, neighbours_of, shard_folders

MAGIC = b"cuihop blocks 1\n"
_RECORD = struct.Struct("<QQ")
_BLOCK = struct.Struct("<qqq")
_ADVICE = "Give another file, or delete this one to start again."


def remove_finished(path: Path) -> None:
    """Remove a file of finished work. If it cannot be removed, that is a warning: the work is not lost by it."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        text = f"{path}: no longer needed, but it cannot be removed: {error.strerror}"
        warnings.warn(text, FileNotRemoved, stacklevel=2)


@dataclass(frozen=True, eq=False)
class FinishedBlock:
    """A block of a part of the job: positions of its queries, int64; values, float64, shape (queries, values each)."""

    part: int
    number: int
    queries: Int64
    values: Float64


class Checkpoint:
    """The file of one job, open for appending; a context manager.

    Blocks that shards computed are taken too, from the files of the same name in the folders of shards next to it. The
    file of a shard must have the same inputs as that of the first other shard. All inputs of the numbers are in
    ``depends``, as JSON values.

    Raises:
        InputError: the file is not a checkpoint, belongs to a job of other inputs, or is open in another process.
        OutputError: it cannot be written.
    """

    def __init__(self, path: str | Path, depends: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.finished: list[FinishedBlock] = []
        self._lock = threading.Lock()
        self._failure: OSError | None = None
        self._writing = partial(output_errors, f"{self.path}: the checkpoint cannot be written")
        header = json.dumps(depends, ensure_ascii=False).encode()
        with self._writing():
            self._file = self._opened()
        try:
            locked(self._file, InputError("another process works on this checkpoint", file=self.path, advice=_ADVICE))
            end = self._take(self._file, self.path, json.loads(header))
            self._take_shards(json.loads(header))
            _check_neighbour(self.path, json.loads(header))
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

    def taken(self, part: int) -> Iterator[FinishedBlock]:
        """The finished blocks of a part of the job, each once: its memory is released then."""
        self.finished, blocks = [], self.finished
        while blocks:
            block = blocks.pop()
            if block.part == part:
                yield block
            else:
                self.finished.append(block)

    def add(self, block: FinishedBlock) -> None:
        """Append a finished block, from any thread. If the disk is full, blocks appended before remain valid."""
        content = _BLOCK.pack(block.part, block.number, len(block.queries))
        content += block.queries.astype("<i8").tobytes() + block.values.astype("<f8").tobytes()
        with self._lock, self._writing():
            self._append(content)

    def remove(self) -> None:
        """Delete the file of a finished job."""
        remove_finished(self.path)

    def _take(self, file: FileIO, path: Path, depends: Mapping[str, Any]) -> int:
        """Take the blocks of a file, and return the offset behind the last valid record."""
        blocks, end = _blocks_of(file, path, depends)
        self.finished += blocks
        return end

    def _take_shards(self, depends: Mapping[str, Any]) -> None:
        """Take the blocks that shards computed: files of the same name in their folders."""
        for folder in shard_folders(self.path.parent):
            path, record = folder / self.path.name, ShardRecord.read(folder)
            if not path.is_file():
                continue
            try:
                with FileIO(path) as file:
                    end = self._take(file, path, depends)
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error
            size = None if record is None or record.state != "finished" else record.files.get(path.name)
            if size is not None and size != end:
                raise InputError(
                    "blocks of a finished shard are damaged or cut off", file=path, found=f"{end:,} valid bytes",
                    expected=f"{size:,}", advice=f"Run shard {record.shard} again." if record else None,
                )  # fmt: skip

    def _opened(self) -> FileIO:
        opened = FileIO(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o666), "r+")
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            opened.close()
            raise OSError(errno.EINVAL, "a device or a pipe, and not a file")
        return opened

    def _append(self, content: bytes) -> None:
        self._write(_RECORD.pack(len(content), xxhash.xxh3_64_intdigest(content)) + content)

    def _write(self, raw: bytes) -> None:
        """Write through to the operating system, so that the bytes survive the end of this process."""
        if self._failure is not None:  # the file may end in a partial block, which nothing may follow
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


def _check_neighbour(own: Path, depends: Mapping[str, Any]) -> None:
    """Refuse the file of a shard if the first other shard has one of other inputs, and name its field."""
    paths = (folder / own.name for folder in neighbours_of(own.parent))
    if (path := next(filter(Path.is_file, paths), None)) is not None:
        with contextlib.suppress(OSError), FileIO(path) as file:
            _blocks_of(file, path, depends, header_only=True)


def _blocks_of(
    file: FileIO, path: Path, depends: Mapping[str, Any], *, header_only: bool = False
) -> tuple[list[FinishedBlock], int]:
    """The blocks of a file, and the offset behind its last valid record; 0 without a complete header."""
    size = os.fstat(file.fileno()).st_size
    if not MAGIC.startswith(file.read(len(MAGIC))):
        raise InputError(
            "not a checkpoint", file=path, expected="a file that --checkpoint wrote, or none", advice=_ADVICE
        )
    records = _records(file, size)
    header = next(records, None)
    if header is None:
        return [], 0
    try:
        stored = json.loads(header)
    except (ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict):
        raise _damaged(path, "its first record")
    fields = ((name, stored.get(name), depends.get(name)) for name in dict.fromkeys((*depends, *stored)))
    check_fields("the checkpoint belongs to a job of other inputs", path, fields, _ADVICE)
    end = file.tell()
    blocks = []
    for content in () if header_only else records:
        blocks.append(_block(path, content))
        end = file.tell()
    return blocks, end


def _block(path: Path, content: bytes) -> FinishedBlock:
    """Decode a block with a valid checksum; its numbers may still be those of another program."""
    if len(content) < _BLOCK.size:
        raise _damaged(path, "a block")
    part, number, queries = _BLOCK.unpack_from(content)
    rest = len(content) - _BLOCK.size - 8 * queries
    if queries < 0 or rest < 0 or rest % (8 * queries or 8) or (rest and not queries):
        raise _damaged(path, "a block")
    positions = np.frombuffer(content, dtype="<i8", count=queries, offset=_BLOCK.size)
    if (positions < 0).any() or len(set(positions.tolist())) < queries:
        raise _damaged(path, "a block")
    values = np.frombuffer(content, dtype="<f8", offset=_BLOCK.size + positions.nbytes)
    width = values.size // queries if queries else 0
    return FinishedBlock(part, number, positions.astype(np.int64), values.reshape(queries, width).astype(np.float64))


def _damaged(path: Path, what: str) -> InputError:
    return InputError("not a checkpoint", file=path, found=f"{what} that is malformed", advice=_ADVICE)


def _records(file: FileIO, size: int) -> Iterator[bytes]:
    while True:
        head = file.read(_RECORD.size)
        if len(head) < _RECORD.size:
            return
        length, checksum = _RECORD.unpack(head)
        if length > size - file.tell():
            return
        content = file.read(length)
        if xxhash.xxh3_64_intdigest(content) != checksum:
            return
        yield content


@contextlib.contextmanager
def open_checkpoint(
    path: str | Path | None, depends: Mapping[str, Any], *, keep: bool = False
) -> Iterator[Checkpoint | None]:
    """Open the checkpoint at a path, if one is given; remove it when the work succeeds, unless ``keep``."""
    if path is None:
        yield None
        return
    with Checkpoint(path, depends) as opened:
        yield opened
        if not keep:
            opened.remove()
