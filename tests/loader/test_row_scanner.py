"""The scanner of rows, against plain Python on random bytes, and across the borders of blocks."""

from __future__ import annotations

import random
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cuihop.errors import InputError, LimitExceeded
from cuihop_loader import identifier_codes
from cuihop_loader._kernels import splitting
from cuihop_loader._kernels.splitting import invalid_utf8
from cuihop_loader._kernels.words import LANES
from cuihop_loader.identifier_codes import IdentifierCodes, identifier_column
from cuihop_loader.rejected_rows import RejectedRows
from cuihop_loader.row_scanner import Rows, RowScanner
from cuihop_loader.sources import OMOP_LAYOUTS, SourceFile
from cuihop_loader.streams import Block, BlockReader, Part

FIELDS = st.sampled_from([b"", b"a", b"0001", b"\xc3\xb6", b"\xff", b'"', b"\r"])
PIECES = st.sampled_from([b"|", b"a", b"\xc3", b"\xb6", b"\xe2\x82\xac", b"\xf0\x9f\xab\x80", b"\r", b"longer text"])
LINES = st.lists(
    st.one_of(
        st.tuples(FIELDS, FIELDS, FIELDS, FIELDS).map(lambda fields: b"|".join(fields) + b"|"),
        st.lists(PIECES, max_size=8).map(b"".join),
    ),
    max_size=12,
)


@given(lines=LINES, ended=st.booleans(), block=st.integers(1, 64), tabs=st.booleans())
@example(
    lines=[b"a|b|c|d|", b"x" + b"|" * 9000 + b"tail", b"a|b|c|d|" * 2000, b"e|f|g|h|"], ended=True, block=64, tabs=False
)
@example(lines=[b"|||e|"] * 3000, ended=False, block=1 << 20, tabs=False)
@example(lines=[b"a|b|c|d|", b"\xed\xa0\x80|b|c|d|", b"a|b|c|\xf4\x90\x80\x80|"], ended=True, block=1, tabs=False)
@example(lines=[b"a|b|c|d|", b"x" + b"|" * 9000 + b"tail", b"a|b|c|d\r|"], ended=False, block=64, tabs=True)
def test_rows_and_faults_are_those_that_plain_python_finds(
    lines: list[bytes], ended: bool, block: int, tabs: bool
) -> None:
    role, columns = "MRRANK", ("SAB", "SUPPRESS")
    if tabs:
        role, columns = "OMOP CONCEPT_ANCESTOR", ("descendant_concept_id", "max_levels_of_separation")
        lines = [line.removesuffix(b"|").replace(b"|", b"\t") for line in lines]
        lines.insert(0, "\t".join(OMOP_LAYOUTS[role]).encode())
    content = b"\n".join(lines) + (b"\n" if ended else b"")
    good, bad = [], []
    split = content.split(b"\n")
    last = len(split) - (split[-1] == b"")
    for number, line in enumerate(split[:last], start=1):
        if tabs and number == 1:
            continue
        fields = line.removesuffix(b"\r").split(b"\t" if tabs else b"|")
        if tabs:
            fields = [*fields, b""] if number < len(split) else []  # a line without an end is cut off
        try:
            line.decode()
            text = True
        except UnicodeDecodeError:
            text = False
        if len(fields) == 5 and fields[-1] == b"" and text:
            good.append((fields[1], fields[3]))
        else:
            bad.append(number)

    def work(rows: Rows) -> list[tuple[bytes, bytes]]:
        return [(rows.raw(row, 0), rows.raw(row, 1)) for row in range(len(rows))]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        file = SourceFile(role, (Part(path, None, False, len(content)),))
        reported: list[int] = []

        class Noted(RejectedRows):
            def reject(self, file: str, line: int | None, fault: object, row: bytes) -> None:
                assert line is not None
                reported.append(line)
                assert row == split[line - 1].removesuffix(b"\r")

        noted = Noted(skip=True, target=None)
        scanner = RowScanner(file, columns, work, noted, lambda *_: None, block_bytes=block)
        if content:
            assert [row for found in scanner for row in found] == good
            assert reported == bad
            assert (scanner.report.rows, scanner.report.bad) == (len(good) + len(bad), len(bad))
        else:
            with pytest.raises(InputError, match="empty"):
                list(scanner)


