"""Spans of OpenTelemetry: one for each request, and one for each of its transactions in Neo4j.

Needs the extra ``traces``. Nothing here is imported where traces are off.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Token
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import cuihop
from cuihop.neo4j_graph.connection import Neo4jConnection
from cuihop_service.admission import Observer, RequestInfo, RequestOutcome
from cuihop_service.observe.logs import FAULTS_OF_THE_SERVICE

if TYPE_CHECKING:
    import neo4j
    from opentelemetry.sdk.trace import TracerProvider

Result = TypeVar("Result")
Opened: TypeAlias = tuple[Span, Token[contexts.Context]]

_PROPAGATOR = TraceContextTextMapPropagator()
_TRACER = contexts.create_key("cuihop-tracer")
"""Key of the tracer in the context of a request. The process has no global tracer: packages with traces of
their own would use it, and some record the content of requests."""


def exporting_provider() -> TracerProvider:
    """Exporter of spans by OTLP. Address, sampling and name come from the ``OTEL_…`` variables of OpenTelemetry."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = Resource({"service.name": "cuihop", "service.version": cuihop.__version__})
    provider = TracerProvider(resource=Resource.create().merge(named).merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Tracing(Observer):
    """An `Observer` that opens a span for each request, below the caller's own where ``traceparent`` names one."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def started(self, info: RequestInfo) -> Opened:
        """See `Observer`. The span is the current one for all work of the request, in threads too."""
        span = self._tracer.start_span(
            f"cuihop {info.operation}",
            contexts.Context() if info.trace is None else _PROPAGATOR.extract({"traceparent": info.trace}),
            kind=SpanKind.SERVER,
            attributes={
                "cuihop.operation": info.operation,
                "cuihop.transport": info.transport,
                "cuihop.size": info.size,
            },
        )
        context = contexts.set_value(_TRACER, self._tracer, trace.set_span_in_context(span))
        return span, contexts.attach(context)

    def finished(self, outcome: RequestOutcome, token: Opened) -> None:
        """See `Observer`."""
        span, attached = token
        contexts.detach(attached)
        span.set_attribute("cuihop.outcome", outcome.reason)
        if outcome.tier is not None:
            span.set_attribute("cuihop.tier", outcome.tier)
        if outcome.digest is not None:
            span.set_attribute("cuihop.release", outcome.digest)
        if outcome.reason in FAULTS_OF_THE_SERVICE:
            span.set_status(Status(StatusCode.ERROR, outcome.reason))
        span.end()


class TracedConnection(Neo4jConnection):
    """A connection whose read transactions are spans, where they belong to a request.

    The spans show neither statement nor parameters.
    """

    def read(self, work: Callable[[neo4j.ManagedTransaction], Result], *, timeout: float | None = None) -> Result:
        """See `Neo4jConnection.read`."""
        tracer = contexts.get_value(_TRACER)
        if not isinstance(tracer, Tracer):  # the service's own look at its store
            return super().read(work, timeout=timeout)
        with tracer.start_as_current_span(
            "neo4j read",
            kind=SpanKind.CLIENT,
            attributes={"db.system.name": "neo4j", "db.namespace": self.settings.database or ""},
            record_exception=False,  # its message may hold identifiers
            set_status_on_exception=False,
        ) as span:
            try:
                return super().read(work, timeout=timeout)
            except Exception as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                raise
