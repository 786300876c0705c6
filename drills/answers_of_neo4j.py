"""Drill: one answer by Cypher. Random releases in Neo4j, alone and behind a service, against the same oracles."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuihop import ConceptGraph, ManyUnknownConcepts, SnapshotGraph, connect
from cuihop.neo4j_graph.releases import remove, stored_releases
from cuihop_server import RunningService, running_service
from cuihop_service.graph_holder import ServedGraph
from cuihop_tools.neo4j_server import SHORT_LIVED, LocalServer
from drills.drawn_release import drawn_release
from drills.drill import Case, Found, Setting
from drills.one_answer import compared, loaded, some_sabs
from drills.one_evaluation import OF_HOPS, OF_SIMILARITY, evaluated
from neo4j_server import connected, stored_graph


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """A database and a service, which have each release in turn."""
    with (
        LocalServer(setting.folder / "neo4j", java_options=SHORT_LIVED) as server,
        connected(server) as connection,
        running_service(SnapshotGraph.of([])) as service,
    ):

        def case(rng: random.Random) -> Found:
            found = of_a_release(server, service, setting.folder / "release", rng)
            for stored in stored_releases(connection):
                if not stored.active:
                    remove(connection, stored.number)
            return found

        yield case


def of_a_release(server: LocalServer, service: RunningService, folder: Path, rng: random.Random) -> Found:
    """The answers of a release that this database and this service get."""
    drawn = drawn_release(rng)
    searched = loaded(drawn.write(folder, rng))
    graph = stored_graph(server, searched, switch=True)
    service.holder.serve(ServedGraph(graph.release, database=graph))
    with (
        graph, connect(service.http) as http, connect(service.grpc) as grpc,
        warnings.catch_warnings(action="ignore", category=ManyUnknownConcepts),
    ):  # fmt: skip
        ways: dict[str, ConceptGraph] = {"search": searched, "Neo4j": graph, "HTTP": http, "gRPC": grpc}
        wrong: list[str] = []
        count = evaluated(drawn, ways, rng, wrong, OF_HOPS)
        in_process = {name: ways[name] for name in ("search", "Neo4j")}  # for similarity, a service needs an index
        count += evaluated(drawn, in_process, rng, wrong, OF_SIMILARITY)
        sabs = some_sabs(drawn, rng)
        if sabs is not None:
            ways = {name: way.within(sorted(sabs)) for name, way in ways.items()}
        found = compared(drawn, sabs, ways, rng)
        return Found(found.tried + count, wrong + found.wrong)
