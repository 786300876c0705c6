"""Scanner of a file of rows, block by block on several cores, for the extents of their fields.

Every row's columns are counted, and all text is checked to be UTF-8. The work on a block's rows runs in its own
thread, as compiled code without the interpreter lock; results are returned in the order of the file.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from cuihop.errors import InputError
from cuihop.resources.arrays import Int32, Int64, UInt8
from cuihop.resources.cores import cores
from cuihop.resources.progress import StepProgress
from cuihop_loader._kernels import interning, splitting
from cuihop_loader.rejected_rows import BadRow, RejectedRows
from cuihop_loader.report import FileReport, line_ends
from cuihop_loader.sources import LAYOUTS, MAY_BE_EMPTY, OMOP_LAYOUTS, SourceFile
from cuihop_loader.streams import BLOCK_BYTES, Block, BlockReader, BrokenStream, byte_stream

Found = TypeVar("Found")

_BAR, _TAB = ord("|"), ord("\t")
_MOST_THREADS = 4  # beyond that, reading the file takes longer
_CUT = "the last line is cut off"
_FIRST_BAD_ROWS = 64
_SHOWN_BYTES = 40


@dataclass(eq=False)
class Rows:
    """Rows of one block, without those that break the layout.

    Attributes:
        spans: int32, shape (rows, 2 × wanted columns); begin and end of each wanted column.
        positions: int32, shape (rows,); the row's position in the block.
        bad_rows: rows of the block that break the layout. A task on the rows may add to them.
        total: rows of the block, good and bad.
        crlf: number of rows that end with carriage return and line feed.
    """

    buffer: UInt8
    spans: Int32
    positions: Int32
    bad_rows: list[BadRow]
    total: int
    crlf: int

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def all(self) -> Int32:
        """The numbers of all rows."""
        return np.arange(len(self.spans), dtype=np.int32)

    def raw(self, row: int, column: int) -> bytes:
        """One field as bytes; ``column`` counts the wanted ones."""
        return self.buffer[self.spans[row, 2 * column] : self.spans[row, 2 * column + 1]].tobytes()

    def interned(self, first: int, last: int, selected: Int32 | None = None) -> tuple[Int32, tuple[bytes, ...]]:
        """Number the distinct texts of the chosen rows, from one column to the end of another, bars included."""
        numbers, spans = self.interned_spans(first, last, self.all if selected is None else selected)
        view = self.buffer.data  # a slice of it takes a fifth of the time of a slice of an array
        return numbers, tuple(bytes(view[b:e]) for b, e in spans.tolist())

    def interned_spans(self, first: int, last: int, selected: Int32) -> tuple[Int32, Int32]:
        """Numbers as from `interned`, with begin and end of each text, int32, shape (texts, 2)."""
        if not len(selected):
            return np.empty(0, dtype=np.int32), np.empty((0, 2), dtype=np.int32)
        begin, end = 2 * first, 2 * last + 1
        table = np.full(1 << (2 * len(selected) - 1).bit_length(), -1, dtype=np.int32)
        numbers = np.empty(len(selected), dtype=np.int32)
        firsts = np.empty(len(selected), dtype=np.int32)
        count = interning.intern(self.buffer, self.spans, begin, end, selected, table, numbers, firsts)
        return numbers, np.ascontiguousarray(self.spans[selected[firsts[:count]]][:, [begin, end]])

    def refuse(self, row: int, column: str, problem: str, actual: str, expected: str) -> None:
        """Add a bad row: one that cannot be used."""
        begin, end = _line_around(self.buffer, int(self.spans[row, 0]))
        self.bad_rows.append(BadRow(int(self.positions[row]), column, problem, actual, expected, begin, end))


class RowScanner(Generic[Found]):
    """Scan of one file.

    Args:
        requested: names of the columns to locate.
        task: function of the rows of a block; called in several threads at once, so it must change nothing but
            the block's own `Rows.bad_rows`.

    Attributes:
        first_line: line of the first row of the last block returned.
    """

    def __init__(
        self,
        file: SourceFile,
        requested: Sequence[str],
        task: Callable[[Rows], Found],
        rejected: RejectedRows,
        progress: StepProgress,
        block_bytes: int | None = None,
    ) -> None:
        self._file = file
        self.role = file.role
        self._bar = _BAR if file.role in LAYOUTS else _TAB  # a file with tabs has a header
        self._columns = LAYOUTS[file.role] if self._bar == _BAR else OMOP_LAYOUTS[file.role]
        self._requested = np.array([self._columns.index(name) for name in requested], dtype=np.int64)
        self._task = task
        self._rejected = rejected
        self._progress = progress
        self._block_bytes = BLOCK_BYTES if block_bytes is None else block_bytes
        self._rows = self._bad = self._crlf = self._consumed = self._header_lines = self.first_line = 0
        self._skipped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Found]:
        """Results of the work for each block, in the order of the file.

        Raises:
            InputError: the file cannot be read, is empty, or a row of it breaks the layout.
        """
        name = str(self._file)
        threads = min(_MOST_THREADS, cores())
        free = [Block(self._block_bytes) for _ in range(threads + 2)]
        waiting: deque[tuple[Block, Future[tuple[Rows, Found]]]] = deque()
        broken: BrokenStream | None = None
        with byte_stream(self._file.parts) as stream, ThreadPoolExecutor(threads) as pool:
            reader = BlockReader(stream, name)
            more = True
            while more or waiting:
                if more and free:
                    block = free.pop()
                    try:
                        more = reader.fill(block)
                    except BrokenStream as error:
                        more, broken = False, error
                    if more and self._has_rows(block):
                        waiting.append((block, pool.submit(self._scan, block)))
                    else:
                        free.append(block)
                    continue
                block, future = waiting.popleft()
                rows, result = future.result()
                self._count(rows, name)
                yield result
                free.append(block)
                self._consumed = stream.consumed
                self._progress(name, self._consumed, self._file.size)
        if broken is not None:
            raise broken.at_line(self._header_lines + self._rows + 1)
        if not self._rows and (self.role not in MAY_BE_EMPTY or (self._bar == _TAB and not self._header_lines)):
            actual = "a header without rows" if self._header_lines else "0 bytes"
            raise InputError("the file is empty", file=name, found=actual, expected=f"rows of {self.role}")

    def skip(self, reason: str, rows: int) -> None:
        """Count rows that are left out, by reason."""
        if rows:
            self._skipped[reason] += rows

    @property
    def report(self) -> FileReport:
        """Report of the rows; call it when the file is read completely."""
        skipped = dict(sorted(self._skipped.items(), key=lambda item: (-item[1], item[0])))
        if self._bad:
            skipped = {"bad row": self._bad, **skipped}
        return FileReport(
            role=self.role,
            file=str(self._file),
            rows=self._rows,
            used=self._rows - sum(skipped.values()),
            skipped=skipped,
            bad=self._bad,
            bytes=self._consumed,
            line_ends=line_ends(self._crlf, self._rows),
        )

    def _has_rows(self, block: Block) -> bool:
        """True for a block with rows; the header of a file that has one is taken off its first block.

        Raises:
            InputError: the header is another one.
        """
        if self._bar == _BAR or self._header_lines:
            return True
        line, _, rest = block.buffer[: block.size].tobytes().partition(b"\n")
        header = line.rstrip(b"\r").decode(errors="backslashreplace")
        if header.lower().split("\t") != self._columns:
            others = [sign for sign in ",;|" if header.lower().replace('"', "").split(sign) == self._columns]
            raise InputError(
                f"columns separated by {others[0]!r}, not by tabs" if others else f"not the columns of {self.role}",
                file=str(self._file), line=1, column=1, found=_excerpt(line),
                expected=f"a header with {', '.join(self._columns)}, separated by tabs",
                advice="Athena's own files are not in quotation marks" if '"' in header else None,
            )  # fmt: skip
        self._header_lines = 1
        block.buffer[: len(rest)] = np.frombuffer(rest, dtype=np.uint8)
        block.buffer[len(rest) : block.size] = 0
        block.size = len(rest)
        return block.size > 0

    def _scan(self, block: Block) -> tuple[Rows, Found]:
        rows = _split(block, self._columns, self._bar, self._requested)
        return rows, self._task(rows)

    def _count(self, rows: Rows, name: str) -> None:
        self.first_line = self._header_lines + self._rows + 1
        for bad in sorted(rows.bad_rows, key=lambda bad: bad.row):
            raw = rows.buffer[bad.begin : bad.end].tobytes()
            self._rejected.reject(name, self.first_line + bad.row, bad, raw)
        self._rows += rows.total
        self._bad += len(rows.bad_rows)
        self._crlf += rows.crlf


def _split(block: Block, columns: Sequence[str], bar: int, requested: Int64) -> Rows:
    """Split a block into rows, with a bad row for each with too few or too many columns, or that is not UTF-8."""
    bars = len(columns) - (bar == _TAB)
    block.room(block.size // (bars + 1) + 1, 2 * len(requested))
    counts = np.zeros(5, dtype=np.int64)
    bad = np.empty((_FIRST_BAD_ROWS, 5), dtype=np.int32)
    while True:
        splitting.split(
            block.buffer, block.size, len(columns), bar, bars, requested, block.spans, block.rows, bad, counts
        )
        if counts[splitting.BAD] <= len(bad):
            break
        bad = np.empty((counts[splitting.BAD], 5), dtype=np.int32)
    good, total = int(counts[splitting.GOOD]), int(counts[splitting.ROWS])
    rows = Rows(
        buffer=block.buffer[: block.size],
        spans=block.spans[:good],
        positions=block.rows[:good],
        bad_rows=[],
        total=total,
        crlf=int(counts[splitting.CRLF]),
    )
    for counts_of_row in bad[: counts[splitting.BAD]].tolist():
        cut = block.unterminated and counts_of_row[splitting.BAD_ROW] == total - 1
        rows.bad_rows.append(_wrong_columns(rows.buffer, columns, bar, counts_of_row, cut=cut))
    if bar == _TAB and block.unterminated and good and rows.positions[-1] == total - 1:
        begin, end = _line_around(rows.buffer, int(rows.spans[-1, 0]))
        actual = _excerpt(rows.buffer[begin:end].tobytes())
        rows.bad_rows.append(BadRow(total - 1, columns[-1], _CUT, actual, "a line end", begin, end))
        rows.spans, rows.positions = rows.spans[:-1], rows.positions[:-1]
    if counts[splitting.BEYOND_ASCII]:
        _check_utf8(block, rows, columns, bar)
    return rows


def _wrong_columns(buffer: UInt8, columns: Sequence[str], bar: int, counts_of_row: list[int], *, cut: bool) -> BadRow:
    row, begin, end, ended, tail = counts_of_row
    width = len(columns)
    expected = f"{width} columns, each ended by '|'"
    if bar == _TAB:
        expected = f"{width} columns, separated by tabs"
        ended += end > begin
        actual = f"{ended} columns" if ended else "an empty line"
    elif tail:
        last = _excerpt(buffer[end - tail : end].tobytes())
        actual = f"{ended} columns and {last} " + ("without a '|' after it" if ended < width else "after the last '|'")
    else:
        actual = f"{ended} columns" if end > begin else "an empty line"
    problem = _CUT if cut else "too few columns" if ended < width else "too many columns"
    column = columns[ended] if ended < width else width + 1
    return BadRow(row, column, problem, actual, expected, begin, end)


def _check_utf8(block: Block, rows: Rows, columns: Sequence[str], bar: int) -> None:
    """Add a bad row for each with a byte that is not UTF-8, and leave these rows out."""
    positions = np.empty(_FIRST_BAD_ROWS, dtype=np.int64)
    while True:
        count = splitting.invalid_utf8(block.buffer, block.size, positions)
        if count <= len(positions):
            break
        positions = np.empty(count, dtype=np.int64)
    if not count:
        return
    refused = {bad.row for bad in rows.bad_rows}
    line_feeds = np.flatnonzero(rows.buffer == ord("\n"))
    for position in positions[:count].tolist():
        row = int(np.searchsorted(line_feeds, position))
        if row in refused:
            continue
        begin, end = _line_around(rows.buffer, position)
        column = min(int(np.count_nonzero(rows.buffer[begin:position] == bar)), len(columns) - 1)
        actual = f"byte 0x{rows.buffer[position]:02X}, byte {position - begin + 1} of the row"
        rows.bad_rows.append(BadRow(row, columns[column], "not UTF-8", actual, "UTF-8 text", begin, end))
    numbers = np.fromiter((bad.row for bad in rows.bad_rows), dtype=np.int32)
    good = ~np.isin(rows.positions, numbers)
    rows.spans = rows.spans[good]
    rows.positions = rows.positions[good]


def _line_around(buffer: UInt8, position: int) -> tuple[int, int]:
    """Extent of the line with that byte, without its line end."""
    begin = position
    while begin > 0 and buffer[begin - 1] != ord("\n"):
        begin -= 1
    end = position
    while end < len(buffer) and buffer[end] != ord("\n"):
        end += 1
    if end > begin and buffer[end - 1] == ord("\r"):
        end -= 1
    return begin, end


def _excerpt(raw: bytes) -> str:
    """Text for a message, shortened where it is long."""
    text = raw[:_SHOWN_BYTES].decode("utf-8", errors="backslashreplace")
    return repr(text if len(raw) <= _SHOWN_BYTES else f"{text}…")
