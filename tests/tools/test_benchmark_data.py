"""Measurements on images run without the shared data, on a collection drawn in its place, and say so."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from types import ModuleType

import pytest

import cuihop_loader
from cuihop import ImageConcepts, SnapshotGraph
from cuihop_tools.synthetic_release import SyntheticRelease
from shared_data import ROOT


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module, in a checkout without shared data, drawing little."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    module = importlib.import_module("benchmark_data")
    monkeypatch.delenv("CUIHOP_SHARED_DATA", raising=False)
    monkeypatch.setattr(module, "_ROOT", tmp_path / "checkout")
    monkeypatch.setattr(module, "_RELEASE", SyntheticRelease(concepts=200, rows=2_000))
    monkeypatch.setattr(module, "_IMAGES", {"test": 30})
    monkeypatch.setattr(module, "_CONCEPTS", 50)
    return module


def folder(data: ModuleType, *arguments: str) -> Path:
    parser = argparse.ArgumentParser()
    data.add_data_option(parser)
    found: Path = parser.parse_args(arguments).data
    return found


def test_a_collection_is_drawn_where_there_is_none(data: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = folder(data)
    assert "Drawn data" in capsys.readouterr().out
    graph = SnapshotGraph(cuihop_loader.load([drawn / "rrf_open"]).sections)
    images = ImageConcepts.read(drawn / "rocov2" / "test_concepts.csv.gz")
    assert len(images) == 30
    assert {answer.status for answer in graph.resolve(sorted(set().union(*images.values())))} == {"current"}
    assert folder(data) == drawn
    assert [path.name for path in drawn.parent.iterdir()] == [drawn.name]


def test_data_that_are_there_are_used(data: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for part in ("rrf_open", "rocov2"):
        (tmp_path / "shared" / "data" / part).mkdir(parents=True)
    assert folder(data) == tmp_path / "shared" / "data"
    assert capsys.readouterr().out == ""


def test_a_named_folder_without_data_is_refused(
    data: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        folder(data, "--data", str(tmp_path))
    assert "found no folders rrf_open and rocov2 in it" in capsys.readouterr().err
    assert not (tmp_path / "checkout").exists()
