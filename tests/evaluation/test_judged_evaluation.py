"""Evaluation against judgements and labels: files, counts, edge cases, and the command."""

from __future__ import annotations

import csv
import gzip
import json
import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from cuihop import ImageConcepts, SnapshotGraph, evaluate, read_ranking
from cuihop.cli import main
from cuihop.collection.dataset import Dataset
from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.errors import InputError
from cuihop.measures import JudgedRanking, hashing_average_precision
from cuihop.measures.nearness import Nearness
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.reading import read_run
from example_graph import example_graph
from flat_options import evaluate_flat

LABELS = {
    "modality": {"a": "CT", "b": "CT", "c": "MR", "d": "CT", "e": ""},
    "organ": {"a": "head", "b": "chest", "c": "head", "d": "head", "e": "head"},
}
RANKING = {"a": ["c", "b", "d", "e"], "b": ["a", "c"], "c": ["a"], "d": ["e", "a"], "e": ["a"]}


# Labels


def test_precision_by_labels_by_hand() -> None:
    result = evaluate(Dataset(labels=LABELS), RANKING, measures=["P@2(modality)", "P@2(organ)", "P@2(modality, organ)"])
    expected = [
        [0.5, 0.5, 0.0],  # a: c is MR, head; b is CT, chest
        [0.5, 0.0, 0.0],
        [0.0, 0.5, 0.0],
        [0.5, 1.0, 0.5],  # d: e has no modality, head
        [math.nan, 0.5, math.nan],
    ]
    assert np.array_equal(result.values, expected, equal_nan=True)
    assert result.counts.unlabelled == {"modality": 1, "organ": 0, "modality, organ": 1}
    assert result.counts.nothing_relevant == {
        "modality": ("c",),
        "organ": ("b",),
        "modality, organ": ("b", "c"),
    }
    assert result.counts.unjudged == {"modality": ("e",), "organ": (), "modality, organ": ("e",)}


def test_queries_without_anything_relevant_are_skipped_if_that_is_asked_for() -> None:
    result = evaluate(Dataset(labels=LABELS), RANKING, measures="P@2(modality)", empty_ideal="skip")
    assert np.isnan(result.values[:, 0]).tolist() == [False, False, True, False, True]
    assert result.means == {"P@2(modality)": 0.5}


def test_a_query_is_left_out_of_its_own_list_by_labels_but_not_by_judgements() -> None:
    ranking = {"a": ["a", "b"]}
    labels = {"kind": {"a": "x", "b": "x"}}
    result = evaluate(Dataset(labels=labels), ranking, measures="P@1(kind)", missing="skip")
    assert (result.values[0, 0], result.counts.self_retrieved) == (1.0, 1)
    assert evaluate(Dataset(qrels={"a": {"b": 1}}), ranking, measures="RR").means == {"RR": 0.5}
    assert evaluate(Dataset(qrels={"a": {"a": 1}}), ranking, measures="RR").means == {"RR": 1.0}


@given(st.lists(st.sampled_from("xyz"), min_size=2, max_size=8), st.data())
def test_labels_are_judgements_that_nobody_wrote(values: list[str], data: st.DataObject) -> None:
    images = [f"i{place}" for place in range(len(values))]
    label = dict(zip(images, values, strict=True))
    ranking = {i: [o for o in data.draw(st.permutations(images)) if o != i] for i in images}
    names = ["P@3", "AP", "Rprec", "bpref", "RR", "nDCG@3", "R@2"]
    by_labels = [f"{name}(kind)" for name in names]
    qrels = {i: {o: int(label[o] == label[i]) for o in images if o != i} for i in images}
    scores = {i: {o: float(-rank) for rank, o in enumerate(order)} for i, order in ranking.items()}
    measures_of_trec = {"P.3", "map", "Rprec", "bpref", "recip_rank", "ndcg_cut.3", "recall.2"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, measures_of_trec).evaluate(scores)
    result = evaluate(Dataset(labels={"kind": label}), ranking, measures=by_labels)
    order = ["P_3", "map", "Rprec", "bpref", "recip_rank", "ndcg_cut_3", "recall_2"]
    for row, image in enumerate(result.queries):
        assert result.values[row].tolist() == pytest.approx([theirs[image][name] for name in order], abs=1e-12)


