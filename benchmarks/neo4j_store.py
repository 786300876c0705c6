"""How long a real Neo4j server takes: loading, switching, reading back, answering.

::

    python benchmarks/neo4j_store.py [--concepts 1000000] [--rows 20000000] [--heap 4g] [--folder FOLDER] [--only PART]

The graph is synthetic, with three names for two concepts. Parts: ``online`` loads it into an empty server, ``second``
once more, as another release; ``switch`` moves readers between the two while somebody looks;
``snapshot`` reads it back; ``questions`` asks; ``batches`` tries batch sizes on a fifth of the size; ``bulk`` imports
it from files. A folder that is given keeps the server's data, so that parts can be run one by one.
"""

from __future__ import annotations

import contextlib
import os
import platform
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from cuihop import ConceptGraph, SnapshotGraph
from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop.neo4j_graph.projection import projected_sections, snapshot_sections
from cuihop.neo4j_graph.releases import install_schema, stored_releases, switch_to
from cuihop.snapshot.file import Sections
from cuihop.snapshot.layout import SNAPSHOT
from cuihop_loader import LoadOptions, load
from cuihop_loader.neo4j_bulk import finish_bulk, write_bulk_files
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import SHORT_LIVED, VERSION, LocalServer
from cuihop_tools.synthetic_release import SyntheticRelease, write
from measurement import Measurement, arguments_of

PARTS = ("online", "second", "switch", "snapshot", "questions", "batches", "bulk")
WATCHED = 200
RESULTS = Measurement(("neo4j", "neo4j-rust-ext"))


