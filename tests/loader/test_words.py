"""Bytes taken many at a time: compiled code against the plain functions that it stands for, and against Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop._kernels.jit import compiled
from cuihop.resources.arrays import Int32, UInt8
from cuihop_loader._kernels import interning, words

places = st.integers(0, 64)
buffers = st.binary(min_size=128, max_size=128).map(lambda raw: np.frombuffer(raw, dtype=np.uint8).copy())
numbers = st.integers(0, 2**64 - 1).map(np.uint64)


@compiled
def compiled_masks(buffer: UInt8, at: int, byte: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    return words.ones_where(buffer, at, byte), words.beyond_ascii(buffer, at), words.eight_bytes(buffer, at)


@compiled
def compiled_counts(number: np.uint64) -> tuple[int, int]:
    return words.lowest_one(number), words.count_ones(number)


@given(buffers, places, st.integers(0, 255))
def test_compiled_masks_are_those_of_the_plain_functions(buffer: UInt8, at: int, byte: int) -> None:
    raw = buffer.tobytes()[at : at + 64]
    found, beyond, word = (int(answer) for answer in compiled_masks(buffer, at, byte))
    assert [found >> k & 1 for k in range(64)] == [int(b == byte) for b in raw]
    assert [beyond >> k & 1 for k in range(64)] == [b >> 7 for b in raw]
    assert word == int.from_bytes(raw[:8], "little")
    assert (found, beyond, word) == (
        int(words.ones_where(buffer, at, byte)),
        int(words.beyond_ascii(buffer, at)),
        int(words.eight_bytes(buffer, at)),
    )


@given(numbers)
def test_bits_are_counted_as_python_counts_them(number: np.uint64) -> None:
    digits = f"{int(number):064b}"
    expected = (64 if int(number) == 0 else len(digits) - 1 - digits.rindex("1"), digits.count("1"))
    assert compiled_counts(number) == expected
    assert (words.lowest_one(number), words.count_ones(number)) == expected


@compiled
def compiled_ones(number: np.uint64, base: int, positions: Int32, at: int) -> int:
    return words.first_ones(number, base, positions, at)


@given(numbers, st.integers(0, 2**30), st.integers(0, 3))
def test_positions_of_bits_are_written_or_none(number: np.uint64, base: int, at: int) -> None:
    expected = [base + k for k in range(64) if int(number) >> k & 1][:32]
    for function in (compiled_ones, words.first_ones):
        positions = np.full(36, -1, dtype=np.int32)
        count = function(number, base, positions, at)
        if function is words.first_ones or count:
            assert (count, positions[at : at + len(expected)].tolist()) == (32, expected)
            assert set(positions[:at].tolist()) | set(positions[at + 32 :].tolist()) <= {-1}
        else:  # the processor has no such instruction
            assert set(positions.tolist()) == {-1}


@compiled
def compiled_copy(source: UInt8, begin: int, end: int, out: UInt8, at: int) -> None:
    words.copy_bytes(source, begin, end, out, at)


@given(st.binary(max_size=300), st.data())
def test_bytes_are_copied_and_no_others_change(raw: bytes, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(begin, len(raw)))
    for function in (compiled_copy, words.copy_bytes):
        out = np.full(310, 7, dtype=np.uint8)
        function(np.frombuffer(raw, dtype=np.uint8).copy(), begin, end, out, 5)
        assert out.tobytes() == b"\7" * 5 + raw[begin:end] + b"\7" * (305 - end + begin)


@given(st.binary(min_size=1, max_size=24), st.data())
def test_first_bytes_are_read_up_to_the_very_end_of_a_buffer(raw: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(raw) - 1))
    count = data.draw(st.integers(1, min(8, len(raw) - at)))
    number = words.first_bytes(np.frombuffer(raw, dtype=np.uint8).copy(), at, count)
    assert int(number) == int.from_bytes(raw[at : at + count], "little")


fields = st.one_of(
    st.integers(0, 9_999_999).map(lambda number: b"C%07d" % number),
    st.text(alphabet="C0123456789/:;cL", min_size=8, max_size=8).map(str.encode),
    st.binary(max_size=12),
)


@given(st.lists(fields, min_size=1, max_size=20))
def test_only_c_and_seven_digits_are_a_cui(raws: list[bytes]) -> None:
    ends = np.cumsum([len(raw) for raw in raws])
    spans = np.stack([ends - [len(raw) for raw in raws], ends], axis=1).astype(np.int32)
    buffer = np.frombuffer(b"".join(raws) or b"\0", dtype=np.uint8).copy()
    codes = np.empty(len(raws), dtype=np.int32)
    others = interning.cui_codes(buffer, spans, 0, np.arange(len(raws), dtype=np.int32), codes)
    expected = [
        1 + int(raw[1:]) if len(raw) == 8 and raw[:1] == b"C" and raw.isascii() and raw[1:].isdigit() else 0
        for raw in raws
    ]
    assert codes.tolist() == expected
    assert others == expected.count(0)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3)), min_size=80, max_size=200))
def test_sets_keep_their_numbers_when_there_is_room_for_more(made: list[tuple[int, int]]) -> None:
    sets, table = interning.empty_sets(4)
    count, expected = 4, dict[tuple[int, int], int]()
    for some, member in made:
        if count == len(sets):
            sets, table = interning.with_room(sets, 1)
        key = some % count, member
        number = interning.with_member(*key, sets, count, table)
        assert number == expected.setdefault(key, count)
        count += number == count
