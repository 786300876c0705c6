"""The addresses of a service: its ports, taken before the servers are loaded, and the authentication that they need."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from cuihop.errors import InputError, reason_of

_BACKLOG = 1024
_OTHER_PORT = "Stop the program that listens there, or choose another host or port."


@dataclass(frozen=True, slots=True)
class Addresses:
    """The ports that a worker uses; ``tls``: both speak TLS; ``ready``: there is a release to answer from."""

    http_port: int
    grpc_port: int
    tls: bool
    ready: bool = True


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that HTTP workers share, which does not listen yet. Port 0 takes any free one.

    A worker listens when it can answer: before, the system would take connections, and a proxy would wait on them.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle on
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise _not_listening("HTTP", error, host, port) from None
    bound.setblocking(False)
    bound.set_inheritable(True)
    return bound


def listen(bound: socket.socket) -> socket.socket:
    """Take connections on this socket from now on; `InputError` if another program came first. Harmless twice."""
    try:
        bound.listen(_BACKLOG)
    except OSError as error:
        host, port = bound.getsockname()[:2]
        bound.close()
        raise _not_listening("HTTP", error, host, port) from None
    return bound


def reserved_port(host: str, port: int) -> socket.socket:
    """A bound port that workers share for gRPC; it does not listen. `InputError` if the port is taken."""
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
        raise _not_listening("gRPC", error, host, port) from None
    return held


def _not_listening(protocol: str, error: OSError, host: str, port: int) -> InputError:
    return InputError(
        f"cannot listen for {protocol}: {reason_of(error)}", column=f"setting {protocol.lower()}_port",
        found=f"{host}:{port}", advice=_OTHER_PORT,
    )  # fmt: skip


def is_loopback(host: str) -> bool:
    """True where only this machine can reach the address. Of names, only ``localhost`` is trusted."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def check_exposure(host: str, authentication_configured: bool, tls_configured: bool) -> str | None:
    """A warning for the operator, None for none; `InputError` if others would need no authentication."""
    if is_loopback(host):
        return None
    if not authentication_configured:
        raise InputError(
            "the service would answer everybody who reaches this machine",
            column="setting host",
            found=host or "every address",
            expected="127.0.0.1, or authenticated callers",
            advice="Make a key with: cuihop service keys create NAME --keys-file keys.json, and give the file with "
            "--keys-file; or name an identity provider with --issuer, --audience and --jwks; or have callers show "
            "certificates with --tls-client-ca.",
        )
    if not tls_configured:
        return (
            f"listening on {host or 'every address'} without TLS: keys and tokens travel readable. Give "
            "--tls-certificate and --tls-key, unless a proxy before this service ends TLS on a network you trust."
        )
    return None
