"""Runs and judgements are split many lines at once: what is read, and every error, is as if it were line by line."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuihop import ImageConcepts, evaluate
from cuihop.collection.dataset import Dataset
from cuihop.collection.judgements import Judgements
from cuihop.errors import InputError
from cuihop.files.text_lines import columns, line_blocks, raw_lines
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.ranking import Ranking
from cuihop.rankings.reading import read_ranking, read_run

LINES = 1024  # of a block

fields = st.lists(st.sampled_from([b"a", b"#b", b"\xc3\xa9", b"\xa0", b"\x00", b"\x1c"]), max_size=4)
gaps = st.sampled_from([b" ", b"\t", b"  ", b" \r", b"\x0b", b"\x0c"])
written_lines = st.lists(st.tuples(fields, gaps, st.sampled_from([b"\n", b"\r\n", b" \n"])), min_size=1, max_size=6)


@given(written_lines, st.integers(1, 4), st.booleans())
def test_columns_are_those_of_each_line(drawn: list[tuple[list[bytes], bytes, bytes]], count: int, cut: bool) -> None:
    lines = [gap.join(row) + end for row, gap, end in drawn]
    if cut:  # the last line of a file need not end
        lines[-1] = lines[-1].rstrip(b"\n")
    split = [line.split() for line in lines]
    found = columns(lines, count, range(count))
    if any(len(row) != count for row in split):
        assert found is None
    elif b"\0" not in b"".join(lines):
        assert found == [list(column) for column in zip(*split, strict=True)]


grades = st.dictionaries(st.tuples(st.sampled_from("12é"), st.sampled_from("abc\xa0")), st.integers(-2, 9), min_size=1)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    grades, st.lists(st.sampled_from(["", "# of query 1", "#\t0 a 1"]), max_size=3), st.randoms(use_true_random=False)
)
def test_judgements_between_comments_and_empty_lines(tmp_path: Path, drawn, others, random) -> None:  # type: ignore[no-untyped-def]
    lines = [f"{query} 0 {document} {grade}" for (query, document), grade in drawn.items()]
    texts = [*lines, *others]
    random.shuffle(texts)
    (tmp_path / "qrels").write_text("\n".join(texts), encoding="utf-8")
    found = Judgements.read(tmp_path / "qrels")
    assert {(query, document): grade for query, of in found.items() for document, grade in of.items()} == drawn


FAULTS = {
    "too few columns": (b"1 0 x\n", "wrong number of columns; found 3"),
    "two lines whose columns make up for one another": (b"1 0 x\n1 0 y 1 z\n", "wrong number of columns; found 3"),
    "no grade": (b"1 0 x 1_0\n", "not a grade; found '1_0'"),
    "not UTF-8": (b"1 0 \xff 1\n", "not UTF-8"),
    "a query that is not UTF-8": (b"\xff 0 x 1\n", "not UTF-8"),
    "judged twice": (b"1 0 d7 1\n", "found 'd7' for query '1', as in line 8"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("before", [9, LINES - 1, LINES, 2 * LINES + 5])
def test_judgements_far_down_are_refused_with_their_line(tmp_path: Path, fault: str, before: int) -> None:
    wrong, message = FAULTS[fault]
    path = tmp_path / "qrels"
    path.write_bytes(b"".join(b"1 0 d%d 1\n" % line for line in range(before)) + wrong + b"2 0 x 1\n")
    with pytest.raises(InputError, match=message) as caught:
        Judgements.read(path)
    assert (caught.value.file, caught.value.line) == (str(path), before + 1)


RUN_FAULTS = {
    "too many columns": (b"1 Q0 x 1 1 r s\n", "wrong number of columns; found 7"),
    "two lines whose columns make up for one another": (b"1 Q0 x 1 1\n1 Q0 y 1 1 r s\n", "found 5"),
    "no number": (b"1 Q0 x 1 one r\n", "not a score; found 'one'"),
    "an underscore": (b"1 Q0 x 1 1_0 r\n", "not a score; found '1_0'"),
    "infinite": (b"1 Q0 x 1 inf r\n", "not a score"),
    "not UTF-8": (b"1 Q0 \xff 1 1 r\n", "not UTF-8"),
    "twice": (b"1 Q0 d7 1 1 r\n", "found 'd7' for query '1', as in line 8"),
}


@pytest.mark.parametrize("fault", RUN_FAULTS)
@pytest.mark.parametrize("before", [9, LINES, 2 * LINES + 5])
def test_runs_far_down_are_refused_with_their_line(tmp_path: Path, fault: str, before: int) -> None:
    wrong, message = RUN_FAULTS[fault]
    path = tmp_path / "run"
    path.write_bytes(b"".join(b"1 Q0 d%d 1 %d r\n" % (line, -line) for line in range(before)) + wrong)
    with pytest.raises(InputError, match=message) as caught:
        read_run(path, ("1",))
    assert (caught.value.file, caught.value.line) == (str(path), before + 1)
    images = ("1", "x", "y", *(f"d{line}" for line in range(before)))
    with pytest.raises(InputError) as caught:
        read_ranking(path, images)
    assert caught.value.line == before + 1


def test_lines_before_the_end_of_a_damaged_stream_come_first(tmp_path: Path) -> None:
    path = tmp_path / "run"
    whole = gzip.compress("".join(f"line {line * 7919 % 10**6}\n" for line in range(5 * LINES)).encode())
    path.write_bytes(whole[:-2000])
    given: list[bytes] = []
    with pytest.raises(InputError, match="ends early") as caught:
        given.extend(raw_lines(path))
    assert caught.value.line == len(given) + 1
    assert given[:2] == [b"line 0\n", b"line 7919\n"]
    assert len(given) > LINES
    assert len(given) % LINES
    path.write_bytes(b"\xef\xbb\xbfa\nb")
    assert list(line_blocks(path)) == [(1, [b"a\n"]), (2, [b"b"])]


documents = [f"d{place}" for place in range(8)]
scored = st.dictionaries(
    st.sampled_from(["q1", "q2", "d3"]),
    st.dictionaries(st.sampled_from(documents), st.sampled_from([0.0, 1.0, 1.0 + 1e-12, 2.5, 1e300, -1e300])),
    min_size=1,
)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(scored, st.sampled_from(["name", "trec"]), st.none() | st.integers(1, 4), st.randoms(use_true_random=False))
def test_rankings_of_documents_are_the_same_however_they_come(tmp_path: Path, drawn, ties, depth, random) -> None:  # type: ignore[no-untyped-def]
    queries = ("q2", "q1", "absent")

    def best_first(found: dict[str, float]) -> tuple[str, ...]:
        with np.errstate(over="ignore"):
            keys = {d: -float(np.float32(score)) if ties == "trec" else -score for d, score in found.items()}
        return tuple(sorted(sorted(found, reverse=ties == "trec"), key=keys.__getitem__))[:depth]

    expected = {query: best_first(drawn.get(query, {})) for query in queries}
    ranking = scored_ranking(drawn, qrels=dict.fromkeys(queries), depth=depth, ties=ties)
    assert dict(ranking) == expected
    assert ranking.other_queries == tuple(query for query in drawn if query not in queries)
    lines = [f"{q} Q0 {d} 1 {score!r} r\n" for q, found in drawn.items() for d, score in found.items()]
    random.shuffle(lines)
    if lines:
        (tmp_path / "run").write_text("".join(lines))
        read = read_run(tmp_path / "run", queries, depth=depth, ties=ties)
        assert dict(read) == expected
        assert set(read.corpus) == {document for found in drawn.values() for document in found}
        numbered = Ranking.of(expected, queries, read.corpus, query_image="include")
        assert np.array_equal(read.rows, numbered.rows)
        assert np.array_equal(read.indptr, numbered.indptr)


def test_a_ranking_of_documents_that_happen_to_be_the_images() -> None:
    images = ImageConcepts.of({"a": "C0042449", "b": "C0042449", "c": "C0018670"})
    scores = {"a": {"b": 1.0, "c": 2.0}, "b": {"a": 1.0}, "c": {"a": 1.0}}
    loose = scored_ranking(dict(reversed(scores.items())), qrels=scores)
    assert sorted(loose.corpus) == ["a", "b", "c"]
    fitted = scored_ranking(scores, images)
    found = evaluate(images, dict(loose), None, measures="CUI@1")
    assert np.array_equal(found.values, evaluate(images, fitted, None, measures="CUI@1").values)
    ordered = scored_ranking({"a": {"a": 3.0, "b": 2.0, "c": 1.0}, "b": {}, "c": {}}, qrels=scores)
    assert ordered.corpus == tuple(images)
    found = evaluate(images, ordered, None, measures="CUI@1")
    assert found.values[:, 0].tolist() == [1.0, 0.0, 0.0]  # by b, as a left its own list
    assert found.counts.self_retrieved == 1


def test_what_is_told_later_is_told_once_and_survives_pickling() -> None:
    result = evaluate(Dataset(qrels={"q": {"b": 1}}), {"q": ["a", "b"]}, measures="AP")
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert again.counts == result.counts
    assert result.counts is result.counts
    assert again.parameters["digests"] == result.parameters["digests"]
    assert again.means == {"AP": 0.5}
