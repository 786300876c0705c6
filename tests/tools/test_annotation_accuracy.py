"""The score of the measurement of annotation, on values by hand."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from shared_data import ROOT


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import annotation_accuracy

    return annotation_accuracy


def test_a_concept_of_any_gold_identifier_is_right_and_finds_it(benchmark: Any, tmp_path: Path) -> None:
    file = tmp_path / "corpus.pubtator.txt.gz"
    text = "1|t|Colon cancer\n1|a|A b.\n1\t0\t12\tColon cancer\tDisease\t D1+OMIM:2|D3\n\n2|t|X\n2|a|Y\n"
    file.write_bytes(gzip.compress(text.encode()))
    corpus = benchmark.abstracts(file)
    assert [abstract.text for abstract in corpus] == ["Colon cancer A b.", "X Y"]
    assert corpus[0].diseases == {"MESH:D1", "OMIM:2", "MESH:D3"}
    dictionary = benchmark.OpenDictionary(identifiers={"MESH:D1": {"C1", "C2"}, "OMIM:2": {"C3"}})
    found = benchmark.score([["C1", "C2", "C9"], ["C1"]], corpus, dictionary)
    assert found == (4, 2, 2, 1)
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)
    assert benchmark.score([["C1"], []], corpus, dictionary, unmapped=True) == (1, 1, 3, 1)
