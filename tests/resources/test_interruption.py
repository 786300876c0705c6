"""Long work ends between two blocks of it when its deadline has passed."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from cuihop import SnapshotGraph
from cuihop.graph import ConceptGraph
from cuihop.resources.cores import in_threads, meanwhile
from cuihop.resources.progress import check_interruption, interrupted_by
from cuihop.similarity.options import SimilarityOptions
from cuihop.snapshot.index_builder import build_index


class Stopped(Exception):
    """The work was stopped."""


class Countdown:
    """Stops the work at a given check, and counts all checks."""

    def __init__(self, checks: int) -> None:
        self.checks = 0
        self._last = checks
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.checks += 1
            if self.checks > self._last:
                raise Stopped


@pytest.fixture(scope="module")
def chain() -> tuple[SnapshotGraph, list[str]]:
    names = [f"C{i:07d}" for i in range(600)]
    return SnapshotGraph.of([(names[i], names[i + 1]) for i in range(599)], identifiers="cui"), names


def long_operations(graph: ConceptGraph, names: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    pairs = [(a, b) for a in names[:150] for b in names[-150:]]
    yield "pack of few hops", lambda: graph.pack(names, hops=3)
    yield "pack of many hops", lambda: graph.pack(names, hops=254)
    yield "pack of all hops", lambda: graph.pack(names, hops=255)
    yield "distances", lambda: graph.distances(pairs)
    yield "neighbours", lambda: graph.neighbours(names, hops=None)


@pytest.mark.slow
def test_every_long_operation_stops_between_two_blocks(chain: tuple[SnapshotGraph, list[str]]) -> None:
    graph, names = chain
    for name, work in long_operations(graph, names):
        free = Countdown(10**9)
        with interrupted_by(free):
            expected = work()
        assert free.checks >= 3, name
        for checks in (0, 1, 2):
            with pytest.raises(Stopped), interrupted_by(Countdown(checks)):
                work()
        again = work()  # what was stopped leaves nothing behind
        assert str(again) == str(expected), name


def test_a_pack_read_from_the_index_stops_too() -> None:
    names = [f"C{i:07d}" for i in range(600)]
    indexed = SnapshotGraph.of([(names[i], names[i // 2]) for i in range(1, 600)], identifiers="cui")
    indexed.use_index(build_index(indexed))
    free = Countdown(10**9)
    with interrupted_by(free):
        indexed.pack(names, hops=254)
    assert free.checks >= 3
    with pytest.raises(Stopped), interrupted_by(Countdown(2)):
        indexed.pack(names, hops=254)


def test_a_search_from_many_sources_is_looked_at_after_each_hop(chain: tuple[SnapshotGraph, list[str]]) -> None:
    graph, names = chain
    free = Countdown(10**9)
    with interrupted_by(free):
        graph.pack(names[:64], hops=250)
    assert free.checks >= 64  # the sixty-fourth concept is as many hops from the first


def test_pairs_that_may_each_take_long_are_few_in_a_compiled_call(chain: tuple[SnapshotGraph, list[str]]) -> None:
    graph, names = chain
    pairs = [(a, b) for a in names[:50] for b in names[-20:]]
    sets = [([a], [b]) for a, b in pairs]
    operations: list[Callable[[], Any]] = [
        lambda: graph.distances(pairs),
        lambda: graph.hierarchy.similarities(pairs, SimilarityOptions("Resnik")),
        lambda: graph.hierarchy.set_similarities(sets, SimilarityOptions("simUI")),
    ]
    for work in operations:
        free = Countdown(10**9)
        with interrupted_by(free):
            work()
        assert free.checks >= 5  # of a thousand pairs


def test_an_end_of_the_loop_is_noticed_in_the_other_threads() -> None:
    begun = threading.Event()

    def part(number: int) -> None:
        if number == 0:
            begun.wait(60)
            raise KeyboardInterrupt
        begun.set()
        while True:
            check_interruption()

    with pytest.raises(KeyboardInterrupt):
        in_threads(part, range(2), 2)


def test_threads_ask_what_their_caller_asks() -> None:
    seen = []

    def part(number: int) -> None:
        check_interruption()
        seen.append(number)

    with pytest.raises(Stopped), interrupted_by(Countdown(0)):
        in_threads(part, range(8), 4)
    assert seen == []
    in_threads(part, range(8), 4)
    assert sorted(seen) == list(range(8))


def checked_for_ever() -> None:
    while True:
        check_interruption()


def test_an_error_in_another_thread_ends_the_block_at_its_next_check() -> None:
    with pytest.raises(MemoryError), meanwhile(lambda: np.empty(1 << 55)):
        checked_for_ever()
    check_interruption()  # no longer


def test_an_interrupt_of_the_block_ends_the_other_thread_at_its_next_check() -> None:
    begun, ended = threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        try:
            checked_for_ever()
        finally:
            ended.set()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), meanwhile(call):
            _ = begun.wait(60) and signal.raise_signal(signal.SIGINT)  # type: ignore[func-returns-value]
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.is_set()


def test_the_check_of_the_caller_ends_both_threads() -> None:
    with pytest.raises(Stopped), interrupted_by(Countdown(100)), meanwhile(checked_for_ever) as result:
        result()
    with pytest.raises(Stopped), interrupted_by(Countdown(1)), meanwhile(lambda: 1):
        checked_for_ever()


def test_a_deadline_ends_a_pack_within_a_moment_of_its_time() -> None:
    concepts = 60_000
    draw = np.random.default_rng(3)
    parents = (draw.random(concepts) * np.arange(concepts)).astype(int).tolist()
    names = [f"C{i:07d}" for i in range(concepts)]
    graph = SnapshotGraph.of([(names[i], names[parents[i]]) for i in range(1, concepts)], identifiers="cui")
    graph.pack(names[:1], hops=255)  # compiled
    begun = time.monotonic()

    def overdue() -> None:
        if time.monotonic() > begun + 0.5:
            raise Stopped

    with pytest.raises(Stopped), interrupted_by(overdue):
        graph.pack(names[:5_000], hops=255)  # alone, many seconds
    assert time.monotonic() - begun < 5.0
