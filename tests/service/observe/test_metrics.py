"""Metrics as Prometheus reads them: right, complete, of all workers, and of few series."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import urllib3
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from cuihop.errors import NotAuthenticated
from cuihop.remote.statuses import STATUSES
from cuihop_server import RunningService, running_service
from cuihop_service.admission import RequestInfo, RequestOutcome
from cuihop_service.cache import CachedGraph, PairCounts
from cuihop_service.callers import Caller
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import GraphHolder, ServedGraph
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.http_api.application import metrics_route
from cuihop_service.limits import Limits
from cuihop_service.observe.metrics import Metrics
from cuihop_service.observe.metrics_folder import FOLDER_VARIABLE, MetricsFolder, hold_folder
from cuihop_service.observe.observation import Observation
from cuihop_service.request_context import RequestContext
from example_graph import example_graph
from examples import examples
from neo4j_server import open_release, typed_graph
from service_askers import GrpcAsker, HttpAsker, Refused
from waiting import wait_for

Labels = frozenset[tuple[str, str]]


def samples(text: str) -> dict[tuple[str, Labels], float]:
    """Every sample of an exposition, read by Prometheus' own reader."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(text: str, name: str, /, **labels: str) -> float:
    return samples(text)[name, frozenset(labels.items())]


def scraped(service: RunningService) -> str:
    answer = urllib3.request("GET", f"{service.http}/metrics", timeout=300)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    return answer.data.decode()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def service(metrics: Metrics) -> Iterator[RunningService]:
    with running_service(open_release(), observer=metrics, more_routes=[metrics_route(metrics)]) as running:
        yield running


A, B = "C0018787", "C0024109"  # heart, lung


def test_questions_over_both_transports_are_counted_and_timed_by_tier(service: RunningService) -> None:
    http, grpc = HttpAsker(service), GrpcAsker(service)
    http.distance(A, B)
    http.distance(A, B)
    grpc.distance(A, B)
    http.distances([(A, B)] * 7)
    grpc.distances([(A, B)] * 100)
    http.path(A, B)
    grpc.neighbourhoods([A], 1)
    with pytest.raises(Refused):
        grpc.distance(A, "C9999999")
    with pytest.raises(Refused):
        http.distance(A, "not a CUI")
    text = scraped(service)
    for transport, operation, number in (
        ("http", "distance", 2),
        ("grpc", "distance", 1),
        ("http", "distances", 1),
        ("grpc", "distances", 1),
        ("http", "path", 1),
        ("grpc", "neighbourhood", 1),
    ):
        of = {"transport": transport, "operation": operation}
        assert value(text, "cuihop_requests_total", outcome="OK", **of) == number
        assert value(text, "cuihop_answer_seconds_count", tier="index", **of) == number
        assert 0 < value(text, "cuihop_answer_seconds_sum", tier="index", **of) < 60
        assert value(text, "cuihop_answer_seconds_bucket", tier="index", le="+Inf", **of) == number
    missed = {"transport": "grpc", "operation": "distance", "outcome": "CONCEPT_NOT_FOUND"}
    assert value(text, "cuihop_requests_total", **missed) == 1
    assert value(text, "cuihop_requests_total", **missed | {"transport": "http", "outcome": "INVALID_CUI"}) == 1
    assert value(text, "cuihop_pairs_total", transport="http") == 9
    assert value(text, "cuihop_pairs_total", transport="grpc") == 101
    http.close()
    grpc.close()


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30), st.sampled_from(["a", "cui", "text"]))))
def test_no_caller_makes_a_series(drawn: list[tuple[str, str, str]]) -> None:
    metrics = Metrics()
    outcomes = [status.reason for status in STATUSES]
    for place, (request_id, credentials, trace) in enumerate(drawn):
        question = RequestInfo(
            "distance", "http", credentials, request_id, size=place, trace=trace, subject=credentials
        )
        caller = Caller(credentials, frozenset({request_id}))
        metrics.finished(RequestOutcome(question, caller, 0.1, outcomes[place % 3], detail=request_id), None)
    found = {labels for name, labels in samples(metrics.text()[0].decode()) if name == "cuihop_requests_total"}
    assert len(found) == min(3, len(drawn))


def test_what_is_asked_over_the_wire_makes_no_series(service: RunningService) -> None:
    before = set(samples(scraped(service)))
    http = urllib3.PoolManager(timeout=300)
    for place in range(20):
        headers = {"X-Request-Id": f"r{place}", "traceparent": f"00-{place:032x}-{place:016x}-01", "X-Odd": "x" * place}
        http.request("GET", f"{service.http}/v1/distance?a=C{place}&b=\x1b[31m{place}", headers=headers)
        http.request("GET", f"{service.http}/v1/odd{place}")
        http.request("POST", f"{service.http}/metrics", body=b"x" * place)
    new = set(samples(scraped(service))) - before
    assert {name for name, labels in new if ("operation", "metrics") not in labels} == {"cuihop_requests_total"}
    assert len({labels for name, labels in new if ("operation", "distance") in labels}) == 1


