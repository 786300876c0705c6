"""What a measure takes, beside plain Python as the paper describes it, and beside the usual tools for NDCG.

::

    python benchmarks/measures.py [--data ../shared/data] [--images test] [--queries 1000 10000] [--json FILE]

First the paper's Fig. 4: CUI@30 and nn-CUI@30 for one query of ROCOv2, the ideal over the whole corpus included.
"Offline" is `evaluation.by_sets`, the share of one query: Python sets with a dictionary of neighbours. "On the fly"
is the paper's Algorithm 1 as it stands there, with a shortest path of NetworkX for each pair of concepts, on some
images of one query and extrapolated ("≈"). cuihop has one thread, and all queries.

Then nDCG@10 and nDCG@30 of rankings of 100 documents, all judged, with the grades 0 to 3. The definitions of the tools
meet there: linear gain, log2 discount, the ideal over all judged documents, no ties. "Prepared" is from Python
dictionaries to what the tool takes, "evaluated" the rest; each tool has a process of its own. Memory is the most that
the process held, the dictionaries and the interpreter included.

Every answer is compared before anything is timed: with cuihop's to 1e-12 above, with the formula's to 1e-9 below.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from benchmark_data import add_data_option
from cuihop import Ranking, SnapshotGraph, evaluate
from cuihop.collection.dataset import Dataset
from cuihop.collection.judgements import Judgements
from cuihop.measures.nearness import Nearness
from cuihop.rankings.in_memory import scored_ranking
from cuihop.resources.resources import Resources
from cuihop.study.cost import gain
from evaluation import LAM, by_sets, images_of, neighbourhoods, open_graph, random_lists, sampled
from measurement import Measurement, arguments_of, peak_megabytes, require, timed

Float64 = npt.NDArray[np.float64]
Images = Mapping[str, frozenset[str]]
Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

DOCUMENTS = 100
CUT_OFFS = (10, 30)
ON_THE_FLY_IMAGES = 100


def on_the_fly(graph: nx.Graph[str], hops: int) -> Callable[[str, str], bool]:
    """Nearness of two concepts by a shortest path for each pair of concepts."""

    def near(a: str, b: str) -> bool:
        try:
            return bool(nx.shortest_path_length(graph, a, b) <= hops)
        except (nx.NetworkXNoPath, nx.NodeNotFound):
            return False

    return near


def cost_of_a_query(data: Path, scale: str, most: int | None, results: Measurement) -> None:
    """The paper's figure."""
    graph = open_graph(data)
    images = images_of(scale, data, most)
    ranking = random_lists(images)
    print(f"ROCOv2 {scale}, {len(images):,} images, open graph, n = 1, λ = {LAM}; milliseconds a query")
    expected = {}
    for measure in ("CUI@30", "nn-CUI@30"):
        expected[measure], seconds = by_cuihop(images, ranking, graph, measure)
        tell(results, measure, "cuihop, one thread", seconds / len(images) * 1e3, f"{len(images):,} queries")
    queries, near = sampled(images), neighbourhoods(images, graph, 1)
    for measure, subject, around in (
        ("CUI@30", "Python sets", {concept: {concept} for concept in near}),
        ("nn-CUI@30", "Python sets, offline", near),
    ):
        values, seconds = by_sets(images, around, queries)
        same = np.abs(values[:, -1] - expected[measure][queries]).max() < 1e-12
        require(bool(same), f"{subject} gives cuihop's {measure}")
        tell(results, measure, subject, seconds / len(images) * 1e3, f"≈, from {len(queries)} queries")
    from cuihop.adapters.graph_export import to_networkx

    searched, query = on_the_fly(to_networkx(graph).to_undirected(), 1), list(images.values())[queries[0]]
    others = list(images.values())[:ON_THE_FLY_IMAGES]
    before = time.perf_counter()
    found = [gain(query, other, searched, LAM) for other in others]
    spent = (time.perf_counter() - before) / len(others) * len(images)
    same = found == [gain(query, other, lambda a, b: b in near[a], LAM) for other in others]
    require(same, "paths and the dictionary give the same gains")
    tell(results, "nn-CUI@30", "NetworkX, on the fly", spent * 1e3, f"≈, from {len(others)} images of one query")


