"""Whole collections: against the literal algorithms, on random collections and on ROCOv2."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from collections_made import Case, cases, networkx_distance
from cuihop import SnapshotGraph
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.evaluation.evaluate import cui_at_k, evaluate, nn_cui_at_k
from cuihop.evaluation.result import Evaluation
from cuihop.graph import Direction
from cuihop.measures.nearness import Nearness
from cuihop.relevance.baselines import random_ranking, top_k
from cuihop.resources.resources import Resources
from flat_options import evaluate_flat
from literal_algorithms import ndcg_of_each_query, nn_iou
from real_graphs import isa_edges
from shared_data import ROOT, shared

CUT_OFFS = (1, 2, 3, 10)
ALL = [f"{family}@{','.join(map(str, CUT_OFFS))}" for family in ("nn-CUI", "CUI")]

small = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def evaluated(case: Case, **options: object) -> Evaluation:
    arguments: dict[str, object] = {
        "corpus": case.corpus,
        "measures": ALL,
        "n": case.n,
        "lam": case.lam,
        "direction": case.direction,
        "unknown": "isolated",
        "missing": "zero",
        "threads": 1,
    }
    with case.graph as graph:
        return evaluate_flat(case.queries, case.ranking, graph, **(arguments | options))


def of_query(evaluation: Evaluation, measure: str) -> dict[str, float]:
    names = [str(m) for m in evaluation.measures]
    return dict(zip(evaluation.queries, evaluation.values[:, names.index(measure)].tolist(), strict=True))


# Against Algorithms 1 and 2


@small
@given(cases())
def test_every_value_is_that_of_the_literal_algorithms(case: Case) -> None:
    dist = case.distance()
    result = evaluated(case)
    for family, lam in (("nn-CUI", case.lam), ("CUI", 0.0)):

        def gain(A: frozenset[str], B: frozenset[str], lam: float = lam) -> float:
            return nn_iou(A, B, dist, case.n, lam)

        for k in CUT_OFFS:
            expected = ndcg_of_each_query(case.queries, case.held, case.ranking, k, gain)
            found = of_query(result, f"{family}@{k}")
            assert found == pytest.approx({query: value or 0.0 for query, value in expected.items()}, abs=1e-12)
            mean = sum(value or 0.0 for value in expected.values()) / len(expected)
            assert result.mean(f"{family}@{k}") == pytest.approx(mean, abs=1e-12)


@small
@given(cases())
def test_skipped_queries_are_those_without_an_ideal(case: Case) -> None:
    dist = case.distance()
    skipping, scoring = evaluated(case, empty_ideal="skip"), evaluated(case)
    expected = ndcg_of_each_query(
        case.queries, case.held, case.ranking, 3, lambda A, B: nn_iou(A, B, dist, case.n, case.lam)
    )
    without = {query for query, value in expected.items() if value is None}
    assert {query for query, value in of_query(skipping, "nn-CUI@3").items() if math.isnan(value)} == without
    assert set(skipping.counts.empty_ideal["nn-IoU"]) == set(scoring.counts.empty_ideal["nn-IoU"]) == without
    scored = [value for value in expected.values() if value is not None]
    if scored:
        assert skipping.means["nn-CUI@3"] == pytest.approx(sum(scored) / len(scored), abs=1e-12)
    else:
        assert skipping.means["nn-CUI@3"] is None


@small
@given(cases())
def test_the_most_relevant_images_are_ranked_exactly(case: Case) -> None:
    dist = case.distance()
    with case.graph as graph:
        for k in (1, 3, 20):
            ranking = top_k(
                Dataset(case.queries, case.corpus),
                graph,
                k,
                nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
            )
            for query, A in case.queries.items():
                gains = {image: nn_iou(A, B, dist, case.n, case.lam) for image, B in case.held.items()}
                others = sorted((image for image in gains if image != query), key=lambda image: (-gains[image], image))
                assert list(ranking[query]) == others[:k]


@small
@given(cases())
def test_the_best_ranking_scores_one(case: Case) -> None:
    with case.graph as graph:
        for by, family in (("nn-iou", "nn-CUI"), ("iou", "CUI")):
            ranking = top_k(
                Dataset(case.queries, case.corpus),
                graph,
                10,
                by=by,  # type: ignore[arg-type]
                nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
            )
            result = evaluate(
                Dataset(case.queries, case.corpus),
                ranking,
                graph,
                measures=f"{family}@1,2,10",
                missing="zero",
                empty_ideal="skip",
                nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
            )
            assert set(result.means.values()) <= {1.0, None}


@small
@given(cases())
def test_names_and_order_of_images_change_nothing(case: Case) -> None:
    renamed = {f"image {i}": f"{'zyxwvutsrqpo'[i]}" for i in range(12)}  # the order of names is turned round

    def other(images: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
        return {renamed[image]: concepts for image, concepts in reversed(list(images.items()))}

    turned = Case(
        case.nodes, case.edges, other(case.queries), None if case.corpus is None else other(case.corpus),
        {renamed[query]: [renamed[image] for image in images] for query, images in case.ranking.items()},
        case.n, case.lam, case.direction,
    )  # fmt: skip
    before, after = evaluated(case), evaluated(turned)
    for measure in map(str, before.measures):
        assert {renamed[q]: v for q, v in of_query(before, measure).items()} == of_query(after, measure)
    before.means.clear()  # the caller's own
    assert before.means == after.means


@small
@given(cases())
def test_without_hops_or_weight_nn_cui_is_cui(case: Case) -> None:
    for options in ({"n": 0}, {"lam": 0.0}):
        result = evaluated(case, **options)
        for k in CUT_OFFS:
            assert of_query(result, f"nn-CUI@{k}") == of_query(result, f"CUI@{k}")


def test_the_functions_give_the_means() -> None:
    images = {"a": "C0000001;C0000002", "b": "C0000003", "c": "C0000001"}
    ranking = {"a": ["b", "c"], "b": ["c", "a"], "c": ["a"]}
    with SnapshotGraph.of([("C0000001", "C0000003")], concepts=["C0000002"]) as graph:
        result = evaluate(images, ranking, graph, measures=["nn-CUI@2", "CUI@2"])
        assert nn_cui_at_k(images, ranking, graph, 2) == result.mean("nn-CUI@2")
        assert cui_at_k(images, ranking, 2) == result.mean("CUI@2")
        # a: gains of b and c are (0 + .5 * 2) / 3 and 1 / 2, and so on: everything by hand.
        discount = 1 / math.log2(3)
        of_a = (1 / 3 + 0.5 * discount) / (0.5 + 1 / 3 * discount)
        of_b = (0.5 + 1 / 3 * discount) / (0.5 + 1 / 3 * discount)
        of_c = 0.5 / (0.5 + 0.5 * discount)
        assert of_query(result, "nn-CUI@2") == pytest.approx({"a": of_a, "b": of_b, "c": of_c})


# Real data


@pytest.fixture(scope="module")
def open_graph() -> SnapshotGraph:
    return SnapshotGraph.of(isa_edges("rrf_open"), name="open", identifiers="cui")


@pytest.fixture(scope="module")
def rocov2() -> ImageConcepts:
    return ImageConcepts.read(shared("rocov2/test_concepts.csv.gz"))


def some(images: ImageConcepts, count: int) -> dict[str, frozenset[str]]:
    return {image: images[image] for image in random.Random(5).sample(sorted(images), count)}


@pytest.mark.parametrize(("n", "direction"), [(1, "any"), (2, "any"), (2, "up")])
def test_a_sample_of_rocov2_scores_as_the_literal_algorithms_say(
    open_graph: SnapshotGraph, rocov2: ImageConcepts, n: int, direction: Direction
) -> None:
    images = some(rocov2, 80)
    ranking = {image: random.Random(image).sample(sorted(images), 40) for image in images}
    concepts = sorted({concept for held in images.values() for concept in held})
    in_graph = [answer.requested for answer in open_graph.resolve(concepts) if answer.cui]
    pairs = [(a, b) for a in in_graph for b in in_graph]
    hops = dict(zip(pairs, open_graph.distances(pairs, direction=direction), strict=True))
    result = evaluate(
        images,
        ranking,
        open_graph,
        measures=["nn-CUI@5,10,30"],
        nearness=Nearness(n=n, direction=direction, unknown="isolated"),
    )
    for k in (5, 10, 30):
        expected = ndcg_of_each_query(
            images, images, ranking, k,
            lambda A, B: nn_iou(A, B, lambda a, b: 0 if a == b else hops.get((a, b)), n, 0.5),
        )  # fmt: skip
        assert of_query(result, f"nn-CUI@{k}") == pytest.approx({q: v or 0.0 for q, v in expected.items()}, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "direction"), [(1, "any"), (2, "any"), (3, "down")])
def test_gains_are_those_of_the_matrix_form(
    open_graph: SnapshotGraph, rocov2: ImageConcepts, n: int, direction: Direction
) -> None:
    """I = X·Xᵀ, |rel| = X·Eᵀ + E·Xᵀ − 2·I with E = 1[X·N > 0]; for a directed N, the second E goes backwards."""
    from scipy import sparse

    images = some(rocov2, 2000)
    names = sorted(images)
    concepts = sorted({concept for held in images.values() for concept in held})
    place = {concept: i for i, concept in enumerate(concepts)}
    X = sparse.lil_matrix((len(names), len(concepts)), dtype=np.int64)
    for row, name in enumerate(names):
        X[row, [place[concept] for concept in images[name]]] = 1
    X = X.tocsr()
    in_graph = [answer.requested for answer in open_graph.resolve(concepts) if answer.cui]
    N = sparse.lil_matrix((len(concepts), len(concepts)), dtype=np.int64)
    N.setdiag(1)
    for hood in open_graph.neighbours(in_graph, hops=n, direction=direction):
        N[place[hood.cui], [place[m.cui] for m in hood if m.cui in place]] = 1
    N = N.tocsr()
    forwards, backwards = ((X @ M > 0).astype(np.int64) for M in (N, N.T.tocsr()))
    I = (X @ X.T).toarray()  # noqa: E741
    near = (forwards @ X.T + X @ backwards.T).toarray() - 2 * I
    sizes = np.asarray(X.sum(axis=1)).ravel()
    gains = (I + 0.5 * near) / (sizes[:, np.newaxis] + sizes - I)
    np.fill_diagonal(gains, -1.0)
    order = np.argsort(-gains, axis=1, kind="stable")[:, :30]  # names ascend, so a stable sort breaks ties by name
    ranking = top_k(images, open_graph, 30, nearness=Nearness(n=n, direction=direction, unknown="isolated"))
    for row, name in enumerate(names):
        assert list(ranking[name]) == [names[i] for i in order[row]]
    result = evaluate(
        images,
        ranking,
        open_graph,
        measures="nn-CUI@30",
        nearness=Nearness(n=n, direction=direction, unknown="isolated"),
    )
    best = dict(zip(result.queries, result.best_gains["nn-IoU"].tolist(), strict=True))
    assert best == {name: gains[row].max() for row, name in enumerate(names)}


@pytest.mark.slow
def test_rocov2_with_its_unknown_concepts(open_graph: SnapshotGraph, rocov2: ImageConcepts) -> None:
    ranking = top_k(rocov2, open_graph, 30, nearness=Nearness(unknown="isolated"))
    result = evaluate(
        rocov2,
        ranking,
        open_graph,
        measures=["nn-CUI@5,10,30", "CUI@5,10,30"],
        empty_ideal="skip",
        nearness=Nearness(unknown="isolated"),
    )
    assert {result.means[f"nn-CUI@{k}"] for k in (5, 10, 30)} == {1.0}
    assert 0.9 < (result.means["CUI@30"] or 0) < 1.0
    counts = result.counts
    assert (counts.queries, counts.corpus, counts.queries_in_corpus) == (9927, 9927, 9927)
    assert (counts.identifiers, counts.occurrences) == (1750, 33_874)
    present = set(isa_concepts())
    strangers = [c for held in rocov2.values() for c in held if c not in present]
    assert counts.unknown.distinct == len(set(strangers))
    assert counts.unknown.occurrences == len(strangers)
    assert set(counts.unknown.identifiers) == set(strangers)
    chance = evaluate(
        rocov2, random_ranking(rocov2, 30), open_graph, measures="nn-CUI@30", nearness=Nearness(unknown="isolated")
    )
    assert (chance.means["nn-CUI@30"] or 1) < 0.2


def isa_concepts() -> set[str]:
    return {concept for edge in isa_edges("rrf_open") for concept in edge}


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_the_threads(open_graph: SnapshotGraph, rocov2: ImageConcepts) -> None:
    images = some(rocov2, 3000)
    nearness = Nearness(unknown="isolated")
    expected = top_k(images, open_graph, 20, nearness=nearness, resources=Resources(1)).rows.tobytes()
    results = []
    for threads in (1, 2, 7):
        resources = Resources(threads)
        ranking = top_k(images, open_graph, 20, nearness=nearness, resources=resources)
        assert ranking.rows.tobytes() == expected
        results.append(
            evaluate(
                images,
                ranking,
                open_graph,
                measures=["nn-CUI@5,10,30", "CUI@10"],
                nearness=Nearness(2, unknown="isolated"),
                resources=resources,
            )
        )
    for result in results[1:]:
        assert result.values.tobytes() == results[0].values.tobytes()
        assert result.means == results[0].means


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_the_compiler() -> None:
    """Without numba's compiler the same functions run as plain Python."""
    program = textwrap.dedent("""
        import json, random
        from cuihop import SnapshotGraph
        from cuihop.measures.nearness import Nearness
        from cuihop.relevance.baselines import top_k
        from cuihop.resources.resources import Resources
        from cuihop.evaluation.evaluate import evaluate
        rng = random.Random(3)
        cuis = [f"C{i:07d}" for i in range(60)]
        graph = SnapshotGraph.of([(rng.choice(cuis), rng.choice(cuis)) for _ in range(80)], concepts=cuis)
        images = {f"i{i}": frozenset(rng.sample(cuis, rng.randrange(6))) for i in range(90)}
        ranking = {i: rng.sample(sorted(images), 12) for i in images}
        result = evaluate(images, ranking, graph, measures=["nn-CUI@3,10", "CUI@10"], nearness=Nearness(2, 0.3))
        best = top_k(images, graph, 7, nearness=Nearness(2, 0.3))
        print(json.dumps([result.values.tolist(), best.rows.tolist()]))
    """)
    answers = []
    for disabled in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1]


