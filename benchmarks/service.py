"""How many requests a second one worker of the service answers, beside the same servers with nothing behind them.

::

    python benchmarks/service.py [--concepts N] [--rows N] [--seconds N] [--rounds N] [--only TEXT] [--workers N …]

Needs ``wrk`` (Debian's package) for the load over HTTP. The service and `service_nothing.py` are both up, and each kind
of load goes to one and the other in turn, several times; a line has the medians. The load comes from the same machine
and takes its share of the cores.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import grpc.aio
import numpy as np

from cuihop import SnapshotGraph
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_tools.neo4j_server import free_ports
from cuihop_tools.synthetic_release import SyntheticRelease, tables
from measurement import Measurement, arguments_of

PAIRS_A_BATCH = 1_000
RESULTS = Measurement(("uvicorn", "granian", "grpcio"))
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Told:
    """What a load found.

    Attributes:
        rate: answers a second.
        median, late: milliseconds; half, and 99 % of the answers took no longer.
        processor: microseconds of the server's processor time for one answer; 0 where it was not looked at.
    """

    rate: float
    median: float
    late: float
    processor: float = 0.0


Load = Callable[[], Told]


def service_application() -> Any:
    """The service's own HTTP application, for another server. Its graph is named by the environment."""
    from cuihop_service.admission import Admission
    from cuihop_service.core import ConceptService
    from cuihop_service.graph_holder import GraphHolder, ServedGraph
    from cuihop_service.guard.configured_guard import ConfiguredGuard
    from cuihop_service.http_api.application import application
    from cuihop_service.limits import Limits

    graph = SnapshotGraph.open(os.environ["CUIHOP_GRAPH"])
    graph.warm_up()
    holder = GraphHolder()
    holder.serve(ServedGraph(graph.release, index=graph))
    limits = Limits()
    return application(ConceptService(holder, limits), Admission(limits, ConfiguredGuard()))


# Servers


@contextmanager
def running(*command: str, port: int, **environment: str) -> Iterator[int]:
    """A server, until the block ends; gives its process."""
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
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@contextmanager
def serving(snapshot: Path, http_port: int, grpc_port: int, workers: int = 1) -> Iterator[int]:
    """``cuihop serve``, until the block ends; begins when each worker has built its hierarchy, which is no answer."""
    with running(
        "-m", "cuihop", "serve", "--graph", str(snapshot), "--workers", str(workers),
        "--http-port", str(http_port), "--grpc-port", str(grpc_port), port=http_port,
    ) as process:  # fmt: skip
        idle, deadline = 0, time.monotonic() + 600
        while idle < 3 and time.monotonic() < deadline:
            before = processor_seconds(process)
            time.sleep(0.5)
            idle = idle + 1 if processor_seconds(process) - before < 0.05 else 0
        yield process


def family(process: int) -> list[int]:
    """A process and its children."""
    return [process, *map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]


def processor_seconds(process: int) -> float:
    """What a process and its children have used so far."""
    ticks = 0
    for number in family(process):
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def watched(load: Load, process: int, seconds: float) -> Load:
    """The load, with the processor time of the server."""

    def told() -> Told:
        before = processor_seconds(process)
        found = load()
        spent = processor_seconds(process) - before
        return replace(found, processor=1e6 * spent / (found.rate * seconds))

    return told


def memory(process: int) -> list[tuple[int, int]]:
    """Of a process and its children, megabytes: resident, and with shared pages divided among who shares them."""
    found = []
    for number in family(process):
        text = Path(f"/proc/{number}/smaps_rollup").read_text()
        sizes = {name: int(size) for name, size in re.findall(r"^(Rss|Pss):\s+(\d+)", text, re.MULTILINE)}
        found.append((sizes["Rss"] // 1024, sizes["Pss"] // 1024))
    return found


# Loads


def over_http(port: int, script: Path, connections: int, seconds: int) -> Told:
    """What wrk finds."""
    told = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), f"http://127.0.0.1:{port}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", told)
    half = re.search(r"^\s+50%\s+(\S+)", told, re.MULTILINE)
    late = re.search(r"^\s+99%\s+(\S+)", told, re.MULTILINE)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", told)
    if rate is None or half is None or late is None or bad is not None:
        raise SystemExit(told)
    return Told(float(rate[1]), milliseconds(half[1]), milliseconds(late[1]))


