"""scikit-learn, ranx, ir_measures and SciPy where their definitions meet ours; and where they do not, that they do not.

docs/measures/judged.md has the table of differences.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop import SnapshotGraph
from cuihop.collection.dataset import Dataset
from cuihop.errors import InputError
from cuihop.evaluation.evaluate import evaluate
from cuihop.measures import JudgedRanking, average_precision, bipartite_matching, graded_ndcg
from cuihop.measures.bipartite_matching import best_matching

documents = [f"d{i:02}" for i in range(12)]
judgements = st.dictionaries(st.sampled_from(documents), st.integers(0, 3), min_size=1)
orders = st.lists(st.sampled_from(documents), unique=True, min_size=1)
collections = st.lists(st.tuples(judgements, orders), min_size=1, max_size=4)


def runs(queries: Sequence[tuple[dict[str, int], list[str]]]) -> tuple[
    dict[str, dict[str, int]], dict[str, list[str]], dict[str, dict[str, float]]
]:  # fmt: skip
    """Judgements, rankings, and the same rankings as scores without ties."""
    qrels = {f"q{i}": judged for i, (judged, _) in enumerate(queries)}
    ranking = {f"q{i}": order for i, (_, order) in enumerate(queries)}
    scores = {query: {d: float(len(order) - i) for i, d in enumerate(order)} for query, order in ranking.items()}
    return qrels, ranking, scores


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="ir_measures 0.4.3 parses names by ast.Num, which is gone")
@given(collections)
def test_ir_measures(queries: list[tuple[dict[str, int], list[str]]]) -> None:
    qrels, ranking, scores = runs(queries)
    names = ["P@3", "R@3", "AP", "AP@3", "Rprec", "Bpref", "RR", "nDCG", "nDCG@3", "P(rel=2)@5"]
    ours = ["P@3", "R@3", "AP", "AP@3", "Rprec", "bpref", "RR", "nDCG", "nDCG@3", "P@5(rel=2)"]
    measures = [ir_measures.parse_measure(name) for name in names]
    result = evaluate(Dataset(qrels=qrels), ranking, measures=ours)
    found = {(str(v.measure), v.query_id): v.value for v in ir_measures.iter_calc(measures, qrels, scores)}
    for own, measure in zip(result.measures, measures, strict=True):
        column = result.values[:, result.measures.index(own)].tolist()
        assert column == pytest.approx([found[str(measure), query] for query in result.queries], abs=1e-12), own


def test_ranx(ranx: Any) -> None:
    generator = np.random.default_rng(7)
    queries = []
    for _ in range(40):
        judged = {str(d): int(g) for d, g in zip(documents, generator.integers(0, 4, len(documents)), strict=True)}
        judged[documents[0]] = 2  # ranx has no value where nothing is relevant
        queries.append((judged, generator.permutation(documents)[:8].tolist()))
    qrels, ranking, scores = runs(queries)
    names = {
        "precision@3": "P@3", "recall@3": "R@3", "map": "AP", "map@3": "AP@3", "r-precision": "Rprec", "mrr": "RR",
        "ndcg@3": "nDCG@3", "ndcg": "nDCG", "ndcg_burges@3": "nDCG@3(gain=exp)", "bpref": "bpref",
    }  # fmt: skip
    relevant = {query: {d: g for d, g in judged.items() if g > 0} for query, judged in qrels.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranx.evaluate(ranx.Qrels(qrels), run := ranx.Run(scores), list(names), return_mean=False)
    result = evaluate(Dataset(qrels=relevant), ranking, measures=names.values())
    full = evaluate(Dataset(qrels=qrels), ranking, measures=names.values())
    for theirs, own in names.items():
        values = (full if own == "bpref" else result).values[:, list(names.values()).index(own)]
        by_query = dict(zip(result.queries, values.tolist(), strict=True))
        if own == "bpref":  # ranx does not tell a document judged 0 from one without a judgement
            assert run.scores[theirs] != pytest.approx(by_query)
        else:
            assert run.scores[theirs] == pytest.approx(by_query, abs=1e-12), theirs


def test_ranx_cuts_real_gains_to_whole_numbers(ranx: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        qrels, run = (
            ranx.Qrels({"q": {"a": 0.9, "b": 1.0}}),
            ranx.Run({"q": {"a": 2.0, "b": 1.0}}),
        )
        assert ranx.evaluate(qrels, run, "ndcg") == pytest.approx(1 / math.log2(3))
    assert graded_ndcg(JudgedRanking.of([0.9, 1.0], [0.9, 1.0])) > 0.97
    with pytest.raises(InputError, match="whole number"):
        evaluate(Dataset(qrels={"q": {"a": 0.5}}), {"q": ["a"]}, measures="nDCG")  # type: ignore[dict-item]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.integers(1, 14))
def test_scikit_learn(grades: list[int], k: int) -> None:
    # Every document retrieved and judged, no ties: there all three have one definition.
    from sklearn.metrics import average_precision_score, ndcg_score

    order = [list(range(len(grades), 0, -1))]
    ranking = JudgedRanking.of(grades, grades)
    assert graded_ndcg(ranking, k) == pytest.approx(ndcg_score([grades], order, k=k), abs=1e-12)
    exponential = [2**grade - 1 for grade in grades]
    assert graded_ndcg(ranking, k, gain="exp") == pytest.approx(ndcg_score([exponential], order, k=k), abs=1e-12)
    if any(grades):
        relevant = [int(grade > 0) for grade in grades]
        assert average_precision(ranking) == pytest.approx(average_precision_score(relevant, order[0]), abs=1e-12)


def test_where_scikit_learn_differs() -> None:
    # It averages over the orders of ties; here, as in trec_eval, ties have an order.
    from sklearn.metrics import ndcg_score

    assert ndcg_score([[1, 0]], [[0.5, 0.5]]) == pytest.approx((1 + 1 / math.log2(3)) / 2)
    assert graded_ndcg(JudgedRanking.of([1, 0], [1, 0])) == 1.0
    # Its ideal is that of what was retrieved; here, that of all that was judged.
    assert ndcg_score([[1, 0]], [[2, 1]]) == 1.0
    assert graded_ndcg(JudgedRanking.of([1, 0], [1, 0, 3])) < 0.5


matrices = st.integers(1, 6).flatmap(
    lambda columns: st.lists(st.lists(st.floats(0, 1), min_size=columns, max_size=columns), min_size=1, max_size=6)
)


@given(matrices)
def test_the_best_matching_weighs_as_much_as_scipys(weights: list[list[float]]) -> None:
    from scipy.optimize import linear_sum_assignment

    table = np.array(weights)
    found = best_matching(weights)
    rows, columns = zip(*found, strict=True)
    assert len(set(rows)) == len(set(columns)) == len(found) == min(table.shape)
    best = linear_sum_assignment(table, maximize=True)
    assert sum(weights[row][column] for row, column in found) == pytest.approx(table[best].sum(), abs=1e-12)


def test_bipartite_matching_by_scipy_on_random_graphs() -> None:
    from scipy.optimize import linear_sum_assignment

    generator = np.random.default_rng(3)
    concepts = [f"C{i:07}" for i in range(30)]
    for _ in range(30):
        edges = {tuple(generator.choice(concepts, 2, replace=False).tolist()) for _ in range(25)}
        graph = SnapshotGraph.of(sorted(edges), concepts=concepts)
        a, b = (sorted(generator.choice(concepts, size, replace=False).tolist()) for size in (4, 6))
        hops = [[graph.distance(x, y) for y in b] for x in a]
        table = np.array([[0.0 if h is None else 1 / (1 + h) for h in row] for row in hops])
        weight = table[linear_sum_assignment(table, maximize=True)].sum()
        for by, divisor in (("min", 4), ("max", 6), ("mean", 5)):
            assert bipartite_matching(a, b, graph, by=by) == pytest.approx(weight / divisor)  # type: ignore[arg-type]
        assert bipartite_matching(b, a, graph) == pytest.approx(weight / 4)
