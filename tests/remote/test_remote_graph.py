"""A remote graph answers as the snapshot behind its service, through failures and changes of release."""

from __future__ import annotations

import itertools
import pickle
import random
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cuihop
from cuihop import SnapshotGraph, connect
from cuihop.errors import (
    ConceptNotFound,
    GraphUnavailable,
    InputError,
    LimitExceeded,
    NotAllowed,
    QueryTimedOut,
    ReleaseMismatch,
)
from cuihop.graph import DIRECTIONS, ConceptGraph
from cuihop.measures.nearness import Nearness
from cuihop.operations.requests import PackRequest
from cuihop.operations.table import PACK
from cuihop.relevance.baselines import random_ranking
from cuihop.remote import graph as remote_graph
from cuihop.remote.graph import RemoteGraph
from cuihop.remote.packs import cui_numbers
from cuihop.remote.settings import RemoteSettings
from cuihop.remote.transport import Request
from cuihop_server import RunningService, running_service
from cuihop_service.admission import RequestInfo
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.limits import Limits
from cuihop_tools.neo4j_server import free_ports
from example_graph import EDGES, RETIRED, example_graph
from remote.recording_guard import RecordingGuard
from waiting import wait_for

KEY = "chk_0123456789abcdef"
CUIS = [f"C{number:07d}" for number in sorted({int(cui[1:]) for edge in EDGES for cui in edge})]
OLD = [cui for cui, relation, _ in RETIRED if relation == "SY" and cui in {"C9000901", "C9000904"}]
SCHEMES = ("grpc", "http")


def address(running: RunningService, scheme: str) -> str:
    return running.grpc if scheme == "grpc" else running.http


def other_graph() -> SnapshotGraph:
    return SnapshotGraph.of([*EDGES, ("C0006121", "C0018670")], name="next", identifiers="cui")


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service(example_graph()) as running:
        yield running


