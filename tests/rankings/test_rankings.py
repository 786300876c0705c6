"""Rankings from files: order, ties, and faults with their place."""

from __future__ import annotations

import gzip
import math
import random
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop.errors import InputError
from cuihop.rankings import nearest_vectors
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking
from examples import examples
from vectors_ranked import ranked_rows

QUERIES = ("q1", "q2", "q3")
CORPUS = ("d1", "d10", "d2", "q1", "d3")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ranking"


def read(file: Path, content: str | bytes, depth: int | None = None) -> Ranking:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_ranking(file, QUERIES, CORPUS, depth=depth)


def refusal(file: Path, content: str | bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        read(file, content)
    assert caught.value.file == str(file)
    return caught.value


def saved(file: Path, array: npt.ArrayLike) -> Path:
    with file.open("wb") as target:
        np.save(target, np.asarray(array))
    return file


# TREC runs

RUN = """\
q2 Q0 d3 1 0.5 run
q1 Q0 d2 1 -1e3 run
q2 Q0 d1 2 7 run
q1 Q0 d10 7 2.5 run
q2 Q0 d10 3 0.50 run
q2\tQ0  d2 4 5e-1 run
"""


@pytest.mark.parametrize("content", [RUN, RUN.replace("\n", "\r\n"), "\ufeff" + RUN, "\n" + RUN.replace("\n", "\n\n"),
                                     RUN[:-1], gzip.compress(RUN.encode(), mtime=0)])  # fmt: skip
def test_a_run_is_ordered_by_score_then_by_document(file: Path, content: str | bytes) -> None:
    ranking = read(file, content)
    assert dict(ranking) == {"q1": ("d10", "d2"), "q2": ("d1", "d10", "d2", "d3"), "q3": ()}
    assert (ranking.missing, ranking.lengths.tolist(), ranking.source) == (("q3",), [2, 4, 0], str(file))


def test_the_rank_column_is_not_used(file: Path) -> None:
    assert read(file, "q1 Q0 d1 1 0.1 run\nq1 Q0 d2 2 0.9 run\n")["q1"] == ("d2", "d1")


def test_a_query_in_its_own_list_is_left_out(file: Path) -> None:
    ranking = read(file, "q1 Q0 d1 1 3 r\nq1 Q0 q1 2 2 r\nq1 Q0 d2 3 1 r\nq2 Q0 q1 1 1 r\n")
    assert dict(ranking) == {"q1": ("d1", "d2"), "q2": ("q1",), "q3": ()}
    assert ranking.self_retrieved.tolist() == [True, False, False]
    only = read(file, "q1 Q0 q1 1 3 r\n")
    assert (only["q1"], only.missing) == ((), ("q2", "q3"))


def test_a_depth_keeps_the_best_after_the_query_is_left_out(file: Path) -> None:
    ranking = read(file, "q1 Q0 q1 1 9 r\nq1 Q0 d1 1 1 r\nq1 Q0 d2 1 3 r\nq1 Q0 d3 1 2 r\n", depth=2)
    assert ranking["q1"] == ("d2", "d3")


def test_the_first_k_as_a_table(file: Path) -> None:
    ranking = read(file, RUN)
    assert ranking.top(3, np.arange(3)).tolist() == [[1, 2, -1], [0, 1, 2], [-1, -1, -1]]
    assert ranking.top(2, np.array([2, 1])).tolist() == [[-1, -1], [0, 1]]
    assert ranking.top(0, np.arange(3)).shape == (3, 0)


@settings(max_examples=examples(60))
@given(st.data())
def test_any_order_of_lines_gives_the_order_of_scores(data: st.DataObject) -> None:
    names = [f"i{i}" for i in range(12)]
    scores = {
        query: data.draw(st.dictionaries(st.sampled_from(names), st.sampled_from([-1.5, 0.0, 1e-9, 2.0]), max_size=9))
        for query in names[:4]
    }
    lines = [f"{q} Q0 {d} 0 {score!r} r" for q, found in scores.items() for d, score in found.items()]
    random.Random(4).shuffle(lines)
    if not lines:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.txt"
        file.write_text("\n".join(lines))
        ranking = read_ranking(file, names)
    for query in names:
        found = scores.get(query, {})
        expected = sorted((d for d in found if d != query), key=lambda d: (-found[d], d))
        assert list(ranking[query]) == expected


@pytest.mark.parametrize(
    ("content", "line", "column", "parts"),
    [
        ("", None, None, ["the file is empty"]),
        ("q1 Q0 d1 1 0.5\n", 1, None, ["wrong number of columns", "found 5", "query Q0 document rank score run"]),
        ("q1 Q0 d1 1 0.5 r\nq1 Q0 d2 1 0.5 r x\n", 2, None, ["wrong number of columns", "found 7"]),
        ("q1 Q0 d1 1 0.5 r\n\nzz Q0 d2 1 0.5 r\n", 3, "query", ["not an image of the queries", "'zz'"]),
        ("q1 Q0 d1 1 0.5 r\nq1 Q0 zz 1 0.5 r\n", 2, "document", ["not an image of the corpus", "'zz'"]),
        ("q1 Q0 d1 1 half r\n", 1, "score", ["not a score", "'half'", "a finite number"]),
        ("q1 Q0 d1 1 nan r\n", 1, "score", ["not a score"]),
        ("q1 Q0 d1 1 -inf r\n", 1, "score", ["not a score"]),
        ("q1 Q0 d1 1 1_0 r\n", 1, "score", ["not a score"]),
        ("q1 Q0 d1 1 1e999 r\n", 1, "score", ["not a score"]),
        ("q1 Q0 d1 1 0,5 r\n", 1, "score", ["not a score"]),
        ("q1 Q0 d1 1 2 r\nq2 Q0 d1 1 2 r\nq1 Q0 d2 1 2 r\nq1 Q0 d1 1 1 r\n", 4, "document",
         ["stands twice", "'d1' for query 'q1', as in line 1"]),
        ("\nq1 Q0 d1 1 2 r\n\nq1 Q0 d1 1 2 r\n", 4, "document", ["as in line 2"]),
        (b"q1 Q0 d1 1 2 r\nq1 Q0 d\xe9 1 2 r\n", 2, "byte 2", ["not UTF-8"]),
        (b"q1 Q0 d1 1 \xe9 r\n", 1, "byte 1", ["not UTF-8"]),
    ],
)  # fmt: skip
def test_faults_of_a_run(
    file: Path, content: str | bytes, line: int | None, column: str | None, parts: list[str]
) -> None:
    error = refusal(file, content)
    assert (error.line, error.column) == (line, column)
    for part in parts:
        assert part in str(error)


def test_a_truncated_gzip_run(file: Path) -> None:
    assert "ends early" in str(refusal(file, gzip.compress(RUN.encode())[:-9]))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_ranking(tmp_path / "none.run", QUERIES, CORPUS)
    with pytest.raises(InputError, match="cannot be read"):
        read_ranking(tmp_path, QUERIES, CORPUS)


# CSV


@pytest.mark.parametrize(
    "content",
    [
        "query,document,score\nq2,d3,0.5\nq1,d2,-1e3\nq2,d1,7\nq1,d10,2.5\nq2,d10,0.50\nq2,d2,5e-1\n",
        "Document, Score ,QUERY\r\nd3,0.5,q2\r\nd2,-1e3,q1\r\nd1,7,q2\r\nd10,2.5,q1\r\nd10,.5,q2\r\n\r\nd2,0.5,q2",
        'query,document,rank\nq2,d3,2\nq1,d2,20\nq2,"d1",1\nq1,d10,3\nq2,d10,2\nq2,d2,2\n',
    ],
)
def test_csv_is_ordered_by_score_or_rank_then_by_document(file: Path, content: str) -> None:
    assert dict(read(file, content)) == {"q1": ("d10", "d2"), "q2": ("d1", "d10", "d2", "d3"), "q3": ()}


def test_a_header_alone_ranks_nothing(file: Path) -> None:
    assert read(file, "query,document,score\n").missing == QUERIES


def test_many_lines_with_a_fault_at_the_end(file: Path) -> None:
    names = [f"i{i}" for i in range(40)]
    lines = [f"{q} Q0 {d} 0 {i} r" for i, (q, d) in enumerate((q, d) for q in names for d in names if q != d)]
    file.write_text("\n".join(lines))
    assert read_ranking(file, names).lengths.tolist() == [39] * 40
    file.write_text("\n".join([*lines, "i3 Q0 i4 0 x r"]))
    with pytest.raises(InputError, match=r"line 1,561, column score"):
        read_ranking(file, names)
    file.write_text("\n".join([*lines, "i3 Q0 i4 0 1 r"]))
    with pytest.raises(InputError, match=r"line 1,561, column document.*as in line 121"):
        read_ranking(file, names)


@pytest.mark.parametrize(
    ("content", "line", "column", "parts"),
    [
        ("q1,d1,0.5\n", 1, None, ["not the header of a ranking", "query, document, and score or rank"]),
        ("query,document,score,rank,run\n", 1, None, ["not the header"]),
        ("query,document,score,rank\nq1,d1,1,x\n", 2, "rank", ["not a rank", "'x'"]),
        ("query,document\n", 1, None, ["not the header"]),
        ("query,query,document,score\n", 1, None, ["not the header"]),
        ("query,document,score\nq1,d1\n", 2, None, ["wrong number of columns", "found 2", "expected 3"]),
        ("query,document,score\nq1,d1,1\n\nq1,d2,1,\n", 4, None, ["wrong number of columns", "found 4"]),
        ("query,document,score\nzz,d1,1\n", 2, "query", ["not an image of the queries", "'zz'"]),
        ("query,document,score\nq1,zz,1\n", 2, "document", ["not an image of the corpus", "'zz'"]),
        ("query,document,score\nq1,d1,\n", 2, "score", ["not a score"]),
        ("query,document,score\nq1,d1,NaN\n", 2, "score", ["not a score"]),
        ("query,document,rank\nq1,d1,1.5\n", 2, "rank", ["not a rank", "'1.5'", "whole number"]),
        ("query,document,rank\nq1,d1,-1\n", 2, "rank", ["not a rank"]),
        ("query,document,rank\nq1,d1,\n", 2, "rank", ["not a rank"]),
        ("query,document,rank\nq1,d1,1\nq1,d1,2\n", 3, "document", ["stands twice", "as in line 2"]),
        ('query,document,rank\nq1,"d1,1\n', 2, None, ["not CSV"]),
        (b"query,document,rank\nq1,d\xff,1\n", 2, "byte 5", ["not UTF-8"]),
    ],
)
def test_faults_of_csv(
    file: Path, content: str | bytes, line: int | None, column: str | None, parts: list[str]
) -> None:
    error = refusal(file, content)
    assert (error.line, error.column) == (line, column)
    for part in parts:
        assert part in str(error)


# Row numbers


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.int8, ">i4"])
def test_row_numbers_are_places_in_the_corpus(file: Path, dtype: str) -> None:
    table = np.array([[4, 0, 3, 1], [2, 1, -1, -1], [-1, -1, -1, -1]], dtype=dtype)
    ranking = read_ranking(saved(file, table), QUERIES, CORPUS)
    assert dict(ranking) == {"q1": ("d3", "d1", "d10"), "q2": ("d2", "d10"), "q3": ()}
    assert (ranking.missing, ranking.self_retrieved.tolist()) == (("q3",), [True, False, False])
    assert read_ranking(file, QUERIES, CORPUS, depth=1)["q1"] == ("d3",)


