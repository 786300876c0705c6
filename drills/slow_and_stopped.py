"""Drill: callers that are slow, stop or go away, and workers that are stopped. Deadlines hold, others are answered.

Nothing may be left of them: threads, descriptors and memory of the service are counted after each round of abandoned
calls, and a slope that the noise does not explain is a fault.
"""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from cuihop import SnapshotGraph
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1.concept_graph_pb2_grpc import ConceptGraphServiceStub
from cuihop_service.guard.address_limits import HEAD_SECONDS
from drills.drill import Case, Found, Setting
from drills.served import Footprint, Question, footprint_in_use, growth, large_graph, measured_program, questions
from served_program import Program
from waiting import wait_for

_LATE = 0.1  # seconds, on an idle machine
_TOO_LATE = 10 * _LATE  # on an idle machine; see `_busy`
_MEANWHILE = 10.0  # seconds for an answer to another caller
_PATIENCE = 60.0
_CALLERS = 8
_SLOW = 8  # of each kind
_LEFT = {"threads": 0.001, "descriptors": 0.001, "kilobytes": 0.1, "blocks": 0.5}  # a call
_REFUSALS = {200, 429, 503, 504}
_ENDED = {
    grpc.StatusCode.OK, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED,
}  # fmt: skip
_STOPS_ITSELF = """
import os, signal, socket, sys
host, port, at, file = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
with open(file, "rb") as source, socket.create_connection((host, port), timeout=60) as connection:
    request = source.read()
    connection.sendall(request[:at])
    os.kill(os.getpid(), signal.SIGSTOP)
    connection.sendall(request[at:])
    print(connection.recv(64).split()[1].decode())
"""


@dataclass
class _Watch:
    """Observations from outside, by several threads.

    Attributes:
        stops: begin and end of each time in which a worker was stopped.
        answers: begin, end and lateness of each answer to a call with a deadline.
        waited: seconds of another caller for its answer.
        own: the worst that this process was late by itself, in seconds.
    """

    ended: threading.Event = field(default_factory=threading.Event)
    stops: list[tuple[float, float]] = field(default_factory=list)
    answers: list[tuple[float, float, float]] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    own: float = 0.0
    abandoned: int = 0

    def lateness(self) -> list[float]:
        """Seconds after the deadline of each answer while all workers ran."""
        return [
            late for begin, end, late in self.answers if all(end < first or begin > last for first, last in self.stops)
        ]


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """A large graph in a file; each case starts a service of its own."""
    path = setting.folder / "large.cuihop"
    graph = large_graph(20_000 if setting.small else 100_000)
    graph.save(path)

    def case(rng: random.Random) -> Found:
        rounds, calls, size = (6, 50, 2_000) if setting.small else (50, 500, 20_000)
        return tried(graph, path, rng, rounds=rounds, calls=calls, size=size, memory=not setting.small)

    yield case


def tried(
    graph: SnapshotGraph,
    path: Path,
    rng: random.Random,
    *,
    rounds: int,
    calls: int,
    size: int,
    memory: bool,
    extra: str = "",
) -> Found:
    """Rounds of abandoned calls of this size, and what the service holds after each.

    The threads of the service have filled their memory after some thousands of calls: with fewer, it is not judged.
    ``extra``: see `measured_program`.
    """
    cuis = [f"C{number:07d}" for number in range(graph.release.concepts)]
    requests = list(questions(rng, cuis, size))
    watch, held, calls_made, busy = _Watch(), list[Footprint](), list[int](), _busy()
    with (
        measured_program(path, "--workers", "2", "--limit-seconds", "3", extra=extra) as service,
        ExitStack() as stack,
    ):
        wait_for(lambda: service.ready_workers() == 2)
        for work in (_witness, _slow):
            thread = threading.Thread(target=work, args=(service, graph, requests, watch))
            thread.start()
            stack.callback(thread.join)
        stack.callback(watch.ended.set)
        for number in range(rounds):
            _abandon(service, requests, watch, rng, calls)
            _stop_worker(service, watch, rng)
            _stop_caller(service, requests, watch, rng)
            wait_for(lambda: _running(service) == 0, _PATIENCE)
            held.append(footprint_in_use(service, path.parent))
            calls_made.append((number + 1) * calls)
        watch.ended.set()
        if service.stop() != 0 or "Traceback" in service.log.read_text():
            watch.wrong.append(f"the end of the service: {service.log.read_text()[-2000:]}")
    late = watch.lateness()
    busy = max(busy, _busy())
    bound = _TOO_LATE * busy + 10 * watch.own
    wrong = watch.wrong + [f"answered {value:.1f} s after its deadline" for value in late if value > bound]
    wrong += [f"another caller waited {value:.1f} s" for value in watch.waited if value > _MEANWHILE * busy]
    measured = {"s after a deadline": late, "s for another caller": watch.waited}
    for name, most in _LEFT.items():
        values = [getattr(each, name) for each in held]
        found = growth(calls_made, values)
        if found.above(most) and (memory or name in ("threads", "descriptors")):
            wrong.append(f"{found.slope:.3f} {name} are left a call (error {found.error:.3f}): {values}")
        measured[f"{name} left a call"] = [found.slope]
    return Found(watch.abandoned, wrong, measured)


