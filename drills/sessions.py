"""Drill: what clients are promised while releases are switched and parts fail, held against their recorded history."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest

from concept_graph_contract import distances_by_networkx
from cuihop import SnapshotGraph
from cuihop.graph import DIRECTIONS
from cuihop.neo4j_graph import cypher
from cuihop.neo4j_graph.releases import switch_to
from cuihop.remote.activation import Activation
from cuihop.remote.settings import RemoteSettings
from cuihop_loader import load
from cuihop_loader.neo4j_online import load_online
from cuihop_tools.neo4j_server import SHORT_LIVED, LocalServer
from drills.client import Client
from drills.drawn_release import DrawnRelease
from drills.drill import Case, Found, Setting
from drills.served import tracebacks
from drills.session_history import Hops, Operation, broken_rules
from guarded_service import new_key_in
from neo4j_server import connected
from redis_server import RedisServer
from relay import Relay
from replica_callers import HttpCaller, Replica, activate, running_cluster
from waiting import wait_for

_CONCEPTS = [f"C{number:07d}" for number in range(1, 15)]
_PAIRS = list(product(_CONCEPTS, _CONCEPTS))
_CLIENTS = 16
_FAULTS = {
    "snapshot": ("workers killed", "replica killed", "Redis cut", "Redis slow", "Redis half open", "only switches"),
    "Neo4j": ("Neo4j cut", "Neo4j slow", "Neo4j half open", "Redis cut", "Redis half open"),
}
_PAUSE_SECONDS = 0.03
"""Mean time between an answer and the next question of a client: what fails needs processors, too, to come back."""
_BACK_SECONDS = 60.0
"""What is not right again after this time is a fault. The time that it took is a figure."""


@contextmanager
def cases(setting: Setting) -> Iterator[Case]:
    """A case is a history for each fault, of replicas of a snapshot and of a database that are started once."""
    stores = ("snapshot",) if setting.small else tuple(_FAULTS)
    faults = [(store, fault) for store in stores for fault in _FAULTS[store]]
    departments: dict[str, _Department] = {}
    number, operations = (3, 300) if setting.small else (len(faults), 10_000)
    with ExitStack() as stack:

        def history(store: str, fault: str, rng: random.Random) -> Found:
            if store not in departments:
                folder = setting.folder / store
                folder.mkdir()
                departments[store] = stack.enter_context(_department(folder, store == "Neo4j", rng))
            return departments[store].history(fault, operations, rng)

        def case(rng: random.Random) -> Found:
            found = [history(store, fault, rng) for store, fault in rng.sample(faults, number)]
            measured: dict[str, list[float]] = {}
            for one in found:
                for name, values in (one.measured or {}).items():
                    measured.setdefault(name, []).extend(values)
            return Found(sum(one.tried for one in found), [text for one in found for text in one.wrong], measured)

        yield case


class _Session:
    """A client and its history, whose last operation has no end while it is under way."""

    def __init__(self, address: str, key: str, number: int = 0, retry_time: float = 30.0) -> None:
        settings = RemoteSettings(address, key=key, retry_time=retry_time, connect_timeout=2.0)
        self.client = Client(settings, f"client {number}, {settings.scheme}")
        self.history: list[Operation] = []

    def ask(self, rng: random.Random) -> Operation:
        """The next operation: one distance or a batch, in any direction."""
        direction, pairs = rng.choice(DIRECTIONS), rng.sample(_PAIRS, rng.choice((1, 1, 3, 20)))
        self.history.append(Operation(self.client.name, time.monotonic(), None, direction, pairs))
        self.history[-1] = self.client.ask(direction, pairs, single=len(pairs) == 1 and rng.random() < 0.7)
        return self.history[-1]

    def answered_after(self, moment: float) -> bool:
        """True where an answer came after this moment."""
        return any(each.ended is not None and each.ended > moment and not each.failure for each in self.history[-3:])


@dataclass
class _Department:
    """Two replicas behind HAProxy, what they stand on, and all releases that they may answer from."""

    replicas: list[Replica]
    addresses: list[str]
    key: str
    relays: dict[str, Relay]
    switch: Callable[[random.Random], None]
    truth: dict[str, Hops]
    activations: list[Activation]
    problems: list[str] = field(default_factory=list)
    read: dict[int, int] = field(default_factory=dict)

    def history(self, fault: str, operations: int, rng: random.Random) -> Found:
        """Clients ask while faults come and go and releases are switched."""
        sessions = [_Session(self.addresses[number % 2], self.key, number) for number in range(_CLIENTS)]
        over, problems, right, answered = threading.Event(), self.problems, list[float](), list[float]()
        problems.clear()

        def ask(session: _Session, own: random.Random) -> None:
            while not over.wait(own.expovariate(1 / _PAUSE_SECONDS)):
                session.ask(own)

        threads = [
            threading.Thread(target=ask, args=(session, random.Random(rng.random())), daemon=True)
            for session in sessions
        ]
        for thread in threads:
            thread.start()
        try:
            self._wait_for_answers(sessions)
            while not right or sum(len(session.history) for session in sessions) < operations:
                self._step(fault, rng)
                healed = time.monotonic()
                right.append(self._seconds_until_right())
                wait_for(lambda: all(session.answered_after(healed) for session in sessions), _BACK_SECONDS)  # noqa: B023 - waited for here
                answered.append(time.monotonic() - healed)
            self.switch(rng)
            self._wait_for_answers(sessions)
        except pytest.fail.Exception as error:  # what was waited for never came
            problems.append(f"{fault}: {error}")
        over.set()
        for thread in threads:
            thread.join(90)
        history = [operation for session in sessions for operation in session.history]
        repeated = sum(session.client.attempts for session in sessions) - len(history)
        for session in sessions:
            session.client.close()
        problems += [f"{fault}: {text}" for text in broken_rules(history, self.truth, self.activations)]
        for replica in self.replicas:
            self._read_log(replica)
        measured = {
            f"seconds until right again, {fault}": right,
            f"seconds until each client is answered, {fault}": answered,
            "repeated in 10,000": [1e4 * repeated / len(history)],
        }
        return Found(len(history), list(problems), measured)

    def _wait_for_answers(self, sessions: list[_Session]) -> None:
        """Until each has an answer from the active release."""
        digest = self.activations[-1].digest

        def answered(session: _Session) -> bool:
            return any(each.digest.startswith(digest) for each in session.history[-3:])

        wait_for(lambda: all(map(answered, sessions)), _BACK_SECONDS)

    def _step(self, fault: str, rng: random.Random) -> None:
        """One fault, with a switch before, within or after it."""
        when = rng.randrange(4)
        if when == 0:
            self.switch(rng)
        with self._fault(fault, rng):
            _last(rng)
            if when in (1, 2):
                self.switch(rng)
                _last(rng)
        if when == 3:
            self.switch(rng)

    @contextmanager
    def _fault(self, fault: str, rng: random.Random) -> Iterator[None]:
        part, _, how = fault.partition(" ")
        replica = rng.choice(self.replicas)
        if part in self.relays:
            relay = self.relays[part]
            if how == "slow":
                relay.delay(rng.uniform(0.01, 0.3))
            else:
                {"cut": relay.cut, "half open": relay.half_open}[how]()
            try:
                yield
            finally:
                relay.heal()
        elif part == "workers":
            _kill(rng.choice(_workers(replica)))
            yield
            for _ in range(rng.randrange(3)):
                _kill_with_successor(replica, 10 ** rng.uniform(-3.3, 0.3), rng)
            wait_for(lambda: self._all_ready(replica), _BACK_SECONDS)
        elif part == "replica":
            replica.kill()
            yield
            self._read_log(replica)
            self.read[id(replica)] = 0
            replica.start()
        else:
            yield

    def _seconds_until_right(self) -> float:
        """Seconds until each replica has given a right answer over HTTP and gRPC, without a retry."""
        begun = time.monotonic()
        for replica in self.replicas:
            for address in (f"http://127.0.0.1:{replica.http_port}", f"grpc://127.0.0.1:{replica.grpc_port}"):

                def is_right(address: str = address) -> bool:
                    session = _Session(address, self.key, retry_time=0.0)
                    answer = session.ask(random.Random(0))
                    session.client.close()
                    return not list(broken_rules([answer], self.truth, self.activations))

                wait_for(is_right, _BACK_SECONDS)
        return time.monotonic() - begun

    def _all_ready(self, replica: Replica) -> bool:
        caller = HttpCaller(replica.http_port, self.key)
        try:
            text = caller.send("/metrics")[2].decode()
        except OSError:  # of the worker that was killed
            return False
        finally:
            caller.close()
        return len(_workers(replica)) == 2 and re.search(r'^cuihop_workers\{state="ready"\} 2', text, re.M) is not None

    def _read_log(self, replica: Replica) -> None:
        """No fault outside may be a traceback in what is new in the log."""
        text = (replica.folder / "log").read_text(errors="replace")
        new = text[self.read.get(id(replica), 0) :]
        self.read[id(replica)] = len(text)
        self.problems += tracebacks(replica.folder.name, new)


@contextmanager
def _department(folder: Path, neo4j: bool, rng: random.Random) -> Iterator[_Department]:
    truth, activations, graphs = dict[str, Hops](), list[Activation](), list[SnapshotGraph]()

    def release(rng: random.Random) -> SnapshotGraph:
        """Another release, or one that was served before."""
        if len(graphs) > 1 and rng.random() < 0.3:
            return rng.choice(graphs[-4:-1])
        graph, hops = _drawn(folder / "release", rng)
        truth[graph.release.digest] = hops
        graphs.append(graph)
        return graph

    with ExitStack() as stack:
        (folder / "redis").mkdir()
        redis = stack.enter_context(RedisServer(folder / "redis"))
        relays = {"Redis": Relay("127.0.0.1", redis.port)}
        keys = folder / "keys.json"
        key = new_key_in(keys, "drill", "read", "metrics")
        environment = {"CUIHOP_REDIS": redis.address.replace(f":{redis.port}/", f":{relays['Redis'].port}/")}
        arguments = ["--keys-file", str(keys), "--proxies", "127.0.0.1", "--workers", "2"]
        arguments += ["--rate-pairs", "1000000000", "--watch-seconds"]
        if neo4j:
            server = stack.enter_context(LocalServer(folder / "neo4j", java_options=SHORT_LIVED))
            connection = stack.enter_context(connected(server))
            relays["Neo4j"] = Relay("127.0.0.1", int(server.address.rpartition(":")[2]))
            store: Path | str = f"bolt://127.0.0.1:{relays['Neo4j'].port}"
            environment["NEO4J_PASSWORD_FILE"] = str(server.home / "password")
            own = (["0.2"], ["1", "--index", "off"])

            def switch(rng: random.Random) -> None:
                graph = release(rng)
                switch_to(connection, load_online(graph.sections, connection, switch=False).number)
                row = connection.read(lambda tx: tx.run(cypher.ACTIVE_DIGEST).single(strict=True))
                activations.append(Activation.of(row["activated"], row["digest"]))
        else:
            path = folder / "graph.cuihop"
            store = path
            own = (["0.2"], ["60"])

            def switch(rng: random.Random) -> None:
                graph = release(rng)
                activate(graph, path)
                activations.append(Activation.of(path.stat().st_mtime_ns, graph.release.digest))

        for relay in relays.values():
            stack.callback(relay.close)
        switch(rng)
        replicas = [
            Replica(store, folder / f"replica {number}", (*arguments, *more), environment)
            for number, more in enumerate(own, 1)
        ]
        cluster = stack.enter_context(running_cluster(replicas, folder, ["haproxy"]))
        proxy = cluster.proxies["haproxy"]
        addresses = [f"http://127.0.0.1:{proxy.http_port}", f"grpc://127.0.0.1:{proxy.grpc_port}"]
        yield _Department(replicas, addresses, key, relays, switch, truth, activations)


def _drawn(folder: Path, rng: random.Random) -> tuple[SnapshotGraph, Hops]:
    """A release of the same concepts, in which most distances are others, and its distances."""
    order = rng.sample(_CONCEPTS, len(_CONCEPTS))
    drawn = DrawnRelease(_CONCEPTS)
    for place, concept in enumerate(order[1:], 1):
        for parent in {rng.randrange(place) for _ in range(rng.choice((0, 1, 1, 1, 2)))}:
            drawn.edges[concept, order[parent]] = {"MSH"}
    drawn.edges.setdefault((order[1], order[0]), {"NCI"})
    files = drawn.write(folder, rng)
    try:
        graph = SnapshotGraph(load([files]).sections)
    finally:
        for file in files.iterdir():
            file.unlink()
        files.rmdir()
    hops = {
        (direction, a, b): number
        for direction in DIRECTIONS
        for a, of_a in distances_by_networkx(list(drawn.edges), _CONCEPTS, direction).items()
        for b, number in of_a.items()
    }
    return graph, hops


def _last(rng: random.Random) -> None:
    """Let a fault last for some time."""
    time.sleep(rng.uniform(0.02, 1.5))


def _workers(replica: Replica) -> list[int]:
    return [] if replica.program is None else replica.program.workers()


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _kill_with_successor(replica: Replica, age: float, rng: random.Random) -> None:
    """Kill a worker, and the next one that is started, at this age in seconds."""
    before, ends = _workers(replica), time.monotonic() + _BACK_SECONDS
    for process in rng.sample(before, min(1, len(before))):
        _kill(process)
    while not (born := set(_workers(replica)) - set(before)) and time.monotonic() < ends:
        time.sleep(0.0005)  # ages begin at half a millisecond
    time.sleep(age)
    for process in born:
        _kill(process)
