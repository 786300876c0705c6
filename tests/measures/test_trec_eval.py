"""NIST's trec_eval: its own test files with their published outputs, and the program itself on random runs."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from cuihop.collection.dataset import Dataset
from cuihop.collection.judgements import Judgements
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.measures import JudgedRanking, bpref, measures_named
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.reading import read_run
from shared_data import shared

CUT = {"P": "P", "recall": "R", "map_cut": "AP", "ndcg_cut": "nDCG"}
KS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
SHARED = {
    "map": "AP",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "recip_rank": "RR",
    "ndcg": "nDCG",
    **{f"{theirs}_{k}": f"{own}@{k}" for theirs, own in CUT.items() for k in KS},
}
"""trec_eval's name → ours."""


def published(name: str) -> dict[tuple[str, str], str]:
    """Measure and query → the value as printed."""
    lines = gzip.decompress(shared(f"trec_eval/{name}").read_bytes()).decode().splitlines()
    rows = [line.split() for line in lines]
    return {(measure, query): value for measure, query, value in rows if ours(measure)}


def counted(name: str) -> dict[str, int]:
    """Numbers of documents of all queries that were retrieved, are relevant, and both."""
    rows = [line.split() for line in gzip.decompress(shared(f"trec_eval/{name}").read_bytes()).decode().splitlines()]
    return {row[0]: int(row[2]) for row in rows if row[1] == "all" and row[0] in ("num_ret", "num_rel", "num_rel_ret")}


def ours(name: str) -> str | None:
    """Our name of a measure of trec_eval, with any cut-off; ``None`` where we do not have it."""
    if name in SHARED:
        return SHARED[name]
    family, _, k = name.rpartition("_")
    return f"{CUT[family]}@{k}" if family in CUT and k.isdecimal() else None


