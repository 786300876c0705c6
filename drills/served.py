"""A started service seen from outside: requests of every operation, and what its processes hold."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from cuihop import SnapshotGraph
from cuihop.answer_fields import fields_of
from cuihop.operations.table import CODE_MAPS, CODES, DISTANCES, OPERATIONS, PAIR_SIMILARITIES, Operation
from cuihop.remote.wire import message_class, message_of
from cuihop_api.v1 import concept_graph_pb2 as pb
from served_program import Program, program
from waiting import wait_for

__all__ = [
    "IN_USE", "Footprint", "Growth", "Question", "footprint", "footprint_in_use", "growth", "large_graph",
    "measured_program", "questions", "tracebacks",
]  # fmt: skip

IN_USE = Path(__file__).with_name("memory_in_use")
_OF_THE_DRIVER = (
    r"Exception ignored in: <function Bolt.__del__ .*\nTraceback (?:.*\n  .*)*\nAttributeError: .*hydration_handler.*"
)
"""The text of neo4j (6.4.1) about a connection that is lost while it is made. The request goes on over another."""
_CERTAIN = 4.0  # standard errors
_FIRST = 1 / 3  # of what is measured: caches and pools fill


@dataclass(frozen=True)
class Question:
    """A request, as it goes over either transport.

    Attributes:
        rpc: the method of gRPC; empty for none.
        message: of gRPC.
        path: of HTTP, with the query.
        body: of HTTP; empty for ``GET``.
    """

    rpc: str
    message: Any
    path: str
    body: bytes = b""

    def head(self, seconds: float | None = None) -> bytes:
        """The head of the HTTP request, with a deadline."""
        lines = [f"{'POST' if self.body else 'GET'} {self.path} HTTP/1.1", "Host: localhost"]
        if self.body:
            kind = "application/x-ndjson" if self.path.endswith("/stream") else "application/json"
            lines += [f"Content-Type: {kind}", f"Content-Length: {len(self.body)}"]
        if seconds is not None:
            lines.append(f"X-Timeout-Seconds: {seconds:.6f}")
        return "\r\n".join([*lines, "", ""]).encode()


def questions(rng: random.Random, cuis: Sequence[str], size: int) -> Iterator[Question]:
    """One request of each operation, of this number of items, and those of further routes.

    Graphs of drills have no codes: none asks for them, or for their mappings.
    """
    for operation in OPERATIONS:
        if operation not in (CODES, CODE_MAPS):
            yield _question(operation, rng, cuis, size)
    pairs = [(rng.choice(cuis), rng.choice(cuis)) for _ in range(size)]
    lines = "".join(json.dumps({"sequence": n, "pairs": pairs[n::4]}) + "\n" for n in range(4))
    batch = message_of(message_class(DISTANCES.rpc), DISTANCES.request(pairs=pairs))
    streamed = pb.StreamDistancesRequest(batch=batch)  # type: ignore[arg-type]
    yield Question("StreamDistances", streamed, "/v1/distances/stream", lines.encode())
    for path in ("/health/ready", "/metrics", "/openapi.json", "/"):
        yield Question("", None, path)


def _question(operation: Operation[Any, Any], rng: random.Random, cuis: Sequence[str], size: int) -> Question:
    def some(number: int) -> list[str]:
        return [rng.choice(cuis) for _ in range(number)]

    few, many = min(size, 1_000), min(size, 5_000)
    pairs = many if operation is PAIR_SIMILARITIES else size  # with every measure, a service allows fewer
    values: dict[str, Any] = {
        "a": rng.choice(cuis), "b": rng.choice(cuis), "cui": rng.choice(cuis), "cuis": sorted(set(some(many))),
        "pairs": [(a, b) for a, b in zip(some(pairs), some(pairs), strict=True)], "query": some(few // 50 + 1),
        "corpus": [some(8) for _ in range(few)], "text": "name of", "texts": [f"A name of {cui}." for cui in some(few)],
        "hops": rng.choice((2, 255)), "limit": 50,
    }  # fmt: skip
    if "n" in operation.arguments:
        values |= {"a": some(few // 4 + 1), "b": some(few // 4 + 1), "n": 3}
    chosen = {name: value for name, value in values.items() if name in operation.arguments}
    request = operation.request(**chosen)
    path, fields = f"/v1{operation.path}", {name: value for name, value in fields_of(request).items() if value}
    message = message_of(message_class(operation.rpc), request) if operation.rpc else None
    if operation.method == "POST":
        return Question(operation.rpc, message, path, json.dumps(fields, default=list).encode())
    return Question(operation.rpc, message, f"{path}?{urlencode(fields, doseq=True)}")


def tracebacks(name: str, log: str) -> list[str]:
    """A sentence with the first traceback in a log; none without one."""
    log = re.sub(_OF_THE_DRIVER, "", log)
    at = log.find("Traceback")
    return [] if at < 0 else [f"{name}: {log[max(0, at - 500) :][:2000]}"]


def large_graph(concepts: int) -> SnapshotGraph:
    """A random tree, each concept with a name."""
    draw = np.random.default_rng(3)
    parents = (draw.random(concepts) * np.arange(concepts)).astype(int).tolist()
    cuis = [f"C{number:07d}" for number in range(concepts)]
    edges = [(cuis[place], cuis[parents[place]]) for place in range(1, concepts)]
    return SnapshotGraph.of(edges, names={cui: f"name of {cui}" for cui in cuis}, identifiers="cui")


class Footprint(NamedTuple):
    """Totals over the processes of a service; of `footprint_in_use` with the memory and Python's blocks in use."""

    threads: int
    descriptors: int
    kilobytes: int = 0
    blocks: int = 0


