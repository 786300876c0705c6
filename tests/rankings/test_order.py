"""Order by the rank column: as trec_eval orders a run whose scores were rewritten from its ranks."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.collection.judgements import Judgements
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.rankings.ranking import Order
from cuihop.rankings.reading import read_ranking, read_run
from cuihop.study.checkpoint import StudyCheckpoint
from cuihop.study.cross_evaluation import rankings
from cuihop.study.inputs import StudyInputs
from example_graph import example_graph
from examples import examples

DIFFERENT = "1 query has another order by the"
DISORDER = "q Q0 a 3 9 x\nq Q0 b 1 8 x\nq Q0 c 2 7 x\nr Q0 a 1 2 x\nr Q0 b 2 1 x\n"


def written(folder: Path, text: str, name: str = "made.run") -> Path:
    (folder / name).write_text(text)
    return folder / name


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 10**6))
def test_ap_by_rank_is_trec_evals_of_a_run_rewritten_by_rank(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    draw, folder = random.Random(seed), tmp_path_factory.mktemp("order")
    documents = [f"d{n}" for n in range(20)]
    qrels = {q: {d: draw.choice([-1, 0, 0, 1, 2]) for d in draw.sample(documents, 15)} for q in ("q1", "q2", "q3")}
    lines, rewritten = [], {}
    for query in qrels:
        retrieved = draw.sample(documents, draw.randint(1, 20))
        ranks = sorted(draw.sample(range(1000), len(retrieved)))
        rewritten[query] = {d: float(-rank) for d, rank in zip(retrieved, ranks, strict=True)}
        lines += [
            f"{query} Q0 {d} {rank} {draw.choice([0.5, 1.0])} x" for d, rank in zip(retrieved, ranks, strict=True)
        ]
    draw.shuffle(lines)
    run = read_run(written(folder, "\n".join(lines)), tuple(qrels), order="rank")
    found = evaluate(Dataset(qrels=Judgements.of(qrels)), run, measures=["AP", "bpref", "P@5"])
    expected = pytrec_eval.RelevanceEvaluator(qrels, {"map", "bpref", "P_5"}).evaluate(rewritten)
    for query, values in zip(found.queries, found.values.tolist(), strict=True):
        assert values == [expected[query][name] for name in ("map", "bpref", "P_5")]


def test_scores_that_rise_with_the_rank(tmp_path: Path) -> None:
    # As the run 3fire-7ohsu of ImageCLEFmed 2007, whose MAP rose from 0.0303 to 0.2355.
    lines = [f"q Q0 d{rank:03} {rank} {rank / 100} x" for rank in range(1, 101)]
    judged = Judgements.of({"q": {"d001": 1, "d003": 1, "d007": 1}})
    file = written(tmp_path, "\n".join(lines))
    by_score = evaluate(Dataset(qrels=judged), read_run(file, ("q",)), measures="AP")
    by_rank = evaluate(Dataset(qrels=judged), read_run(file, ("q",), order="rank"), measures="AP")
    assert by_score.means["AP"] == pytest.approx((1 / 94 + 2 / 98 + 3 / 100) / 3)
    assert by_rank.means["AP"] == pytest.approx((1 + 2 / 3 + 3 / 7) / 3)


def test_the_account_has_the_order_and_the_queries_that_the_other_column_orders_otherwise(tmp_path: Path) -> None:
    file = written(tmp_path, DISORDER)
    by_score, by_rank = read_run(file, ("q", "r")), read_run(file, ("q", "r"), order="rank")
    assert (by_score["q"], by_rank["q"]) == (("a", "b", "c"), ("b", "c", "a"))
    assert (by_score["r"], by_rank["r"]) == (("a", "b"), ("a", "b"))
    lists = "2 queries, 2 to 3 retrieved each"
    assert by_score.account == f"{file}: TREC run by score, {lists}; {DIFFERENT} rank column; --order rank uses it"
    assert by_rank.account == f"{file}: TREC run by rank, {lists}; {DIFFERENT} scores; --order score uses it"
    assert (by_score.ties, by_rank.ties) == ("name", None)
    assert "order by" not in read_run(file, ("r",)).account  # of the queries in question only


def test_equal_scores_in_another_order_than_their_ranks_are_counted(tmp_path: Path) -> None:
    file = written(tmp_path, "q Q0 b 1 1 x\nq Q0 a 2 1 x\n")
    assert read_run(file, None)["q"] == ("a", "b")
    tied = "; 1 query has equal scores that the rank column breaks differently; --order rank uses it"
    assert read_run(file, None).account.endswith(tied)
    assert "--order" not in read_run(file, None, ties="trec").account
    same = written(tmp_path, "q Q0 b 0 1 x\nq Q0 a 0 2 x\n")  # a column that was never filled
    assert "--order" not in read_run(same, None).account


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q Q0 a 1 9 x\nq Q0 b 1 8 x\n", "line 2, column rank: a rank stands twice.*as in line 1.*--order score"),
        ("q Q0 a 1 9 x\nq Q0 b one 8 x\n", "line 2, column rank: not a rank; found 'one'"),
        ("q Q0 a 1 9 x\nq Q0 b -1 8 x\n", "line 2, column rank: not a rank"),
        (f"q Q0 a {'9' * 16} 9 x\n", "not a rank.*15 digits"),
        ("query,document,score\nq,a,1\n", "line 1: no column of ranks.*--order score"),
        ("query,document,score,rank\nq,a,1,\n", "line 2, column rank: not a rank"),
        ("query,document,rank\nq,a,1\nq,b,1\n", "line 3, column rank: a rank stands twice"),
    ],
)
def test_ranks_that_are_none(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_run(written(tmp_path, text), None, order="rank")


def test_tables_with_scores_and_ranks(tmp_path: Path) -> None:
    csv = "query,document,rank,score\nq,a,2,0.9\nq,b,1,0.8\n"
    lines = '{"query": "q", "document": "a", "rank": 2, "score": 0.9}\n' + csv_line("b", 1, 0.8)
    raw = io.BytesIO()
    table = pa.table({"query": ["q", "q"], "document": ["a", "b"], "rank": [2, 1], "score": [0.9, 0.8]})
    pyarrow.parquet.write_table(table, raw)
    (tmp_path / "run.parquet").write_bytes(raw.getvalue())
    for file in (written(tmp_path, csv, "a.csv"), written(tmp_path, lines, "a.jsonl"), tmp_path / "run.parquet"):
        assert read_run(file, None)["q"] == ("a", "b")
        assert read_run(file, None, order="rank")["q"] == ("b", "a")
        assert (
            "by rank, 1 query, 2 retrieved each; 1 query has another order by the scores"
            in read_run(file, None, order="rank").account
        )


def csv_line(document: str, rank: int, score: float) -> str:
    return f'{{"query": "q", "document": "{document}", "rank": {rank}, "score": {score}}}\n'


def test_an_array_has_no_ranks(tmp_path: Path) -> None:
    import numpy as np

    np.save(tmp_path / "rows.npy", np.array([[1], [0]]))
    with pytest.raises(InputError, match="an order goes with scores and ranks"):
        read_ranking(tmp_path / "rows.npy", ("a", "b"), order="rank")


def test_a_study_reads_its_rankings_in_the_order_given(tmp_path: Path) -> None:
    images = ImageConcepts.of(dict.fromkeys(("a", "b", "c"), "C0042449"))
    file = written(tmp_path, "a Q0 b 2 9 x\na Q0 c 1 8 x\n")
    cases: tuple[tuple[Order, str], ...] = (("score", "b"), ("rank", "c"))
    for order, first in cases:
        inputs = StudyInputs(images, example_graph(), embeddings={"mine": file}, order=order)
        name, ranking = next(rankings(inputs, lambda _: lambda done, total: None, StudyCheckpoint(None, inputs)))
        assert (name, ranking["a"][0]) == ("mine", first)


def test_a_run_of_all_its_queries_with_scores(tmp_path: Path) -> None:
    run = read_run(written(tmp_path, DISORDER), None, depth=2, order="rank")
    assert run.queries == ("q", "r")
    assert run.other_queries == ()
    assert run.scores is not None
    assert run.scores.tolist() == [8, 7, 2, 1]
    assert read_run(written(tmp_path, "query,document,rank\nq,a,1\n"), None).scores is None
