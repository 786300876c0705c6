"""The metrics of the service, for Prometheus.

Labels have few values, and a caller chooses none of them: operations, transports, tiers and reasons are the service's
own words. Names and digests of releases come from the operator.

Several workers behind one port report together: each writes into files of a folder that they share (`MetricsFolder`),
and the worker that is scraped adds all of them up. Without the folder a process reports its own metrics alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import cuihop
from cuihop_service.admission import Observer, RequestOutcome
from cuihop_service.graph_holder import GraphHolder
from cuihop_service.observe.metrics_folder import FOLDER_VARIABLE, locked

if TYPE_CHECKING:
    from prometheus_client import Gauge

STATES = ("starting", "ready", "degraded", "unavailable", "stopping")

_SECONDS = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
_DISTANCES = frozenset({"distance", "distances", "stream_distances"})
_CACHE_SOURCES = {"memory_hits": "memory", "shared_hits": "redis", "collapsed": "collapsed", "misses": "computed"}
_RATES_REDIS = {f"rates_{outcome}": outcome for outcome in ("counted", "retried", "failed", "held_back")}
_CACHE_REDIS = {"shared_reads": "read", "shared_writes": "written", "shared_errors": "failed",
                "shared_held_back": "held_back", "shared_refused": "refused"}  # fmt: skip


class Metrics(Observer):
    """An `Observer` that counts.

    Args:
        cache: returns the numbers of `PairCounts` by their names, those of `SharedStatistics` with ``shared_`` before
            them, ``entries``, and those of `SharedRates.calls` with ``rates_``; None for no cache.
    """

    def __init__(
        self, holder: GraphHolder | None = None, cache: Callable[[], Mapping[str, float]] | None = None
    ) -> None:
        # Only here: the package reads the folder's variable once, when it is imported.
        from prometheus_client import (
            CollectorRegistry,
            Counter,
            Gauge,
            Histogram,
            ProcessCollector,
            disable_created_metrics,
        )

        disable_created_metrics()  # several workers have none, and one should report the same
        self._holder = holder
        self._cache = cache
        self._folder = os.environ.get(FOLDER_VARIABLE)
        if self._folder is not None:
            from cuihop_service.observe.metrics_files import use_allocated_files

            use_allocated_files()
        self._registry = registry = CollectorRegistry()
        counter = functools.partial(Counter, registry=registry)
        sum_of_workers = functools.partial(Gauge, multiprocess_mode="livesum", registry=registry)
        same_in_workers = functools.partial(Gauge, multiprocess_mode="livemax", registry=registry)
        of_each_worker = functools.partial(Gauge, multiprocess_mode="liveall", registry=registry)
        seconds = Histogram(
            "cuihop_answer_seconds",
            "Time from a request's arrival to its answer, of requests that were answered.",
            ["operation", "transport", "tier"],
            buckets=_SECONDS,
            registry=registry,
        )
        requests = counter(
            "cuihop_requests",
            "Requests that ended, by outcome: OK, CANCELLED, or the reason of the error.",
            ["operation", "transport", "outcome"],
        )
        # Cached, since the package's own way from label values to a child takes longer than to count.
        self._seconds, self._requests = functools.cache(seconds.labels), functools.cache(requests.labels)
        self._pairs = counter("cuihop_pairs", "Distances answered.", ["transport"])
        self._running = sum_of_workers("cuihop_requests_running", "Requests in threads now.")
        self._waiting = sum_of_workers("cuihop_requests_waiting", "Requests waiting for one.")
        self._workers = sum_of_workers("cuihop_workers", "Workers in each state.", ["state"])
        self._release_workers = sum_of_workers(
            "cuihop_release_workers",
            "Workers that serve a release; two releases while one takes the other's place.",
            ["digest", "name"],
        )
        self._indexed_workers = sum_of_workers("cuihop_indexed_workers", "Workers that have the index in memory.")
        self._concepts = same_in_workers("cuihop_release_concepts", "Concepts of the release.")
        self._edges = same_in_workers("cuihop_release_edges", "is_a edges of the release.")
        same_in_workers("cuihop_build_info", "The version.", ["version"]).labels(cuihop.__version__).set(1)
        self._cache_pairs = counter("cuihop_cache_pairs", "Distances from the cache, by where it had them.", ["source"])
        self._cache_redis = counter("cuihop_cache_redis_calls", "Calls to the Redis that replicas share.", ["outcome"])
        self._rates_redis = counter("cuihop_rates_redis_calls", "Calls to Redis to count requests.", ["outcome"])
        self._cache_entries = sum_of_workers("cuihop_cache_entries", "Distances kept in the workers.")
        self._of_process = ProcessCollector(registry=None)
        self._process = {
            "process_resident_memory_bytes": of_each_worker(
                "cuihop_worker_resident_bytes", "Memory of a worker; workers share the pages of the release."
            ),
            "process_cpu_seconds_total": of_each_worker("cuihop_worker_cpu_seconds", "Processor time of a worker."),
            "process_open_fds": of_each_worker("cuihop_worker_open_files", "Files and sockets that a worker has open."),
            "process_start_time_seconds": of_each_worker(
                "cuihop_worker_start_time_seconds", "When a worker started, since 1970."
            ),
        }
        self._answered: dict[str, int] = {}  # pairs, added to the counter at each refresh
        self._handed_on: dict[str, int] = {}
        self._refreshing = threading.Lock()
        self._last_waiting = 0
        self._last_cache: dict[str, float] = {}
        self._last_release: Gauge | None = None

    def finished(self, outcome: RequestOutcome, token: object) -> None:
        """See `Observer`."""
        info = outcome.info
        operation, transport, reason = info.operation, info.transport, outcome.reason
        self._requests(operation, transport, reason).inc()
        if reason != "OK":
            return
        self._seconds(operation, transport, outcome.tier or "none").observe(outcome.seconds)
        if operation in _DISTANCES:
            self._answered[transport] = self._answered.get(transport, 0) + info.size

    def waiting(self, running: int, waiting: int) -> None:
        """See `Observer`."""
        self._running.set(running)
        if waiting != self._last_waiting:
            self._waiting.set(waiting)
            self._last_waiting = waiting

    def refresh(self) -> None:
        """Update all that is not counted at each request: pairs, state, release, cache, process.

        Each worker calls this now and then, so that the one that is scraped has recent numbers of all.
        """
        with self._refreshing:
            for transport, pairs in list(self._answered.items()):
                self._pairs.labels(transport).inc(pairs - self._handed_on.get(transport, 0))
                self._handed_on[transport] = pairs
            if self._holder is not None:
                self._refresh_release(self._holder)
            if self._cache is not None:
                self._refresh_cache(self._cache())
        for metric in self._of_process.collect():
            for sample in metric.samples:
                if sample.name in self._process:
                    self._process[sample.name].set(sample.value)

    def _refresh_release(self, holder: GraphHolder) -> None:
        for state in STATES:
            self._workers.labels(state).set(state == holder.state)
        served = holder.current
        release = None if served is None else self._release_workers.labels(served.digest, served.release.name)
        if self._last_release is not None and self._last_release is not release:
            self._last_release.set(0)
        if release is not None:
            release.set(1)
        self._last_release = release
        self._indexed_workers.set(holder.indexed)
        self._concepts.set(0 if served is None else served.release.concepts)
        self._edges.set(0 if served is None else served.release.edges)

    def _refresh_cache(self, numbers: Mapping[str, float]) -> None:
        of_redis = ((_CACHE_REDIS, self._cache_redis), (_RATES_REDIS, self._rates_redis))
        for names, counter in ((_CACHE_SOURCES, self._cache_pairs), *of_redis):
            for name, label in names.items():
                now, before = numbers.get(name, 0.0), self._last_cache.get(name, 0.0)
                # A new release has a new cache, which counts from nothing.
                counter.labels(label).inc(now - before if now >= before else now)
                self._last_cache[name] = now
        self._cache_entries.set(numbers.get("entries", 0.0))

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """All metrics of all workers in the format of an ``Accept`` header, and their media type."""
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import choose_encoder

        self.refresh()
        encode, media_type = choose_encoder(accept)
        if self._folder is not None:
            from cuihop_service.observe.metrics_files import ReadableFiles, counts_alone

            registry = CollectorRegistry()
            registry.register(ReadableFiles(Path(self._folder)))
            with contextlib.suppress(OSError):  # the folder is gone
                if not counts_alone():
                    with locked(Path(self._folder), fcntl.LOCK_SH):
                        return encode(registry), media_type
        return encode(self._registry), media_type
