"""One process that answers: both servers, the release, and their orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop
from starlette.routing import BaseRoute

from cuihop.addresses import is_neo4j_address
from cuihop.collection.concept_tables import ConceptCounts
from cuihop.errors import GraphError, InputError, SnapshotError
from cuihop.graph import ConceptGraph
from cuihop.resources.compilation import announce_compilation
from cuihop_service.addresses import Addresses
from cuihop_service.admission import Admission, Observers
from cuihop_service.cache import CachedGraph, PairCounts
from cuihop_service.callers import SCOPES, Rate
from cuihop_service.core import ConceptService
from cuihop_service.explorer import explorer_routes
from cuihop_service.graph_holder import GraphHolder, State
from cuihop_service.grpc_api.server import TlsFiles
from cuihop_service.guard.audit import AuditLog
from cuihop_service.guard.configured_guard import Certificates, ConfiguredGuard
from cuihop_service.guard.key_file import KeyFile
from cuihop_service.guard.rates import Rates, SharedRates
from cuihop_service.http_api.agent_route import agent_routes
from cuihop_service.http_api.application import LOOPBACK_HOSTS, metrics_route
from cuihop_service.http_api.fhir_route import fhir_routes
from cuihop_service.http_api.responder import Responder
from cuihop_service.http_api.routes import routes
from cuihop_service.observe.metrics_folder import FOLDER_VARIABLE
from cuihop_service.observe.observation import Observation
from cuihop_service.release_watch import HIERARCHY_THREAD, WATCH_THREAD, ReleaseWatch
from cuihop_service.servers import Servers
from cuihop_service.settings import ServiceSettings, revealed
from cuihop_service.similarity import CorpusCounts
from cuihop_service.stores import store_at

if TYPE_CHECKING:
    from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings

_log = logging.getLogger("cuihop.service")

_LAST_SECONDS = 2.0
"""For threads to notice, between two blocks of their work, that it has been abandoned."""

_COMPILING_THREADS = (HIERARCHY_THREAD, WATCH_THREAD)
"""Daemons whose compiler fails, with a traceback, in an interpreter that ends."""


def prepare(settings: ServiceSettings) -> None:
    """Import and build, without a thread, what every worker needs: a fork of the process then has it."""
    routes()
    if _serves_agents(settings):
        import cuihop.agents.server  # noqa: F401 - it takes half a second
    if settings.index == "on":
        from cuihop._kernels.jit import signed

        signed(1)  # with the first function come numba's own parts
    spare_collector()
    _share_free_memory()


def _serves_agents(settings: ServiceSettings) -> bool:
    return settings.mcp and find_spec("mcp") is not None


def run_worker(
    settings: ServiceSettings, http: socket.socket, grpc_port: int, on_ready: Callable[[Addresses], None]
) -> None:
    """Answer until SIGTERM or SIGINT.

    SIGHUP has the store looked at now. A second SIGTERM does not wait for answers under way. A thread that still
    computes when the time to drain is over is not waited for: the process ends without it.

    Raises:
        CuihopError: the store is no store, a port is taken, a certificate is none.
    """
    announce_compilation(_log.info)
    others = set(threading.enumerate())
    uvloop.run(_answer(settings, http, grpc_port, on_ready))
    _end_without(others)


async def _answer(
    settings: ServiceSettings, http: socket.socket, grpc_port: int, on_ready: Callable[[Addresses], None]
) -> None:
    loop = asyncio.get_running_loop()
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and is_neo4j_address(settings.graph):  # the folder of the metrics is the one that all workers have
        from cuihop.neo4j_graph.login import share_refusals

        share_refusals(Path(folder))
    holder = GraphHolder()
    corpus = corpus_counts(settings)
    counts = PairCounts()
    entries = settings.cache_entries
    shared = None
    if settings.redis is not None and entries:
        from cuihop_service.cache.redis_cache import RedisCache  # the client of Redis takes long to import

        shared = RedisCache(settings.redis.get_secret_value())

    def cached(graph: ConceptGraph) -> CachedGraph | None:
        return CachedGraph(graph, entries=entries, shared=shared, counts=counts) if entries else None

    store = store_at(
        settings.graph,
        index=settings.index == "on",
        index_folder=settings.index_folder.expanduser(),
        caching=cached,
        timeout=settings.limit_seconds,
        traces=settings.traces,
    )
    watch = ReleaseWatch(holder, store, settings.watch_seconds)
    try:
        watch.open_first()
        holder.set_state("ready")
    except SnapshotError:  # a mistyped path: the operator is there to see it
        raise
    except GraphError as error:  # no database yet, no release in it, another password: all may come later
        _log.warning("starting without a release: %s", error)
        holder.set_state("unavailable", str(error))
    core = ConceptService(holder, settings.limits, names=not settings.hide_names, corpus=corpus)
    guard = configured_guard(settings)
    observation = Observation(
        holder,
        log_requests=settings.log_requests,
        slow_seconds=settings.slow_seconds,
        counts=counts,
        shared=shared,
        rates=guard.redis_calls,
        traces=settings.traces,
    )
    audit = None if settings.audit is None else AuditLog(settings.audit, concepts=settings.audit_concepts)
    observer = observation.observer if audit is None else Observers(observation.observer, audit)
    admission = Admission(settings.limits, guard, observer, watch.catch_up, core.name_concepts)
    tls = tls_files(settings)
    servers = Servers(
        core,
        admission,
        http=http,
        grpc_address=(settings.host, grpc_port),
        tls=tls,
        shared_port=True,
        hosts=settings.hosts or (("*",) if settings.authenticates else LOOPBACK_HOSTS),
        limits=settings.address_limits,
        more_routes=[
            metrics_route(observation.metrics),
            *(explorer_routes() if settings.explorer else []),
            *_curators_routes(settings, core, admission),
            *(agent_routes(Responder(core, admission)) if _serves_agents(settings) else []),
            *(fhir_routes(Responder(core, admission)) if settings.fhir else []),
        ],
    )

    def report_health(state: State) -> None:
        serving = state in ("ready", "degraded")
        loop.call_soon_threadsafe(lambda: asyncio.ensure_future(servers.set_health(serving)))

    over = asyncio.Event()
    hurry = asyncio.Event()

    def stop() -> None:
        (hurry if over.is_set() else over).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, watch.look_now)
    await servers.start()
    await servers.set_health(holder.state in ("ready", "degraded"))
    holder.on_state_change(report_health)
    watch.start()
    refreshing = asyncio.ensure_future(observation.keep_fresh())
    spare_collector()
    on_ready(Addresses(http.getsockname()[1], servers.grpc_port, tls is not None, holder.current is not None))
    await over.wait()
    _log.info("stopping; answers under way are given %g s", settings.drain_seconds)
    holder.set_state("stopping")
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(hurry.wait(), settings.drain_delay)
    watch.stop()
    stopped = asyncio.ensure_future(servers.stop(0.0 if hurry.is_set() else settings.drain_seconds))
    hurried = asyncio.ensure_future(hurry.wait())
    await asyncio.wait({stopped, hurried}, return_when=asyncio.FIRST_COMPLETED)
    if not stopped.done():
        await servers.stop(0.0)
    hurried.cancel()
    refreshing.cancel()
    admission.close()
    await admission.idle(0.0 if hurry.is_set() else _LAST_SECONDS)
    await guard.close()
    observation.close()
    if audit is not None:
        audit.close()
    holder.close()


def _end_without(others: set[threading.Thread]) -> None:
    """End the process now where a thread of it, none of the ``others`` from before, would keep the interpreter."""
    deadline = time.monotonic() + _LAST_SECONDS / 2

    def busy() -> list[str]:
        return [t.name for t in set(threading.enumerate()) - others if not t.daemon or t.name in _COMPILING_THREADS]

    while busy() and time.monotonic() < deadline:
        time.sleep(0.01)
    names = busy()
    if names:
        _log.warning("ending without waiting for %d threads: %s", len(names), ", ".join(sorted(names)))
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def spare_collector() -> None:
    """Exempt all present objects from garbage collection.

    The collector would visit hundreds of thousands of objects of compiled code and frameworks again and again, a tenth
    of a second each time, while callers wait. They live as long as the process.
    """
    gc.collect()
    gc.freeze()


def _share_free_memory() -> None:
    """Let all threads allocate from two heaps, unless ``MALLOC_ARENA_MAX`` says how many.

    glibc makes up to eight for each processor, and what is free in one is of no use to threads of another.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(AttributeError):  # of another C library
            ctypes.CDLL(None).mallopt(-8, 2)  # M_ARENA_MAX of malloc.h


