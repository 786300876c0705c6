"""The service, in a thread of the test, on free ports of the loopback interface."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvloop
from starlette.routing import BaseRoute

from cuihop.snapshot.graph import SnapshotGraph
from cuihop_service.addresses import bound_socket, listen
from cuihop_service.admission import Admission, Guard, Observer
from cuihop_service.core import ConceptService
from cuihop_service.graph_holder import GraphHolder, ServedGraph
from cuihop_service.grpc_api.server import TlsFiles
from cuihop_service.guard.address_limits import AddressLimits
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.limits import Limits
from cuihop_service.servers import Servers
from cuihop_service.similarity import CorpusCounts


@dataclass
class RunningService:
    """Addresses of the service, and its parts for inspection."""

    http_port: int
    grpc_port: int
    core: ConceptService
    admission: Admission
    holder: GraphHolder
    loop: asyncio.AbstractEventLoop

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    @property
    def grpc(self) -> str:
        return f"grpc://127.0.0.1:{self.grpc_port}"


@contextmanager
def running_service(
    served: SnapshotGraph | ServedGraph,
    *,
    limits: Limits | None = None,
    guard: Guard | None = None,
    observer: Observer | None = None,
    names: bool = True,
    corpus: CorpusCounts | None = None,
    tls: TlsFiles | None = None,
    address_limits: AddressLimits | None = None,
    routes: Callable[[ConceptService, Admission], Sequence[BaseRoute]] | None = None,
    **options: Any,
) -> Iterator[RunningService]:
    """Both servers over a graph, until the block ends."""
    limits = limits or Limits()
    holder = GraphHolder()
    if isinstance(served, SnapshotGraph):
        served = ServedGraph(served.release, index=served)
    holder.serve(served)
    holder.set_state("ready")
    core = ConceptService(holder, limits, names=names, corpus=corpus)
    http = listen(bound_socket("127.0.0.1", 0))
    loop = uvloop.new_event_loop()  # as in the program
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def begin() -> tuple[Admission, Servers]:
        admission = Admission(limits, guard or ConfiguredGuard(), observer, name_concepts=core.name_concepts)
        if routes is not None:
            options["more_routes"] = routes(core, admission)
        servers = Servers(
            core, admission, http=http, grpc_address=("127.0.0.1", 0), tls=tls, limits=address_limits, **options
        )
        await servers.start()
        return admission, servers

    admission, servers = asyncio.run_coroutine_threadsafe(begin(), loop).result(30)
    try:
        yield RunningService(http.getsockname()[1], servers.grpc_port, core, admission, holder, loop)
    finally:
        asyncio.run_coroutine_threadsafe(servers.stop(5), loop).result(30)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.05), loop).result(30)  # failed handshakes close their sockets
        admission.close()
        holder.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
