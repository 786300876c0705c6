"""Rankings and judgements go to the tools and come back as they were; the tools then measure what cuihop does."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any, get_args

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import HealthCheck, assume, given, settings

from adapters.rankings_made import image_rankings, judged_runs, judgements, names_for_ranx
from cuihop import Ranking
from cuihop.adapters import ir_measures as to_ir_measures
from cuihop.adapters import pandas as frames
from cuihop.adapters import pytrec_eval as dictionaries
from cuihop.adapters import ranx as to_ranx
from cuihop.collection.dataset import Dataset
from cuihop.collection.judgements import Judgements
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.rankings.in_memory import scored_ranking
from cuihop.rankings.ranking import Ties
from cuihop.rankings.reading import read_ranking, read_run
from examples import examples

Judged = Mapping[str, Mapping[str, int]]
Run = dict[str, dict[str, float]]
OF_TREC_EVAL = {
    "P@5": "P_5", "R@5": "recall_5", "AP": "map", "AP@5": "map_cut_5", "Rprec": "Rprec", "bpref": "bpref",
    "RR": "recip_rank", "nDCG": "ndcg", "nDCG@5": "ndcg_cut_5",
}  # fmt: skip


def alike(one: Ranking, other: Ranking) -> bool:
    return dict(one) == dict(other) and one.corpus == other.corpus and one.listed.tolist() == other.listed.tolist()


# A query that retrieved nothing has no row of its own where there is one row for each document.
TABLES: dict[str, tuple[Any, Any]] = {
    "ir_measures": (to_ir_measures.to_run, to_ir_measures.from_run),
    "pandas": (frames.to_run, frames.from_run),
}


@given(image_rankings())
def test_dictionaries_keep_a_ranking(ranking: Ranking) -> None:
    back = dictionaries.from_run(dictionaries.to_run(ranking), ranking.queries, ranking.corpus)
    assert alike(back, ranking)


@pytest.mark.parametrize("tool", TABLES)
@given(image_rankings())
def test_tables_keep_a_ranking(tool: str, ranking: Ranking) -> None:
    there, back = TABLES[tool]
    found = back(there(ranking), ranking.queries, ranking.corpus)
    assert dict(found) == dict(ranking)
    assert found.listed.tolist() == [bool(ranking[query]) for query in ranking.queries]


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ranking=image_rankings(names_for_ranx))
def test_ranx_keeps_a_ranking(ranx: Any, ranking: Ranking) -> None:
    assume(len(ranking.rows))
    run = to_ranx.to_run(ranking, name="mine")
    assert isinstance(run, ranx.Run)
    assert run.name == "mine"
    assert {query: list(run[query]) for query in run.keys()} == {  # noqa: SIM118 - not a mapping
        query: list(found) for query, found in ranking.items() if query not in ranking.missing
    }
    assert alike(to_ranx.from_run(run, ranking.queries, ranking.corpus), ranking)


@pytest.mark.usefixtures("ranx")
@settings(max_examples=examples(30))
@given(judgements)
def test_judgements_keep_their_grades(qrels: dict[str, dict[str, int]]) -> None:
    for back in (
        dictionaries.from_qrel(dictionaries.to_qrel(qrels)),
        to_ranx.from_qrels(to_ranx.to_qrels(qrels)),
        to_ir_measures.from_qrels(to_ir_measures.to_qrels(qrels)),
        to_ir_measures.from_qrels(frames.to_qrels(qrels).set_axis(["query_id", "doc_id", "relevance"], axis=1)),
        frames.from_qrels(frames.to_qrels(qrels)),
        frames.from_qrels(to_ranx.to_qrels(qrels).to_dataframe()),
    ):
        assert {query: dict(of) for query, of in back.items()} == qrels
        assert back.digest == Judgements.of(qrels).digest


@given(judged_runs())
def test_ties_are_what_trec_eval_makes_of_them(case: tuple[Judged, Run]) -> None:
    qrels, run = case
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(OF_TREC_EVAL.values())).evaluate(run)
    ours = evaluate(Dataset(qrels=qrels), dictionaries.from_run(run, qrels=qrels), measures=OF_TREC_EVAL)
    results = dictionaries.to_results(ours)
    assert list(results) == list(theirs)
    for query, values in theirs.items():
        assert results[query] == pytest.approx({name: values[name] for name in OF_TREC_EVAL.values()}, abs=1e-12)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="ir_measures 0.4.3 parses names by ast.Num, which is gone")
@given(judged_runs())
def test_a_ranking_handed_over_is_worth_the_same_there(case: tuple[Judged, Run]) -> None:
    qrels, run = case
    ranking = scored_ranking(run, qrels=qrels)
    ours = evaluate(Dataset(qrels=qrels), ranking, measures=OF_TREC_EVAL)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(OF_TREC_EVAL.values()))
    theirs = evaluator.evaluate(dictionaries.to_run(ranking))
    for query, values in dictionaries.to_results(ours).items():
        assert values == pytest.approx({name: theirs[query][name] for name in values}, abs=1e-12)
    names = {name: ir_measures.parse_measure(name.replace("bpref", "Bpref")) for name in OF_TREC_EVAL}
    aggregated = ir_measures.calc_aggregate(
        names.values(), to_ir_measures.to_qrels(qrels), to_ir_measures.to_run(ranking)
    )
    assert {name: aggregated[measure] for name, measure in names.items()} == pytest.approx(ours.means, abs=1e-12)


def test_a_ranking_handed_over_is_worth_the_same_in_ranx(ranx: Any) -> None:
    generator = np.random.default_rng(5)
    corpus = [f"d{i}" for i in range(30)]
    qrels = {f"q{q}": {d: int(g) for d, g in zip(corpus, generator.integers(0, 3, 30), strict=True) if g}
             for q in range(12)}  # fmt: skip
    run = {query: {d: float(generator.integers(0, 5)) for d in generator.choice(corpus, 12)} for query in qrels}
    names = {"precision@5": "P@5", "recall@5": "R@5", "map": "AP", "mrr": "RR", "ndcg@5": "nDCG@5", "ndcg": "nDCG"}
    for ties in get_args(Ties):
        ranking = scored_ranking(run, qrels=qrels, ties=ties)
        ours = evaluate(Dataset(qrels=qrels), ranking, measures=names.values()).means
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = ranx.evaluate(to_ranx.to_qrels(qrels), to_ranx.to_run(ranking), list(names))
        assert {names[name]: value for name, value in theirs.items()} == pytest.approx(ours, abs=1e-12)


def test_scores_of_ranx_come_back_in_double_precision(ranx: Any) -> None:
    run = ranx.Run({"q": {"a": 1.0, "b": 1.0 + 2**-40, "c": 1.0}})
    assert to_ranx.from_run(run)["q"] == ("b", "a", "c")
    assert to_ranx.from_run(run, ties="trec")["q"] == ("c", "b", "a")


@settings(max_examples=examples(30))
@given(judged_runs())
def test_scores_in_memory_are_ordered_as_scores_in_a_file(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Judged, Run]
) -> None:
    _, run = case
    path = tmp_path_factory.mktemp("run") / "scores.run"
    path.write_text("".join(f"{q} Q0 {d} 0 {s!r} x\n" for q, of in run.items() for d, s in of.items()))
    for ties in get_args(Ties):
        there, here = read_run(path, tuple(run), ties=ties), scored_ranking(run, ties=ties)
        assert (dict(here), here.ties) == (dict(there), there.ties)
    everything = [*run, *(f"d{i:02}" for i in range(12))]
    images = scored_ranking(run, everything, depth=3)
    assert dict(images) == dict(read_ranking(path, everything, depth=3))


def test_a_query_is_left_out_of_its_own_list_of_images_and_stays_among_documents() -> None:
    scores = {"a": {"a": 3.0, "b": 2.0}, "b": {}}
    images = scored_ranking(scores, ["a", "b", "c"])
    assert (images["a"], images.self_retrieved.tolist(), images.missing) == (("b",), [True, False, False], ("c",))
    assert scored_ranking(scores)["a"] == ("a", "b")


def test_queries_without_judgements_are_reported() -> None:
    ranking = dictionaries.from_run({"x": {"d": 1.0}, "q": {"d": 1.0}}, qrels={"q": {"d": 1}, "r": {"d": 1}})
    assert (ranking.queries, ranking.other_queries, ranking.missing) == (("q", "r"), ("x",), ("r",))
    assert (
        evaluate(Dataset(qrels={"q": {"d": 1}, "r": {"d": 1}}), ranking, measures="P@1", missing="zero").mean("P@1")
        == 0.5
    )


def test_results_leave_out_what_was_skipped_and_keep_names_trec_eval_does_not_have() -> None:
    result = evaluate(
        Dataset(qrels={"q": {"a": 1}, "r": {"b": 2}}),
        {"q": ["a"], "r": ["b"]},
        measures=["AP", "P@5(rel=2)"],
        empty_ideal="skip",
    )
    assert dictionaries.to_results(result) == {"q": {"map": 1.0}, "r": {"map": 1.0, "P@5(rel=2)": 0.2}}


@pytest.mark.parametrize("columns", [["query_id", "doc_id"], ["q_id", "doc_id"], ["qid", "docno"], ["query", "image"]])
def test_frames_are_known_by_the_columns_of_each_tool(columns: list[str]) -> None:
    frame = pd.DataFrame([["q", "a", 0.5, 9], ["q", "b", 0.7, 8]], columns=[*columns, "score", "rank"])
    assert frames.from_run(frame)["q"] == ("b", "a")
    assert frames.from_run(frame.drop(columns="score"))["q"] == ("b", "a")
    assert frames.from_run(frame.drop(columns="score").assign(rank=[1, 2]))["q"] == ("a", "b")


def test_a_frame_of_concepts_is_taken_back() -> None:
    from cuihop import ImageConcepts

    images = {"a": "C2;C1", "b": ""}
    assert dict(ImageConcepts.of(frames.to_concepts(images))) == dict(ImageConcepts.of(images))


WRONG: list[tuple[Any, str]] = [
    ({"q": {"a": float("nan")}}, "not a score.*found 'nan'"),
    ({"q": {"b": 1, "a": "0.5"}}, "document 'a' of query 'q'.*'0.5'"),
    ({"q": {"a": None}}, "found 'None'"),
    ({"q": ["a", "b"]}, "query → document → score"),
    ([("q", "a", 1.0)], "query → document → score"),
    ({7: {"a": 1.0}}, "not a name; found 7"),
    ({"q": {7: 1.0}}, "not a name; found 7"),
]


@pytest.mark.parametrize(("scores", "message"), WRONG)
def test_scores_that_are_none(scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        scored_ranking(scores)


def test_what_does_not_go_over_is_refused() -> None:
    images = ["a", "b"]
    with pytest.raises(InputError, match="for no query; found 'x'"):
        scored_ranking({"x": {"a": 1.0}}, images)
    with pytest.raises(InputError, match="query 'a': not an image of the corpus; found 'c'"):
        scored_ranking({"a": {"c": 1.0}}, images)
    with pytest.raises(InputError, match="a corpus goes with queries"):
        scored_ranking({}, corpus=images)
    with pytest.raises(InputError, match="both"):
        scored_ranking({}, images, qrels={"a": {}})
    with pytest.raises(InputError, match="name or trec"):
        scored_ranking({}, images, ties="random")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="without a document"):
        to_ranx.to_run(Ranking.of({"a": []}, images))
    with pytest.raises(InputError, match=r"ranx cannot hold this name.*'Ā'"):
        to_ranx.to_run(Ranking.of({"a": ["Ā"]}, ["a"], ["Ā"]))
    with pytest.raises(InputError, match=r"ranx cannot hold this name.*'Ā'"):
        to_ranx.to_qrels({"q": {"Ā": 1}})
    with pytest.raises(InputError, match=r"expected a ranx\.Run"):
        to_ranx.from_run(7)
    twice = [ir_measures.ScoredDoc("q", "a", 1.0), ir_measures.ScoredDoc("q", "a", 2.0)]
    with pytest.raises(InputError, match="stands twice"):
        to_ir_measures.from_run(twice)
    with pytest.raises(InputError, match="not of ir_measures"):
        to_ir_measures.from_run([1, 2])
    with pytest.raises(InputError, match="a column of the DataFrame is missing; found query, score"):
        frames.from_run(pd.DataFrame({"query": ["q"], "score": [1.0]}))
    with pytest.raises(InputError, match="found 7; expected text"):
        frames.from_run(pd.DataFrame({"query": [7], "document": ["a"], "score": [1.0]}))
    with pytest.raises(InputError, match="stands twice"):
        frames.from_run(pd.DataFrame({"query": ["q", "q"], "document": ["a", "a"], "score": [1.0, 2.0]}))
    with pytest.raises(InputError, match=r"not a rank.*nan"):
        frames.from_run(pd.DataFrame({"query": ["q"], "document": ["a"], "rank": [float("nan")]}))
    with pytest.raises(InputError, match="whole number"):
        frames.from_qrels(pd.DataFrame({"query": ["q"], "document": ["a"], "grade": [0.5]}))


def test_scores_in_place_of_a_list_order_the_documents() -> None:
    # The order in which a dictionary was filled is not that of its scores.
    assert evaluate(Dataset(qrels={"q": {"b": 1}}), {"q": {"a": 0.1, "b": 0.9}}, measures="AP").means == {"AP": 1.0}