def _busy() -> float:
    """The number of threads that want each processor, 1 or more: each second of work takes as many seconds."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _running(service: Program) -> int:
    text = service.answer("/metrics").decode()
    return sum(int(float(value)) for value in re.findall(r"^cuihop_requests_running\S* (\S+)", text, re.MULTILINE))


# Callers


def _abandon(service: Program, requests: Sequence[Question], watch: _Watch, rng: random.Random, calls: int) -> None:
    """Calls that time out, or whose caller goes away, by several threads."""
    ways = (_with_deadline, _gone, _gone, _grpc_deadline, _grpc_gone)
    drawn = [(rng.choice(ways), rng.choice(requests), random.Random(rng.random())) for _ in range(calls)]

    def caller(number: int) -> None:
        with grpc.insecure_channel(service.grpc, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = ConceptGraphServiceStub(channel)
            for way, question, own in drawn[number::_CALLERS]:
                try:
                    way(service, stub, question, watch, own)
                except OSError as error:
                    watch.wrong.append(f"{way.__name__} {question.path[:80]}: {error!r}")

    with ThreadPoolExecutor(_CALLERS) as threads:
        list(threads.map(caller, range(_CALLERS)))
    watch.abandoned += calls


def _connected(service: Program, source: str = "127.0.0.1", buffer: int = 0) -> socket.socket:
    host, _, port = service.http.partition(":")
    connection = socket.socket()
    if buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.settimeout(_PATIENCE)
    connection.bind((source, 0))
    connection.connect((host, int(port)))
    return connection


def _deadline(rng: random.Random) -> float:
    return float(10 ** rng.uniform(-3.3, -0.7))


def _with_deadline(service: Program, stub: Any, question: Question, watch: _Watch, rng: random.Random) -> None:
    """A call over HTTP with a deadline, which the service has to keep."""
    seconds = _deadline(rng)
    with _connected(service) as connection:
        begin = time.monotonic()
        connection.sendall(question.head(seconds) + question.body)
        answer = connection.recv(64)
        end = time.monotonic()
    if question.path.startswith("/v1"):  # others have no deadline
        watch.answers.append((begin, end, max(0.0, end - begin - seconds)))
    if int((answer.split() or [b"", b"0"])[1]) not in _REFUSALS:
        watch.wrong.append(f"{question.path[:80]} with {seconds:.4f} s: {answer!r}")


def _gone(service: Program, stub: Any, question: Question, watch: _Watch, rng: random.Random) -> None:
    """A call over HTTP whose caller goes away at any byte, before the answer or within it."""
    request = question.head() + question.body
    with _connected(service) as connection:
        if rng.random() < 0.4:
            connection.sendall(request[: rng.randrange(len(request))])
        else:
            connection.sendall(request)
            how = rng.random()
            if how < 0.3:
                connection.recv(rng.choice((1, 200, 4096)))
            elif how < 0.7:
                watch.ended.wait(_deadline(rng))
        if rng.random() < 0.5:  # reset, in place of an orderly end
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif rng.random() < 0.5:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)


def _call(stub: Any, question: Question, seconds: float) -> tuple[Any, bool]:
    """A call under way over gRPC; true if its answer is a stream."""
    method = getattr(stub, question.rpc)
    if isinstance(method, grpc.UnaryUnaryMultiCallable):
        return method.future(question.message, timeout=seconds), False
    if isinstance(method, grpc.UnaryStreamMultiCallable):
        return method(question.message, timeout=seconds), True
    return method(iter([question.message] * 3), timeout=seconds), True


def _grpc_deadline(service: Program, stub: Any, question: Question, watch: _Watch, rng: random.Random) -> None:
    """A call over gRPC with a deadline."""
    if not question.rpc:
        return _with_deadline(service, stub, question, watch, rng)
    call, streams = _call(stub, question, _deadline(rng))
    with suppress(grpc.RpcError, grpc.FutureCancelledError):
        list(call) if streams else call.result()
    if call.code() not in _ENDED:
        watch.wrong.append(f"{question.rpc}: {call.code()} {call.details()}")
    return None


def _grpc_gone(service: Program, stub: Any, question: Question, watch: _Watch, rng: random.Random) -> None:
    """A call over gRPC whose caller cancels it at any moment."""
    if not question.rpc:
        return _gone(service, stub, question, watch, rng)
    call, streams = _call(stub, question, _PATIENCE)
    if streams and rng.random() < 0.2:
        with suppress(grpc.RpcError, StopIteration):
            next(call)
    else:
        watch.ended.wait(_deadline(rng))
    call.cancel()
    return None


def _witness(service: Program, graph: SnapshotGraph, requests: Sequence[Question], watch: _Watch) -> None:
    """Another caller, whose answers have to be right, and to come."""
    a, b = "C0000017", "C0000900"
    expected = graph.distance(a, b)
    part = f'"hops":{expected},'.encode()
    request = f"GET /v1/distance?a={a}&b={b} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    message = pb.DistanceRequest(a=a, b=b)
    while not watch.ended.is_set():
        begin = time.monotonic()
        try:
            with _connected(service) as connection:
                connection.sendall(request)
                answer = b"".join(iter(lambda: connection.recv(4096), b""))
            with grpc.insecure_channel(service.grpc, [("grpc.use_local_subchannel_pool", 1)]) as channel:
                hops = ConceptGraphServiceStub(channel).Distance(message, timeout=_PATIENCE).hops
        except (OSError, grpc.RpcError) as error:
            watch.wrong.append(f"another caller: {error!r}")
            return
        watch.waited.append(time.monotonic() - begin)
        if part not in answer or hops != expected:
            watch.wrong.append(f"another caller, in place of {expected}: {answer[-200:]!r}, gRPC {hops}")
        slept = time.monotonic()
        watch.ended.wait(0.05)
        if not watch.ended.is_set():
            watch.own = max(watch.own, time.monotonic() - slept - 0.05)


def _slow(service: Program, graph: SnapshotGraph, requests: Sequence[Question], watch: _Watch) -> None:
    """Callers that send a byte a second of a head or a body, and callers that read nothing."""
    large = max(requests, key=lambda question: len(question.body))
    with ExitStack() as stack:
        heads, bodies, unread = (
            [stack.enter_context(_connected(service, f"127.0.0.{kind}", 4096)) for _ in range(_SLOW)]
            for kind in (2, 3, 4)
        )
        for connection in bodies:
            connection.sendall(large.head())
        for connection in unread:
            connection.sendall(large.head() + large.body)
        begin, sent = time.monotonic(), large.head() + large.body
        open_heads, number = list(heads), 0
        while not watch.ended.wait(1.0):
            for connection in [*open_heads, *bodies]:
                try:
                    connection.send(sent[number : number + 1], socket.MSG_DONTWAIT)
                except OSError:  # the service has ended it, as it should
                    (open_heads if connection in open_heads else bodies).remove(connection)
            number += 1
        if open_heads and time.monotonic() - begin > 10 * HEAD_SECONDS:
            watch.wrong.append(f"{len(open_heads)} heads of a byte a second were still taken")


# What is stopped


def _stop_worker(service: Program, watch: _Watch, rng: random.Random) -> None:
    """Stop one of the workers for a while; the other one answers."""
    worker = rng.choice(service.workers())
    begin = time.monotonic()
    os.kill(worker, signal.SIGSTOP)
    try:
        watch.ended.wait(rng.uniform(0.1, 1.0))
    finally:
        os.kill(worker, signal.SIGCONT)
        watch.stops.append((begin, time.monotonic()))


def _stop_caller(service: Program, requests: Sequence[Question], watch: _Watch, rng: random.Random) -> None:
    """A caller that stops itself in the middle of its request, and is answered once it goes on."""
    question = rng.choice([each for each in requests if each.path.startswith("/v1/") and len(each.body) < 100_000])
    request = question.head() + question.body
    host, _, port = service.http.partition(":")
    file = service.log.with_name("request")
    file.write_bytes(request)
    command = [sys.executable, "-IS", "-c", _STOPS_ITSELF, host, port, str(rng.randrange(1, len(request))), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        watch.ended.wait(rng.uniform(0.05, 1.0))
        process.send_signal(signal.SIGCONT)
        status = process.communicate(timeout=_PATIENCE)[0].strip()
    if status not in (b"200", b"504"):
        watch.wrong.append(f"a caller that stopped in {question.path[:80]}: {status!r}")