def test_labels_from_the_manual_concepts() -> None:
    images = ImageConcepts.of({"a": "C0040405;C0000726", "b": "C0040405;C0032743", "c": "C9999999", "d": "C0040405"})
    labels = Labels.of_concepts(images)
    assert labels.columns["modality"] == {"a": "C0040405", "b": "C0032743;C0040405", "c": "", "d": "C0040405"}
    assert labels.columns["organ"] == {"a": "C0000726", "b": "", "c": "", "d": ""}
    result = evaluate(
        Dataset(labels=labels), {i: [o for o in "abcd" if o != i] for i in "abcd"}, measures="P@3(modality)"
    )
    assert np.array_equal(result.values[:, 0], [1 / 3, 0.0, math.nan, 1 / 3], equal_nan=True)


def test_labels_from_files_and_frames(tmp_path: Path) -> None:
    for text in (
        "image,modality,organ\na,CT,head\nb, MR ,\n",
        "image\tmodality\torgan\r\na\tCT\thead\r\n\r\nb\tMR\t\r\n",
    ):
        path = tmp_path / "labels"
        path.write_bytes(gzip.compress(text.encode()))
        labels = Labels.read(path)
        assert labels.columns == {"modality": {"a": "CT", "b": "MR"}, "organ": {"a": "head", "b": ""}}
        assert labels.images == ("a", "b")
    frame = pd.DataFrame({"image": ["a", "b"], "modality": ["CT", "MR"], "organ": ["head", None]})
    assert Labels.of(frame).columns == labels.columns


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no image"),
        ("image,modality\n", None, "no image"),
        ("image\na\n", 1, "not a header of labels"),
        ("image,x,x\na,1,2\n", 1, "not a header of labels"),
        ("image,modality\na,CT\nb\n", 3, "wrong number of columns; found 1"),
        ("image,modality\na,CT,x\n", 2, "wrong number of columns; found 3"),
        ("image,modality\na,CT\n\na,MR\n", 4, "an image stands twice; found 'a', as in line 2"),
        ("image,modality\n,CT\n", 2, "the image is missing"),
        ('image,modality\n"a,CT\n', 2, "not CSV"),
    ],
)
def test_label_files_that_are_refused(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        Labels.read(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({}, "not labels"),
        ([1], "not labels"),
        ({"x": {"a": "1"}, "y": {"b": "1"}}, "different images"),
        (pd.DataFrame({"image": ["a", "a"], "x": ["1", "2"]}), "each image once"),
        (pd.DataFrame({"image": ["a"]}), "not columns of labels"),
    ],
)
def test_labels_that_are_none(labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Labels.of(labels)


def test_labels_that_are_not_there() -> None:
    with pytest.raises(InputError, match="no such label; found 'site'; expected modality or organ"):
        evaluate(Dataset(labels=LABELS), RANKING, measures="P@2(site)")
    graph = SnapshotGraph.of([("C0042449", "C0005847")])
    images = {"a": "C0042449", "z": "C0005847"}
    with pytest.raises(InputError, match="images without a row of labels; found 1: z"):
        evaluate(Dataset(images, labels=LABELS), {"a": ["z"], "z": ["a"]}, graph, measures="P@1(modality)")


# Judgements


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_judgements_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "qrels", "# a comment\n2 0 x 1\n\n1\tQ0\ty  -1\n2 0 y +3\n")
    assert {query: dict(judged) for query, judged in Judgements.read(path).items()} == {
        "2": {"x": 1, "y": 3},
        "1": {"y": -1},
    }


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no judgement"),
        ("1 0 x\n", 1, "wrong number of columns; found 3"),
        ("1 0 x 1\n1 0 y 1 z\n", 2, "wrong number of columns; found 5"),
        ("1 0 x 1\n1 0 y 1.5\n", 2, "not a grade; found '1.5'"),
        ("1 0 x 1001\n", 1, "not a grade"),
        ("1 0 x 1\n2 0 x 1\n1 0 x 0\n", 3, "judged twice for a query; found 'x' for query '1', as in line 1"),
    ],
)
def test_judgements_that_are_refused(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    path = written(tmp_path / "qrels", text)
    with pytest.raises(InputError, match=message) as caught:
        Judgements.read(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)


@pytest.mark.parametrize(
    "bad", [{}, {"q": {"a": 1.0}}, {"q": {"a": True}}, {"q": {"a": 2000}}, {"q": {"a": -(10**30)}}]
)
def test_judgements_that_are_none(bad: dict[str, dict[str, int]]) -> None:
    with pytest.raises(InputError):
        Judgements.of(bad)


RUN = "1 Q0 x 1 0.5 r\n1 Q0 y 2 0.5 r\n9 Q0 z 1 1 r\n1 Q0 w 3 0.50000000001 r\n"


def test_a_run_needs_no_list_of_documents(tmp_path: Path) -> None:
    path = written(tmp_path / "run", RUN)
    ranking = read_run(path, ("1", "2"))
    assert dict(ranking) == {"1": ("w", "x", "y"), "2": ()}
    assert (ranking.other_queries, ranking.missing) == (("9",), ("2",))
    assert dict(read_run(path, ("1",), ties="trec")) == {"1": ("y", "x", "w")}
    assert dict(read_run(path, ("1",), depth=1)) == {"1": ("w",)}


def test_trec_evals_order_of_ties_holds_for_closed_collections_too(tmp_path: Path) -> None:
    path = written(tmp_path / "run", "a Q0 b 1 0 r\na Q0 c 1 0 r\n")
    assert read_ranking(path, ("a", "b", "c"))["a"] == ("b", "c")
    assert read_ranking(path, ("a", "b", "c"), ties="trec")["a"] == ("c", "b")
    with pytest.raises(InputError, match="name or trec"):
        read_ranking(path, ("a", "b", "c"), ties="rank")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (RUN.encode() + b"1 Q0 x 1 0.1 r\n", 5, "stands twice for a query; found 'x' for query '1', as in line 1"),
        (RUN.encode() + b"1 Q0 v 1 nan r\n", 5, "not a score"),
        (RUN.encode() + b"1 Q0 v 1 1 r more\n", 5, "wrong number of columns"),
        (RUN.encode() + b"1 Q0 \xff 1 1 r\n", 5, "not UTF-8"),
        (b"query,document,score\n1,x,1\n1,x,0\n", 3, "a document stands twice"),
    ],
)  # fmt: skip
def test_runs_that_are_refused(tmp_path: Path, content: bytes, line: int, message: str) -> None:
    path = tmp_path / "run"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_run(path, ("1",))
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_arrays_are_no_run(tmp_path: Path) -> None:
    np.save(tmp_path / "run.npy", np.zeros((1, 1), dtype=np.int64))
    with pytest.raises(InputError, match="does not name documents"):
        read_run(tmp_path / "run.npy", ("1",))