def test_unsigned_row_numbers(file: Path) -> None:
    table = np.array([[4, 0], [2, 1], [0, 1]], dtype=np.uint64)
    assert read_ranking(saved(file, table), QUERIES, CORPUS)["q3"] == ("d1", "d10")
    table[1, 1] = 2**63 + 1
    with pytest.raises(InputError, match=r"row 1 \(both from 0\).*found 9223372036854775809"):
        read_ranking(saved(file, table), QUERIES, CORPUS)


def test_the_query_does_not_take_a_place_of_the_depth(file: Path) -> None:
    table = np.array([[3, 4, 0, 1], [2, 1, 3, 4], [0, 1, 2, 3]])
    ranking = read_ranking(saved(file, table), QUERIES, CORPUS, depth=2)
    assert dict(ranking) == {"q1": ("d3", "d1"), "q2": ("d2", "d10"), "q3": ("d1", "d10")}


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ([[0, 1], [2, 5], [0, 1]], ["column 1, row 1 (both from 0)", "found 5", "0 to 4, or -1 at the end"]),
        ([[0, 1], [2, 1], [-2, 1]], ["column 0, row 2", "found -2"]),
        ([[0, 1, 2], [2, 1, 2], [0, 1, 2]], ["stands twice for a query", "column 2, row 1", "found 2"]),
        ([[0, 1], [-1, 1], [0, 1]], ["after the end of the list", "column 1, row 1"]),
        ([[0, 1], [2, 1]], ["wrong number of rows", "found 2", "3, one for each query"]),
        ([0, 1, 2], ["not a table of numbers", "shape (3,)"]),
        ([[[0]], [[1]], [[2]]], ["not a table of numbers"]),
        ([[True], [False], [True]], ["not a table of numbers", "dtype bool"]),
        ([["a"], ["b"], ["c"]], ["not a table of numbers"]),
        ([[1j], [1], [1]], ["not a table of numbers"]),
    ],
)
def test_faults_of_row_numbers(file: Path, table: npt.ArrayLike, parts: list[str]) -> None:
    saved(file, table)
    with pytest.raises(InputError) as caught:
        read_ranking(file, QUERIES, CORPUS)
    for part in (str(file), *parts):
        assert part in str(caught.value)


