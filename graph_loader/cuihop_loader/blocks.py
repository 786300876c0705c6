"""Division of a byte stream into blocks of whole lines."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuihop_loader.streams import BrokenStream, ByteStream

__all__ = ["BLOCK_BYTES", "Block", "BlockReader"]

BLOCK_BYTES = 1 << 20
"""Bytes read and scanned at a time: a block and its offsets fit into the cache of one core."""

_LONGEST_LINE = 64 << 20
_WINDOW = 1 << 16
_LINE_FEED = 10
_ZEROS = 64
_SPARE = 72  # a line feed, and zeros
_MARK = b"\xef\xbb\xbf"  # the byte order mark that some editors put first


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

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        """The same memory as little-endian numbers of 8 bytes."""
        return self.buffer.view("<u8")

    def room(self, rows: int, places: int) -> None:
        """Enlarge the output arrays to that many rows. Unused memory is never touched."""
        if self.spans.shape[1] != places or self.spans.shape[0] < rows:
            self.spans = np.empty((rows, places), dtype=np.int32)
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
        """Fill the block with whole lines; false at the end of the file.

        Raises:
            BrokenStream: after all whole lines before the break have been returned.
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
            if size >= _LONGEST_LINE:
                raise BrokenStream(
                    self._file,
                    "the line has no end",
                    found=f"{size:,} bytes without a line feed",
                    expected="rows of text",
                    advice="Is it an RRF file?",
                )
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


def _after_last_line_feed(buffer: npt.NDArray[np.uint8], size: int) -> int:
    """The position after the last line feed in ``buffer[:size]``; 0 where there is none."""
    while size > 0:
        begin = max(0, size - _WINDOW)
        found = np.flatnonzero(buffer[begin:size] == _LINE_FEED)
        if len(found):
            return begin + int(found[-1]) + 1
        size = begin
    return 0