def _curators_routes(settings: ServiceSettings, core: ConceptService, admission: Admission) -> list[BaseRoute]:
    """The route for curators' Cypher; an empty list if it is off."""
    if not settings.cypher:
        return []
    check_cypher(settings)
    from cuihop_service.http_api.cypher_route import cypher_routes  # with the driver, which takes half a second

    return cypher_routes(
        Responder(core, admission),
        curators_connection(settings),
        names=not settings.hide_names,
        seconds=settings.cypher_seconds,
        rows=settings.cypher_rows,
        running=settings.cypher_running,
    )


def curators_connection(settings: ServiceSettings, service: Neo4jSettings | None = None) -> Neo4jConnection:
    """The connection for curators' queries, separate from the service's own, as another user if one is named."""
    from cuihop.neo4j_graph.connection import Neo4jConnection, Neo4jSettings

    own = replace(
        service or Neo4jSettings.from_environment(settings.graph),
        timeout=settings.cypher_seconds,
        connections=2 * settings.cypher_running,  # one for each query, and one to end it
        acquisition_timeout=settings.cypher_seconds / 2,
        retry_time=settings.cypher_seconds / 2,
    )
    password = revealed(settings.cypher_password)
    if settings.cypher_user is not None and password is not None:
        own = replace(own, user=settings.cypher_user, password=password, password_file=None)
    return Neo4jConnection(own)