class Chunks:
    """Bytes that come in pieces."""

    def __init__(self, content: bytes, size: int) -> None:
        self._content = content
        self._size = size

    def readinto(self, view: memoryview) -> int:
        count = min(len(view), self._size, len(self._content))
        view[:count] = self._content[:count]
        self._content = self._content[count:]
        return count


@given(st.binary(max_size=300), st.integers(1, 50), st.integers(1, 70))
@example(b"\xef\xbb\xbf", 50, 70)
@example(b"\xef\xbb\xbfa\n", 1, 70)
def test_blocks_hold_whole_lines_and_all_bytes(content: bytes, piece: int, capacity: int) -> None:
    reader = BlockReader(Chunks(content, piece), "file")
    blocks = [Block(capacity), Block(capacity)]
    found = b""
    turn = 0
    while reader.fill(blocks[turn % 2]):
        block = blocks[turn % 2]
        text = block.buffer[: block.size].tobytes()
        assert text.endswith(b"\n")
        assert not block.buffer[block.size : -(-block.size // 64) * 64].any()
        found += text[:-1] if block.unterminated else text
        turn += 1
    assert found == content.removeprefix(b"\xef\xbb\xbf")
    assert not reader.fill(blocks[0])


def test_a_long_file_of_short_lines_has_many_small_blocks() -> None:
    reader, block = BlockReader(Chunks(b"a row\n" * 1000, 50), "file"), Block(64)
    capacity, blocks = block.capacity, 0
    while reader.fill(block):
        blocks += 1
    assert block.capacity == capacity
    assert blocks >= 6000 // capacity


def test_a_block_has_room_for_more_rows_of_as_many_columns() -> None:
    block = Block(64)
    for rows in (1, 4, 4):
        before = block.spans
        block.room(rows, 8)
        assert (block.spans.shape, block.rows.shape) == ((rows, 8), (rows,))
    assert block.spans is before


def rows_of(texts: list[bytes]) -> Rows:
    buffer = np.frombuffer(b"|".join(texts) + b"|", dtype=np.uint8).copy()
    ends = np.flatnonzero(buffer == ord("|"))[: len(texts)]
    spans = np.stack([np.r_[0, ends[:-1] + 1][: len(texts)], ends], axis=1).astype(np.int32)
    return Rows(buffer, np.ascontiguousarray(spans), np.arange(len(texts), dtype=np.int32), [], len(texts), 0)


@given(st.lists(st.binary(max_size=12).filter(lambda text: b"|" not in text), min_size=1, max_size=80))
def test_equal_texts_get_equal_numbers(texts: list[bytes]) -> None:
    rows = rows_of(texts)
    numbers, distinct = rows.interned(0, 0)
    assert [distinct[number] for number in numbers.tolist()] == texts
    assert list(distinct) == list(dict.fromkeys(texts))


IDENTIFIERS = st.one_of(
    st.from_regex(r"C[0-9]{7}", fullmatch=True),
    st.from_regex(r"[A-Z:0-9]{1,12}", fullmatch=True),
    st.sampled_from(["C000000", "C00000001", "c0000001", "C000000A", "C00001/0", "C1-34567", "C000000:", "", "é"]),
)


@given(st.lists(IDENTIFIERS, min_size=1, max_size=40))
def test_codes_lead_back_to_identifiers_in_their_order(texts: list[str]) -> None:
    from cuihop.identifiers import is_identifier

    rows = rows_of([text.encode() for text in texts])
    column = identifier_column(rows, 0, "CUI1", rows.all)
    valid = [is_identifier(text, "any") for text in texts]
    assert column.is_invalid().tolist() == [not ok for ok in valid]
    assert sorted(bad.row for bad in rows.bad_rows) == [row for row, ok in enumerate(valid) if not ok]
    codes = IdentifierCodes()
    valid_codes = codes.codes(column.at(np.flatnonzero(valid)))
    wanted = [text for text, ok in zip(texts, valid, strict=True) if ok]
    assert [text.decode() for text in codes.identifiers(valid_codes).tolist()] == wanted
    distinct = np.unique(valid_codes)
    ordered, places = codes.in_order(distinct)
    assert [text.decode() for text in ordered.tolist()] == sorted(set(wanted))
    assert ordered[places].tolist() == codes.identifiers(distinct).tolist()


def test_more_identifiers_than_codes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifier_codes, "CODE_BITS", 23)
    rows = rows_of([b"CL1"])
    with pytest.raises(LimitExceeded, match="identifiers that are not CUIs"):
        IdentifierCodes().codes(identifier_column(rows, 0, "CUI1", rows.all))


def test_identifiers_get_one_code_each_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifier_codes, "_FIRST_OTHERS", 1)
    codes = IdentifierCodes()
    batches = [
        [f"X{i * i % 1009}{'y' * (i % 120)}" for i in range(begin, begin + 200)] for begin in range(0, 1000, 150)
    ]
    texts, numbers = [], []
    for batch in batches:
        rows = rows_of([text.encode() for text in batch])
        numbers += codes.codes(identifier_column(rows, 0, "CUI1", rows.all)).tolist()
        texts += batch
    assert len(set(zip(texts, numbers, strict=True))) == len(set(texts)) == len(set(numbers))
    ordered, places = codes.in_order(np.unique(numbers))
    assert [text.decode() for text in ordered.tolist()] == sorted(set(texts))
    assert [ordered[places[i]].decode() for i in range(len(places))] == list(dict.fromkeys(texts))


