"""One trace from the caller through the service to the database, whatever the transport and the thread."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import urllib3
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from cuihop import connect
from cuihop.errors import GraphUnavailable
from cuihop.neo4j_graph.graph import Neo4jGraph
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_api.v1 import concept_graph_pb2_grpc as pb_grpc
from cuihop_server import RunningService, running_service
from cuihop_service.admission import RequestInfo, RequestOutcome
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.observe.traces import TracedConnection, Tracing
from cuihop_tools.neo4j_server import LocalServer
from example_graph import example_graph
from neo4j_server import open_release, settings_of, stored_graph

A, B = "C0018787", "C0024109"  # heart, lung


class Traces:
    """Spans that have ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span


@pytest.fixture
def traces() -> Iterator[Traces]:
    recorded = Traces()
    yield recorded
    recorded.provider.shutdown()


def context_of(span: ReadableSpan) -> trace.SpanContext:
    context: trace.SpanContext | None = span.get_span_context()
    assert context is not None
    return context


def is_below(span: ReadableSpan, parent: ReadableSpan) -> bool:
    return (
        span.parent is not None
        and span.parent.span_id == context_of(parent).span_id
        and context_of(span).trace_id == context_of(parent).trace_id
    )


def ask(service: RunningService, transport: str, traceparent: str | None) -> None:
    """A path and a distance, with a header that a caller of any kind may have sent."""
    headers = {} if traceparent is None else {"traceparent": traceparent}
    if transport == "http":
        for operation in ("path", "distance"):
            answer = urllib3.request("GET", f"{service.http}/v1/{operation}?a={A}&b={B}", headers=headers, timeout=300)
            assert answer.status == 200
        return
    with grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel:
        stub: Any = pb_grpc.ConceptGraphServiceStub(channel)  # type: ignore[no-untyped-call,unused-ignore]
        stub.Path(pb.PathRequest(a=A, b=B), metadata=tuple(headers.items()))
        stub.Distance(pb.DistanceRequest(a=A, b=B), metadata=tuple(headers.items()))


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_caller_service_and_database_are_one_trace(transport: str, traces: Traces, neo4j_server: LocalServer) -> None:
    with stored_graph(neo4j_server, open_release()) as stored:
        graph = Neo4jGraph(TracedConnection(settings_of(neo4j_server)), release=stored.number)
        served = ServedGraph(graph.release, database=graph)
        with (
            running_service(served, observer=Tracing(traces.tracer)) as service,
            connect(service.grpc if transport == "grpc" else service.http) as remote,
            traces.tracer.start_as_current_span("evaluation"),
        ):
            remote.path(A, B)
            remote.distances([(A, B)])
    client = traces.one("evaluation")
    for operation in ("path", "distances"):
        question = traces.one(f"cuihop {operation}")
        assert is_below(question, client)
        assert question.kind is trace.SpanKind.SERVER
        assert dict(question.attributes or {}) == {
            "cuihop.operation": operation,
            "cuihop.transport": transport,
            "cuihop.size": 1,
            "cuihop.outcome": "OK",
            "cuihop.tier": "cypher",
            "cuihop.release": served.digest,
        }
        below = [span for span in traces.named("neo4j read") if is_below(span, question)]
        assert below
        assert all(span.kind is trace.SpanKind.CLIENT for span in below)
    assert all(context_of(span).trace_id == context_of(client).trace_id for span in traces.named("neo4j read"))
    exported = " ".join(str(span.to_json()) for span in traces.exporter.get_finished_spans())
    assert A not in exported
    assert B not in exported


