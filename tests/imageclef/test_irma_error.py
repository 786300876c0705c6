"""The hierarchical error of IRMA codes: the published table, and what follows from the definition."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop.errors import InputError
from cuihop.imageclef.irma_codes import evaluate_irma
from cuihop.measures import irma_error, measures_named
from cuihop.measures.irma_error import branching_of, code_error
from cuihop.measures.measure import ALL_FAMILIES

# Table 6 of the overview of ImageCLEFmed 2007: the error in the real hierarchy, and with two labels everywhere.
TABLE_6 = {
    "318a": (0.000, 0.000),
    "318*": (0.024, 0.060),
    "3187": (0.049, 0.120),
    "31*a": (0.082, 0.140),
    "31**": (0.082, 0.140),
    "3177": (0.165, 0.280),
    "3***": (0.343, 0.260),
    "32**": (0.687, 0.520),
    "1000": (1.000, 1.000),
}


@pytest.mark.parametrize(("code", "published"), TABLE_6.items())
def test_table_6(code: str, published: tuple[float, float]) -> None:
    assert round(irma_error("318a", code, (10, 3, 9, 16)), 3) == published[0]
    assert round(irma_error("318a", code, 2), 3) == published[1]


codes = st.text("0123", min_size=1, max_size=6)


@given(codes, st.data())
def test_errors_lie_between_all_right_and_all_wrong(code: str, data: st.DataObject) -> None:
    predicted = data.draw(st.text("0123*", min_size=len(code), max_size=len(code)))
    branching = data.draw(st.lists(st.integers(1, 20), min_size=len(code), max_size=len(code)))
    error = irma_error(code, predicted, branching)
    assert 0.0 <= error <= 1.0
    assert (error == 0.0) == (code == predicted)
    assert code_error(code, predicted) == (1.0 if error else 0.0)
    assert irma_error(code, "4" * len(code), branching) == 1.0
    assert irma_error(code, "*" * len(code), branching) == 0.5


def test_values_of_codes_are_errors_and_those_of_other_measures_are_not() -> None:
    errors = {"IRMA": irma_error("31", "30", 2) > irma_error("31", "31", 2), "ER": code_error("3", "0") > 0}
    assert {family.name for family in ALL_FAMILIES if family.error} == {name for name, more in errors.items() if more}
    assert {family.name for family in ALL_FAMILIES if family.kind == "code"} == errors.keys()


@pytest.mark.parametrize("b", [-1, 0, 1, 2])
def test_the_name_of_a_measure_takes_the_labels_that_the_function_takes(b: int) -> None:
    try:
        irma_error("31", "30", b)
    except InputError:
        with pytest.raises(InputError, match="1 or more"):
            measures_named(f"IRMA(b={b})")
    else:
        assert str(measures_named(f"IRMA(b={b})")[0]) == f"IRMA(b={b})"


def test_what_stands_behind_the_first_difference_does_not_count() -> None:
    assert irma_error("318a", "3*8a", 2) == irma_error("318a", "3***", 2)
    assert irma_error("318a", "328a", 2) == irma_error("318a", "3200", 2)


def test_labels_are_counted_per_beginning() -> None:
    b = branching_of(["100", "110", "111", "200"])
    assert [b(""), b("1"), b("11"), b("2")] == [2, 2, 2, 1]
    assert irma_error("110", "111", b) == irma_error("110", "111", (2, 2, 2))
    with pytest.raises(InputError, match="no code of the hierarchy begins so"):
        irma_error("300", "100", b)


@pytest.mark.parametrize(
    ("correct", "predicted", "branching"),
    [("31", "311", 2), ("", "", 2), ("3*", "31", 2), ("31", "31", 0), ("31", "31", (2,)), ("31", "31", (2, -1))],
)
def test_codes_and_branching_that_are_none(correct: str, predicted: str, branching: int | tuple[int, ...]) -> None:
    with pytest.raises(InputError):
        irma_error(correct, predicted, branching)


def test_a_correct_code_that_the_code_book_does_not_have(tmp_path: Path) -> None:
    # Without 3187, four labels would be counted as three; and a book with old line ends is one line.
    for name, text in (("truth", "a 318a\nb 3187\n"), ("predicted", "a 318*\nb 3187\n"), ("codes", "318a\r3187\r")):
        (tmp_path / name).write_bytes(text.encode())
    with pytest.raises(InputError, match=r"truth, line 2, column 2: not in the code book; found '3187'"):
        evaluate_irma(tmp_path / "truth", tmp_path / "predicted", codes=tmp_path / "codes")
    (tmp_path / "codes").write_text("318a\n3187\n")
    assert evaluate_irma(tmp_path / "truth", tmp_path / "predicted", codes=tmp_path / "codes").counts.right == 1