def footprint(service: Program) -> Footprint:
    """Least totals within half a second: other callers come and go."""

    def count(name: str) -> int:
        return sum(1 for process in _processes(service) for _ in (process / name).iterdir())

    counts = []
    for _ in range(25):
        counts.append((count("task"), count("fd")))
        time.sleep(0.02)
    return Footprint(min(tasks for tasks, _ in counts), min(files for _, files in counts))


def measured_program(path: Path, *flags: str, extra: str = "") -> AbstractContextManager[Program]:
    """A service in the folder of its snapshot. Its processes read the modules of ``extra``, in place of `IN_USE`."""
    return program(path, path.parent, *flags, PYTHONPATH=extra or str(IN_USE), MEMORY_IN_USE=str(path.parent))


def footprint_in_use(service: Program, folder: Path) -> Footprint:
    """Like `footprint`, with the memory in use alone.

    The service is one of `measured_program`, in this folder.
    """
    files = [folder / process.name for process in _processes(service)]
    for file in files:
        file.unlink(missing_ok=True)
        os.kill(int(file.name), signal.SIGRTMIN)
    wait_for(lambda: all(file.exists() for file in files))
    used, blocks = np.sum([np.loadtxt(file, int) for file in files], axis=0)
    return footprint(service)._replace(kilobytes=int(used) // 1000, blocks=int(blocks))


def _processes(service: Program) -> list[Path]:
    return [Path(f"/proc/{number}") for number in (service.process.pid, *service.workers())]


class Growth(NamedTuple):
    """The slope of a line through measurements, and the error of the slope."""

    slope: float
    error: float

    def above(self, most: float) -> bool:
        """True for a slope above this, more than the noise of the measurement explains."""
        return self.slope - _CERTAIN * self.error > most


def growth(places: Sequence[float], values: Sequence[float]) -> Growth:
    """The growth of values by least squares, over the settled part."""
    first = int(len(places) * _FIRST)
    x, y = np.array(places[first:], dtype=float), np.array(values[first:], dtype=float)
    x -= x.mean()
    slope = float(x @ (y - y.mean()) / (x @ x))
    rest = y - y.mean() - slope * x
    return Growth(slope, float(np.sqrt(rest @ rest / max(1, len(x) - 2) / (x @ x))))
