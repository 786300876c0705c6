"""The caller's trace, so that what the service does becomes part of it."""

from __future__ import annotations

import sys

__all__ = ["current_traceparent"]


def current_traceparent() -> str | None:
    """The ``traceparent`` header (W3C Trace Context) of the span that is open here; None without one.

    Costs nothing where OpenTelemetry is not in use: whoever traces has imported it.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"
