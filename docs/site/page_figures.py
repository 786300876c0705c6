"""Figures on the pages, from ``benchmarks/results``: ``.venv/bin/python docs/site/page_figures.py`` writes them.

A figure is a measured number, in digits, with a unit of time, memory or rate, or with "times". A comment above a
paragraph, list or table names the source of each figure in it, in their order, on lines or between ``;``::

    <!-- figures
    distances | random, call by call | cuihop index
    evaluation | time, test, n = 1 | Python sets / cuihop, 2 threads
    -->

A source is file, question and subject; versions after a subject may be left out, and ``/`` makes a ratio ("310
times"). In such a paragraph a decimal below 1, such as F1, has a source too. Each figure keeps its unit and its number
of digits.

Not measured, and so without a source, is a figure

- in code, and right after the name of a setting in code: "`drain_delay`, 5 s";
- in a sentence, or a table with a head, that says limit, default or estimated;
- in KiB, MiB or GiB, in which limits are given.

Any other figure without a source is an error. With ``--check`` nothing is written. Records of decisions, and of found
defects, keep the figures of their day.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

__all__ = ["checked", "pages"]

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
UNITS = {
    "ns": (1e-9, "s"), "µs": (1e-6, "s"), "ms": (1e-3, "s"), "s": (1, "s"), "second": (1, "s"), "minute": (60, "s"),
    "hour": (3600, "s"), "kB": (1e3, "B"), "MB": (1e6, "B"), "GB": (1e9, "B"), "TB": (1e12, "B"),
}  # fmt: skip
"""Unit on a page or in the results → its size, in the unit that values are compared in."""

BLOCK = re.compile(r"<!-- figures\n(?P<sources>.*?)\n-->\n+(?P<text>.*?)(?=\n\n|\Z)", re.DOTALL)
CODE = re.compile(r"^```.*?^```$|^    [^\n]*$|(?<!`)`[^`\n]+`(?!`)|<!--.*?-->", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(
    r"(?<![\w.,/-])(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)"
    r"(?:[ -]?(?P<unit>ns|µs|ms|s|kB|MB|GB|TB|seconds?|minutes?|hours?|times|×(?! ?\d))(?!\w)"
    r"|(?P<rate>(?: [a-z]+)?(?: a second| per second|/s))\b"
    r"|(?![\w.%]| %))"
)
UNIT_IN_HEAD = re.compile(r"^\|.*(?<!')\b(?:[nµm]?s|[kMGT]B|seconds|minutes|hours)\b.*(?=\n\|[-:|]+$)", re.MULTILINE)
SETTING = re.compile(r"`[\w.]+`[,:]? \(?$")
NOT_MEASURED = re.compile(r"\b(limits?|defaults?|estimated)\b", re.IGNORECASE)
ADVICE = (
    "no source. Name it in a comment <!-- figures above the paragraph or table, or remove the figure. If it is not "
    "measured, its sentence or the head of its table says limit, default or estimated"
)

Quantity = tuple[float, str]


def pages() -> list[Path]:
    """The pages whose figures are checked."""
    first = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    docs = (ROOT / "docs").rglob("*.md")
    return first + sorted(path for path in docs if not {"reference", "decisions", "reliability.md"} & set(path.parts))


@cache
def measured(name: str) -> list[tuple[str, str, Quantity]]:
    """Question, subject and value of each figure of a file of results."""
    figures = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"]
    return [(one["question"], one["subject"], quantity(one["value"], one["unit"])) for one in figures]


def quantity(value: float, unit: str) -> Quantity:
    """A value in the units of comparison; a share, a ratio and a count have none."""
    first = unit.partition(" ")[0]
    size, kind = UNITS.get(first) or UNITS.get(first.removesuffix("s")) or (1, "/s" if unit.endswith("/s") else "")
    return value * size, kind


def value_of(source: str, kind: str) -> float:
    """The measured value of a kind of unit that a line of a comment names, or the ratio of two."""
    name, question, subjects = (part.strip() for part in source.split("|"))
    ratio, values = kind == "" and " / " in subjects, []
    for subject in subjects.split(" / ") if ratio else [subjects]:
        form = re.compile(rf"{re.escape(subject)}( [\d(].*)?")
        [value] = [
            value
            for its_question, its_subject, (value, unit) in measured(name)
            if its_question == question and form.fullmatch(its_subject) and (ratio or unit == kind)
        ]
        values.append(value)
    return values[0] / values[1] if ratio else values[0]


def unit_of(figure: re.Match[str]) -> str:
    """The unit of a figure on a page, as the results have it."""
    return "/s" if figure["rate"] else figure["unit"] or ""


def number(value: float, like: str) -> str:
    """A value with as many significant digits as a number on a page."""
    digits = like.replace(",", "").lstrip("0.") if "." in like else like.replace(",", "").rstrip("0")
    count = max(len(digits.replace(".", "")), min(len(like.partition(".")[0]), 2))
    decimals = count - 1 - math.floor(math.log10(value))
    return f"{round(value, decimals):,.{max(decimals, 0)}f}"


def statement(text: str, at: int) -> str:
    """The sentence at an offset, or the head of its table."""
    start = text.rfind("\n\n", 0, at) + 2 if "\n\n" in text[:at] else 0
    paragraph = text[start:].partition("\n\n")[0]
    if text[text.rfind("\n", 0, at) + 1] == "|":
        return next(line for line in paragraph.splitlines() if line.startswith("|"))
    ends = [0, *(end.end() for end in re.finditer(r"[.!?;]\s+|\n(?=- )", paragraph)), len(paragraph)]
    return next(paragraph[a:b] for a, b in pairwise(ends) if start + a <= at < start + b)


def figures(text: str) -> Iterator[re.Match[str]]:
    """The figures of a page that are measured, with decimals that may be."""
    plain = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for figure in FIGURE.finditer(plain):
        if not unit_of(figure):
            if figure["number"].startswith("0."):
                yield figure
        elif not SETTING.search(text[: figure.start()]) and not NOT_MEASURED.search(statement(text, figure.start())):
            yield figure


def checked(text: str) -> tuple[str, list[tuple[int, str]]]:
    """A page with the figures of its sources, and the line and reason of each problem."""
    all_figures, numbers, problems = list(figures(text)), {}, []

    def report(at: int, reason: str) -> None:
        problems.append((text.count("\n", 0, at) + 1, reason))

    rest = {figure.start(): figure for figure in all_figures if unit_of(figure)}
    for block in BLOCK.finditer(text):
        start, end = block.span("text")
        inside = [figure for figure in all_figures if start <= figure.start() < end]
        sources = re.split(r"\n|; ", block["sources"])
        for figure in inside:
            rest.pop(figure.start(), None)
        if len(sources) != len(inside):
            report(start, f"{len(sources)} sources for {len(inside)} figures: {[figure[0] for figure in inside]}")
            continue
        for source, figure in zip(sources, inside, strict=True):
            size, kind = quantity(1, unit_of(figure))
            try:
                right = number(value_of(source, kind) / size, figure["number"])
            except (ValueError, OSError):
                report(figure.start(), f"{figure[0]!r}: {source!r} is not one measurement in such a unit")
                continue
            if right != figure["number"]:
                report(figure.start(), f"{figure[0]!r} is {right} by {source!r}: run docs/site/page_figures.py")
                numbers[figure.span("number")] = right
    for head in UNIT_IN_HEAD.finditer(text):
        report(head.start(), "a unit in the head of a table: put it next to each number")
    for at, figure in rest.items():
        report(at, f"{figure[0]!r} has {ADVICE}")
    for (start, end), right in sorted(numbers.items(), reverse=True):
        text = text[:start] + right + text[end:]
    return text, sorted(problems)


def main(arguments: list[str]) -> int:
    """Write the figures of all pages, or with ``--check`` only compare; name what is left to do."""
    failed = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        written, problems = checked(text)
        if written != text and "--check" not in arguments:
            page.write_text(written, encoding="utf-8")
            problems = checked(written)[1]
        for line, reason in problems:
            print(f"{page.relative_to(ROOT)}:{line}: {reason}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