def test_missing_rankings_are_an_error_zero_or_skipped() -> None:
    qrels = {"p": {"x": 1}, "q": {"x": 1}}
    with pytest.raises(InputError, match="queries without a ranking; found 1: q"):
        evaluate(Dataset(qrels=qrels), {"p": ["x"]}, measures="AP")
    assert evaluate(Dataset(qrels=qrels), {"p": ["x"]}, measures="AP", missing="zero").means == {"AP": 0.5}
    skipped = evaluate(Dataset(qrels=qrels), {"p": ["x"], "r": ["x"]}, measures="AP", missing="skip")
    assert (skipped.means, skipped.counts.missing, skipped.counts.other_queries) == ({"AP": 1.0}, ("q",), ("r",))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measures": "AP"}, "qrels or labels"),
        ({"measures": "nn-CUI@5", "qrels": {"a": {"b": 1}}}, "not a measure of judged relevance"),
        ({"measures": "BM", "qrels": {"a": {"b": 1}}}, "not a measure of judged relevance"),
        ({"measures": "P@2(modality)", "qrels": {"a": {"b": 1}}}, "no labels"),
        ({"measures": "P@2", "labels": LABELS}, "which documents are relevant"),
        ({"measures": "AP", "qrels": {"a": {"b": 1}}, "missing": "no"}, "error or zero or skip"),
        ({"measures": "AP", "qrels": {"a": {"b": 1}}, "empty_ideal": "no"}, "zero or skip"),
    ],
)
def test_arguments_that_do_not_go_together(arguments: dict[str, object], message: str) -> None:
    ranking = {image: ["a" if image != "a" else "b"] for image in "abcde"}
    with pytest.raises(InputError, match=message):
        evaluate_flat(None, ranking, **arguments)


