"""Entries that the cache stores, answers that follow from them, and answers that do not."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from concept_graph_contract import small_graphs
from cuihop import Direction, SnapshotGraph
from cuihop.errors import ConceptNotFound, ConceptRetired, InputError, InvalidCui
from cuihop.graph import DIRECTIONS
from cuihop_service.cache import CachedGraph, PairCounts
from cuihop_service.cache.local_cache import (
    NO_PATH,
    answers,
    better_entry,
    entry_beyond,
    pair_key,
    pair_keys,
    within,
)
from cuihop_service.graph_holder import GraphHolder, ServedGraph
from cuihop_service.observe.observation import Observation
from cuihop_service.warm_command import warm_pairs
from example_graph import ISOLATED, UNKNOWN, example_graph
from redis_server import RedisServer

AORTA, HEART_SYSTEM, BRAIN_STEM, HEAD = "C0003483", "C0007226", "C0006121", "C0018670"

bounds = st.none() | st.integers(0, 8)
true_distances = st.none() | st.integers(0, 8)


def entry_of(distance: int | None, bound: int | None) -> int:
    """The entry that a question with this bound leaves behind, where this is the true distance."""
    if distance is not None and (bound is None or distance <= bound):
        return distance
    return NO_PATH if bound is None else entry_beyond(bound)


@given(true_distances, bounds, bounds)
def test_an_entry_answers_what_follows_from_it_and_nothing_else(
    distance: int | None, bound_before: int | None, bound: int | None
) -> None:
    entry = entry_of(distance, bound_before)
    truth = distance if distance is not None and (bound is None or distance <= bound) else None
    found = distance is not None and (bound_before is None or distance <= bound_before)
    follows = found or bound_before is None or (bound is not None and bound <= bound_before)
    assert answers(entry, bound) == follows
    if follows:
        assert within(entry, bound) == truth


@given(true_distances, bounds, bounds)
def test_of_two_entries_the_one_that_answers_more_is_kept(
    distance: int | None, first: int | None, second: int | None
) -> None:
    one, other = entry_of(distance, first), entry_of(distance, second)
    better = better_entry(one, other)
    assert better in {one, other}
    for bound in (None, *range(10)):
        assert answers(better, bound) == (answers(one, bound) or answers(other, bound))


identifiers = st.from_regex(r"[!-:<-{}~]{1,6}", fullmatch=True)
texts = st.text(alphabet="AB|; C0", max_size=4)


@given(st.tuples(identifiers, identifiers), st.tuples(texts, texts), st.sampled_from(["any", "up", "down", "vertical"]))
def test_no_other_question_has_the_key_of_a_pair_of_identifiers(
    pair: tuple[str, str], other: tuple[str, str], direction: Direction
) -> None:
    same: set[tuple[str, str, str]] = {
        "any": {(*pair, "any"), (*pair[::-1], "any")},
        "up": {(*pair, "up"), (*pair[::-1], "down")},
        "down": {(*pair, "down"), (*pair[::-1], "up")},
        "vertical": {(*pair, "vertical"), (*pair[::-1], "vertical")},
    }[direction]
    for (a, b), way in itertools.product((pair, pair[::-1], other), DIRECTIONS):
        assert (pair_key(a, b, way) == pair_key(*pair, direction)) == ((a, b, way) in same)
        assert pair_keys([(a, b)], way) == [pair_key(a, b, way)]


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(small_graphs(), st.sampled_from([1, 3, 1000]), st.data())
def test_any_questions_in_any_order_get_the_plain_graphs_answers(
    drawn: tuple[list[str], list[tuple[str, str]]], room: int, data: st.DataObject
) -> None:
    nodes, edges = drawn
    retired = [("D1", "SY", nodes[0]), ("D2", "SY", nodes[-1]), ("D3", "DEL", "")]
    plain = SnapshotGraph.of(edges, concepts=nodes, retired=retired)
    cached = CachedGraph(plain, entries=room)
    cui = st.sampled_from([*nodes, *nodes, "D1", "D2"])
    batches = st.lists(st.tuples(cui, cui), max_size=8)
    faulty = st.tuples(cui, st.sampled_from(["D3", "nowhere", "not an identifier"]))
    for _ in range(data.draw(st.integers(1, 8))):
        pairs = data.draw(batches)
        direction, bound = data.draw(st.sampled_from(DIRECTIONS)), data.draw(bounds)
        expected = plain.distances(pairs, direction=direction, max_hops=bound)
        answer = cached.answered(pairs, direction=direction, max_hops=bound).distances
        assert answer == expected
        assert answer.merged == expected.merged
        assert (answer.direction, answer.max_hops) == (expected.direction, expected.max_hops)
        for (a, b), hops in zip(pairs, expected, strict=True):
            assert cached.distance(a, b, direction=direction, max_hops=bound) == hops
        if data.draw(st.booleans()):
            pairs.insert(data.draw(st.integers(0, len(pairs))), data.draw(faulty))
            with pytest.raises((InvalidCui, ConceptNotFound, ConceptRetired)) as by_plain:
                plain.distances(pairs, direction=direction, max_hops=bound)
            with pytest.raises(type(by_plain.value)) as by_cached:
                cached.distances(pairs, direction=direction, max_hops=bound)
            assert (str(by_cached.value), by_cached.value.cuis) == (str(by_plain.value), by_plain.value.cuis)
    assert len(cached._flights) == 0
    assert cached.entries <= room


def test_a_second_question_is_answered_from_the_cache_and_says_so() -> None:
    graph = CachedGraph(example_graph())
    pairs = [(AORTA, HEART_SYSTEM), (BRAIN_STEM, HEAD), (BRAIN_STEM, ISOLATED)]
    assert graph.answered(pairs[:2]).from_cache.tolist() == [False, False]
    again = graph.answered(pairs)
    assert again.distances == [3, 3, None]
    assert again.from_cache.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("first", "then", "is_cached"),
    [
        (("any", AORTA, HEART_SYSTEM), ("any", HEART_SYSTEM, AORTA), True),
        (("up", AORTA, HEART_SYSTEM), ("down", HEART_SYSTEM, AORTA), True),
        (("down", AORTA, HEART_SYSTEM), ("up", HEART_SYSTEM, AORTA), True),
        (("up", AORTA, HEART_SYSTEM), ("up", HEART_SYSTEM, AORTA), False),
        (("up", AORTA, HEART_SYSTEM), ("any", AORTA, HEART_SYSTEM), False),
    ],
)
def test_pairs_share_an_entry_where_their_distance_is_one(
    first: tuple[Direction, str, str], then: tuple[Direction, str, str], is_cached: bool
) -> None:
    graph = CachedGraph(example_graph())
    for (direction, a, b), from_cache in [(first, False), (then, is_cached)]:
        assert graph.answered([(a, b)], direction=direction).from_cache.tolist() == [from_cache]


@pytest.mark.parametrize(
    ("first", "then", "is_cached"),
    [(None, 2, True), (None, 5, True), (3, None, True), (2, 1, True), (2, 2, True), (2, 3, False), (2, None, False)],
)
def test_one_entry_serves_every_bound_that_follows_from_it(
    first: int | None, then: int | None, is_cached: bool
) -> None:
    graph = CachedGraph(example_graph())  # the two are three hops apart
    graph.distance(AORTA, HEART_SYSTEM, max_hops=first)
    assert graph.answered([(AORTA, HEART_SYSTEM)], max_hops=then).from_cache.tolist() == [is_cached]
    assert graph.answered([(HEART_SYSTEM, AORTA)], max_hops=then).from_cache.tolist() == [True]


def test_a_bound_longer_than_any_path_is_none() -> None:
    graph = CachedGraph(example_graph())
    assert graph.distance(BRAIN_STEM, ISOLATED, max_hops=10**30) is None
    assert graph.answered([(BRAIN_STEM, ISOLATED)]).from_cache.tolist() == [True]


def test_an_unknown_concept_is_asked_of_the_graph_each_time() -> None:
    graph = CachedGraph(example_graph())
    for _ in range(2):
        for pair in [(UNKNOWN, UNKNOWN), (BRAIN_STEM, UNKNOWN)]:
            with pytest.raises(ConceptNotFound, match=UNKNOWN):
                graph.distance(*pair)
    assert graph.entries == 0


def test_an_answer_from_the_cache_still_tells_what_was_merged() -> None:
    graph = CachedGraph(example_graph())
    for from_cache in (False, True):
        answer = graph.answered([("C9000901", "C0005847")])
        assert answer.distances == [1]
        assert answer.distances.merged == {"C9000901": "C0042449"}
        assert answer.from_cache.tolist() == [from_cache]
    assert graph.answered([("C0042449", "C0005847")]).from_cache.tolist() == [True]
    assert graph.distances([("C0042449", "C0005847")]).merged == {}
    assert graph.distance("C9000901", "C0042449") == 0


def test_the_least_recently_asked_pair_goes_first() -> None:
    graph = CachedGraph(example_graph(), entries=2)
    graph.distance(AORTA, HEART_SYSTEM)
    graph.distance(BRAIN_STEM, HEAD)
    graph.distance(AORTA, HEART_SYSTEM)
    graph.distance(BRAIN_STEM, ISOLATED)
    found = graph.answered([(AORTA, HEART_SYSTEM), (BRAIN_STEM, ISOLATED), (BRAIN_STEM, HEAD)])
    assert found.from_cache.tolist() == [True, True, False]
    assert graph.entries == 2


def test_a_cache_without_room_is_refused() -> None:
    with pytest.raises(InputError, match="no room"):
        CachedGraph(example_graph(), entries=0)


def test_the_numbers_add_up_to_the_pairs_asked(redis_server: RedisServer) -> None:
    from cuihop_service.cache.redis_cache import RedisCache

    shared = RedisCache(redis_server.address, timeout=5.0)
    snapshot = SnapshotGraph.of([("C1", "C2"), ("C2", "C3")], name="for the numbers")
    CachedGraph(snapshot, shared=shared).distance("C1", "C3")
    graph = CachedGraph(snapshot, entries=10, shared=shared)
    graph.distances([("C1", "C3"), ("C1", "C2"), ("C2", "C1"), ("C1", "C3")])
    graph.distances([("C1", "C3"), ("C1", "C2")])
    graph.distance("C2", "C1")
    assert graph.counts.numbers() == {"memory_hits": 3, "shared_hits": 2, "collapsed": 1, "misses": 1}
    assert graph.entries == 2
    calls = shared.statistics
    assert (calls.reads, calls.writes, calls.errors) == (2, 2, 0)
    shared.close()


def test_a_batch_of_which_a_part_is_in_memory_counts_each_pair_once() -> None:
    names = [f"C{i}" for i in range(6)]
    graph = CachedGraph(SnapshotGraph.of(list(itertools.pairwise(names))))
    graph.distances([("C0", "C1"), ("C0", "C2")], max_hops=2)
    for pairs, memory_hits, collapsed, misses in (
        ([("C0", "C1"), ("C0", "C3"), ("C2", "C0"), ("C1", "C0")], 3, 0, 3),
        ([("C0", "C1"), ("C4", "C5"), ("C5", "C4")], 4, 1, 4),
        ([("C0", "C5")], 4, 1, 5),
        ([("C0", "C5"), ("C0", "C5")], 6, 1, 5),
    ):
        graph.distances(pairs)
        numbers = graph.counts.numbers()
        assert (numbers["memory_hits"], numbers["collapsed"], numbers["misses"]) == (memory_hits, collapsed, misses)
    graph.distance("C5", "C0")
    assert graph.counts.numbers()["memory_hits"] == 7


def test_the_metrics_tell_what_came_from_memory() -> None:
    counts, holder = PairCounts(), GraphHolder()
    graph = CachedGraph(SnapshotGraph.of([("C1", "C2"), ("C2", "C3")]), counts=counts)
    holder.serve(ServedGraph(graph.release, database=graph, cached=graph))
    metrics = Observation(holder, counts=counts).metrics
    for pairs in ([("C1", "C2")], [("C1", "C2"), ("C1", "C3")], [("C2", "C1"), ("C1", "C2")]):
        graph.distances(pairs)
        metrics.refresh()
    text = metrics.text()[0].decode()
    assert 'cuihop_cache_pairs_total{source="memory"} 3.0' in text
    assert 'cuihop_cache_pairs_total{source="computed"} 2.0' in text


def test_warming_asks_every_pair_once_and_tells_how_far_it_is() -> None:
    graph = CachedGraph(example_graph())
    cuis = [AORTA, HEART_SYSTEM, "C9000901", "C0042449", AORTA]
    steps: list[tuple[int, int]] = []
    warmed = warm_pairs(graph, cuis, progress=lambda done, total: steps.append((done, total)))
    assert (warmed.concepts, warmed.pairs, warmed.cached) == (3, 3, 0)
    assert steps == [(0, 3), (3, 3)]
    assert warm_pairs(graph, cuis, max_hops=2).cached == 3
    assert warm_pairs(graph, cuis, direction="up").pairs == 6
    assert warm_pairs(graph, [cuis[0]]).pairs == 0


def test_warming_names_every_concept_that_is_not_there_and_asks_nothing() -> None:
    graph = CachedGraph(example_graph())
    with pytest.raises(ConceptNotFound, match=f"{UNKNOWN}, C9999998"):
        warm_pairs(graph, [AORTA, UNKNOWN, HEART_SYSTEM, "C9999998"])
    assert graph.entries == 0


def test_warming_that_is_interrupted_keeps_what_it_did() -> None:
    count = 200
    graph = CachedGraph(SnapshotGraph.of([(f"C{i}", f"C{i + 1}") for i in range(count - 1)]))
    cuis = [f"C{i}" for i in range(count)]

    def interrupt(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        warm_pairs(graph, cuis, progress=interrupt)
    done = graph.entries
    assert 0 < done < count * (count - 1) // 2
    assert warm_pairs(graph, cuis).cached == done
    assert graph.entries == count * (count - 1) // 2
