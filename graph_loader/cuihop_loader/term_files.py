"""Terms, the common form in which every format of an ontology or taxonomy is read, and the files that hold them."""

from __future__ import annotations

import codecs
import contextlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from cuihop.errors import InputError
from cuihop.resources.progress import StepProgress
from cuihop_loader.rejected_rows import BadRow, RejectedRows, excerpt
from cuihop_loader.report import FileReport, line_ends
from cuihop_loader.sources import SourceFile
from cuihop_loader.streams import BLOCK_BYTES, Block, BlockReader, BrokenStream, ByteStream, byte_stream


@dataclass(slots=True)
class Term:
    """One statement of a file about a term: all of it, or one row. Statements about one term are joined.

    Attributes:
        id: its identifier.
        line: first line of the statement; 0 where the parser of the format does not say it.
        name: ``None`` without one.
        synonyms: the exact ones; broad, narrow and related ones name something else.
        parents, alternatives, replaced_by, consider: identifiers.
        umls: CUIs of its UMLS cross-references.
        obsolete: true for a term no longer in use.
        sab: the vocabulary that makes the statement; ``None`` for that of the file.
        defined: false where the statement only mentions the term, so that another must define it.
        classes: identifiers of the classes that an instance belongs to, as Berlin to city; parents too.
    """

    id: str
    line: int
    name: str | None = None
    synonyms: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    replaced_by: list[str] = field(default_factory=list)
    consider: list[str] = field(default_factory=list)
    umls: list[str] = field(default_factory=list)
    obsolete: bool = False
    sab: str | None = None
    defined: bool = True
    classes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class TermRows:
    """Rows of a table, each a statement about a term: its parent, its name and its source, all of one length.

    Attributes:
        terms: well-formed identifiers.
        parents: likewise, empty where a row states none.
        names: empty where a row gives none.
        sabs: the vocabularies that make the statements, empty for that of the file.
    """

    terms: Sequence[str]
    parents: Sequence[str]
    names: Sequence[str]
    sabs: Sequence[str]


@dataclass(frozen=True, eq=False)
class TermReading:
    """Common to the files of terms of one load; its languages are those of `LoadOptions`."""

    rejected: RejectedRows
    progress: StepProgress
    languages: Sequence[str]


class _CountedBytes(io.RawIOBase):
    """The decompressed bytes of a file of terms, with its line ends and the progress counted."""

    def __init__(self, stream: ByteStream, owner: TermFile) -> None:
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


class TermFile:
    """One file of terms, read once; each format has a subclass.

    Attributes:
        role: its format, as in the load report.
        version: of its vocabulary, for the name of the release; ``None`` without one, or before the file is read.
        versions: of its vocabularies by SAB, where it has several.
        ontology: its vocabulary (SAB), or the first.
        bytes: bytes of the file on disk read so far.
        bad: number of rows, lines or elements left out so far because they break the format.
        skipped: rows left out so far for other reasons, before they became terms, by reason.
        parentless: rows so far that count although they state no parent.
        warnings: reservations about the file, for the user.
        imports: addresses of the ontologies that the file imports.
        last_line_ends: false if programs leave out the last line end, for which a warning is enough.
        offset: position of the first byte of the last line in the file, after decompression.
    """

    last_line_ends = True

    def __init__(self, file: SourceFile, reading: TermReading) -> None:
        self.file = file
        self.role = file.role
        self._reading = reading
        self.version: str | None = None
        self.versions: dict[str, str] = {}
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

    def terms(self) -> Iterator[Term | TermRows]:
        """Terms, obsolete ones included, in the order of the file.

        Raises:
            InputError: the file cannot be read, has no terms, or a line of it breaks the format.
        """
        raise NotImplementedError

    @property
    def companions(self) -> Sequence[FileReport]:
        """Reports of the files read with it, after its terms."""
        return ()

    @property
    def line_ends(self) -> str:
        """Ends of the lines read so far: see `cuihop_loader.report.FileReport`."""
        return line_ends(self._crlf, self.lines)

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
                self._show_progress(stream.consumed)

    def lines_of(self, raw: bytes, *, terminated: bool) -> Iterator[bytes]:
        """The lines of a block, as `text_lines` gives them."""
        lines = raw.split(b"\n")
        for index, line in enumerate(lines):
            self.lines += 1
            self.offset, self._following = self._following, self._following + len(line) + 1
            if line.endswith(b"\r"):
                self._crlf += 1
                line = line[:-1]
            if not terminated and index == len(lines) - 1:
                if self.last_line_ends:
                    self.reject(self.lines, 1, "the last line is cut off", line, "a line end")
                    line = b""
                else:
                    self.warnings.append(f"{self.file}: its last line has no line end; is the file complete?")
            if b"\0" in line:
                self.reject(self.lines, line.index(0) + 1, "not text: a NUL byte", line, "UTF-8 text", "byte 0x00")
                line = b""
            try:
                line.decode()
            except UnicodeDecodeError as error:
                actual = f"byte 0x{line[error.start]:02X}"
                self.reject(self.lines, error.start + 1, "not UTF-8", line, "UTF-8 text", actual)
                line = b""
            yield line

    @contextlib.contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file as bytes, without a byte order mark, for formats that are no lines."""
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
        self._show_progress(self._consumed())

    def reject(
        self, line: int | None, column: int | str, problem: str, raw: bytes, expected: str, actual: str | None = None
    ) -> None:
        """Count a row that breaks the format, and end the load or continue, as `RejectedRows` decides."""
        self.bad += 1
        bad = BadRow(0, column, problem, excerpt(raw) if actual is None else actual, expected, 0, len(raw))
        self._reading.rejected.reject(str(self.file), line, bad, raw)

    def report(self, used: int, skipped: Mapping[str, int]) -> FileReport:
        """The report of the file, after its terms; ``skipped`` is without the rows that break the format."""
        left_out = {**skipped, "bad row": self.bad} if self.bad else dict(skipped)
        rows = used + sum(left_out.values())
        return FileReport(self.role, str(self.file), rows, used, left_out, self.bad, self.bytes, self.line_ends)

    def lacks(self, content: str, expected: str, actual: str | None = None) -> InputError:
        """The error for a file without any content of its format."""
        return InputError(f"no {content} in the file", file=str(self.file), found=actual, expected=expected)

    def _show_progress(self, read: int) -> None:
        """Note the bytes of the file on disk read so far."""
        self.bytes = read
        self._reading.progress(str(self.file), read, self.file.size)
