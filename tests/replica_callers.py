"""Callers of replicas behind proxies, each with one connection that it keeps, and two replicas."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import grpc

from cuihop import SnapshotGraph
from cuihop.errors import ReleaseMismatch
from cuihop.remote.activation import ACTIVATION_HEADER
from cuihop.remote.graph import RemoteGraph
from cuihop.remote.settings import RemoteSettings
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_service.callers import Rate
from cuihop_tools.neo4j_server import free_ports
from guarded_service import bearer, new_key_in
from proxies import PROXIES, Proxy, running_proxy
from redis_server import RedisServer
from served_program import Program, program
from waiting import wait_for

PAIR = ("C7777770", "C7777771")
PAIRS = [PAIR, PAIR[::-1], (PAIR[0], PAIR[0])]


def release(hops: int) -> SnapshotGraph:
    """A release in which the two concepts of `PAIR` are this number of hops apart."""
    chain = [PAIR[0], *(f"C10000{number:02}" for number in range(hops - 1)), PAIR[1]]
    return SnapshotGraph.of(list(pairwise(chain)), name=f"{hops} hops", identifiers="cui")


@cache
def releases() -> list[SnapshotGraph]:
    """Releases in which the two concepts are one, two and three hops apart."""
    return [release(hops) for hops in (1, 2, 3)]


@cache
def release_digests() -> list[str]:
    """The digests of `releases`."""
    return [graph.release.digest for graph in releases()]


def activate(graph: SnapshotGraph, store: Path) -> None:
    """Put a release in the place of the present one, as `cuihop load` does; an earlier one is a new file, too."""
    fresh = store.with_suffix(".fresh")
    graph.save(fresh)
    fresh.replace(store)


@dataclass
class Replica:
    """One replica, which can be started again on the same ports."""

    store: Path | str
    folder: Path
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    http_port: int = 0
    grpc_port: int = 0
    program: Program | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        if not self.http_port:
            self.http_port, self.grpc_port = free_ports(2)
        ports = ("--http-port", str(self.http_port), "--grpc-port", str(self.grpc_port))
        index = ("--index-folder", str(self.folder / "index"))
        self.folder.mkdir(exist_ok=True)
        self.program = self._stack.enter_context(
            program(self.store, self.folder, *ports, *index, *self.arguments, **self.environment)  # type: ignore[arg-type]
        )

    def kill(self) -> None:
        """End it at once, with its workers, as a power cut would."""
        assert self.program is not None
        workers = self.program.workers()
        self.program.kill()
        for process in workers:
            os.kill(process, signal.SIGKILL)

    def close(self) -> None:
        self._stack.close()


@dataclass
class Cluster:
    """Two replicas behind each of the proxies, by their names."""

    replicas: list[Replica]
    proxies: dict[str, Proxy]


@dataclass
class Department:
    """The replicas, and what they share. The second one looks at the store only once a minute by itself."""

    cluster: Cluster
    store: Path
    keys: Path
    key: str
    redis: RedisServer

    def new_key(self, name: str, **rate: int) -> str:
        return new_key_in(self.keys, name, "read", rate=Rate(**rate) if rate else None)


@contextmanager
def running_replicas(replicas: list[Replica]) -> Iterator[list[Replica]]:
    """The replicas, started side by side."""
    try:
        with ThreadPoolExecutor() as threads:
            list(threads.map(Replica.start, replicas))
        yield replicas
    finally:
        for replica in replicas:
            replica.close()


@contextmanager
def running_cluster(replicas: list[Replica], folder: Path, names: Sequence[str] = PROXIES) -> Iterator[Cluster]:
    """The replicas behind the proxies."""
    with running_replicas(replicas), ExitStack() as stack:
        ports = [(replica.http_port, replica.grpc_port) for replica in replicas]
        yield Cluster(
            replicas, {name: stack.enter_context(running_proxy(name, ports, folder / name)) for name in names}
        )


@dataclass
class HttpCaller:
    """One HTTP connection. It sends the newest activation that it has seen, where ``orders`` is True."""

    port: int
    key: str | None = None
    orders: bool = True

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self.seen: str | None = None

    def send(self, path: str, body: object = None, **headers: str) -> tuple[int, Mapping[str, str], Any]:
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        if self.orders and self.seen is not None:
            headers[ACTIVATION_HEADER] = self.seen
        method = "GET" if body is None else "POST"
        content = None if body is None else json.dumps(body)
        if content is not None:
            headers["Content-Type"] = "application/json"
        self._connection.request(method, path, content, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        seen = answer.headers.get(ACTIVATION_HEADER)
        if seen is not None and (self.seen is None or int(seen.split("-")[0]) > int(self.seen.split("-")[0])):
            self.seen = seen
        found = json.loads(text) if "json" in answer.headers.get("content-type", "") else text
        return answer.status, {name.lower(): value for name, value in answer.headers.items()}, found

    def ask(self, turn: int) -> tuple[str, list[int | None]]:
        """Digest and distances of one answer: of a single pair, and of a batch, in turn."""
        if turn % 2:
            status, _, body = self.send(f"/v1/distance?a={PAIR[0]}&b={PAIR[1]}")
            assert status == 200, (status, body)
            return body["release"], [body["hops"]]
        status, _, body = self.send("/v1/distances", {"pairs": PAIRS})
        assert status == 200, (status, body)
        return body["release"], body["hops"]

    def close(self) -> None:
        self._connection.close()


@dataclass
class GrpcCaller:
    """One channel. It sends the newest activation that it has seen."""

    port: int
    key: str | None = None

    def __post_init__(self) -> None:
        self._channel = grpc.insecure_channel(
            f"127.0.0.1:{self.port}", [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        )
        self._stub: Any = pb_grpc.ConceptGraphServiceStub(self._channel)
        self.seen: str | None = None

    def ask(self, turn: int) -> tuple[str, list[int | None]]:
        metadata = () if self.key is None else bearer(self.key)
        if self.seen is not None:
            metadata = (*metadata, (ACTIVATION_HEADER, self.seen))
        pairs = [pb.ConceptPair(a=a, b=b) for a, b in PAIRS]
        answer, call = self._stub.Distances.with_call(
            pb.DistancesRequest(pairs=pairs), metadata=metadata, timeout=30, wait_for_ready=turn == 0
        )
        seen = dict(call.trailing_metadata())[ACTIVATION_HEADER]
        if self.seen is None or int(seen.split("-")[0]) > int(self.seen.split("-")[0]):
            self.seen = seen
        return answer.provenance.release_digest, list(answer.hops)

    def close(self) -> None:
        self._channel.close()


@dataclass
class LibraryCaller:
    """A `RemoteGraph`, which accepts another release where it finds one."""

    address: str
    key: str | None = None

    def __post_init__(self) -> None:
        self._graph = RemoteGraph(RemoteSettings(self.address, key=self.key))

    def ask(self, turn: int) -> tuple[str, list[int | None]]:
        while True:
            digest = self._graph.release.digest
            try:
                return digest, list(self._graph.distances(PAIRS))
            except ReleaseMismatch:
                self._graph.refresh()

    def close(self) -> None:
        self._graph.close()


def callers_of(cluster: Cluster, key: str | None = None) -> dict[str, list[Callable[[], Any]]]:
    """Makers of callers, by their way to the replicas: over HTTP, over gRPC, and by the library."""
    makers: dict[str, list[Callable[[], Any]]] = {}
    for proxy, scheme in zip(cluster.proxies.values(), cycle(("http", "grpc")), strict=False):
        makers[f"HTTP through {proxy.name}"] = [partial(HttpCaller, proxy.http_port, key)] * 2
        makers[f"gRPC through {proxy.name}"] = [partial(GrpcCaller, proxy.grpc_port, key)] * 2
        address = f"{scheme}://127.0.0.1:{proxy.http_port if scheme == 'http' else proxy.grpc_port}"
        makers[f"library, {scheme} through {proxy.name}"] = [partial(LibraryCaller, address, key)]
    return makers


@dataclass
class Load:
    """Answers to callers who ask all the time.

    Attributes:
        digests: by caller, those of its answers in their order.
        wrong: answers that are not those of the release that they name. failures: by their kind.
        seconds: by way, the time of each request.
    """

    digests: dict[str, list[str]] = field(default_factory=dict)
    wrong: list[object] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        return sum(map(len, self.digests.values()))

    def go_on(self, answers: int = 3) -> None:
        """Wait until every caller has this many answers more."""
        before = {caller: len(digests) for caller, digests in self.digests.items()}
        wait_for(lambda: all(len(self.digests[caller]) >= number + answers for caller, number in before.items()))

    def reach(self, digest: str) -> None:
        """Wait until every caller got its latest answer from this release."""
        wait_for(lambda: all(digests[-1:] == [digest] for digests in self.digests.values()))

    def out_of_order(self, order: Sequence[str]) -> list[str]:
        """Callers that got an older release after a newer one; ``order`` has the releases as they were activated."""
        return [caller for caller, digests in self.digests.items() if not _follows(digests, order)]


def _follows(digests: Sequence[str], order: Sequence[str]) -> bool:
    place = 0
    for digest in digests:
        while place < len(order) and order[place] != digest:
            place += 1
    return place < len(order)


@contextmanager
def load_by(makers: Mapping[str, Sequence[Callable[[], Any]]], *, pause: float = 0.0) -> Iterator[Load]:
    """Callers that ask all the time while the block runs, or with a pause, in seconds, before each request."""
    load, over = Load(), threading.Event()

    def run(way: str, name: str, make: Callable[[], Any]) -> None:
        caller, digests, seconds = None, load.digests[name], load.seconds[way]
        turn = 0
        while not over.wait(pause):
            begun = time.perf_counter()
            try:
                caller = caller or make()
                digest, hops = caller.ask(turn)
            except Exception as error:  # counted, whatever it is
                load.failures[f"{way}, turn {turn % 2}: {type(error).__name__}: {str(error)[:300]}"] += 1
                if caller is not None:
                    caller.close()
                caller = None
            else:
                seconds.append(time.perf_counter() - begun)
                digests.append(digest)
                if hops != list(releases()[release_digests().index(digest)].distances(PAIRS[: len(hops)])):
                    load.wrong.append((name, digest, hops))
            turn += 1
        if caller is not None:
            caller.close()

    threads = []
    for way, each in makers.items():
        load.seconds[way] = []
        for number, make in enumerate(each):
            load.digests[f"{way}, {number}"] = []
            threads.append(threading.Thread(target=run, args=(way, f"{way}, {number}", make)))
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        over.set()
        for thread in threads:
            thread.join()


def copied(source: Path, target: Path) -> None:
    """Copy a snapshot with the time at which it was written, as replicas with files of their own need it."""
    fresh = target.with_suffix(".fresh")
    shutil.copy2(source, fresh)
    fresh.replace(target)
