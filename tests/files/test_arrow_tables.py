"""Parquet, Arrow and Feather wherever CSV and TREC are read: the same answers, and errors that name row and column."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from collection.wrong_inputs import zstd
from cuihop import SnapshotGraph
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.measures.nearness import Nearness
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking, read_run
from cuihop.relevance.baselines import random_ranking
from real_graphs import isa_edges
from shared_data import shared

Write = Callable[[pa.Table, Path], None]


def as_stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)


FORMS: dict[str, Write] = {
    "images.parquet": lambda table, path: parquet.write_table(table, path, row_group_size=997, store_schema=False),
    "images.feather": lambda table, path: feather.write_feather(table, str(path), chunksize=1000),
    "images.arrows": as_stream,
    "images.data": lambda table, path: parquet.write_table(table, path, compression="gzip"),
}


@pytest.fixture(scope="module")
def rocov2() -> ImageConcepts:
    return ImageConcepts.read(shared("rocov2/test_concepts.csv.gz"))


@pytest.fixture(scope="module")
def tables(rocov2: ImageConcepts) -> dict[str, pa.Table]:
    """The concepts in each type of Arrow that may hold them."""
    names = pa.array(list(rocov2))
    texts = pa.array([";".join(sorted(concepts)) for concepts in rocov2.values()])
    lists = pa.array([sorted(concepts) for concepts in rocov2.values()])
    return {
        "text": pa.table({"ID": names, "CUIs": texts}),
        "large text": pa.table({"ID": names.cast(pa.large_string()), "CUIs": texts.cast(pa.large_string())}),
        "text view": pa.table({"ID": names.cast(pa.string_view()), "CUIs": texts.cast(pa.string_view())}),
        "dictionary": pa.table({"ID": names.dictionary_encode(), "CUIs": texts.dictionary_encode()}),
        "lists": pa.table({"ID": names, "CUIs": lists}),
        "large lists": pa.table({"ID": names, "CUIs": lists.cast(pa.large_list(pa.large_string()))}),
        "lists of a dictionary": pa.table(
            {"ID": names, "CUIs": pa.ListArray.from_arrays(lists.offsets, lists.values.dictionary_encode())}
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "kind", ["text", "large text", "text view", "dictionary", "lists", "large lists", "lists of a dictionary"]
)
def test_concepts_are_those_of_the_csv_file(
    rocov2: ImageConcepts, tables: dict[str, pa.Table], tmp_path: Path, form: str, kind: str
) -> None:
    path = tmp_path / form
    FORMS[form](tables[kind], path)
    found = ImageConcepts.read(path)
    assert list(found) == list(rocov2)
    assert (found.digest, found.repeated, found.source) == (rocov2.digest, rocov2.repeated, str(path))


def test_tables_in_memory_are_taken(rocov2: ImageConcepts, tables: dict[str, pa.Table]) -> None:
    import polars

    table, text = tables["lists"], tables["text"]
    for given in (table, text, table.to_reader(), polars.from_arrow(table), polars.from_arrow(text), text.to_pandas()):
        assert ImageConcepts.of(given).digest == rocov2.digest


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", ["score", "rank"])
@pytest.mark.parametrize("ties", ["name", "trec"])
def test_rankings_are_those_of_the_csv_file(
    rocov2: ImageConcepts, tmp_path: Path, form: str, key: str, ties: Any
) -> None:
    images = list(rocov2)[:200]  # whose 4,000 rows are several chunks of each form
    rng = np.random.default_rng(2)
    lists = random_ranking(dict.fromkeys(images, ""), 20)
    rows = [(query, image) for query in images for image in lists[query]]
    keys = rng.integers(1, 9, len(rows)) if key == "rank" else rng.integers(0, 9, len(rows)) / 7  # many ties
    frame = pd.DataFrame({"query": [q for q, _ in rows], "document": [d for _, d in rows], key: keys})
    frame = frame.sample(frac=1, random_state=1)
    frame.to_csv(tmp_path / "run.csv", index=False)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    FORMS[form](table, tmp_path / form)
    for read in (read_ranking, read_run):
        expected = read(tmp_path / "run.csv", images, depth=15, ties=ties)
        found = read(tmp_path / form, images, depth=15, ties=ties)
        assert [found[image] for image in images] == [expected[image] for image in images]
        assert found.ties == expected.ties == ties
    encoded = table.set_column(0, "Query", table["query"].dictionary_encode())
    FORMS[form](encoded, tmp_path / form)
    assert (
        read_ranking(tmp_path / form, images, depth=15).digest
        == read_ranking(tmp_path / "run.csv", images, depth=15).digest
    )


def test_an_evaluation_from_tables_is_that_from_text(rocov2: ImageConcepts, tmp_path: Path) -> None:
    import polars

    images = {image: rocov2[image] for image in list(rocov2)[:500]}
    ranking = random_ranking(images, 10)
    rows = [(query, image, -rank) for query in images for rank, image in enumerate(ranking[query])]
    table = pa.table(dict(zip(("query", "document", "score"), map(list, zip(*rows, strict=True)), strict=True)))
    parquet.write_table(table, tmp_path / "run.parquet")
    with SnapshotGraph.of(isa_edges("rrf_open"), identifiers="cui") as graph:
        expected = evaluate(images, ranking, graph, nearness=Nearness(unknown="isolated")).values.tobytes()
        given = (table, polars.from_arrow(table), table.to_pandas(), read_ranking(tmp_path / "run.parquet", [*images]))
        for ranked in given:
            assert evaluate(images, ranked, graph, nearness=Nearness(unknown="isolated")).values.tobytes() == expected


def test_judgements_are_those_of_trec(tmp_path: Path) -> None:
    import polars

    qrels = Judgements.read(shared("trec_eval/qrels.test.gz"))
    rows = [(query, document, grade) for query, documents in qrels.items() for document, grade in documents.items()]
    table = pa.table(dict(zip(("query", "document", "grade"), map(list, zip(*rows, strict=True)), strict=True)))
    parquet.write_table(table, tmp_path / "qrels.parquet")
    found = Judgements.read(tmp_path / "qrels.parquet")
    assert (list(found), found.digest) == (list(qrels), qrels.digest)
    assert Judgements.of(polars.from_arrow(table)).digest == qrels.digest
    run = read_run(shared("trec_eval/results.test.gz"), tuple(qrels))
    flat = [(query, image, rank) for query in run for rank, image in enumerate(run[query])]
    ranked = pa.table(dict(zip(("query", "document", "rank"), map(list, zip(*flat, strict=True)), strict=True)))
    expected = evaluate(Dataset(qrels=qrels), run, measures=["AP", "nDCG@10"])
    assert evaluate(Dataset(qrels=table), ranked, measures=["AP", "nDCG@10"]).means == expected.means


def test_labels_are_those_of_the_csv_file(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("image,modality,organ\na,CT,chest\nb,,head\nc,MR,\n")
    table = pa.table(
        {
            "image": ["a", "b", "c"],
            "modality": pa.array(["CT", None, "MR"]).dictionary_encode(),
            "organ": ["chest", "head", ""],
        }
    )
    parquet.write_table(table, tmp_path / "labels.parquet")
    expected = Labels.read(tmp_path / "labels.csv")
    for found in (Labels.read(tmp_path / "labels.parquet"), Labels.of(table)):
        assert found.columns == expected.columns
        assert found.digest == expected.digest


# What is wrong

V, W = "C0042449", "C0005847"
IMAGES = {"ID": ["a", "b", "c"], "CUIs": [V, W, ""]}
RUN = {"query": ["a", "a", "b"], "document": ["b", "c", "a"], "score": [2.0, 1.0, 1.0]}
QRELS = {"query": ["a", "a"], "document": ["b", "c"], "grade": [1, 0]}

WRONG: list[tuple[Callable[[Path], object], dict[str, Any], str]] = [
    (ImageConcepts.read, IMAGES | {"ID": ["a", "b", "a"]}, r"column ID, row 3: an image stands twice.*as in row 1"),
    (ImageConcepts.read, IMAGES | {"ID": ["a", None, "c"]}, r"column ID, row 2: a value is missing; found null"),
    (ImageConcepts.read, IMAGES | {"ID": ["a", " ", "c"]}, r"column ID, row 2: the image is missing"),
    (ImageConcepts.read, IMAGES | {"ID": [1, 2, 3]}, r"column ID, row 1: wrong type.*int64; expected text"),
    (ImageConcepts.read, IMAGES | {"CUIs": [1.5, 2, 3]}, r"column CUIs, row 1: wrong type of column; found double"),
    (ImageConcepts.read, IMAGES | {"CUIs": [V, f"{W};a b", ""]}, r"column CUIs, row 2: not an identifier; found 'a b'"),
    (ImageConcepts.read, IMAGES | {"CUIs": [V, f"{W};", ""]}, r"column CUIs, row 2: an identifier is missing"),
    (ImageConcepts.read, IMAGES | {"CUIs": [[V], [None], []]}, r"column CUIs, row 2: an identifier is missing"),
    (ImageConcepts.read, IMAGES | {"CUIs": [[1], [2], []]}, r"row 1: wrong type.*list.*expected text, or lists"),
    (ImageConcepts.read, {"x": ["a"], "CUIs": [V], "more": [1]}, "wrong number of columns; found 3"),
    (ImageConcepts.read, {"ID": pa.array([], pa.string()), "CUIs": pa.array([], pa.string())}, "holds no image"),
    (lambda p: read_ranking(p, "abc"), RUN | {"score": [2.0, None, 1.0]}, r"column score, row 2: a value is missing"),
    (lambda p: read_ranking(p, "abc"), RUN | {"score": [2.0, 1, np.nan]}, r"column score, row 3: not a finite.*nan"),
    (lambda p: read_ranking(p, "abc"), RUN | {"score": [np.inf, 1, 1]}, r"column score, row 1: not a finite.*inf"),
    (lambda p: read_ranking(p, "abc"), RUN | {"score": ["2", "1", "1"]}, r"column score, row 1: wrong type.*string"),
    (lambda p: read_ranking(p, "abc"), RUN | {"query": ["a", "z", "b"]}, r"column query, row 2: not an image.*'z'"),
    (lambda p: read_ranking(p, "abc"), RUN | {"document": ["b", "c", "z"]}, r"column document, row 3: not an image"),
    (lambda p: read_ranking(p, "abc"), RUN | {"document": ["b", "b", "c"]}, r"row 2: a document stands twice.*row 1"),
    (lambda p: read_ranking(p, "abc"), RUN | {"document": ["b", None, "c"]}, r"column document, row 2: a value is mis"),
    (lambda p: read_ranking(p, "abc"), {"query": ["a"], "document": ["b"]}, r"column score: no such column"),
    (lambda p: read_ranking(p, "abc"), {**QRELS, "rank": [1, -2]}, r"column rank, row 2: not a rank; found -2"),
    (Judgements.read, QRELS | {"grade": [1, 0.5]}, r"column grade, row 2: not a grade; found 0.5"),
    (Judgements.read, QRELS | {"grade": [1001, 0]}, r"column grade, row 1: not a grade; found 1001"),
    (Judgements.read, QRELS | {"document": ["b", "b"]}, r"column document, row 2: a document is judged twice.*row 1"),
    (Judgements.read, QRELS | {"query": ["a", ""]}, r"column query, row 2: a name is missing"),
    (Labels.read, {"image": ["a", "a"], "organ": ["x", "y"]}, r"column image, row 2: an image stands twice"),
    (Labels.read, {"image": ["a", "b"], "organ": [1, 2]}, r"column organ, row 1: wrong type"),
    (Labels.read, {"image": ["a", "b"]}, "not columns of labels"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "table", "message"), WRONG)
def test_what_is_wrong_is_named(
    tmp_path: Path, read: Callable[[Path], object], table: dict[str, Any], message: str
) -> None:
    path = tmp_path / "wrong.parquet"
    parquet.write_table(pa.table(table), path, row_group_size=2)
    with pytest.raises(InputError, match=message) as refused:
        read(path)
    assert refused.value.file == str(path)


def test_the_row_is_that_of_the_file_not_of_the_batch(tmp_path: Path) -> None:
    names = [f"i{n}" for n in range(200_000)]
    names[150_000] = "i7"
    parquet.write_table(pa.table({"ID": names, "CUIs": [V] * len(names)}), tmp_path / "images.parquet")
    with pytest.raises(InputError, match=r"column ID, row 150,001: an image stands twice; found 'i7', as in row 8"):
        ImageConcepts.read(tmp_path / "images.parquet")


@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_is_not_whole_is_refused(tables: dict[str, pa.Table], tmp_path: Path, form: str) -> None:
    path = tmp_path / form
    FORMS[form](tables["text"], path)
    whole = path.read_bytes()
    for length in (0, 3, 9, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError) as refused:
            ImageConcepts.read(path)
        assert refused.value.file == str(path)


def test_damage_inside_is_an_error(tables: dict[str, pa.Table], tmp_path: Path) -> None:
    path = tmp_path / "images.parquet"
    parquet.write_table(tables["text"], path, compression="zstd")
    whole = bytearray(path.read_bytes())
    whole[200:5000] = bytes(4800)
    path.write_bytes(whole)
    with pytest.raises(InputError, match="damaged"):
        ImageConcepts.read(path)


def test_text_with_the_name_of_a_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "images.parquet"
    path.write_text("ID,CUIs\na,C0000001\n")
    with pytest.raises(InputError, match="not a Parquet, Arrow or Feather file; found b'ID,CUI'"):
        ImageConcepts.read(path)
    with pytest.raises(InputError, match="no such file"):
        ImageConcepts.read(tmp_path / "absent.parquet")


def test_other_objects_are_refused() -> None:
    with pytest.raises(InputError, match="not judgements"):
        Judgements.of(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not a ranking"):
        evaluate(Dataset(qrels={"a": {"b": 1}}), 3, measures="AP")  # type: ignore[arg-type]
    assert Ranking.of({"a": ["b"]}, ["a", "b"]).digest != Ranking.of({"a": ["b"]}, ["b", "a"]).digest


@pytest.mark.slow
def test_without_pyarrow_the_extra_is_named(tmp_path: Path) -> None:
    parquet.write_table(pa.table(IMAGES), tmp_path / "images.parquet")
    program = (
        "import sys\nsys.modules['pyarrow'] = None\nfrom cuihop.cli import main\n"
        "sys.argv = ['cuihop', 'evaluate', '--concepts', 'images.parquet', '--baseline', 'iou', '-m', 'CUI@5']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 8
    assert "pip install 'cuihop[parquet]'" in done.stderr
    (tmp_path / "images.csv.zst").write_bytes(zstd(b"ID,CUIs\na,C0042449\n"))
    line = [sys.executable, "-c", program.replace("images.parquet", "images.csv.zst")]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 8
    assert "needs the package pyarrow, which is not installed: pip install 'cuihop[parquet]'" in done.stderr
    done = subprocess.run(
        [sys.executable, "-c", program.replace("sys.modules['pyarrow'] = None", "")],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
