"""The memory budget: parsed, respected, refused with a message; and numbers do not depend on it."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collections_made import Case, cases
from cuihop import SnapshotGraph
from cuihop._kernels import relevance
from cuihop._kernels.relevance import counter_type
from cuihop.collection.dataset import Dataset
from cuihop.collection.image_concepts import ImageConcepts
from cuihop.errors import InputError, LimitExceeded
from cuihop.evaluation.evaluate import evaluate
from cuihop.evaluation.result import Evaluation
from cuihop.measures.nearness import Nearness
from cuihop.relevance import concept_sets
from cuihop.relevance.baselines import random_ranking, top_k
from cuihop.resources.memory_budget import MemoryBudget
from cuihop.resources.resources import Resources
from examples import examples
from literal_algorithms import ndcg_of_each_query, nn_iou
from real_graphs import isa_edges
from shared_data import shared


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("2 gb", 2 * 10**9), ("1.5GiB", 3 * 2**29), ("500M", 5 * 10**8), ("64", 64), (4096, 4096)],
)
def test_amounts_are_read(text: str | int, size: int) -> None:
    assert MemoryBudget.of(text).allowed == size


@pytest.mark.parametrize("amount", ["", "much", "-1GB", "0", 0, -5, "2 GB or so", "1e9", True, "GB", "1.GB"])
def test_what_is_no_amount_is_refused(amount: str | int) -> None:
    with pytest.raises(InputError, match="memory"):
        MemoryBudget.of(amount)


def test_a_refusal_says_what_would_do() -> None:
    budget = MemoryBudget.of("1MB")
    budget.take("names", 300_000)
    with pytest.raises(LimitExceeded, match="of it for rankings") as refused:
        budget.take("rankings", 5_000_000)
    enough = re.search(r"--memory (\S+)\)", str(refused.value))
    assert enough is not None
    assert MemoryBudget.of(enough[1]).allowed >= 5_300_000


@pytest.fixture(scope="module")
def open_graph() -> SnapshotGraph:
    return SnapshotGraph.of(isa_edges("rrf_open"), name="open", identifiers="cui")


@pytest.fixture(scope="module")
def images() -> dict[str, frozenset[str]]:
    everything = ImageConcepts.read(shared("rocov2/test_concepts.csv.gz"))
    return {image: everything[image] for image in random.Random(5).sample(sorted(everything), 3000)}


def scored(images: dict[str, frozenset[str]], graph: SnapshotGraph, memory: int | str) -> Evaluation:
    ranking = random_ranking(images, 30)
    return evaluate(
        images,
        ranking,
        graph,
        measures=["nn-CUI@5,30", "CUI@10"],
        nearness=Nearness(n=2, unknown="isolated"),
        resources=Resources(memory=memory),
    )


@pytest.mark.slow
def test_with_as_little_as_is_accepted_the_numbers_are_the_same(
    open_graph: SnapshotGraph, images: dict[str, frozenset[str]]
) -> None:
    """Rows and lines that do not fit are made again for each query; one thread works where two do not fit."""
    expected = scored(images, open_graph, "2GB")
    tried = 100_000
    accepted: list[int] = []
    while len(accepted) < 4:
        try:
            found = scored(images, open_graph, tried)
        except LimitExceeded:
            tried = int(tried * 1.25)
            continue
        accepted.append(tried)
        assert found.values.tobytes() == expected.values.tobytes(), tried
        tried = int(tried * 1.1)
    assert 2_000_000 < accepted[0] < 10_000_000


def test_what_a_refusal_names_is_accepted_in_the_end(
    open_graph: SnapshotGraph, images: dict[str, frozenset[str]]
) -> None:
    allowed = "10kB"
    for _ in range(8):
        try:
            scored(images, open_graph, allowed)
        except LimitExceeded as refused:
            enough = re.search(r"--memory (\S+)\)", str(refused))
            assert enough is not None
            assert MemoryBudget.of(enough[1]).allowed > MemoryBudget.of(allowed).allowed
            allowed = enough[1]
        else:
            return
    pytest.fail(f"still refused with {allowed}")


def test_rankings_that_do_not_fit_are_refused(images: dict[str, frozenset[str]]) -> None:
    with pytest.raises(LimitExceeded, match="for rankings"):
        random_ranking(images, 3000, memory="10MB")
    with pytest.raises(LimitExceeded, match="for rankings"):
        top_k(images, None, 3000, by="iou", resources=Resources(memory="20MB"))


small = settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["lines", "rows", "nothing kept", "large counters"])
@small
@given(cases())
def test_every_way_of_counting_gives_the_literal_values(monkeypatch: pytest.MonkeyPatch, way: str, case: Case) -> None:
    monkeypatch.setattr(concept_sets, "_SETS_OF_A_ROW", 0 if way == "rows" else 10**6)
    if way == "nothing kept":
        monkeypatch.setattr(MemoryBudget, "left", property(lambda self: 0))
    if way == "large counters":
        monkeypatch.setattr(relevance, "counter_type", lambda *sizes: np.uint32)
    dist = case.distance()
    with case.graph as graph:
        found = evaluate(
            Dataset(case.queries, case.corpus),
            case.ranking,
            graph,
            measures="nn-CUI@1,3",
            missing="zero",
            nearness=Nearness(n=case.n, lam=case.lam, direction=case.direction, unknown="isolated"),
            resources=Resources(threads=1),
        )
    for column, k in enumerate((1, 3)):
        expected = ndcg_of_each_query(
            case.queries, case.held, case.ranking, k, lambda A, B: nn_iou(A, B, dist, case.n, case.lam)
        )
        values = dict(zip(found.queries, found.values[:, column].tolist(), strict=True))
        assert values == pytest.approx({query: value or 0.0 for query, value in expected.items()}, abs=1e-12)


def test_counters_are_as_small_as_the_sets_allow() -> None:
    assert [counter_type(*sizes) for sizes in ((100, 155), (100, 156), (65_000, 535), (65_000, 536))] == [
        np.uint8, np.uint16, np.uint16, np.uint32
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("largest", [120, 200])
@settings(max_examples=examples(3))
@given(st.integers(0, 2**32))
def test_counters_hold_sets_of_any_size(largest: int, seed: int) -> None:
    """|rel| up to 240 fits a byte, up to 400 does not."""
    rng = np.random.default_rng(seed)
    cuis = [f"C{i:07d}" for i in range(2 * largest)]
    # Each concept of the first half is next to its fellow in the second: all of both sets is near.
    graph = SnapshotGraph.of(list(zip(cuis[:largest], cuis[largest:], strict=True)))
    images = {
        "first": frozenset(cuis[:largest]),
        "second": frozenset(cuis[largest:]),
        "half": frozenset(cuis[largest // 2 : -largest // 2]),
        **{f"some {i}": frozenset(cuis[j] for j in rng.choice(2 * largest, largest, replace=False)) for i in range(4)},
    }
    fellow = {**dict(zip(cuis, cuis[largest:] + cuis[:largest], strict=True))}

    def gain(query: str, image: str) -> float:
        A, B = images[query], images[image]
        near = {a for a in A - B if fellow[a] in B} | {b for b in B - A if fellow[b] in A}
        return (len(A & B) + 0.5 * len(near)) / len(A | B)

    best = evaluate(images, {i: [] for i in images}, graph, measures="nn-CUI@1", missing="zero").best_gains["nn-IoU"]
    for query, found in zip(images, best.tolist(), strict=True):
        assert found == pytest.approx(max(gain(query, image) for image in images if image != query), abs=1e-12)
    assert gain("first", "second") == 0.5


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux reports the peak of a process")
def test_memory_stays_within_what_is_allowed() -> None:
    """The peak of a process grows by no more than it was allowed, with neighbourhoods that reach nearly everything."""
    program = textwrap.dedent("""
        import random, sys
        from pathlib import Path
        from cuihop import SnapshotGraph
        from cuihop.relevance.baselines import top_k
        from cuihop.evaluation.evaluate import evaluate
        from cuihop.measures.nearness import Nearness
        from cuihop.resources.resources import Resources
        rng = random.Random(3)
        cuis = [f"C{i:07d}" for i in range(4000)]
        graph = SnapshotGraph.of([(rng.choice(cuis), rng.choice(cuis)) for _ in range(8000)], concepts=cuis)
        images = {f"i{i}": frozenset(rng.sample(cuis, 3)) for i in range(12_000)}
        few = dict(list(images.items())[:50])
        evaluate(few, top_k(few, graph, 5, nearness=Nearness(4)), graph, nearness=Nearness(4))
        ranking = {image: [] for image in images}
        allowed = int(sys.argv[1])
        def peak():  # not ru_maxrss, which begins with that of the process that started this one
            lines = Path("/proc/self/status").read_text().splitlines()
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
        before = peak()
        evaluate(images, ranking, graph, nearness=Nearness(4), resources=Resources(memory=allowed),
                 measures="nn-CUI@30", missing="zero")
        print(peak() - before)
    """)
    for allowed in (60_000_000, 120_000_000):
        done = subprocess.run([sys.executable, "-c", program, str(allowed)], capture_output=True, text=True, check=True)
        assert 10_000_000 < int(done.stdout) <= allowed
