"""Texts of hardly more than a separator: every reader refuses them in words, or finds nothing in them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from cuihop.errors import CuihopError
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
