"""The synthetic releases: what they hold is known beforehand, and a load finds exactly that."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cuihop_loader import LoadOptions, load
from cuihop_loader.options import RelationFilter
from cuihop_loader.sources import LAYOUTS
from cuihop_tools import synthetic_release
from cuihop_tools.synthetic_release import SyntheticRelease, SyntheticRows, write
from loader.rrf_made import edges


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SyntheticRows]:
    folder = tmp_path_factory.mktemp("synthetic")
    return folder, write(folder, SyntheticRelease(concepts=2_000, rows=60_000, seed=7))


@pytest.mark.slow
@pytest.mark.parametrize(
    "relations", [["isa"], ["par-chd"], ["rb-rn"], ["isa", "par-chd"], ["isa", "par-chd", "rb-rn"]]
)
@pytest.mark.parametrize("suppressed", [False, True])
def test_a_load_finds_exactly_the_edges_that_were_put_in(
    release: tuple[Path, SyntheticRows], relations: list[RelationFilter], suppressed: bool
) -> None:
    folder, tables = release
    loaded = load([folder], LoadOptions(relations=relations, include_suppressed=suppressed))
    expected = tables.edges(*relations, include_suppressed=suppressed)
    assert edges(loaded) == {(f"C{child:07d}", f"C{parent:07d}") for child, parent in expected.tolist()}


def test_everything_that_goes_wrong_in_practice_is_in_it(release: tuple[Path, SyntheticRows]) -> None:
    report = load([release[0]]).report
    assert report.concepts == 2_000
    assert report.cycles.components > 0
    assert report.self_loops > 0
    assert report.nameless > 0
    assert 0 < report.one_directional < report.mirrored
    assert report.hubs[0].children > 50
    assert report.depth > 5
    assert set(report.retired.statements) == {"SY", "DEL", "RB", "RN", "RO"}
    assert report.release == "2099AA"
    relations, names = report.files[:2]
    assert relations.rows == 60_000
    assert {"other relation", "suppressed", "concept is its own parent"} <= relations.skipped.keys()
    assert {"other language", "suppressed", "same name again"} <= names.skipped.keys()


def test_rows_are_laid_out_as_rrf_is(release: tuple[Path, SyntheticRows]) -> None:
    for path in release[0].iterdir():
        columns = len(LAYOUTS[path.stem])
        text = path.read_text(encoding="utf-8")
        assert all(line.count("|") == columns and line.endswith("|") for line in text.splitlines())
        assert text.endswith("\n") == (path.stem != "MRRANK")


@pytest.mark.slow
def test_a_seed_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    def digests(folder: Path) -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}

    options = ["--concepts", "500", "--rows", "5000", "--seed", "3"]
    subprocess.run([sys.executable, "-m", "cuihop_tools.synthetic_release", tmp_path / "a", *options], check=True)
    for folder, seed in (("b", 4), ("c", 3)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, SyntheticRelease(500, 5000, seed))
    assert digests(tmp_path / "a") == digests(tmp_path / "c")
    assert digests(tmp_path / "a") != digests(tmp_path / "b")


def test_rows_written_in_parts_are_those_written_at_once() -> None:
    rows = SyntheticRows(SyntheticRelease(500, 5000, 3))
    whole, parts = next(rows.parts(5000)), list(rows.parts(700))
    assert len(parts) > 5
    for column in ("cui1", "cui2", "rel", "rela", "sab", "suppress"):
        assert np.array_equal(np.concatenate([getattr(part, column) for part in parts]), getattr(whole, column))
    assert np.array_equal(rows.edges("isa", "rb-rn"), whole.edges("isa", "rb-rn"))


def test_identifiers_get_an_eighth_digit_where_seven_do_not_suffice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(synthetic_release, "_LARGEST_CUI", 1000)
    expected = write(tmp_path, SyntheticRelease(2000, 20_000), zstd=True).edges("isa")
    loaded = load([tmp_path], LoadOptions(identifiers="any"))
    assert loaded.report.concepts == 2000
    assert loaded.report.retired.concepts > 0
    assert edges(loaded) == {(f"C{child:08d}", f"C{parent:08d}") for child, parent in expected.tolist()}


@pytest.mark.parametrize(("concepts", "rows"), [(19, 1000), (50_000_001, 1000), (100, 99)])
def test_sizes_that_cannot_be_are_refused(concepts: int, rows: int) -> None:
    with pytest.raises(ValueError, match=r"concepts|rows"):
        SyntheticRelease(concepts, rows)
