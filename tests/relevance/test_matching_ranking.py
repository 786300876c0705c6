"""Rankings by BM and by TF-IDF: SciPy, scikit-learn and plain loops are the oracles."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_made import Case, cases, networkx_distance
from cuihop import SnapshotGraph
from cuihop._kernels.assignment import largest_total
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError, LimitExceeded
from cuihop.measures.bipartite_matching import DividedBy, bipartite_matching
from cuihop.measures.nearness import Nearness
from cuihop.relevance.baselines import Relevance, top_k
from cuihop.relevance.image_collection import ImageCollection
from cuihop.relevance.rank_by_gain import RankingJob, fill_by_matching
from cuihop.resources.block_work import BlockStore
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.resources import Resources
from examples import examples
from literal_algorithms import Distance
from real_graphs import isa_edges
from shared_data import shared


def exact_bm(A: frozenset[str], B: frozenset[str], dist: Distance, by: DividedBy = "min") -> Fraction:
    """BM by SciPy's assignment, summed without rounding."""
    from scipy.optimize import linear_sum_assignment

    if not A or not B:
        return Fraction(0)
    hops = [[dist(a, b) for b in sorted(B)] for a in sorted(A)]
    weights = [[Fraction(0) if h is None else Fraction(1, 1 + h) for h in row] for row in hops]
    rows, columns = linear_sum_assignment(np.array(weights, dtype=np.float64), maximize=True)
    total = sum((weights[row][column] for row, column in zip(rows, columns, strict=True)), Fraction(0))
    sizes = len(A), len(B)
    return total / {"min": Fraction(min(sizes)), "max": Fraction(max(sizes)), "mean": Fraction(sum(sizes), 2)}[by]


@given(
    st.integers(1, 6).flatmap(
        lambda rows: st.integers(rows, 9).flatmap(
            lambda columns: st.lists(
                st.lists(st.integers(0, 12), min_size=columns, max_size=columns), min_size=rows, max_size=rows
            )
        )
    )
)
def test_the_largest_total_is_that_of_scipy(table: list[list[int]]) -> None:
    from scipy.optimize import linear_sum_assignment

    weights = np.array(table, dtype=np.int64)
    rows, columns = linear_sum_assignment(weights, maximize=True)
    scratch = np.full((6, weights.shape[1] + 1), 99, dtype=np.int64)  # whatever another search left there
    assert largest_total(weights, weights.shape[0], weights.shape[1], scratch) == weights[rows, columns].sum()


def test_many_concepts_are_matched_as_by_scipy() -> None:
    from scipy.optimize import linear_sum_assignment

    weights = np.random.default_rng(0).integers(0, 2**40, (40, 70))
    rows, columns = linear_sum_assignment(weights, maximize=True)
    scratch = np.empty((6, 71), dtype=np.int64)
    assert largest_total(weights, 40, 70, scratch) == weights[rows, columns].sum()


@pytest.mark.slow
@given(cases(), st.integers(1, 12))
def test_the_ranking_by_bm_is_that_of_a_scan_of_all_pairs(case: Case, k: int) -> None:
    ranking = top_k(
        Dataset(case.queries, case.corpus),
        case.graph,
        k,
        by="bm",
        nearness=Nearness(direction=case.direction, unknown="isolated"),
    )
    dist = case.distance()
    for query, A in case.queries.items():
        others = [image for image in case.held if image != query]
        best = sorted(others, key=lambda image: (-exact_bm(A, case.held[image], dist), image))
        assert list(ranking[query]) == best[:k]


def test_pairs_that_are_passed_over_do_not_change_the_ranking() -> None:
    """Enough sets, crowded among few near concepts, that most assignments need not be solved."""
    draw = np.random.default_rng(11)
    nodes = [f"C{number:07}" for number in range(40)]
    edges = [(nodes[place], nodes[draw.integers(0, place)]) for place in range(1, 30)]
    images = {
        f"image {place:03}": frozenset(draw.choice(nodes, draw.integers(1, 7), replace=False).tolist())
        for place in range(110)
    }
    graph = SnapshotGraph.of(edges, concepts=nodes)
    dist = networkx_distance(nodes, edges, "any")
    ranking = top_k(images, graph, 5, by="bm")
    for query in list(images)[::5]:
        values = {image: exact_bm(images[query], images[image], dist) for image in images if image != query}
        assert list(ranking[query]) == sorted(values, key=lambda image: (-values[image], image))[:5]


@settings(max_examples=examples(40))
@given(cases(), st.sampled_from(["min", "max", "mean"]))
def test_every_divisor_ranks_as_the_measure_of_two_sets(case: Case, by: DividedBy) -> None:
    images = ImageCollection.of(Dataset(case.queries, case.corpus), case.graph, "isolated")
    rows = np.full((len(case.queries), len(case.held)), -1, dtype=np.int32)
    blocks = BlockStore(rows.__setitem__, len(rows))
    work = RankingJob(MemoryBudget.of("2GB"), Resources(threads=1), blocks)
    fill_by_matching(images, case.graph, len(case.held), work, by=by, direction=case.direction)
    dist = case.distance()
    for place, (query, A) in enumerate(case.queries.items()):
        found = [images.corpus_names[row] for row in rows[place] if row >= 0]
        values = [exact_bm(A, case.held[image], dist, by) for image in found]
        assert sorted(found) == sorted(image for image in case.held if image != query)
        assert values == sorted(values, reverse=True)
        for image, value in zip(found, values, strict=True):
            one = bipartite_matching(
                A, case.held[image], case.graph, by=by, direction=case.direction, unknown="isolated"
            )
            assert one == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize("length", [27, 28, 40, 300])