def without_junk(path: Path, into: Path) -> Path:
    """The same run with six columns in each line: what trec_eval ignores behind them is an error here."""
    rows = [line.split()[:6] for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    into.write_text("".join(" ".join(row) + "\n" for row in rows))
    return into


@pytest.mark.parametrize(
    ("output", "qrels", "run", "depth", "threshold", "missing"),
    [
        ("out.test.aq.gz", "qrels.test.gz", "results.test.gz", None, 1, "skip"),
        ("out.test.a.gz", "qrels.test.with-comments.gz", "results.test.gz", None, 1, "skip"),
        ("out.test.gz", "qrels.test.gz", "results.test.gz", None, 1, "skip"),
        ("out.test.aqc.gz", "qrels.test.gz", "results.trunc.gz", None, 1, "zero"),
        ("out.test.aqcM.gz", "qrels.test.gz", "results.trunc.gz", 100, 1, "zero"),
        ("out.test.aql.gz", "qrels.rel_level.gz", "results.test.gz", None, 2, "skip"),
        ("out.test.meas_params.gz", "qrels.test.gz", "results.test.gz", None, 1, "skip"),
    ],
)
def test_the_published_outputs(
    tmp_path: Path, output: str, qrels: str, run: str, depth: int | None, threshold: int, missing: str
) -> None:
    expected = published(output)
    judgements = Judgements.read(shared(f"trec_eval/{qrels}"))
    file = without_junk(shared(f"trec_eval/{run}"), tmp_path / "run")
    ranking = read_run(file, tuple(judgements), depth=depth, ties="trec")
    option = f"(rel={threshold})" if threshold > 1 else ""
    names = {name: own if "nDCG" in own else own + option for name, _ in expected if (own := ours(name))}
    result = evaluate(Dataset(qrels=judgements), ranking, measures=names.values(), missing=missing)  # type: ignore[arg-type]
    columns = {str(measure): place for place, measure in enumerate(result.measures)}
    assert len(expected) == len({query for _, query in expected}) * len(names)
    assert len(names) == {"out.test.gz": 13, "out.test.meas_params.gz": 8}.get(output, 41)
    for (name, query), value in expected.items():
        if query == "all":
            found = result.mean(names[name])
        else:
            found = result.values[result.queries.index(query), columns[names[name]]]
        assert f"{found:.4f}" == value, (name, query)
    if output != "out.test.meas_params.gz":  # which lists no counts
        source = "judgements" if threshold == 1 else f"judgements, rel={threshold}"
        counts = result.counts.relevance[source]
        evaluated = {"num_ret": counts.retrieved, "num_rel": counts.relevant, "num_rel_ret": counts.relevant_retrieved}
        assert evaluated == counted(output)


documents = st.sampled_from([f"d{i}" for i in range(12)])
grades = st.dictionaries(documents, st.sampled_from([-2, -1, 0, 0, 1, 2, 3, 4]), min_size=1)
# Scores that are equal in single precision are ties of trec_eval. An empty list, and none at all, are worth 0.
scores = st.none() | st.dictionaries(documents, st.sampled_from([0.0, -1.0, 0.5, 1.0, 1.0 + 1e-12, 1e30]))

BY_NAME = {
    "map": "AP", "Rprec": "Rprec", "bpref": "bpref", "recip_rank": "RR", "ndcg": "nDCG", "P_1": "P@1", "P_3": "P@3",
    "P_20": "P@20", "recall_2": "R@2", "recall_20": "R@20", "map_cut_2": "AP@2", "ndcg_cut_1": "nDCG@1",
    "ndcg_cut_3": "nDCG@3", "ndcg_cut_20": "nDCG@20",
}  # fmt: skip
ASKED = {"map", "Rprec", "bpref", "recip_rank", "ndcg", "P.1,3,20", "recall.2,20", "map_cut.2", "ndcg_cut.1,3,20"}


@pytest.mark.slow
@given(st.lists(st.tuples(grades, scores), min_size=1, max_size=4), st.integers(1, 3))
def test_trec_eval_itself_on_random_runs(
    queries: list[tuple[dict[str, int], dict[str, float] | None]], threshold: int
) -> None:
    qrels = {f"q{i}": judged for i, (judged, _) in enumerate(queries)}
    run = {f"q{i}": scored for i, (_, scored) in enumerate(queries) if scored is not None}
    names = {name: own if "nDCG" in own else f"{own}(rel={threshold})" for name, own in BY_NAME.items()}
    exponential = {"ndcg": "nDCG(gain=exp)", "ndcg_cut_3": "nDCG@3(gain=exp)"}
    hashing = f"mAP@3(rel={threshold})"
    ranking = scored_ranking(run, qrels=qrels, ties="trec")
    given_as_lists = evaluate(Dataset(qrels=qrels), dict(ranking), measures=[*names.values(), hashing], missing="zero")
    result = evaluate(
        Dataset(qrels=qrels), ranking, measures=[*names.values(), *exponential.values(), hashing], missing="zero"
    )
    assert np.array_equal(given_as_lists.values[:, :-1], result.values[:, : len(names)])
    # pytrec_eval crashes on grades below 0, which are no judgements, and leaves out queries without any other.
    judged = {query: {d: grade for d, grade in of.items() if grade >= 0} for query, of in qrels.items()}
    raised = {query: {d: 2**grade - 1 for d, grade in of.items()} for query, of in judged.items()}
    listed = {query: found for query, found in run.items() if found}
    for theirs, requested, own in ((judged, ASKED, names), (raised, {"ndcg", "ndcg_cut.3"}, exponential)):
        judged_queries = {query: of for query, of in theirs.items() if of}
        expected = pytrec_eval.RelevanceEvaluator(judged_queries, requested, relevance_level=threshold).evaluate(listed)
        for name, measure in own.items():
            column = result.values[:, [str(m) for m in result.measures].index(str(measures_named(measure)[0]))]
            values = [expected.get(query, {}).get(name, 0.0) for query in result.queries]
            assert column.tolist() == pytest.approx(values, abs=1e-12), name
    for row, query in enumerate(result.queries):
        hits = [qrels[query].get(document, 0) >= threshold for document in ranking[query][:3]]
        precisions = [sum(hits[:m]) / m for m, hit in enumerate(hits, start=1) if hit]
        relevant = any(grade >= threshold for grade in qrels[query].values())
        ap = math.fsum(precisions) / len(precisions) if precisions and relevant else 0.0
        assert result.values[row, -1] == pytest.approx(ap, abs=1e-12)


def test_a_document_of_a_negative_grade_was_not_judged() -> None:
    # trec_eval's RELVALUE_NONPOOL. By hand: R = 2, N = 1; nothing judged 0 stands before a, one thing before c.
    judged = {"q": {"outside": -1, "a": 1, "b": 0, "c": 1}}
    found = evaluate(Dataset(qrels=judged), {"q": ["outside", "a", "b", "c"]}, measures=["bpref", "nDCG@1"])
    assert found.means == {"bpref": 0.5, "nDCG@1": 0.0}
    assert bpref(JudgedRanking.of([-1, 1, 0, 1], pool=[-1, 1, 0, 1])) == 0.5
    assert evaluate(
        Dataset(qrels={"q": {"x": -1, "a": 1, "b": 0, "c": 1}}), {"q": ["b", "a"]}, measures="bpref"
    ).means == {"bpref": 0.0}


def test_labels_beside_judgements_are_about_all_images_that_have_labels() -> None:
    ranking = {"x": ["x", "y", "z"], "y": ["x", "y"]}
    labels = {"m": dict.fromkeys(["x", "y", "z", "w"], "a")}
    measures = ["AP(m)", "R@1(m)", "AP"]
    both = evaluate(Dataset(qrels={"x": {"x": 1}, "y": {"x": 1}}, labels=labels), ranking, measures=measures)
    # The query is left out where labels judge, and stays where the judgements name it; w was never retrieved.
    assert both.values.tolist() == pytest.approx(np.array([[2 / 3, 1 / 3, 1.0], [1 / 3, 1 / 3, 1.0]]))
    alone = evaluate(Dataset(labels=labels), {**ranking, "z": [], "w": []}, measures=measures[:2])
    assert both.values[:, :2].tolist() == alone.values[:2].tolist()
    with pytest.raises(InputError, match=r"without a row of labels.*1: v"):
        evaluate(Dataset(qrels={"x": {"x": 1}}, labels=labels), {"x": ["v"]}, measures="AP(m)")


@pytest.mark.parametrize("nothing", [None, math.nan, ""])
def test_a_missing_label_agrees_with_nothing(nothing: object) -> None:
    graded: dict[str, dict[str, object]]
    found = evaluate(Dataset(labels={"m": {"x": nothing, "y": nothing}}), {"x": ["y"], "y": ["x"]}, measures="AP(m)")
    assert (found.means, found.counts.unlabelled) == ({"AP(m)": None}, {"m": 2})
    graded = {"m": {"x": nothing, "y": nothing}, "o": {"x": "chest", "y": "chest"}}  # they agree in one of two
    assert evaluate(Dataset(labels=graded), {"x": ["y"], "y": ["x"]}, measures="nDCG(m + o)").means == {
        "nDCG(m+o)": 1.0
    }
