"""The drill of fuzzed readers: whole inputs are read, changed files have right checksums, and a fault is found."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest
from drills.fuzzed_readers import ROOT, Reader, forged, fuzzed, readers

from cuihop.errors import CuihopError, DamageWarning

pytestmark = pytest.mark.slow


def problem(reader: Reader, content: bytes) -> str:
    """The reason for which a file is refused; empty for one that is read."""
    reader.path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamageWarning)  # instead of which a part is built again
        try:
            reader.read()
        except (CuihopError, DamageWarning) as error:
            return str(error)
    return ""


def test_every_reader_takes_one_of_its_inputs_and_refuses_another(tmp_path: Path) -> None:
    for name, reader in readers(tmp_path).items():
        assert problem(reader, b"\0" * 64), name
        assert [content for content in reader.seeds if not problem(reader, content)], name


def test_a_changed_section_has_the_checksum_that_belongs_to_it(tmp_path: Path) -> None:
    reader = readers(tmp_path)["plain.cuihop"]

    def last_bit(content: bytes, _: int) -> bytes:
        return bytes([*content[:-1], content[-1] ^ 1])

    changed = {forged(reader.seeds[0], 1 << 20, random.Random(seed), last_bit) for seed in range(60)}
    assert {len(content) for content in changed} == {len(reader.seeds[0])}
    problems = {problem(reader, content).partition(": ")[2] for content in changed}
    assert len(problems) > 3
    assert not any("checksum" in text for text in problems)


def test_an_error_that_is_none_of_cuihop_is_found_with_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (ROOT / ".cache" / "atheris" / ".ready").exists():
        pytest.skip("Atheris not found: make fuzzing-environment")
    (tmp_path / "sitecustomize.py").write_text(
        "import json\nloads = json.loads\ndef fails_at_zero(text, **options):\n"
        "    return 1 / 0 if text[:1] == b'0' else loads(text, **options)\njson.loads = fails_at_zero\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "folder").mkdir()
    found = fuzzed("keys", tmp_path / "folder", 1, 10_000)
    assert "ZeroDivisionError" in found.wrong[0]
    assert found.wrong[0].startswith("keys, [b'0")
