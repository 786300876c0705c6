"""Lines or bytes of a text file of terms, with the faults and counts of every such format."""

from __future__ import annotations

import codecs
import contextlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, cast

from cuihop.resources.progress import StepProgress
from cuihop_loader.rejected_rows import RejectedRows, RowFault, excerpt
from cuihop_loader.report import FileReport
from cuihop_loader.sources import SourceFile
from cuihop_loader.streams import BLOCK_BYTES, Block, BlockReader, BrokenStream, ByteStream, byte_stream


class _CountedBytes(io.RawIOBase):
    """The decompressed bytes of a file of terms, with its line ends and the progress counted."""

    def __init__(self, stream: ByteStream, owner: TextTermFile) -> None:
        self._stream = stream
        self._owner = owner
        self._after_return = False

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        view = memoryview(into)
        size = self._stream.readinto(view)
        data = bytes(view[:size])
        crlf = data.count(b"\r\n") + (self._after_return and data.startswith(b"\n"))
        self._after_return = data.endswith(b"\r")
        self._owner.count(data.count(b"\n"), crlf)
        return size


class TextTermFile:
    """The part that text formats share of a `cuihop_loader.terms.TermFile`.

    Attributes:
        file: the file.
        lines: lines read so far.
        last_line_ends: false where programs leave out the last line end, so that a warning has to do.
        offset: place of the first byte of the last of them in the file, after decompression.
    """

    role: str
    last_line_ends = True

    def __init__(self, file: SourceFile, rejected: RejectedRows, progress: StepProgress | None) -> None:
        self.file = file
        self._rejected = rejected
        self._progress = progress
        self.version: str | None = None
        self.ontology = file.parts[0].name.split(".")[0].upper()
        self.lines = 0
        self.offset = self._following = 0
        self.bytes = 0
        self._crlf = 0
        self._consumed: Callable[[], int] = lambda: 0
        self.bad = 0
        self.skipped: Counter[str] = Counter()
        self.parentless = 0
        self.warnings: list[str] = []
        self.imports: list[str] = []

    @property
    def companions(self) -> Sequence[FileReport]:
        """See `cuihop_loader.terms.TermFile`."""
        return ()

    @property
    def versions(self) -> Mapping[str, str]:
        """See `cuihop_loader.terms.TermFile`."""
        return {self.ontology: self.version} if self.version else {}

    @property
    def line_ends(self) -> str:
        """``LF``, ``CRLF`` or ``mixed``, of the lines read so far."""
        return "mixed" if 0 < self._crlf < self.lines else "CRLF" if self._crlf else "LF"

    def text_lines(self) -> Iterator[bytes]:
        """Lines without their ends, counted; a line that is not UTF-8, or holds NUL, is returned empty."""
        for raw, terminated in self.blocks():
            yield from self.lines_of(raw, terminated=terminated)

    def blocks(self) -> Iterator[tuple[bytes, bool]]:
        """Many lines at a time, without the last line end; and true where the file has that. They are not counted."""
        name = str(self.file)
        block = Block(BLOCK_BYTES)
        with byte_stream(self.file.parts) as stream:
            reader = BlockReader(stream, name)
            while True:
                try:
                    if not reader.fill(block):
                        break
                except BrokenStream as broken:
                    raise broken.at_line(self.lines + 1) from None
                yield block.buffer[: block.size - 1].tobytes(), not block.unterminated
                self.bytes = stream.consumed
                if self._progress is not None:
                    self._progress(name, self.bytes, self.file.size)

    def lines_of(self, raw: bytes, *, terminated: bool) -> Iterator[bytes]:
        """The lines of a block, as `text_lines` gives them."""
        lines = raw.split(b"\n")
        for place, line in enumerate(lines):
            self.lines += 1
            self.offset, self._following = self._following, self._following + len(line) + 1
            if line.endswith(b"\r"):
                self._crlf += 1
                line = line[:-1]
            if not terminated and place == len(lines) - 1:
                if self.last_line_ends:
                    self.reject(self.lines, 1, "the last line is cut off", line, "a line end")
                    line = b""
                else:
                    self.warnings.append(f"{self.file}: its last line has no line end; is the file complete?")
            if b"\0" in line:
                self.reject(self.lines, line.index(0) + 1, "not text: a NUL byte", line, "UTF-8 text", "0x00")
                line = b""
            try:
                line.decode()
            except UnicodeDecodeError as error:
                found = f"byte 0x{line[error.start]:02X}"
                self.reject(self.lines, error.start + 1, "not UTF-8", line, "UTF-8 text", found)
                line = b""
            yield line

    @contextlib.contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The whole file as bytes, without a byte order mark, for formats that are no lines."""
        with byte_stream(self.file.parts) as stream:
            self._consumed = lambda: stream.consumed
            buffered = io.BufferedReader(_CountedBytes(stream, self), BLOCK_BYTES)
            try:
                if buffered.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
                    buffered.read(len(codecs.BOM_UTF8))
                yield cast(BinaryIO, buffered)
            except BrokenStream as broken:
                raise broken.at_line(self.lines + 1) from None

    def count(self, lines: int, crlf: int) -> None:
        """Add lines that were read, and how many of them end in CRLF; show the progress."""
        self.lines += lines
        self._crlf += crlf
        self.bytes = self._consumed()
        if self._progress is not None:
            self._progress(str(self.file), self.bytes, self.file.size)

    def reject(
        self, line: int | None, column: int | str, problem: str, raw: bytes, expected: str, found: str | None = None
    ) -> None:
        """Count a fault, and end the load or go on, as `RejectedRows` decides."""
        self.bad += 1
        fault = RowFault(0, column, problem, excerpt(raw) if found is None else found, expected, 0, len(raw))
        self._rejected.reject(str(self.file), line, fault, raw)
