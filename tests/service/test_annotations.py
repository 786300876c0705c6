"""Annotation over HTTP, gRPC and for agents: scopes, limits, streams, and texts that are written nowhere."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from cuihop import SnapshotGraph
from cuihop.annotation.mentions import Annotations
from cuihop.annotation.options import AnnotationOptions
from cuihop.resources.progress import interrupted_by
from cuihop_api.v1 import concept_graph_pb2 as pb
from cuihop_server import RunningService, running_service
from cuihop_service.admission import Admission, Observers
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import ServedGraph
from cuihop_service.guard.audit import AuditLog
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.http_api.agent_route import agent_routes
from cuihop_service.http_api.models import body_model
from cuihop_service.http_api.responder import Responder
from cuihop_service.limits import Limits
from cuihop_service.observe.logs import RequestLog, configure_logs
from cuihop_service.observe.metrics import Metrics
from cuihop_service.observe.traces import Tracing
from cuihop_service.request_context import Cancelled, RequestContext
from example_graph import example_graph
from guarded_service import Reply, bearer, http, new_key_in, refused, stub

PATH = "/v1/annotate"
CANARY = "Zebulon"
TEXT = f"Mr {CANARY} has a lesion of the brain stem."
ACCEPT = "application/json, text/event-stream"


def request(*texts: str, sequence: int = 0, **options: Any) -> pb.AnnotateRequest:
    return pb.AnnotateRequest(texts=texts, sequence=sequence, options=pb.AnnotationOptions(**options))


def called(service: RunningService, arguments: dict[str, Any]) -> Reply:
    """The answer to a call of the agents' tool."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "annotate", "arguments": arguments}}
    return http(service, "/mcp", call, Accept=ACCEPT)


def routes(core: ConceptService, admission: Admission) -> list[Any]:
    return list(agent_routes(Responder(core, admission)))


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    limits = Limits(texts=3, text_characters=100, characters=150, concepts=4, text=64)
    with running_service(example_graph(), limits=limits, routes=routes) as running:
        yield running


def test_the_options_over_http_are_those_of_the_library() -> None:
    fields = body_model(AnnotationOptions)
    assert AnnotationOptions(**dict(fields())) == AnnotationOptions()
    assert list(fields.model_fields) == list(AnnotationOptions.__dataclass_fields__)


def test_both_transports_name_the_release(service: RunningService) -> None:
    digest = example_graph().release.digest
    answer = http(service, PATH, {"texts": ["\U0001d538 brain stem", "", "aorta"]}).json
    assert [len(row["mentions"]) for row in answer["annotations"]] == [1, 0, 1]
    mention = answer["annotations"][0]["mentions"][0]
    assert (mention["start"], mention["end"], mention["text"], mention["cui"]) == (2, 12, "brain stem", "C0006121")
    assert (answer["release"], answer["tier"], answer["merged"]) == (digest, "index", {})
    with stub(service) as grpc_stub:
        (message,) = grpc_stub.Annotate(iter([request("\U0001d538 brain stem", "", "aorta", sequence=7)]))
    assert (list(message.counts), list(message.starts), message.sequence) == ([1, 0, 1], [2, 0], 7)
    assert message.provenance.release_digest == digest


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["a"] * 4, {}, "too many texts: found 4; this service allows 3"),
        (["a", "b" * 101], {}, "texts.1: too many characters: found 101; this service allows 100"),
        (["a" * 100, "b" * 51], {}, "too many characters: found 151; this service allows 150"),
        (["a"], {"stop": ["a"] * 3, "sabs": ["b"] * 2}, "too many concepts: found 5; this service allows 4"),
        (["a"], {"stop": ["x" * 65]}, "parameter options: too long; found 65 characters; expected at most 64"),
        (["a"], {"stop": ["x", " "]}, "parameter stop: not a list of texts"),
    ],
)
def test_limits_and_faulty_options_are_named(
    service: RunningService, texts: list[str], options: dict[str, Any], message: str
) -> None:
    answer = http(service, PATH, {"texts": texts, "options": options})
    assert answer.status in (400, 413)
    assert message in answer.json["detail"]
    with stub(service) as grpc_stub, pytest.raises(grpc.RpcError, match=message):
        list(grpc_stub.Annotate(iter([request(*texts, **options)])))


