"""The gRPC server of one worker, and the bound for each address on its connections."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import stat
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
from google.protobuf import descriptor_pool, text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health_aio
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from cuihop.addresses import host_in_url
from cuihop.errors import InputError, reason_of
from cuihop_api.v1 import concept_graph_pb2, concept_graph_pb2_grpc
from cuihop_service.admission import Admission
from cuihop_service.core import ConceptService
from cuihop_service.grpc_api.guarded_handlers import GuardedRegistration
from cuihop_service.grpc_api.handlers import ConceptGraphHandlers
from cuihop_service.guard.address_limits import HEAD_SECONDS, AddressCount, AddressLimits, network_of
from cuihop_service.observe.logs import FROM_ADDRESS

_log = logging.getLogger("cuihop.connections")

_SWEEP_SECONDS = 0.25
_SWEEP_SECONDS_UNDER_ATTACK = 0.05  # while connections had to be shut down

_Entry = tuple[int, int]
"""A descriptor, and the inode of its socket."""

_IDLE_SECONDS = 300  # without a call
_PING_SECONDS, _PONG_SECONDS = 60, 20  # for a caller who has gone in silence

_REFLECTION = "grpc.reflection.v1.ServerReflection"
_SERVICE = concept_graph_pb2.DESCRIPTOR.services_by_name["ConceptGraphService"].full_name


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of the certificate, its key and the authority of callers.

    Attributes:
        certificate, key: PEM files of the service.
        client_ca: PEM file of the authority that signs callers' certificates; None where callers need none.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def read(self) -> tuple[bytes, bytes, bytes | None]:
        """Certificate, key, and the callers' authority, or an `InputError` where a file cannot be read."""
        texts = []
        for path in (self.certificate, self.key, self.client_ca):
            try:
                texts.append(None if path is None else path.read_bytes())
            except OSError as error:
                raise InputError(
                    "cannot be read", file=path, found=reason_of(error), expected="a PEM file",
                    advice="Correct the settings tls_certificate, tls_key and tls_client_ca.",
                ) from None  # fmt: skip
        certificate, key, authority = texts
        return certificate or b"", key or b"", authority


class GrpcServer:
    """The contract, health and reflection on one port; ``connections`` bounds those on each address of the host."""

    def __init__(
        self,
        core: ConceptService,
        admission: Admission,
        limits: AddressLimits,
        connections: int,
        *,
        shared_port: bool = False,
    ) -> None:
        size = core.limits.message_bytes
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", size),
                ("grpc.max_send_message_length", -1),
                ("grpc.so_reuseport", int(shared_port)),
                ("grpc.max_concurrent_streams", 1_000),
                ("grpc.max_metadata_size", 16_384),
                ("grpc.absolute_max_metadata_size", 16_384),  # by itself a quarter more
                ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
                ("grpc.max_allowed_incoming_connections", connections),
                ("grpc.server_handshake_timeout_ms", int(HEAD_SECONDS * 1000)),
                ("grpc.max_connection_idle_ms", _IDLE_SECONDS * 1000),
                ("grpc.keepalive_time_ms", _PING_SECONDS * 1000),
                ("grpc.keepalive_timeout_ms", _PONG_SECONDS * 1000),
                ("grpc.http2.ping_timeout_ms", _PONG_SECONDS * 1000),  # without it, a minute
            ]
        )
        self._limits = limits
        self._connections = connections
        self._sweep: _ConnectionSweep | None = None
        handlers: Any = ConceptGraphHandlers(core, admission)
        guarded: Any = GuardedRegistration(self._server, handlers.begin, handlers.turn)
        concept_graph_pb2_grpc.add_ConceptGraphServiceServicer_to_server(  # type: ignore[no-untyped-call,unused-ignore]
            handlers, guarded
        )
        unguarded: Any = GuardedRegistration(self._server)
        self._health = health_aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, unguarded)
        names = (_SERVICE, "grpc.health.v1.Health", reflection.SERVICE_NAME)
        for handlers_of in (unguarded, _AsVersion1(unguarded)):
            reflection_pb2_grpc.add_ServerReflectionServicer_to_server(  # type: ignore[no-untyped-call,unused-ignore]
                reflection.aio.ReflectionServicer((*names, _REFLECTION)), handlers_of
            )
        self.port = 0

    def listen(self, host: str, port: int, tls: TlsFiles | None = None) -> int:
        """Take a port, 0 for any free one, and return it; `InputError` if it is taken, or for a bad certificate."""
        address = f"{host_in_url(host)}:{port}"
        try:
            if tls is None:
                self.port = self._server.add_insecure_port(address)
            else:
                certificate, key, authority = tls.read()
                credentials = grpc.ssl_server_credentials(
                    [(key, certificate)], root_certificates=authority, require_client_auth=authority is not None
                )
                self.port = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise InputError(
                "cannot listen for gRPC", column="setting grpc_port", found=address, advice=str(error)
            ) from None
        return self.port

    async def start(self) -> None:
        """Answer from now on."""
        await self._server.start()
        self._sweep = _ConnectionSweep(self.port, self._limits.connection_count(self._connections))
        self._sweep.start()

    async def set_health(self, serving: bool) -> None:
        """Set the status in the standard health service, of this service and of the server as a whole."""
        status = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        names: Sequence[str] = ("", _SERVICE)
        for name in names:
            await self._health.set(name, status)

    async def stop(self, seconds: float) -> None:
        """Accept nothing new, and end after the last answer, or after these seconds."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(seconds)
        if self._sweep is not None:
            self._sweep.stop()


class _AsVersion1:
    """Registers the handlers of reflection under the name of its version 1, whose messages are those of v1alpha.

    The package of the standard servicer has v1alpha only (grpcio-reflection 1.85), and new tools ask for v1 only. Its
    contract is described under the new name, too, for those who ask for every service.
    """

    def __init__(self, registration: GuardedRegistration) -> None:
        self._registration = registration
        described = FileDescriptorProto()
        reflection_pb2.DESCRIPTOR.CopyToProto(described)  # type: ignore[no-untyped-call,unused-ignore]
        text = str(described).replace(reflection.SERVICE_NAME.rpartition(".")[0], _REFLECTION.rpartition(".")[0])
        version1 = text_format.Parse(text.replace("v1alpha/", "v1/"), FileDescriptorProto())
        descriptor_pool.Default().AddSerializedFile(version1.SerializeToString())  # type: ignore[no-untyped-call,unused-ignore]

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Ignore these: see `GuardedRegistration`."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Register these handlers under the other name."""
        self._registration.add_registered_method_handlers(_REFLECTION, handlers)


