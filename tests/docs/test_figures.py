"""Figures that stand in several places are one figure."""

from __future__ import annotations

import json
import re

from shared_data import ROOT

PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
IN_PYTHON_SETS = re.compile(r"Python sets[^|.;\n]*?([0-9][0-9,.]*) s\b")


def test_the_time_of_python_sets_is_that_of_the_benchmark_wherever_it_stands() -> None:
    figures = json.loads((ROOT / "benchmarks" / "results" / "evaluation.json").read_text(encoding="utf-8"))["figures"]
    (measured,) = [
        figure["value"]
        for figure in figures
        if figure["question"] == "time, test, n = 1" and figure["subject"].startswith("Python sets")
    ]
    found = {
        (page.name, float(seconds.replace(",", "")))
        for page in PAGES
        for seconds in IN_PYTHON_SETS.findall(page.read_text(encoding="utf-8"))
    }
    assert {name for name, _ in found} == {"README.md"}
    for name, seconds in found:
        assert abs(seconds - measured) <= 0.05 * measured, f"{name}: {seconds:g} s, measured {measured:.1f} s"
