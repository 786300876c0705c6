"""The position of a problem, as an error states it."""

from __future__ import annotations

import errno
import os
import ssl

import pytest

from cuihop.errors import InputError, reason_of
from shared_data import ROOT


@pytest.mark.parametrize(
    ("place", "text", "name"),
    [
        ({"file": "a.csv", "line": 3, "column": "score"}, "a.csv, line 3, column score: wrong", "score"),
        ({"file": "a.csv", "column": "query"}, "a.csv, column query: wrong", "query"),
        ({"file": "a.csv", "line": 2, "column": "byte 7"}, "a.csv, line 2, byte 7: wrong", "byte 7"),
        ({"file": "a.json", "column": "field sha256"}, "a.json, field sha256: wrong", "sha256"),
        ({"column": "max_hops"}, "parameter max_hops: wrong", "max_hops"),
        ({"column": "query 'q1'"}, "query 'q1': wrong", "query 'q1'"),
        ({"column": "setting host"}, "setting host: wrong", "host"),
        ({}, "wrong", None),
    ],
)
def test_a_column_is_of_a_file_and_a_parameter_is_of_a_call(
    place: dict[str, object], text: str, name: str | None
) -> None:
    error = InputError("wrong", **place)  # type: ignore[arg-type]
    assert (str(error), error.column) == (text, name)


def test_a_failure_of_another_library_has_a_reason() -> None:
    assert reason_of(TimeoutError()) == "no answer in time"
    assert reason_of(ConnectionResetError()) == "ConnectionResetError"
    assert reason_of(ssl.SSLError(1, "")) == "SSLError"
    assert reason_of(OSError(errno.ENOENT, os.strerror(errno.ENOENT), "file")) == "No such file or directory"
    sources = sorted(ROOT.joinpath("service").rglob("*.py"))
    assert [path.name for path in sources if ".strerror" in path.read_text()] == []  # empty for a time limit
