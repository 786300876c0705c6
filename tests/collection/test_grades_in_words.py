"""Judgements whose grades are words: DR, PR and NR, or others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuihop.collection.judgements import Judgements, grades_in_words
from cuihop.errors import InputError


def written(folder: Path, text: str) -> Path:
    (folder / "qrels").write_text(text)
    return folder / "qrels"


def test_the_grades_of_imageclefmed(tmp_path: Path) -> None:
    found = Judgements.read(written(tmp_path, "q 0 a DR\nq 0 b PR\nr 0 a NR\nr 0 b 1\n"))
    assert dict(found) == {"q": {"a": 2, "b": 1}, "r": {"a": 0, "b": 1}}
    assert found.account.endswith("4 judgements for 2 queries, grades in words: DR = 2, PR = 1, NR = 0")
    only = Judgements.read(written(tmp_path, "q 0 a DR\n\nq 0 b 0\n"))
    assert only.account.endswith("grades in words: DR = 2")
    assert Judgements.read(written(tmp_path, "q 0 a 2\n")).form == ""


def test_json_lines(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"query": "q", "document": "a", "grade": "PR"},
        {"query": "q", "document": "b", "grade": 0},
    ]
    found = Judgements.read(written(tmp_path, "\n".join(map(json.dumps, rows))))
    assert dict(found) == {"q": {"a": 1, "b": 0}}
    assert found.form == "JSON Lines, grades in words: PR = 1"
    rows[1]["grade"] = "XX"
    with pytest.raises(InputError, match=r"line 2, column grade: not a grade; found .*XX"):
        Judgements.read(written(tmp_path, "\n".join(map(json.dumps, rows))))


def test_other_words(tmp_path: Path) -> None:
    file = written(tmp_path, "q 0 a type1\nq 0 b type3\n")
    assert Judgements.read(file, grades_in_words("type1=2, type2=1, type3=0"))["q"] == {"a": 2, "b": 0}
    with pytest.raises(InputError, match=r"line 1, column grade: not a grade; found 'type1'.*or DR, PR, NR.*--grades"):
        Judgements.read(file)


@pytest.mark.parametrize("word", ["dr", "DR2", "2DR", "1_0", "1001"])
def test_a_word_that_is_no_grade_is_an_error_with_its_line(tmp_path: Path, word: str) -> None:
    with pytest.raises(InputError, match=f"line 2, column grade: not a grade; found '{word}'"):
        Judgements.read(written(tmp_path, f"q 0 a DR\nq 0 b {word}\n"))


@pytest.mark.parametrize("text", ["", "DR", "DR=", "DR=x", "1=2", "DR=1,DR=2", "DR=1001", "DR=1,,NR=0"])
def test_grades_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="not grades in words"):
        grades_in_words(text)