def milliseconds(text: str) -> float:
    """Of a time as wrk writes it."""
    for unit, factor in (("us", 0.001), ("ms", 1.0), ("s", 1000.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise ValueError(text)


def scripts(folder: Path, pairs: Pairs) -> tuple[Path, Path]:
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


def over_grpc(port: int, requests: list[Any], method: str, callers: int, seconds: float) -> Told:
    """So many callers in one process, each with its next question after the answer to the last."""
    spent: list[float] = []

    async def ask() -> float:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub: Any = pb_grpc.ConceptGraphServiceStub(channel)  # type: ignore[no-untyped-call,unused-ignore]
            asked = getattr(stub, method)
            await asked(requests[0])

            async def one(place: int) -> None:
                while (begun := time.perf_counter()) < ends:
                    await asked(requests[place % len(requests)])
                    spent.append(time.perf_counter() - begun)
                    place += callers

            begun = time.perf_counter()
            ends = begun + seconds
            await asyncio.gather(*map(one, range(callers)))
            return time.perf_counter() - begun

    whole = asyncio.run(ask())
    return Told(len(spent) / whole, *(1000 * np.quantile(spent, [0.5, 0.99])))


def made_graph(concepts: int, rows: int) -> tuple[SnapshotGraph, Pairs]:
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


# Tables


def in_turn(name: str, loads: Mapping[str, Load], rounds: int) -> None:
    """A line for each server: medians of the rounds; its rate as a share of nothing's, each compared in its round."""
    found: dict[str, list[Told]] = {server: [] for server in loads}
    for _ in range(rounds):
        for server, load in loads.items():
            found[server].append(load())
    for server, told in found.items():
        of = ("rate", "median", "late", "processor")
        rate, median, late, processor = (statistics.median(getattr(t, name) for t in told) for name in of)
        shares = [ours.rate / bare.rate for ours, bare in zip(told, found["nothing"], strict=True)]
        share = f"{statistics.median(shares):>6.0%}" if server != "nothing" else ""
        numbers = f"{rate:>10,.0f} {median:>8.2f} {late:>8.2f} {processor:>7.0f} {share}"
        print(f"{f'{name}: {server}':<60} {numbers}".rstrip(), flush=True)
        RESULTS.add(name, server, rate, "answers/s")
        RESULTS.add(f"{name}, median", server, median, "ms")
        RESULTS.add(f"{name}, 99 %", server, late, "ms")


def main() -> None:
    """Measure and print."""
    parser = arguments_of(__doc__)
    parser.add_argument("--concepts", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", metavar="TEXT", help="the loads whose names contain this")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="of services that are measured alone")
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
        measure(pairs, snapshot, folder, asked)
    RESULTS.save(asked.json)


def measure(pairs: Pairs, snapshot: Path, folder: Path, asked: argparse.Namespace) -> None:
    """The tables."""
    seconds, rounds = asked.seconds, asked.rounds
    single, batch = scripts(folder, pairs)
    here = str(Path(__file__).parent)
    own, bare, other = free_ports(2), free_ports(2), free_ports(1)[0]
    print(f"{'':<60} {'answers/s':>10} {'half ms':>8} {'99 % ms':>8} {'CPU µs':>7} {'share':>6}")
    with ExitStack() as stack:
        served = stack.enter_context(serving(snapshot, *own))
        nothing = stack.enter_context(running(f"{here}/service_nothing.py", *map(str, bare), port=bare[0]))
        granian = stack.enter_context(
            running(
                "-m",
                "granian",
                "--interface",
                "asgi",
                "--loop",
                "uvloop",
                "--workers",
                "1",
                "--log-level",
                "error",
                "--port",
                str(other),
                "--factory",
                "service:service_application",
                port=other,
                CUIHOP_GRAPH=str(snapshot),
                PYTHONPATH=here,
            )
        )
        servers = {
            "nothing": (nothing, bare),
            "cuihop serve": (served, own),
            "the same on granian": (granian, (other, 0)),
        }
        for name, script, connections in (
            ("HTTP, 1 connection", single, 1),
            ("HTTP, 16 connections", single, 16),
            ("HTTP, batches of 1,000, 4 connections", batch, 4),
        ):
            if asked.only not in name:
                continue
            ask = partial(over_http, script=script, connections=connections, seconds=seconds)
            loads = {server: watched(partial(ask, ports[0]), pid, seconds) for server, (pid, ports) in servers.items()}
            in_turn(name, loads, rounds)
        del servers["the same on granian"]
        singles = [pb.DistanceRequest(a=a, b=b) for a, b in pairs]
        numbers = [(int(a[1:]), int(b[1:])) for a, b in pairs[:PAIRS_A_BATCH]]
        packed = pb.PackedPairs(a=[a for a, _ in numbers], b=[b for _, b in numbers])
        batches = [pb.DistancesRequest(packed=packed)]
        for name, requests, method, callers in (
            ("gRPC, 1 caller", singles, "Distance", 1),
            ("gRPC, 16 callers", singles, "Distance", 16),
            ("gRPC, batches of 1,000, packed, 1 caller", batches, "Distances", 1),
            ("gRPC, batches of 1,000, packed, 4 callers", batches, "Distances", 4),
        ):
            if asked.only not in name:
                continue
            call = partial(over_grpc, requests=requests, method=method, callers=callers, seconds=seconds)
            loads = {server: watched(partial(call, ports[1]), pid, seconds) for server, (pid, ports) in servers.items()}
            in_turn(name, loads, rounds)
    for workers in asked.workers:
        with serving(snapshot, own[0], own[1], workers=workers) as process:
            told = over_http(own[0], single, 16, seconds), over_http(own[0], batch, 4, seconds)
            sizes = memory(process)
        print(
            f"{workers} worker{'s' * (workers > 1)}, HTTP: {told[0].rate:,.0f} singles/s at 16 connections, "
            f"{told[1].rate:,.0f} batches/s at 4; MB resident, and with shared pages divided, of each process: "
            + ", ".join(f"{rss:,} {pss:,}" for rss, pss in sizes)
        )
        RESULTS.add(f"HTTP, 16 connections, {workers} workers", "cuihop serve", told[0].rate, "answers/s")
        RESULTS.add(f"HTTP, batches of 1,000, {workers} workers", "cuihop serve", told[1].rate, "answers/s")


if __name__ == "__main__":
    main()