def test_arrays_that_are_none(tmp_path: Path) -> None:
    named = tmp_path / "x.npy"
    named.write_text(RUN)
    with pytest.raises(InputError, match=r"not a NumPy array.*numpy\.save"):
        read_ranking(named, QUERIES, CORPUS)
    whole = saved(named, np.zeros((3, 50), dtype=np.int64)).read_bytes()
    for cut in (8, 60, 200):
        named.write_bytes(whole[:cut])
        with pytest.raises(InputError, match="not a whole NumPy array"):
            read_ranking(named, QUERIES, CORPUS)
    with named.open("wb") as target:
        np.save(target, np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a whole NumPy array"):
        read_ranking(named, QUERIES, CORPUS)


# Embeddings


def by_sorting(queries: npt.NDArray[np.float64], corpus: npt.NDArray[np.float64], own: bool, k: int) -> list[list[int]]:
    """Cosines one by one in Python's exact sums, sorted."""

    def unit(vector: list[float]) -> list[float]:
        length = math.sqrt(math.fsum(x * x for x in vector))
        return [x / length for x in vector]

    directions = [unit(row) for row in corpus.tolist()]
    found = []
    for place, query in enumerate(map(unit, queries.tolist())):
        cosines = [math.fsum(a * b for a, b in zip(query, other, strict=True)) for other in directions]
        order = sorted((i for i in range(len(corpus)) if not (own and i == place)), key=lambda i: (-cosines[i], i))
        found.append(order[:k])
    return found


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4"])
@pytest.mark.parametrize("images", [3, pytest.param(700, marks=pytest.mark.slow)])
def test_embeddings_are_ranked_by_cosine(tmp_path: Path, dtype: str, images: int) -> None:
    rng = np.random.default_rng(1)
    table = (rng.normal(size=(images, 17)) * 10.0 ** rng.integers(-2, 3, (images, 1))).astype(dtype)
    names = [f"i{i:04}" for i in range(images)]
    path = saved(tmp_path / "e.npy", table)
    ranking = read_ranking(path, names, depth=11)
    expected = by_sorting(table.astype(np.float64), table.astype(np.float64), True, 11)
    assert [list(found) for found in ranking.values()] == [[names[i] for i in row] for row in expected]
    assert not ranking.missing


def test_equal_vectors_are_ties_by_name(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    few = rng.normal(size=(5, 33))
    table = np.repeat(few, 150, axis=0)[rng.permutation(750)]
    names = [f"i{i:04}" for i in rng.permutation(750)]
    ranking = read_ranking(saved(tmp_path / "e.npy", table), names, depth=149)
    for query, vector in zip(names, table, strict=True):
        twins = sorted(names[row] for row in np.flatnonzero((table == vector).all(axis=1)))
        assert list(ranking[query]) == [twin for twin in twins if twin != query]


def test_candidates_within_rounding_of_single_precision_are_told_apart(tmp_path: Path) -> None:
    """Vectors around a cone whose angles differ by 1e-11: single precision gives another order."""
    rng = np.random.default_rng(8)
    query = np.zeros((1, 64))
    query[0, 0] = 1.0
    across = rng.normal(size=(300, 64))
    across[:, 0] = 0.0
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    angles = (0.7 + np.arange(300) * 1e-11)[::-1, np.newaxis]
    turn = np.linalg.qr(rng.normal(size=(64, 64)))[0]
    corpus = (np.cos(angles) * query + np.sin(angles) * across) @ turn
    query = query @ turn
    single = corpus.astype(np.float32) @ query[0].astype(np.float32)
    assert set(np.argsort(-single)[:20].tolist()) != set(range(280, 300))
    names = [f"d{i:03}" for i in range(300)]
    queries, held = saved(tmp_path / "q.npy", query), saved(tmp_path / "d.npy", corpus)
    ranking = read_ranking(queries, ["q"], names, depth=20, corpus_embeddings=held)
    assert list(ranking["q"]) == names[::-1][:20]


@pytest.mark.parametrize("share", [1, 10**6])
def test_the_order_does_not_depend_on_how_the_product_is_cut(monkeypatch: pytest.MonkeyPatch, share: int) -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=(400, 64)).astype(np.float32)
    table[200:] = table[:200]
    names = [f"i{i:04}" for i in range(400)]
    monkeypatch.setattr(nearest_vectors, "_SHARE", share)  # by candidates, and with everything put in order
    answers = []
    for queries, tile, rows in ((1, 400, 400), (7, 33, 50), (128, 100, 1024)):
        monkeypatch.setattr(nearest_vectors, "_OPERATIONS", queries * 400 * 64)
        monkeypatch.setattr(nearest_vectors, "_TILE", tile)
        monkeypatch.setattr(nearest_vectors, "_ROWS_AT_ONCE", rows)
        answers.append(ranked_rows(table, names, 30))
    assert answers[0] == answers[1] == answers[2]


def test_vectors_of_any_size_have_a_direction(tmp_path: Path) -> None:
    table = np.array([[1e300, 1e300], [1e-300, 1e-300], [-1e-310, 0.0], [3.0, 3.1]])
    ranking = read_ranking(saved(tmp_path / "e.npy", table), ["a", "b", "c", "d"], depth=3)
    assert ranking["a"] == ("b", "d", "c")


@pytest.mark.parametrize(
    ("value", "found"), [(np.nan, "NaN or infinity"), (np.inf, "NaN or infinity"), (None, "a zero vector")]
)
def test_embeddings_without_a_direction(tmp_path: Path, value: float | None, found: str) -> None:
    table = np.ones((600, 4), dtype=np.float32)
    table[513] = 0.0 if value is None else [1.0, value, 1.0, 1.0]
    path = saved(tmp_path / "e.npy", table)
    with pytest.raises(InputError, match=rf"row 513 \(from 0\).*found {found}"):
        read_ranking(path, [f"i{i}" for i in range(600)], depth=5)


def test_faults_of_embeddings(tmp_path: Path) -> None:
    table = saved(tmp_path / "e.npy", np.ones((3, 4)))
    with pytest.raises(InputError, match="ranked to a depth"):
        read_ranking(table, QUERIES)
    with pytest.raises(InputError, match="wrong number of rows"):
        read_ranking(table, (*QUERIES, "q4"), depth=3)
    with pytest.raises(InputError, match=r"no embeddings.*--corpus-embeddings"):
        read_ranking(table, QUERIES, CORPUS, depth=3)
    other = saved(tmp_path / "o.npy", np.ones((5, 3)))
    with pytest.raises(InputError, match=r"found shape \(5, 3\).*expected shape \(5, 4\)"):
        read_ranking(table, QUERIES, CORPUS, depth=3, corpus_embeddings=other)
    with pytest.raises(InputError, match="go with embeddings of the queries"):
        read_ranking(saved(tmp_path / "r.npy", [[0], [1], [2]]), QUERIES, CORPUS, depth=3, corpus_embeddings=other)
    run = tmp_path / "run.txt"
    run.write_text(RUN)
    with pytest.raises(InputError, match="go with embeddings of the queries"):
        read_ranking(run, QUERIES, CORPUS, corpus_embeddings=other)
    empty = saved(tmp_path / "z.npy", np.ones((3, 0)))
    with pytest.raises(InputError, match="without a direction"):
        read_ranking(empty, QUERIES, depth=3)


# From lists


def test_lists_are_taken_as_they_are() -> None:
    ranking = Ranking.of({"q2": ["d3", "d1"], "q1": ["d10", "q1", "d2"]}, QUERIES, CORPUS)
    assert dict(ranking) == {"q1": ("d10", "d2"), "q2": ("d3", "d1"), "q3": ()}
    assert (len(ranking), ranking.missing, ranking.self_retrieved.tolist()) == (3, ("q3",), [True, False, False])
    with pytest.raises(KeyError):
        ranking["d1"]
