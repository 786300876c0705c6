"""Byte streams of files in parts, in a zip archive, or under gzip; and their division into blocks of complete lines."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import numpy as np

from cuihop.errors import InputError
from cuihop.files.input_file import opened_input, path_text
from cuihop.files.text_lines import LONGEST_LINE
from cuihop.resources.arrays import UInt8

BLOCK_BYTES = 1 << 20
"""Bytes read and scanned at a time: a block and its offsets fit into the cache of one core."""

_WINDOW = 1 << 16
_LINE_FEED = 10
_ZEROS = 64
_SPARE = 72  # a line feed, and zeros
_MARK = b"\xef\xbb\xbf"  # the byte order mark that some editors put first

_CHUNK = 1 << 18
_DOWNLOAD = "Download it again"
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib's window, with a gzip header around


class BrokenStream(Exception):
    """The bytes break off or cannot be unpacked. The reader that counts lines adds the line and raises `InputError`."""

    def __init__(self, problem: str, **facts: str) -> None:
        super().__init__(problem)
        self._problem = problem
        self._facts = {"advice": _DOWNLOAD, **facts}

    def at_line(self, line: int) -> InputError:
        """The error for the user."""
        return InputError(self._problem, line=line, **self._facts)


@dataclass(frozen=True)
class Part:
    """A file on the disk, or a member of a zip archive.

    Attributes:
        member: the member's name, if `path` is an archive.
        size: bytes on disk (of a member, after extraction from the archive).
    """

    path: Path
    member: str | None
    gzip: bool
    size: int
    zstd: bool = False

    @property
    def name(self) -> str:
        """Its own name, without folders."""
        return path_text(self.path.name) if self.member is None else self.member.rpartition("/")[2]

    def __str__(self) -> str:
        path = path_text(self.path)
        return path if self.member is None else f"{path}:{self.member}"


class ByteStream(Protocol):
    """A sequential stream of bytes."""

    def readinto(self, view: memoryview) -> int:
        """Fill the view from its start; fewer bytes than it holds only at the end of the stream.

        Raises:
            BrokenStream: after all bytes before the break have been returned.
        """


class _Parts:
    """The parts one after the other, each unpacked where it is compressed by gzip."""

    def __init__(self, parts: tuple[Part, ...], held: contextlib.ExitStack) -> None:
        self._parts = list(parts)
        self._held = held
        self._current: ByteStream | None = None
        self._broken: BrokenStream | None = None
        self.consumed = 0  # bytes on disk

    def readinto(self, view: memoryview) -> int:
        filled = 0
        while filled < len(view):
            if self._broken is not None:
                if filled:
                    break
                raise self._broken
            if self._current is None:
                if not self._parts:
                    break
                self._current = self._opened(self._parts.pop(0))
            try:
                count = self._current.readinto(view[filled:])
            except BrokenStream as broken:
                self._broken = broken
                continue
            filled += count
            if count == 0:
                self._current = None
        return filled

    def _opened(self, part: Part) -> ByteStream:
        if part.zstd:
            return _Unzstd(part, self._held, self)
        try:
            if part.member is None:
                source: IO[bytes] = self._held.enter_context(part.path.open("rb", buffering=0))
            else:
                archive = self._held.enter_context(zipfile.ZipFile(part.path))
                source = self._held.enter_context(archive.open(part.member))
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(part)) from error
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise InputError("cannot be taken out of the archive", file=str(part), found=str(error)) from error
        raw = _Raw(part, source, self)
        return _Gunzip(str(part), raw) if part.gzip else raw


class _Raw:
    """Uncompressed bytes."""

    def __init__(self, part: Part, source: IO[bytes], owner: _Parts) -> None:
        self._part = part
        self._source = source
        self._owner = owner

    def read(self, most: int) -> bytes:
        with self._errors():
            data = self._source.read(most)
        self._owner.consumed += len(data)
        return data

    def readinto(self, view: memoryview) -> int:
        with self._errors():
            count: int = self._source.readinto(view if self._part.member is None else view[:_CHUNK])  # type: ignore[attr-defined]
        self._owner.consumed += count
        return count

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(self._part)) from error
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise BrokenStream(
                "the zip archive is damaged", file=str(self._part), found=str(error) or "its end",
                expected=f"{self._part.size:,} bytes",
            ) from error  # fmt: skip


class _Gunzip:
    """The bytes under gzip: one member or several, each checked against its length and CRC."""

    def __init__(self, file: str, raw: _Raw) -> None:
        self._file = file
        self._raw = raw
        self._inflate = zlib.decompressobj(_GZIP)
        self._at_start = True

    def readinto(self, view: memoryview) -> int:
        while True:
            if self._inflate.eof:
                rest = self._inflate.unused_data.lstrip(b"\0") or self._raw.read(_CHUNK).lstrip(b"\0")
                if not rest:
                    return 0
                self._inflate = zlib.decompressobj(_GZIP)
            else:
                rest = self._inflate.unconsumed_tail or self._raw.read(_CHUNK)
            try:
                data = self._inflate.decompress(rest, len(view))
            except zlib.error as error:
                if self._at_start and not rest.startswith(_GZIP_MAGIC):
                    raise self._broken("not a gzip file", repr(rest[:4])) from error
                raise self._broken("the gzip file is damaged", str(error)) from error
            self._at_start = False
            if data:
                view[: len(data)] = data
                return len(data)
            if not rest and not self._inflate.eof:
                raise self._broken("the gzip file breaks off", "its end")

    def _broken(self, problem: str, actual: str) -> BrokenStream:
        return BrokenStream(problem, file=self._file, found=actual, expected="gzip data up to its checksum")


class _Unzstd:
    """The bytes under zstd, as `cuihop.files.input_file` reads them."""

    def __init__(self, part: Part, held: contextlib.ExitStack, owner: _Parts) -> None:
        self._input = opened_input(part.path)
        self._stream = held.enter_context(self._input.text())
        self._owner = owner
        self._before = owner.consumed

    def readinto(self, view: memoryview) -> int:
        count: int = self._stream.readinto(view)  # type: ignore[attr-defined]
        done, _ = self._input.progress or (0, 0)
        self._owner.consumed = self._before + done
        return count


@contextlib.contextmanager
def byte_stream(parts: tuple[Part, ...]) -> Iterator[_Parts]:
    """The parts as one stream, open until the block ends.

    Raises:
        InputError: a part cannot be opened or read.
    """
    with contextlib.ExitStack() as held:
        yield _Parts(parts, held)


def beginning(part: Part, most: int) -> bytes:
    """The first bytes of a part, decompressed.

    Raises:
        InputError: it cannot be read.
    """
    view = memoryview(bytearray(most))
    size = 0
    try:
        with byte_stream((part,)) as stream:
            while size < most and (count := stream.readinto(view[size:])):
                size += count
    except BrokenStream as broken:
        raise broken.at_line(1) from None
    return bytes(view[:size])


class Block:
    """Reusable memory for some lines.

    Attributes:
        buffer: uint8; the lines are ``buffer[:size]``, and zeros follow up to a multiple of 64.
        size: bytes in use; the last of them is a line feed.
        unterminated: true where that line feed is missing in the file.
        spans, rows: output arrays of `cuihop_loader._kernels.splitting.split`.
    """

    def __init__(self, capacity: int) -> None:
        self.buffer = np.empty(_padded(capacity), dtype=np.uint8)
        self.size = 0
        self.unterminated = False
        self.spans = np.empty((0, 0), dtype=np.int32)
        self.rows = np.empty(0, dtype=np.int32)

    @property
    def capacity(self) -> int:
        """Bytes that fit, besides a line feed and zeros."""
        return self.buffer.size - _SPARE

    def grow(self, capacity: int) -> None:
        """Enlarge the memory to at least that many bytes; those in use remain."""
        if self.capacity < capacity:
            larger = np.empty(_padded(capacity), dtype=np.uint8)
            larger[: self.buffer.size] = self.buffer
            self.buffer = larger

    def room(self, rows: int, columns: int) -> None:
        """Enlarge the output arrays to that many rows. Unused memory is never touched."""
        if self.spans.shape[1] != columns or self.spans.shape[0] < rows:
            self.spans = np.empty((rows, columns), dtype=np.int32)
            self.rows = np.empty(rows, dtype=np.int32)


class BlockReader:
    """Reader that fills blocks from a stream, one after the other."""

    def __init__(self, stream: ByteStream, file: str) -> None:
        self._stream = stream
        self._file = file
        self._carried = b""  # the beginning of a line that continues in the next block
        self._begun = False
        self._ended = False
        self._broken: BrokenStream | None = None

    def fill(self, block: Block) -> bool:
        """Fill the block with complete lines; false at the end of the file.

        Raises:
            BrokenStream: after all complete lines before the break have been returned.
        """
        size = len(self._carried)
        block.grow(size + 1)
        block.buffer[:size] = np.frombuffer(self._carried, dtype=np.uint8)
        block.unterminated = False
        while True:
            size = self._read(block, size)
            end = _after_last_line_feed(block.buffer, size)
            if self._ended:
                if end < size and self._broken is None:
                    block.unterminated = True
                    block.buffer[size] = _LINE_FEED
                    end = size + 1
                self._carried = b""
                break
            if end:
                self._carried = block.buffer[end:size].tobytes()
                break
            if size >= LONGEST_LINE:
                raise BrokenStream(
                    "the line has no end", file=self._file, found=f"{size:,} bytes without a line feed",
                    expected="rows of text", advice="Is it an RRF file?",
                )  # fmt: skip
            block.grow(2 * size)
        if end == 0:
            if self._broken is not None:
                raise self._broken
            return False
        block.size = end
        block.buffer[end : -(-end // _ZEROS) * _ZEROS] = 0
        return True

    def _read(self, block: Block, size: int) -> int:
        """Read until the block is full or the stream ends; return the bytes in the block."""
        view = block.buffer.data[: block.capacity]
        while size < len(view) and not self._ended:
            try:
                count = self._stream.readinto(view[size:])
            except BrokenStream as broken:
                self._broken = broken
                count = 0
            size += count
            self._ended = count == 0
        if not self._begun and size >= len(_MARK):
            self._begun = True
            if view[: len(_MARK)] == _MARK:
                size -= len(_MARK)
                block.buffer[:size] = block.buffer[len(_MARK) : size + len(_MARK)].copy()
        return size


def _padded(capacity: int) -> int:
    return -(-capacity // 8) * 8 + _SPARE


def _after_last_line_feed(buffer: UInt8, size: int) -> int:
    """The position after the last line feed in ``buffer[:size]``; 0 where there is none."""
    while size > 0:
        begin = max(0, size - _WINDOW)
        line_feeds = np.flatnonzero(buffer[begin:size] == _LINE_FEED)
        if len(line_feeds):
            return begin + int(line_feeds[-1]) + 1
        size = begin
    return 0
