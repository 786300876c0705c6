"""Measured figures on the pages are those of ``benchmarks/results``.

A comment above a paragraph or table names the source of each figure in it, in their order, on lines or between ``;``::

    <!-- figures
    distances | random, call by call | cuihop index
    evaluation | time, test, n = 1 | Python sets / cuihop, 2 threads
    -
    -->

A line is file, question and subject; versions after a subject may be left out, and ``/`` makes a ratio ("310 times").
``-`` stands for a figure that no benchmark measures, such as the size of an input. The first page must have a source
for each figure. ``python tests/docs/test_figures.py`` lists the figures of other pages that have none, with
measurements that would fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from shared_data import ROOT

RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"
PAGES = [README, *sorted(path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts)]
BLOCK = re.compile(r"<!-- figures\n(.*?)\n-->\n+(.*?)(?=\n\n|\Z)", re.DOTALL)
FIGURE = re.compile(
    r"(?<![\w.,/-])(\d+(?:,\d{3})*(?:\.\d+)?)(?: ?(µs|ms|s|seconds|minutes|kB|MB|GB)\b| (a second|times)\b|(×))"
)
UNITS = {
    "µs": (1e-6, "s"), "ms": (1e-3, "s"), "s": (1, "s"), "seconds": (1, "s"), "minutes": (60, "s"),
    "kB": (1e3, "B"), "MB": (1e6, "B"), "GB": (1e9, "B"), "a second": (1, "/s"), "times": (1, ""), "×": (1, ""),
}  # fmt: skip
"""Unit on a page or in the results → its size, in the unit that values are compared in."""

Quantity = tuple[float, str]


@cache
def measured(name: str) -> list[tuple[str, str, Quantity]]:
    """Question, subject and value of each figure of a file of results."""
    figures = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    return [(one["question"], one["subject"], quantity(one["value"], one["unit"])) for one in figures]


def quantity(value: float, unit: str) -> Quantity:
    first = unit.partition(" ")[0]
    size, kind = UNITS.get(first) or UNITS.get(unit) or (1, "/s" if first.endswith("/s") else unit)
    return value * size, kind


def source(line: str) -> Quantity:
    """The measured value that a line of a comment names."""
    name, question, subjects = (part.strip() for part in line.split("|"))
    values = []
    for subject in subjects.split(" / "):
        form = re.compile(rf"{re.escape(subject)}( [\d(].*)?")
        [value] = [value for asked, who, value in measured(name) if asked == question and form.fullmatch(who)]
        values.append(value)
    return values[0] if len(values) == 1 else (values[0][0] / values[1][0], "")


def sources(comment: str) -> list[str]:
    return re.split(r"\n|; ", comment)


def figures(text: str) -> Iterator[tuple[str, Quantity, float]]:
    """Each figure of a text, its value, and half a unit of its last digit."""
    for match in FIGURE.finditer(text):
        number, unit = match[1], match[2] or match[3] or match[4]
        size, kind = UNITS[unit]
        digits = len(number.partition(".")[2])
        yield match[0], (float(number.replace(",", "")) * size, kind), 0.5 * 10**-digits * size


def fits(shown: Quantity, half: float, value: Quantity) -> bool:
    """A shown value is the measured one, rounded, or within a twentieth of it, as times of two runs are."""
    return shown[1] == value[1] and abs(shown[0] - value[0]) <= max(half, 0.05 * value[0])


def candidates(shown: Quantity, half: float) -> list[str]:
    """The measurements that a figure may come from, as lines of a comment."""
    return [
        f"{path.stem} | {question} | {subject}"
        for path in sorted(RESULTS.glob("*.json"))
        for question, subject, value in measured(path.stem)
        if fits(shown, half, value)
    ]


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$|^    [^\n]*$", "", text, flags=re.M | re.S)


def faults(text: str) -> Iterator[str]:
    """Figures of a page that differ from their source."""
    for comment, block in BLOCK.findall(text):
        lines, shown = sources(comment), list(figures(block))
        if len(lines) != len(shown):
            yield f"{len(lines)} sources for {len(shown)} figures: {[figure for figure, _, _ in shown]}"
            continue
        for line, (figure, value, half) in zip(lines, shown, strict=True):
            if line != "-" and not fits(value, half, source(line)):
                yield f"{figure}: {line} is {source(line)}"


def without_source(text: str) -> list[tuple[str, list[str]]]:
    """Figures of a page that no comment covers, with their candidates."""
    rest = without_code(BLOCK.sub("", text))
    return [(figure, candidates(value, half)) for figure, value, half in figures(rest)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_figures_of_a_page_are_those_of_their_sources(page: Path) -> None:
    assert list(faults(page.read_text(encoding="utf-8"))) == []


def test_every_figure_of_the_first_page_has_a_source() -> None:
    text = README.read_text(encoding="utf-8")
    assert without_source(text) == []
    assert len([line for comment, _ in BLOCK.findall(text) for line in sources(comment) if line != "-"]) > 5


def test_a_figure_that_differs_or_has_no_source_is_found() -> None:
    comment = "<!-- figures\nevaluation | time, test, n = 1 | cuihop, 2 threads\n-\n-->\n\n"
    assert list(faults(f"{comment}It takes 0.21 s for 2 GB.\n\nNext: 9 s.")) == []
    assert len(list(faults(f"{comment}It takes 0.31 s for 2 GB."))) == 1
    assert len(list(faults(f"{comment}It takes 0.21 MB for 2 GB."))) == 1
    assert len(list(faults(f"{comment}It takes 0.21 s for 2 GB or 3 GB."))) == 1
    ratio = (
        "<!-- figures\nevaluation | time, test, n = 1 | Python sets / cuihop, 2 threads\n-->\nIt is 310 times as fast."
    )
    assert list(faults(ratio)) == []
    assert list(faults(ratio.replace("310", "410")))
    assert [figure for figure, _ in without_source("It takes 0.21 s.\n\n```console\n$ sleep 1 s\n```\n")] == ["0.21 s"]
    assert "evaluation | time, test, n = 1 | cuihop, 2 threads" in without_source("0.21 s")[0][1]


if __name__ == "__main__":
    for each in PAGES:
        for shown, fitting in without_source(each.read_text(encoding="utf-8")):
            print(f"{each.relative_to(ROOT)}: {shown}: {' or '.join(fitting[:3]) or 'no measurement fits'}")
