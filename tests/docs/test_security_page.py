"""The table of promises: each test in it exists."""

from __future__ import annotations

import re

from drills.drill import DRILLS

from defined_tests import defined_in
from shared_data import ROOT

PAGE = ROOT / "docs" / "explanation" / "security-model.md"


def test_the_test_of_each_promise_exists() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## The test of each promise")[2]
    rows = re.findall(r"^\| (?!promise|---)(.+) \| (.+) \|$", table, re.MULTILINE)
    assert len(rows) > 30
    for promise, held_by in rows:
        for one in held_by.split("<br>"):
            name = one.removeprefix("drill ").strip("`")
            if one.startswith("drill "):
                assert name in {drill.name for drill in DRILLS}, promise
            elif ": " in name:
                file, _, check = name.partition(": ")
                assert f'passed "{check}"' in (ROOT / "tests" / file).read_text(encoding="utf-8"), promise
            else:
                file, test = name.split("::")
                assert test in defined_in(f"tests/{file}"), name