def test_the_map_of_hashing_papers_is_its_formula_literally() -> None:
    generator = np.random.default_rng(1)
    for _ in range(50):
        rel = generator.integers(0, 2, 12).tolist()
        p = int(generator.integers(1, 13))
        prec = [sum(rel[:m]) / m for m in range(1, p + 1)]
        found = sum(rel[:p])
        literal = sum(prec[m] * rel[m] for m in range(p)) / found if found else 0.0
        assert hashing_average_precision(JudgedRanking.of(rel, [*rel, 1, 1]), p) == pytest.approx(literal)


@pytest.mark.parametrize("grades", [[math.inf], ["x"]])
def test_grades_that_are_none(grades: list[float]) -> None:
    with pytest.raises((InputError, ValueError)):
        JudgedRanking.of(grades, [1])


# Beside measures of concepts


def test_measures_of_concepts_and_labels_in_one_evaluation() -> None:
    graph = example_graph()
    images = {"a": "C0042449;C0018670", "b": "C0005847;C0018670", "c": "C0003842"}
    ranking = {"a": ["c", "b"], "b": ["a", "c"], "c": ["b", "a"]}
    labels = {"kind": {"a": "x", "b": "x", "c": "y"}}
    names = ["nn-CUI@2", "P@1(kind)", "CUI@1", "nn-CUI@2(n=2, λ=0.2)", "nn-CUI@2(λ=0)", "AP"]
    result = evaluate(
        Dataset(images, labels=labels, qrels={"a": {"c": 1}, "b": {"z": 1}}), ranking, graph, measures=names
    )
    alone = [
        evaluate(images, ranking, graph, measures="nn-CUI@2").values[:, 0],
        np.array([0.0, 1.0, 0.0]),
        evaluate(images, ranking, None, measures="CUI@1").values[:, 0],
        evaluate(images, ranking, graph, measures="nn-CUI@2", nearness=Nearness(n=2, lam=0.2)).values[:, 0],
        evaluate(images, ranking, None, measures="CUI@2").values[:, 0],
        np.array([1.0, 0.0, math.nan]),
    ]
    assert np.array_equal(result.values, np.array(alone).T, equal_nan=True)
    assert list(result.best_gains) == ["nn-IoU", "IoU", "nn-IoU(n=2, λ=0.2)", "nn-IoU(λ=0.0)"]
    assert result.counts.nothing_relevant == {"kind": ("c",), "judgements": ()}
    assert result.counts.unjudged == {"kind": (), "judgements": ("c",)}
    assert "nn-CUI@2(n=2, λ=0.2)" in result.to_json()


# The command


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUIHOP_GRAPH", raising=False)
    Path("qrels").write_text("1 0 x 1\n1 0 w 0\n2 0 x 0\n")
    Path("run").write_text(RUN + "2 Q0 x 1 1 r\n")
    Path("labels.csv").write_text("image,kind\na,x\nb,x\nc,\n")
    Path("by_name.run").write_text("a Q0 b 1 1 r\nb Q0 c 1 1 r\nc Q0 a 1 1 r\n")
    Path("images.csv").write_text("ID,CUIs\na,C0040405\nb,C0040405\nc,C0000726\n")

    def program(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cuihop", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return (
            stop.value.code if isinstance(stop.value.code, int) else 0,
            captured.out,
            " ".join(captured.err.replace("│", " ").split()),
        )

    return program