@pytest.mark.parametrize("number", [9, -1])
def test_numbers_of_enumerations_without_meaning(service: RunningService, number: Any) -> None:
    with stub(service) as grpc_stub:
        for wrong in (request("a", disambiguate=number), request("a", leave_out=[number])):
            code, reason, _ = refused(partial(list, grpc_stub.Annotate(iter([wrong]))))
            assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_INPUT")


def test_a_stream_answers_in_order_until_a_faulty_batch(service: RunningService) -> None:
    batches = [request("brain", sequence=1), request(sequence=2), request("a" * 101, sequence=3), request("aorta")]
    with stub(service) as grpc_stub:
        stream = grpc_stub.Annotate(iter(batches))
        assert [(answer.sequence, list(answer.counts)) for answer in (next(stream), next(stream))] == [
            (1, [1]),
            (2, []),
        ]
        assert refused(lambda: next(stream))[:2] == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_EXCEEDED")


def test_texts_need_the_scope_for_names(tmp_path: Path) -> None:
    reader, named = new_key_in(tmp_path / "keys", "reader", "read"), new_key_in(tmp_path / "keys", "named", "names")
    with (
        running_service(example_graph(), guard=ConfiguredGuard(KeyFile(tmp_path / "keys"))) as running,
        stub(running) as grpc_stub,
    ):
        assert http(running, PATH, {"texts": ["brain"]}).status == 401
        answer = http(running, PATH, {"texts": ["brain"]}, key=reader)
        assert (answer.status, answer.json["detail"]) == (403, "the key of 'reader' lacks the scope 'names'")
        assert http(running, PATH, {"texts": ["brain"]}, key=named).status == 200

        def annotated(key: str) -> list[pb.AnnotateResponse]:
            return list(grpc_stub.Annotate(iter([request("brain")]), metadata=bearer(key)))

        assert refused(lambda: annotated(reader))[0] is grpc.StatusCode.PERMISSION_DENIED
        assert len(annotated(named)) == 1


def test_a_service_that_hides_names_annotates_for_nobody() -> None:
    with running_service(example_graph(), names=False, routes=routes) as running, stub(running) as grpc_stub:
        assert "shows no names" in http(running, PATH, {"texts": ["brain"]}).json["detail"]
        code = refused(lambda: list(grpc_stub.Annotate(iter([request("brain")]))))[0]
        assert code is grpc.StatusCode.PERMISSION_DENIED
        assert "names are hidden here" in called(running, {"text": "brain"}).body.decode()


def test_a_service_without_an_index_says_so() -> None:
    graph = example_graph()
    with running_service(ServedGraph(graph.release, database=graph)) as running:
        answer = http(running, PATH, {"texts": ["brain"]})
    assert (answer.status, answer.json["reason"]) == (503, "GRAPH_UNAVAILABLE")
    assert "setting index" in answer.json["detail"]


class Waiting(SnapshotGraph):
    """A graph whose annotations wait for a signal."""

    begun, go_on = threading.Event(), threading.Event()

    def annotate_many(self, texts: Sequence[str], options: AnnotationOptions | None = None) -> Annotations:
        self.begun.set()
        assert self.go_on.wait(60)
        return super().annotate_many(texts, options)


def test_other_requests_are_answered_meanwhile() -> None:
    answers: list[Reply] = []
    with running_service(Waiting(example_graph().sections)) as running:
        asking = threading.Thread(target=lambda: answers.append(http(running, PATH, {"texts": ["brain"]})))
        asking.start()
        assert Waiting.begun.wait(60)
        try:
            assert http(running, "/v1/distance?a=C0006121&b=C0018670").json["hops"] == 3
        finally:
            Waiting.go_on.set()
            asking.join()
    assert answers[0].status == 200


def test_work_that_nobody_waits_for_stops(service: RunningService) -> None:
    context = RequestContext()

    def check() -> None:
        context.cancelled = True  # the caller leaves while the texts are annotated
        context.check()

    with interrupted_by(check), pytest.raises(Cancelled):
        service.core.annotate(["brain"], AnnotationOptions(), context=context)