def by_cuihop(images: Images, ranking: Ranking, graph: SnapshotGraph, measure: str) -> tuple[Float64, float]:
    """The values of all queries, and seconds for all."""
    options: dict[str, Any] = {
        "measures": measure, "nearness": Nearness(1, LAM, unknown="isolated"), "resources": Resources(1),
    }  # fmt: skip
    values: Float64 = evaluate(images, ranking, graph, **options).values[:, 0]
    return values, timed(lambda: evaluate(images, ranking, graph, **options))


def tell(results: Measurement, question: str, subject: str, value: float, how: str) -> None:
    """One line."""
    results.add(question, subject, value, "ms a query")
    ratio = results.ratio(results.figures[-1]) or 0.0
    print(f"{question:12}{subject:24}{value:14,.3f}{ratio:12,.0f}×  {how}", flush=True)


def judgements(queries: int) -> tuple[Grades, Scores]:
    """Grades of 100 documents for each query, and scores without ties; every query has something relevant."""
    rng = np.random.default_rng(5)
    grades = rng.choice(4, (queries, DOCUMENTS), p=(0.7, 0.15, 0.1, 0.05))
    grades[:, 0] = 1
    scores = rng.permuted(np.tile(np.arange(DOCUMENTS, dtype=np.float64), (queries, 1)), axis=1)
    documents = [[f"d{query}_{number}" for number in range(DOCUMENTS)] for query in range(queries)]
    return (
        {f"q{q}": dict(zip(documents[q], row, strict=True)) for q, row in enumerate(grades.tolist())},
        {f"q{q}": dict(zip(documents[q], row, strict=True)) for q, row in enumerate(scores.tolist())},
    )


def by_formula(grades: Grades, scores: Scores) -> Float64:
    """Shape (queries, cut-offs)."""
    gains = np.array([list(row.values()) for row in grades.values()], dtype=np.float64)
    order = np.argsort(-np.array([list(row.values()) for row in scores.values()]), axis=1)
    discounts = 1 / np.log2(np.arange(2, DOCUMENTS + 2))
    ranked, best = np.take_along_axis(gains, order, axis=1), -np.sort(-gains, axis=1)
    dcg, ideal = ((rows * discounts).cumsum(axis=1)[:, np.array(CUT_OFFS) - 1] for rows in (ranked, best))
    quotients: Float64 = dcg / ideal
    return quotients


def _cuihop(grades: Grades, scores: Scores) -> Callable[[], Any]:
    from cuihop.evaluation.evaluate import evaluate

    qrels = Judgements.of(grades)
    ranking = scored_ranking(scores, qrels=grades)
    return lambda: evaluate(Dataset(qrels=qrels), ranking, measures=[f"nDCG@{k}" for k in CUT_OFFS]).values


def _pytrec_eval(grades: Grades, scores: Scores) -> Callable[[], Any]:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut." + ",".join(map(str, CUT_OFFS))})

    def values() -> list[list[float]]:
        found = evaluator.evaluate(scores)
        return [[found[query][f"ndcg_cut_{k}"] for k in CUT_OFFS] for query in grades]

    return values


def _ranx(grades: Grades, scores: Scores) -> Callable[[], Any]:
    import ranx

    qrels, run = ranx.Qrels(grades), ranx.Run(scores)

    def values() -> Any:
        found = ranx.evaluate(qrels, run, [f"ndcg@{k}" for k in CUT_OFFS], return_mean=False)
        place = {query: number for number, query in enumerate(qrels.keys())}
        return np.stack([found[f"ndcg@{k}"] for k in CUT_OFFS], axis=1)[[place[query] for query in grades]]

    return values


