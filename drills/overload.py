"""Drill: twice as many requests as a service can answer, by clients that retry as documented."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

from cuihop import SnapshotGraph
from cuihop.remote.settings import RemoteSettings
from drills.client import Client
from drills.drill import Case, Found, Setting
from drills.served import tracebacks
from replica_callers import Replica, activate, running_replicas
from waiting import wait_for

__all__ = ["Question", "Tally", "Times", "cases", "overloaded"]

_CONCEPTS = 20_000
_CLIENTS = 16
_PAIRS_OF_EACH = 800  # of eight concepts in a batch
_AT_ONCE = 32  # requests, while the capacity is measured
_MOST_UNDER_WAY = 2_000
_LONGEST_WAIT = 2  # of a request, in times its patience: its last attempt may begin when the first has just failed
_REFUSALS = ("RateLimited", "QueryTimedOut", "GraphUnavailable")
_BY_CHANCE = 1e-6
"""A client starves that gets no answer, where this is less likely than that: each request has the share of all."""
_LEAKED = 192 << 20
"""Bytes, 9 kB a request. Free memory between used pieces stays with the process: after each of four loads in a row a
worker held 189 to 284 MiB, 134 before the first. The last left least."""
_SPARE_THREADS = 40  # those for answers, which are started when they are needed, and some of gRPC
_BACK_SECONDS = 60.0


class Times(NamedTuple):
    """Seconds: of the measurement of the capacity, of the overload, and at most for one attempt, and for retries.

    Clients have less patience if more requests than can be under way would wait for so long: each is sent when it is
    due, however many wait.
    """

    capacity: float
    overload: float
    patience: float


class Question(NamedTuple):
    """A batch of pairs, and its answer."""

    pairs: list[tuple[str, str]]
    right: list[int | None]


@dataclass
class Tally:
    """Outcomes of requests. Safe to share between threads.

    Attributes:
        digest: of the release.
        good: times of right answers, by client.
        failed: requests that were refused to the end, by the error.
        wrong: a sentence for each wrong answer and each error that is no refusal.
    """

    digest: str
    good: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failed: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, client: Client, question: Question) -> None:
        """Ask, and note what came of it."""
        done = client.ask("any", question.pairs)
        with self._lock:
            if done.failure:
                kind = done.failure.partition(":")[0]
                self.failed[kind] += 1
                if kind not in _REFUSALS:
                    self.wrong.append(f"{client.name}: {done.failure[:500]}")
            elif (done.digest, done.hops) == (self.digest, question.right):
                self.good[client.name].append(time.monotonic())
            else:
                self.wrong.append(f"{client.name}: a wrong answer, of release {done.digest}")

    @property
    def answers(self) -> int:
        """The number of right answers."""
        return sum(map(len, self.good.values()))


class _Usage(NamedTuple):
    """Resources of the worker, and the seconds of the processor that it has used."""

    descriptors: int
    threads: int
    memory: int
    processor: float


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """One replica with one worker, and a graph in which a batch takes it some hundredths of a second."""
    draw = random.Random(0)
    concepts = [f"C{number:07d}" for number in range(_CONCEPTS)]
    edges = {
        (concepts[place], concepts[draw.randrange(max(0, place - 2_000), place)])
        for place in range(1, _CONCEPTS)
        for _ in range(draw.choice((1, 1, 2)))
    }
    graph = SnapshotGraph.of(sorted(edges), name="large", identifiers="cui")
    store = setting.folder / "graph.cuihop"
    activate(graph, store)
    hops = nx.Graph(edges)

    def question(rng: random.Random) -> Question:
        lengths = {a: nx.single_source_shortest_path_length(hops, a) for a in rng.sample(concepts, 8)}
        pairs = [(a, b) for a in lengths for b in rng.sample(concepts, _PAIRS_OF_EACH)]
        return Question(pairs, [lengths[a].get(b) for a, b in pairs])

    replica = Replica(store, setting.folder / "replica", ("--proxies", "127.0.0.1"))
    times = Times(1.0, 3.0, 2.0) if setting.small else Times(20.0, 300.0, 30.0)
    with running_replicas([replica]):

        def case(rng: random.Random) -> Found:
            questions = [question(rng) for _ in range(8)]
            return overloaded(replica, graph.release.digest, questions, rng, times)

        yield case


def overloaded(replica: Replica, digest: str, questions: list[Question], rng: random.Random, times: Times) -> Found:
    """Measure the capacity, ask for twice as much, and look at what is left afterwards."""
    usual, tally = Tally(digest), Tally(digest)
    rate, of_processor, alone = _capacity(replica, usual, questions, times.capacity)
    before = _usage(replica)
    patience = min(times.patience, _MOST_UNDER_WAY / (_LONGEST_WAIT * 2 * rate))
    with _clients(replica, patience) as clients, ThreadPoolExecutor(_MOST_UNDER_WAY) as pool:
        begun = due = time.monotonic()
        half, late = begun + times.overload / 2, Counter[str]()
        while due < begun + times.overload:
            time.sleep(max(0.0, due - time.monotonic()))
            client = rng.choice(clients)
            late[client.name] += due > half
            pool.submit(tally.ask, client, rng.choice(questions))
            due += rng.expovariate(2 * rate)
        ended, used = time.monotonic(), _usage(replica).processor - before.processor
        answers = tally.answers
    retried = time.monotonic() - ended
    problems, back = _until_quick(replica, Tally(digest), questions[0], 10 * alone + 0.1)
    attempts = sum(client.attempts for client in clients)
    requests = tally.answers + len(tally.wrong) + sum(tally.failed[kind] for kind in _REFUSALS)
    problems += usual.wrong + tally.wrong
    share = tally.answers / requests
    problems += [
        f"{name}: no answer in the second half to {number} requests; of all {tally.answers}, {dict(tally.failed)}"
        for name, number in late.items()
        if (1 - share) ** number < _BY_CHANCE and not any(moment > half for moment in tally.good[name])
    ]
    over = {
        scheme: sum(len(good) for name, good in tally.good.items() if name.endswith(scheme))
        for scheme in ("grpc", "http")
    }
    problems += _left(replica, before)
    problems += tracebacks(replica.folder.name, (replica.folder / "log").read_text(errors="replace"))
    measured = {
        "answers a second at capacity": rate,
        "seconds of patience": patience,
        "good answers in % of capacity": 100 * answers / (ended - begun) / rate,
        "the same for a second of the worker's processor": 100 * answers / max(used, 0.01) / of_processor,
        "answers over gRPC in % of those over HTTP": 100 * over["grpc"] / max(over["http"], 1),
        "% of requests refused to the end": 100 * tally.failed.total() / requests,
        "attempts for a request": attempts / requests,
        "seconds of retries after the last request": retried,
        "seconds until as quick as before, after the last retry": back,
    }
    return Found(requests, problems, {name: [value] for name, value in measured.items()})


def _capacity(replica: Replica, tally: Tally, questions: list[Question], seconds: float) -> tuple[float, float, float]:
    """Answers to some callers who ask all the time, a second and a second of the processor; seconds of one alone."""
    over = threading.Event()

    def ask(client: Client, rng: random.Random) -> None:
        while not over.is_set():
            tally.ask(client, rng.choice(questions))

    with _clients(replica, 30.0) as clients, ThreadPoolExecutor(_AT_ONCE) as pool:
        for client in clients:  # which connects
            tally.ask(client, questions[0])
        begun = time.monotonic()
        tally.ask(clients[0], questions[0])
        alone = time.monotonic() - begun
        for number in range(_AT_ONCE):
            pool.submit(ask, clients[number % _CLIENTS], random.Random(number))
        before = tally.answers, time.monotonic(), _usage(replica).processor
        over.wait(seconds)
        after = tally.answers, time.monotonic(), _usage(replica).processor
        over.set()
    answers, wall, processor = (now - then for now, then in zip(after, before, strict=True))
    return answers / wall, answers / processor, alone


def _until_quick(replica: Replica, tally: Tally, question: Question, most: float) -> tuple[list[str], float]:
    """The seconds until an answer takes this long at most, without a retry."""

    def is_quick() -> bool:
        settings = RemoteSettings(f"http://127.0.0.1:{replica.http_port}", retry_time=0.0)
        client, before, begun = Client(settings, "after"), tally.answers, time.monotonic()
        tally.ask(client, question)
        client.close()
        return tally.answers > before and time.monotonic() - begun <= most

    try:
        return tally.wrong, wait_for(is_quick, _BACK_SECONDS)
    except pytest.fail.Exception as error:
        return [*tally.wrong, str(error)], _BACK_SECONDS


@contextmanager
def _clients(replica: Replica, patience: float) -> Iterator[list[Client]]:
    clients = []
    for number in range(_CLIENTS):
        scheme, port = ("grpc", replica.grpc_port) if number % 2 else ("http", replica.http_port)
        settings = RemoteSettings(
            f"{scheme}://127.0.0.1:{port}", timeout=patience, retry_time=patience, connections=_MOST_UNDER_WAY
        )
        clients.append(Client(settings, f"client {number}, {scheme}"))
    try:
        yield clients
    finally:
        for client in clients:
            client.close()


def _left(replica: Replica, before: _Usage) -> Iterator[str]:
    """A sentence for each resource that the worker does not give back."""
    try:
        wait_for(lambda: _usage(replica).descriptors <= before.descriptors, _BACK_SECONDS)
    except pytest.fail.Exception as error:
        yield str(error)
    after = _usage(replica)
    if after.threads > before.threads + _SPARE_THREADS:
        yield f"{after.threads} threads, {before.threads} before"
    if after.memory > before.memory + _LEAKED:
        yield f"{after.memory >> 20} MiB, {before.memory >> 20} before"


def _usage(replica: Replica) -> _Usage:
    [worker] = [] if replica.program is None else replica.program.workers()
    process = Path(f"/proc/{worker}")
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    processor = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    memory = int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    descriptors, threads = (sum(1 for _ in (process / name).iterdir()) for name in ("fd", "task"))
    return _Usage(descriptors, threads, memory, processor)
