"""How many questions a second one worker of the service answers, beside granian, and beside nothing at all.

::

    python benchmarks/service.py [--concepts N] [--rows N] [--seconds N]

Needs ``wrk`` (Debian's package) for the load over HTTP. "Nothing" is a handler of two lines on the same server: what
the server itself allows. The load comes from the same machine and takes its share of the cores.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cuihop import SnapshotGraph
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_loader.synthetic import SyntheticRelease, tables
from measurement import Measurement, arguments_of

PAIRS_A_BATCH = 1_000
RESULTS = Measurement(("uvicorn", "granian", "grpcio"))


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that does nothing."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": b'{"hops":3}'})


def service_application() -> Any:
    """The service's own HTTP application, for another server. Its graph is named by the environment."""
    from cuihop_service.core import ConceptService
    from cuihop_service.front import Front
    from cuihop_service.graph_holder import GraphHolder, ServedGraph
    from cuihop_service.http_api.application import application
    from cuihop_service.limits import Limits

    graph = SnapshotGraph.open(os.environ["CUIHOP_GRAPH"])
    graph.warm_up()
    holder = GraphHolder()
    holder.serve(ServedGraph(graph.release, index=graph))
    limits = Limits()
    return application(ConceptService(holder, limits), Front(limits))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
        return port


@contextmanager
def running(*command: str, port: int, **environment: str) -> Iterator[None]:
    """A server, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, *command],
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 120
        while True:  # a port may be open before its server is ready: an answer counts
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live").close()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def loaded(server: str, port: int, script: Path, connections: int, seconds: int) -> str:
    """What wrk prints of a load: requests a second, median, 99th percentile."""
    told = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), f"http://127.0.0.1:{port}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", told)
    half = re.search(r"50%\s+(\S+)", told)
    late = re.search(r"99%\s+(\S+)", told)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", told)
    if rate is None or half is None or late is None or bad is not None:
        raise SystemExit(told)
    RESULTS.add(f"HTTP, {script.stem}, {connections} connections", server, float(rate[1]), "answers/s")
    return f"{float(rate[1]):>10,.0f} {half[1]:>10} {late[1]:>10}"


def scripts(folder: Path, pairs: list[tuple[str, str]]) -> tuple[Path, Path]:
    """What wrk asks: single distances of many pairs in turn, and batches."""
    single = folder / "single.lua"
    listed = ",".join(f'"/v1/distance?a={a}&b={b}"' for a, b in pairs[:2_000])
    single.write_text(
        f"local paths = {{{listed}}}\nlocal i = 0\n"
        "request = function() i = i % #paths + 1 return wrk.format('GET', paths[i]) end\n"
    )
    batch = folder / "batch.lua"
    body = '{"pairs":[' + ",".join(f'["{a}","{b}"]' for a, b in pairs[:PAIRS_A_BATCH]) + "]}"
    batch.write_text(
        f"wrk.method = 'POST'\nwrk.path = '/v1/distances'\nwrk.body = '{body}'\n"
        "wrk.headers['Content-Type'] = 'application/json'\n"
        "request = function() return wrk.format('POST', '/v1/distances') end\n"
    )
    return single, batch


def grpc_rates(port: int, pairs: list[tuple[str, str]], seconds: float) -> Iterator[tuple[str, float, float]]:
    """Single distances and batches over gRPC, one caller after the other's answer: a second, and milliseconds each."""
    import grpc

    numbers = [(int(a[1:]), int(b[1:])) for a, b in pairs[:PAIRS_A_BATCH]]
    packed = pb.PackedPairs(a=[a for a, _ in numbers], b=[b for _, b in numbers])
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = pb_grpc.ConceptGraphServiceStub(channel)
        questions: list[tuple[str, Callable[[int], Any]]] = [
            ("single", lambda i: stub.Distance(pb.DistanceRequest(a=pairs[i][0], b=pairs[i][1]))),
            (f"batch of {PAIRS_A_BATCH:,}, packed", lambda i: stub.Distances(pb.DistancesRequest(packed=packed))),
        ]
        for name, ask in questions:
            ask(0)
            begun = time.perf_counter()
            count = 0
            while (spent := time.perf_counter() - begun) < seconds:
                ask(count % len(pairs))
                count += 1
            yield name, count / spent, 1000 * spent / count


