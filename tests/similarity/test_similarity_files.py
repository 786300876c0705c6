"""Files of all similarities, read back, against sorting all pairs in plain Python."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.resources.resources import Resources
from cuihop.similarity.options import SimilarityMeasure, SimilarityOptions
from cuihop.snapshot import all_similarities
from cuihop.snapshot.all_similarities import AllSimilarities, write_array, write_pairs
from program_run import Run, program  # noqa: F401

EDGES = [
    ("C1", "C0"),
    ("C2", "C0"),
    ("C3", "C1"),
    ("C4", "C1"),
    ("C5", "C2"),
    ("C5", "C1"),
    ("C6", "C5"),
    ("C,7", "C6"),
]
MEASURES: list[SimilarityMeasure] = ["simUI", "Resnik", "Jiang-Conrath", "path"]
CONCEPTS = sorted({concept for edge in EDGES for concept in edge} | {"C8"})


@cache
def graph() -> SnapshotGraph:
    return SnapshotGraph.of(EDGES, concepts=["C8"])


def _expected(
    every: AllSimilarities, at_least: float | None, top: int | None, *, alone: bool
) -> list[tuple[str, str, float]]:
    sign = -1 if every.options.measure == "Jiang-Conrath" else 1
    lines = []
    for i, a in enumerate(every.rows):
        row = [
            (-sign * value, j, b, value)
            for j, b in enumerate(every.columns)
            if (value := graph().hierarchy.similarity(a, b, every.options)) is not None
            and not (alone and (i == j or (top is None and j < i)))
            and (at_least is None or sign * value >= sign * at_least)
        ]
        lines += [(a, b, value) for _, _, b, value in (sorted(row)[:top] if top else row)]
    return lines


@given(
    measure=st.sampled_from(MEASURES), cells=st.integers(1, 40), top=st.none() | st.integers(1, 4),
    at_least=st.none() | st.sampled_from([0.0, 0.4, 1.0]), alone=st.booleans(),
)  # fmt: skip
def test_tables_hold_the_nearest_pairs(
    tmp_path_factory: pytest.TempPathFactory, measure: SimilarityMeasure, cells: int, top: int | None,
    at_least: float | None, alone: bool,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("tables")
    columns = None if alone else ["C5", "C3", "C8"]
    counts = {"C3": 1.0, "C6": 2.0, "C2": 1.0}
    options = SimilarityOptions(measure, "corpus", counts)
    every = AllSimilarities(graph().hierarchy, CONCEPTS, columns, options)
    expected = _expected(every, at_least, top, alone=alone)
    done: list[tuple[int, int]] = []
    work = Resources(progress=lambda *rows: done.append(rows))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(all_similarities, "_CELLS_A_BLOCK", cells)
        for suffix in (".csv", ".tsv", ".parquet"):
            path = folder / f"pairs{suffix}"
            assert write_pairs(every, path, at_least=at_least, top=top, resources=work) == len(expected)
            assert done[-1] == (len(CONCEPTS), len(CONCEPTS))
            if suffix == ".parquet":
                table = pq.read_table(path)
                assert table.column_names == ["a", "b", measure]
                found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
            else:
                with path.open(encoding="utf-8", newline="") as file:
                    rows = list(csv.reader(file, delimiter="," if suffix == ".csv" else "\t"))
                assert rows[0] == ["a", "b", measure]
                found = [(a, b, float(value)) for a, b, value in rows[1:]]
            assert found == expected


def test_an_array_is_read_by_numpy_with_its_identifiers_beside_it(tmp_path: Path) -> None:
    every = AllSimilarities(graph().hierarchy, CONCEPTS, ["C5", "C3"], SimilarityOptions("Lin"))
    write_array(every, tmp_path / "lin.npy", resources=Resources())
    write_array(every, tmp_path / "short.npy", dtype="float32", resources=Resources())
    exact, short = (np.load(tmp_path / name, mmap_mode="r") for name in ("lin.npy", "short.npy"))
    expected = [[graph().hierarchy.similarity(a, b, every.options) for b in every.columns] for a in every.rows]
    assert exact.tolist() == expected
    assert (short == exact.astype(np.float32)).all()
    assert short.dtype == np.float32
    assert (tmp_path / "lin.npy.rows.txt").read_text().split() == CONCEPTS
    assert (tmp_path / "lin.npy.columns.txt").read_text().split() == ["C5", "C3"]


def test_the_command_writes_tables_and_arrays(tmp_path: Path, program: Run) -> None:  # noqa: F811
    graph().save(tmp_path / "graph.cuihop")
    (tmp_path / "some.txt").write_text("C3\nC4\nC6\n")
    ask = ("similarity", "--all", "--graph", str(tmp_path / "graph.cuihop"))
    pairs = tmp_path / "pairs.csv"
    answer = program(
        *ask, "--concepts", str(tmp_path / "some.txt"), "--output", str(pairs), "--measure", "simui", "--json"
    )
    assert answer.code == 0, answer.err
    fields = json.loads(answer.out)
    assert (fields["measure"], fields["rows"], fields["pairs"], fields["virtual_root"]) == ("simUI", 3, 3, True)
    assert pairs.read_text().splitlines()[1] == "C3,C4,0.5"
    array = tmp_path / "all.npy"
    answer = program(*ask, "--output", str(array), "--measure", "resnik", "--ic", "Seco")
    assert answer.code == 0, answer.err
    assert np.load(array).shape == (len(CONCEPTS), len(CONCEPTS))
    assert program(*ask, "--output", str(tmp_path / "pairs.txt")).code == 3
    for wrong in (
        ("x.npy", "--top", "3"),
        ("x.csv", "--dtype", "float32"),
        ("x.csv", "--at-least", "nan"),
    ):
        assert program(*ask, "--output", str(tmp_path / wrong[0]), *wrong[1:]).code == 2
    (tmp_path / "wrong.txt").write_text("C3\nC999\n")
    answer = program(*ask, "--output", str(pairs), "--concepts", str(tmp_path / "wrong.txt"))
    assert (answer.code, "C999" in answer.err) == (4, True)
