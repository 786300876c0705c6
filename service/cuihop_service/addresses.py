"""The ports of a service, taken before the servers are loaded."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from cuihop.errors import InputError

__all__ = ["Addresses", "listening_socket", "reserved_port"]


@dataclass(frozen=True, slots=True)
class Addresses:
    """The ports of a worker.

    Attributes:
        http_port, grpc_port: the ports in use.
        tls: True where both speak TLS.
    """

    http_port: int
    grpc_port: int
    tls: bool


def listening_socket(host: str, port: int, backlog: int = 1024) -> socket.socket:
    """A socket that HTTP workers share. Port 0 takes any free one.

    Raises:
        InputError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle on
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(backlog)
    except OSError as error:
        bound.close()
        raise InputError(
            "cannot listen for HTTP", column="http-port", found=f"{host}:{port}", advice=error.strerror or str(error)
        ) from None
    bound.setblocking(False)
    bound.set_inheritable(True)
    return bound


def reserved_port(host: str, port: int) -> socket.socket:
    """A port that workers share for gRPC, reserved for them. It is bound and does not listen.

    Raises:
        InputError: the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    held = socket.socket(family, socket.SOCK_STREAM)
    try:
        if port:  # another service that shares its port in the same way would go unnoticed
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host, port))
    except OSError as error:
        held.close()
        raise InputError(
            "cannot listen for gRPC", column="grpc-port", found=f"{host}:{port}", advice=error.strerror or str(error)
        ) from None
    return held
