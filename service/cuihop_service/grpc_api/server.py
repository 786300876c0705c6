"""The gRPC server of one worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health_aio
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from cuihop.errors import InputError
from cuihop_api.v1 import concept_graph_pb2, concept_graph_pb2_grpc
from cuihop_service.admission import Admission
from cuihop_service.core import ConceptService
from cuihop_service.grpc_api.connection_sweep import ConnectionSweep
from cuihop_service.grpc_api.guarded_handlers import GuardedRegistration
from cuihop_service.grpc_api.handlers import ConceptGraphHandlers
from cuihop_service.guard.address_limits import HEAD_SECONDS, AddressLimits

__all__ = ["GrpcServer", "TlsFiles"]

_IDLE_SECONDS = 300  # without a call
_PING_SECONDS, _PONG_SECONDS = 60, 20  # for a caller who has gone in silence

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
        """Certificate, key, and the callers' authority.

        Raises:
            InputError: a file cannot be read.
        """
        texts = []
        for path in (self.certificate, self.key, self.client_ca):
            try:
                texts.append(None if path is None else path.read_bytes())
            except OSError as error:
                raise InputError("cannot be read", file=path, found=error.strerror or str(error)) from None
        certificate, key, authority = texts
        return certificate or b"", key or b"", authority


class GrpcServer:
    """The contract, the standard health service and reflection, on one port.

    Args:
        core: the operations.
        admission: of every request.
        limits: bounds for each address.
        connections: the most at a time on each address that it listens on.
        shared_port: True where several processes listen on the port.
    """

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
                ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
                ("grpc.max_allowed_incoming_connections", connections),
                ("grpc.server_handshake_timeout_ms", int(HEAD_SECONDS * 1000)),
                ("grpc.max_connection_idle_ms", _IDLE_SECONDS * 1000),
                ("grpc.keepalive_time_ms", _PING_SECONDS * 1000),
                ("grpc.keepalive_timeout_ms", _PONG_SECONDS * 1000),
            ]
        )
        self._limits = limits
        self._connections = connections
        self._sweep: ConnectionSweep | None = None
        handlers: Any = ConceptGraphHandlers(core, admission)
        guarded: Any = GuardedRegistration(self._server, handlers.begin)
        concept_graph_pb2_grpc.add_ConceptGraphServiceServicer_to_server(  # type: ignore[no-untyped-call,unused-ignore]
            handlers, guarded
        )
        unguarded: Any = GuardedRegistration(self._server)
        self._health = health_aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, unguarded)
        names = (_SERVICE, "grpc.health.v1.Health", reflection.SERVICE_NAME)
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(  # type: ignore[no-untyped-call,unused-ignore]
            reflection.aio.ReflectionServicer(names), unguarded
        )
        self.port = 0

    def listen(self, host: str, port: int, tls: TlsFiles | None = None) -> int:
        """Take a port, 0 for any free one, and return it.

        Raises:
            InputError: the port is taken, or the certificate is none.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
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
            raise InputError("cannot listen for gRPC", column="grpc-port", found=address, advice=str(error)) from None
        return self.port

    async def start(self) -> None:
        """Answer from now on."""
        await self._server.start()
        self._sweep = ConnectionSweep(self.port, self._limits.connection_count(self._connections))
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
