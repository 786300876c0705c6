"""Drill: a mixed load at four fifths of capacity, for half an hour. No wrong answer, nothing grows."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuihop import ConceptGraph, SnapshotGraph, connect
from cuihop.errors import CuihopError
from cuihop.snapshot.distance_index import index_path
from cuihop.snapshot.index_builder import build_index
from drills.drill import Case, Found, Setting
from drills.served import footprint_in_use, growth, large_graph, measured_program
from waiting import wait_for

_SHARE = 0.8  # of the measured capacity
_CALLERS = 8
_DISTINCT = 200  # requests
_LEFT = 1_000.0  # kilobytes an hour
_LEAST_SECONDS = 120.0  # a shorter load says nothing about an hour
_PART = 45.0  # seconds between two measurements of memory
_LEAST_PARTS = 4
_MOST_SHOWN = 20
_MORE = {"threads": 2 * _CALLERS, "descriptors": 0}  # each worker starts a thread where a caller finds none idle

Ask = Callable[[ConceptGraph], Any]


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """A graph with its index in a file; a case starts a service of its own."""
    path = setting.folder / "graph.cuihop"
    graph = large_graph(5_000 if setting.small else 100_000)
    graph.save(path)
    build_index(graph, roots=16).save(index_path(path))

    def case(rng: random.Random) -> Found:
        return tried(graph, path, rng, 3.0 if setting.small else 1_800.0)

    yield case


def tried(graph: SnapshotGraph, path: Path, rng: random.Random, seconds: float, extra: str = "") -> Found:
    """A load of this time, after one at full capacity for a sixth of it, which the pools and caches fill in.

    The memory in use is measured between the parts of the load, when no request is under way. ``extra``: see
    `measured_program`.
    """
    requests = [_drawn(rng, graph) for _ in range(_DISTINCT)]
    right = [repr(ask(graph)) for ask in requests]
    wrong: list[str] = []
    with measured_program(path, "--workers", "2", extra=extra) as service:
        wait_for(lambda: service.ready_workers() == 2)
        remotes = [connect(f"{way}://{getattr(service, way)}") for way in ("http", "grpc")]

        def load(part: int, length: float, pause: float) -> list[float]:
            """The seconds of each answer; each caller begins a call after each pause, or as soon as it can."""
            begin = time.monotonic()

            def caller(number: int) -> list[float]:
                own, taken, due = random.Random(f"{number} {part}"), [], begin + pause * number / _CALLERS
                while due < begin + length and time.monotonic() < begin + 2 * length:
                    never.wait(max(0.0, due - time.monotonic()))
                    which, started = own.randrange(_DISTINCT), time.monotonic()
                    try:
                        answer = repr(requests[which](remotes[number % 2]))
                    except CuihopError as error:
                        answer = repr(error)
                    if answer != right[which]:
                        wrong.append(f"{requests[which]}: {answer[:200]} in place of {right[which][:200]}")
                    ended = time.monotonic()
                    taken.append(ended - started)
                    due = due + pause if pause else ended
                return taken

            never = threading.Event()
            with ThreadPoolExecutor(_CALLERS) as threads:
                return [each for taken in threads.map(caller, range(_CALLERS)) for each in taken]

        capacity = len(load(0, seconds / 6, 0.0)) / (seconds / 6)
        parts = max(_LEAST_PARTS, round(seconds / _PART))
        held, taken = [footprint_in_use(service, path.parent)], list[float]()
        for part in range(1, parts + 1):
            taken += load(part, seconds / parts, _CALLERS / (_SHARE * capacity))
            held.append(footprint_in_use(service, path.parent))
        for remote in remotes:
            remote.close()
    sizes = [each.kilobytes for each in held]
    slope = growth([number * seconds / parts / 3600 for number in range(parts + 1)], sizes)
    if seconds >= _LEAST_SECONDS and slope.above(_LEFT):
        wrong.append(f"memory grows by {slope.slope:,.0f} kB an hour (error {slope.error:,.0f}): {sizes}")
    for name, more in _MORE.items():
        before, after = getattr(held[0], name), getattr(held[-1], name)
        if after > before + more:
            wrong.append(f"{before} {name} before the load, {after} after it")
    measured = {
        "answers a second at capacity": [capacity], "answers a second": [len(taken) / seconds],
        "s for an answer": taken, "kB in use, more an hour": [slope.slope],
        "kB in use, more an hour, error": [slope.error],
    }  # fmt: skip
    return Found(len(taken), wrong[:_MOST_SHOWN], measured)


def _drawn(rng: random.Random, graph: SnapshotGraph) -> Ask:
    """A question of any kind, whose answer every graph gives alike."""

    def some(number: int) -> list[str]:
        return [f"C{rng.randrange(graph.release.concepts):07d}" for _ in range(number)]

    pairs = list(zip(some(100), some(100), strict=True))
    way, (a, b), cuis, text = rng.choice(("any", "up", "vertical")), some(2), some(20), f"name of {some(1)[0]}"
    return rng.choice([
        lambda graph: graph.distance(a, b, direction=way), lambda graph: graph.distance(a, b),
        lambda graph: graph.distances(pairs, direction=way).to_list(), lambda graph: graph.path(a, b),
        lambda graph: graph.neighbours(cuis, hops=2), lambda graph: graph.concepts(cuis),
        lambda graph: graph.search(text, limit=5), lambda graph: graph.annotate(f"A {text}."),
        lambda graph: graph.pack(sorted(set(cuis)), hops=4).hops.tolist(), lambda graph: graph.resolve(cuis),
    ])  # fmt: skip