@pytest.mark.parametrize("transport", ["http", "grpc"])
@pytest.mark.parametrize("traceparent", [None, "", "00-nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 300])
def test_without_a_usable_parent_each_question_is_a_trace_of_its_own(
    traceparent: str | None, transport: str, traces: Traces
) -> None:
    with running_service(open_release(), observer=Tracing(traces.tracer)) as service:
        ask(service, transport, traceparent)
    path, distance = traces.one("cuihop path"), traces.one("cuihop distance")
    assert path.parent is None
    assert distance.parent is None
    assert context_of(path).trace_id != context_of(distance).trace_id


def test_questions_at_the_same_time_keep_to_their_traces(traces: Traces) -> None:
    with (
        running_service(open_release(), observer=Tracing(traces.tracer)) as service,
        grpc.insecure_channel(f"127.0.0.1:{service.grpc_port}") as channel,
    ):
        stub: Any = pb_grpc.ConceptGraphServiceStub(channel)  # type: ignore[no-untyped-call,unused-ignore]
        calls = []
        for place in range(1, 41):
            header = f"00-{place:032x}-{place:016x}-01"
            calls.append(stub.Path.future(pb.PathRequest(a=A, b=B), metadata=(("traceparent", header),)))
        for call in calls:
            call.result(60)
    parents = {(context_of(s).trace_id, s.parent.span_id if s.parent else 0) for s in traces.named("cuihop path")}
    assert parents == {(place, place) for place in range(1, 41)}


@pytest.mark.parametrize(
    ("reason", "error"), [("OK", False), ("CONCEPT_NOT_FOUND", False), ("GRAPH_UNAVAILABLE", True), ("INTERNAL", True)]
)
def test_only_a_fault_of_the_service_is_an_error_of_the_span(reason: str, error: bool, traces: Traces) -> None:
    tracing = Tracing(traces.tracer)
    info = RequestInfo("search", "http", size=3)
    tracing.finished(RequestOutcome(info, None, 0.1, reason, detail=A), tracing.started(info))
    span = traces.one("cuihop search")
    assert span.status.is_ok is not error
    assert (span.attributes or {})["cuihop.outcome"] == reason
    assert A not in str(span.to_json())


def test_a_database_that_is_away_is_an_error_of_its_span_and_the_services_own_looks_are_none(
    traces: Traces, neo4j_server: LocalServer
) -> None:
    settings = settings_of(neo4j_server)
    tracing, info = Tracing(traces.tracer), RequestInfo("path", "grpc")
    with TracedConnection(settings) as connection:
        connection.read(lambda tx: tx.run("RETURN 1").consume())
        assert traces.named("neo4j read") == []

        def fails(tx: object) -> None:
            raise OSError("C0006121")

        token = tracing.started(info)
        with pytest.raises(GraphUnavailable):
            connection.read(fails)
        tracing.finished(RequestOutcome(info, None, 0.1, "GRAPH_UNAVAILABLE"), token)
    span = traces.one("neo4j read")
    assert not span.status.is_ok
    assert "C0006121" not in str(span.to_json())


@pytest.mark.slow
def test_without_the_packages_of_the_extra_everything_else_works() -> None:
    program = (
        "import sys; sys.modules['opentelemetry.sdk'] = sys.modules['opentelemetry.exporter'] = None\n"
        "from cuihop.errors import InputError\n"
        "from cuihop_service import worker, servers\n"
        "from cuihop_service.graph_holder import GraphHolder\n"
        "from cuihop_service.observe.observation import Observation\n"
        "Observation(GraphHolder())\n"
        "try:\n"
        "    Observation(GraphHolder(), traces=True)\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "cuihop[traces]" in done.stdout


@pytest.mark.slow
def test_without_traces_the_packages_that_make_them_are_not_imported() -> None:
    program = (
        "import sys\n"
        "from cuihop_service import worker\n"
        "from cuihop_service.graph_holder import GraphHolder\n"
        "from cuihop_service.observe.observation import Observation\n"
        "Observation(GraphHolder())\n"
        "made_by = ('opentelemetry.sdk.trace', 'opentelemetry.exporter')\n"
        "print([name for name in sys.modules if name.startswith(made_by)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Takes spans by OTLP."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def Export(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        return trace_service_pb2.ExportTraceServiceResponse()


@pytest.mark.slow
def test_spans_reach_a_collector_before_the_service_ends(tmp_path: Path) -> None:
    example_graph().save(tmp_path / "example.cuihop")
    collector, server = Collector(), grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    command = ["cuihop", "serve", "--graph", "example.cuihop", "--traces", "--http-port", "0", "--grpc-port", "0"]
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / command[0]), *command[1:]],
        cwd=tmp_path,
        env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    address = next(found[1] for line in process.stderr if (found := re.search(r"serving (http://\S+)", line)))
    assert urllib3.request("GET", f"{address}/v1/distance?a=C0006121&b=C0018670", timeout=300).status == 200
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    server.stop(5).wait()
    (spans,) = [scoped for request in collector.requests for scoped in request.resource_spans]
    about = {attribute.key: attribute.value.string_value for attribute in spans.resource.attributes}
    assert about["service.name"] == "cuihop"
    assert [span.name for scope in spans.scope_spans for span in scope.spans] == ["cuihop distance"]
    assert b"C0006121" not in spans.SerializeToString()
