"""Drill: a switch of releases in Neo4j is killed, or its connection fails, at one call. Readers get the old or the new.

strace, a Debian package, makes the faults: the Nth call of a kind gets SIGKILL or an error.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from cuihop import SnapshotGraph
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import SHORT_LIVED, LocalServer
from drills.drill import Case, Found, NumberedRandom, Setting
from drills.faults_of_files import check_strace, has_crashed, has_failed, injecting, noted, noting, shuffled
from drills.served import large_graph
from neo4j_server import connected

_CALLS = ("connect", "sendto", "recvfrom")
_FAULTS = ("signal=KILL", "error=ECONNRESET", "error=ETIMEDOUT", "error=EPIPE")
_MOST_SECONDS = 120
_LABELLED = "MATCH (c:Concept) RETURN c.release AS release, count(c) AS concepts"


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """A database with two releases; each case switches to the one that is not active."""
    check_strace()
    with LocalServer(setting.folder / "neo4j", java_options=SHORT_LIVED) as server:
        with connected(server) as connection:
            graphs = {
                load_online(graph.sections, connection).number: graph for graph in map(large_graph, (2_000, 3_000))
            }
        one, other = graphs
        log = server.home / "calls"

        def points(number: int) -> list[tuple[int, str]]:
            """Every fault of a switch to this release."""
            done = _switch(server, number, noting(_CALLS, log))
            if done.returncode:
                raise SystemExit(f"a switch fails without a fault: {done.stderr}")
            return [(number, f"{call}:{fault}:when={when}") for call, when, _ in noted(log) for fault in _FAULTS]

        @cache
        def every_point() -> list[tuple[int, str]]:
            return shuffled([*points(one), *points(other)])

        def case(rng: NumberedRandom) -> Found:
            new, point = every_point()[rng.number % len(every_point())]
            wrong = list(faulty(server, graphs, one + other - new, new, point, rng))
            return Found(int(has_failed(log)), [f"{point}: {text}" for text in wrong])

        yield case


def faulty(
    server: LocalServer, graphs: dict[int, SnapshotGraph], old: int, new: int, fault: str, rng: random.Random
) -> Iterator[str]:
    """The faults after a switch with this fault, and after the same switch without it."""
    _switch(server, old)
    done = _switch(server, new, injecting(fault, server.home / "calls"))
    if has_crashed(done.stderr):
        yield done.stderr[-1500:]
    if done.returncode > 0 and not done.stderr.strip():
        yield f"exit {done.returncode} without a word"
    yield from _read(server, graphs, [new] if done.returncode == 0 else [old, new], rng)
    again = _switch(server, new)
    if again.returncode:
        yield f"then the same switch fails: {again.stderr[-500:]}"
    yield from _read(server, graphs, [new], rng)
    with connected(server) as connection:
        labelled = {row["release"]: row["concepts"] for row in connection.run_alone(_LABELLED)}
    if labelled != {new: graphs[new].release.concepts}:
        yield f"then the label is at {labelled}"


def _read(
    server: LocalServer, graphs: dict[int, SnapshotGraph], allowed: Sequence[int], rng: random.Random
) -> Iterator[str]:
    """A sentence for each answer that a reader gets and that is of none of these releases."""
    with Neo4jGraph(connected(server)) as graph:
        if graph.number not in allowed:
            yield f"readers get release {graph.number}, none of {allowed}"
        least = min(each.release.concepts for each in graphs.values())
        pairs = [(f"C{rng.randrange(least):07d}", f"C{rng.randrange(least):07d}") for _ in range(5)]
        found, expected = graph.distances(pairs), graphs[graph.number].distances(pairs)
        if list(found) != list(expected):
            yield f"{pairs}: {found} in place of {expected}"


def _switch(server: LocalServer, number: int, tracing: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuihop", "neo4j", "releases", "switch", str(number), "--graph", server.address]
    return subprocess.run(
        [*tracing, *command],
        env=os.environ | {"NEO4J_PASSWORD_FILE": str(server.home / "password")},
        capture_output=True, text=True, check=False, timeout=_MOST_SECONDS,
    )  # fmt: skip