def test_the_register_of_identifiers_grows_by_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third batch, of almost as many as there are, has no room in the table of the second."""
    monkeypatch.setattr(identifier_codes, "_FIRST_OTHERS", 1)
    for seed in range(40):
        texts = [f"X{number}".encode() for number in random.Random(seed).sample(range(10**9), 399)]
        codes, numbers = IdentifierCodes(), list[int]()
        for begin, end in ((0, 100), (100, 200), (200, 399), (0, 399)):
            rows = rows_of(texts[begin:end])
            numbers += codes.codes(identifier_column(rows, 0, "CUI1", rows.all)).tolist()
        assert len(set(numbers)) == len(texts)
        assert numbers[len(texts) :] == numbers[: len(texts)]


def test_text_is_utf8_where_python_can_decode_it() -> None:
    edges = b"A\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xed\xee\xef\xf0\xf4\xf5"
    lines = [bytes(line) for line in product(edges, repeat=4)]
    expected, begin = [], 0
    for line in lines:
        try:
            line.decode()
        except UnicodeDecodeError as error:
            expected.append(begin + error.start)
        begin += len(line) + 1
    buffer = np.frombuffer(b"\n".join([*lines, b""]), dtype=np.uint8)
    positions = np.empty(len(lines), dtype=np.int64)
    count = invalid_utf8(buffer, len(buffer), positions)
    assert positions[:count].tolist() == expected


@pytest.mark.parametrize("columns", [1, 18, 5000])
@pytest.mark.parametrize("bars", [0, 1, 9000])
def test_positions_of_bars_have_their_room(columns: int, bars: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of bars alone, with fewer, as many and more of them than columns, by the kernel as plain Python.

    Compiled code does not notice a position behind the end of an array.
    """
    monkeypatch.setattr(splitting, "first_ones", lambda *_: 0)  # as on a processor without the instruction
    lines = [b"|" * columns, b"|" * bars] * (20_000 // (columns + bars) + 1)
    # One letter: the positions of the first 64 bytes are 63 then, and together as many as there is room for.
    text = np.frombuffer(b"a" + b"\n".join([*lines, b""]), dtype=np.uint8)
    block = np.concatenate([text, np.zeros(-len(text) % LANES, dtype=np.uint8)])
    spans, rows = np.empty((len(lines), 2), dtype=np.int32), np.empty(len(lines), dtype=np.int32)
    bad, counts = np.empty((len(lines), 5), dtype=np.int32), np.zeros(5, dtype=np.int64)
    with np.errstate(over="ignore"):  # one less than no bits
        last = np.array([columns - 1])
        splitting.split.py_func(block, len(text), columns, ord("|"), columns, last, spans, rows, bad, counts)  # type: ignore[attr-defined]
    sound = [row for row, line in enumerate(lines) if len(line) == columns]
    assert counts.tolist() == [0, 0, len(lines), len(sound), len(lines) - len(sound)]
    assert rows[: len(sound)].tolist() == sound
    assert set(bad[: counts[splitting.BAD], splitting.BAD_COLUMNS].tolist()) == {bars} - {columns}