def _ir_measures(grades: Grades, scores: Scores) -> Callable[[], Any]:
    import ir_measures

    measures = [ir_measures.nDCG @ k for k in CUT_OFFS]

    def values() -> list[list[float]]:
        found = {(told.query_id, told.measure): told.value for told in ir_measures.iter_calc(measures, grades, scores)}
        return [[found[query, measure] for measure in measures] for query in grades]

    return values


def _sklearn(grades: Grades, scores: Scores) -> Callable[[], Any]:
    from sklearn.metrics import ndcg_score

    true, given = (np.array([list(row.values()) for row in rows.values()]) for rows in (grades, scores))
    return lambda: [[ndcg_score(true, given, k=k, ignore_ties=True) for k in CUT_OFFS]]


TOOLS: dict[str, tuple[str, Callable[[Grades, Scores], Callable[[], Any]]]] = {
    "cuihop": ("cuihop", _cuihop),
    "pytrec_eval": ("pytrec-eval-terrier", _pytrec_eval),
    "ir_measures": ("ir-measures", _ir_measures),
    "ranx": ("ranx", _ranx),
    "scikit-learn": ("scikit-learn", _sklearn),
}
"""Tool → its package, and what prepares its evaluation. scikit-learn tells means only."""


def job(tool: str, queries: int) -> dict[str, float]:
    """One tool in this process."""
    prepare = TOOLS[tool][1]
    prepare(*judgements(20))()  # compiles
    grades, scores = judgements(queries)
    found, expected = np.array(prepare(grades, scores)()), by_formula(grades, scores)
    if len(found) == 1:
        expected = expected.mean(axis=0, keepdims=True)
    require(bool(np.abs(found - expected).max() < 1e-9), f"{tool} gives what the formula gives")
    prepared = timed(partial(prepare, grades, scores))
    evaluate = prepare(grades, scores)
    return {"prepared": prepared, "evaluated": timed(evaluate), "peak": peak_megabytes()}


def ndcg_tools(counts: list[int], tools: list[str], results: Measurement) -> None:
    """The tools, at some numbers of queries."""
    print(f"\nnDCG@10 and nDCG@30 of {DOCUMENTS} judged documents a query")
    print(f"{'queries':>8}  {'by':30}{'prepared s':>12}{'evaluated s':>13}{'both':>10}{'':>8}{'peak MB':>9}")
    for queries in counts:
        for tool in tools:
            package = TOOLS[tool][0]
            command = [sys.executable, __file__, "--job", tool, "--queries", str(queries)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            figures = json.loads(done.stdout.splitlines()[-1])
            subject, both = f"{tool} {version(package)}", figures["prepared"] + figures["evaluated"]
            results.add(f"NDCG, prepared, {queries:,} queries", subject, figures["prepared"], "s")
            results.add(f"NDCG, evaluated, {queries:,} queries", subject, figures["evaluated"], "s")
            results.add(f"NDCG, peak memory, {queries:,} queries", subject, figures["peak"], "MB")
            results.add(f"NDCG, both, {queries:,} queries", subject, both, "s")
            ratio = results.ratio(results.figures[-1]) or 0.0
            print(
                f"{queries:8,}  {subject:30}{figures['prepared']:12.3f}{figures['evaluated']:13.3f}{both:10.3f}"
                f"{ratio:7.1f}×{figures['peak']:9,.0f}", flush=True,
            )  # fmt: skip


def main() -> None:
    """Measure, compare, and print."""
    parser = arguments_of(__doc__)
    add_data_option(parser)
    parser.add_argument("--images", choices=("test", "train"), default="test")
    parser.add_argument("--most", type=int, help="so many of the images, for a quick look")
    parser.add_argument("--queries", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--job", choices=TOOLS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(job(options.job, options.queries[0])))
        return
    results = Measurement(("networkx", *(package for package, _ in TOOLS.values() if package != "cuihop")))
    cost_of_a_query(options.data, options.images, options.most, results)
    ndcg_tools(options.queries, options.tools, results)
    results.save(options.json)


if __name__ == "__main__":
    main()