# Long work


def test_progress_ends_with_all_queries(open_graph: SnapshotGraph, rocov2: ImageConcepts) -> None:
    images = some(rocov2, 1000)
    calls: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        calls.append((done, total))

    for threads in (1, 2):
        calls.clear()
        top_k(
            images,
            open_graph,
            5,
            nearness=Nearness(unknown="isolated"),
            resources=Resources(threads=threads, progress=note),
        )
        assert calls == sorted(calls)
        assert len(calls) > 1
        assert calls[-1] == (1000, 1000)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_stops_the_work(open_graph: SnapshotGraph, rocov2: ImageConcepts, threads: int) -> None:
    images = some(rocov2, 3000)
    calls = []

    def interrupted(done: int, total: int) -> None:
        calls.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        top_k(
            images,
            open_graph,
            5,
            nearness=Nearness(unknown="isolated"),
            resources=Resources(threads=threads, progress=interrupted),
        )
    assert len(calls) == 1
    assert calls[0] < 3000


@pytest.mark.slow
def test_the_signal_of_a_user_stops_the_work_soon() -> None:
    program = textwrap.dedent("""
        import random
        from cuihop import SnapshotGraph
        from cuihop.measures.nearness import Nearness
        from cuihop.relevance.baselines import top_k
        from cuihop.resources.resources import Resources
        rng = random.Random(3)
        cuis = [f"C{i:07d}" for i in range(3000)]
        graph = SnapshotGraph.of([(rng.choice(cuis), rng.choice(cuis)) for _ in range(6000)], concepts=cuis)
        images = {f"i{i}": frozenset(rng.sample(cuis, 5)) for i in range(60_000)}
        resources = Resources(threads=2, progress=lambda done, total: print(done, flush=True))
        top_k(images, graph, 10, nearness=Nearness(3), resources=resources)
        print("done", flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip().isdecimal()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert "done" not in out


def test_networkx_agrees_that_strangers_are_near_nothing() -> None:
    dist = networkx_distance(["C0000001"], [], "any")
    assert [dist("C9999991", "C9999991"), dist("C9999991", "C0000001")] == [0, None]


def test_release_parameters_and_versions_stand_in_the_result(open_graph: SnapshotGraph) -> None:
    images = {"a": "C0042449", "b": "C0005847"}
    result = evaluate(
        images,
        {"a": ["b"], "b": ["a"]},
        open_graph,
        measures="nn-CUI@1",
        nearness=Nearness(n=2, lam=0.25, direction="up"),
    )
    summary = json.loads(result.to_json())
    assert summary["release"] == json.loads(json.dumps(asdict(open_graph.release)))
    parameters = {key: summary["parameters"][key] for key in ("n", "lambda", "direction", "unknown", "measures")}
    assert parameters == {"n": 2, "lambda": 0.25, "direction": "up", "unknown": "error", "measures": ["nn-CUI@1"]}
    assert set(summary["versions"]) == {"python", "cuihop", "numpy", "numba"}
    assert "not installed" not in summary["versions"].values()
    # Upwards from veins to blood vessels; nothing of the other query is above it.
    assert summary["means"] == {"nn-CUI@1": 0.5}
    assert summary["counts"]["empty_ideal"] == {"nn-IoU": ["b"]}


def test_a_concept_that_is_near_to_most_images_while_each_has_another() -> None:
    graph = SnapshotGraph.of([(f"C{number:07}", "C0000000") for number in range(1, 100)])
    images = {"twin": "C0000000", **{f"image {number}": f"C{number:07}" for number in range(100)}}
    found = evaluate(images, {"image 0": ["image 1", "twin"]}, graph, measures="nn-CUI@1", missing="zero")
    assert found.values[list(images).index("image 0")].tolist() == [0.5]