def configured_guard(settings: ServiceSettings) -> ConfiguredGuard:
    """The guard of a service with these settings; `InputError` for a file or a value that is not as expected."""
    tokens = None
    if settings.issuer is not None and settings.jwks is not None:
        from cuihop_service.guard.signing_keys import SigningKeys  # with cryptography, which takes long to import
        from cuihop_service.guard.tokens import TokenRules, TokenVerifier

        scopes = settings.token_scopes or {f"cuihop:{name}": (name,) for name in SCOPES}
        rules = TokenRules(settings.issuer, settings.audience, settings.scope_claim, scopes, settings.leeway)
        tokens = TokenVerifier(rules, SigningKeys(settings.jwks))
    certificates = None
    if settings.certificate_scopes or settings.certificate_callers:
        certificates = Certificates(settings.certificate_scopes, settings.certificate_callers)
    rates = None
    rate = Rate(settings.rate_requests, settings.rate_burst, settings.rate_pairs)
    if settings.authenticates or rate != Rate():
        redis = revealed(settings.redis)
        rates = Rates(rate, None if redis is None else SharedRates(redis))
    keys = None if settings.keys_file is None else KeyFile(settings.keys_file)
    return ConfiguredGuard(keys, tokens, certificates, rates, settings.address_limits)


def corpus_counts(settings: ServiceSettings) -> CorpusCounts | None:
    """The counts for the information content of a corpus; None without a file of them, `InputError` for a bad one."""
    if settings.information_content_counts is None:
        return None
    return CorpusCounts(ConceptCounts.read(settings.information_content_counts))


def check_cypher(settings: ServiceSettings) -> None:
    """Refuse curators' Cypher by an `InputError` without a Neo4j server, or without authentication."""
    if not is_neo4j_address(settings.graph):
        raise InputError(
            "curators' Cypher needs a Neo4j server as the graph", column="setting cypher", found=settings.graph
        )
    if not settings.authenticates:
        raise InputError(
            "curators' Cypher needs authenticated callers",
            column="setting cypher",
            expected="keys, tokens or certificates",
        )


def tls_files(settings: ServiceSettings) -> TlsFiles | None:
    """The certificate's files; None for plain text, `InputError` for a certificate without its key."""
    files = (settings.tls_certificate, settings.tls_key)
    if settings.tls_certificate is None or settings.tls_key is None:
        if any(files) or settings.tls_client_ca is not None:
            raise InputError(
                "TLS needs a certificate and its key", column="setting tls_certificate", expected="both, or neither"
            )
        return None
    return TlsFiles(settings.tls_certificate, settings.tls_key, settings.tls_client_ca)
