"""A million answers, asked at the same time in every way there is: not one may differ from the graph's own distances.

The reference is made by scipy's breadth-first search over the whole graph, which knows nothing of ours. Scratch memory
that two searches share, an answer given to another's question, or a buffer reused too soon would show here.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import grpc.aio
import numpy as np
import numpy.typing as npt
import orjson
import pytest

from cuihop import SnapshotGraph
from cuihop.snapshot.index_builder import build_index
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_server import running_service
from served_program import program
from waiting import wait_for

Int: TypeAlias = npt.NDArray[np.int64]

CONCEPTS = 3_000
SOURCES = 400
BATCH = 1_000
NO_PATH = -1


@dataclass
class World:
    """A graph on disk, and distances from some of its concepts to all.

    Attributes:
        path: the snapshot.
        hops: shape (SOURCES, CONCEPTS); NO_PATH where there is none.
    """

    path: Path
    hops: Int

    def pairs(self, seed: int, count: int) -> tuple[Int, Int, Int]:
        """Random pairs, and their distances; some by the other end first."""
        random = np.random.default_rng(seed)
        starts, ends = random.integers(0, SOURCES, count), random.integers(0, CONCEPTS, count)
        turned = random.random(count) < 0.5
        hops = self.hops[starts, ends]
        return np.where(turned, ends, starts), np.where(turned, starts, ends), hops


def number(concepts: Int) -> Int:
    """The number of each concept's CUI: with gaps, as real ones have."""
    return concepts * 2_713 + 11


def cui(concept: int) -> str:
    return f"C{concept * 2_713 + 11:07d}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    random = np.random.default_rng(7)
    # Trees of several parents, with hubs; the last concepts have no edge, or only each other.
    children = np.arange(1, CONCEPTS - 60)
    parents = [(children * random.power(0.4, len(children))).astype(np.int64) for _ in range(2)]
    edges = [(int(c), int(p)) for found in parents for c, p in zip(children, found, strict=True) if c != p]
    edges += [(c, c - 1) for c in range(CONCEPTS - 30, CONCEPTS)]
    graph = SnapshotGraph.of(
        [(cui(a), cui(b)) for a, b in edges], concepts=map(cui, range(CONCEPTS)), identifiers="cui"
    )
    path = tmp_path_factory.mktemp("world") / "graph.cuihop"
    graph.save(path)
    rows, columns = np.array(edges).T
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(CONCEPTS, CONCEPTS)).tocsr()
    found = dijkstra(links, directed=False, unweighted=True, indices=np.arange(SOURCES))
    return World(path, np.where(np.isinf(found), NO_PATH, found).astype(np.int64))


def wrong(answers: list[int | None], hops: Int) -> int:
    """Number of answers differ."""
    given = np.array([NO_PATH if distance is None else distance for distance in answers])
    assert given.shape == hops.shape
    return int((given != hops).sum())


@pytest.mark.slow
def test_threads_that_share_a_graph(world: World) -> None:
    """500,000 answers in batches and 12,000 singles, with an index and without."""
    plain, indexed = SnapshotGraph.open(world.path), SnapshotGraph.open(world.path)
    indexed.use_index(build_index(indexed))
    begin = threading.Barrier(8)

    def ask(place: int) -> int:
        graph = (plain, indexed)[place % 2]
        a, b, hops = world.pairs(place, 64_000)
        pairs = [(cui(x), cui(y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        begin.wait(30)
        faults = 0
        for first in range(0, 62_500, BATCH // 2):
            part = slice(first, first + BATCH // 2)
            faults += wrong(graph.distances(pairs[part]).to_list(), hops[part])
        singles = slice(62_500, 64_000)
        return faults + wrong([graph.distance(*pair) for pair in pairs[singles]], hops[singles])

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(8))) == 0


async def over_http(port: int, world: World, seed: int, batches: int, singles: int) -> int:
    """Answers that differ, on one connection: a batch, some single distances, and so on."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    faults = 0

    async def response_to(request: bytes) -> Any:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return orjson.loads(await reader.readexactly(int(length.partition(b":")[2])))

    for batch in range(batches):
        a, b, hops = world.pairs(seed * 1_000 + batch, BATCH)
        pairs = [[cui(x), cui(y)] for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        if batch % 8 == 7:
            pairs[0][0] = pairs[0][0].replace("C", "\\u0043")  # not written evenly: the documented route
        body = orjson.dumps({"pairs": pairs}).replace(rb"\\u", rb"\u")
        head = b"POST /v1/distances HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        answers = await response_to(head + b"%d\r\n\r\n" % len(body) + body)
        faults += wrong(answers["hops"], hops)
        for x, y, expected in zip(a[:singles].tolist(), b[:singles].tolist(), hops[:singles].tolist(), strict=True):
            query = f"GET /v1/distance?a={cui(x)}&b={cui(y)} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            one = await response_to(query.encode())
            assert (one["a"], one["b"]) == (cui(x), cui(y))
            faults += one["hops"] != (None if expected == NO_PATH else expected)
    writer.close()
    return faults


async def over_grpc(port: int, world: World, seed: int, batches: int, singles: int) -> int:
    """The same over a channel of its own."""
    faults = 0
    options = [("grpc.use_local_subchannel_pool", 1)]  # else all channels share one connection, and one worker
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        stub: Any = pb_grpc.ConceptGraphServiceStub(channel)  # type: ignore[no-untyped-call,unused-ignore]
        for batch in range(batches):
            a, b, hops = world.pairs(seed * 1_000 + batch, BATCH)
            packed = pb.PackedPairs(a=number(a).tolist(), b=number(b).tolist())
            answer = await stub.Distances(pb.DistancesRequest(packed=packed), timeout=300)
            answers: list[int | None] = list(answer.hops)
            for place in answer.unreached:
                answers[place] = None
            faults += wrong(answers, hops)
            for x, y, expected in zip(a[:singles].tolist(), b[:singles].tolist(), hops[:singles].tolist(), strict=True):
                one = await stub.Distance(pb.DistanceRequest(a=cui(x), b=cui(y)), timeout=300)
                faults += (one.hops if one.HasField("hops") else NO_PATH) != expected
    return faults


@pytest.mark.slow
def test_connections_to_one_worker(world: World) -> None:
    """8 connections of HTTP and 4 of gRPC at once: 288,000 answers, 2,880 of them singles."""
    with running_service(SnapshotGraph.open(world.path)) as service:

        async def ask() -> int:
            http = [over_http(service.http_port, world, 100 + i, 24, 10) for i in range(8)]
            packed = [over_grpc(service.grpc_port, world, 200 + i, 24, 10) for i in range(4)]
            return sum(await asyncio.gather(*http, *packed))

        assert asyncio.run(ask()) == 0


@pytest.mark.slow
def test_connections_to_several_workers(world: World, tmp_path: Path) -> None:
    """Two processes: 16 connections of HTTP and 8 of gRPC, 240,000 answers."""
    with program(world.path, tmp_path, "--workers", "2") as running:
        wait_for(lambda: running.ready_workers() == 2)
        http_port, grpc_port = (int(address.rpartition(":")[2]) for address in (running.http, running.grpc))

        async def ask() -> int:
            http = [over_http(http_port, world, 300 + i, 10, 10) for i in range(16)]
            packed = [over_grpc(grpc_port, world, 400 + i, 10, 10) for i in range(8)]
            return sum(await asyncio.gather(*http, *packed))

        assert asyncio.run(ask()) == 0