def made_graph(concepts: int, rows: int) -> tuple[SnapshotGraph, list[tuple[str, str]]]:
    """A synthetic graph, and pairs of it at most two hops apart: such as an evaluation asks for."""
    edges = tables(SyntheticRelease(concepts=concepts, rows=rows)).edges("isa")
    named = [(f"C{child:07d}", f"C{parent:07d}") for child, parent in edges.tolist()]
    graph = SnapshotGraph.of(named, identifiers="cui")
    random = np.random.default_rng(1)
    pairs = []
    for child in edges[random.integers(0, len(edges), 2_000), 0].tolist():
        cui = f"C{child:07d}"
        found = graph.neighbours([cui], hops=2, limit=50)[0]
        pairs.append((cui, found[int(random.integers(len(found)))].cui))
    return graph, pairs


def main() -> None:
    """Measure and print."""
    parser = arguments_of(__doc__)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--seconds", type=int, default=5)
    asked = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk is not installed: nothing measured")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        snapshot = folder / "graph.cuihop"
        graph, pairs = made_graph(asked.concepts, asked.rows)
        graph.save(snapshot)
        print(f"{graph.release.concepts:,} concepts, {graph.release.edges:,} edges; near pairs; one worker", flush=True)
        measure(pairs, snapshot, folder, asked.seconds)
    RESULTS.save(asked.json)


def measure(pairs: list[tuple[str, str]], snapshot: Path, folder: Path, seconds: int) -> None:
    """The table."""
    single, batch = scripts(folder, pairs)
    print(f"{'HTTP':<48} {'answers/s':>10} {'median':>10} {'99 %':>10}")
    own, bare, other = free_port(), free_port(), free_port()
    grpc_port = free_port()
    here = str(Path(__file__).parent)
    granian = ("-m", "granian", "--interface", "asgi", "--loop", "uvloop", "--workers", "1", "--log-level", "error")
    with running(
        "-m", "cuihop.cli", "serve", "--store", str(snapshot), "--http-port", str(own), "--grpc-port", str(grpc_port),
        port=own,
    ):  # fmt: skip
        for connections in (1, 16):
            told = loaded("cuihop", own, single, connections, seconds)
            print(f"{f'cuihop serve (uvicorn), {connections} connections':<48} {told}", flush=True)
        told = loaded("cuihop", own, batch, 4, seconds)
        print(f"{'the same, batches of 1,000':<48} {told}", flush=True)
        over_grpc = list(grpc_rates(grpc_port, pairs, seconds))
    with running(
        *granian, "--port", str(other), "--factory", "service:service_application",
        port=other, CUIHOP_GRAPH=str(snapshot), PYTHONPATH=here,
    ):  # fmt: skip
        for connections in (1, 16):
            told = loaded("cuihop on granian", other, single, connections, seconds)
            print(f"{f'the same application on granian, {connections} connections':<48} {told}", flush=True)
        told = loaded("cuihop on granian", other, batch, 4, seconds)
        print(f"{'the same, batches of 1,000':<48} {told}", flush=True)
    with running(
        "-m", "uvicorn", "--port", str(bare), "--loop", "uvloop", "--http", "httptools", "--no-access-log",
        "service:nothing",
        port=bare, PYTHONPATH=here,
    ):  # fmt: skip
        print(
            f"{'nothing on uvicorn, 16 connections':<48} {loaded('nothing, uvicorn', bare, single, 16, seconds)}",
            flush=True,
        )
    with running(*granian, "--port", str(other), "service:nothing", port=other, PYTHONPATH=here):
        print(
            f"{'nothing on granian, 16 connections':<48} {loaded('nothing, granian', other, single, 16, seconds)}",
            flush=True,
        )
    print(f"\n{'gRPC, one caller':<48} {'answers/s':>10} {'ms each':>10}")
    for name, rate, each in over_grpc:
        print(f"{name:<48} {rate:>10,.0f} {each:>10.2f}")
        RESULTS.add(f"gRPC, {name}", "cuihop", rate, "answers/s")


if __name__ == "__main__":
    main()