class BusyGraph:
    """Answers paths once it is released."""

    def __init__(self) -> None:
        self._graph = example_graph()
        self.over = threading.Event()
        self.entered = threading.Semaphore(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def path(self, *args: Any, **options: Any) -> Any:
        self.entered.release()
        assert self.over.wait(60)
        return self._graph.path(*args, **options)


def test_what_runs_and_what_waits_is_told_even_when_there_is_no_room(metrics: Metrics) -> None:
    graph: Any = BusyGraph()
    served = ServedGraph(graph.release, database=graph)
    limits, routes = Limits(running=1, waiting=5), [metrics_route(metrics)]
    with running_service(served, limits=limits, observer=metrics, more_routes=routes) as service:
        with ThreadPoolExecutor(3) as threads:
            waiting = [threads.submit(GrpcAsker(service).path, "C0006121", "C0018670") for _ in range(3)]
            assert graph.entered.acquire(timeout=300)
            wait_for(lambda: value(scraped(service), "cuihop_requests_waiting") == 2)
            assert value(scraped(service), "cuihop_requests_running") == 1
            graph.over.set()
            assert len({str(question.result(60)) for question in waiting}) == 1
        text = scraped(service)
        assert value(text, "cuihop_requests_running") == 0
        assert value(text, "cuihop_requests_waiting") == 0
        assert value(text, "cuihop_answer_seconds_count", operation="path", transport="grpc", tier="cypher") == 3


class KeyGuard(ConfiguredGuard):
    """Knows two keys."""

    def caller(self, info: RequestInfo) -> Caller:
        credentials = info.credentials
        if credentials == "Bearer scraper":
            return Caller("scraper", frozenset({"metrics"}))
        if credentials == "Bearer reader":
            return Caller("reader", frozenset({"read", "names"}))
        raise NotAuthenticated("no valid key")


@pytest.mark.parametrize(
    ("credentials", "status"), [(None, 401), ("Bearer nobody", 401), ("Bearer reader", 403), ("Bearer scraper", 200)]
)
def test_a_scraper_needs_its_scope(credentials: str | None, status: int, metrics: Metrics) -> None:
    guard = KeyGuard()
    routes = [metrics_route(metrics)]
    with running_service(example_graph(), guard=guard, observer=metrics, more_routes=routes) as service:
        headers = {} if credentials is None else {"Authorization": credentials}
        answer = urllib3.request("GET", f"{service.http}/metrics", headers=headers, timeout=300)
        assert answer.status == status
        assert answer.headers["Cache-Control"] == "no-store"
        if status != 200:
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert b"cuihop_" not in answer.data


def test_open_metrics_is_spoken_to_who_asks_for_it(service: RunningService) -> None:
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
    answer = urllib3.request("GET", f"{service.http}/metrics", headers=accept, timeout=300)
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert answer.data.endswith(b"# EOF\n")


def test_state_and_release_are_told_and_change() -> None:
    holder = GraphHolder()
    metrics = Metrics(holder)
    text = metrics.text()[0].decode()
    assert value(text, "cuihop_workers", state="starting") == 1
    assert value(text, "cuihop_indexed_workers") == 0
    first, second = example_graph(), typed_graph()
    for graph in (first, second):
        holder.serve(ServedGraph(graph.release, index=graph))
        holder.set_state("ready")
        text = metrics.text()[0].decode()
        of = {"digest": graph.release.digest, "name": graph.release.name}
        assert value(text, "cuihop_release_workers", **of) == 1
        assert value(text, "cuihop_release_concepts") == graph.release.concepts
        assert value(text, "cuihop_release_edges") == graph.release.edges
        assert value(text, "cuihop_indexed_workers") == 1
    old = {"digest": first.release.digest, "name": first.release.name}
    assert value(text, "cuihop_release_workers", **old) == 0
    holder.set_state("degraded", "the database is away")
    text = metrics.text()[0].decode()
    assert value(text, "cuihop_workers", state="degraded") == 1
    assert value(text, "cuihop_workers", state="ready") == 0


def test_the_cache_is_told_and_a_new_cache_does_not_take_back_what_the_old_one_counted() -> None:
    numbers = {"memory_hits": 5.0, "misses": 2.0, "entries": 2.0, "shared_errors": 1.0}
    metrics = Metrics(cache=lambda: numbers)
    metrics.refresh()
    numbers.update(memory_hits=9.0, entries=4.0)
    text = metrics.text()[0].decode()
    assert value(text, "cuihop_cache_pairs_total", source="memory") == 9
    assert value(text, "cuihop_cache_pairs_total", source="computed") == 2
    assert value(text, "cuihop_cache_redis_calls_total", outcome="failed") == 1
    assert value(text, "cuihop_cache_entries") == 4
    numbers.update(memory_hits=1.0, misses=0.0, entries=1.0)
    text = metrics.text()[0].decode()
    assert value(text, "cuihop_cache_pairs_total", source="memory") == 10
    assert value(text, "cuihop_cache_pairs_total", source="computed") == 2
    assert value(text, "cuihop_cache_entries") == 1


def test_the_process_tells_what_it_uses() -> None:
    text = Metrics().text()[0].decode()
    assert value(text, "cuihop_worker_resident_bytes") > 1_000_000
    assert value(text, "cuihop_worker_cpu_seconds") > 0
    assert value(text, "cuihop_worker_open_files") > 0
    assert value(text, "cuihop_worker_start_time_seconds") > 1e9


WORKER = """
import sys, time
from cuihop_service.admission import RequestInfo, RequestOutcome
from cuihop_service.observe.metrics import Metrics
metrics = Metrics()
for _ in range(int(sys.argv[1])):
    metrics.finished(RequestOutcome(RequestInfo("distance", "grpc"), None, 0.002, "OK", "index"), None)
metrics.waiting(int(sys.argv[2]), 1)
metrics.refresh()
print("counted", flush=True)
sys.stdin.readline()
print(metrics.text()[0].decode(), flush=True)
"""


class Worker:
    """A process that counts."""

    def __init__(self, questions: int, running: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(questions), str(running)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "counted\n"

    def exposition(self) -> str:
        return self.process.communicate("\n", timeout=300)[0]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[MetricsFolder]:
    created = MetricsFolder(tmp_path)
    assert created.path is not None
    yield created
    created.remove()
    assert FOLDER_VARIABLE not in os.environ
    assert not created.path.exists()


COUNT = {"operation": "distance", "transport": "grpc", "tier": "index"}


@pytest.mark.slow
def test_any_worker_tells_of_all_and_what_the_dead_have_counted_stays(folder: MetricsFolder) -> None:
    first, second, third = Worker(5, 1), Worker(7, 2), Worker(11, 4)
    text = first.exposition()
    assert value(text, "cuihop_answer_seconds_count", **COUNT) == 23
    assert value(text, "cuihop_answer_seconds_bucket", le="0.0025", **COUNT) == 23
    assert value(text, "cuihop_pairs_total", transport="grpc") == 23
    folder.forget(first.process.pid)
    second.kill()
    folder.forget(second.process.pid)
    text = third.exposition()
    assert value(text, "cuihop_answer_seconds_count", **COUNT) == 23
    assert value(text, "cuihop_answer_seconds_sum", **COUNT) == pytest.approx(23 * 0.002)
    assert value(text, "cuihop_requests_total", operation="distance", transport="grpc", outcome="OK") == 23
    assert value(text, "cuihop_requests_running") == 4
    pids = {dict(labels)["pid"] for name, labels in samples(text) if name == "cuihop_worker_resident_bytes"}
    assert pids == {str(third.process.pid)}


def files(folder: MetricsFolder) -> list[str]:
    assert folder.path is not None
    return sorted(file.name for file in folder.path.iterdir())


@pytest.mark.slow
def test_workers_that_come_and_go_leave_no_more_files(folder: MetricsFolder) -> None:
    sizes = []
    for _ in range(3):
        worker = Worker(3, 0)
        worker.kill()
        folder.forget(worker.process.pid)
        sizes.append(files(folder))
    assert sizes[0] == sizes[1] == sizes[2]
    folder.forget(999_999)  # never counted: nothing to close
    last = Worker(1, 0)
    assert value(last.exposition(), "cuihop_answer_seconds_count", **COUNT) == 10


def test_files_that_cannot_be_read_take_no_other_with_them(folder: MetricsFolder) -> None:
    assert folder.path is not None
    long = b"\xff\x7f\x00\x00" + b"\x07" * 100_000
    damaged = {"counter_77": b"", "histogram_77": b"\x00\x01", "gauge_livesum_77": long, "counter_0": long}
    for name, content in damaged.items():
        (folder.path / f"{name}.db").write_bytes(content)
    worker = Worker(5, 1)
    folder.forget(77)
    assert value(worker.exposition(), "cuihop_answer_seconds_count", **COUNT) == 5
    folder.forget(worker.process.pid)
    assert not [name for name in files(folder) if "77" in name or str(worker.process.pid) in name]


def test_a_folder_that_is_gone_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without = MetricsFolder(tmp_path / "nowhere")
    without.forget(77)
    without.remove()
    assert "each worker reports its own alone" in caplog.text
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cleaned"))
    hold_folder()
    assert FOLDER_VARIABLE not in os.environ
    gone = MetricsFolder(tmp_path)
    worker = Worker(5, 1)
    gone.remove()
    gone.forget(worker.process.pid)
    assert value(worker.exposition(), "cuihop_requests_running") == 1


@pytest.mark.parametrize(
    "room",
    [
        'prlimit --fsize=8000 "$@"',
        'unshare -rm sh -c \'mount -t tmpfs -o size=16k none "$PROMETHEUS_MULTIPROC_DIR" && exec "$@"\' sh "$@"',
    ],
    ids=["bounded files", "full file system"],
)
def test_a_worker_without_room_for_its_files_counts_alone_and_says_so_once(folder: MetricsFolder, room: str) -> None:
    available = subprocess.run(["sh", "-c", room, "sh", "true"], check=False, capture_output=True)
    if available.returncode:
        pytest.skip(available.stderr.decode())
    command = ["sh", "-c", room, "sh", sys.executable, "-c", WORKER, "5", "1"]
    done = subprocess.run(command, input="\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = done.stdout.removeprefix("counted\n")
    assert value(text, "cuihop_requests_total", operation="distance", transport="grpc", outcome="OK") == 5
    assert value(text, "cuihop_answer_seconds_count", **COUNT) == 5
    assert done.stderr.count("this worker counts in its own memory") == 1


def test_a_file_that_cannot_grow_continues_in_memory(tmp_path: Path) -> None:
    grown = (
        "import resource, sys; from cuihop_service.observe.metrics_files import _WorkerFile, counts_alone\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "import os; file = _WorkerFile(sys.argv[1] + f'/counter_{os.getpid()}.db')\n"
        "counted = file.cell('counted'); file.cells[counted] += 2\n"
        "for n in range(3_000): file.write_value(f'{n:060}', n, 0.0)\n"
        "file.cells[counted] += 1\n"
        "assert file.read_value('counted')[0] == 3\n"
        "assert [file.read_value(f'{n:060}')[0] for n in range(3_000)] == list(range(3_000))\n"
        "assert counts_alone()"
    )
    done = subprocess.run([sys.executable, "-c", grown, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("this worker counts in its own memory") == 1


def test_what_a_killed_service_left_is_removed_by_the_next_and_a_living_ones_folder_stays(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from cuihop_service.observe.metrics_folder import MetricsFolder\n"
        "kept = MetricsFolder(Path(sys.argv[1])); print(kept.path, flush=True); sys.stdin.read()"
    )
    left: list[Path] = []
    services = []
    for _ in range(2):
        service = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert service.stdout is not None
        left.append(Path(service.stdout.readline().strip()))
        services.append(service)
    assert all(folder.is_dir() for folder in left)
    services[0].kill()
    services[0].communicate()
    MetricsFolder(tmp_path).remove()
    assert [folder.is_dir() for folder in left] == [False, True]
    services[1].kill()
    services[1].communicate()
    MetricsFolder(tmp_path).remove()
    assert list(tmp_path.iterdir()) == []


def test_a_pair_answered_just_before_the_index_takes_over_is_counted() -> None:
    graph, holder, counts = example_graph(), GraphHolder(), PairCounts()
    observation = Observation(holder, counts=counts)
    core = ConceptService(holder, Limits())
    cached = CachedGraph(graph, counts=counts)
    holder.serve(ServedGraph(graph.release, database=graph, cached=cached))
    observation.metrics.refresh()
    core.distance("C0006121", "C0018670", context=RequestContext())  # no refresh between this answer and the exchange
    holder.serve(ServedGraph(graph.release, index=example_graph()))
    text = observation.metrics.text()[0].decode()
    assert value(text, "cuihop_cache_pairs_total", source="computed") == 1
    assert value(text, "cuihop_cache_entries") == 0
    again = CachedGraph(example_graph(), counts=counts)
    holder.serve(ServedGraph(graph.release, database=graph, cached=again))
    core.distance("C0006121", "C0018670", context=RequestContext())
    text = observation.metrics.text()[0].decode()
    assert value(text, "cuihop_cache_pairs_total", source="computed") == 2
    observation.close()