class _NoDescriptorLeft(Exception):
    """No descriptor is left to examine a connection with."""


class _ConnectionSweep:
    """Shuts down the connections of an address beyond its bound, while it runs.

    gRPC's library has only one bound for all. It accepts connections itself and exposes none of them. But they are file
    descriptors of this process: several times a second the new ones are examined, and of an address with too many the
    newest are shut down. The library then sees their end and closes them. The other connections are not affected.
    """

    def __init__(self, port: int, bounds: AddressCount) -> None:
        self._port = port
        self._bounds = bounds
        self._networks: dict[_Entry, str | None] = {}  # oldest first; None: no connection of the port
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="connection-sweep", daemon=True)

    def start(self) -> None:
        """Sweep from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Sweep no more."""
        self._over.set()

    def sweep(self) -> int:
        """Shut down the connections in excess. Returns their number."""
        here = {entry for file in Path("/dev/fd").iterdir() if (entry := _entry(int(file.name))) is not None}
        self._networks = {entry: network for entry, network in self._networks.items() if entry in here}
        for entry in sorted(here - self._networks.keys(), key=lambda entry: entry[1]):  # inodes are given in turn
            with contextlib.suppress(_NoDescriptorLeft):
                self._networks[entry] = self._network(entry[0])
        of: dict[str, list[_Entry]] = defaultdict(list)
        for entry, network in self._networks.items():
            if network is not None:
                of[network].append(entry)
        closed = 0
        for network, entries in of.items():
            excess = len(entries) - self._bounds.each
            if excess > 0 and not self._bounds.is_proxy(network):
                shut = sum(self._shut(entry, network) for entry in entries[-excess:])
                _log.warning("%d gRPC connections too many were closed", shut, extra={FROM_ADDRESS: network})
                closed += shut
        return closed

    def _run(self) -> None:
        shut = 0
        while not self._over.wait(_SWEEP_SECONDS_UNDER_ATTACK if shut else _SWEEP_SECONDS):
            try:
                shut = self.sweep()
            except Exception:  # the next sweep may fare better
                _log.exception("the sweep over connections failed")

    def _network(self, number: int) -> str | None:
        """The address at the other end of a connection of the port."""
        try:
            with _borrowed(number) as connection:
                return self._network_of(connection)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise _NoDescriptorLeft from None
            return None

    def _network_of(self, connection: socket.socket) -> str | None:
        if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.type != socket.SOCK_STREAM:
            return None
        if connection.getsockname()[1] != self._port:
            return None
        return network_of(connection.getpeername()[0])  # a listening socket has no peer: an OSError

    def _shut(self, entry: _Entry, network: str) -> bool:
        """Shut down a connection, where the descriptor is still that connection."""
        with contextlib.suppress(OSError), _borrowed(entry[0]) as connection:
            if (
                _entry(connection.fileno()) == (connection.fileno(), entry[1])
                and self._network_of(connection) == network
            ):
                connection.shutdown(socket.SHUT_RDWR)
                return True
        return False


def _borrowed(number: int) -> socket.socket:
    """A second descriptor of the same socket, which outlives the first one."""
    return socket.socket(fileno=os.dup(number))


def _entry(number: int) -> _Entry | None:
    """Descriptor and inode of a socket; None for another file, or one that is gone."""
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return (number, status.st_ino) if stat.S_ISSOCK(status.st_mode) else None
