"""Both servers of one worker: HTTP and gRPC in one event loop, over one core."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import resource
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from functools import partial
from pathlib import Path

import uvicorn
from starlette.routing import BaseRoute

from cuihop.errors import InputError
from cuihop_service.addresses import listen
from cuihop_service.admission import Admission
from cuihop_service.core import ConceptService
from cuihop_service.grpc_api.server import GrpcServer, TlsFiles
from cuihop_service.guard.address_limits import HEAD_SECONDS, AddressCount, AddressLimits, network_of
from cuihop_service.http_api.application import application
from cuihop_service.http_api.bounded_protocol import BoundedHttp, message_of
from cuihop_service.http_api.problems import other_response
from cuihop_service.http_api.quick_distance import QuickDistance
from cuihop_service.http_api.responder import Responder, usable_request_id

_log = logging.getLogger("cuihop.service")

_KEEP_ALIVE_SECONDS = 75
_MOST_DESCRIPTORS = 65_536  # a system may allow a thousand million
_MOST_CONNECTIONS = 8_192  # on one port
_RESERVE = 128  # files, pipes, the database, Redis, the identity provider
_PORTS = 2
_HOST = re.compile(rb"\r\nhost: *([\w.:\[\]-]{1,255})[ \r]", re.IGNORECASE)
_ACCEPT_PAUSE_SECONDS = 0.1  # where a connection cannot be accepted


class _HttpServer(uvicorn.Server):
    """uvicorn without signal handlers of its own: the worker has them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


