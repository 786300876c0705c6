"""Metrics, logs and traces of one worker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from cuihop.errors import InputError
from cuihop_service.admission import Observer, Observers
from cuihop_service.graph_holder import GraphHolder
from cuihop_service.observe.logs import RequestLog
from cuihop_service.observe.metrics import Metrics

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from cuihop_service.cache import PairCounts
    from cuihop_service.cache.redis_cache import RedisCache

_log = logging.getLogger("cuihop.service")

_REFRESH_SECONDS = 2.0


class Observation:
    """Metrics, the log of requests and, if configured, traces.

    Raises:
        InputError: traces are wanted, and the extra ``traces`` is not installed.
    """

    def __init__(
        self,
        holder: GraphHolder,
        *,
        log_requests: bool = False,
        slow_seconds: float = 1.0,
        counts: PairCounts | None = None,
        shared: RedisCache | None = None,
        rates: Mapping[str, int] | None = None,
        traces: bool = False,
    ) -> None:
        self.metrics = Metrics(
            holder, None if counts is None else lambda: _numbers(holder, counts, shared, rates or {})
        )
        self.log = RequestLog(every=log_requests, slow_seconds=slow_seconds)
        observers: list[Observer] = [self.metrics]
        self._provider = _exporting_provider() if traces else None
        if self._provider is not None:
            from cuihop_service.observe.traces import Tracing

            observers.append(Tracing(self._provider.get_tracer("cuihop")))
        self.observer = Observers(*observers, self.log)

    async def keep_fresh(self) -> None:
        """Refresh the metrics again and again, for the worker that is scraped."""
        while True:
            try:
                self.metrics.refresh()
            except Exception:  # the worker outlives it
                _log.exception("the metrics could not be refreshed")
            await asyncio.sleep(_REFRESH_SECONDS)

    def close(self) -> None:
        """Send the last spans. May take some seconds where the collector is away."""
        if self._provider is not None:
            self._provider.shutdown()


def _numbers(
    holder: GraphHolder, counts: PairCounts, shared: RedisCache | None, rates: Mapping[str, int]
) -> Mapping[str, float]:
    """Numbers of the caches of the served releases, none while the index answers; and of Redis."""
    served = holder.current
    entries = 0 if served is None or served.cached is None else served.cached.entries
    calls = {} if shared is None else {f"shared_{name}": value for name, value in asdict(shared.statistics).items()}
    calls |= {f"rates_{outcome}": number for outcome, number in rates.items()}
    return {**counts.numbers(), **calls, "entries": entries}


def _exporting_provider() -> TracerProvider:
    try:
        from cuihop_service.observe.traces import exporting_provider

        return exporting_provider()
    except ModuleNotFoundError as error:
        raise InputError(
            "traces need packages that are not installed",
            column="setting traces",
            found=f"no {error.name}",
            advice="pip install 'cuihop[traces]'",
        ) from None