@pytest.fixture(params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


# Batches


@pytest.mark.slow
def test_blocks_within_small_limits_are_answered_as_one_batch(scheme: str) -> None:
    limits = Limits(pairs=7, concepts=3, neighbours=30)
    offline = example_graph()
    guard = RecordingGuard()
    cuis = [*CUIS, *OLD, *CUIS[:5]]
    pairs = list(itertools.product(cuis, cuis))
    with running_service(offline, limits=limits, guard=guard) as running, connect(address(running, scheme)) as graph:
        for direction in DIRECTIONS:
            for bound in (None, 2):
                here = offline.distances(pairs, direction=direction, max_hops=bound)
                there = graph.distances(pairs, direction=direction, max_hops=bound)
                assert there == here
                assert (there.direction, there.max_hops) == (direction, bound)
                assert list(there.merged.items()) == list(here.merged.items())
        assert max(request.size for request in guard.requests) <= 7
        assert graph.neighbours(cuis, hops=2) == offline.neighbours(cuis, hops=2)
        assert graph.neighbours(cuis, hops=None, limit=4) == offline.neighbours(cuis, hops=None, limit=4)
        assert graph.names(cuis) == offline.names(cuis)
        assert graph.concepts(cuis) == offline.concepts(cuis)
        texts = [*cuis, "x", "", "C9999999", "C9000903", "C\ud800"]
        assert graph.resolve(texts) == offline.resolve(texts)


def test_a_request_beyond_the_limits_is_limit_exceeded(scheme: str) -> None:
    limits = Limits(neighbours=2, pack_concepts=3, hits=5)
    with (
        running_service(example_graph(), limits=limits) as running,
        RemoteGraph.open(address(running, scheme)) as graph,
    ):
        with pytest.raises(LimitExceeded, match="neighbours"):
            graph.neighbours(["C0005847", "C0006121"], hops=2)
        assert [hood.total for hood in graph.neighbours(["C0006121"] * 9)] == [1] * 9
        with pytest.raises(LimitExceeded, match="concepts"):
            graph.send(graph.service, PACK, PackRequest(CUIS[:4], 1))
        with pytest.raises(LimitExceeded, match="hits"):
            graph.search("b", limit=6)


SLOW = [pytest.param(limit, marks=pytest.mark.slow) for limit in (2, 3)]


@pytest.mark.parametrize("limit", [1, *SLOW, 7, 13, 14, 15])
def test_a_pack_of_more_concepts_than_the_service_packs_at_once_is_the_same(scheme: str, limit: int) -> None:
    offline, guard = example_graph(), RecordingGuard()
    cuis = random.Random(limit).sample([cui for cui in CUIS if cui not in {"C0042449", "C0005847"}] + OLD, 14)
    with (
        running_service(offline, limits=Limits(pack_concepts=limit), guard=guard) as running,
        connect(address(running, scheme)) as graph,
    ):
        if limit == 1:
            with pytest.raises(LimitExceeded, match="pack concepts"):
                graph.pack(cuis, hops=1)
            return
        for direction in DIRECTIONS:
            here, there = (g.pack(cuis, hops=2, direction=direction) for g in (offline, graph))
            assert (there.cuis, there.bound, there.direction, there.digest) == (
                here.cuis, here.bound, here.direction, here.digest,
            )  # fmt: skip
            for found, expected in (
                (there.indptr, here.indptr),
                (there.indices, here.indices),
                (there.hops, here.hops),
            ):
                assert found.dtype == expected.dtype
                assert found.tolist() == expected.tolist()
        assert max(request.size for request in guard.requests) <= limit
        with pytest.raises(InputError, match="twice"):
            graph.pack([*cuis, cuis[0]], hops=1)
        with pytest.raises(ConceptNotFound) as caught:
            graph.pack(["C9999997", *cuis, "C9999999"], hops=1)
        assert caught.value.cuis == ("C9999997", "C9999999")


def test_no_more_blocks_are_requested_at_once_than_in_flight_allows(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_graph, "_PAIRS_A_BLOCK", 100)
    offline = example_graph()
    running_now, most, lock = 0, 0, threading.Lock()

    class Counting(SnapshotGraph):
        def distances_of_keys(self, keys, **options):  # type: ignore[no-untyped-def]
            nonlocal running_now, most
            with lock:
                running_now += 1
                most = max(most, running_now)
            with lock:
                running_now -= 1
            return super().distances_of_keys(keys, **options)

    pairs = list(itertools.product(CUIS, CUIS)) * 20
    with running_service(Counting(offline.sections)) as running:
        for allowed in (1, 3):
            most = 0
            with RemoteGraph(RemoteSettings(address(running, scheme), in_flight=allowed)) as graph:
                assert graph.distances(pairs) == offline.distances(pairs)
            assert 1 <= most <= allowed


def test_bounds_beyond_any_path_are_no_bounds(service: RunningService, scheme: str) -> None:
    with connect(address(service, scheme)) as graph:
        huge = 10**30
        answer = graph.distances([("C0006121", "C0018670")], max_hops=huge)
        assert (answer[0], answer.max_hops) == (3, huge)
        assert graph.neighbours(["C0005847"], hops=huge, limit=huge)[0].total == 4
        path = graph.path("C0006121", "C0018670", max_hops=huge)
        assert path is not None
        assert path.hops == 3


def test_hidden_names_are_none_and_search_is_not_allowed(scheme: str) -> None:
    with (
        running_service(example_graph(), names=False) as running,
        RemoteGraph.open(address(running, scheme)) as graph,
    ):
        assert not graph.service.names
        assert graph.names(["C0006121"]) == [None]
        concept = graph.concepts(["C0005847"])[0]
        assert (concept.name, concept.synonyms, concept.children) == (None, (), 2)
        with pytest.raises(NotAllowed, match="names"):
            graph.search("brain")


@given(
    st.lists(
        st.one_of(st.from_regex(r"C[0-9]{7}", fullmatch=True), st.text(max_size=9), st.just("C000612C")), max_size=5
    )
)
def test_only_cuis_have_numbers(cuis: list[str]) -> None:
    numbers = cui_numbers(cuis)
    if all(re.fullmatch(r"C[0-9]{7}", cui) for cui in cuis):
        assert numbers is not None
        assert [f"C{number:07d}" for number in numbers] == cuis
    else:
        assert numbers is None


# One release


REQUESTS: list[Callable[[ConceptGraph], object]] = [
    lambda graph: graph.distance("C0006121", "C0018670"),
    lambda graph: graph.distances([("C0006121", "C0018670")] * 20_000),
    lambda graph: graph.path("C0006121", "C0018670"),
    lambda graph: graph.path("C0006121", "C0003483"),
    lambda graph: graph.neighbours(["C0006121"]),
    lambda graph: graph.pack(["C0006121", "C0018670"], hops=3),
    lambda graph: graph.resolve(["C0006121"]),
    lambda graph: graph.names(["C0006121"]),
    lambda graph: graph.concepts(["C0006121"]),
    lambda graph: graph.search("C0006121"),
]


def test_another_release_is_refused_with_both_digests_until_it_is_accepted(scheme: str) -> None:
    before, after = example_graph(), other_graph()
    with (
        running_service(before) as running,
        RemoteGraph.open(address(running, scheme)) as graph,
    ):
        assert graph.distance("C0006121", "C0018670") == 3
        running.holder.serve(ServedGraph(after.release, index=after))
        for send in REQUESTS:
            with pytest.raises(ReleaseMismatch) as caught:
                send(graph)
            assert before.release.digest in str(caught.value)
            assert after.release.digest in str(caught.value)
        assert graph.release == before.release
        assert graph.refresh() == after.release
        assert graph.release == after.release
        assert graph.distance("C0006121", "C0018670") == 1
        for send in REQUESTS:
            send(graph)


def test_a_batch_is_never_answered_from_two_releases(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_graph, "_PAIRS_A_BLOCK", 10)
    before, after = example_graph(), other_graph()
    guard = RecordingGuard()
    with (
        running_service(before, guard=guard) as running,
        RemoteGraph.open(address(running, scheme)) as graph,
    ):

        def switch(request: RequestInfo) -> None:
            if len(guard.requests) == 20:
                running.holder.serve(ServedGraph(after.release, index=after))

        guard.then = switch
        with pytest.raises(ReleaseMismatch):
            graph.distances([("C0006121", "C0018670")] * 1000)


@pytest.mark.slow
def test_a_pickled_graph_is_opened_again_without_its_key(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = example_graph(), other_graph()
    with running_service(before) as running:
        settings = RemoteSettings(address(running, scheme), key=KEY, timeout=7.0)
        with RemoteGraph(settings) as graph:
            assert KEY not in repr(graph)
            packed = pickle.dumps(graph)
        assert KEY.encode() not in packed
        monkeypatch.setenv("CUIHOP_API_KEY", "chk_of_this_place")
        with pickle.loads(packed) as copy:  # noqa: S301 - made here
            assert copy.distance("C0006121", "C0018670") == 3
            assert copy._settings.key == "chk_of_this_place"
            assert copy._settings.timeout == 7.0
        running.holder.serve(ServedGraph(after.release, index=after))
        with pytest.raises(ReleaseMismatch, match=before.release.digest):
            pickle.loads(packed)  # noqa: S301 - made here


FORK = """
import os, sys, cuihop
graph = cuihop.connect(sys.argv[1])
pairs = [("C0006121", "C0018670")] * 30_000
assert graph.distances(pairs) == [3] * 30_000
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        try:
            right = all(graph.distances(pairs) == [3] * 30_000 for _ in range(3))
            graph.close()
        finally:
            os._exit(0 if right else 1)
    children.append(child)
right = all(graph.distances(pairs) == [3] * 30_000 for _ in range(3))
print(right, [os.waitpid(child, 0)[1] for child in children], graph.distance("C0006121", "C0018670"))
"""


@pytest.mark.slow
def test_after_a_fork_parent_and_children_answer_rightly(service: RunningService, scheme: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, address(service, scheme)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.stdout, done.returncode) == ("True [0, 0, 0] 3\n", 0), done.stderr


# Interruptions


class Relay:
    """A port in front of a service that can be cut off and restored."""

    def __init__(self, target: int) -> None:
        self._target = target
        self.bytes_sent = self.refused = 0
        self.refuses = False
        self._open: list[socket.socket] = []
        self._change = threading.Lock()
        (self.port,) = free_ports(1)  # still free when it is restored
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self.restore()

    def restore(self) -> None:
        if self._listening.fileno() < 0:
            self._listening = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def cut(self) -> None:
        with self._change:
            for connection in (self._listening, *self._open):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
            self._open.clear()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            if self.refuses:
                near.close()
                self.refused += 1
                continue
            far = socket.create_connection(("127.0.0.1", self._target))
            with self._change:
                if listening.fileno() < 0:  # cut off meanwhile
                    near.close()
                    far.close()
                    return
                self._open += [near, far]
            for source, sink, counted in ((near, far, True), (far, near, False)):
                threading.Thread(target=self._copy, args=(source, sink, counted), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.bytes_sent += len(data) if counted else 0
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay(service: RunningService, scheme: str) -> Iterator[Relay]:
    relay = Relay(service.grpc_port if scheme == "grpc" else service.http_port)
    yield relay
    relay.cut()


def test_a_request_is_repeated_until_the_service_is_back(relay: Relay, scheme: str) -> None:
    with connect(f"{scheme}://127.0.0.1:{relay.port}") as graph, ThreadPoolExecutor(1) as pool:
        assert graph.distance("C0006121", "C0018670") == 3
        for _ in range(3):
            relay.cut()
            relay.refuses, relay.refused = True, 0
            relay.restore()
            answer = pool.submit(graph.distance, "C0006121", "C0018670")
            wait_for(lambda: relay.refused)
            relay.refuses = False
            assert answer.result(60) == 3


def test_a_batch_survives_broken_connections(relay: Relay, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_graph, "_PAIRS_A_BLOCK", 64)
    pairs = list(itertools.product(CUIS, CUIS)) * 60
    done = threading.Event()

    def disturb() -> None:
        while not done.wait(0.2):
            relay.cut()
            relay.restore()

    with connect(f"{scheme}://127.0.0.1:{relay.port}") as graph:
        disturber = threading.Thread(target=disturb)
        disturber.start()
        try:
            assert graph.distances(pairs) == example_graph().distances(pairs)
        finally:
            done.set()
            disturber.join()


def test_requests_to_another_machine_are_compressed(relay: Relay, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = list(itertools.product(CUIS, CUIS)) * 20
    sizes = []
    for loopback in (True, False):
        monkeypatch.setattr(RemoteSettings, "loopback", loopback)
        with connect(f"{scheme}://127.0.0.1:{relay.port}") as graph:
            before = relay.bytes_sent
            assert graph.distances(pairs) == example_graph().distances(pairs)
            sizes.append(relay.bytes_sent - before)
    assert sizes[1] < sizes[0] / 4


def test_a_service_that_stays_away_is_unavailable_after_the_retry_time(relay: Relay, scheme: str) -> None:
    settings = RemoteSettings(f"{scheme}://127.0.0.1:{relay.port}", retry_time=1.0)
    with RemoteGraph(settings) as graph:
        relay.cut()
        with pytest.raises(GraphUnavailable, match=f"127.0.0.1:{relay.port}: "):
            graph.distance("C0006121", "C0018670")
        relay.restore()


def test_a_slow_answer_times_out(scheme: str) -> None:
    over = threading.Event()

    class Slow(SnapshotGraph):
        def path(self, *ends, **options):  # type: ignore[no-untyped-def]
            over.wait(60)
            return super().path(*ends, **options)

    with (
        running_service(Slow(example_graph().sections)) as running,
        RemoteGraph(RemoteSettings(address(running, scheme), timeout=5)) as graph,
    ):
        with pytest.raises(QueryTimedOut):
            graph.path("C0006121", "C0018670")
        over.set()
        assert graph.distance("C0006121", "C0018670") == 3


def test_a_closed_graph_is_unavailable(service: RunningService, scheme: str) -> None:
    graph = connect(address(service, scheme))
    graph.close()
    graph.close()
    for send in REQUESTS:
        with pytest.raises(GraphUnavailable, match="the graph is closed"):
            send(graph)


# Measures


def random_images(count: int, seed: int) -> dict[str, list[str]]:
    rng = random.Random(seed)
    return {f"image{i:03d}": rng.sample([*CUIS, *OLD, "C9999999"], rng.randint(0, 6)) for i in range(count)}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_an_evaluation_is_that_of_the_snapshot_to_the_last_bit(scheme: str, direction: cuihop.Direction) -> None:
    images, offline, guard = random_images(60, 4), example_graph(), RecordingGuard()
    ranking = random_ranking(images, 30, seed=1)
    options: dict[str, Any] = {
        "nearness": Nearness(2, direction=direction, unknown="isolated"), "measures": ["nn-CUI@5,10", "CUI@30"],
    }  # fmt: skip
    here = cuihop.evaluate(images, ranking, offline, **options)
    with running_service(offline, guard=guard) as running, connect(address(running, scheme)) as graph:
        del guard.requests[:]
        there = cuihop.evaluate(images, ranking, graph, **options)
        assert [request.operation for request in guard.requests] == ["resolve", "pack"]
    assert there.values.tobytes() == here.values.tobytes()
    assert there.summary() == here.summary()


def test_the_measures_of_two_images_are_those_of_the_snapshot(service: RunningService, scheme: str) -> None:
    images, offline = list(random_images(12, 9).values()), example_graph()
    with connect(address(service, scheme)) as graph:
        for a, b in itertools.combinations(images, 2):
            here = cuihop.nn_iou(a, b, offline, n=2, unknown="isolated")
            assert cuihop.nn_iou(a, b, graph, n=2, unknown="isolated") == here


# Imports and trace context


def in_a_new_process(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=300
    )


def test_each_transport_imports_its_own_packages_only(service: RunningService, scheme: str) -> None:
    code = (
        "import sys, cuihop\n"
        "before = {'grpc', 'urllib3', 'google.protobuf', 'cuihop_api'} & set(sys.modules)\n"
        "print(before, cuihop.connect(sys.argv[1]).distance('C0006121', 'C0018670'))\n"
        "print(sorted({'grpc', 'urllib3', 'numba', 'pandas'} & set(sys.modules)))\n"
    )
    done = in_a_new_process(code, address(service, scheme))
    assert done.stdout == f"set() 3\n['{'grpc' if scheme == 'grpc' else 'urllib3'}']\n", done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("call", ["cuihop.connect", "cuihop.remote.graph.RemoteGraph.open"])
def test_without_the_extra_the_error_names_it(scheme: str, call: str) -> None:
    package = "grpc" if scheme == "grpc" else "urllib3"
    code = f"import sys; sys.modules[{package!r}] = None; import cuihop.remote.graph; {call}('{scheme}://127.0.0.1:1')"
    done = in_a_new_process(code)
    assert "ModuleNotFoundError" in done.stderr
    assert "pip install 'cuihop[remote]'" in done.stderr


def test_without_the_extra_a_command_names_it(scheme: str) -> None:
    package = "grpc" if scheme == "grpc" else "urllib3"
    code = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv[1:] = ['search', 'x', '-g', '{scheme}://127.0.0.1:1']\n"
        "from cuihop.cli import main; main()"
    )
    done = in_a_new_process(code)
    assert (done.returncode, done.stdout) == (8, "")
    assert (
        done.stderr == f"cuihop: this needs the package {package}, which is not installed: "
        "pip install 'cuihop[remote]', or in a checkout pip install '.[remote]'\n"
    )


def test_a_trace_continues_in_the_service() -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    assert "traceparent" not in Request(1.0).headers(None)
    with TracerProvider().get_tracer("test").start_as_current_span("asking") as span:
        headers = Request(1.0).headers(None)
    assert trace.format_trace_id(span.get_span_context().trace_id) in headers["traceparent"]


class CallsGivenUp(grpc.GenericRpcHandler):
    """Passes calls on to a service, but gives up the first of each method, as a proxy does whose replica stops."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.channel = channel
        self.given_up: set[str] = set()

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        def answer(message: bytes, context: grpc.ServicerContext) -> bytes:
            if details.method not in self.given_up:
                self.given_up.add(details.method)
                context.abort(grpc.StatusCode.CANCELLED, "CANCELLED")
            send: Any = self.channel.unary_unary(details.method)
            passed_on: bytes = send(message)
            return passed_on

        return grpc.unary_unary_rpc_method_handler(answer)


def test_a_call_that_a_proxy_gave_up_is_repeated(service: RunningService) -> None:
    with grpc.insecure_channel(service.grpc.removeprefix("grpc://")) as channel:
        handler = CallsGivenUp(channel)
        server = grpc.server(ThreadPoolExecutor(2), handlers=[handler])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            with connect(f"grpc://127.0.0.1:{port}") as graph, connect(service.grpc) as direct:
                assert graph.distance("C0006121", "C0018670") == direct.distance("C0006121", "C0018670")
            assert len(handler.given_up) >= 2
        finally:
            server.stop(None)
