"""Scanner of a file of rows, block by block on several cores, for the extents of their fields.

Every row's columns are counted, and all text is checked to be UTF-8. The work on a block's rows runs in its own
thread, as compiled code without the interpreter lock; results are returned in the order of the file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from cuihop.errors import InputError
from cuihop.resources.cores import cores
from cuihop.resources.progress import StepProgress
from cuihop_loader.rejected_rows import RejectedRows, RowFault
from cuihop_loader.report import FileReport
from cuihop_loader.sources import LAYOUTS, RrfLayout, SourceFile
from cuihop_loader.streams import BLOCK_BYTES, Block, BlockReader, BrokenStream, byte_stream

Found = TypeVar("Found")

_MOST_THREADS = 4  # beyond that, reading the file takes longer
_FIRST_BAD_ROWS = 64
_SHOWN_BYTES = 40


@dataclass(eq=False)
class Rows:
    """Rows of one block, without those that break the layout.

    Attributes:
        buffer: uint8, the block.
        spans: int32, shape (rows, 2 × wanted columns); begin and end of each wanted column.
        places: int32, shape (rows,); the row's position in the block.
        faults: faults of rows of the block. Work on the rows may add to them.
        total: rows of the block, good and bad.
        crlf: number of rows that end with carriage return and line feed.
    """

    buffer: npt.NDArray[np.uint8]
    spans: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]
    faults: list[RowFault]
    total: int
    crlf: int

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def all(self) -> npt.NDArray[np.int32]:
        """The numbers of all rows."""
        return np.arange(len(self.spans), dtype=np.int32)

    def text(self, row: int, column: int) -> str:
        """One field; ``column`` counts the wanted ones."""
        return self.raw(row, column).decode()

    def raw(self, row: int, column: int) -> bytes:
        """One field as bytes."""
        return self.buffer[self.spans[row, 2 * column] : self.spans[row, 2 * column + 1]].tobytes()

    def interned(
        self, first: int, last: int, chosen: npt.NDArray[np.int32] | None = None
    ) -> tuple[npt.NDArray[np.int32], tuple[bytes, ...]]:
        """Number the distinct texts of the chosen rows, from one column to the end of another, bars included.

        Returns:
            The number of each row's text, and the texts.
        """
        numbers, spans = self.interned_spans(first, last, self.all if chosen is None else chosen)
        return numbers, tuple(self.buffer[b:e].tobytes() for b, e in spans.tolist())

    def interned_spans(
        self, first: int, last: int, chosen: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The same with begin and end of each text, int32, shape (texts, 2)."""
        from cuihop_loader._kernels import interning

        if not len(chosen):
            return np.empty(0, dtype=np.int32), np.empty((0, 2), dtype=np.int32)
        begin, end = 2 * first, 2 * last + 1
        table = np.full(1 << (2 * len(chosen) - 1).bit_length(), -1, dtype=np.int32)
        numbers = np.empty(len(chosen), dtype=np.int32)
        firsts = np.empty(len(chosen), dtype=np.int32)
        count = interning.intern(self.buffer, self.spans, begin, end, chosen, table, numbers, firsts)
        return numbers, np.ascontiguousarray(self.spans[chosen[firsts[:count]]][:, [begin, end]])

    def refuse(self, row: int, column: str, problem: str, found: str, expected: str) -> None:
        """Add a fault: this row cannot be used."""
        begin, end = _line_around(self.buffer, int(self.spans[row, 0]))
        self.faults.append(RowFault(int(self.places[row]), column, problem, found, expected, begin, end))


@dataclass
class _Tally:
    """Counts of a file, block by block."""

    rows: int = 0
    bad: int = 0
    crlf: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


class RowScanner(Generic[Found]):
    """Scan of one file.

    Args:
        file: the file.
        wanted: names of the columns to locate.
        work: function of the rows of a block; called in several threads at once, so it must change nothing but
            the block's own `Rows.faults`.
        rejected: collector of the rows that break the layout.
        progress: callback with the bytes read of this file.
        block_bytes: bytes to read at a time.

    Attributes:
        role: of the file.
    """

    def __init__(
        self,
        file: SourceFile,
        wanted: Sequence[str],
        work: Callable[[Rows], Found],
        rejected: RejectedRows,
        progress: StepProgress | None = None,
        block_bytes: int | None = None,
    ) -> None:
        self._file = file
        self.role = file.role
        self._layout: RrfLayout = LAYOUTS[file.role]
        self._wanted = np.array([self._layout.columns.index(name) for name in wanted], dtype=np.int64)
        self._work = work
        self._rejected = rejected
        self._progress = progress
        self._block_bytes = BLOCK_BYTES if block_bytes is None else block_bytes
        self._tally = _Tally()
        self._consumed = 0

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
                    if more:
                        waiting.append((block, pool.submit(self._scan, block)))
                    continue
                if waiting:
                    block, future = waiting.popleft()
                    rows, found = future.result()
                    self._count(rows, name)
                    yield found
                    free.append(block)
                    self._consumed = stream.consumed
                    if self._progress is not None:
                        self._progress(name, self._consumed, self._file.size)
        if broken is not None:
            raise broken.at_line(self._tally.rows + 1)
        if not self._tally.rows and not self._layout.may_be_empty:
            raise InputError("the file is empty", file=name, found="0 bytes", expected=f"rows of {self._layout.role}")

    def skip(self, reason: str, rows: int) -> None:
        """Count rows that are left out, by reason."""
        if rows:
            self._tally.skipped[reason] = self._tally.skipped.get(reason, 0) + rows

    @property
    def report(self) -> FileReport:
        """Report of the rows; call it when the whole file is read."""
        tally = self._tally
        skipped = dict(sorted(tally.skipped.items(), key=lambda item: (-item[1], item[0])))
        if tally.bad:
            skipped = {"bad row": tally.bad, **skipped}
        return FileReport(
            role=self._layout.role,
            file=str(self._file),
            rows=tally.rows,
            used=tally.rows - sum(skipped.values()),
            skipped=skipped,
            bad=tally.bad,
            bytes=self._consumed,
            line_ends="mixed" if 0 < tally.crlf < tally.rows else "CRLF" if tally.crlf else "LF",
        )

    def _scan(self, block: Block) -> tuple[Rows, Found]:
        rows = _split(block, self._layout, self._wanted)
        return rows, self._work(rows)

    def _count(self, rows: Rows, name: str) -> None:
        tally = self._tally
        for fault in sorted(rows.faults, key=lambda fault: fault.row):
            raw = rows.buffer[fault.begin : fault.end].tobytes()
            self._rejected.reject(name, tally.rows + fault.row + 1, fault, raw)
        tally.rows += rows.total
        tally.bad += len(rows.faults)
        tally.crlf += rows.crlf