class Servers:
    """HTTP on a socket, gRPC on a port.

    Raises:
        InputError: an invalid certificate, a port that is taken, or too few file descriptors.
    """

    def __init__(
        self,
        core: ConceptService,
        admission: Admission,
        *,
        http: socket.socket,
        grpc_address: tuple[str, int],
        tls: TlsFiles | None = None,
        shared_port: bool = False,
        more_routes: Sequence[BaseRoute] = (),
        hosts: Sequence[str] = ("*",),
        limits: AddressLimits | None = None,
    ) -> None:
        limits = limits or AddressLimits()
        connections = connections_each(limits.connections)
        self._core = core
        self._http_socket = http
        self._http_task: asyncio.Task[None] | None = None
        self._tls: _TlsListener | None = None
        held, heads = limits.connection_count(connections), limits.head_count(connections)
        app = application(core, admission, more_routes=more_routes, hosts=hosts)
        quick = QuickDistance(app, Responder(core, admission), hosts)
        protocol = partial(BoundedHttp, connections=held, heads=heads, quick=quick)
        config = uvicorn.Config(
            app,
            http=protocol,  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )
        self._http = server = _HttpServer(config)
        if tls is not None:

            def secured(begun: Callable[[], None]) -> BoundedHttp:
                return protocol(begun=begun, config=config, server_state=server.server_state, app_state={})

            self._tls = _TlsListener(http, tls_context(tls), held, heads, secured)
        each = max(1, connections // _addresses_of(grpc_address[0]))
        self._grpc = GrpcServer(core, admission, limits, each, shared_port=shared_port)
        self.grpc_port = self._grpc.listen(*grpc_address, tls)

    async def start(self) -> None:
        """Answer from now on."""
        await self._grpc.start()
        await self._grpc.set_health(True)
        listen(self._http_socket)
        sockets = [self._http_socket] if self._tls is None else []
        self._http_task = asyncio.create_task(self._http.serve(sockets))
        while not self._http.started:
            if self._http_task.done():
                await self._http_task
                raise InputError("HTTP did not start", column="setting http_port")
            await asyncio.sleep(0.005)
        if self._tls is not None:
            self._tls.start()

    async def set_health(self, serving: bool) -> None:
        """Set the status of the standard gRPC health service."""
        await self._grpc.set_health(serving)

    async def stop(self, seconds: float) -> None:
        """Accept nothing new, and end after the last answer, or after these seconds."""
        ends: list[Awaitable[None]] = [self._grpc.stop(seconds)]
        if self._http_task is not None:
            self._http.config.timeout_graceful_shutdown = max(1, int(seconds))
            if self._tls is not None:
                self._tls.close()
            self._http.should_exit = True
            ends.append(self._http_task)
        await asyncio.gather(*ends)


class _TlsListener:
    """Accepts connections, performs their handshakes, and hands them on.

    A connection is counted when it is accepted. The event loop's own server sees it only after its handshake, for which
    it gives strangers a minute.

    Args:
        listening: the socket, perhaps shared with other workers. Closed with the listener.
        connections, heads: counts of connections on the port; in its handshake one counts among both.
        protocol: creates the protocol over TLS, from a callback for the end of the handshake.
    """

    def __init__(
        self,
        listening: socket.socket,
        context: ssl.SSLContext,
        connections: AddressCount,
        heads: AddressCount,
        protocol: Callable[[Callable[[], None]], asyncio.Protocol],
    ) -> None:
        self._listening = listening
        self._context = context
        self._counts = connections, heads
        self._protocol = protocol
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Accept from now on."""
        self._begin(self._accept())

    def close(self) -> None:
        """Accept nothing new, and give up handshakes that are under way."""
        for task in self._tasks:
            task.cancel()
        self._listening.close()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the event loop itself holds none
        task.add_done_callback(self._tasks.discard)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(self._listening)
            except OSError:  # gone already, or no descriptor left in the whole system
                await asyncio.sleep(_ACCEPT_PAUSE_SECONDS)
                continue
            except Exception:  # the port outlives it
                _log.exception("a connection could not be accepted")
                await asyncio.sleep(_ACCEPT_PAUSE_SECONDS)
                continue
            self._begin(self._secure(accepted, network_of(address[0])))

    async def _secure(self, accepted: socket.socket, network: str) -> None:
        held: list[AddressCount] = []

        def leave() -> None:
            while held:
                held.pop().leave(network)

        try:
            for count in self._counts:
                if not count.enter(network):
                    accepted.close()
                    return
                held.append(count)
            loop = asyncio.get_running_loop()
            due = loop.time() + HEAD_SECONDS
            if await _refused_plain_http(accepted):
                return
            await loop.connect_accepted_socket(
                lambda: self._protocol(leave),
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=max(0.1, due - loop.time()),
            )
        except OSError:  # no TLS, no certificate, too late, or gone: a stranger's own affair
            pass
        finally:
            leave()


async def _refused_plain_http(accepted: socket.socket) -> bool:
    """True for a caller without TLS, such as http:// in a browser, who gets the address that was meant.

    The first byte is then a letter, as in GET; a handshake begins with the byte 22. `OSError` if none comes.
    """
    loop, begun = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(accepted, begun.set)
    try:
        await asyncio.wait_for(begun.wait(), HEAD_SECONDS)
        loop.remove_reader(accepted)
        if not accepted.recv(1, socket.MSG_PEEK).isalpha():
            return False
        host = _HOST.search(await loop.sock_recv(accepted, 65_536))
        name = host[1].decode() if host else ":".join(map(str, accepted.getsockname()[:2]))
        detail = f"this port speaks TLS: https://{name}"
        answer = message_of(other_response(400, "INVALID_INPUT", detail, usable_request_id("")))
        await asyncio.wait_for(loop.sock_sendall(accepted, answer), HEAD_SECONDS)
        accepted.shutdown(socket.SHUT_WR)
    except BaseException:
        loop.remove_reader(accepted)
        accepted.close()
        raise
    accepted.close()
    return True


def connections_each(requested: int | None) -> int:
    """The connections that each of the two ports may hold, so that neither takes a descriptor from the other.

    The process' own limit is raised as far as the system allows.

    Args:
        requested: as configured; None for all that there is room for, at most 8,192.

    Raises:
        InputError: too few descriptors for that.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (_MOST_DESCRIPTORS if limit == resource.RLIM_INFINITY else limit for limit in (soft, hard))
    raised = max(soft, min(hard, _MOST_DESCRIPTORS))
    if raised > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    room = (raised - _used() - _RESERVE) // _PORTS
    if room < (requested or 8):
        raise InputError(
            "too few file descriptors for the connections",
            column="setting connections",
            found=f"{raised:,} descriptors",
            expected=f"{_PORTS * (requested or 8) + _used() + _RESERVE:,} at least",
            advice="Raise the limit (ulimit -n, or LimitNOFILE in systemd), or lower the setting connections.",
        )
    return min(room, _MOST_CONNECTIONS) if requested is None else requested


def _used() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def _addresses_of(host: str) -> int:
    """Number of addresses of a name: gRPC listens on all of them, and bounds the connections of each."""
    if host.rstrip(".").lower() == "localhost":
        return 2  # of IPv4 and of IPv6, whatever the system's table of hosts has
    try:
        return len({resolved[4][0] for resolved in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}) or 1
    except OSError:  # listening will fail, with a message of its own
        return 1


def tls_context(tls: TlsFiles) -> ssl.SSLContext:
    """The service's side of TLS, or an `InputError` for a file that is no PEM, or not the certificate's key."""
    tls.read()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.certificate, tls.key, password=_refuse_password)
    except (ssl.SSLError, ValueError) as error:
        raise InputError(
            "not a certificate and its key", file=tls.certificate, found=_reason(error),
            expected=f"PEM, with the certificate of the service first, and its key without a password in {tls.key}",
        ) from None  # fmt: skip
    if tls.client_ca is not None:
        try:
            context.load_verify_locations(tls.client_ca)
        except ssl.SSLError as error:
            raise InputError(
                "not certificates of an authority", file=tls.client_ca, found=_reason(error), expected="PEM"
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _refuse_password() -> str:
    raise ValueError("a key with a password")


def _reason(error: ssl.SSLError | ValueError) -> str:
    reason = getattr(error, "reason", None)
    return reason.lower().replace("_", " ") if reason else str(error)
