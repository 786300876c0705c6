"""Sizes beyond the limits of memory, disk and format: an error that names them, before the work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cuihop import SnapshotGraph
from cuihop.errors import LimitExceeded, OutputError
from cuihop.resources import memory_budget
from cuihop.resources.arrays import bounds_of
from cuihop.snapshot import index_builder, name_index_builder, writer
from cuihop.snapshot.string_table import StringTable
from cuihop_loader import LoadOptions, load
from cuihop_loader.loading import load_to
from cuihop_tools.synthetic_release import SyntheticRelease, write


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    write(folder, SyntheticRelease(concepts=300, rows=5000, names=9000))
    return folder


def test_bounds_beyond_their_type_are_refused() -> None:
    assert bounds_of([2**31 - 2, 1], np.int32)[-1] == 2**31 - 1
    assert bounds_of([2**31 - 1, 1])[-1] == 2**31
    with pytest.raises(LimitExceeded, match=r"2,147,483,648 values, and it holds at most 2,147,483,647"):
        bounds_of([2**31 - 1, 1], np.int32)
    with pytest.raises(LimitExceeded):
        bounds_of(np.full(3, 2**31 - 1, dtype=np.int32), np.int32)


@pytest.mark.parametrize(("most", "what"), [(299, "300 concepts"), (1000, "is_a edges"), (1800, "names")])
def test_more_than_a_snapshot_can_number_is_refused(
    release: Path, monkeypatch: pytest.MonkeyPatch, most: int, what: str
) -> None:
    monkeypatch.setattr(writer, "LARGEST_POSITION", most)
    with pytest.raises(LimitExceeded, match=rf"{what}, and a snapshot holds at most"):
        load([release])


def test_texts_sorted_in_ranges_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("abcdé "), rng.integers(0, 20)).tolist()) for _ in range(2000)]
    monkeypatch.setattr(name_index_builder, "_ROWS_A_SORT", 50)
    order = name_index_builder.ordered_texts(StringTable.of(texts)).tolist()
    assert order == sorted(range(len(texts)), key=lambda i: (texts[i].encode(), i))


def test_indexes_of_names_do_not_depend_on_the_size_of_parts(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load([release]).sections
    for name, size in (("_ROWS_A_SORT", 20), ("_CONCEPTS_A_CALL", 7)):
        monkeypatch.setattr(name_index_builder, name, size)
    monkeypatch.setattr(writer, "_NAMES_FOR_ONE_BY_ONE", 10)
    monkeypatch.setattr(writer, "_HASHED_TOGETHER", 3)
    after = load([release]).sections
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert before.meta["release"]["digest"] == after.meta["release"]["digest"]


def little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say that a hundred kilobytes are left."""
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:     100 kB\n", encoding="ascii")
    monkeypatch.setattr(memory_budget, "_MEMINFO", tmp_path / "meminfo")


def test_a_release_too_large_for_the_memory_is_refused_before_it_is_read(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little_memory(tmp_path, monkeypatch)
    seen: list[str] = []
    with pytest.raises(LimitExceeded, match=r"not enough memory for a release .* 0\.1 MB are available.*--no-synonyms"):
        load_to(tmp_path / "graph.cuihop", [release], progress=lambda step, *_: seen.append(step))
    assert not seen
    assert [path.name for path in tmp_path.iterdir()] == ["meminfo"]


def test_a_release_that_fits_into_the_memory_is_read(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relations, names = ((release / f"{role}.RRF").stat().st_size for role in ("MRREL", "MRCONSO"))
    assert relations > names / 5
    monkeypatch.setattr(memory_budget, "_MEMINFO", tmp_path / "meminfo")

    def available(of_relations: float, of_names: float) -> None:
        size = round((of_relations * relations + of_names * names) / 1024)
        (tmp_path / "meminfo").write_text(f"MemAvailable: {size} kB\n", "ascii")

    available(0.2, 0.4)
    assert load([release]).report.edges
    available(0.1, 0.2)
    with pytest.raises(LimitExceeded, match="not enough memory"):
        load([release])
    assert load([release], LoadOptions(synonyms=False)).report.edges


def test_labels_too_large_for_the_memory_are_refused(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = SnapshotGraph(load([release]).sections)
    monkeypatch.setattr(index_builder, "_BYTES_OF_A_RANK", 0)
    for_edges = graph.sections["any_indices"].nbytes // 1024 + 1
    (tmp_path / "meminfo").write_text(f"MemAvailable: {for_edges} kB\n", encoding="ascii")
    monkeypatch.setattr(memory_budget, "_MEMINFO", tmp_path / "meminfo")
    with pytest.raises(LimitExceeded, match=r"the labels of \d hops.*distances are searched"):
        index_builder.build_index(graph, roots=0)
    little_memory(tmp_path, monkeypatch)
    monkeypatch.setattr(index_builder, "_BYTES_OF_A_RANK", 1 << 20)
    with pytest.raises(LimitExceeded, match="not enough memory for a distance index"):
        index_builder.build_index(graph)


def test_a_container_s_limit_counts_where_it_is_lower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_budget, "_CONTAINER", tmp_path)
    of_machine = memory_budget.available_memory()
    for name, text in {
        "max": "1000000",
        "current": "900000",
        "stat": "anon 1\ninactive_file 300\nactive_file 4\n",
    }.items():
        (tmp_path / f"memory.{name}").write_text(text, encoding="ascii")
    assert memory_budget.available_memory() == 100_304
    (tmp_path / "memory.max").write_text("max\n", encoding="ascii")
    assert of_machine is None or (memory_budget.available_memory() or 0) > 100_304


def test_a_file_larger_than_the_free_disk_is_refused_before_it_is_written(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.cuihop"
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    with pytest.raises(OutputError, match=r"[0-9,]+ bytes are needed, and 1,000 are free"):
        load_to(path, [release])
    assert not list(tmp_path.iterdir())
