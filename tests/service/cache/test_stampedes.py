"""The same pair asked by many at once is computed once, and nobody waits in vain."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cuihop.errors import ConceptNotFound, GraphError, GraphUnavailable, QueryTimedOut
from cuihop_service.cache import CachedGraph
from example_graph import ISOLATED, UNKNOWN, example_graph
from service.cache.slow_graph import SlowGraph
from waiting import wait_for

AORTA, HEART_SYSTEM, BRAIN_STEM, HEAD, VEINS = "C0003483", "C0007226", "C0006121", "C0018670", "C0042449"
PATIENCE = 30


@pytest.fixture
def slow() -> SlowGraph:
    return SlowGraph(example_graph().sections)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(40) as threads:
        yield threads


def wait_until(graph: CachedGraph, waiting: int) -> None:
    """Wait until this many calls wait for the computation of another."""

    def enough_wait() -> bool:
        under_way = {id(flight): flight for flight in graph._flights._under_way.values()}.values()
        conditions: list[Any] = [vars(flight.landed)["_cond"] for flight in under_way]
        return sum(len(condition._waiters) for condition in conditions) == waiting

    wait_for(enough_wait)


def test_a_pair_that_many_ask_for_at_once_is_computed_once(slow: SlowGraph, pool: ThreadPoolExecutor) -> None:
    graph = CachedGraph(slow)
    calls = [pool.submit(graph.distance, AORTA, HEART_SYSTEM, direction="up")]
    assert slow.begun.acquire(timeout=PATIENCE)
    for _ in range(15):
        calls.append(pool.submit(graph.distance, AORTA, HEART_SYSTEM, direction="up"))
        calls.append(pool.submit(graph.distance, HEART_SYSTEM, AORTA, direction="down", max_hops=5))
    wait_until(graph, 30)
    slow.go.set()
    assert [call.result(PATIENCE) for call in calls] == [3] * 31
    assert slow.asked == [[(AORTA, HEART_SYSTEM)]]
    numbers = graph.counts.numbers()
    assert (numbers["misses"], numbers["collapsed"]) == (1, 30)


def test_a_call_that_looks_further_does_not_wait_for_one_that_stops_early(
    slow: SlowGraph, pool: ThreadPoolExecutor
) -> None:
    graph = CachedGraph(slow)
    near = pool.submit(graph.distance, AORTA, HEART_SYSTEM, max_hops=2)
    assert slow.begun.acquire(timeout=PATIENCE)
    far = pool.submit(graph.distance, AORTA, HEART_SYSTEM)
    assert slow.begun.acquire(timeout=PATIENCE)  # both compute
    slow.go.set()
    assert (near.result(PATIENCE), far.result(PATIENCE)) == (None, 3)
    assert graph.distance(AORTA, HEART_SYSTEM, max_hops=3) == 3
    assert len(slow.asked) == 2


def test_two_batches_that_need_one_another_both_end(slow: SlowGraph, pool: ThreadPoolExecutor) -> None:
    graph = CachedGraph(slow)
    one = [(AORTA, HEART_SYSTEM), (BRAIN_STEM, HEAD)]
    other = [(BRAIN_STEM, ISOLATED), (AORTA, HEART_SYSTEM)]
    first = pool.submit(graph.answered, one)
    assert slow.begun.acquire(timeout=PATIENCE)
    second = pool.submit(graph.answered, other)
    assert slow.begun.acquire(timeout=PATIENCE)
    third = pool.submit(graph.answered, [*one, *other])
    wait_until(graph, 1)
    slow.go.set()
    answers = [call.result(PATIENCE).distances for call in (first, second, third)]
    assert answers == [[3, 3], [None, 3], [3, 3, None, 3]]
    assert sorted(pair for batch in slow.asked for pair in batch) == sorted({*one, *other})


def test_many_overlapping_batches_in_many_threads_all_end_with_the_right_answers(pool: ThreadPoolExecutor) -> None:
    plain = example_graph()
    cuis = [AORTA, HEART_SYSTEM, BRAIN_STEM, HEAD, VEINS, ISOLATED, "C0005847", "C9000901", "C9000001", "C9000002"]
    pairs = [(a, b) for a in cuis for b in cuis]
    expected = dict(zip(pairs, plain.distances(pairs), strict=True))
    for entries in (3, 1000):
        graph = CachedGraph(plain, entries=entries)
        begin = threading.Barrier(32)

        def ask(number: int, graph: CachedGraph = graph, begin: threading.Barrier = begin) -> int:
            begin.wait(PATIENCE)
            wrong = 0
            for turn in range(20):
                batch = pairs[(number * 7 + turn) % 50 :: 1 + turn % 3]
                answer = graph.answered(batch).distances
                wrong += list(answer) != [expected[pair] for pair in batch]
                wrong += ("C9000901" in answer.merged) != any("C9000901" in pair for pair in batch)
            return wrong

        assert sum(pool.map(ask, range(32), timeout=PATIENCE)) == 0
        assert len(graph._flights) == 0


def test_one_pair_does_not_wait_for_a_large_batch(slow: SlowGraph, pool: ThreadPoolExecutor) -> None:
    graph = CachedGraph(slow)
    cuis = ["C0006121", "C0006104", "C0926510", "C0018670", "C0042449", "C0005847", "C0003842"]
    many = [(a, b) for a in cuis for b in cuis if a < b]
    batch = pool.submit(graph.answered, many)
    assert slow.begun.acquire(timeout=PATIENCE)
    single = pool.submit(graph.distance, *many[0])
    assert slow.begun.acquire(timeout=PATIENCE)
    slow.go.set()
    assert single.result(PATIENCE) == batch.result(PATIENCE).distances[0]
    assert slow.asked == [many, many[:1]]


@pytest.mark.parametrize("kind", [GraphUnavailable, QueryTimedOut])
def test_a_graph_that_fails_is_told_to_all_who_wait_and_asked_anew_by_whoever_comes_later(
    slow: SlowGraph, pool: ThreadPoolExecutor, kind: type[GraphError]
) -> None:
    graph = CachedGraph(slow)
    slow.error = kind("the server is gone")
    calls = [pool.submit(graph.answered, [(AORTA, HEART_SYSTEM)])]
    assert slow.begun.acquire(timeout=PATIENCE)
    calls += [pool.submit(graph.answered, [(AORTA, HEART_SYSTEM)]) for _ in range(4)]
    wait_until(graph, 4)
    slow.go.set()
    for call in calls:
        with pytest.raises(kind, match="the server is gone"):
            call.result(PATIENCE)
    assert len(slow.asked) == 1
    slow.error = None
    assert graph.distance(AORTA, HEART_SYSTEM) == 3


def test_what_went_wrong_for_one_alone_the_others_compute_themselves(slow: SlowGraph, pool: ThreadPoolExecutor) -> None:
    graph = CachedGraph(slow)
    doomed = pool.submit(graph.answered, [(AORTA, HEART_SYSTEM), (BRAIN_STEM, UNKNOWN)])
    assert slow.begun.acquire(timeout=PATIENCE)
    innocent = pool.submit(graph.answered, [(AORTA, HEART_SYSTEM), (BRAIN_STEM, HEAD)])
    assert slow.begun.acquire(timeout=PATIENCE)
    slow.go.set()
    with pytest.raises(ConceptNotFound) as caught:
        doomed.result(PATIENCE)
    assert caught.value.cuis == (UNKNOWN,)
    assert innocent.result(PATIENCE).distances == [3, 3]


def test_every_concept_at_fault_is_named_whoever_computes_its_pair(slow: SlowGraph, pool: ThreadPoolExecutor) -> None:
    graph = CachedGraph(slow)
    first = pool.submit(graph.answered, [(AORTA, UNKNOWN)])
    assert slow.begun.acquire(timeout=PATIENCE)
    second = pool.submit(graph.answered, [(AORTA, "C9999997"), (AORTA, UNKNOWN)])
    assert slow.begun.acquire(timeout=PATIENCE)
    slow.go.set()
    for call, faults in [(first, (UNKNOWN,)), (second, ("C9999997", UNKNOWN))]:
        with pytest.raises(ConceptNotFound) as caught:
            call.result(PATIENCE)
        assert caught.value.cuis == faults


def test_whoever_has_a_deadline_does_not_wait_for_ever(slow: SlowGraph, pool: ThreadPoolExecutor) -> None:
    graph = CachedGraph(slow)
    computing = pool.submit(graph.distance, AORTA, HEART_SYSTEM)
    assert slow.begun.acquire(timeout=PATIENCE)
    with pytest.raises(QueryTimedOut, match="another call"):
        graph.answered([(AORTA, HEART_SYSTEM)], timeout=0.05)
    slow.go.set()
    assert computing.result(PATIENCE) == 3
    assert graph.answered([(AORTA, HEART_SYSTEM)], timeout=0.0).distances == [3]
