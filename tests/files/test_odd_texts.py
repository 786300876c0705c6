"""Texts of hardly more than a separator, and JSON that is no text: every reader refuses them in words."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from cuihop.errors import CuihopError
from cuihop.files.text_lines import json_object
from text_readers import TEXT_READERS


@pytest.mark.parametrize(
    "text", [",", ";\n", "\t\t\n", "|\n|\n", ",\n,\n", '""', "{}", "{}\n{}\n", "[]", " \n", "\ufeff,"]
)
def test_a_text_without_a_field_is_no_fault(tmp_path: Path, text: str) -> None:
    path = tmp_path / "text"
    path.write_text(text, encoding="utf-8")
    for read in TEXT_READERS.values():
        with suppress(CuihopError):
            read(path)


@pytest.mark.parametrize(
    "row", ['"query": "a\\ud800", "document": "b"', '"\\ud800": 1', '"a": "C0000001", "b": ["\\udfff\\ud800"]']
)
def test_half_of_a_character_is_no_text(tmp_path: Path, row: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{{row}, "score": 1, "cui": "C0000001", "name": "x"}}\n', encoding="utf-8")
    for read in (read for name, read in TEXT_READERS.items() if not name.startswith("mentions")):
        with pytest.raises(CuihopError, match="half of a surrogate pair") as caught:
            read(path)
        str(caught.value).encode()


def test_an_escape_in_nested_json_is_read_or_refused_at_every_depth() -> None:
    for depth in range(800, 1100):
        with suppress(CuihopError):
            json_object(f'{{"a": "\\u0062", "b": {"[" * depth}{"]" * depth}}}', "rows.jsonl", 1)
