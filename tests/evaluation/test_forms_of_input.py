"""Forms of judgements, rankings and parameters that users of other tools write, and their summaries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cuihop
from cuihop.captions import Captions
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements
from cuihop.collection.labels import Labels
from cuihop.comparison.score_card import is_score_card
from cuihop.errors import ConceptNotFound, InputError, ManyUnknownConcepts
from cuihop.evaluation.evaluate import evaluate, evaluate_each, nn_cui_at_k
from cuihop.files.input_file import opened_input
from cuihop.measures.nearness import Nearness
from cuihop.rankings.reading import read_ranking, read_ranking_in_blocks
from cuihop.relevance.baselines import top_k
from example_graph import vessels

IMAGES = {"vein": "C0042449", "vessel": "C0005847", "head": "C0018670"}
LISTS = {"vein": ["vessel", "head"], "vessel": ["head", "vein"], "head": ["vein", "vessel"]}
ROWS = np.array([[1, 2], [2, 0], [0, 1]])
QRELS = {"q": {"a": 1, "c": 0, "d": 2}, "r": {"b": 1}}
RUN = {"r": {"b": 1.0, "a": 0.5}, "q": {"a": 0.5, "b": 0.9, "c": 0.1}}
JUDGED = {"AP": 0.625, "P@2": 0.5}


@cache
def means() -> Mapping[str, float | None]:
    return evaluate(IMAGES, LISTS, vessels(), measures="nn-CUI@2").means


def written(folder: Path, text: str, name: str = "made.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("measures", [["AP", "P@2"], "AP,P@2"])
def test_judgements_run_and_measures_in_the_order_of_other_tools(measures: Any) -> None:
    split = ["AP", "P@2"] if measures == "AP,P@2" else measures
    assert evaluate(QRELS, RUN, split).means == JUDGED
    assert evaluate(QRELS, RUN, measures=split).means == JUDGED
    assert evaluate(Judgements.of(QRELS), RUN, split).means == JUDGED
    assert evaluate(Dataset(qrels=QRELS), RUN, measures=split).means == JUDGED
    assert evaluate_each(QRELS, {"run": RUN}, measures=split)["run"].means == JUDGED
    assert evaluate(QRELS, RUN, "AP").means == {"AP": JUDGED["AP"]}


def test_tables_of_judgements_are_recognised() -> None:
    rows = [(query, document, grade) for query, of in QRELS.items() for document, grade in of.items()]
    scores = [(query, document, score) for query, of in RUN.items() for document, score in of.items()]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
    run = pd.DataFrame(scores, columns=["query_id", "doc_id", "score"])
    found = evaluate(qrels, run, ["AP", "P@2"])
    assert found.means == JUDGED
    assert found.inputs["qrels"].endswith("columns query_id, doc_id, relevance")


def test_measures_are_given_once() -> None:
    assert evaluate(IMAGES, LISTS, "CUI@1").means == {"CUI@1": 0.0}
    with pytest.raises(InputError, match="measures twice"):
        evaluate(QRELS, RUN, "AP", measures="P@2")
    with pytest.raises(InputError, match="not a measure of judged relevance"):
        evaluate(QRELS, RUN)


@pytest.mark.parametrize("rows", [ROWS, ROWS.astype(np.uint8), np.array([[1, 2, 0], [2, 0, -1], [0, 1, -1]])])
def test_row_numbers_are_a_ranking(rows: Any) -> None:
    assert evaluate(IMAGES, rows, vessels(), measures="nn-CUI@2").means == means()
    assert nn_cui_at_k(IMAGES, rows, vessels(), 2) == means()["nn-CUI@2"]
    assert cuihop.explain_query(IMAGES, "vein", vessels(), ranking=rows).ranked is not None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS.astype(float), "not row numbers; found dtype float64; expected whole numbers.*embedding_ranking"),
        (np.array([[0.1, 0.2, 0.9], [0.2, 0.5, 0.7], [0.0, 0.1, 0.4]]), "distances of a search.*give I"),
        (ROWS[:2], "not one row for each image"),
        (ROWS + 5, "not a row of the corpus"),
        (ROWS.tolist(), "not a ranking; found list"),
    ],
)
def test_arrays_that_are_no_row_numbers(rows: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        evaluate(IMAGES, rows, vessels())


def test_the_file_of_a_ranking_with_and_without_queries(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", ROWS)
    for path in (tmp_path / "A.npy", str(tmp_path / "A.npy")):
        assert evaluate(IMAGES, path, vessels(), measures="nn-CUI@2").means == means()
    assert dict(read_ranking(tmp_path / "A.npy", ImageConcepts.of(IMAGES))) == {q: tuple(d) for q, d in LISTS.items()}
    for read in (read_ranking, read_ranking_in_blocks):
        with pytest.raises(InputError, match=r"does not name images.*read_ranking\(path, images\)"):
            read(tmp_path / "A.npy")
    lines = [f"{query},{image},{rank}" for query, images in LISTS.items() for rank, image in enumerate(images, 1)]
    path = written(tmp_path, "\n".join(["query,document,rank", *reversed(lines)]))
    run = read_ranking(path)
    assert run.queries == ("head", "vessel", "vein")
    found = evaluate(IMAGES, run, vessels(), measures="nn-CUI@2")
    assert (found.means, found.inputs["ranking"]) == (means(), run.account)
    judged = written(
        tmp_path, "".join(f"{q} Q0 {d} 0 {s} x\n" for q, of in RUN.items() for d, s in of.items()), "r.run"
    )
    by_names = evaluate(QRELS, read_ranking(judged), ["AP", "P@2"])
    assert (by_names.means, by_names.parameters["ties"]) == (JUDGED, "name")
    assert evaluate(QRELS, judged, ["AP", "P@2"]).means == JUDGED


def test_values_of_the_nearness_are_keywords() -> None:
    given = {"n": 2, "lam": 0.2, "unknown": "isolated", "weight": "hops"}
    near = Nearness(2, 0.2, unknown="isolated", weight="hops")
    images = {**IMAGES, "strange": "C0000001;C0018670"}
    rows = np.array([[1, 2], [2, 0], [3, 1], [2, 0]])
    by_keyword: Any = evaluate(images, rows, vessels(), measures="nn-CUI@2", **given)  # type: ignore[arg-type]
    assert (
        by_keyword.values.tolist()
        == evaluate(images, rows, vessels(), measures="nn-CUI@2", nearness=near).values.tolist()
    )
    assert nn_cui_at_k(images, rows, vessels(), 2, **given) == by_keyword.mean("nn-CUI@2")  # type: ignore[arg-type]
    assert dict(top_k(images, vessels(), 2, **given)) == dict(top_k(images, vessels(), 2, nearness=near))  # type: ignore[arg-type]
    pair = cuihop.explain_pair("C0042449", "C0005847", vessels(), lam=0.2)
    assert pair.nn_iou == cuihop.nn_iou("C0042449", "C0005847", vessels(), lam=0.2)
    assert cuihop.explain_query(images, "vein", vessels(), n=0, unknown="isolated").nn_iou_above.gain == 0.0
    assert Nearness().having({"weight": "Lin"}).lam == 1.0  # as Nearness(weight="Lin")
    with pytest.raises(TypeError, match="lamda"):
        evaluate(images, rows, vessels(), lamda=0.2)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "header",
    [
        "qid,docno,score",
        "query_id,doc_id,score",
        "q_id,image,score",
        "Query,Image_ID,Score",
        "query,docid,score",
        "qid\tdoc\tscore",
    ],
)
def test_names_of_columns_in_a_ranking(tmp_path: Path, header: str) -> None:
    mark = "\t" if "\t" in header else ","
    path = written(
        tmp_path, f"{header}\n" + "".join(f"{mark.join(row)}\n" for row in (("a", "b", "2"), ("a", "c", "3")))
    )
    ranking = read_ranking(path, ["a", "b", "c"])
    assert ranking["a"] == ("c", "b")
    assert f"columns {header.replace(mark, ', ')}" in ranking.account


def test_json_lines_with_other_names_are_no_score_card(tmp_path: Path) -> None:
    path = written(tmp_path, '{"qid": "a", "docno": "b", "score": 2}\n', "made.jsonl")
    assert not is_score_card(opened_input(path))
    assert read_ranking(path, ["a", "b"])["a"] == ("b",)


@pytest.mark.parametrize("header", ["query,qid,document,score", "qid,q_id,document,score", "query,doc,docno,score"])
def test_two_columns_for_one_are_refused(tmp_path: Path, header: str) -> None:
    with pytest.raises(InputError, match="not the header of a ranking"):
        read_ranking(written(tmp_path, f"{header}\na,a,b,1\n"), ["a", "b"])


def test_names_of_columns_in_judgements(tmp_path: Path) -> None:
    rows = "q,0,a,1\nq,0,c,0\nq,0,d,DR\nr,0,b,1\n"
    judged = Judgements.read(written(tmp_path, f"query_id,iteration,doc_id,relevance\n{rows}"))
    assert dict(judged) == QRELS
    assert "CSV, columns query_id, iteration, doc_id, relevance, grades in words: DR = 2" in judged.account
    json_lines = '{"qid": "q", "docno": "a", "rel": 1}\n'
    assert dict(Judgements.read(written(tmp_path, json_lines, "judged.jsonl"))) == {"q": {"a": 1}}
    with pytest.raises(InputError, match=r"line 2, column grade: not a grade; found '1\.5'"):
        Judgements.read(written(tmp_path, "qid,docid,rel\nq,a,1.5\n"))
    with pytest.raises(InputError, match="wrong number of columns"):
        Judgements.read(written(tmp_path, "qid,docid\nq,a\n"))


def test_names_of_columns_in_concepts_labels_and_captions(tmp_path: Path) -> None:
    concepts = ImageConcepts.read(written(tmp_path, "split,docno,cuis\ntest,a,C0042449\n"))
    assert (dict(concepts), "columns docno and cuis" in concepts.account) == ({"a": frozenset({"C0042449"})}, True)
    labels = Labels.read(written(tmp_path, "modality,image_id\nCT,a\nCT,b\n"))
    assert (dict(labels.columns["modality"]), "images in image_id" in labels.account) == ({"a": "CT", "b": "CT"}, True)
    assert Labels.read(written(tmp_path, "case,modality\na,CT\n")).images == ("a",)
    captions = Captions.read(written(tmp_path, "split,doc_id,caption\ntest,a,A vein.\n"))
    assert dict(captions) == {"a": "A vein."}


@pytest.mark.parametrize(
    "text",
    [
        "query,1,2\nvein,vessel,head\nvessel,head,vein\nhead,vein,vessel\n",
        "vein,vessel,head\nvessel,head,vein\nhead,vein,vessel\n",
        "image,results\nvein,vessel head\nvessel,head vein\nhead,vein vessel\n",
        'query,ids\nvein,"vessel;head"\nvessel,head;vein\nhead,vein;vessel\n',
    ],
)
def test_a_row_for_each_query(tmp_path: Path, text: str) -> None:
    ranking = read_ranking(written(tmp_path, text), IMAGES)
    assert dict(ranking) == {query: tuple(images) for query, images in LISTS.items()}
    assert "a row for each query" in ranking.account


def test_a_row_for_each_judged_query_has_a_header(tmp_path: Path) -> None:
    path = written(tmp_path, "query,1,2,3\nr,b,a,\nq,b,a,c\n")
    assert evaluate(QRELS, path, ["AP", "P@2"]).means == JUDGED


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("query,1,2\nvein,vessel,head\nvein,head,vessel\n", "line 3, column query: a query stands twice"),
        ("query,1,2\nvein,vessel,head\nvessel,neck,vein\n", "line 3, column document: not an image of the corpus"),
        ("query,1,2\nvein,vessel,head\nvessel,vein,vein\n", "a document stands twice"),
        ("query,1,2\nlung,vessel,head\n", "not the header of a ranking.*query,document,document,…"),
        ("query,document\nvein,vessel\n", "not the header of a ranking"),
    ],
)
def test_rows_of_queries_that_are_none(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_ranking(written(tmp_path, text), IMAGES)


def test_evaluations_are_compared_and_become_latex() -> None:
    a, b = (evaluate(IMAGES, ranking, vessels(), measures="nn-CUI@1") for ranking in (LISTS, ROWS[:, ::-1]))
    comparison = cuihop.compare({"a": a, "b": b}, resamples=100)
    cards = [cuihop.ScoreCard.of(a, "a"), cuihop.ScoreCard.of(b, "b")]
    assert comparison.summary() == cuihop.compare(cards, resamples=100).summary()
    assert a.to_latex() == a.table().latex()
    assert comparison.to_latex() == f"{comparison.means().latex()}\n{comparison.table().latex()}"
    with pytest.raises(InputError, match="two or more, of different names"):
        cuihop.compare([a, a])


def test_unknown_concepts_are_warned_of_once_and_their_share_is_in_the_error() -> None:
    images = ImageConcepts.of({**IMAGES, "strange": "C0000001"})
    rows = np.array([[1, 2], [2, 0], [3, 1], [2, 0]])
    with pytest.raises(
        ConceptNotFound, match=r"C0000001; 25\.0% of the concepts \(1 of 4 .*--unknown isolated.*out\.$"
    ):
        evaluate(images, rows, vessels())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate(images, rows, vessels(), unknown="isolated")
        evaluate(images, rows, vessels(), unknown="drop")
    assert len(caught) == 1
    assert isinstance(caught[0].message, ManyUnknownConcepts)
    assert str(caught[0].message).startswith("25.0% of the concepts (1 of 4 occurrences) are unknown in release")
    other = cuihop.SnapshotGraph.of([("C0042449", "C0005847")], concepts=["C0018670", "C0018671"])
    with pytest.warns(ManyUnknownConcepts):  # another graph
        evaluate(images, rows, other, unknown="isolated")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(images, rows, other, unknown="isolated")