def made(folder: Path, concepts: int, rows: int, release: str) -> Sections:
    """The synthetic release, loaded from its files; kept as a snapshot."""
    kept = folder / f"{release}.cuihop"
    if not kept.exists():
        files = folder / "rrf"
        files.mkdir(exist_ok=True)
        if not (files / "MRREL.RRF").exists():
            write(files, SyntheticRelease(concepts=concepts, rows=rows, names=concepts * 3 // 2))
        SnapshotGraph(load([files], LoadOptions(release=release)).sections).save(kept)
    return Sections.open(kept, SNAPSHOT)


@contextlib.contextmanager
def served(home: Path, heap: str, java_options: Sequence[str] = ()) -> Iterator[Neo4jConnection]:
    """A server, and a connection to it."""
    with (
        LocalServer(home, heap=heap, page_cache="1g", java_options=java_options) as server,
        Neo4jConnection(Neo4jSettings(server.address, server.user, server.password)) as connection,
    ):
        yield connection


def told(what: str, seconds: float, count: int | None = None) -> None:
    """One line of the result."""
    rate = "" if count is None else f"{count / seconds:12,.0f}/s"
    print(f"{what:44}{seconds:9.1f} s{rate}", flush=True)
    RESULTS.add(what, "cuihop and Neo4j", seconds, "s")


@contextlib.contextmanager
def timed(what: str, count: int | None = None) -> Iterator[None]:
    """Time what is done, and tell it."""
    start = time.perf_counter()
    yield
    told(what, time.perf_counter() - start, count)


def load_told(connection: Neo4jConnection, sections: Sections, **others: int) -> dict[str, float]:
    """Load it, and how many seconds each kind of batch took, by its name; ``all`` is the whole."""
    start = last = time.perf_counter()
    spent: dict[str, float] = {}

    def tell(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.perf_counter()
        spent[what] = spent.get(what, 0.0) + now - last
        last = now

    load_online(sections, connection, progress=tell, switch=False, **others)
    return {**spent, "all": time.perf_counter() - start}


def online(connection: Neo4jConnection, sections: Sections) -> None:
    """One release, beside those that are there."""
    facts = sections.meta["release"]
    spent = load_told(connection, sections)
    told(f"release {facts['name']}: concepts written", spent["concepts"], facts["concepts"])
    told(f"release {facts['name']}: is_a edges written", spent["edges"], facts["edges"])
    told(f"release {facts['name']}: all, read back with its digest", spent["all"])


def switch(connection: Neo4jConnection) -> None:
    """Readers from one release to the other and back, and what somebody sees who looks all the time."""
    numbers = [stored.number for stored in stored_releases(connection)]
    cuis = [row["cui"] for row in connection.run_alone(f"MATCH (c:Concept) RETURN c.cui AS cui LIMIT {WATCHED}")]
    looks = "UNWIND $cuis AS cui MATCH (c:Concept {cui: cui}) RETURN c.release AS release, count(*) AS n"
    for most_at_once in (100_000, 20_000):
        active = next(stored.number for stored in stored_releases(connection) if stored.active)
        mixed: list[float] = []
        slowest = 0.0
        stop = threading.Event()

        def watch(mixed: list[float] = mixed, stop: threading.Event = stop) -> None:
            nonlocal slowest
            with Neo4jConnection(connection.settings) as other:
                while not stop.is_set():
                    start = time.perf_counter()
                    found = {row["release"]: row["n"] for row in other.read(lambda tx: list(tx.run(looks, cuis=cuis)))}
                    slowest = max(slowest, time.perf_counter() - start)
                    if len(found) != 1 or sum(found.values()) != len(cuis):
                        mixed.append(start)

        watcher = threading.Thread(target=watch)
        watcher.start()
        start = time.perf_counter()
        try:
            switch_to(connection, next(n for n in numbers if n != active), most_at_once=most_at_once)
        finally:
            stop.set()
            watcher.join()
        told(f"switched, {most_at_once:,} labels a transaction", time.perf_counter() - start)
        told("  from first to last mixture seen", mixed[-1] - mixed[0] if mixed else 0.0)
        told(f"  slowest look-up of {WATCHED} concepts", slowest)


def snapshot(connection: Neo4jConnection) -> None:
    """The whole release read back."""
    stored = stored_releases(connection)[0]
    edges = stored.release.edges
    for _ in range(2):
        with timed("concepts and is_a edges read back", edges):
            projected_sections(connection, stored.number, with_names=False)
    with timed("snapshot, names too, digest compared", edges):
        snapshot_sections(connection, stored.number)


def questions(connection: Neo4jConnection, snapshot: SnapshotGraph) -> None:
    """How long single answers take, each compared with the snapshot's."""
    graph = Neo4jGraph(connection)
    rng = random.Random(3)
    cuis = [row["cui"] for row in connection.run_alone("MATCH (c:Concept) RETURN c.cui AS cui LIMIT 50000")]
    asked: list[tuple[str, int, Callable[[ConceptGraph, list[str]], object]]] = [
        ("distance", 60, lambda g, c: g.distance(c[0], c[1])),
        ("distance, upwards", 60, lambda g, c: g.distance(c[0], c[1], direction="up")),
        ("distance, at most 3 hops", 60, lambda g, c: g.distance(c[0], c[1], max_hops=3)),
        ("100 distances", 5, lambda g, c: list(g.distances(zip(c[:100], c[100:], strict=True)))),
        ("path", 60, lambda g, c: g.path(c[0], c[1])),
        ("neighbours within 1", 30, lambda g, c: g.neighbours(c[:1], hops=1, limit=100)),
        ("neighbours within 2", 30, lambda g, c: g.neighbours(c[:1], hops=2, limit=100)),
        ("search 'acute kidney'", 3, lambda g, c: g.search("acute kidney")),
        ("search 'a'", 2, lambda g, c: g.search("a")),
    ]
    print(f"{'question':30}{'median ms':>12}{'worst ms':>12}")
    for what, times, ask in asked:
        spent = []
        for _ in range(times):
            drawn = rng.sample(cuis, 200)
            start = time.perf_counter()
            answer = ask(graph, drawn)
            spent.append((time.perf_counter() - start) * 1000)
            if answer != ask(snapshot, drawn):
                raise SystemExit(f"{what}: not the snapshot's answer")
        print(f"{what:30}{statistics.median(spent):12.1f}{max(spent):12.1f}", flush=True)
        RESULTS.add(f"{what}, median", "cuihop and Neo4j", statistics.median(spent), "ms")
        RESULTS.add(f"{what}, worst", "cuihop and Neo4j", max(spent), "ms")


def batches(folder: Path, heap: str, concepts: int, rows: int) -> None:
    """Rates by batch size, on a server of its own that is warm."""
    small = folder / "fifth"
    small.mkdir(exist_ok=True)
    with served(folder / "batches", heap) as connection:
        load_told(connection, made(small, concepts // 5, rows // 5, "warm"))
        print(f"{'rows a transaction':>20}{'concepts/s':>14}{'is_a edges/s':>14}")
        for size in (1_000, 5_000, 10_000, 20_000, 50_000):
            sections = made(small, concepts // 5, rows // 5, f"by {size}")
            spent = load_told(connection, sections, concepts_a_batch=size, edges_a_batch=size)
            facts = sections.meta["release"]
            rates = [facts[what] / spent[what] for what in ("concepts", "edges")]
            print(f"{size:20,}{rates[0]:14,.0f}{rates[1]:14,.0f}", flush=True)
            for what, rate in zip(("concepts", "is_a edges"), rates, strict=True):
                RESULTS.add(f"{what} written, {size:,} a transaction", "cuihop and Neo4j", rate, "/s")


def bulk(folder: Path, heap: str, concepts: int, rows: int) -> None:
    """From the snapshot to a serving database."""
    sections = made(folder, concepts, rows, "one")
    start = time.perf_counter()
    with timed("bulk: files written"):
        arguments = write_bulk_files(sections, folder / "import")
    server = LocalServer(folder / "bulk", heap=heap, page_cache="1g")
    begun = time.perf_counter()
    server.admin(*arguments)
    told("bulk: neo4j-admin database import", time.perf_counter() - begun)
    with timed("bulk: server started"):
        server.start()
    try:
        with Neo4jConnection(Neo4jSettings(server.address, server.user, server.password)) as connection:
            with timed("bulk: constraints and indexes"):
                install_schema(connection)
            with timed("bulk: read back with its digest"):
                finish_bulk(sections, connection)
    finally:
        told("bulk: all", time.perf_counter() - start)
        server.stop()


def main() -> None:
    """Measure, and print."""
    parser = arguments_of(__doc__)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--heap", default="4g")
    parser.add_argument("--short-lived", action="store_const", const=SHORT_LIVED, default=(), help="for a quick look")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=PARTS, action="append")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        size = (options.concepts, options.rows)
        facts = made(folder, *size, "one").meta["release"]
        print(f"{facts['concepts']:,} concepts, {facts['edges']:,} edges, Neo4j {VERSION}, heap {options.heap}, driver "
              f"{version('neo4j')} with neo4j-rust-ext {version('neo4j-rust-ext')}, {os.cpu_count()} cores, "
              f"Python {platform.python_version()}", flush=True)  # fmt: skip
        chosen = options.only or PARTS
        if set(chosen) & set(PARTS[:5]):
            with served(folder / "server", options.heap, options.short_lived) as connection:
                if "online" in chosen:
                    online(connection, made(folder, *size, "one"))
                    with timed("switched to it, from nothing"):
                        switch_to(connection, stored_releases(connection)[0].number)
                if "second" in chosen:
                    online(connection, made(folder, *size, "two"))
                if "switch" in chosen:
                    switch(connection)
                if "snapshot" in chosen:
                    snapshot(connection)
                if "questions" in chosen:
                    questions(connection, SnapshotGraph.open(folder / "one.cuihop"))
        if "batches" in chosen:
            batches(folder, options.heap, *size)
        if "bulk" in chosen:
            bulk(folder, options.heap, *size)
    RESULTS.save(options.json)


if __name__ == "__main__":
    main()
