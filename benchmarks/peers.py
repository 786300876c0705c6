"""How many times as long as cuihop do the usual tools take, at small sizes? And is it still what it was?

::

    python benchmarks/peers.py [--against benchmarks/results/peers*.json] [--only PART …] [--json FILE]

cuihop and a peer do the same task in turn. The figures are processor time, user and system, of all threads: the least
of 12 rounds, so that other work on the machine matters little. Some of it matters: a task that waits for memory takes
longer beside others, and any machine has slow minutes. So what is recorded is the ratio that is worst for cuihop, of
three measurements on a machine that does nothing else and three beside processes that read memory. With ``--against``
each ratio is compared with a recorded one, and the run fails if cuihop takes more than 1.5 times as long, compared with
its peer, as it did, and does so again after all others, up to three times. A task that takes less than 1.2 times as
long in 3 rounds needs no more. The ratios hold for machines of one kind, which the file names: of several files, the
ratio that is worst for cuihop counts.
"""

from __future__ import annotations

import csv
import gc
import http.client
import io
import json
import math
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from measurement import Measurement, arguments_of, require

Call = Callable[[], object]
Clock = Callable[[], float]
"""Seconds of processor time so far."""

ROUNDS, MOST_ROUNDS = 3, 12
TIMES_RECORDED = TIMES_COMPARED = 3
FACTOR, CLEAR = 1.5, 1.2
UNIT = "ms of processor"


@dataclass(frozen=True, eq=False)
class Task:
    """What cuihop and a peer do.

    Attributes:
        question: names the task.
        peer: a package, or what else the peer is.
        ours, theirs: do it.
        share: the part of it that the peer does.
        clocks: for ours and theirs; those of this process if not given.
    """

    question: str
    peer: str
    ours: Call
    theirs: Call
    share: float = 1.0
    clocks: tuple[Clock, Clock] = (time.process_time, time.process_time)


def spent(call: Call, clock: Clock) -> float:
    """Seconds of processor time of a call."""
    before = clock()
    call()
    return clock() - before


def measured(task: Task, recorded: float | None) -> tuple[float, float]:
    """The least seconds of cuihop, and of its peer for all of the task; few rounds if they show what is recorded."""
    task.ours(), task.theirs()  # imports, compiles
    ours = theirs = math.inf
    gc.disable()
    for number in range(MOST_ROUNDS):
        ours = min(ours, spent(task.ours, task.clocks[0]))
        theirs = min(theirs, spent(task.theirs, task.clocks[1]))
        if recorded and number + 1 >= ROUNDS and not slower(theirs / task.share / ours, recorded, CLEAR):
            break
    gc.enable()
    return ours, theirs / task.share


