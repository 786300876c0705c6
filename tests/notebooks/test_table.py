"""Tables in each of their forms."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pytest

from cuihop.notebooks.table import Table, write_tables

GROUPED = Table(["by", "@5", "@10", "@5"], [["a|b", "1", "2", "3"]], "t", "P & R", [("CT_1", 2), ("", 1)])


def test_titles_begin_with_those_of_their_groups() -> None:
    assert GROUPED.header == ["by", "CT_1 @5", "CT_1 @10", "@5"]
    assert Table((), [["a", "b"]]).header == []
    assert Table([" as it is "], []).header == [" as it is "]


def test_csv_gives_numbers_back_to_the_last_digit() -> None:
    numbers = [0.1, 1 / 3, 1e-300, math.nan, None, 7]
    header, row = csv.reader(io.StringIO(Table(["a, b", *"cdefg"], [numbers]).csv()))
    assert header == ["a, b", *"cdefg"]
    assert [float(cell) for cell in row if cell] == [0.1, 1 / 3, 1e-300, 7.0]
    assert row[3:] == ["", "", "7"]


def test_a_notebook_escapes_every_cell_and_leaves_out_an_empty_header() -> None:
    assert Table(["<b>"], [["a & b"]])._repr_html_() == (
        "<table><tr><th>&lt;b&gt;</th></tr><tr><td>a &amp; b</td></tr></table>"
    )
    assert Table((), [["a", "b"]]).html() == "<table><tr><td>a</td><td>b</td></tr></table>"


@pytest.mark.parametrize(
    ("suffix", "lines"),
    [
        ("md", ["**P & R**", "| --- | ---: | ---: | ---: |", r"| a\|b | 1 | 2 | 3 |"]),
        ("tex", [r"\caption{P \& R}", r"\cmidrule(lr){2-3}", r"a\textbar{}b & 1 & 2 & 3 \\"]),
    ],
)
def test_the_suffix_chooses_markdown_or_latex(suffix: str, lines: list[str], tmp_path: Path) -> None:
    write_tables(tmp_path / f"t.{suffix}", [GROUPED, GROUPED])
    text = (tmp_path / f"t.{suffix}").read_text().splitlines()
    assert all(text.count(line) == 2 for line in lines)


def test_cells_in_bold_type_are_bold_in_every_form() -> None:
    table = Table(["system", "P@5"], [["a_b", "0.5"], ["c", "0.7ᵃ"]], "t", "T", bold={(1, 1)})
    assert "<td><b>0.7ᵃ</b></td>" in table.html()
    assert "| c | **0.7ᵃ** |" in table.markdown()
    assert r"c & \textbf{0.7$^{a}$} \\" in table.latex()
    assert table.text().splitlines()[-1] == "c       0.7ᵃ"