# Texts are written nowhere


class Broken(SnapshotGraph):
    """A graph with a fault whose message repeats the text."""

    def annotate_many(self, texts: Sequence[str], options: AnnotationOptions | None = None) -> Annotations:
        if "fault" in texts[0]:
            raise KeyError(texts[0])
        return super().annotate_many(texts, options)


WRONG: list[Any] = [
    {"texts": TEXT},
    {"text": [TEXT]},
    {"texts": [TEXT, 5]},
    {"texts": [f"{TEXT}\ud800"]},
    {"texts": [TEXT], "more": TEXT},
    {"texts": [TEXT], "options": TEXT},
    {"texts": [TEXT], "options": {"text": TEXT}},
    {"texts": [TEXT], "options": {"longest": "yes"}},
    {"texts": [TEXT], "options": {"stop": [""]}},
    {"texts": {"first": TEXT}},
    {"texts": [[TEXT]]},
    {"texts": [TEXT * 5_000]},
    [TEXT],
    TEXT,
    f'{{"texts": ["{TEXT}", }}'.encode(),
    f'{{"texts": ["{TEXT}\xff"]}}'.encode("latin-1"),
    f'{{"texts": ["{TEXT}\\x"]}}'.encode(),
]
"""Bodies at fault, by mistakes that people make."""


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    stream = io.StringIO()
    configure_logs("json", stream)
    yield stream
    logger.handlers[:], logger.level = handlers, level
    logging.captureWarnings(False)


def test_no_log_audit_trace_metric_or_error_repeats_a_text(
    tmp_path: Path, log: io.StringIO, capfd: pytest.CaptureFixture[str]
) -> None:
    spans, provider, metrics = InMemorySpanExporter(), TracerProvider(), Metrics()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    audit = AuditLog(str(tmp_path / "audit"), concepts=True)
    observer = Observers(metrics, Tracing(provider.get_tracer("test")), RequestLog(every=True), audit)
    errors = []
    with (
        running_service(Broken(example_graph().sections), observer=observer, routes=routes) as running,
        stub(running) as grpc_stub,
    ):
        assert http(running, PATH, {"texts": [TEXT], "options": {"stop": ["head"]}}).status == 200
        assert http(running, PATH, {"texts": [f"{TEXT} fault"]}).status == 500
        for body in WRONG:
            answer = http(running, PATH, body, Content_Type="application/json")
            assert answer.status in (400, 413), body
            errors.append(answer.body)
        assert len(list(grpc_stub.Annotate(iter([request(TEXT, stop=["head"])])))) == 1
        for wrong in (request(TEXT, stop=[""]), request(TEXT * 5_000), request(f"{TEXT} fault")):
            with pytest.raises(grpc.RpcError) as failed:
                list(grpc_stub.Annotate(iter([wrong])))
            errors.append(str(failed.value).encode())
        assert CANARY.encode() not in called(running, {"text": TEXT}).body  # only mentions come back
        for arguments in ({"text": TEXT * 200}, {"text": [TEXT]}, {"text": f"{TEXT} fault"}):
            errors.append(called(running, arguments).body)
    provider.shutdown()
    audit.close()
    printed = capfd.readouterr()
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    written = [line["request"] for line in lines if line["operation"] == "annotate" and line["outcome"] == "OK"]
    assert [sorted(content) for content in written] == [
        ["options"],
        ["options"],
        ["code_sabs", "leave_out", "semantic_types"],
    ]
    assert {line["transport"] for line in lines if line["operation"] == "annotate"} == {"http", "grpc", "mcp"}
    everything = [
        *errors, log.getvalue().encode(), printed.out.encode(), printed.err.encode(),
        (tmp_path / "audit").read_bytes(), metrics.text("")[0], repr([
            (span.name, dict(span.attributes or {}), span.events, span.status.description)
            for span in spans.get_finished_spans()
        ]).encode(),
    ]  # fmt: skip
    assert all(everything[index] for index in (0, len(errors), len(errors) + 3, len(errors) + 4))
    for content in everything:
        assert CANARY.encode() not in content, content[:2000]