@contextmanager
def beside_others() -> Iterator[None]:
    """With a process for each core that reads memory in no order, as other steps of continuous integration do."""
    reads = "import random\nheld = list(range(1 << 23))\nwhile True: sum(random.choices(held, k=1 << 16))"
    others = [subprocess.Popen([sys.executable, "-c", reads]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def slower(ratio: float, recorded: float | None, factor: float = FACTOR) -> bool:
    """Whether cuihop takes too long by a factor, compared with its peer and with the recorded ratio."""
    return recorded is not None and ratio * factor < recorded


# Tasks


def loading(folder: Path, stack: ExitStack) -> Iterator[Task]:
    """Rows of MRREL, a release, its snapshot."""
    from cuihop import SnapshotGraph
    from cuihop_loader.loading import load_to
    from cuihop_tools.synthetic_release import SyntheticRelease, write
    from load import by_cuihop, by_polars

    release = folder / "release"
    release.mkdir()
    write(release, SyntheticRelease(concepts=5_000, rows=100_000, names=50_000))
    rows, snapshot = release / "MRREL.RRF", folder / "release.cuihop"
    require(by_cuihop(rows).tobytes() == by_polars(rows).tobytes(), "polars finds the same edges")
    yield Task("100,000 rows of MRREL", "polars", lambda: by_cuihop(rows), lambda: by_polars(rows))

    def read() -> None:
        for file in release.iterdir():
            with file.open(encoding="utf-8", newline="") as opened:
                deque(csv.reader(opened, delimiter="|", quoting=csv.QUOTE_NONE), maxlen=0)

    yield Task("a release to a snapshot", "csv, reading it", lambda: load_to(snapshot, [release]), read)

    def verify() -> None:
        with SnapshotGraph.open(snapshot) as graph:
            graph.verify()

    yield Task("a snapshot verified", "zlib.crc32", verify, lambda: zlib.crc32(snapshot.read_bytes()))


def distances(folder: Path, stack: ExitStack) -> Iterator[Task]:
    """Single distances, batches, files of pairs, neighbourhoods, and the index."""
    import networkx as nx

    from cuihop import SnapshotGraph
    from cuihop.adapters.graph_export import to_networkx
    from cuihop.cli import main as command
    from cuihop.snapshot.index_builder import build_index
    from made_hierarchy import made_hierarchy

    graph, snapshot = made_hierarchy(10_000), folder / "hierarchy.cuihop"
    graph.save(snapshot)
    indexed = SnapshotGraph(graph.sections)
    indexed.use_index(build_index(graph))
    searched, chance = to_networkx(graph).to_undirected(), random.Random(1)
    cuis = sorted(set(searched) - {"C0000001", "C0000002"})
    pairs = [(chance.choice(cuis), chance.choice(cuis)) for _ in range(20_000)]
    some, few, centres = pairs[:2000], pairs[:200], cuis[:1000]

    def each(graph: SnapshotGraph) -> Call:
        return lambda: [graph.distance(a, b) for a, b in some]

    def by_networkx() -> list[int]:
        return [len(nx.bidirectional_shortest_path(searched, a, b)) - 1 for a, b in few]

    def levels() -> None:
        for cui in centres[:10]:
            nx.single_source_shortest_path_length(searched, cui)

    def around() -> None:
        for cui in centres[:50]:
            nx.single_source_shortest_path_length(searched, cui, cutoff=3)

    for engine in (graph, indexed):
        require(by_networkx() == engine.distances(few), "NetworkX answers as cuihop does")
    yield Task("distances by search, one a call", "networkx", each(graph), by_networkx, len(few) / len(some))
    yield Task("distances by index, one a call", "networkx", each(indexed), by_networkx, len(few) / len(some))
    for by, engine in (("search", graph), ("index", indexed)):
        ask = partial(engine.distances, pairs)
        yield Task(f"distances by {by}, a batch", "networkx", ask, by_networkx, len(few) / len(pairs))
    yield Task("an index of distances", "networkx, 10 concepts to all", lambda: build_index(graph), levels)
    yield Task("concepts within 3 hops", "networkx", lambda: indexed.pack(centres, hops=3), around, 0.05)
    listed, answers = folder / "pairs.tsv", folder / "answers.tsv"
    listed.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")

    def file_of_pairs() -> None:
        sys.argv = ["cuihop", "distance", "--graph", str(snapshot), "--pairs", str(listed), "--output", str(answers)]
        with suppress(SystemExit), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            command()

    file_of_pairs()
    require(len(answers.read_text(encoding="utf-8").splitlines()) >= len(pairs), "the file of pairs is answered")
    yield Task("distances of a file of pairs", "networkx", file_of_pairs, by_networkx, len(few) / len(pairs))

    def overlaps() -> list[float]:
        found = []
        for a, b in few:
            above, other = nx.descendants(upwards, a) | {a}, nx.descendants(upwards, b) | {b}
            found.append(len(above & other) / len(above | other))
        return found

    from cuihop.similarity.options import SimilarityOptions

    upwards, by_overlap = to_networkx(graph), SimilarityOptions("simUI")
    require(graph.hierarchy.similarities(few, by_overlap).to_list() == overlaps(), "NetworkX has the same overlaps")
    similarities = partial(graph.hierarchy.similarities, some, by_overlap)
    yield Task("similarities, a batch", "networkx", similarities, overlaps, len(few) / len(some))


def evaluations(folder: Path, stack: ExitStack) -> Iterator[Task]:
    """nn-CUI, nDCG, and rankings by vectors and codes."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from cuihop.rankings.reading import read_ranking
    from cuihop.resources.resources import Resources
    from evaluation import by_cuihop, by_sets, neighbourhoods, sampled
    from made_hierarchy import made_hierarchy
    from measures import TOOLS, judgements
    from vector_rankings import by_numpy

    graph, chance = made_hierarchy(10_000), random.Random(2)
    concepts = [f"C{number:07d}" for number in chance.sample(range(3, 10_000), 500)]
    images = {f"i{number:04}": frozenset(chance.choices(concepts, k=4)) for number in range(1000)}
    near, queries = neighbourhoods(images, graph, 1), sampled(images)[:20]
    values, found = by_cuihop(images, graph, 1, 1), by_sets(images, near, queries)[0]
    require(bool(np.abs(values[queries] - found).max() < 1e-12), "Python sets give the same answers")
    yield Task(
        "nn-CUI of all images", "Python sets", lambda: by_cuihop(images, graph, 1, 1),
        lambda: by_sets(images, near, queries), 4 * len(queries) / len(images),  # it answers four times
    )  # fmt: skip
    rows = judgements(1000)

    def ndcg(tool: str) -> object:
        return TOOLS[tool][1](*rows)()

    ndcg_tools = partial(ndcg, "cuihop"), partial(ndcg, "scikit-learn")
    yield Task("nDCG of 1,000 queries", "scikit-learn", *ndcg_tools)
    names = tuple(f"i{number:06}" for number in range(2000))
    table = np.random.default_rng(1).standard_normal((len(names), 128), dtype=np.float32)
    stack.enter_context(threadpool_limits(1))
    for kind, vectors in (("cosine", table), ("hamming", np.packbits(table > 0, axis=1))):
        path = folder / f"{kind}.npy"
        np.save(path, vectors)
        options: Any = {"depth": 30, "similarity": kind, "resources": Resources(1)}
        yield Task(
            f"rankings by {kind}", "numpy", partial(read_ranking, path, names, **options),
            partial(by_numpy, vectors, 400, 30, codes=kind == "hamming"), 400 / len(names),
        )  # fmt: skip


def names(folder: Path, stack: ExitStack) -> Iterator[Task]:
    """Annotation, and search while typing."""
    from annotation_data import ontology_terms
    from annotation_matchers import MATCHERS
    from cuihop import SnapshotGraph
    from cuihop.snapshot.name_index import NameIndex
    from cuihop.snapshot.string_table import folded
    from cuihop.snapshot.writer import sections_of
    from search import HITS, fts5, keystrokes, made, misspelt

    real = [name for term in ontology_terms("CL").values() for name in (term["label"], *term.get("synonyms", ()))]
    real = list(dict.fromkeys(" ".join(name.lower().split()) for name in real if name.strip()))
    texts = [" ".join(real[first : first + 40]) for first in range(0, len(real), 40)]
    ours, theirs = (MATCHERS[subject](real)() for subject in ("cuihop: annotation", "pyahocorasick"))
    yield Task("texts annotated", "pyahocorasick", lambda: ours(texts), lambda: theirs(texts))
    tables = made(real, 5000, 3)
    arrays = sections_of(tables, name="made", relations=["isa"], identifiers="cui")
    index = NameIndex(SnapshotGraph(arrays).sections)
    typed = keystrokes(real, 15)
    database = stack.enter_context(sqlite3.connect(":memory:"))
    database.execute("CREATE VIRTUAL TABLE names USING fts5(name, content='', prefix='1 2 3')")
    database.executemany(
        "INSERT INTO names(rowid, name) VALUES (?, ?)",
        ((row, folded(name)) for row, name in enumerate(tables.names.slice(0, len(tables.names)))),
    )
    ask = fts5(database, "SELECT rowid FROM names WHERE names MATCH ? ORDER BY rank LIMIT 10")

    def found(asked: list[str]) -> object:
        return [index.best(folded(text), HITS) for text in asked]

    for kind, asked in (("names searched", typed), ("misspelt names searched", misspelt(typed, 30))):
        yield Task(kind, "FTS5 of SQLite", partial(found, asked), lambda: [ask(text) for text in typed])


def services(folder: Path, stack: ExitStack) -> Iterator[Task]:
    """A service with one worker, and the same servers with nothing behind them."""
    import grpc

    from cuihop_api.v1 import concept_graph_pb2 as pb
    from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
    from cuihop_tools.neo4j_server import free_ports
    from made_hierarchy import made_hierarchy
    from service import family, running, serving

    snapshot, chance = folder / "served.cuihop", random.Random(3)
    made_hierarchy(10_000).save(snapshot)
    own, bare = free_ports(2), free_ports(2)
    nothing = str(Path(__file__).with_name("service_nothing.py"))
    processes = (
        family(stack.enter_context(serving(snapshot, *own))),
        family(stack.enter_context(running(nothing, *map(str, bare), port=bare[0]))),
    )
    # Linux: the processor time of another process, in nanoseconds (clock_getcpuclockid)
    ours, theirs = (
        lambda pids=pids: sum(time.clock_gettime(~pid << 3 | 2) for pid in pids) for pids in processes
    )  # fmt: skip
    numbers = [(chance.randrange(3, 10_000), chance.randrange(3, 10_000)) for _ in range(1000)]
    paths = [f"/v1/distance?a=C{a:07d}&b=C{b:07d}" for a, b in numbers[:500]]
    body = json.dumps({"pairs": [[f"C{a:07d}", f"C{b:07d}"] for a, b in numbers]})
    packed = pb.DistancesRequest(packed=pb.PackedPairs(a=[a for a, _ in numbers], b=[b for _, b in numbers]))

    def over_http(port: int, requests: list[tuple[str, str, str | None]]) -> Call:
        def ask() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            stack.callback(connection.close)
            for method, path, content in requests:
                connection.request(method, path, content, {"Content-Type": "application/json"})
                with connection.getresponse() as answer:
                    require(b"hops" in answer.read(), f"{path} is answered")

        return ask

    def over_grpc(port: int, method: str, requests: list[Any]) -> Call:
        channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}"))
        call = getattr(pb_grpc.ConceptGraphServiceStub(channel), method)  # type: ignore[no-untyped-call,unused-ignore]
        return lambda: [call(request) for request in requests]

    singles: list[tuple[str, str, str | None]] = [("GET", path, None) for path in paths]
    batches: list[tuple[str, str, str | None]] = [("POST", "/v1/distances", body)] * 60
    single = [pb.DistanceRequest(a=f"C{a:07d}", b=f"C{b:07d}") for a, b in numbers[:300]]
    peer, clocks = "the servers with nothing behind them", (ours, theirs)
    for question, requests in (("HTTP, a distance", singles), ("HTTP, a batch of 1,000", batches)):
        yield Task(question, peer, over_http(own[0], requests), over_http(bare[0], requests), clocks=clocks)
    for question, method, asked in (
        ("gRPC, a distance", "Distance", single), ("gRPC, a batch of 1,000, packed", "Distances", [packed] * 60),
    ):  # fmt: skip
        yield Task(question, peer, over_grpc(own[1], method, asked), over_grpc(bare[1], method, asked), clocks=clocks)


def starts(folder: Path, stack: ExitStack) -> Iterator[Task]:
    """Processes, from their start to their end."""
    from cuihop import SnapshotGraph

    snapshot = folder / "small.cuihop"
    SnapshotGraph.of([("C0000001", "C0000002")]).save(snapshot)
    program = str(Path(sys.executable).with_name("cuihop"))

    def clock() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def run(*command: str) -> Call:
        return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    numpy = run(sys.executable, "-c", "import numpy")
    for question, command in {
        "import cuihop": [sys.executable, "-c", "import cuihop"],
        "cuihop --help": [program, "--help"],
        "cuihop distance": [program, "distance", "--graph", str(snapshot), "C0000001", "C0000002"],
    }.items():
        yield Task(question, "a process that imports NumPy", run(*command), numpy, clocks=(clock, clock))


PARTS: Mapping[str, Callable[[Path, ExitStack], Iterator[Task]]] = {
    part.__name__: part for part in (loading, distances, evaluations, names, services, starts)
}


def recorded_ratios(*files: Path) -> dict[tuple[str, str], float]:
    """Question and peer → how many times as long as cuihop the peer took; the least of what the files say."""
    ratios: dict[tuple[str, str], float] = {}
    for file in files:
        for one in json.loads(file.read_text(encoding="utf-8"))["figures"]:
            if one["subject"] != "cuihop":
                task = one["question"], one["subject"]
                ratios[task] = min(one["ratio to ours"], ratios.get(task, math.inf))
    return ratios


def compare(
    tasks: Iterator[Task], recorded: Mapping[tuple[str, str], float] | None, results: Measurement
) -> dict[str, str]:
    """Measure the tasks, print them, and return a sentence on each that is not as recorded, by its question.

    Of tasks with one and the same call of the peer, each gets the least that it took in any of them: a ratio of a slow
    moment of the peer would be recorded as too good. Whether cuihop takes too long is told by the rounds in turn.
    """
    failures, times = dict[str, str](), dict[Task, tuple[float, float]]()
    if recorded is None:
        listed = list(tasks)
        for task in listed * TIMES_RECORDED:
            alone = measured(task, None)
            with beside_others():
                found = alone, measured(task, None), times.get(task, alone)
            times[task] = min(found, key=lambda each: each[1] / each[0])
    else:
        for task in tasks:
            times[task] = measured(task, recorded.get((task.question, task.peer)))
    for task, (ours, own) in times.items():
        before = recorded.get((task.question, task.peer)) if recorded else None
        theirs = min(all_of_it * other.share for other, (_, all_of_it) in times.items() if other.theirs is task.theirs)
        theirs /= task.share
        ratio = theirs / ours
        for who, seconds in (("cuihop", ours), (task.peer, theirs)):
            results.add(task.question, who, 1e3 * seconds, UNIT)
        was = "" if before is None else f"{before:10.2f}"
        print(f"{task.question:34}{1e3 * ours:10.2f}{1e3 * theirs:11.2f}{ratio:10.2f}{was}  {task.peer}", flush=True)
        if recorded is not None and (before is None or slower(own / ours, before)):
            was = "nothing is recorded" if before is None else f"recorded are {before:.2f}"
            failures[task.question] = (
                f"{task.question}: {task.peer} takes {own / ours:.2f} times as long as cuihop, {was}"
            )
    return failures


def main() -> None:
    """Measure, print, and compare."""
    parser = arguments_of(__doc__)
    parser.add_argument("--against", type=Path, nargs="+", metavar="FILE", help="the recorded ratios")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    options = parser.parse_args()
    recorded = recorded_ratios(*options.against) if options.against else None
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["POLARS_MAX_THREADS"] = "1"
    results = Measurement(("networkx", "numpy", "polars", "pyahocorasick", "scikit-learn"))
    print(f"{'ms of processor':34}{'cuihop':>10}{'peer':>11}{'ratio':>10}{'recorded' if recorded else '':>10}")
    failures: dict[str, dict[str, str]] = {part: {} for part in options.only}
    for number in range(1 if recorded is None else TIMES_COMPARED):
        for part, wrong in failures.items():
            if number == 0 or wrong:
                with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
                    tasks = PARTS[part](Path(folder), stack)
                    chosen = (task for task in tasks if number == 0 or task.question in wrong)
                    failures[part] = compare(chosen, recorded, results)
    results.save(options.json)
    sentences = [sentence for wrong in failures.values() for sentence in wrong.values()]
    if sentences:
        sys.exit("\n".join(["Not as recorded (make bench ONLY=peers records again):", *sentences]))


if __name__ == "__main__":
    main()