def test_runs_and_judgements_need_no_graph(run: Run) -> None:
    code, out, err = run("evaluate", "--qrels", "qrels", "run", "-m", "AP", "-m", "P@1,3", "-o", "out.csv")
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    for part in (
        "AP 0.2500 2", "P@1 0.0000 2", "P@3 0.1667 2", "2 judged queries, 4 documents",
        "1 of the ranking's queries have no judgements and take no part",
        "1 query without any relevant document by judgements (scored 0)", "Values of each query: out.csv",
    ):  # fmt: skip
        assert part in words
    with Path("out.csv").open() as file:
        assert [row["AP"] for row in csv.DictReader(file)] == ["0.5", "0.0"]


def test_ties_and_json(run: Run) -> None:
    code, out, _ = run("evaluate", "--qrels", "qrels", "run", "-m", "RR", "--ties", "trec", "--json",
                       "--empty-ideal", "skip")  # fmt: skip
    answer = json.loads(out)
    assert (code, answer["means"]) == (0, {"RR": 0.5})
    assert answer["counts"]["nothing_relevant"] == {"judgements": ["2"]}


def test_labels_alone(run: Run) -> None:
    code, out, _ = run("evaluate", "--labels", "labels.csv", "by_name.run", "-m", "P@1(kind)")
    assert code == 0
    assert "P@1(kind) 0.5000 2 0 1 left out" in " ".join(out.split())
    assert "1 image without kind: relevant to none" in out


