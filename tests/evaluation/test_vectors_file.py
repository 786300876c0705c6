"""The test vectors: made by the literal algorithms, satisfied by every way of the library, checked by the command."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import made_test_vectors
from cuihop.errors import InputError
from cuihop.evaluation.test_vectors import TestVectors, installed_vectors, read_values
from program_run import Run

EXACT = ("IoU", "nn-IoU", "nn-F1")


@pytest.fixture(scope="module")
def vectors() -> TestVectors:
    return TestVectors.read(made_test_vectors.FILE)


def only(vectors: TestVectors, *measures: str) -> TestVectors:
    cases = tuple(case for case in vectors.cases if case["measure"] in measures)
    assert cases
    return dataclasses.replace(vectors, cases=cases)


def test_the_literal_algorithms_write_the_same_bytes() -> None:
    assert made_test_vectors.FILE.read_text(encoding="utf-8") == made_test_vectors.text()
    assert installed_vectors() == made_test_vectors.FILE.parent


@pytest.mark.slow
def test_every_way_of_the_library_satisfies_them(vectors: TestVectors) -> None:
    assert only(vectors, *{case["measure"] for case in vectors.cases}.difference(EXACT)).verify() == []


@pytest.mark.slow
def test_pairs_and_collections_have_the_very_bits(vectors: TestVectors) -> None:
    assert dataclasses.replace(only(vectors, *EXACT), tolerance=0.0).verify() == []


def test_identifiers_of_values_are_distinct(vectors: TestVectors) -> None:
    assert len({case["id"] for case in vectors.cases}) == len(vectors.cases)
    assert len(vectors.expected) == len(vectors.cases) + sum(len(case.get("queries", ())) for case in vectors.cases)


@pytest.mark.parametrize("measure", ["IoU", "BM", "nn-IoU", "nn-F1", "nn-CUI@3"])
def test_a_wrong_value_is_found(vectors: TestVectors, measure: str) -> None:
    case = next(case for case in vectors.cases if case["measure"] == measure and case["value"])
    wrong = dataclasses.replace(vectors, cases=({**case, "value": case["value"] + 1e-11},))
    differences = wrong.verify()
    assert {each.case for each in differences} == {case["id"]}
    ways = {"IoU": {"one pair", "collection"}, "nn-IoU": {"one pair", "collection"}, "nn-CUI@3": {"evaluation"}}
    assert {each.way for each in differences} == ways.get(measure, {"one pair"})


@pytest.mark.slow
def test_the_command_counts_and_fails_on_a_difference(program: Run, tmp_path: Path, vectors: TestVectors) -> None:
    content = json.loads(made_test_vectors.FILE.read_text(encoding="utf-8"))
    content["cases"] = content["cases"][:40]
    folder = tmp_path / "mine"
    folder.mkdir()
    file = folder / "vectors.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    good = program("measures", "verify", folder)
    assert (good.code, "40 values checked: 0 differences" in good.out) == (0, True)
    content["cases"][0]["value"] += 1.0
    file.write_text(json.dumps(content), encoding="utf-8")
    bad = program("measures", "verify", file, "--json")
    answer = json.loads(bad.out)
    assert (bad.code, answer["checked"], len(answer["differences"])) == (1, 40, 2)
    assert {each["case"] for each in answer["differences"]} == {content["cases"][0]["id"]}


def test_values_of_another_implementation_are_compared(program: Run, tmp_path: Path, vectors: TestVectors) -> None:
    everything = vectors.expected
    table = tmp_path / "mine.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "value"), *everything.items()])
    done = program("measures", "verify", "--results", table)
    assert (done.code, f"{len(everything):,} values checked: 0 differences" in done.out) == (0, True)
    some = dict(list(everything.items())[:10])
    name = next(name for name, value in some.items() if value is not None)
    (tmp_path / "mine.json").write_text(json.dumps({**some, name: 7}), encoding="utf-8")
    done = program("measures", "verify", "--results", tmp_path / "mine.json")
    assert done.code == 1
    assert name in done.out
    assert f"10 values checked, {len(everything) - 10:,} not in the file: 1 difference of more than" in done.out


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [("a.json", "[]", "not values by case"), ("a.json", '{"x": "1"}', "not a number"), ("a.json", "{", "not JSON"),
     ("a.csv", "id,value\nx,1\nx,2\n", "line 3.*stands twice"), ("a.csv", "id,value\nx,y\n", "line 2.*not a number"),
     ("a.csv", "id,value\nx,nan\n", "line 2.*not a number"),
     ("a.csv", "id,number,note\nx,1,y\n", "wrong number of columns"), ("a.json", '{"x": NaN}', "not a number")],
)  # fmt: skip
def test_values_that_cannot_be_read_are_refused(tmp_path: Path, name: str, content: str, expected: str) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=expected):
        read_values(file)


def test_a_value_of_no_case_is_refused(vectors: TestVectors) -> None:
    with pytest.raises(InputError, match=r"no case.*'x'"):
        vectors.compare({"x": 1.0}, "mine.csv")


def test_a_value_that_is_no_finite_number_differs(vectors: TestVectors) -> None:
    name = next(iter(vectors.expected))
    assert [each.case for each in vectors.compare({name: float("nan")}, "mine.csv")] == [name]


@pytest.mark.parametrize(
    ("change", "expected"),
    [({"format": 2}, "column format"),
     ({"cases": [{"id": "x"}]}, "column value.*a field is missing"), ({"cases": 7}, "not iterable"),
     ({"tolerance": "much"}, "could not convert"), ({"graphs": None}, "not test vectors")],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    file = tmp_path / "vectors.json"
    content = {"format": 1, "tolerance": 1e-12, "graphs": {}, "collections": {}, "cases": []}
    file.write_text(json.dumps(content | change), encoding="utf-8")
    with pytest.raises(InputError, match=expected):
        TestVectors.read(file)


def test_a_case_of_an_unknown_measure_is_refused(tmp_path: Path, vectors: TestVectors) -> None:
    case = next(case for case in vectors.cases if case["measure"] == "nn-F1")
    with pytest.raises(InputError, match="cannot be computed"):
        dataclasses.replace(vectors, cases=({**case, "measure": "F2"},)).verify()
