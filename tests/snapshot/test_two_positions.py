"""Positions of identifiers, two or many at once, by text, by number or by the set of all numbers: always the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cuihop._kernels import lookup
from cuihop.snapshot.string_table import MANY, IdentifierTable

TEXTS = st.text("AB:0", min_size=1, max_size=5)


@given(stored=st.sets(TEXTS), one=TEXTS, other=TEXTS, prefix=st.sampled_from(["", "MONDO:000"]))
def test_two_places_are_their_positions(stored: set[str], one: str, other: str, prefix: str) -> None:
    table = IdentifierTable.packed(np.array(sorted(prefix + text for text in stored), dtype=np.bytes_))
    places = table.positions([prefix + one, prefix + other]).tolist()
    assert table.two_positions(prefix + one, prefix + other) == (None if -1 in places else tuple(places))
    assert table.two_positions(prefix + one, "é") is None
    assert table.two_positions(prefix + one, one + "\0") is None
    assert table.two_positions(prefix + one, 7) is None  # type: ignore[arg-type]
    assert table.two_positions(prefix + one, "A" * 200) is None


ALMOST = st.binary(min_size=8, max_size=8) | st.from_regex(rb"[BCDc][/0-9:]{7}", fullmatch=True)


@given(numbers=st.sets(st.integers(0, 9_999_999), min_size=1), others=st.lists(ALMOST))
@example(numbers={0, 63, 64, 9_999_999}, others=[b"C\xb0000000", b"C000000:", b"C000000/", b"\xff" * 8, b"C:000000"])
def test_cuis_are_found_by_their_numbers(numbers: set[int], others: list[bytes]) -> None:
    stored = [f"C{number:07}".encode() for number in sorted(numbers)]
    table = IdentifierTable.packed(np.array(stored))
    table.use_numbers()
    requested = [*stored, *others] * MANY
    keys = np.array([int.from_bytes(text, "big") for text in requested], dtype=np.uint64)
    position = {text: index for index, text in enumerate(stored)}
    positions = table.positions_of_keys(keys)
    assert positions is not None
    assert positions.tolist() == [position.get(text, -1) for text in requested]
    for one, other in zip(requested[:MANY], reversed(requested[:MANY]), strict=True):
        if one.isascii() and other.isascii() and b"\0" not in one + other:
            both = position.get(one, -1), position.get(other, -1)
            assert table.two_positions(one.decode(), other.decode()) == (None if -1 in both else both)


def test_a_table_of_cuis_and_others_is_searched() -> None:
    stored = ["A0000001", "C0000001", "C000002", "CL000003"]
    table = IdentifierTable.packed(np.array(stored, dtype=np.bytes_))
    table.use_numbers()
    assert table.positions(stored * MANY).tolist() == [0, 1, 2, 3] * MANY


def test_a_table_that_is_asked_often_is_asked_by_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    table = IdentifierTable.packed(np.array([b"C0000007", b"C0000009"]))
    keys = np.full(60_000, int.from_bytes(b"C0000009", "big"), dtype=np.uint64)
    for _ in range(2):
        positions = table.positions_of_keys(keys)
        assert positions is not None
        assert (positions == 1).all()
        monkeypatch.delattr(lookup, "positions", raising=False)