def test_concepts_with_labels_from_concepts_and_no_graph(run: Run) -> None:
    code, out, _ = run("evaluate", "--concepts", "images.csv", "--label-concepts", "images.csv", "by_name.run",
                       "-m", "P@1(modality)", "-m", "CUI@1")  # fmt: skip
    assert code == 0
    words = " ".join(out.split())
    assert "P@1(modality) 0.5000 2 0 1 left out" in words
    assert "CUI@1 0.3333 3" in words


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("run",), 2, "measures are needed"),
        (("run", "-m", "AP"), 2, "relevance has to come from one of them"),
        (("--baseline", "random", "--qrels", "qrels", "-m", "AP"), 2, "go with --concepts"),
        (("run", "--qrels", "qrels", "-m", "nn-CUI@5"), 3, "a concept-based measure without concepts"),
        (("run", "--qrels", "run", "-m", "AP"), 3, "run, line 1: wrong number of columns"),
        (("by_name.run", "--qrels", "qrels", "-m", "AP"), 3, "queries without a ranking; found 2: 1, 2"),
        (("by_name.run", "--concepts", "images.csv"), 2, "nn-IoU needs --graph"),
        (("run", "--labels", "l", "--label-concepts", "c", "-m", "AP"), 2, "give one of --labels"),
        (("by_name.run", "--labels", "labels.csv", "-m", "P@1(site)"), 3, "no such label"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(run: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run("evaluate", *arguments)
    assert done[0] == code
    assert message in done[2]


def test_the_measures_are_listed(run: Run) -> None:
    code, out, _ = run("measures", "list", "--json")
    listed = {row["measure"] for row in json.loads(out)["measures"]}
    assert code == 0
    assert {"nn-CUI@K", "AP[@K]", "bpref", "BM", "F1", "IRMA"} <= listed
    assert "nn-CUI@K" in run("measures", "list")[1]


# Judgements of images whose concepts are given


def test_what_a_query_is_worth_to_itself_is_left_out_with_the_query() -> None:
    images = {"a": "C0042449", "b": "C0005847", "c": "C0018670"}
    qrels = {"a": {"a": 1, "b": 1}, "b": {"a": 1}, "c": {"a": 0}}
    ranking = {"a": ["a", "b"], "b": ["a"], "c": ["a"]}
    found = evaluate(Dataset(images, qrels=qrels), ranking, None, measures=["AP", "R@1"])
    assert found.values.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    assert found.counts.judged_elsewhere == 0
    alone = evaluate(Dataset(qrels=qrels), ranking, measures=["AP", "R@1"])  # nothing says what a query is: it stays
    assert alone.values.tolist() == [[1.0, 0.5], [1.0, 1.0], [0.0, 0.0]]


@given(
    st.dictionaries(
        st.sampled_from("pqr"), st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 3), min_size=1), min_size=1
    ),
    st.randoms(use_true_random=False),
    st.sampled_from(["the judged ones, in order", "others among them", "some"]),
)
def test_documents_scored_in_the_order_of_their_judgements_are_judged_as_in_any_other(
    grades: dict[str, dict[str, int]], chance: random.Random, which: str
) -> None:
    def documents(query: str) -> list[str]:
        judged = list(grades[query])
        if which == "the judged ones, in order":
            return judged
        return chance.sample("abcdef", 6) if which == "others among them" else chance.sample(judged, len(judged) // 2)

    scores = {
        query: dict(zip(listed := documents(query), chance.sample(range(100), len(listed)), strict=True))
        for query in grades
    }
    reversed_grades = {query: dict(reversed(of.items())) for query, of in reversed(grades.items())}
    names = {"ndcg_cut_3": "nDCG@3", "P_2": "P@2", "map": "AP"}
    found, again = (
        dict(zip(qrels, evaluate(Dataset(qrels=qrels), ranking, measures=list(names.values())).values, strict=True))
        for qrels in (grades, reversed_grades)
        for ranking in [scored_ranking(scores, qrels=qrels)]
    )
    assert {query: row.tolist() for query, row in found.items()} == {q: row.tolist() for q, row in again.items()}
    expected = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.3", "P.2", "map"}).evaluate(scores)
    for query, of in expected.items():
        assert found[query].tolist() == pytest.approx([of[name] for name in names])


def test_grades_that_are_numbers_of_numpy_are_grades() -> None:
    qrels = {"q": {"a": np.int64(2), "b": np.int64(0)}}
    ranking = scored_ranking({"q": {"a": 1.0, "b": 2.0}})
    assert evaluate(Dataset(qrels=qrels), ranking, measures=["P@1", "R@2"]).values.tolist() == [[0.0, 1.0]]  # type: ignore[arg-type]


def test_a_document_judged_for_the_next_query_is_not_judged_for_this_one(tmp_path: Path) -> None:
    """The names of the run are those of the judgements, one after the other, and yet not query by query."""
    path = written(tmp_path / "run", "p Q0 a 1 9 r\np Q0 b 2 8 r\np Q0 c 3 7 r\nq Q0 d 1 9 r\n")
    qrels = {"p": {"a": 0, "b": 1}, "q": {"c": 1, "d": 0}}
    found = evaluate(Dataset(qrels=qrels), read_run(path, tuple(qrels)), measures=["P@3", "R@3"])
    assert found.values.tolist() == [[1 / 3, 1.0], [0.0, 0.0]]


def test_a_query_that_the_corpus_does_not_hold_is_judged_as_it_stands() -> None:
    qrels = {"q": {"q": 1, "x": 1}}
    found = evaluate(Dataset({"q": "C0042449"}, {"x": "C0042449"}, qrels=qrels), {"q": ["x"]}, None, measures="AP")
    assert found.values.tolist() == [[0.5]]
    assert found.counts.judged_elsewhere == 1


def test_judgements_of_other_images_are_counted_and_reported(run: Run) -> None:
    Path("mixed.qrels").write_text("a 0 b 1\na 0 elsewhere 1\nunknown 0 a 1\nunknown 0 b 0\n")
    code, out, _ = run(
        "evaluate", "--concepts", "images.csv", "--qrels", "mixed.qrels", "by_name.run", "--measure", "AP"
    )
    assert code == 0
    assert "3 judgements of images outside the corpus: relevant ones are never found" in " ".join(out.split())
    assert "AP 0.5000 1 0 2 left out" in " ".join(out.split())  # a: (1/1) / 2; nothing is said of b and c