def _split(block: Block, layout: RrfLayout, wanted: npt.NDArray[np.int64]) -> Rows:
    """Split a block into rows, with a fault for each with too few or too many columns, or that is not UTF-8."""
    from cuihop_loader._kernels import splitting

    columns = len(layout.columns)
    block.room(block.size // (columns + 1) + 1, 2 * len(wanted))
    counts = np.zeros(5, dtype=np.int64)
    bad = np.empty((_FIRST_BAD_ROWS, 5), dtype=np.int32)
    while True:
        splitting.split(block.buffer, block.size, columns, wanted, block.spans, block.rows, bad, counts)
        if counts[splitting.BAD] <= len(bad):
            break
        bad = np.empty((counts[splitting.BAD], 5), dtype=np.int32)
    good, total = int(counts[splitting.GOOD]), int(counts[splitting.ROWS])
    rows = Rows(
        buffer=block.buffer[: block.size],
        spans=block.spans[:good],
        places=block.rows[:good],
        faults=[],
        total=total,
        crlf=int(counts[splitting.CRLF]),
    )
    for what in bad[: counts[splitting.BAD]].tolist():
        cut = block.unterminated and what[splitting.BAD_ROW] == total - 1
        rows.faults.append(_wrong_columns(rows.buffer, layout, what, cut=cut))
    if counts[splitting.BEYOND_ASCII]:
        _check_utf8(block, rows, layout)
    return rows


def _wrong_columns(buffer: npt.NDArray[np.uint8], layout: RrfLayout, what: list[int], *, cut: bool) -> RowFault:
    row, begin, end, ended, tail = what
    columns = len(layout.columns)
    expected = f"{columns} columns, each ended by '|'"
    if tail:
        last = _excerpt(buffer[end - tail : end].tobytes())
        found = f"{ended} columns and {last} " + ("without a '|' after it" if ended < columns else "after the last '|'")
    else:
        found = f"{ended} columns" if end > begin else "an empty line"
    problem = "the last line is cut off" if cut else "too few columns" if ended < columns else "too many columns"
    column = layout.columns[ended] if ended < columns else columns + 1
    return RowFault(row, column, problem, found, expected, begin, end)


def _check_utf8(block: Block, rows: Rows, layout: RrfLayout) -> None:
    """Add a fault for each row with a byte that is not UTF-8, and leave these rows out."""
    from cuihop_loader._kernels import splitting

    places = np.empty(_FIRST_BAD_ROWS, dtype=np.int64)
    while True:
        found = splitting.invalid_utf8(block.buffer, block.words, block.size, places)
        if found <= len(places):
            break
        places = np.empty(found, dtype=np.int64)
    if not found:
        return
    refused = {fault.row for fault in rows.faults}
    line_feeds = np.flatnonzero(rows.buffer == ord("\n"))
    for place in places[:found].tolist():
        row = int(np.searchsorted(line_feeds, place))
        if row in refused:
            continue
        begin, end = _line_around(rows.buffer, place)
        column = min(int(np.count_nonzero(rows.buffer[begin:place] == ord("|"))), len(layout.columns) - 1)
        rows.faults.append(
            RowFault(
                row,
                layout.columns[column],
                "not UTF-8",
                f"byte 0x{rows.buffer[place]:02X}, byte {place - begin + 1} of the row",
                "UTF-8 text",
                begin,
                end,
            )
        )
    bad = np.fromiter((fault.row for fault in rows.faults), dtype=np.int32)
    good = ~np.isin(rows.places, bad)
    rows.spans = rows.spans[good]
    rows.places = rows.places[good]


def _line_around(buffer: npt.NDArray[np.uint8], place: int) -> tuple[int, int]:
    """Extent of the line with that byte, without its line end."""
    begin = place
    while begin > 0 and buffer[begin - 1] != ord("\n"):
        begin -= 1
    end = place
    while end < len(buffer) and buffer[end] != ord("\n"):
        end += 1
    if end > begin and buffer[end - 1] == ord("\r"):
        end -= 1
    return begin, end


def _excerpt(raw: bytes) -> str:
    """Text for a message, shortened where it is long."""
    text = raw[:_SHOWN_BYTES].decode("utf-8", errors="backslashreplace")
    return repr(text if len(raw) <= _SHOWN_BYTES else f"{text}…")
