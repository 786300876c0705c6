"""What the distance cache costs and saves: beside the index it stands before, in process and through Redis.

::

    python benchmarks/cache.py [--concepts 1000000] [--rows 20000000] [--json FILE]

The graph is synthetic. Redis is started for the measurement, on a Unix socket and on the loopback interface; without
``redis-server`` that part is left out. Answers are compared with the plain graph's first; a difference ends the run.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version

import numpy as np
import redis

from cuihop import SnapshotGraph
from cuihop_service.cache import CachedGraph
from cuihop_service.cache.local_cache import LocalCache
from cuihop_service.cache.redis_cache import RedisCache
from cuihop_tools.neo4j_server import free_ports
from cuihop_tools.synthetic_release import SyntheticRelease, tables
from measurement import Measurement, arguments_of, require, resident_megabytes

Pairs = list[tuple[str, str]]
BATCH = 1_000


def made_graph(concepts: int, rows: int) -> tuple[SnapshotGraph, Pairs, Pairs]:
    """A synthetic graph, random pairs of it, and pairs two to four random hops apart."""
    edges = tables(SyntheticRelease(concepts=concepts, rows=rows)).edges("isa")
    graph = SnapshotGraph.of(((f"C{a:07d}", f"C{b:07d}") for a, b in edges.tolist()), identifiers="cui")
    rng = np.random.default_rng(7)
    nodes = np.unique(edges)
    picked = rng.integers(0, len(nodes), (2, BATCH))
    far = [(f"C{nodes[a]:07d}", f"C{nodes[b]:07d}") for a, b in picked.T.tolist()]
    near = []
    for cui, _ in far:
        here = cui
        for _ in range(int(rng.integers(2, 5))):
            around = graph.neighbours([here], hops=1, limit=64)[0]
            here = around[int(rng.integers(0, len(around)))].cui
        near.append((cui, here))
    return graph, far, near


def micros(call: Callable[[], object], count: int, repeats: int = 5) -> float:
    """Microseconds for one of ``count``: the median of some runs."""
    call()
    spent = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        spent.append((time.perf_counter() - begin) / count * 1e6)
    return float(np.median(spent))


def memory_of_an_entry(entries: int) -> float:
    """Bytes, measured at the process while its heap is fresh; with the key, and after twice as many were evicted."""
    before = resident_megabytes()
    memory = LocalCache(entries)
    memory.store((f"C{i:07d}|C{i * 7 % 9_999_991:07d}", i % 12) for i in range(3 * entries))
    return (resident_megabytes() - before) * 1e6 / len(memory)


@contextmanager
def running_redis(program: str) -> Iterator[tuple[str, str]]:
    """A server's addresses: by Unix socket, and by TCP."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/redis.sock"
        command = [program, "--port", "0", "--save", "", "--unixsocket", path]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            client = redis.Redis(unix_socket_path=path)
            while True:
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.02)
            (port,) = free_ports(1)
            client.config_set("port", port)
            client.close()
            yield f"unix://{path}", f"redis://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def main() -> None:
    """Measure, and print a table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--entries", type=int, default=200_000, help="of a cache whose memory is measured")
    options = parser.parse_args()
    entry_bytes = memory_of_an_entry(options.entries)
    graph, far, near = made_graph(options.concepts, options.rows)
    print(f"{graph.release.concepts:,} concepts, {graph.release.edges:,} edges, {platform.machine()}, "
          f"Python {platform.python_version()}, cachetools {version('cachetools')}, "
          f"redis-py {version('redis')}")  # fmt: skip
    results = Measurement(("cachetools", "redis"))

    def row(what: str, value: float, unit: str = "µs a pair") -> None:
        subject, _, question = what.partition(", ")
        results.add(question or "memory", f"cuihop, {subject}", value, unit)
        print(f"{what:62}{value:10.2f} {unit}", flush=True)

    for kind, pairs, bound in (("random", far, None), ("near", near, None), ("random, 2 hops at most", far, 2)):
        cached = CachedGraph(graph)
        same = cached.distances(pairs, max_hops=bound) == graph.distances(pairs, max_hops=bound)
        require(same, "the cache and the graph agree")

        def singles(
            graph: SnapshotGraph | CachedGraph, pairs: Pairs = pairs, bound: int | None = bound
        ) -> Callable[[], object]:
            return lambda: [graph.distance(a, b, max_hops=bound) for a, b in pairs]

        def batch(
            graph: SnapshotGraph | CachedGraph, pairs: Pairs = pairs, bound: int | None = bound
        ) -> Callable[[], object]:
            return lambda: graph.distances(pairs, max_hops=bound)

        row(f"index, one pair, {kind}", micros(singles(graph), BATCH))
        row(f"cache, one pair known, {kind}", micros(singles(cached), BATCH))
        row(f"index, batch of 1,000, {kind}", micros(batch(graph), BATCH))
        row(f"cache, batch of 1,000 known, {kind}", micros(batch(cached), BATCH))
        row(
            f"cache and index, batch of 1,000 unknown, {kind}",
            micros(lambda p=pairs, b=bound: CachedGraph(graph).distances(p, max_hops=b), BATCH),  # type: ignore[misc]
        )
    small = CachedGraph(graph, entries=1)
    row(
        "cache and index, one pair unknown, near",
        micros(lambda: [small.distance(a, b) for a, b in near], BATCH),
    )
    row(
        "cache, one pair known, asked with its tier",
        micros(lambda: [cached.answered(far[:1], max_hops=2) for _ in range(BATCH)], BATCH),
    )
    row("memory of an entry in process", entry_bytes, "bytes")
    program = shutil.which("redis-server")
    if program is not None:
        with running_redis(program) as addresses:
            for place, address in zip(("Unix socket", "TCP loopback"), addresses, strict=True):
                through_redis(graph, far, address, place, options.entries, row)
    results.save(options.json)


def through_redis(
    graph: SnapshotGraph, pairs: Pairs, address: str, place: str, entries: int, row: Callable[[str, float, str], None]
) -> None:
    """What the shared level takes."""
    shared = RedisCache(address, timeout=1.0)
    client = redis.Redis.from_url(address)
    unit = "µs a pair"
    same = CachedGraph(graph, shared=shared).distances(pairs) == graph.distances(pairs)
    require(same, "the shared cache and the graph agree")
    small = CachedGraph(graph, entries=1, shared=shared)
    row(f"Redis by {place}, one pair known", micros(lambda: [small.distance(a, b) for a, b in pairs], BATCH), unit)
    row(
        f"Redis by {place}, batch of 1,000 known",
        micros(lambda: CachedGraph(graph, shared=shared).distances(pairs), BATCH),
        unit,
    )
    answers = {f"{a}|{b}" if a <= b else f"{b}|{a}": 5 for a, b in pairs}
    row(f"Redis by {place}, writing a batch of 1,000", micros(lambda: shared.store("f" * 64, answers), BATCH), unit)
    client.flushall()
    before = client.info("memory")["used_memory"]
    for first in range(0, entries, BATCH):
        shared.store("f" * 64, {f"C{i:07d}|C{i * 7 % 9_999_991:07d}": 5 for i in range(first, first + BATCH)})
    row(f"memory of an entry in Redis ({place})", (client.info("memory")["used_memory"] - before) / entries, "bytes")
    require(not shared.statistics.errors, "Redis answered throughout")
    shared.close()
    client.close()
    gone = RedisCache("redis://127.0.0.1:1", timeout=1.0)
    gone.entries("f" * 64, ["C1|C2"])  # fails, and opens the breaker
    row(
        "Redis that is down, one look",
        micros(lambda: [gone.entries("f" * 64, ["C1|C2"]) for _ in range(BATCH)], BATCH),
        unit,
    )


if __name__ == "__main__":
    main()