def test_distances_of_any_length_keep_their_order(length: int) -> None:
    chain = [f"C{number:07}" for number in range(length + 1)]
    graph = SnapshotGraph.of(list(pairwise(chain)))
    images = {f"image {place:03}": concept for place, concept in enumerate(chain)}
    nearest_first = list(top_k(images, graph, length, by="bm")["image 000"])
    assert nearest_first == [f"image {place:03}" for place in range(1, length + 1)]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 6, 7, 10, 26, 27, 28, 40])
def test_a_hop_more_weighs_less_whatever_the_names(length: int) -> None:
    # Weights that were no whole numbers would be rounded, and hops with them: then names would decide.
    chain = [f"C{number:07}" for number in range(length + 2)]
    graph = SnapshotGraph.of(list(pairwise(chain[:-1])), concepts=chain)
    images = {f"image {length + 1 - place:03}": concept for place, concept in enumerate(chain)}  # the last has no path
    ranking = top_k(images, graph, length + 1, by="bm")[f"image {length + 1:03}"]
    assert list(ranking) == [f"image {length + 1 - place:03}" for place in range(1, length + 2)]


def test_more_concepts_than_memory_allows_are_refused() -> None:
    concepts = [f"C{number:07}" for number in range(3_000)]
    graph = SnapshotGraph.of(list(pairwise(concepts)))
    images = {concept: concept for concept in concepts}
    with pytest.raises(LimitExceeded, match=r"for distances of concepts.*--memory"):
        top_k(images, graph, 1, by="bm", resources=Resources(memory="40MB"))


def test_bm_needs_a_graph() -> None:
    with pytest.raises(InputError, match="bm needs a graph"):
        top_k({"a": "C1", "b": "C2"}, None, 1, by="bm")


def by_scikit_learn(case: Case) -> npt.NDArray[np.float64]:
    """Cosines of queries with the corpus."""
    from sklearn.feature_extraction.text import TfidfTransformer

    concepts = sorted({c for images in (case.queries, case.held) for one in images.values() for c in one})

    def table(sets: list[frozenset[str]]) -> npt.NDArray[np.float64]:
        return np.array([[float(c in one) for c in concepts] for one in sets]).reshape(len(sets), -1)

    weigh = TfidfTransformer().fit(table(list(case.held.values())))
    weights, held = (weigh.transform(table(list(i.values()))).toarray() for i in (case.queries, case.held))
    cosines: npt.NDArray[np.float64] = weights @ held.T
    return cosines


@pytest.mark.slow
@given(cases().filter(lambda case: any(one for one in (*case.queries.values(), *case.held.values()))))
def test_the_ranking_by_tfidf_has_the_cosines_of_scikit_learn(case: Case) -> None:
    ranking = top_k(Dataset(case.queries, case.corpus), None, 12, by="tf-idf")
    cosines = by_scikit_learn(case)
    for place, query in enumerate(case.queries):
        value = dict(zip(case.held, cosines[place].tolist(), strict=True))
        found = [value[image] for image in ranking[query]]
        assert found == pytest.approx(sorted((v for i, v in value.items() if i != query), reverse=True)[:12])
        nothing = [image for image in ranking[query] if value[image] == 0]
        assert nothing == sorted(nothing)


def test_rare_concepts_weigh_more_in_a_larger_collection() -> None:
    from sklearn.feature_extraction.text import TfidfTransformer

    draw = np.random.default_rng(4)
    common = 1 / np.arange(1, 41)
    sets = [
        draw.choice(40, draw.integers(1, 9), replace=False, p=common / common.sum()).tolist() for _ in range(150)
    ]  # fmt: skip
    held = np.zeros((150, 40))
    for place, concepts in enumerate(sets):
        held[place, concepts] = 1
    weighed = TfidfTransformer().fit_transform(held).toarray()
    cosines = (weighed @ weighed.T).round(12)
    names = [f"i{place:03}" for place in range(150)]
    images = {name: [f"C{c:07}" for c in concepts] for name, concepts in zip(names, sets, strict=True)}
    ranking = top_k(images, None, 20, by="tf-idf")
    for place, query in enumerate(names):
        found = [cosines[place, int(image[1:])] for image in ranking[query]]
        assert found == pytest.approx(sorted(np.delete(cosines[place], place), reverse=True)[:20], abs=1e-11)


def test_the_threads_do_not_change_a_ranking() -> None:
    graph = SnapshotGraph.of(sorted(isa_edges("rrf_open")), identifiers="cui")
    whole = ImageConcepts.read(shared("rocov2/test_concepts.csv.gz"))
    images = dict(list(whole.items())[:600])
    relevances: list[Relevance] = ["bm", "tf-idf"]
    for by in relevances:
        one, several = (
            top_k(images, graph, 30, by=by, nearness=Nearness(unknown="isolated"), resources=Resources(threads=t))
            for t in (1, 3)
        )
        assert dict(one) == dict(several)
