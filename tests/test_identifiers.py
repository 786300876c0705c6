"""Identifiers, tables of them, and sets of concepts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop.errors import InputError
from cuihop.identifiers import MAX_LENGTH, concept_set, is_identifier
from cuihop.snapshot.string_table import IdentifierTable, identifier_array

opaque = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=";|"), min_size=1, max_size=20)


@given(st.lists(opaque, unique=True, min_size=1), st.lists(st.text(max_size=30)))
def test_a_table_finds_what_it_holds_and_nothing_else(held: list[str], others: list[str]) -> None:
    ordered = sorted(held)
    table = IdentifierTable.packed(identifier_array(ordered))
    assert table.positions(ordered).tolist() == list(range(len(held)))
    assert [table[i] for i in range(len(table))] == table.at(np.arange(len(table))) == ordered
    expected = [ordered.index(text) if text in held else -1 for text in others]
    assert table.positions(others).tolist() == expected


@given(st.lists(st.integers(0, 9_999_999).map(lambda n: f"C{n:07d}"), unique=True, min_size=1))
def test_cuis_sort_as_their_numbers_do(cuis: list[str]) -> None:
    table = IdentifierTable.packed(identifier_array(sorted(cuis)))
    assert table.stored.dtype == np.uint64
    assert table.positions(cuis).tolist() == [sorted(cuis).index(cui) for cui in cuis]
    longer = [cui + "0" for cui in cuis]
    assert table.positions(longer).tolist() == [-1] * len(cuis)
    assert table.positions([cuis[0] + "\0"]).tolist() == [-1]


@given(
    st.lists(st.integers(0, 9_999_999), unique=True, min_size=1, max_size=300),
    st.integers(0, 300),
    st.integers(0, 2**32),
)
def test_many_cuis_are_found_by_compiled_code_as_by_numpy(held: list[int], count: int, seed: int) -> None:
    import numba  # noqa: F401 - compiled code is used only where somebody has loaded it

    table = IdentifierTable.packed(identifier_array([f"C{n:07d}" for n in sorted(held)]))
    draw = np.random.default_rng(seed)
    requested = [*draw.choice(held, count).tolist(), *draw.integers(0, 9_999_999, count).tolist()]
    place = {number: i for i, number in enumerate(sorted(held))}
    assert table.positions([f"C{n:07d}" for n in requested]).tolist() == [place.get(n, -1) for n in requested]


@pytest.mark.parametrize("odd", ["C000000\0", "C00000\u00e9", "C00000011", "C000001", "", "c0000001"])
def test_one_odd_identifier_among_many_is_not_found_and_moves_no_other(odd: str) -> None:
    cuis = [f"C{n:07d}" for n in range(200)]
    table = IdentifierTable.packed(identifier_array(cuis))
    assert table.positions([*cuis[:100], odd, *cuis[100:]]).tolist() == [*range(100), -1, *range(100, 200)]


def test_an_identifier_has_a_longest_length() -> None:
    assert is_identifier("x" * MAX_LENGTH, "any")
    assert not is_identifier("x" * (MAX_LENGTH + 1), "any")


@pytest.mark.parametrize(("text", "cui", "anything"), [
    ("C0006121", True, True), ("C000612", False, True), ("CL319935", False, True), ("HP:0001250", False, True),
    ("C٠٠٠٦١٢١", False, False), ("a b", False, False), ("a;b", False, False), ("a|b", False, False), ("", False, False),
])  # fmt: skip
def test_what_an_identifier_is(text: str, cui: bool, anything: bool) -> None:
    assert (is_identifier(text), is_identifier(text, "any")) == (cui, anything)


@pytest.mark.parametrize("text", ["C0042449;", ";C0042449", "C0042449;;C0005847", ";"])
def test_a_set_with_a_gap_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="an identifier is missing"):
        concept_set(text)


def test_sets() -> None:
    assert concept_set(" C0042449 ; C0005847;C0042449") == {"C0042449", "C0005847"}
    assert concept_set("  ") == concept_set([]) == frozenset()
    assert concept_set(["C0042449"]) == {"C0042449"}
